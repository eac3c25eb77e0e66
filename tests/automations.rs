//! Automations that run: once, on however many servers, and by way of the outbox.
//!
//! `tests/support/mariadb cargo test --test automations`

// A test fails by panicking, in its helpers too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[allow(dead_code)]
#[path = "support/mail.rs"]
mod mail;
#[allow(dead_code)]
#[path = "support/openapi.rs"]
mod openapi;
#[allow(dead_code)]
#[path = "support/sms.rs"]
mod sms;
#[allow(dead_code)]
#[path = "support/stand_in.rs"]
mod stand_in;
mod support;

use sb::contract::{Value, json};
use sms::{ACCOUNT, SENDER, TOKEN};
use stand_in::{Reply, StandIn, fields, nowhere};
use support::bench::Installation;
use support::core::Core;
use support::scene::{Scene, answer};

/// The library's own table, as `sb upgrade` makes it.
const TABLE: &str =
    "CREATE TABLE sb_outbox (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, channel VARCHAR(20) NOT NULL,
    event VARCHAR(50) NOT NULL, target VARCHAR(191), payload MEDIUMTEXT NOT NULL, state TINYINT NOT NULL DEFAULT 0,
    attempts TINYINT NOT NULL DEFAULT 0, next_try DATETIME NOT NULL, claim BINARY(16), failure VARCHAR(191),
    created DATETIME NOT NULL)";

/// The row of a group of automations.
fn row(group: &str, automations: &str) -> String {
    format!("INSERT INTO sb_settings VALUES ('automations-{group}', '{automations}')")
}

/// The settings of a service of text messages at that address.
fn settings(address: &str) -> String {
    let settings = format!(
        r#"{{"sms":[{{"sms-user":["{ACCOUNT}","text"],"sms-token":["{TOKEN}","password"],"sms-sender":["{SENDER}","text"],
            "sms-url":["{address}","text"],"sms-message-user":["not used: {{message}}","textarea"]}},"multi-input"]}}"#
    );
    format!("UPDATE sb_settings SET value = '{settings}' WHERE name = 'settings'")
}

/// The request of user 3.
fn core_of(scene: &Scene) -> Core {
    Core::open(Installation {
        login: Some(login()),
        ..Installation::of(&scene.server, &scene.database)
    })
}

fn login() -> Value {
    Value::map([("id", "3".into()), ("user_type", "user".into())])
}

fn automation(id: &str, group: &str, message: &str) -> Value {
    Value::map([("id", id.into()), ("type", group.into()), ("message", message.into())])
}

#[test]
fn each_runs_once_for_a_user_on_however_many_servers() {
    const WORKERS: usize = 4;
    let messages = row(
        "messages",
        r#"[{"id":"once","message":"Hello"},{"id":"daily","message":"Good day","conditions":[["repeat","every-day"]]},
            {"id":"never","message":"x","conditions":[["user_type","is-visitor"]]}]"#,
    );
    let mut scene = Scene::new("once", &[&messages]);
    let start = std::sync::Barrier::new(WORKERS);
    std::thread::scope(|threads| {
        for _ in 0..WORKERS {
            let (scene, start) = (&scene, &start);
            threads.spawn(move || {
                let core = core_of(scene);
                answer(&core, "sb_get_settings", []);
                start.wait();
                for _ in 0..10 {
                    assert_eq!(answer(&core, "sb_automations_run_all", []), Value::List(vec![]));
                }
            });
        }
    });
    scene.expect(
        "SELECT SUM(message = 'Hello') AS once, SUM(message = 'Good day') AS daily, COUNT(*) AS messages
            FROM sb_messages WHERE user_id = 6 AND id > 11",
        &[("once", "1"), ("daily", "1"), ("messages", "2")],
    );
    // The next day it is due again.
    scene.run("UPDATE sb_settings SET value = REPLACE(value, 'daily-2', 'daily-1') WHERE name = 'automation-runs-3'");
    answer(&core_of(&scene), "sb_automations_run_all", []);
    scene.expect(
        "SELECT SUM(message = 'Hello') AS once, SUM(message = 'Good day') AS daily FROM sb_messages WHERE user_id = 6",
        &[("once", "1"), ("daily", "2")],
    );
    scene.database.drop();
}

