//! Runs every case through the C library, and checks what it promises beyond the functions.
//!
//! `tests/support/mariadb cargo test --features capi --test capi [FILTER]`
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test fails by panicking"
)]

mod support;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, OnceLock};

use libtest_mimic::{Failed, Trial};
use sb::contract::value::{Failure, FailureClass};
use sb::contract::{Key, Map, Value, json};
use support::bench::{self, Door, Installation, Outcome, Session};
use support::case::{Given, root};
use support::database::{Database, Server};

fn main() {
    let door = Door {
        name: "c",
        has_exceptions: false,
        open,
    };
    bench::run(door, checks);
}

/// The library that cargo has built beside this test.
fn library() -> PathBuf {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let library = folder.join("libsb.so");
    assert!(library.exists(), "{} is not built", library.display());
    library
}

/// Compiles a program of `tests/capi` against the library and its header.
fn compiled(name: &str) -> PathBuf {
    let library = library();
    let folder = library.parent().unwrap();
    let program = folder.join(format!("capi-{name}"));
    let output = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .args([
            "-std=c11",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-D_GNU_SOURCE",
            "-pthread",
            "-o",
        ])
        .arg(&program)
        .arg(root().join("tests/capi").join(name).with_extension("c"))
        .arg("-I")
        .arg(root().join("include"))
        .arg(&library)
        .arg(format!("-Wl,-rpath,{}", folder.display()))
        .output()
        .unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}.c does not compile:\n{complaints}");
    program
}

/// One process of the driver: the calls of one case.
struct Driver {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

fn open(installation: Installation) -> Result<Box<dyn Session>, String> {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let mut process = Command::new(PROGRAM.get_or_init(|| compiled("driver")))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let mut driver = Driver {
        input: process.stdin.take().unwrap(),
        output: BufReader::new(process.stdout.take().unwrap()),
        process,
    };
    match driver.command(&["open", &configuration(installation)])?.as_str() {
        "open" => Ok(Box::new(driver)),
        other => Err(format!("sb_open gave {other}")),
    }
}

impl Driver {
    /// Sends a command and gives the line that answers it.
    fn command(&mut self, parts: &[&str]) -> Result<String, String> {
        writeln!(self.input, "{}", parts.join("\t")).map_err(|error| format!("the driver has ended: {error}"))?;
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(|error| error.to_string())?;
        match line.strip_suffix('\n') {
            Some(answer) => Ok(answer.to_owned()),
            None => Err(format!("the driver ended within the call: {:?}", self.process.wait())),
        }
    }
}

impl Session for Driver {
    fn call(&mut self, function: &str, arguments: Value) -> Result<Outcome, String> {
        let answer = self.command(&["call", function, &json::encode(&arguments)])?;
        let unexpected = || format!("sb_call gave {answer}");
        let Some(Value::Map(mut map)) = json::decode(answer.as_bytes()) else {
            return Err(unexpected());
        };
        match (
            map.shift_remove(&Key::from("ok")),
            map.shift_remove(&Key::from("error")),
        ) {
            (Some(value), None) => Ok(Outcome::Value(value)),
            (None, Some(Value::Map(error))) => {
                let part = |name: &'static str| error.get(&Key::from(name)).and_then(Value::as_str).map(str::to_owned);
                Ok(Outcome::Value(Value::Error(Box::new(Failure {
                    class: FailureClass::Error,
                    code: part("code").ok_or_else(unexpected)?,
                    function: part("function").ok_or_else(unexpected)?,
                    message: part("message").ok_or_else(unexpected)?,
                }))))
            }
            _ => Err(unexpected()),
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // One that has ended already cannot be told to.
        let _ = writeln!(self.input, "close");
        let _ = self.process.wait();
    }
}

/// The configuration as `sb_open` takes it: constants without `SB_`, in lower case.
fn configuration(installation: Installation) -> String {
    let constants = installation.constants.into_iter();
    let mut map: Map = constants
        .map(|(name, value)| {
            let name = name.strip_prefix("SB_").unwrap().to_ascii_lowercase();
            (Key::from(name), Value::from(value))
        })
        .collect();
    if let Some(login) = installation.login {
        map.insert("login".into(), login);
    }
    if installation.force_admin {
        map.insert("force_admin".into(), Value::Bool(true));
    }
    json::encode(&Value::Map(map))
}

/// The promises of `checks.c`, each a test.
fn checks(server: &Arc<Server>) -> Vec<Trial> {
    let program = compiled("checks");
    let output = Command::new(&program).output().unwrap();
    let names = String::from_utf8(output.stdout).unwrap();
    names
        .lines()
        .map(|name| {
            let (name, program, server) = (name.to_owned(), program.clone(), Arc::clone(server));
            Trial::test(format!("capi: {name}"), move || check(&program, &server, &name))
        })
        .collect()
}

fn check(program: &Path, server: &Server, name: &str) -> Result<(), Failed> {
    let database = Database::create(server, &format!("capi: {name}"), &Given::default())?;
    let output = Command::new(program)
        .arg(name)
        .arg(configuration(Installation::of(server, &database)))
        .output()?;
    if !output.status.success() {
        return Err(format!("{}\n{}", output.status, String::from_utf8_lossy(&output.stderr)).into());
    }
    database.drop();
    Ok(())
}
