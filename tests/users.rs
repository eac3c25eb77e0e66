//! Users under concurrency: every worker is a thread with an engine and a connection of its own.
//!
//! `tests/support/mariadb cargo test --test users`

// A test fails by panicking, in its helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::thread;
use std::time::{Duration, Instant};

use sb::contract::Value;
use support::bench::Installation;
use support::core::Core;
use support::database::Database;
use support::scene::{Scene, answer, numbers};

#[test]
fn of_those_who_sign_up_with_one_address_at_the_same_time_one_gets_it() {
    const WORKERS: usize = 4;
    const ADDRESSES: usize = 250;
    let mut scene = Scene::new("sign up", &[]);
    let answers = scene.at_once(WORKERS, |worker, core| {
        (0..2 * ADDRESSES)
            .map(|turn| {
                // Two begin at the front and two at the back, so that they meet everywhere.
                let number = turn % ADDRESSES;
                let number = if worker % 2 == 0 {
                    number
                } else {
                    ADDRESSES - 1 - number
                };
                let settings = Value::map([
                    ("first_name", "New".into()),
                    ("email", format!("new{number}@customer.example").into()),
                ]);
                let details = Value::map([("phone", format!("{worker}").into()), ("city", "Roma".into())]);
                answer(core, "sb_add_user", [settings, details])
            })
            .collect::<Vec<_>>()
    });
    let (added, refused): (Vec<_>, Vec<_>) = answers
        .concat()
        .into_iter()
        .partition(|answer| answer.as_str().is_some_and(|id| id.parse::<u32>().is_ok()));
    assert_eq!((added.len(), refused.len()), (ADDRESSES, (2 * WORKERS - 1) * ADDRESSES));
    for answer in refused {
        assert_eq!(answer, "duplicate-email".into());
    }
    scene.expect(
        "SELECT COUNT(*) AS users, COUNT(DISTINCT email) AS addresses, COUNT(DISTINCT token) AS tokens
            FROM sb_users WHERE first_name = 'New'",
        &[("users", "250"), ("addresses", "250"), ("tokens", "250")],
    );
    // Nothing is left of those who were refused.
    scene.expect(
        "SELECT COUNT(*) AS details FROM sb_users_data WHERE user_id > 7",
        &[("details", "500")],
    );
    scene.database.drop();
}

#[test]
fn a_login_that_fails_ends_on_a_whole_second_after_it_began() {
    let sql = [
        "UPDATE sb_users SET password = '5f4dcc3b5aa765d61d8327deb882cf99' WHERE id = 4",
        "UPDATE sb_users SET password = NULL WHERE id = 7",
    ];
    let scene = Scene::new("whole second", &sql);
    let tries = scene.at_once(6, |worker, core| {
        let addresses = [
            "nobody@nowhere.example",
            "ben@support.example",
            "carla@customer.example",
            "dora@prospect.example",
            "linnea@customer.example",
            "carla@customer.example",
        ];
        // More than may be tried: the last ones are refused without a look at the password.
        let times = (0..if worker == 5 { 11 } else { 1 }).map(|_| {
            let began = Instant::now();
            assert_eq!(
                answer(core, "sb_login", [addresses[worker].into(), "wrong".into()]),
                Value::Bool(false)
            );
            began.elapsed()
        });
        times.min().unwrap()
    });
    assert!(tries.iter().all(|time| *time >= Duration::from_secs(1)), "{tries:?}");
}

#[test]
fn those_who_need_the_bot_at_the_same_time_get_the_same_one() {
    let mut scene = Scene::new("bot", &[]);
    for _ in 0..20 {
        scene.run("DELETE FROM sb_users WHERE user_type = 'bot'");
        let answers = scene.at_once(8, |_, core| answer(core, "sb_get_bot_id", []));
        let id = answers.first().and_then(Value::as_str).unwrap().to_owned();
        assert_eq!(answers, vec![Value::from(id.as_str()); 8]);
        scene.expect(
            "SELECT COUNT(*) AS bots, CAST(MIN(id) AS CHAR) AS id FROM sb_users WHERE user_type = 'bot'",
            &[("bots", "1"), ("id", &id)],
        );
    }
    scene.database.drop();
}

