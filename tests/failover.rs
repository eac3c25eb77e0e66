//! Several hosts: what the first may not write, the second does.
//!
//! `tests/support/mariadb cargo test --test failover`

// A test fails by panicking, in its helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use sb::contract::Value;
use support::bench::Installation;
use support::case::root;
use support::core::Core;
use support::scene::{Scene, answer};

/// A second server, which ends when its input does.
struct Second {
    child: Child,
    socket: String,
    port: String,
}

impl Second {
    fn start() -> Self {
        let mut child = Command::new(std::env::var_os("SB_TEST_SCRIPT").unwrap())
            .args(["sh", "-c", "echo $SB_TEST_SOCKET; echo $SB_TEST_PORT; read end"])
            .env_remove("SB_TEST_PORT")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (socket, port) = (lines.next().unwrap().unwrap(), lines.next().unwrap().unwrap());
        Self { child, socket, port }
    }

    fn run(&self, sql: &str) {
        let status = Command::new("mariadb")
            .args([
                "--no-defaults",
                "--default-character-set=utf8mb4",
                "-uroot",
                "-S",
                &self.socket,
                "-e",
                sql,
            ])
            .status();
        assert!(status.unwrap().success(), "{sql}");
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

#[test]
fn a_host_that_becomes_read_only_is_left_for_one_that_can_be_written_to() {
    let mut scene = Scene::new("failover", &[]);
    let second = Second::start();
    // A copy, as a replica is.
    let name = scene.database.name.clone();
    let fixtures = root().join("tests/fixtures");
    second.run(&format!("CREATE DATABASE {name} CHARACTER SET utf8mb4"));
    for file in ["generation-4.sql", "people.sql"] {
        second.run(&format!("USE {name}\nsource {}", fixtures.join(file).display()));
    }
    let open = || {
        let mut installation = Installation::of(&scene.server, &scene.database);
        let hosts = format!("127.0.0.1:{},127.0.0.1:{}", second.port, scene.server.port);
        installation.constants.insert("SB_DB_HOST".into(), hosts);
        Core::open(installation)
    };
    second.run(&format!(
        "INSERT INTO {name}.sb_users (id, first_name, last_name, user_type, creation_time, token)
            VALUES (99, 'Mark', '', 'user', '2026-01-01', 'mark')"
    ));
    // ALL holds the right to write nevertheless: MariaDB can take it away, MySQL has a stricter way.
    second.run("/*M! REVOKE READ ONLY ADMIN ON *.* FROM sb@localhost, sb@'127.0.0.1' */");
    let read_only = |on: u8| {
        second.run(&format!(
            "SET GLOBAL read_only = {on}; /*!80000 SET GLOBAL super_read_only = {on} */"
        ));
    };

    // Read-only when it is connected to.
    read_only(1);
    let core = open();
    assert_eq!(
        answer(&core, "sb_set_typing", ["5".into(), "5".into()]),
        Value::Bool(true)
    );
    let typing = answer(&core, "sb_db_get", ["SELECT typing FROM sb_users WHERE id = 5".into()]);
    assert_eq!(typing.get(&"typing".into()), Some(&Value::from("5")));
    // Read-only later: one statement, one of the caller's, a transaction.
    for (name, arguments) in [
        ("sb_set_typing", vec![Value::from("5"), "1".into()]),
        (
            "sb_db_query",
            vec!["UPDATE sb_users SET typing = 2 WHERE id = 5".into()],
        ),
        ("sb_send_message", vec!["5".into(), "5".into(), "Hello".into()]),
    ] {
        read_only(0);
        let core = open();
        let marked = answer(&core, "sb_db_get", ["SELECT id FROM sb_users WHERE id = 99".into()]);
        assert!(marked.is_truthy(), "the first host is the second server");
        read_only(1);
        let given = answer(&core, name, arguments);
        assert!(
            given == Value::Bool(true) || matches!(given, Value::Map(_) | Value::Record(_)),
            "{name}: {given:?}"
        );
    }
    scene.expect(
        "SELECT COUNT(*) AS messages FROM sb_messages WHERE conversation_id = 5 AND message = 'Hello'",
        &[("messages", "1")],
    );
    scene.database.drop();
}
