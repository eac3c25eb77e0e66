//! Rules of the project that the compiler does not check.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sb::functions::{self, Function};
use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A source file: its path from the project's folder, and its text.
struct Source {
    path: String,
    text: String,
}

impl Source {
    /// The file without its unit tests, which stand at its end.
    fn product(&self) -> &str {
        self.text.split("#[cfg(test)]").next().unwrap()
    }

    /// The lines that are no comments, and their numbers.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self
            .product()
            .lines()
            .enumerate()
            .map(|(at, line)| (at + 1, line.trim()));
        lines.filter(|(_, line)| !line.starts_with("//"))
    }
}

/// The Rust files below some folders.
fn sources(folders: &[&str]) -> Vec<Source> {
    fn collect(path: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let mut paths = Vec::new();
    for folder in folders
        .iter()
        .map(|folder| root().join(folder))
        .filter(|folder| folder.exists())
    {
        collect(&folder, &mut paths);
    }
    assert!(!paths.is_empty(), "there are no Rust files in {folders:?}");
    paths.sort();
    let read = |path: PathBuf| Source {
        path: path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned(),
        text: std::fs::read_to_string(&path).unwrap(),
    };
    paths.into_iter().map(read).collect()
}

/// Fails with everything that was found, not only the first.
fn nothing(found: &[String]) {
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

/// The lines below `folder` that hold one of `words`, in files that `except` does not name.
fn lines_with(folder: &str, words: &[&str], except: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources(&[folder]) {
        if !except.iter().any(|path| source.path.starts_with(path)) {
            let lines = source
                .lines()
                .filter(|(_, line)| words.iter().any(|word| line.contains(word)));
            found.extend(lines.map(|(number, line)| format!("{}:{number}: {line}", source.path)));
        }
    }
    found
}

/// The case files by the names of their functions.
fn case_files() -> Vec<(String, PathBuf)> {
    let entries = |path: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(path).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let domains = entries(&root().join("tests/cases"))
        .into_iter()
        .filter(|path| path.is_dir());
    let files = domains.flat_map(|domain| entries(&domain));
    files
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path))
        .collect()
}