#[test]
fn a_text_message_goes_through_the_outbox_with_or_without_its_table() {
    for table in [true, false] {
        let service = sms::start(0);
        let automations = row("sms", r#"[{"id":"s","message":"Your parcel is here"}]"#);
        let sql = [settings(&service.url("")), automations];
        let sql: Vec<&str> = sql.iter().map(String::as_str).chain(table.then_some(TABLE)).collect();
        let mut scene = Scene::new("sms", &sql);
        let core = core_of(&scene);
        for _ in 0..2 {
            assert_eq!(answer(&core, "sb_automations_run_all", []), Value::List(vec![]));
        }
        assert!(service.received().is_empty(), "the request goes on");
        core.end();
        let sent = service.received();
        assert_eq!(sent.len(), 1);
        let sent = fields(&sent[0].body);
        let field = |name: &str| {
            sent.iter()
                .find(|(own, _)| own == name)
                .map(|(_, value)| value.as_str())
        };
        assert_eq!(field("To"), Some("+39065550142"));
        assert_eq!(field("Body"), Some("Your parcel is here"));
        if table {
            scene.expect(
                "SELECT channel, event, CAST(state AS CHAR) AS state FROM sb_outbox",
                &[("channel", "sms"), ("event", "sms"), ("state", "2")],
            );
        }
        scene.database.drop();
    }
}

#[test]
fn an_email_goes_through_the_outbox_in_the_language_of_the_user() {
    for table in [true, false] {
        let server = mail::MailServer::plain();
        let settings = format!(
            r#"UPDATE sb_settings SET value = '{{"email-server":[{{"email-server-host":["127.0.0.1","text"],
                "email-server-port":["{}","number"],"email-server-from":["support@support.example","text"]}},"multi-input"]}}'
                WHERE name = 'settings'"#,
            server.port
        );
        let automations = row(
            "emails",
            r#"[{"id":"e","subject":"Welcome","message":"<p>Hello!</p>","conditions":[["user_type","is-user"]]}]"#,
        );
        let german = row(
            "translations-de",
            r#"{"emails":[{"id":"e","subject":"Willkommen","message":"<p>Grüß Gott!</p>"}]}"#,
        );
        let language =
            "INSERT INTO sb_users_data (user_id, slug, name, value) VALUES (3, 'language', 'Language', 'de-AT')";
        let sql = [settings.as_str(), &automations, &german, language];
        let sql: Vec<&str> = sql.into_iter().chain(table.then_some(TABLE)).collect();
        let mut scene = Scene::new("email", &sql);
        let core = core_of(&scene);
        for _ in 0..2 {
            assert_eq!(answer(&core, "sb_automations_run_all", []), Value::List(vec![]));
        }
        assert!(server.seen("email").is_empty(), "the request goes on");
        core.end();
        let email = server.email();
        assert_eq!(email["recipients"], serde_json::json!(["carla@customer.example"]));
        assert_eq!(mail::headers(&email, "subject"), ["Willkommen"]);
        assert!(email.to_string().contains("Grüß Gott!"), "{email:#}");
        if table {
            scene.expect(
                "SELECT channel, target, CAST(state AS CHAR) AS state FROM sb_outbox",
                &[
                    ("channel", "email"),
                    ("target", "carla@customer.example"),
                    ("state", "2"),
                ],
            );
        }
        scene.database.drop();
    }
}

