//! The log of an installation, and the counters: what they say of calls that fail and of statements that are slow, and
//! what they do not say.
//!
//! `tests/support/mariadb cargo test --test log`

// A test fails by panicking, in its helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use sb::contract::Value;
use sb::platform::counters;
use serde_json::Value as Json;
use support::bench::Installation;
use support::core::Core;
use support::scene::{Scene, answer};

/// One counts at a time: the counters are the process's.
static TURN: Mutex<()> = Mutex::new(());

struct Logged {
    scene: Scene,
    core: Core,
    folder: tempfile::TempDir,
}

impl Logged {
    fn new(test: &str, constants: &[(&str, &str)]) -> Self {
        let scene = Scene::new(test, &[]);
        let folder = tempfile::tempdir().unwrap();
        let mut installation = Installation::of(&scene.server, &scene.database);
        let path = folder.path().join("sb.log").to_str().unwrap().to_owned();
        installation.constants.insert("SB_LOG".into(), path);
        for (name, value) in constants {
            installation.constants.insert((*name).to_owned(), (*value).to_owned());
        }
        let core = Core::open(installation);
        Self { scene, core, folder }
    }

    fn lines(&self) -> Vec<Json> {
        let text = fs::read_to_string(self.path()).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn path(&self) -> std::path::PathBuf {
        Path::new(self.folder.path()).join("sb.log")
    }

    fn statements(&self) -> Vec<Json> {
        let lines = self.lines().into_iter();
        lines.filter(|line| line["event"] == "slow-statement").collect()
    }
}

#[test]
fn slow_statements_are_noted_without_their_values() {
    let _turn = TURN.lock();
    let logged = Logged::new("log: slow", &[("SB_SLOW_STATEMENT", "0.2")]);
    let before = counters::SLOW_STATEMENTS.count();
    answer(
        &logged.core,
        "sb_get_user_by",
        ["email".into(), "planted-secret@example.com".into()],
    );
    assert_eq!(logged.statements().len(), 0, "it was fast");
    answer(
        &logged.core,
        "sb_db_get",
        ["SELECT SLEEP(0.3), 'planted-secret', 12345 FROM sb_users WHERE id = 3".into()],
    );
    let statements = logged.statements();
    assert_eq!(statements.len(), 1, "{statements:?}");
    assert_eq!(
        statements[0]["statement"],
        "SELECT SLEEP(?), ?, ? FROM sb_users WHERE id = ?"
    );
    assert_eq!(statements[0]["level"], "warning");
    let milliseconds = statements[0]["milliseconds"].as_f64().unwrap();
    assert!((300.0..5_000.0).contains(&milliseconds), "{milliseconds}");
    assert_eq!(counters::SLOW_STATEMENTS.count(), before + 1);
    logged.scene.database.drop();
}

#[test]
fn of_bound_parameters_their_kinds_are_noted() {
    let _turn = TURN.lock();
    // All are slow.
    let logged = Logged::new("log: parameters", &[("SB_SLOW_STATEMENT", "0")]);
    answer(
        &logged.core,
        "sb_get_user_by",
        ["email".into(), "planted-secret@example.com".into()],
    );
    answer(
        &logged.core,
        "sb_update_user_value",
        ["3".into(), "phone".into(), "planted-secret".into()],
    );
    let statements = logged.statements();
    let by_email = statements
        .iter()
        .find(|line| line["parameters"] == serde_json::json!(["text of 26 bytes"]))
        .unwrap_or_else(|| panic!("{statements:?}"));
    let text = by_email["statement"].as_str().unwrap();
    assert!(
        text.contains("FROM sb_users") && text.contains('?') && !text.contains('\n'),
        "{text}"
    );
    let detail = statements.iter().find(|line| {
        line["statement"]
            .as_str()
            .unwrap()
            .starts_with("INSERT INTO sb_users_data")
    });
    assert_eq!(detail.unwrap()["parameters"][0], "number");
    assert!(!fs::read_to_string(logged.path()).unwrap().contains("planted-secret"));
    logged.scene.database.drop();
}

#[test]
fn a_call_that_fails_is_noted_and_counted_and_one_that_finds_nothing_is_not() {
    let _turn = TURN.lock();
    let mut logged = Logged::new("log: failures", &[("SB_LOG_LEVEL", "information")]);
    let counted = || [counters::CALLS.count(), counters::FAILURES.count()];
    let [calls, failures] = counted();
    assert_eq!(
        answer(&logged.core, "sb_get_user", ["999999".into()]),
        Value::Bool(false)
    );
    assert_eq!(logged.lines().len(), 0);
    assert!(logged.core.call("sb_delete_user", ["3".into()]).is_err());
    logged.scene.run("RENAME TABLE sb_users_data TO away");
    assert!(logged.core.call("sb_get_user", ["3".into(), true.into()]).is_err());
    assert_eq!(counted(), [calls + 3, failures + 1]);
    let lines = logged.lines();
    let noted: Vec<_> = lines
        .iter()
        .map(|line| [&line["level"], &line["operation"], &line["code"]].map(|part| part.as_str().unwrap()))
        .collect();
    assert_eq!(
        noted,
        [
            ["information", "sb_delete_user", "security-error"],
            ["error", "sb_get_user", "upgrade-needed"]
        ]
    );
    assert_eq!(lines[0]["event"], "failure");
    logged.scene.database.drop();
}

#[test]
fn a_delivery_that_fails_is_noted() {
    let _turn = TURN.lock();
    let mut logged = Logged::new("log: deliveries", &[]);
    logged.scene.run(
        r#"UPDATE sb_settings SET value = '{"webhooks": [{"webhooks-active": [true, "checkbox"],
            "webhooks-url": ["http://127.0.0.1:1/planted-secret", "text"], "webhooks-allowed": ["message-sent", "text"]},
            "multi-input"]}' WHERE name = 'settings'"#,
    );
    let failures = counters::FAILURES.count();
    answer(
        &logged.core,
        "sb_send_message",
        ["3".into(), "1".into(), "planted-secret".into()],
    );
    logged.core.end();
    let lines = logged.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["operation"], "webhook delivery");
    assert_eq!(lines[0]["level"], "warning");
    assert_eq!(lines[0]["code"], "webhooks-error");
    assert!(!fs::read_to_string(logged.path()).unwrap().contains("planted-secret"));
    assert_eq!(counters::FAILURES.count(), failures + 1);
    logged.scene.database.drop();
}

