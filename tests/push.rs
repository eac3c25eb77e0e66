//! Push notifications: their provider's own SDK and then ours against the same stand-in, and the function on top.
//!
//! `tests/support/mariadb cargo test --test push`

// Tests may panic, their helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[allow(dead_code)]
#[path = "support/installed.rs"]
mod installed;
#[path = "support/push.rs"]
mod push;
#[allow(dead_code)]
#[path = "support/stand_in.rs"]
mod stand_in;
mod support;

use std::process::Command;

use installed::Installed;
use push::{INSTANCE, KEY};
use serde_json::{Value, json};
use stand_in::{Reply, StandIn};
use support::bench::Installation;
use support::core::Core;
use support::scene::Scene;

const FUNCTION: &str = "sb_push_notification";

fn settings(service: &StandIn) -> Value {
    json!({
        "push-notifications": [{
            "push-notifications-active": [true, "checkbox"], "push-notifications-users-active": [true, "checkbox"],
            "push-notifications-id": [format!(" {INSTANCE}"), "text"],
            "push-notifications-key": [format!("{KEY}\n"), "password"],
            "push-notifications-url": [service.url(""), "text"],
        }, "multi-input"],
        "notifications-icon": ["https://support.example/icon.png", "upload-image"],
    })
}

fn installed(name: &str, settings: &Value) -> Installed {
    let page = "INSERT INTO sb_users_data (user_id, slug, name, value)
        VALUES (3, 'current_url', 'Current URL', 'https://shop.example/cart?a=1#top')";
    Installed::new(name, "people", settings, &[page])
}

/// What was published, in order.
fn published(service: &StandIn) -> Vec<Value> {
    let requests = service.received();
    requests
        .iter()
        .map(|request| serde_json::from_slice(&request.bytes).unwrap())
        .collect()
}

#[test]
fn the_providers_own_sdk_takes_the_stand_in_for_the_service() {
    let service = push::start();
    let url = service.url("");
    let output = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/node_sdk"))
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/push_sdk.cjs"))
        .args(["127.0.0.1", url.rsplit_once(':').unwrap().1, INSTANCE, KEY])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(seen["published"], json!({"publishId": "pubid-1"}));
    for (what, refusal) in [
        ("wrong key", "401 Unauthorized - Incorrect API Key"),
        ("other instance", "404 Instance not found - Could not find the instance"),
        ("nothing to show", "422 Unprocessable Entity - there is nothing to show"),
        (
            "too long",
            "413 Payload too large - The request body is larger than 10KiB",
        ),
    ] {
        assert_eq!(seen[what], refusal, "{what}");
    }
}

#[test]
fn a_notification_is_published_with_what_a_click_opens() {
    let service = push::start();
    let installation = installed("published", &settings(&service));
    let attachments = json!([
        ["plan.pdf", "https://support.example/plan.pdf"],
        ["photo", "https://support.example/p.JPG?v=1"]
    ]);
    let given = json!(["Ben", "On its \"way\" 👋", "", 3, "1", 2, attachments]);
    assert_eq!(installation.call(FUNCTION, &given), json!({"publishId": "pubid-1"}));
    assert_eq!(
        published(&service),
        [json!({"interests": ["3"], "web": {
            "notification": {
                "title": "Ben", "body": "On its \"way\" 👋", "icon": "https://support.example/icon.png",
                "deep_link": "https://shop.example/cart?a=1&conversation=1", "hide_notification_if_site_has_focus": true,
            },
            "data": {"conversation_id": "1", "user_id": "2", "image": "https://support.example/p.JPG?v=1"},
        }})]
    );
    let request = &service.received()[0];
    assert_eq!(
        request.path,
        format!("/publish_api/v1/instances/{INSTANCE}/publishes/interests")
    );
}

