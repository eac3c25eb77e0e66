//! Clean-up of large tables, and the turn that one of many takes.
//!
//! `tests/support/mariadb cargo test --test cleaning`

// A test fails by panicking, in its helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::sync::Barrier;
use std::thread;

use sb::contract::Value;
use support::bench::Installation;
use support::case::Given;
use support::core::Core;
use support::database::{Database, Server};
use support::matching::compare;

fn database(test: &str, sql: &[&str]) -> (Server, Database) {
    let server = Server::of_environment().unwrap();
    let given = Given {
        sql: sql.iter().map(|&sql| sql.to_owned()).collect(),
        ..Given::default()
    };
    let database = Database::create(&server, test, &given).unwrap();
    (server, database)
}

fn core(server: &Server, database: &Database) -> Core {
    let mut installation = Installation::of(server, database);
    installation.force_admin = true;
    Core::open(installation)
}

/// The only row of a query has these cells.
#[track_caller]
fn expect(database: &mut Database, sql: &str, cells: &[(&'static str, &str)]) {
    let row = Value::map(cells.iter().map(|&(name, cell)| (name, cell.into())));
    let got = database.rows(sql).unwrap();
    compare(&vec![row].into(), &got).unwrap_or_else(|difference| panic!("{sql}\n{difference}"));
}

#[test]
fn large_tables_are_cleaned_in_chunks() {
    let double = |insert: &'static str, times: usize| vec![insert; times];
    let mut sql = vec![
        // How many rows each statement wrote: within one, its time stands still.
        "CREATE TABLE written (at DATETIME(6), what VARCHAR(20), number INT, PRIMARY KEY (at, what))",
        "CREATE TRIGGER deleted AFTER DELETE ON sb_messages FOR EACH ROW
            INSERT INTO written VALUES (NOW(6), 'messages', 1) ON DUPLICATE KEY UPDATE number = number + 1",
        "CREATE TRIGGER archived AFTER UPDATE ON sb_conversations FOR EACH ROW
            INSERT INTO written VALUES (NOW(6), 'conversations', 1) ON DUPLICATE KEY UPDATE number = number + 1",
        // In the trash: 12,000 messages of conversation 3, and one each of others.
        "INSERT INTO sb_messages (user_id, message, creation_time, conversation_id) VALUES (3, 'trash', '2026-01-01', 3)",
    ];
    sql.extend(double(
        "INSERT INTO sb_messages (user_id, message, creation_time, conversation_id)
            SELECT 3, 'trash', '2026-01-01', 3 FROM sb_messages WHERE message = 'trash' LIMIT 4000",
        14,
    ));
    sql.push(
        "INSERT INTO sb_conversations (user_id, title, creation_time, status_code) VALUES (3, 'old', '2026-01-01', 0)",
    );
    sql.extend(double(
        "INSERT INTO sb_conversations (user_id, title, creation_time, status_code)
            SELECT 3, 'old', '2026-01-01', 1 FROM sb_conversations WHERE title = 'old' LIMIT 4000",
        14,
    ));
    sql.push(
        "INSERT INTO sb_conversations (user_id, title, creation_time, status_code)
            SELECT 3, 'trash', '2026-01-01', 4 FROM sb_conversations WHERE title = 'old' LIMIT 2000",
    );
    sql.push(
        "INSERT INTO sb_messages (user_id, message, creation_time, conversation_id)
            SELECT 3, 'trash', '2026-01-01', id FROM sb_conversations WHERE title = 'trash'",
    );
    // 1,000 visitors, one of whom wrote 9,000 messages.
    sql.push(
        "INSERT INTO sb_users (first_name, last_name, user_type, creation_time, last_activity, token)
            SELECT 'One', 'Of many', 'visitor', '2026-01-01', '2026-01-01', UUID() FROM sb_conversations WHERE title = 'old' LIMIT 1000",
    );
    sql.push(
        "INSERT INTO sb_messages (user_id, message, creation_time, conversation_id)
            SELECT 5, 'visitor', '2026-01-01', 5 FROM sb_conversations WHERE title = 'old' LIMIT 9000",
    );
    let (server, mut database) = database("large clean-up", &sql);
    expect(
        &mut database,
        "SELECT (SELECT COUNT(*) FROM sb_messages WHERE message = 'trash') > 14000 AS trash,
            (SELECT COUNT(*) FROM sb_conversations WHERE title = 'old') > 10000 AS old,
            (SELECT COUNT(*) FROM sb_messages WHERE message = 'visitor') AS visitor",
        &[("trash", "1"), ("old", "1"), ("visitor", "9000")],
    );
    assert_eq!(core(&server, &database).call("sb_clean_data", []), Ok(true.into()));
    expect(
        &mut database,
        "SELECT (SELECT COUNT(*) FROM sb_messages WHERE message IN ('trash', 'visitor')) AS messages,
            (SELECT COUNT(*) FROM sb_conversations WHERE status_code IN (0, 1)) AS live,
            (SELECT COUNT(*) FROM sb_conversations WHERE status_code = 4) AS trash,
            (SELECT COUNT(*) FROM sb_users WHERE user_type = 'visitor') AS visitors,
            (SELECT MAX(number) FROM written WHERE what = 'messages') AS deleted,
            (SELECT MAX(number) FROM written WHERE what = 'conversations') AS archived",
        &[
            ("messages", "0"),
            ("live", "0"),
            ("trash", "2001"),
            ("visitors", "0"),
            ("deleted", "5000"),
            ("archived", "5000"),
        ],
    );
    database.drop();
}

#[test]
fn of_many_who_come_at_the_same_time_one_has_the_turn() {
    const WORKERS: usize = 8;
    let (server, mut database) = database(
        "turns",
        &[
            "CREATE TABLE turns (number INT AUTO_INCREMENT PRIMARY KEY)",
            "CREATE TRIGGER first_turn AFTER INSERT ON sb_settings FOR EACH ROW
                INSERT INTO turns SELECT NULL FROM DUAL WHERE NEW.name = 'cron-last'",
            "CREATE TRIGGER next_turn AFTER UPDATE ON sb_settings FOR EACH ROW
                INSERT INTO turns SELECT NULL FROM DUAL WHERE NEW.name = 'cron-last'",
        ],
    );
    let rounds = [
        "DO 1",
        "UPDATE sb_settings SET value = '\"2026-01-01 00:00:00\"' WHERE name = 'cron-last'",
        // Within the hour, even when the next one begins right now.
        "UPDATE sb_settings SET value = CONCAT('\"', UTC_TIMESTAMP() + INTERVAL 60 SECOND, '\"') WHERE name = 'cron-last'",
    ];
    for (round, before) in rounds.into_iter().enumerate() {
        database.rows(before).unwrap();
        database.rows("DELETE FROM turns").unwrap();
        let start = Barrier::new(WORKERS);
        thread::scope(|scope| {
            for _ in 0..WORKERS {
                scope.spawn(|| {
                    let core = core(&server, &database);
                    core.call("sb_count_users", []).unwrap();
                    start.wait();
                    assert_eq!(core.call("sb_cron_jobs", []), Ok(true.into()));
                });
            }
        });
        let turns = if round == 2 { "0" } else { "1" };
        expect(
            &mut database,
            "SELECT COUNT(*) AS turns FROM turns",
            &[("turns", turns)],
        );
    }
    database.drop();
}
