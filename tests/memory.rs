//! How much memory exports and messages to all take: as much for many rows as for few.
//!
//! `tests/support/mariadb cargo test --test memory`. On its own, since it looks at the memory of the whole process.
//! `SB_TEST_LARGE=1` exports a million users, which takes a few minutes.

// A test fails by panicking, in its helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout)]

mod support;

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use sb::contract::{Value, json};
use support::bench::Installation;
use support::case::Given;
use support::core::Core;
use support::database::{Database, Server};

/// One measures at a time.
static TURN: Mutex<()> = Mutex::new(());

/// The most memory that the process has had since it was last asked to forget it, in KiB.
fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Calls a function on a database that `sql` fills; how much memory it took more than at its beginning, in KiB, and how
/// long the file is that it wrote.
fn measure(test: &str, sql: &[&str], name: &str, arguments: &[Value]) -> (usize, u64) {
    measure_and_look(test, sql, name, arguments, |url, _, folder| {
        let file = url.as_str().unwrap().rsplit('/').next().unwrap();
        fs::metadata(folder.join("uploads").join(file)).unwrap().len()
    })
}

/// The same with something else that is looked at afterwards: the result, the database, the folder of the installation.
fn measure_and_look<T>(
    test: &str,
    sql: &[&str],
    name: &str,
    arguments: &[Value],
    look: impl FnOnce(&Value, &mut Database, &Path) -> T,
) -> (usize, T) {
    let turn = TURN.lock().unwrap();
    let server = Server::of_environment().unwrap();
    let given = Given {
        sql: sql.iter().map(|&sql| sql.to_owned()).collect(),
        ..Given::default()
    };
    let mut database = Database::create(&server, test, &given).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut installation = Installation::of(&server, &database);
    let path = folder.path().to_str().unwrap().to_owned();
    installation.constants.insert("SB_PATH".to_owned(), path);
    installation.force_admin = true;
    let core = Core::open(installation);
    // Connected, and everything made that a process makes once.
    core.call("sb_count_users", []).unwrap();
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = peak();
    let result = core.call(name, arguments.iter().cloned()).unwrap();
    let taken = peak() - before;
    let seen = look(&result, &mut database, folder.path());
    database.drop();
    drop(turn);
    (taken, seen)
}

#[test]
fn a_transcript_of_ten_thousand_messages() {
    let first = "INSERT INTO sb_messages (id, user_id, message, creation_time, attachments, payload, conversation_id)
        VALUES (100, 3, REPEAT('0123456789', 500), '2026-03-01 00:00:00', '', '', 1)";
    let twice = "INSERT INTO sb_messages (user_id, message, creation_time, attachments, payload, conversation_id)
        SELECT user_id, message, creation_time, attachments, payload, 1 FROM sb_messages WHERE id >= 100 LIMIT 5000";
    let statements: Vec<&str> = [first].into_iter().chain([twice; 14]).collect();
    for kind in ["csv", "txt"] {
        let (taken, length) = measure(
            "long transcript",
            &statements,
            "sb_transcript",
            &[1.into(), kind.into()],
        );
        assert!(length > 60_000_000, "{kind}: {length} bytes");
        assert!(taken < 50 * 1024, "{kind}: {taken} KiB");
    }
}

#[test]
fn an_export_of_many_users() {
    let first = "INSERT INTO sb_users (id, first_name, last_name, user_type, creation_time, token)
        VALUES (100, 'One', 'Of many', 'user', '2026-03-01 00:00:00', UUID())";
    let twice = "INSERT INTO sb_users (first_name, last_name, user_type, creation_time, token)
        SELECT 'One', 'Of many', 'user', '2026-03-01 00:00:00', UUID() FROM sb_users WHERE id >= 100";
    let details = "INSERT INTO sb_users_data (user_id, slug, name, value)
        SELECT id, 'about', 'About', REPEAT('0123456789', 300) FROM sb_users WHERE id >= 100";
    let few: Vec<&str> = [first].into_iter().chain([twice; 11]).chain([details]).collect();
    let many: Vec<&str> = [first].into_iter().chain([twice; 14]).chain([details]).collect();
    let (of_few, length) = measure("few users", &few, "sb_csv_users", &[]);
    assert!(length > 6_000_000, "{length} bytes");
    let (of_many, length) = measure("many users", &many, "sb_csv_users", &[]);
    assert!(length > 48_000_000, "{length} bytes");
    assert!(
        of_many < 20 * 1024 && of_many < of_few + 5 * 1024,
        "{of_few} and {of_many} KiB"
    );
}

