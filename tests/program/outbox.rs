//! `sb outbox`.

use crate::bench::{Answer, Database};
use crate::stand_in::{Reply, StandIn};

const DELIVERIES: &str = "INSERT INTO sb_outbox (id, channel, event, payload, state, attempts, next_try, claim, failure, created) VALUES
    (1, 'webhook', 'message-sent', '{\"id\":\"1\"}', 3, 5, '2026-03-01 11:00:00', NULL, 'the receiver answered with status 500', '2026-03-01 09:00:00'),
    (2, 'webhook', 'message-sent', '{\"id\":\"2\"}', 0, 1, '2099-03-01 10:00:00', NULL, 'the receiver answered with status 500', '2026-03-01 09:00:00'),
    (3, 'webhook', 'message-sent', '{\"id\":\"3\"}', 2, 1, '2026-03-01 10:00:00', NULL, NULL, '2026-03-01 09:00:00'),
    (4, 'webhook', 'message-sent', '{\"id\":\"4\"}', 1, 1, '2099-03-01 10:00:00', 'another', NULL, '2026-03-01 09:00:00'),
    (5, 'webhook', 'bot-message', '{\"id\":\"5\"}', 3, 5, '2026-03-01 10:00:00', NULL, NULL, '2026-03-01 09:00:00')";

const STATES: &str = "SELECT GROUP_CONCAT(id, ':', state, ':', attempts ORDER BY id) FROM sb_outbox";

/// An installation with some deliveries, whose webhooks go to a stand-in.
fn scene(test: &str, receiver: &StandIn) -> Database {
    let settings = format!(
        r#"INSERT INTO sb_settings (name, value) VALUES ('settings', '{{"webhooks":[{{"webhooks-active":[true,"checkbox"],"webhooks-url":["{}","text"],"webhooks-key":["the key","text"]}},"multi-input"]}}')
           ON DUPLICATE KEY UPDATE value = VALUES(value)"#,
        receiver.url("/hook")
    );
    Database::create(
        test,
        &["generation-4", "people", "own-tables"],
        &[&settings, DELIVERIES],
    )
}

fn outbox(database: &Database, arguments: &[&str]) -> Answer {
    database.sb(&[&["outbox"], arguments].concat(), "")
}

#[test]
fn what_is_not_delivered_is_listed() {
    let receiver = StandIn::start(|_| Reply::of(200, &[], ""));
    let database = scene("outbox: list", &receiver);
    let answer = outbox(&database, &["list"]);
    assert_eq!((answer.status, answer.err.as_str()), (0, ""));
    assert_eq!(
        answer.out,
        "2: webhook message-sent, waiting, recorded 2026-03-01 09:00:00, tried once, due 2099-03-01 10:00:00: \
         the receiver answered with status 500\n\
         4: webhook message-sent, claimed, recorded 2026-03-01 09:00:00, tried once\n\
         5: webhook bot-message, dead, recorded 2026-03-01 09:00:00, tried 5 times\n\
         1: webhook message-sent, dead, recorded 2026-03-01 09:00:00, tried 5 times: \
         the receiver answered with status 500\n"
    );
    let first = outbox(&database, &["list", "--state", "dead", "--limit", "1"]).out;
    assert_eq!((first.lines().count(), first.starts_with("5: ")), (1, true), "{first}");
    assert!(
        outbox(&database, &["list", "--state", "delivered"])
            .out
            .starts_with("3: ")
    );
    assert_eq!(outbox(&database, &["list", "--state", "lost"]).status, 2);
    assert_eq!(receiver.received().len(), 0, "looking delivers nothing");
    database.drop();
}

#[test]
fn what_was_given_up_is_delivered_when_it_is_asked_for() {
    let receiver = StandIn::start(|_| Reply::of(200, &[], ""));
    let mut database = scene("outbox: retry all", &receiver);
    let answer = outbox(&database, &["retry", "--all"]);
    assert_eq!((answer.status, answer.err.as_str()), (0, ""), "{}", answer.out);
    assert_eq!(
        answer.out,
        "5: webhook bot-message, delivered, recorded 2026-03-01 09:00:00, tried once\n\
         1: webhook message-sent, delivered, recorded 2026-03-01 09:00:00, tried once\n"
    );
    assert_eq!(database.lines(STATES), ["1:2:1,2:0:1,3:2:1,4:1:1,5:2:1"]);
    let calls = receiver.received();
    let ids: Vec<_> = calls.iter().map(|call| call.header("x-delivery-id").unwrap()).collect();
    assert_eq!(ids, ["1", "5"]);
    assert!(calls[0].body.contains(r#""data":{"id":"1"}"#), "{}", calls[0].body);
    assert!(calls[0].header("x-signature").unwrap().contains(",v1="));
    assert_eq!(outbox(&database, &["retry", "--all"]).out, "There is none.\n");
    database.drop();
}

#[test]
fn one_that_waits_is_tried_before_its_time_and_nothing_else() {
    let receiver = StandIn::start(|_| Reply::of(200, &[], ""));
    let mut database = scene("outbox: retry one", &receiver);
    let answer = outbox(&database, &["retry", "2"]);
    assert_eq!(answer.status, 0, "{}{}", answer.out, answer.err);
    assert_eq!(database.lines(STATES), ["1:3:5,2:2:1,3:2:1,4:1:1,5:3:5"]);
    // What arrived is not sent again.
    assert_eq!(outbox(&database, &["retry", "3"]).status, 0);
    assert_eq!(receiver.received().len(), 1);
    database.drop();
}

#[test]
fn what_fails_again_is_told_and_stays() {
    let receiver = StandIn::start(|_| Reply::of(503, &[], "no"));
    let mut database = scene("outbox: failing", &receiver);
    let answer = outbox(&database, &["retry", "1", "99"]);
    assert_eq!(
        (answer.status, answer.err.as_str()),
        (1, "sb: 2 of 2 are not delivered\n")
    );
    assert!(
        answer.out.contains("1: webhook message-sent, waiting, "),
        "{}",
        answer.out
    );
    assert!(answer.out.contains("answered with status 503"), "{}", answer.out);
    assert!(answer.out.contains("99: there is no such delivery\n"), "{}", answer.out);
    assert_eq!(database.lines(STATES), ["1:0:1,2:0:1,3:2:1,4:1:1,5:3:5"]);
    // Somebody has it.
    assert_eq!(outbox(&database, &["retry", "4"]).status, 1);
    database.drop();
}

#[test]
fn one_says_which() {
    let receiver = StandIn::start(|_| Reply::of(200, &[], ""));
    let database = scene("outbox: which", &receiver);
    for arguments in [&["retry"][..], &["retry", "1", "--all"], &["retry", "one"]] {
        assert_eq!(outbox(&database, arguments).status, 2, "{arguments:?}");
    }
    database.drop();
}