#[test]
fn what_may_have_arrived_is_not_sent_again_and_what_did_not_is() {
    let failing = StandIn::start(|_| Reply::of(503, &[("content-type", "application/json")], "{}"));
    let silent = StandIn::start(|_| Reply::HangUp);
    for (address, state, posts) in [
        (failing.url(""), "3", failing.received()),
        (silent.url(""), "3", silent.received()),
        (nowhere(), "0", Vec::new()),
    ] {
        assert!(posts.is_empty());
        let automations = row("sms", r#"[{"id":"s","message":"Hello"}]"#);
        let mut scene = Scene::new("sms fails", &[&settings(&address), &automations, TABLE]);
        let core = core_of(&scene);
        answer(&core, "sb_automations_run_all", []);
        core.end();
        scene.expect(
            "SELECT CAST(state AS CHAR) AS state, CAST(attempts AS CHAR) AS attempts FROM sb_outbox",
            &[("state", state), ("attempts", "1")],
        );
        scene.database.drop();
    }
    assert_eq!((failing.received().len(), silent.received().len()), (1, 1));
}

#[test]
fn what_could_not_run_may_run_again() {
    let mut scene = Scene::new("released", &[]);
    let core = core_of(&scene);
    let run = |message: &str| core.call("sb_automations_run", [automation("m", "messages", message)]);
    assert_eq!(run(&"x".repeat(70_000)).unwrap_err().code(), "too-long");
    assert_eq!(run("").unwrap_err().code(), "empty-message");
    assert_eq!(run("Hello").unwrap(), Value::Bool(true));
    assert_eq!(run("Hello").unwrap(), Value::Bool(false));
    scene.expect(
        "SELECT (SELECT COUNT(*) FROM sb_messages WHERE message = 'Hello' AND user_id = 6) AS messages,
            (SELECT value FROM sb_settings WHERE name = 'automation-runs-3') AS runs",
        &[("messages", "1"), ("runs", r#"{"m":"m"}"#)],
    );
    scene.database.drop();
}

#[test]
fn what_ran_for_a_user_is_forgotten_with_the_user() {
    let mut scene = Scene::new(
        "forgotten",
        &["INSERT INTO sb_settings VALUES ('automation-runs-33', '{}')"],
    );
    let core = core_of(&scene);
    assert_eq!(
        answer(&core, "sb_automations_run", [automation("p", "popups", "")]),
        Value::Bool(true)
    );
    let admin = Core::open(Installation {
        force_admin: true,
        ..Installation::of(&scene.server, &scene.database)
    });
    assert_eq!(answer(&admin, "sb_delete_user", ["3".into()]), Value::Bool(true));
    scene.expect(
        "SELECT GROUP_CONCAT(name) AS names FROM sb_settings WHERE name LIKE 'automation-runs-%'",
        &[("names", "automation-runs-33")],
    );
    scene.database.drop();
}

#[test]
fn a_run_is_an_event() {
    let receiver = StandIn::start(|_| Reply::of(204, &[], ""));
    let settings = format!(
        r#"{{"webhooks":[{{"webhooks-active":[true,"checkbox"],"webhooks-url":["{}","text"],
            "webhooks-allowed":["automation-run","text"]}},"multi-input"]}}"#,
        receiver.url("/hook")
    );
    let settings = format!("UPDATE sb_settings SET value = '{settings}' WHERE name = 'settings'");
    let scene = Scene::new("event", &[&settings]);
    let core = core_of(&scene);
    for _ in 0..2 {
        answer(&core, "sb_automations_run", [automation("m", "messages", "Hello")]);
    }
    core.end();
    let calls = receiver.received();
    assert_eq!(calls.len(), 1);
    let event = json::decode(calls[0].body.as_bytes()).unwrap();
    assert_eq!(event.get(&"function".into()), Some(&"automation-run".into()));
    assert_eq!(
        event.get(&"data".into()),
        Some(&Value::map([
            ("automation_id", "m".into()),
            ("type", "messages".into()),
            ("user_id", "3".into())
        ]))
    );
    scene.database.drop();
}

/// The settings of a mail server.
fn mail_settings(server: &mail::MailServer) -> String {
    format!(
        r#"UPDATE sb_settings SET value = '{{"email-server":[{{"email-server-host":["127.0.0.1","text"],
            "email-server-port":["{}","number"],"email-server-from":["support@support.example","text"]}},"multi-input"]}}'
            WHERE name = 'settings'"#,
        server.port
    )
}

/// That a user was born on a day of so many days from now.
fn birthday(user: u32, days: u32) -> String {
    format!(
        "INSERT INTO sb_users_data (user_id, slug, name, value)
            VALUES ({user}, 'birthday', 'Birthday', DATE_FORMAT(UTC_TIMESTAMP() + INTERVAL {days} DAY, '1990-%m-%d'))"
    )
}