#[test]
fn agents_and_users_get_the_same_with_links_of_their_own() {
    let service = push::start();
    let installation = installed("groups", &settings(&service));
    let given = json!([
        "T",
        "M",
        "https://a.example/i.png",
        ["3", "agents", 2, "99", "6", "7", "vip"],
        1
    ]);
    assert_eq!(installation.call(FUNCTION, &given), json!({"publishId": "pubid-1"}));
    let published = published(&service);
    let parts = |body: &Value| {
        (
            body["interests"].clone(),
            body["web"]["notification"]["deep_link"].clone(),
        )
    };
    assert_eq!(published.len(), 2);
    let (admin, page) = (
        "https://support.example/chat/admin.php?conversation=1",
        "https://support.example/chat?conversation=1",
    );
    assert_eq!(parts(&published[0]), (json!(["agents", "2"]), json!(admin)));
    assert_eq!(parts(&published[1]), (json!(["vip", "3", "7"]), json!(page)));
    assert_eq!(published[1]["web"]["notification"]["icon"], "https://a.example/i.png");
    assert_eq!(published[1]["web"]["data"], json!({"conversation_id": "1"}));
}

#[test]
fn what_is_not_given_is_not_published() {
    let service = push::start();
    let mut bare = settings(&service);
    bare.as_object_mut().unwrap().remove("notifications-icon");
    let installation = installed("bare", &bare);
    let attachments = json!([
        ["a.pdf", "https://support.example/a.pdf"],
        ["b.pdf", "https://support.example/b.pdf"]
    ]);
    installation.call(FUNCTION, &json!(["T", "", "", "all", false, false, attachments]));
    assert_eq!(
        published(&service),
        [json!({"interests": ["all"], "web": {"notification": {
            "title": "T", "body": "a.pdf, b.pdf", "hide_notification_if_site_has_focus": true,
        }}})]
    );
}

#[test]
fn only_those_are_notified_who_are_to_be() {
    let service = push::start();
    for (off, interests) in [
        ("push-notifications-active", json!(["users", "all", "own", "3"])),
        ("push-notifications-users-active", json!(["agents", "2", "all", "own"])),
    ] {
        let mut settings = settings(&service);
        settings["push-notifications"][0][off] = json!([false, "checkbox"]);
        let installation = installed(off, &settings);
        let before = published(&service).len();
        let given = json!(["T", "M", "", ["agents", "users", "2", "3", "all", "own"]]);
        assert_eq!(
            installation.call(FUNCTION, &given)["publishId"].as_str().unwrap().len(),
            7
        );
        let own: Vec<Value> = published(&service).split_off(before);
        let mut all: Vec<String> = own
            .iter()
            .flat_map(|body| body["interests"].as_array().unwrap().clone())
            .map(|interest| interest.as_str().unwrap().to_owned())
            .collect();
        let mut expected: Vec<String> = interests
            .as_array()
            .unwrap()
            .iter()
            .map(|interest| interest.as_str().unwrap().to_owned())
            .collect();
        all.sort();
        expected.sort();
        assert_eq!(all, expected);
    }
}

#[test]
fn more_than_a_hundred_interests_are_several_requests() {
    let service = push::start();
    let installation = installed("many", &settings(&service));
    let names: Vec<String> = (0..250).map(|number| format!("topic-{number}")).collect();
    assert_eq!(
        installation.call(FUNCTION, &json!(["T", "M", "", names])),
        json!({"publishId": "pubid-1"})
    );
    let published = published(&service);
    let counts: Vec<usize> = published
        .iter()
        .map(|body| body["interests"].as_array().unwrap().len())
        .collect();
    assert_eq!(counts, [100, 100, 50]);
    let all: Vec<Value> = published
        .iter()
        .flat_map(|body| body["interests"].as_array().unwrap().clone())
        .collect();
    assert_eq!(Value::from(all), json!(names));
}

#[test]
fn long_texts_are_cut_so_that_the_service_takes_them() {
    let service = push::start();
    let installation = installed("long", &settings(&service));
    let given = json!(["\u{1}".repeat(5_000), "👋".repeat(50_000), "", "3", 1]);
    assert_eq!(installation.call(FUNCTION, &given), json!({"publishId": "pubid-1"}));
    let shown = published(&service)[0]["web"]["notification"].clone();
    let length = |name: &str| shown[name].as_str().unwrap().chars().count();
    assert_eq!((length("title"), length("body")), (200, 1_000));
    assert!(shown["body"].as_str().unwrap().ends_with('…'));
}

