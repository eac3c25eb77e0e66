//! Writes the C header from the C library's source.

fn main() {
    println!("cargo::rerun-if-changed=src/doors/capi.rs");
    println!("cargo::rerun-if-changed=build.rs");
    let config = cbindgen::Config {
        language: cbindgen::Language::C,
        header: Some("/* The C library of sb. Generated from src/doors/capi.rs; do not edit. */".into()),
        include_guard: Some("SB_H".into()),
        cpp_compat: true,
        usize_is_size_t: true,
        no_includes: true,
        sys_includes: vec!["stddef.h".into()],
        documentation: true,
        documentation_style: cbindgen::DocumentationStyle::C99,
        ..cbindgen::Config::default()
    };
    // Only that file: parsing the whole crate is slower and trips over macros.
    match cbindgen::Builder::new()
        .with_src("src/doors/capi.rs")
        .with_config(config)
        .generate()
    {
        Ok(header) => {
            header.write_to_file("include/sb.h");
        }
        Err(error) => println!("cargo::warning=include/sb.h not written: {error}"),
    }
}
