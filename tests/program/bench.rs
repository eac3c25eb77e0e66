//! Databases to try the program on, and the program as a child process.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder, Row, Value as Cell};
use sb::platform::configuration::Configuration;
use sb::platform::db::Settings;
use sb::platform::host::PlainHost;
use tokio::runtime::{Builder, Runtime};

const SESSION: &str = "SET NAMES utf8mb4, SESSION sql_mode = 'STRICT_ALL_TABLES', SESSION time_zone = '+00:00'";

/// A fresh database on the test server, as root sees it.
pub struct Database {
    pub name: String,
    socket: String,
    port: String,
    runtime: Runtime,
    connection: Conn,
}

impl Database {
    /// Makes it, named after the test, with what the fixtures and statements put into it.
    pub fn create(test: &str, fixtures: &[&str], statements: &[&str]) -> Self {
        let variable = |name: &str| {
            std::env::var(name).expect("these tests need a server: tests/support/mariadb cargo test --features program")
        };
        let (socket, port) = (variable("SB_TEST_SOCKET"), variable("SB_TEST_PORT"));
        let mut hash = DefaultHasher::new();
        test.hash(&mut hash);
        let name = format!("sb_program_{:016x}", hash.finish());
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let options = OptsBuilder::default().user(Some("root")).socket(Some(socket.as_str()));
        let connection = runtime.block_on(Conn::new(options)).unwrap();
        let mut database = Self {
            name,
            socket,
            port,
            runtime,
            connection,
        };
        let name = &database.name;
        let made = format!(
            "{SESSION}; DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name} CHARACTER SET latin1; USE {name}"
        );
        database.run(&made);
        for fixture in fixtures {
            database.load(fixture);
        }
        for statement in statements {
            database.run(statement);
        }
        database
    }

    /// Runs the statements of a file of tests/fixtures.
    pub fn load(&mut self, fixture: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/fixtures")
            .join(fixture)
            .with_extension("sql");
        let text = std::fs::read_to_string(path).unwrap();
        self.run(text.trim_end().trim_end_matches(';'));
    }

    /// Runs statements.
    pub fn run(&mut self, sql: &str) {
        let done = self.runtime.block_on(self.connection.query_drop(sql));
        done.unwrap_or_else(|error| panic!("{sql}\n{error}"));
    }

    /// The rows of a query, each a line of its cells.
    pub fn lines(&mut self, sql: &str) -> Vec<String> {
        let rows: Vec<Row> = self.runtime.block_on(self.connection.query(sql)).unwrap();
        rows.into_iter()
            .map(|row| row.unwrap().into_iter().map(text).collect::<Vec<_>>().join(" | "))
            .collect()
    }

    /// What the library connects with, by the names of config.php: the socket, or TCP where `SB_TEST_TCP` asks for it.
    pub fn configuration(&self) -> BTreeMap<String, String> {
        [
            ("SB_DB_NAME", self.name.as_str()),
            ("SB_DB_USER", "sb"),
            ("SB_DB_PASSWORD", "secret"),
            ("SB_DB_HOST", "127.0.0.1"),
            ("SB_DB_PORT", &self.port),
            ("SB_DB_SOCKET", self.socket_to_use()),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
    }

    /// The same, as the library has read it.
    pub fn settings(&self) -> Settings {
        Configuration::read(&PlainHost::new(self.configuration()))
            .unwrap()
            .database
            .as_ref()
            .clone()
    }

    /// The same, as a config.php.
    pub fn config_file(&self) -> String {
        let lines = self.configuration().into_iter().map(|(name, value)| {
            // As PHP reads it: secret.
            let value = value.replace("secret", r"sec\162et");
            format!("define('{name}', \"{value}\");\n")
        });
        format!("<?php\n/* made by a test */\n{}", lines.collect::<String>())
    }

    fn socket_to_use(&self) -> &str {
        if std::env::var_os("SB_TEST_TCP").is_some() {
            ""
        } else {
            &self.socket
        }
    }

    /// Runs the program on this database.
    pub fn sb(&self, arguments: &[&str], input: &str) -> Answer {
        let folder = std::env::temp_dir().join(format!("{}-{}", self.name, std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("config.php");
        std::fs::write(&file, self.config_file()).unwrap();
        let arguments: Vec<&str> = arguments
            .iter()
            .copied()
            .chain(["--config", file.to_str().unwrap()])
            .collect();
        let answer = sb(&arguments, &[], input);
        std::fs::remove_dir_all(&folder).unwrap();
        answer
    }

    /// Removes it. A database that is not dropped stays for whoever looks into a failure.
    pub fn drop(mut self) {
        let sql = format!("DROP DATABASE {}", self.name);
        self.run(&sql);
    }
}

fn text(cell: Cell) -> String {
    match cell {
        Cell::NULL => "NULL".to_owned(),
        Cell::Bytes(text) => String::from_utf8_lossy(&text).into_owned(),
        cell => panic!("the text protocol gives texts, not {cell:?}"),
    }
}

/// How the program ended.
#[derive(Debug)]
pub struct Answer {
    pub status: i32,
    pub out: String,
    pub err: String,
}

/// Runs the program, with no other environment than the given.
pub fn sb(arguments: &[&str], environment: &[(&str, &str)], input: &str) -> Answer {
    let mut child = Command::new(env!("CARGO_BIN_EXE_sb"))
        .args(arguments)
        .env_clear()
        .envs(environment.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that ends before it reads closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    Answer {
        status: status.code().unwrap(),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}
