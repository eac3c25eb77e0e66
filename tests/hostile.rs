//! Every argument of every function with hostile values in it.
//!
//! Nothing fails inside, no statement is malformed, and no call changes more than the same call with harmless arguments
//! does. New functions of the catalog are tried without a line here.
//!
//! `tests/support/mariadb cargo test --test hostile`

// A test fails by panicking, in its helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use sb::contract::args::Given as Argument;
use sb::contract::error::Error;
use sb::contract::value::{Failure, FailureClass};
use sb::contract::{Arguments, Key, Map, Result, Value, json};
use sb::functions::{self, Function, Param};
use support::bench::Installation;
use support::case::Given;
use support::core::Core;
use support::database::{Database, Server};
use support::matching::shown;

/// They take SQL on purpose.
const TAKE_SQL: [&str; 2] = ["sb_db_get", "sb_db_query"];

/// They print what they are given, a megabyte of it too.
const PRINT: [&str; 1] = ["sb_e"];

/// It names a server to connect to: a hostile one would be looked up in the network.
const NAME_A_SERVER: [(&str, &str); 1] = [("sb_db_check_connection", "host")];

/// What a call with hostile arguments writes that one with harmless arguments does not: function, table, rows.
const FURTHER_ROWS: [(&str, &str, i64); 5] = [
    ("sb_login", "sb_settings", 1),
    ("sb_article_ratings", "sb_settings", 1),
    // An empty list is one that can be stored.
    ("sb_save_articles", "sb_settings", 1),
    ("sb_save_articles_categories", "sb_settings", 1),
    // It stores what it is given, under the names that it is given.
    ("sb_save_settings", "sb_settings", 2),
];

/// Who calls: an id and a type.
type Login = (&'static str, &'static str);

/// An agent, to whom everything is open, and a lead, of whom more is asked. Each is tried apart: a wrong password takes a
/// second, whoever is logged in.
const LOGINS: [Login; 2] = [("2", "agent"), ("4", "lead")];

const TABLES: [&str; 6] = [
    "sb_users",
    "sb_users_data",
    "sb_conversations",
    "sb_messages",
    "sb_settings",
    "sb_reports",
];

const WORKERS: usize = 4;

/// No door lets a deeper value in.
const DEEPEST: usize = 127;

#[test]
fn no_hostile_argument_does_more_than_a_harmless_one() {
    let tried: Vec<(&Function, Login)> = functions::all()
        .filter(|function| !TAKE_SQL.contains(&function.name) && !PRINT.contains(&function.name))
        .flat_map(|function| LOGINS.map(|login| (function, login)))
        .collect();
    let next = AtomicUsize::new(0);
    let calls = AtomicUsize::new(0);
    let findings = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for worker in 0..WORKERS {
            let (next, calls, findings, tried) = (&next, &calls, &findings, &tried);
            scope.spawn(move || {
                let mut scene = Scene::new(worker);
                while let Some((function, login)) = tried.get(next.fetch_add(1, Ordering::Relaxed)) {
                    scene.try_function(function, *login);
                }
                calls.fetch_add(scene.calls, Ordering::Relaxed);
                findings.lock().unwrap().append(&mut scene.findings);
                scene.database.drop();
            });
        }
    });
    let findings = findings.into_inner().unwrap();
    let arguments: usize = tried.iter().map(|(function, _)| tried_params(function).count()).sum();
    assert_eq!(
        calls.into_inner(),
        tried.len() + arguments * hostile().len(),
        "some were not tried"
    );
    assert!(
        findings.is_empty(),
        "{} findings:\n{}",
        findings.len(),
        findings.iter().take(40).cloned().collect::<Vec<_>>().join("\n")
    );
}

/// What a call did to the tables.
struct Change {
    table: &'static str,
    rows: i64,
}

struct Scene {
    core: Core,
    database: Database,
    /// The checksums and numbers of rows of the untouched tables.
    untouched: Vec<(String, i64)>,
    calls: usize,
    findings: Vec<String>,
}

impl Scene {
    fn new(worker: usize) -> Self {
        let server = Server::of_environment().unwrap();
        let copies = TABLES.map(|table| format!("CREATE TABLE untouched_{table} AS SELECT * FROM {table}"));
        let given = Given {
            sql: copies.to_vec(),
            ..Given::default()
        };
        let database = Database::create(&server, &format!("hostile {worker}"), &given).unwrap();
        let mut scene = Self {
            core: Core::open(Installation::of(&server, &database)),
            database,
            untouched: Vec::new(),
            calls: 0,
            findings: Vec::new(),
        };
        scene.untouched = TABLES
            .into_iter()
            .zip(scene.checksums())
            .map(|(table, sum)| (sum, scene.rows_of(table)))
            .collect();
        scene
    }

