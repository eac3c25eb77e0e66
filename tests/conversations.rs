//! Conversations under concurrency: nothing is lost, nothing doubled, and whoever polls sees each message once.
//!
//! `tests/support/mariadb cargo test --test conversations`

// A test fails by panicking, in its helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};

use sb::contract::{Argument, Key, Value};
use support::core::Core;
use support::scene::{Scene, answer, numbers};

/// What a send gives.
fn send(core: &Core, sender: usize, conversation: usize, text: String) -> Value {
    answer(
        core,
        "sb_send_message",
        [sender.to_string().into(), conversation.to_string().into(), text.into()],
    )
}

/// The value of a field of a map, as a text.
fn field(map: &Value, name: &'static str) -> String {
    text(map.get(&name.into()).unwrap())
}

fn text(value: &Value) -> String {
    String::from_value(value.clone()).unwrap()
}

/// Reads one conversation again and again until it has seen so many messages: their ids, as they came.
fn poll(core: &Core, conversation: usize, enough: impl Fn(usize) -> bool) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    loop {
        let last = ids.last().cloned().unwrap_or_default();
        let done = enough(ids.len());
        let arguments = ["1".into(), conversation.to_string().into(), "0".into(), last.into()];
        let Value::Records(messages) = answer(core, "sb_get_new_messages", arguments) else {
            panic!("no records");
        };
        ids.extend(messages.rows().map(|row| text(&row[&Key::from("id")])));
        // One look more after the last was sent.
        if done {
            return ids;
        }
    }
}

#[test]
fn eight_who_send_into_twenty_conversations_lose_and_double_nothing() {
    const SENDERS: usize = 8;
    const SENDS: usize = 500;
    const CONVERSATIONS: usize = 20;
    let mut scene = Scene::new(
        "sends",
        &[
            "DELETE FROM sb_conversations",
            "INSERT INTO sb_conversations (id, user_id, creation_time) VALUES (1, 3, '2026-01-01'), (2, 3, '2026-01-01'),
                (3, 3, '2026-01-01'), (4, 3, '2026-01-01'), (5, 3, '2026-01-01')",
            "INSERT INTO sb_conversations (user_id, creation_time) SELECT user_id, creation_time FROM sb_conversations",
            "INSERT INTO sb_conversations (user_id, creation_time) SELECT user_id, creation_time FROM sb_conversations",
            "SET @id = 0",
            "UPDATE sb_conversations SET id = 1000 + (@id := @id + 1) ORDER BY id",
        ],
    );
    let sent = AtomicUsize::new(0);
    let answers = scene.at_once(SENDERS + 1, |worker, core| {
        if worker == SENDERS {
            // Whoever reads the first conversation meanwhile.
            return poll(core, 1001, |_| sent.load(Ordering::SeqCst) == SENDERS * SENDS);
        }
        let answers = (0..SENDS).map(|turn| {
            let conversation = 1001 + (turn * 7 + worker) % CONVERSATIONS;
            // Agents and the user in turn, so that the status changes every time.
            let answer = send(core, 1 + worker % 3, conversation, format!("{worker}/{turn}"));
            sent.fetch_add(1, Ordering::SeqCst);
            assert_eq!(field(&answer, "status"), "success", "{answer:?}");
            field(&answer, "message-id")
        });
        answers.collect()
    });
    let polled = answers.last().unwrap();
    let mut ids: Vec<&String> = answers[..SENDERS].iter().flatten().collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), SENDERS * SENDS, "every send has an id of its own");
    scene.expect(
        "SELECT COUNT(*) AS messages, COUNT(DISTINCT message) AS texts, COUNT(DISTINCT conversation_id) AS conversations
            FROM sb_messages",
        &[("messages", "4000"), ("texts", "4000"), ("conversations", "20")],
    );
    let stored = scene
        .database
        .rows(
            "SELECT CAST(id AS CHAR) AS id FROM sb_messages WHERE conversation_id = 1001
                ORDER BY sb_messages.id",
        )
        .unwrap();
    let Value::List(stored) = stored else { panic!("no list") };
    let stored: Vec<String> = stored.iter().map(|row| field(row, "id")).collect();
    assert_eq!(*polled, stored, "whoever polls sees each message once, in order");
    scene.database.drop();
}

#[test]
fn of_those_who_need_a_first_conversation_at_the_same_time_one_opens_it() {
    const WORKERS: usize = 4;
    const USERS: usize = 200;
    let mut scene = Scene::new(
        "first conversation",
        &[&format!(
            "INSERT INTO sb_users (id, first_name, last_name, user_type, creation_time, token)
            SELECT 1000 + seq, 'New', '', 'user', '2026-01-01', CONCAT('new', seq) FROM {}",
            numbers(1, 200)
        )],
    );
    let answers = scene.at_once(WORKERS, |_, core| {
        (0..USERS)
            .map(|user| {
                let user = (1001 + user).to_string();
                answer(core, "sb_get_last_conversation_id_or_create", [user.into()])
            })
            .collect::<Vec<_>>()
    });
    for worker in &answers {
        assert_eq!(*worker, answers[0]);
    }
    scene.expect(
        "SELECT COUNT(*) AS conversations, COUNT(DISTINCT user_id) AS users FROM sb_conversations WHERE user_id > 1000",
        &[("conversations", "200"), ("users", "200")],
    );
    scene.database.drop();
}

#[test]
fn those_who_come_at_the_same_time_are_given_to_the_agents_in_turn_and_no_more_than_they_may_have() {
    const WORKERS: usize = 6;
    const AGENTS: usize = 4;
    let mut scene = Scene::new(
        "routing",
        &[
            "UPDATE sb_users SET user_type = 'user'",
            "INSERT INTO sb_users (id, first_name, last_name, user_type, creation_time, token, last_activity) VALUES
                (11, 'A', '', 'agent', '2026-01-01', 'a', '2099-01-01'), (12, 'B', '', 'agent', '2026-01-01', 'b', '2099-01-01'),
                (13, 'C', '', 'agent', '2026-01-01', 'c', '2099-01-01'), (14, 'D', '', 'admin', '2026-01-01', 'd', '2099-01-01')",
            &format!("INSERT INTO sb_conversations (id, user_id, creation_time) SELECT 1000 + seq, 3, '2026-01-01' FROM {}", numbers(1, 60)),
            r#"UPDATE sb_settings SET value =
                '{"queue":[{"queue-active":[true,"checkbox"],"queue-concurrent-chats":["10","number"]},"multi-input"]}'
                WHERE name = 'settings'"#,
        ],
    );
    let answers = scene.at_once(WORKERS, |worker, core| {
        (0..10)
            .map(|turn| {
                let conversation = (1001 + turn * WORKERS + worker).to_string();
                let none = || Value::Bool(false);
                let arguments = [
                    "3".into(),
                    conversation.into(),
                    "Hello".into(),
                    none(),
                    none(),
                    none(),
                    true.into(),
                ];
                answer(core, "sb_send_message", arguments).get(&"queue".into()) == Some(&Value::Bool(true))
            })
            .collect::<Vec<_>>()
    });
    let waiting = answers.into_iter().flatten().filter(|waits| *waits).count();
    assert_eq!(waiting, 60 - 10 * AGENTS);
    scene.expect(
        "SELECT COUNT(*) AS agents, MIN(given) AS least, MAX(given) AS most FROM
            (SELECT COUNT(*) AS given FROM sb_conversations WHERE agent_id > 10 GROUP BY agent_id) agents",
        &[("agents", "4"), ("least", "10"), ("most", "10")],
    );
    scene.database.drop();
}