#[test]
fn leads_are_deleted_in_chunks_with_all_that_is_theirs() {
    let mut scene = Scene::new(
        "leads",
        &[
            &format!(
                "INSERT INTO sb_users (id, first_name, last_name, user_type, creation_time, token)
                SELECT seq, 'L', '', 'lead', '2026-06-01', CONCAT('lead', seq) FROM {}",
                numbers(1001, 2000)
            ),
            &format!(
                "INSERT INTO sb_users_data (user_id, slug, name, value)
                SELECT seq, 'city', 'City', 'Roma' FROM {}",
                numbers(1001, 2000)
            ),
            &format!(
                "INSERT INTO sb_conversations (id, user_id, creation_time, agent_id)
                SELECT seq, 1001 + seq % 1000, '2026-06-01', 2 FROM {}",
                numbers(10001, 15000)
            ),
            &format!(
                "INSERT INTO sb_messages (user_id, message, creation_time, conversation_id)
                SELECT 1001 + seq % 1000, 'Hello', '2026-06-01', seq FROM {}",
                numbers(10001, 15000)
            ),
            &format!(
                "INSERT INTO sb_settings SELECT CONCAT('notes-', seq), '[]' FROM {}",
                numbers(5001, 15000)
            ),
            "DELETE FROM sb_users WHERE id = 4",
        ],
    );
    let installation = Installation::of(&scene.server, &scene.database);
    // Whoever holds a message of the last lead stops its chunk, and no other.
    scene.run("BEGIN");
    scene.run("SELECT id FROM sb_messages WHERE user_id = 2000 FOR UPDATE");
    let deleting = thread::spawn(move || {
        let core = Core::open(Installation {
            force_admin: true,
            ..installation
        });
        answer(&core, "sb_delete_leads", [])
    });
    let mut watcher = Database::watch(&scene.server, &scene.database).unwrap();
    let mut seen = Vec::new();
    let started = Instant::now();
    while seen.last().map(String::as_str) != Some("200") {
        assert!(
            started.elapsed() < Duration::from_secs(8),
            "the leads left were {seen:?}"
        );
        let rows = watcher.rows("SELECT COUNT(*) AS leads FROM sb_users WHERE user_type = 'lead'");
        let left = rows
            .unwrap()
            .get(&0.into())
            .and_then(|row| row.get(&"leads".into()))
            .unwrap()
            .clone();
        let left = left.as_str().unwrap().to_owned();
        if seen.last() != Some(&left) {
            seen.push(left);
        }
    }
    assert!(
        seen.iter().all(|left| left.parse::<u32>().unwrap() % 200 == 0),
        "the leads left were {seen:?}"
    );
    scene.run("COMMIT");
    assert_eq!(deleting.join().unwrap(), Value::Bool(true));
    scene.expect(
        "SELECT (SELECT COUNT(*) FROM sb_users) AS users, (SELECT COUNT(*) FROM sb_users_data) AS details,
            (SELECT COUNT(*) FROM sb_conversations) AS conversations, (SELECT COUNT(*) FROM sb_messages) AS messages,
            (SELECT COUNT(*) FROM sb_settings) AS settings,
            (SELECT COUNT(*) FROM sb_settings WHERE name IN ('notes-10000', 'notes-10001', 'notes-15000')) AS notes",
        &[
            ("users", "6"),
            ("details", "2"),
            ("conversations", "5"),
            ("messages", "9"),
            ("settings", "5001"),
            ("notes", "1"),
        ],
    );
    scene.database.drop();
}

#[test]
fn several_who_change_one_user_lose_nothing() {
    const WORKERS: usize = 6;
    const CHANGES: usize = 60;
    let mut scene = Scene::new("change", &[]);
    let answers = scene.at_once(WORKERS, |worker, core| {
        let change =
            |slug: String, value: String| answer(core, "sb_update_user_value", ["5".into(), slug.into(), value.into()]);
        let mut answers: Vec<Value> = (0..CHANGES)
            .flat_map(|turn| {
                [
                    change(format!("own_{worker}_{turn}"), format!("{worker}/{turn}")),
                    change("shared".into(), format!("{worker}")),
                ]
            })
            .collect();
        // Each of these columns is written by one worker only.
        let column = [
            "first_name",
            "last_name",
            "email",
            "profile_image",
            "department",
            "phone",
        ];
        answers.push(change(column[worker].to_owned(), format!("{}", 100 + worker)));
        answers
    });
    assert!(
        answers.concat().iter().all(|answer| *answer == Value::Bool(true)),
        "{answers:?}"
    );
    let own = (WORKERS * CHANGES).to_string();
    scene.expect(
        "SELECT COUNT(*) AS own, SUM(value = REPLACE(SUBSTRING(slug, 5), '_', '/')) AS valid
            FROM sb_users_data WHERE user_id = 5 AND slug LIKE 'own%'",
        &[("own", &own), ("valid", &own)],
    );
    scene.expect(
        "SELECT COUNT(*) AS shared FROM sb_users_data WHERE slug = 'shared'",
        &[("shared", "1")],
    );
    scene.expect(
        "SELECT first_name, last_name, email, profile_image, department, user_type FROM sb_users WHERE id = 5",
        &[
            ("first_name", "100"),
            ("last_name", "101"),
            ("email", "102"),
            ("profile_image", "103"),
            ("department", "104"),
            ("user_type", "lead"),
        ],
    );
    scene.expect(
        "SELECT value FROM sb_users_data WHERE user_id = 5 AND slug = 'phone'",
        &[("value", "105")],
    );
    scene.database.drop();
}