/// Whoever has a birthday is congratulated once, though nobody is there.
#[test]
fn who_is_away_gets_what_is_due() {
    for table in [true, false] {
        let server = mail::MailServer::plain();
        let emails = row(
            "emails",
            r#"[{"id":"b","subject":"Happy birthday, {first_name}","message":"<p>Dear {user_name} of {city}</p>",
                "conditions":[["birthdate"],["repeat","every-year"]]},
                {"id":"v","subject":"Not at a time","message":"x"},
                {"id":"p","subject":"On a page","message":"x","conditions":[["birthdate"],["include_urls","contains","a"]]},
                {"id":"o","subject":"Past","message":"x","conditions":[["datetime","is-exactly","2020-01-01"]]}]"#,
        );
        let name = "UPDATE sb_users SET first_name = 'C <b>', last_name = '' WHERE id = 3";
        let sql = [
            mail_settings(&server),
            emails,
            birthday(3, 0),
            birthday(7, 1),
            birthday(2, 0),
            birthday(5, 0),
        ];
        let sql: Vec<&str> = sql
            .iter()
            .map(String::as_str)
            .chain([name])
            .chain(table.then_some(TABLE))
            .collect();
        let mut scene = Scene::new("birthday", &sql);
        for _ in 0..2 {
            let core = scene.core();
            assert_eq!(answer(&core, "sb_cron_jobs", []), Value::Bool(true));
            core.end();
            scene.run("DELETE FROM sb_settings WHERE name = 'cron-last'");
        }
        let email = server.email();
        assert_eq!(email["recipients"], serde_json::json!(["carla@customer.example"]));
        assert_eq!(mail::headers(&email, "subject"), ["Happy birthday, C <b>"]);
        let html = email["html"].as_str().unwrap();
        assert!(html.contains("<p>Dear C &lt;b&gt; of Roma</p>"), "{html}");
        scene.expect(
            "SELECT GROUP_CONCAT(name ORDER BY name) AS names FROM sb_settings
                WHERE name LIKE 'automation-runs-%' OR name = 'cron-automations'",
            &[("names", "automation-runs-3")],
        );
        scene.database.drop();
    }
}

#[test]
fn who_is_away_is_told_at_a_time_by_several_servers_once() {
    const WORKERS: usize = 4;
    let service = sms::start(0);
    let automations = row(
        "sms",
        r#"[{"id":"s","message":"{first_name}: today only","conditions":[["datetime","is-between",
            "2020-01-01 - 2099-01-01"]]}]"#,
    );
    let phones = "INSERT INTO sb_users_data (user_id, slug, name, value)
        VALUES (4, 'phone', 'Phone', '+39065550144'), (2, 'phone', 'Phone', '+39065550145')";
    let mut scene = Scene::new("campaign", &[&settings(&service.url("")), &automations, phones, TABLE]);
    scene.at_once(WORKERS, |_, core| {
        answer(core, "sb_cron_jobs", []);
        core.end();
    });
    let mut sent: Vec<_> = service
        .received()
        .iter()
        .map(|request| {
            fields(&request.body)
                .into_iter()
                .find(|(name, _)| name == "Body")
                .unwrap()
                .1
        })
        .collect();
    sent.sort();
    assert_eq!(sent, ["Carla: today only", "Dora: today only"]);
    scene.expect(
        "SELECT COUNT(*) AS sent FROM sb_outbox WHERE channel = 'sms' AND state = 2",
        &[("sent", "2")],
    );
    scene.database.drop();
}

#[test]
fn messages_in_the_chat_and_popups_know_whom_they_speak_to() {
    let messages = row("messages", r#"[{"id":"m","message":"Hello {user_name}, {unknown}"}]"#);
    let popups = row(
        "popups",
        r#"[{"id":"p","title":"{first_name}!","message":"{user_email}","conditions":[["user_type","is-user"]]}]"#,
    );
    let mut scene = Scene::new("fields", &[&messages, &popups]);
    let core = core_of(&scene);
    let left = answer(&core, "sb_automations_run_all", []);
    let popup = left.get(&0.into()).unwrap();
    let text = |name: &'static str| popup.get(&name.into()).unwrap().as_str().unwrap().to_owned();
    assert_eq!(
        (text("title"), text("message")),
        ("Carla!".to_owned(), "carla@customer.example".to_owned())
    );
    scene.expect(
        "SELECT message FROM sb_messages WHERE id > 11",
        &[("message", "Hello Carla D'Angelo, {unknown}")],
    );
    scene.database.drop();
}