    fn try_function(&mut self, function: &Function, (id, user_type): Login) {
        let login = Value::map([("id", Value::from(id)), ("user_type", user_type.into())]);
        let harmless: Vec<Value> = function.params.iter().map(harmless).collect();
        let result = self.call(function, &login, harmless.clone());
        let changes = self.changes();
        if user_type == "agent" {
            self.check_result(function, "harmless arguments", &result);
        }
        for (at, param) in tried_params(function) {
            for value in hostile() {
                let mut arguments = harmless.clone();
                arguments[at] = value.clone();
                let result = self.call(function, &login, arguments);
                let what = format!("${} = {} for the {user_type}", param.name, label(&value));
                self.check_result(function, &what, &result);
                self.check_changes(function, &what, &changes);
            }
        }
    }

    fn call(&mut self, function: &Function, login: &Value, arguments: Vec<Value>) -> thread::Result<Result<Value>> {
        self.calls += 1;
        self.core.begin(login.clone());
        let arguments = Arguments::new(arguments.into_iter().map(Argument::Value).collect());
        catch_unwind(AssertUnwindSafe(|| self.core.run(function, arguments)))
    }

    fn check_result(&mut self, function: &Function, what: &str, result: &thread::Result<Result<Value>>) {
        let finding = match result {
            Err(_) => "it panicked".to_owned(),
            Ok(Err(Error::Internal(message))) => format!("it failed: {message}"),
            // None of these values may reach the server in a form that it refuses.
            Ok(Err(Error::Database(error))) => format!("database error {}: {}", error.number, error.message),
            Ok(Ok(value)) if json::encode(value).contains("error in your SQL syntax") => shown(value),
            _ => return,
        };
        self.findings.push(format!("{}: {what}: {finding}", function.name));
    }

    fn check_changes(&mut self, function: &Function, what: &str, harmless: &[Change]) {
        for Change { table, rows } in self.changes() {
            let further = FURTHER_ROWS
                .iter()
                .find(|(name, of, _)| *name == function.name && *of == table)
                .map(|(.., further)| *further);
            let expected = harmless
                .iter()
                .find(|change| change.table == table)
                .map(|change| change.rows);
            let allowed = (expected.is_some() || further.is_some()) && {
                let (expected, further) = (expected.unwrap_or_default(), further.unwrap_or_default());
                (expected.min(0)..=expected.max(0) + further).contains(&rows)
            };
            if !allowed {
                let finding = format!("{}: {what}: {table} changed by {rows} rows", function.name);
                self.findings.push(finding);
            }
        }
    }

    /// What is no longer as it was; then it is as it was again.
    fn changes(&mut self) -> Vec<Change> {
        let sums = self.checksums();
        let mut changes = Vec::new();
        for (at, table) in TABLES.into_iter().enumerate() {
            if sums[at] != self.untouched[at].0 {
                changes.push(Change {
                    table,
                    rows: self.rows_of(table) - self.untouched[at].1,
                });
            }
        }
        for Change { table, .. } in &changes {
            for sql in [
                "SET FOREIGN_KEY_CHECKS = 0".to_owned(),
                format!("DELETE FROM {table}"),
                format!("INSERT INTO {table} SELECT * FROM untouched_{table}"),
                "SET FOREIGN_KEY_CHECKS = 1".to_owned(),
            ] {
                self.database.rows(&sql).unwrap();
            }
        }
        changes
    }

    fn checksums(&mut self) -> Vec<String> {
        let rows = self
            .database
            .rows(&format!("CHECKSUM TABLE {}", TABLES.join(", ")))
            .unwrap();
        let of = |at: i64| {
            rows.get(&Key::Int(at))
                .and_then(|row| row.get(&"Checksum".into()))
                .cloned()
        };
        (0..)
            .map_while(of)
            .map(|sum| sum.as_str().unwrap().to_owned())
            .collect()
    }

    fn rows_of(&mut self, table: &str) -> i64 {
        let rows = self
            .database
            .rows(&format!("SELECT COUNT(*) AS n FROM {table}"))
            .unwrap();
        let count = rows
            .get(&Key::Int(0))
            .and_then(|row| row.get(&"n".into()))
            .cloned()
            .unwrap();
        count.as_str().unwrap().parse().unwrap()
    }
}

/// The arguments that are tried, with their positions.
fn tried_params(function: &Function) -> impl Iterator<Item = (usize, &Param)> {
    let params = function.params.iter().enumerate();
    params.filter(|(_, param)| !NAME_A_SERVER.contains(&(function.name, param.name)))
}

