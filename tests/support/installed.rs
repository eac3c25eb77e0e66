//! An installation with settings, for the tests of outside services: each call is a request of its own.

use std::collections::BTreeMap;

use sb::contract::error::Exit;
use sb::contract::{Arguments, Value, json};
use sb::functions;
use sb::platform::context::Request;
use sb::platform::engine::Engine;
use sb::platform::host::{Host, PlainHost};

use super::support::bench::Installation;
use super::support::case::Given;
use super::support::database::{Database, Server};

/// An installation on the test server.
pub struct Installed {
    engine: Engine,
    host: PlainHost,
    constants: BTreeMap<String, String>,
    pub database: Database,
}

impl Installed {
    /// One with a fixture, settings, and what further statements make.
    pub fn new(name: &str, fixture: &str, settings: &serde_json::Value, further: &[&str]) -> Self {
        let server = Server::of_environment().unwrap();
        let settings = settings.to_string().replace('\\', r"\\").replace('\'', "''");
        let settings = format!("REPLACE INTO sb_settings (name, value) VALUES ('settings', '{settings}')");
        let given = Given {
            fixture: fixture.into(),
            sql: std::iter::once(settings)
                .chain(further.iter().map(|sql| (*sql).to_owned()))
                .collect(),
            ..Given::default()
        };
        let database = Database::create(&server, name, &given).unwrap();
        let constants = Installation::of(&server, &database).constants;
        Self {
            engine: Engine::default(),
            host: PlainHost::new(constants.clone()),
            constants,
            database,
        }
    }

    /// With a further constant.
    #[allow(dead_code, reason = "not every test needs one")]
    pub fn configure(&mut self, name: &str, value: &str) {
        self.constants.insert(name.to_owned(), value.to_owned());
        self.host = PlainHost::new(self.constants.clone());
    }

    /// Calls a function with its arguments by position, given as JSON.
    pub fn exit(&self, function: &str, arguments: &serde_json::Value) -> Exit {
        let Some(Value::List(arguments)) = json::decode(arguments.to_string().as_bytes()) else {
            panic!("arguments are a list")
        };
        self.run(function, arguments)
    }

    /// Calls a function with its arguments by position.
    pub fn run(&self, function: &str, arguments: Vec<Value>) -> Exit {
        let function = functions::find(function).unwrap();
        let arguments = Arguments::of_values(arguments);
        let result = function.run(&self.engine, &self.host, &Request::default(), arguments);
        self.engine.end_request();
        result.map_or_else(|error| function.exit(error), Exit::Value)
    }

    /// What a call gives, as JSON.
    #[track_caller]
    #[allow(dead_code, reason = "not every test reads JSON")]
    pub fn call(&self, function: &str, arguments: &serde_json::Value) -> serde_json::Value {
        match self.exit(function, arguments) {
            Exit::Value(value) => serde_json::from_str(&json::encode(&value)).unwrap(),
            exit => panic!("no value: {exit:?}"),
        }
    }

    /// The code and the message of the error object that a call gives.
    #[track_caller]
    #[allow(dead_code, reason = "not every test expects one")]
    pub fn error(&self, function: &str, arguments: &serde_json::Value) -> (String, String) {
        match self.exit(function, arguments) {
            Exit::Object(failure) => (failure.code, failure.message),
            exit => panic!("not an SBError: {exit:?}"),
        }
    }

    /// Makes someone the active user.
    #[allow(dead_code, reason = "not every test has one")]
    pub fn log_in(&self, id: &str, user_type: &str) {
        let login = Value::map([("id", Value::from(id)), ("user_type", user_type.into())]);
        self.host.set_global("SB_LOGIN", login);
    }

    /// The rows of a query, as JSON.
    #[allow(dead_code, reason = "not every test looks into the tables")]
    pub fn rows(&mut self, sql: &str) -> serde_json::Value {
        serde_json::from_str(&json::encode(&self.database.rows(sql).unwrap())).unwrap()
    }
}
