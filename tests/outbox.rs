//! What follows a write: recorded with it, delivered after it, tried again until it succeeds or is given up.
//!
//! `tests/support/mariadb cargo test --test outbox`

// A test fails by panicking, in its helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[allow(dead_code)]
#[path = "support/stand_in.rs"]
mod stand_in;
mod support;

use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::sign::Signer;
use sb::contract::{Value, json};
use stand_in::{Received, Reply, StandIn};
use support::bench::Installation;
use support::core::Core;
use support::scene::{Scene, answer};

/// The library's own table, as `sb upgrade` makes it.
const TABLE: &str =
    "CREATE TABLE sb_outbox (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, channel VARCHAR(20) NOT NULL,
    event VARCHAR(50) NOT NULL, target VARCHAR(191), payload MEDIUMTEXT NOT NULL, state TINYINT NOT NULL DEFAULT 0,
    attempts TINYINT NOT NULL DEFAULT 0, next_try DATETIME NOT NULL, claim BINARY(16), failure VARCHAR(191),
    created DATETIME NOT NULL)";

const KEY: &str = "the webhooks' key";

/// An installation whose webhooks go to a stand-in.
fn scene(test: &str, receiver: &StandIn, table: bool) -> (Scene, Core) {
    let settings = Value::map([(
        "webhooks",
        Value::List(vec![
            Value::map([
                ("webhooks-active", Value::List(vec![true.into(), "checkbox".into()])),
                (
                    "webhooks-url",
                    Value::List(vec![receiver.url("/hook/").into(), "text".into()]),
                ),
                ("webhooks-key", Value::List(vec![KEY.into(), "text".into()])),
                (
                    "webhooks-allowed",
                    Value::List(vec!["message-sent,bot-message".into(), "text".into()]),
                ),
            ]),
            "multi-input".into(),
        ]),
    )]);
    let settings = json::encode(&settings).replace('\\', "\\\\").replace('\'', "\\'");
    let settings = format!("UPDATE sb_settings SET value = '{settings}' WHERE name = 'settings'");
    let sql: Vec<&str> = table.then_some(TABLE).into_iter().chain([settings.as_str()]).collect();
    let scene = Scene::new(test, &sql);
    let core = Core::open(Installation::of(&scene.server, &scene.database));
    (scene, core)
}

fn send(core: &Core, text: &str) {
    let answer = answer(core, "sb_send_message", ["3".into(), "1".into(), text.into()]);
    assert!(matches!(answer, Value::Record(_)), "{answer:?}");
}

/// What the receiver reads, once it has checked who sent it.
fn read(request: &Received) -> Value {
    let signature = request.header("x-signature").unwrap();
    let (time, signature) = signature.strip_prefix("t=").unwrap().split_once(",v1=").unwrap();
    let key = PKey::hmac(KEY.as_bytes()).unwrap();
    let mut signer = Signer::new(MessageDigest::sha256(), &key).unwrap();
    let expected = signer
        .sign_oneshot_to_vec(format!("{time}.{}", request.body).as_bytes())
        .unwrap();
    let signature: Vec<u8> = (0..signature.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&signature[at..at + 2], 16).unwrap())
        .collect();
    assert_eq!(signature, expected);
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/hook/"));
    assert_eq!(request.header("content-type"), Some("application/json; charset=utf-8"));
    json::decode(request.body.as_bytes()).unwrap()
}

fn text(value: &Value, name: &'static str) -> String {
    value.get(&name.into()).unwrap().as_str().unwrap().to_owned()
}