/// A value that an argument usually has: by its name, else its default, else by its type.
fn harmless(param: &Param) -> Value {
    let details = ["phone", "city", "company", "website", "os"].map(|slug| (slug, Value::from("x")));
    match param.name {
        "user_id" | "sender_id" | "conversation_id" => "4".into(),
        "message_id" => "7".into(),
        "user_ids" => ["4"].into(),
        "agent_id" => "2".into(),
        "email" => "carla@customer.example".into(),
        "token" => "04abcdef04abcdef04abcdef04abcdef04abcdef".into(),
        "message" | "search" => "Hello".into(),
        "settings_extra" => Value::map(details),
        "settings" => Value::map([("first_name", "Zoe".into()), ("email", "zoe@customer.example".into())]),
        "slug" | "by" => "city".into(),
        "value" => "Roma".into(),
        "datetime" => "2026-02-01 00:00:00".into(),
        "url" => "https://support.example/".into(),
        "attachments" => json::decode(br#"[["a.pdf","https://support.example/a.pdf"]]"#).unwrap(),
        "payload" => Value::map([("event", "open-chat".into())]),
        "host" => "127.0.0.1".into(),
        "port" => 1.into(),
        _ if param.default.is_some() => Value::Null,
        _ if param.php_type == "bool" => true.into(),
        _ if param.php_type.contains("int") => 1.into(),
        _ if param.php_type.contains("array") || param.php_type.contains("list") => Value::List(vec!["a".into()]),
        _ => "a".into(),
    }
}

/// Texts that do harm where they are believed.
fn texts() -> Vec<Value> {
    [
        // SQL
        "'",
        "\"",
        "`",
        "\\",
        "\\'",
        "' OR '1'='1",
        "' OR 1=1 -- ",
        "' OR 1=1#",
        "\" OR \"\"=\"",
        "99 OR 1=1",
        "99; DROP TABLE sb_users",
        "x'; DELETE FROM sb_users; -- ",
        "') OR ('1'='1",
        "99) OR (1=1",
        "-1 UNION SELECT 91,92,93",
        "' UNION SELECT token FROM sb_users -- ",
        "99/*!50000 OR 1=1*/",
        "99/**/OR/**/1=1",
        "0x27204f52",
        "' AND SLEEP(5) -- ",
        "x', token = 'x",
        "x'), (1, 'y', 'y', 'y",
        "? ? ?",
        ":name",
        "%",
        "_",
        "%' ESCAPE '!",
        "@@version",
        "id DESC; DROP TABLE sb_users",
        "first_name`, (SELECT 1)",
        "creation_time, SLEEP(5)",
        // Quotes that become quotes in another character set, and letters that are cut off or left out
        "＇ OR 1=1",
        "ʼ OR 1=1",
        "\0",
        "x\0' OR 1=1",
        "\u{1a}",
        "\u{202e}\u{feff}\u{200d}",
        "🎉'",
        // Formats, markup, headers, paths
        "%s%s%n%x",
        "${jndi:ldap://localhost/x}",
        "$(id)",
        "<script>alert(1)</script>",
        "x\r\nSet-Cookie: a=b",
        "../../../../etc/passwd",
        "/etc/passwd\0.png",
        "php://filter/resource=config.php",
        // Numbers that are none
        "1e3",
        "0x3",
        "９",
        "+9",
        "99999999999999999999",
        "-2147483649",
        // Structures that are none, or hold worse
        "{",
        "[[[[",
        "{\"id\":\"' OR 1=1\"}",
        "[\"' OR 1=1\"]",
        "O:8:\"stdClass\":0:{}",
    ]
    .map(Value::from)
    .to_vec()
}

/// Values that do harm where they are believed.
fn hostile() -> Vec<Value> {
    let bytes = [
        &b"\xbf\x27 OR 1=1 -- "[..],
        b"\xbf\x5c\x27",
        b"\x81\x27",
        b"\xe3\x27 OR 1=1",
        b"\xff\xfe",
        b"\xc0\xa7 OR 1=1",
        b"\xed\xa0\x80",
        b"x\xf0\x9f\x98",
    ]
    .map(|bytes| Value::Bytes(bytes.to_vec()));
    let numbers = [
        Value::Int(i64::MAX),
        Value::Int(i64::MIN),
        2_147_483_648.into(),
        4_294_967_296.into(),
        (-7).into(),
    ];
    let fractions = [1e308, f64::NAN, f64::INFINITY, 1.5].map(Value::Float);
    let deep = (0..DEEPEST).fold(Value::from("'"), |inner, _| Value::List(vec![inner]));
    let deep_map = (0..DEEPEST).fold(Value::from("'"), |inner, _| Value::map([("' OR 1=1", inner)]));
    let structures = [
        Value::Null,
        true.into(),
        Value::List(Vec::new()),
        Map::new().into(),
        ["' OR 1=1"].into(),
        Value::map([("' OR 1=1 -- ", "x'".into())]),
        Value::map([("user_type", ["'"].into())]),
        Value::map([
            ("email", "' OR 1=1".into()),
            ("first_name", Value::Bytes(b"\xbf'".to_vec())),
        ]),
        deep,
        deep_map,
        Value::Error(Box::new(Failure {
            class: FailureClass::Error,
            code: "'".into(),
            function: "'".into(),
            message: "'".into(),
        })),
    ];
    let long = [("'", 1 << 20), ("[", 1 << 16), ("99,", 1 << 12)].map(|(part, times)| Value::from(part.repeat(times)));
    [&texts()[..], &bytes, &numbers, &fractions, &structures, &long].concat()
}

/// A value for people, cut where it gets long.
fn label(value: &Value) -> String {
    let text = match value {
        Value::Bytes(bytes) => format!("\"{}\"", bytes.escape_ascii()),
        value => format!("{value:?}"),
    };
    text.chars().take(80).collect()
}