fn cases(path: &Path) -> Vec<Value> {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The function that a call names.
fn called(call: &Value) -> Option<&str> {
    call[0].as_str().or_else(|| call["function"].as_str())
}

/// Whether a case calls a function, or looks by another at what a call of it made before has done.
fn tries(case: &Value, name: &str) -> bool {
    let before = case["given"]["calls"].as_array().into_iter().flatten();
    before.chain([&case["call"]]).any(|call| called(call) == Some(name))
}

#[test]
fn every_function_has_cases_that_call_it() {
    let files = case_files();
    let mut wrong = Vec::new();
    for Function { name, .. } in functions::all() {
        match files
            .iter()
            .filter(|(file, _)| file == name)
            .collect::<Vec<_>>()
            .as_slice()
        {
            [(_, path)] => {
                let cases = cases(path);
                if !cases.iter().any(|case| called(&case["call"]) == Some(*name)) {
                    wrong.push(format!("{name} has no case in {}", path.display()));
                }
                let others = cases.iter().filter(|case| !tries(case, name));
                wrong.extend(others.map(|case| format!("{name} is not what the case {} calls", case["it"])));
            }
            [] => wrong.push(format!("{name} has no file tests/cases/<domain>/{name}.json")),
            _ => wrong.push(format!("{name} has several files of cases")),
        }
    }
    nothing(&wrong);
}

#[test]
fn every_file_of_cases_is_of_a_function_and_names_its_cases_once() {
    let mut wrong = Vec::new();
    for (name, path) in case_files() {
        if functions::find(&name).is_none() {
            wrong.push(format!("{}: there is no function {name}", path.display()));
        }
        let mut names = BTreeSet::new();
        for case in cases(&path) {
            let it = case["it"].as_str().unwrap_or_default().to_owned();
            if it.is_empty() || !names.insert(it.clone()) {
                wrong.push(format!(
                    "{}: {it:?} is no name, or the name of two cases",
                    path.display()
                ));
            }
        }
    }
    nothing(&wrong);
}

#[test]
fn every_function_is_documented_with_its_arguments() {
    let mut wrong = Vec::new();
    for function in functions::all() {
        let name = function.name;
        if function.docs.first().is_none_or(|line| line.trim().is_empty()) {
            wrong.push(format!("{name} has no documentation"));
        }
        let documented: Vec<&str> = function
            .docs
            .iter()
            .filter_map(|line| line.trim().strip_prefix("@param $"))
            .filter_map(|rest| rest.split_whitespace().next())
            .collect();
        for param in function.params {
            // What a name says needs no words.
            let says_itself = ["first_name", "last_name", "email"].contains(&param.name);
            if !documented.contains(&param.name) && !says_itself {
                wrong.push(format!("{name} does not document ${}", param.name));
            }
        }
        let unknown = documented
            .iter()
            .filter(|documented| function.params.iter().all(|param| param.name != **documented));
        wrong.extend(unknown.map(|documented| format!("{name} documents ${documented}, which it does not have")));
    }
    nothing(&wrong);
}

#[test]
fn every_function_is_of_the_contract_with_its_arguments_in_their_order() {
    let contract = std::fs::read_to_string(root().join("tests/contract/functions.stub.php")).unwrap();
    let mut wrong = Vec::new();
    for function in functions::all() {
        let beginning = format!("function {}(", function.name);
        let Some(line) = contract.lines().find(|line| line.starts_with(&beginning)) else {
            wrong.push(format!("{} is not in the contract", function.name));
            continue;
        };
        let arguments: Vec<&str> = line
            .split('$')
            .skip(1)
            .filter_map(|rest| {
                rest.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
                    .next()
            })
            .collect();
        if arguments.iter().ne(function.params.iter().map(|param| &param.name)) {
            let own: Vec<&str> = function.params.iter().map(|param| param.name).collect();
            wrong.push(format!(
                "{} takes {own:?}, in the contract {arguments:?}",
                function.name
            ));
        }
    }
    nothing(&wrong);
}

#[test]
fn every_file_says_what_it_holds() {
    let all = sources(&["src", "php/src", "tests", "benches"]);
    let silent = all.iter().filter(|source| !source.text.starts_with("//! "));
    nothing(&silent.map(|source| source.path.clone()).collect::<Vec<_>>());
}

#[test]
fn only_the_database_room_names_the_driver() {
    nothing(&lines_with("src", &["mysql_async"], &["src/platform/db/"]));
    nothing(&lines_with("php/src", &["mysql_async"], &[]));
}

#[test]
fn only_the_http_room_names_the_http_client() {
    nothing(&lines_with("src", &["reqwest"], &["src/platform/http"]));
    nothing(&lines_with("php/src", &["reqwest"], &[]));
}

#[test]
fn only_the_mail_rooms_name_the_mail_client() {
    nothing(&lines_with(
        "src",
        &["lettre"],
        &["src/platform/smtp.rs", "src/providers/email/"],
    ));
    nothing(&lines_with("php/src", &["lettre"], &[]));
}

#[test]
fn only_the_mailbox_room_names_the_client_of_mailboxes() {
    nothing(&lines_with("src", &["async_imap"], &["src/providers/mailbox/"]));
    nothing(&lines_with(
        "src",
        &["mail_parser"],
        &["src/providers/email/", "src/providers/mailbox/"],
    ));
}

#[test]
fn the_core_knows_no_php() {
    nothing(&lines_with("src", &["ext_php_rs"], &[]));
}

#[test]
fn no_floor_knows_one_above_it() {
    let floors = ["contract", "platform", "providers", "functions", "doors"];
    let mut found = Vec::new();
    for (at, floor) in floors
        .iter()
        .enumerate()
        .filter(|(_, floor)| root().join("src").join(floor).exists())
    {
        let above: Vec<String> = floors[at + 1..]
            .iter()
            .flat_map(|above| [format!("crate::{above}"), format!("super::super::{above}")])
            .collect();
        let words: Vec<&str> = above.iter().map(String::as_str).collect();
        found.extend(lines_with(&format!("src/{floor}"), &words, &[]));
    }
    nothing(&found);
}

#[test]
fn no_door_knows_another() {
    let doors: Vec<String> = std::fs::read_dir(root().join("src/doors"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|door| door != "mod")
        .collect();
    let mut found = Vec::new();
    for door in &doors {
        for other in doors.iter().filter(|other| *other != door) {
            let word = format!("doors::{other}");
            let lines = lines_with("src/doors", &[&word], &[]);
            found.extend(
                lines
                    .into_iter()
                    .filter(|line| line.starts_with(&format!("src/doors/{door}"))),
            );
        }
    }
    nothing(&found);
}

#[test]
fn only_the_arguments_are_lenient_and_only_the_context_knows_the_clock() {
    nothing(&lines_with(
        "src/functions",
        &["Utc::now", "SystemTime::now", "Local::now"],
        &[],
    ));
    nothing(&lines_with(
        "src/platform",
        &["Utc::now", "Local::now"],
        &["src/platform/context.rs"],
    ));
    nothing(&lines_with(
        "src/functions",
        &["\"SB_LOGIN\"", "\"SB_FORCE_ADMIN\""],
        &[],
    ));
}

#[test]
fn statements_are_not_put_together_from_values() {
    let verbs = ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "REPLACE "];
    let mut found = Vec::new();
    for source in sources(&["src/functions"]) {
        for (number, line) in source.lines() {
            if line.contains("format!(") && verbs.iter().any(|verb| line.contains(verb)) {
                found.push(format!("{}:{number}: {line}", source.path));
            }
        }
    }
    nothing(&found);
}

#[test]
fn the_product_does_not_give_up() {
    let words = [
        ".unwrap()",
        ".expect(",
        "panic!(",
        "todo!(",
        "unimplemented!(",
        "unreachable!(",
    ];
    nothing(&lines_with("src", &words, &[]));
    nothing(&lines_with("php/src", &words, &[]));
}

#[test]
fn only_the_doors_to_c_and_php_and_a_descriptor_are_unsafe() {
    let found = lines_with(
        "src",
        &["unsafe"],
        &["src/doors/capi.rs", "src/lib.rs", "src/platform/db/socket.rs"],
    );
    nothing(&found);
}