#[test]
fn a_webhook_is_called_at_the_end_of_the_request_with_or_without_the_table() {
    for table in [true, false] {
        let receiver = StandIn::start(|_| Reply::of(204, &[], ""));
        let (mut scene, core) = scene("webhook", &receiver, table);
        send(&core, "Hello 😟");
        answer(&core, "sb_update_message", ["1".into(), "not wanted".into()]);
        assert!(receiver.received().is_empty(), "the request goes on");
        core.end();
        let calls = receiver.received();
        assert_eq!(calls.len(), 1);
        let event = read(&calls[0]);
        assert_eq!(text(&event, "function"), "message-sent");
        assert_eq!(text(&event, "key"), KEY);
        assert_eq!(text(&event, "sender-url"), "https://support.example/chat");
        let data = event.get(&"data".into()).unwrap();
        assert_eq!(
            (text(data, "message"), text(data, "user_id")),
            ("Hello 😟".to_owned(), "3".to_owned())
        );
        if table {
            assert_eq!(calls[0].header("x-delivery-id"), Some("1"));
            scene.expect(
                "SELECT CAST(state AS CHAR) AS state, CAST(attempts AS CHAR) AS attempts FROM sb_outbox
                WHERE failure IS NULL AND channel = 'webhook'",
                &[("state", "2"), ("attempts", "1")],
            );
        } else {
            assert_eq!(calls[0].header("x-delivery-id").unwrap().len(), 40);
        }
        core.end();
        assert_eq!(receiver.received().len(), 1, "delivered once");
        scene.database.drop();
    }
}

#[test]
fn what_is_rolled_back_is_not_delivered() {
    let receiver = StandIn::start(|_| Reply::of(204, &[], ""));
    let (mut scene, core) = scene("rolled back", &receiver, true);
    answer(&core, "sb_db_query", ["START TRANSACTION".into()]);
    send(&core, "never");
    // The caller's transaction ends with the request.
    core.end();
    assert!(receiver.received().is_empty());
    scene.expect(
        "SELECT (SELECT COUNT(*) FROM sb_outbox) AS recorded, (SELECT COUNT(*) FROM sb_messages) AS messages",
        &[("recorded", "0"), ("messages", "11")],
    );
    scene.database.drop();
}

#[test]
fn what_fails_is_tried_again_with_growing_pauses_and_given_up_at_last() {
    let receiver = StandIn::start(|_| Reply::of(500, &[], "no"));
    let (mut scene, core) = scene("failing", &receiver, true);
    send(&core, "Hello");
    core.end();
    let mut longest = 0;
    for (attempt, pause) in [(1, 10), (2, 60), (3, 600), (4, 3600)] {
        let rows = scene
            .database
            .rows(
                "SELECT CAST(state AS CHAR) AS state, CAST(attempts AS CHAR) AS attempts, failure,
                    CAST(TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), next_try) AS CHAR) AS pause FROM sb_outbox",
            )
            .unwrap();
        let row = rows.get(&0.into()).unwrap();
        assert_eq!(
            (text(row, "state"), text(row, "attempts")),
            ("0".to_owned(), attempt.to_string())
        );
        assert!(text(row, "failure").contains("500"), "{row:?}");
        let waits: i64 = text(row, "pause").parse().unwrap();
        assert!((pause / 2 - 3..=pause * 3 / 2).contains(&waits), "{waits} of {pause}");
        assert!(waits > longest);
        longest = waits;
        assert_eq!(core.deliver_due().unwrap(), 0, "not before its time");
        scene.run("UPDATE sb_outbox SET next_try = UTC_TIMESTAMP()");
        assert_eq!(core.deliver_due().unwrap(), 1);
    }
    scene.expect(
        "SELECT CAST(state AS CHAR) AS state, CAST(attempts AS CHAR) AS attempts FROM sb_outbox",
        &[("state", "3"), ("attempts", "5")],
    );
    assert_eq!(core.deliver_due().unwrap(), 0, "dead is dead");
    let ids: Vec<_> = receiver
        .received()
        .iter()
        .map(|request| request.header("x-delivery-id").unwrap().to_owned())
        .collect();
    assert_eq!(ids, ["1"; 5], "by which the receiver knows the repetition");
    scene.database.drop();
}