#[test]
fn a_connection_and_its_statements_are_counted() {
    let _turn = TURN.lock();
    let logged = Logged::new("log: counters", &[]);
    let counted = || [counters::CONNECTIONS.count(), counters::STATEMENTS.count()];
    let [connections, statements] = counted();
    answer(&logged.core, "sb_get_user", ["3".into()]);
    answer(&logged.core, "sb_get_user", ["3".into()]);
    assert_eq!(counted(), [connections + 1, statements + 2]);
    logged.scene.database.drop();
}

#[test]
fn what_cannot_be_understood_is_said_and_a_log_that_cannot_be_written_harms_nobody() {
    let _turn = TURN.lock();
    let logged = Logged::new("log: wrong", &[("SB_LOG_LEVEL", "loud")]);
    let error = logged.core.call("sb_get_user", ["3".into()]).unwrap_err();
    assert_eq!(error.code(), "configuration");
    assert!(error.to_string().contains("SB_LOG_LEVEL"));
    logged.scene.database.drop();
    let away = Logged::new(
        "log: away",
        &[("SB_LOG", "/there/is/no/folder/sb.log"), ("SB_SLOW_STATEMENT", "0")],
    );
    assert_ne!(answer(&away.core, "sb_get_user", ["3".into()]), Value::Bool(false));
    away.scene.database.drop();
}
