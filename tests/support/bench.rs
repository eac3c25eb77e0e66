//! Runs every case through a door, each as a test of its own.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use sb::contract::Value;
use sb::contract::error::Exception;

use super::case::{Case, Given, files, resolved};
use super::database::{Database, Server};
use super::matching::{compare, shown};

/// One of the library's doors.
#[derive(Clone, Copy)]
pub struct Door {
    /// Its name in `doors`.
    pub name: &'static str,
    /// Whether an exception is told from an SBError there.
    pub has_exceptions: bool,
    /// Opens it.
    pub open: fn(Installation) -> Result<Box<dyn Session>, String>,
}

/// What is configured before the first call.
pub struct Installation {
    pub constants: BTreeMap<String, String>,
    pub login: Option<Value>,
    pub force_admin: bool,
}

/// An open door: the calls of one case.
pub trait Session {
    /// Calls a function with its arguments as a list, or as a map by name.
    fn call(&mut self, function: &str, arguments: Value) -> Result<Outcome, String>;
}

/// How a call ended.
pub enum Outcome {
    /// With a value, error objects included.
    Value(Value),
    /// With an exception and its message.
    #[allow(dead_code, reason = "not every door has exceptions")]
    Exception(Exception, String),
}

/// Runs the cases that go through a door, and `further` tests of it.
pub fn run(door: Door, further: fn(&Arc<Server>) -> Vec<Trial>) {
    let arguments = Arguments::from_args();
    let server = match Server::of_environment() {
        Ok(server) => Arc::new(server),
        Err(sentence) => {
            #[allow(clippy::print_stderr, reason = "there is no test to fail yet")]
            {
                eprintln!("{sentence}");
            }
            std::process::exit(1);
        }
    };
    let mut trials = further(&server);
    for file in files() {
        for (index, case) in file.cases().into_iter().enumerate() {
            if case
                .doors
                .is_none_or(|doors| doors.iter().any(|name| name == door.name))
            {
                let name = format!("{}: {}", file.name(), case.it);
                let (file, server) = (file.clone(), Arc::clone(&server));
                // A value does not go from thread to thread: the case is read again where it runs.
                trials.push(Trial::test(name.clone(), move || {
                    examine(door, &server, &name, &file.cases()[index]).map_err(Failed::from)
                }));
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// Runs one case.
fn examine(door: Door, server: &Server, name: &str, case: &Case) -> Result<(), String> {
    let mut database = Database::create(server, &format!("{}: {name}", door.name), &case.given)?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let installation = Installation::of(server, &database).in_folder(folder.path());
    let mut session = (door.open)(installation.with(&case.given))?;
    let mut results = Vec::new();
    for call in &case.given.calls {
        let outcome = session.call(call.function(), call.arguments(&results)?)?;
        results.push(match outcome {
            Outcome::Value(value) => value,
            Outcome::Exception(..) => Value::Null,
        });
    }
    let outcome = session.call(case.call.function(), case.call.arguments(&results)?)?;
    judge(door, case, &outcome, &results)?;
    for (sql, rows) in &case.then {
        let got = database.rows(sql).map_err(|error| format!("{sql}\n{error}"))?;
        compare(rows, &got).map_err(|difference| {
            format!(
                "{sql}\n{difference}\nexpected {}\n     got {}",
                shown(rows),
                shown(&got)
            )
        })?;
    }
    drop(session);
    database.drop();
    Ok(())
}

impl Installation {
    /// The one that every case is given.
    pub fn of(server: &Server, database: &Database) -> Self {
        let constants = [
            ("SB_DB_NAME", database.name.as_str()),
            ("SB_DB_USER", "sb"),
            ("SB_DB_PASSWORD", "secret"),
            ("SB_DB_HOST", "127.0.0.1"),
            ("SB_DB_PORT", &server.port),
            ("SB_SECRET_KEY", "the secret of the cases"),
            ("SB_URL", "https://support.example/chat"),
        ];
        Self {
            constants: constants
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            login: None,
            force_admin: false,
        }
    }

    fn in_folder(mut self, folder: &Path) -> Self {
        let folder = folder.to_str().expect("the temporary folder has a plain name");
        self.constants.insert("SB_PATH".to_owned(), folder.to_owned());
        self
    }

    pub fn with(mut self, given: &Given) -> Self {
        for (name, value) in &given.configured {
            match value {
                Some(value) => self.constants.insert(name.clone(), value.clone()),
                None => self.constants.remove(name),
            };
        }
        self.login.clone_from(&given.login);
        self.force_admin = given.force_admin;
        self
    }
}

/// Says how the outcome is not the expected one.
fn judge(door: Door, case: &Case, outcome: &Outcome, results: &[Value]) -> Result<(), String> {
    let got = match outcome {
        Outcome::Value(value) => shown(value),
        Outcome::Exception(class, message) => format!("the exception {}: {message}", class_name(*class)),
    };
    match (&case.gives, &case.throws) {
        (Some(gives), None) => {
            let gives = resolved(gives, results)?;
            match outcome {
                Outcome::Value(value) => compare(&gives, value),
                Outcome::Exception(..) => Err("it did not give a value".to_owned()),
            }
            .map_err(|difference| format!("{difference}\nexpected {}\n     got {got}", shown(&gives)))
        }
        (None, Some(throws)) => {
            let message = match outcome {
                Outcome::Exception(class, message) if class_name(*class) == throws => Some(message),
                Outcome::Value(Value::Error(error)) if !door.has_exceptions && error.code == code_of(throws) => {
                    Some(&error.message)
                }
                _ => None,
            };
            let message = message.ok_or_else(|| format!("expected the exception {throws}\n     got {got}"))?;
            case.message
                .as_ref()
                .map_or(Ok(()), |expected| compare(expected, &Value::from(message.as_str())))
        }
        _ => Err("a case has either gives or throws".to_owned()),
    }
}

const fn class_name(class: Exception) -> &'static str {
    match class {
        Exception::Type => "TypeError",
        Exception::ArgumentCount => "ArgumentCountError",
        Exception::Error => "Error",
    }
}

/// The code that stands for an exception where there are none.
fn code_of(class: &str) -> &'static str {
    match class {
        "TypeError" | "ArgumentCountError" => "argument-error",
        "Error" => "internal-error",
        _ => panic!("no function throws {class}"),
    }
}
