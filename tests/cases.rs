//! Runs every case through the Rust core.
//!
//! `tests/support/mariadb cargo test --test cases [FILTER]`
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test fails by panicking"
)]

mod support;

use sb::contract::error::Exit;
use sb::contract::{Arguments, Value};
use sb::functions;
use support::bench::{self, Door, Installation, Outcome, Session};
use support::core::Core;

fn main() {
    let door = Door {
        name: "rust",
        has_exceptions: true,
        open,
    };
    bench::run(door, |_| Vec::new());
}

fn open(installation: Installation) -> Result<Box<dyn Session>, String> {
    Ok(Box::new(Core::open(installation)))
}

impl Session for Core {
    fn call(&mut self, name: &str, arguments: Value) -> Result<Outcome, String> {
        let function = functions::find(name).ok_or_else(|| format!("there is no function {name}"))?;
        let arguments = match arguments {
            Value::Map(named) => function.named(named),
            Value::List(values) => Ok(Arguments::of_values(values)),
            other => return Err(format!("no arguments: {other:?}")),
        };
        let result = arguments.and_then(|arguments| self.run(function, arguments));
        Ok(match result.map_or_else(|error| function.exit(error), Exit::Value) {
            Exit::Value(value) => Outcome::Value(value),
            Exit::Object(failure) => Outcome::Value(Value::Error(Box::new(failure))),
            Exit::Exception(class, failure) => Outcome::Exception(class, failure.message),
        })
    }
}