#[test]
fn what_a_dead_worker_held_is_taken_up_and_what_another_holds_is_left() {
    let receiver = StandIn::start(|_| Reply::of(200, &[], ""));
    let (mut scene, core) = scene("claims", &receiver, true);
    scene.run(
        "INSERT INTO sb_outbox (channel, event, payload, state, attempts, next_try, claim, created) VALUES
            ('webhook', 'left-behind', '{}', 1, 1, UTC_TIMESTAMP() - INTERVAL 1 MINUTE, 'x', UTC_TIMESTAMP()),
            ('webhook', 'held', '{}', 1, 1, UTC_TIMESTAMP() + INTERVAL 1 MINUTE, 'y', UTC_TIMESTAMP()),
            ('sms', 'unknown-outcome', '{}', 1, 1, UTC_TIMESTAMP() - INTERVAL 1 MINUTE, 'z', UTC_TIMESTAMP()),
            ('of-a-newer-version', 'left', '{}', 0, 0, UTC_TIMESTAMP(), NULL, UTC_TIMESTAMP())",
    );
    assert_eq!(core.deliver_due().unwrap(), 1);
    let events: Vec<_> = receiver
        .received()
        .iter()
        .map(|request| text(&read(request), "function"))
        .collect();
    assert_eq!(events, ["left-behind"]);
    scene.expect(
        "SELECT GROUP_CONCAT(event, state ORDER BY id) AS states FROM sb_outbox",
        &[("states", "left-behind2,held1,unknown-outcome3,left0")],
    );
    scene.database.drop();
}

#[test]
fn several_workers_deliver_each_once() {
    const EVENTS: usize = 40;
    let receiver = StandIn::start(|_| Reply::of(200, &[], ""));
    let (mut scene, core) = scene("workers", &receiver, true);
    for number in 0..EVENTS {
        send(&core, &number.to_string());
    }
    let delivered: usize = scene
        .at_once(4, |_, core| core.deliver_due().unwrap())
        .into_iter()
        .sum();
    core.end();
    let mut messages: Vec<String> = receiver
        .received()
        .iter()
        .map(|request| text(read(request).get(&"data".into()).unwrap(), "message"))
        .collect();
    messages.sort();
    messages.dedup();
    assert_eq!(
        (delivered, receiver.received().len(), messages.len()),
        (EVENTS, EVENTS, EVENTS)
    );
    scene.expect(
        "SELECT COUNT(*) AS delivered FROM sb_outbox WHERE state = 2",
        &[("delivered", "40")],
    );
    scene.database.drop();
}

#[test]
fn what_was_delivered_is_forgotten_after_a_day_and_what_is_dead_is_not() {
    let receiver = StandIn::start(|_| Reply::of(200, &[], ""));
    let (mut scene, core) = scene("forgotten", &receiver, true);
    scene.run(
        "INSERT INTO sb_outbox (channel, event, payload, state, next_try, created) VALUES
            ('webhook', 'old', '{}', 2, UTC_TIMESTAMP() - INTERVAL 25 HOUR, UTC_TIMESTAMP() - INTERVAL 25 HOUR),
            ('feed', 'old-sign', '{}', 2, UTC_TIMESTAMP() - INTERVAL 25 HOUR, UTC_TIMESTAMP() - INTERVAL 25 HOUR),
            ('webhook', 'dead', '{}', 3, UTC_TIMESTAMP() - INTERVAL 25 HOUR, UTC_TIMESTAMP() - INTERVAL 25 HOUR),
            ('feed', 'sign', '{}', 2, UTC_TIMESTAMP() - INTERVAL 23 HOUR, UTC_TIMESTAMP() - INTERVAL 23 HOUR)",
    );
    answer(&core, "sb_cron_jobs", []);
    scene.expect(
        "SELECT GROUP_CONCAT(event ORDER BY id) AS events FROM sb_outbox",
        &[("events", "dead,sign")],
    );
    scene.database.drop();
}
