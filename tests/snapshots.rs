//! A server that refuses what was changed since a transaction first looked, as MariaDB does from 11.6 on and earlier ones
//! when they are told to: the transaction runs again, and nothing is lost or doubled.
//!
//! `tests/support/mariadb cargo test --test snapshots`. One test alone, since it changes how the server treats all.

// A test fails by panicking, in its helpers too.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use sb::contract::Value;
use support::scene::{Scene, answer};

#[test]
fn a_transaction_that_meets_a_changed_row_runs_again() {
    const SENDERS: usize = 8;
    const SENDS: usize = 100;
    let mut scene = Scene::new("snapshots", &[]);
    let setting = scene
        .database
        .rows("SHOW GLOBAL VARIABLES LIKE 'innodb_snapshot_isolation'")
        .unwrap();
    // MySQL knows no such thing: there it is the same test without it.
    let is_known = setting != Value::List(Vec::new());
    if is_known {
        scene.run("SET GLOBAL innodb_snapshot_isolation = ON");
    }
    let sent = scene.at_once(SENDERS, |sender, core| {
        let sends = (0..SENDS).map(|turn| {
            let message = format!("{sender}/{turn}");
            answer(core, "sb_send_message", ["3".into(), "1".into(), message.into()])
        });
        sends.filter(|answer| matches!(answer, Value::Record(_))).count()
    });
    if is_known {
        scene.run("SET GLOBAL innodb_snapshot_isolation = DEFAULT");
    }
    assert_eq!(sent, vec![SENDS; SENDERS]);
    scene.expect(
        "SELECT COUNT(*) AS messages, COUNT(DISTINCT message) AS texts FROM sb_messages WHERE message LIKE '_/%'",
        &[("messages", "800"), ("texts", "800")],
    );
    scene.database.drop();
}