#[test]
fn a_refusal_is_the_services_own_and_nothing_is_published_twice() {
    let service = push::start();
    let mut wrong = settings(&service);
    wrong["push-notifications"][0]["push-notifications-key"] = json!(["planted", "password"]);
    let given = json!(["T", "M", "", "agents"]);
    let refused = installed("wrong key", &wrong).error(FUNCTION, &given);
    assert_eq!(
        refused,
        (
            "push-notifications-error".to_owned(),
            "Unauthorized: Incorrect API Key".to_owned()
        )
    );
    let broken = StandIn::start(|_| Reply::HangUp);
    let (_, message) = installed("broken", &settings(&broken)).error(FUNCTION, &given);
    assert!(
        message.contains("broke off") && !message.contains("planted"),
        "{message}"
    );
    assert_eq!(broken.received().len(), 1);
    let page = StandIn::start(|_| Reply::of(502, &[], "<html>planted</html>"));
    let (_, message) = installed("page", &settings(&page)).error(FUNCTION, &given);
    assert_eq!(message, "an answer that is not the service's, with HTTP status 502");
    let odd = StandIn::start(|_| Reply::json("{}"));
    let (_, message) = installed("odd", &settings(&odd)).error(FUNCTION, &given);
    assert_eq!(message, "an answer that is not the service's, with HTTP status 200");
}

/// An installation with the library's own tables.
fn scene(name: &str, settings: &Value) -> (Scene, Core) {
    let text = settings.to_string().replace('\\', r"\\").replace('\'', "''");
    let settings = format!("UPDATE sb_settings SET value = '{text}' WHERE name = 'settings'");
    let tables = include_str!("fixtures/own-tables.sql").trim_end().trim_end_matches(';');
    let waiting = r#"INSERT INTO sb_outbox (channel, event, payload, next_try, created) VALUES ('push', 'push',
        '{"to":["2"],"title":"T","message":"M","icon":"","conversation_id":"1","user_id":false,"image":false}',
        UTC_TIMESTAMP(), UTC_TIMESTAMP())"#;
    let scene = Scene::new(name, &[tables, &settings, waiting]);
    let core = Core::open(Installation::of(&scene.server, &scene.database));
    (scene, core)
}

#[test]
fn what_waits_in_the_outbox_is_published_once() {
    let service = push::start();
    let receiver = StandIn::start(|_| Reply::of(204, &[], ""));
    let mut all = settings(&service);
    all["webhooks"] =
        json!([{"webhooks-active": [true, "checkbox"], "webhooks-url": [receiver.url("/"), "text"]}, "multi-input"]);
    let (mut scene, core) = scene("outbox", &all);
    assert_eq!(core.deliver_due().unwrap(), 1);
    assert_eq!(core.deliver_due().unwrap(), 1, "that it is sent is told by a webhook");
    let published = published(&service);
    assert_eq!(published.len(), 1);
    assert_eq!(published[0]["web"]["notification"]["title"], "T");
    assert_eq!(
        published[0]["web"]["notification"]["deep_link"],
        "https://support.example/chat/admin.php?conversation=1"
    );
    let event: Value = serde_json::from_slice(&receiver.received()[0].bytes).unwrap();
    assert_eq!(event["function"], "push-sent");
    assert_eq!(event["data"], json!({"to": ["2"], "title": "T", "message": "M"}));
    scene.expect(
        "SELECT GROUP_CONCAT(channel, state ORDER BY id) AS states FROM sb_outbox",
        &[("states", "push2,webhook2")],
    );
    scene.database.drop();
}

#[test]
fn a_notification_of_unknown_fate_is_given_up() {
    for (name, reply, state) in [("unknown", true, "3"), ("never sent", false, "0")] {
        let broken = StandIn::start(|_| Reply::HangUp);
        let mut settings = settings(&broken);
        if !reply {
            settings["push-notifications"][0]["push-notifications-url"] = json!([stand_in::nowhere(), "text"]);
        }
        let (mut scene, core) = scene(name, &settings);
        assert_eq!(core.deliver_due().unwrap(), 1);
        scene.expect(
            "SELECT CAST(state AS CHAR) AS state FROM sb_outbox",
            &[("state", state)],
        );
        scene.database.drop();
    }
}