#[test]
fn a_message_to_all_by_email() {
    let outbox = "CREATE TABLE sb_outbox (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, channel VARCHAR(20) NOT NULL,
        event VARCHAR(50) NOT NULL, target VARCHAR(191), payload MEDIUMTEXT NOT NULL, state TINYINT NOT NULL DEFAULT 0,
        attempts TINYINT NOT NULL DEFAULT 0, next_try DATETIME NOT NULL, claim BINARY(16), failure VARCHAR(191),
        created DATETIME NOT NULL)";
    let settings = r#"UPDATE sb_settings SET value = '{"email-server-host":["127.0.0.1","text"],
        "email-server-port":["1","text"],"email-server-from":["chat@support.example","text"]}' WHERE name = 'settings'"#;
    let first = "INSERT INTO sb_users (id, first_name, last_name, email, user_type, creation_time, token)
        VALUES (100, 'One', 'Of many', 'first@crowd.example', 'user', '2026-03-01 00:00:00', UUID())";
    let twice = "INSERT INTO sb_users (first_name, last_name, email, user_type, creation_time, token)
        SELECT 'One', 'Of many', CONCAT(UUID(), '@crowd.example'), 'user', '2026-03-01 00:00:00', UUID()
        FROM sb_users WHERE id >= 100";
    let arguments = ["all".into(), "x".repeat(10_000).into(), "News".into()];
    let take = |name: &str, times: usize| {
        let sql: Vec<&str> = [outbox, settings, first]
            .into_iter()
            .chain(vec![twice; times])
            .collect();
        measure_and_look(name, &sql, "sb_direct_message", &arguments, |_, database, _| {
            let rows = database
                .rows("SELECT CAST(COUNT(*) AS CHAR) AS emails FROM sb_outbox")
                .unwrap();
            json::encode(&rows)
        })
    };
    let (of_few, emails) = take("few e-mails", 9);
    assert_eq!(emails, r#"[{"emails":"515"}]"#);
    let (of_many, emails) = take("many e-mails", 12);
    assert_eq!(emails, r#"[{"emails":"4099"}]"#);
    assert!(
        of_many < 20 * 1024 && of_many < of_few + 5 * 1024,
        "{of_few} and {of_many} KiB"
    );
}

/// A million users where `SB_TEST_LARGE` is set, else some ten thousand: the memory is that of a few thousand.
#[test]
fn an_export_of_a_million_users() {
    let first = "INSERT INTO sb_users (id, first_name, last_name, email, user_type, creation_time, token)
        VALUES (100, 'One', 'Of many', '100@many.example', 'user', '2026-03-01 00:00:00', UUID())";
    let twice = "INSERT INTO sb_users (first_name, last_name, email, user_type, creation_time, token)
        SELECT 'One', 'Of many', CONCAT(UUID(), '@many.example'), 'user', '2026-03-01 00:00:00', UUID()
        FROM sb_users WHERE id >= 100";
    let details = "INSERT INTO sb_users_data (user_id, slug, name, value)
        SELECT id, 'phone', 'Phone', CONCAT('+44', id) FROM sb_users WHERE id >= 100";
    let doublings = match std::env::var_os("SB_TEST_LARGE") {
        Some(_) => 20,
        None => 15,
    };
    let users = |doublings| -> Vec<&str> {
        let statements = [first].into_iter().chain(std::iter::repeat_n(twice, doublings));
        statements.chain([details]).collect()
    };
    let (of_few, _) = measure("a few thousand users", &users(11), "sb_csv_users", &[]);
    let (of_many, length) = measure("a million users", &users(doublings), "sb_csv_users", &[]);
    println!("2^11 users: {of_few} KiB; 2^{doublings} users: {of_many} KiB for {length} bytes");
    assert!(length > 100 << doublings, "{length} bytes");
    assert!(
        of_many < 20 * 1024 && of_many < of_few + 5 * 1024,
        "{of_few} and {of_many} KiB"
    );
}
