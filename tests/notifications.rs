//! Notifications: whoever is away is told, by a mail server and a service of text messages that others have written the
//! rules of.
//!
//! `tests/support/mariadb cargo test --test notifications`

// A test fails by panicking, in its helpers too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[allow(dead_code)]
#[path = "support/mail.rs"]
mod mail;
#[allow(dead_code)]
#[path = "support/openapi.rs"]
mod openapi;
#[allow(dead_code)]
#[path = "support/push.rs"]
mod push;
#[allow(dead_code)]
#[path = "support/realtime.rs"]
mod realtime;
#[allow(dead_code)]
#[path = "support/sms.rs"]
mod sms;
#[allow(dead_code)]
#[path = "support/stand_in.rs"]
mod stand_in;
mod support;

use mail::{MailServer, headers};
use sb::contract::{Value, json};
use serde_json::json;
use sms::{ACCOUNT, SENDER, TOKEN};
use stand_in::{Reply, StandIn, fields};
use support::bench::Installation;
use support::case::{Fixtures, Given};
use support::core::Core;
use support::scene::{Scene, answer};

/// The settings that tell everyone by everything.
fn settings(mail: u16, sms: &str) -> serde_json::Value {
    json!({
        "email-server": [{
            "email-server-host": ["127.0.0.1", "text"], "email-server-port": [mail.to_string(), "number"],
            "email-server-from": ["support@support.example", "text"], "email-sender-name": ["Support", "text"],
        }, "multi-input"],
        "notify-agent-email": [true, "checkbox"], "notify-user-email": [true, "checkbox"],
        "sms": [{
            "sms-active-agents": [true, "checkbox"], "sms-active-users": [true, "checkbox"],
            "sms-user": [ACCOUNT, "text"], "sms-token": [TOKEN, "password"], "sms-sender": [SENDER, "text"],
            "sms-url": [sms, "text"],
            "sms-message-agent": ["{sender_name} to {recipient_name}: {message} {conversation_url_parameter}", "textarea"],
            "sms-message-user": ["{recipient_name}, {sender_name}: {message} {conversation_url_parameter}", "textarea"],
        }, "multi-input"],
    })
}

fn scene(test: &str, settings: &serde_json::Value, with_table: bool, sql: &[&str]) -> Scene {
    let settings = settings.to_string().replace('\\', r"\\").replace('\'', "''");
    let settings = format!("REPLACE INTO sb_settings (name, value) VALUES ('settings', '{settings}')");
    let phone =
        "INSERT INTO sb_users_data (user_id, slug, name, value) VALUES (2, 'phone', 'Phone', '+31 20 123 4567')";
    let fixtures = ["people", "own-tables"].map(str::to_owned);
    let given = Given {
        fixture: Fixtures::Several(fixtures[..if with_table { 2 } else { 1 }].to_vec()),
        sql: [settings.as_str(), phone]
            .into_iter()
            .chain(sql.iter().copied())
            .map(str::to_owned)
            .collect(),
        ..Given::default()
    };
    Scene::of(test, &given)
}

fn core_of(scene: &Scene) -> Core {
    Core::open(Installation::of(&scene.server, &scene.database))
}

/// The texts that were sent, each with its number.
fn texts(service: &StandIn) -> Vec<(String, String)> {
    let sent = service.received();
    let field = |form: &[(String, String)], name: &str| {
        form.iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.clone())
            .unwrap_or_default()
    };
    sent.iter()
        .map(|request| fields(&request.body))
        .map(|form| (field(&form, "To"), field(&form, "Body")))
        .collect()
}

#[test]
fn who_is_away_gets_the_answer_by_email_and_text_message() {
    for with_table in [true, false] {
        let (mail, service) = (MailServer::plain(), sms::start(0));
        let german = "INSERT INTO sb_users_data (user_id, slug, name, value) VALUES (3, 'language', 'Language', 'de')";
        let templates = r#"INSERT INTO sb_settings (name, value) VALUES ('external-settings-translations-de',
            '{"emails": {"email-user": [{"email-user-subject": ["Antwort von {sender_name}", "text"],
            "email-user-content": ["<p>Hallo {recipient_name}!</p>{message}", "textarea"]}, "multi-input"]}}')"#;
        let mut scene = scene(
            "away",
            &settings(mail.port, &service.url("")),
            with_table,
            &[german, templates],
        );
        let core = core_of(&scene);
        let attachments = json::decode(br#"[["a.pdf", "https://support.example/a.pdf"]]"#).unwrap();
        let sent = answer(
            &core,
            "sb_send_message",
            ["2".into(), "1".into(), "It is *here*".into(), attachments],
        );
        assert_eq!(
            sent.get(&"notifications".into()),
            Some(&Value::List(vec!["email".into(), "sms".into()]))
        );
        assert!(
            mail.seen("email").is_empty() && service.received().is_empty(),
            "the request goes on"
        );
        core.end();
        let email = mail.email();
        assert_eq!(email["recipients"], json!(["carla@customer.example"]));
        assert_eq!(headers(&email, "Subject"), ["Antwort von Ben Okafor"]);
        assert_eq!(headers(&email, "Auto-Submitted").len(), 1);
        assert!(headers(&email, "Message-ID")[0].starts_with("<conv-1.12."), "{email:#}");
        let html = email["html"].as_str().unwrap();
        assert!(
            html.contains("<p>Hallo Carla D&#39;Angelo!</p>It is <b>here</b>"),
            "{html}"
        );
        assert!(
            html.contains("<a href=\"https://support.example/a.pdf\">a.pdf</a>"),
            "{html}"
        );
        let token = "03abcdef".repeat(5);
        let expected = format!("Carla D'Angelo, Ben Okafor: It is *here* ?conversation=1&token={token}");
        assert_eq!(texts(&service), [("+39065550142".to_owned(), expected)]);
        if with_table {
            scene.expect(
                "SELECT COUNT(*) AS sent FROM sb_outbox WHERE event = 'notification' AND state = 2 AND failure IS NULL",
                &[("sent", "2")],
            );
        }
        scene.database.drop();
    }
}

#[test]
fn agents_who_are_away_are_told_of_a_customers_message() {
    let (mail, service) = (MailServer::plain(), sms::start(0));
    let templates = r#"INSERT INTO sb_settings (name, value) VALUES ('emails', '{
        "email-agent": [{"email-agent-subject": ["{sender_name}: {message}", "text"],
        "email-agent-content": ["{recipient_name}: {message}", "textarea"]}, "multi-input"]}')"#;
    let scene = scene("agents", &settings(mail.port, &service.url("")), true, &[templates]);
    let core = core_of(&scene);
    answer(
        &core,
        "sb_send_message",
        ["3".into(), "2".into(), "Where is it?".into()],
    );
    core.end();
    let emails = mail.emails(2);
    let recipients: Vec<_> = emails.iter().map(|email| email["recipients"][0].clone()).collect();
    assert_eq!(recipients, ["ada@support.example", "ben@support.example"]);
    assert_eq!(headers(&emails[0], "Subject"), ["Carla D'Angelo: Where is it?"]);
    assert!(emails[0]["text"].as_str().unwrap().contains("Ada Lind: Where is it?"));
    let expected = "Carla D'Angelo to Ben Okafor: Where is it? ?conversation=2";
    assert_eq!(texts(&service), [("+31201234567".to_owned(), expected.to_owned())]);
    scene.database.drop();
}

#[test]
fn an_email_to_agents_has_the_content_that_is_given() {
    let mail = MailServer::plain();
    let mut settings = settings(mail.port, "http://127.0.0.1:1/");
    settings.as_object_mut().unwrap().remove("sms");
    let scene = scene("content", &settings, true, &[]);
    let core = core_of(&scene);
    let author = Value::map([("first_name", "Bob <b>".into()), ("last_name", "\"B\"".into())]);
    let extra = Value::map([("email", "<ul><li>One</li><li>Two</li></ul>".into())]);
    let arguments = [
        "*Two*".into(),
        "Sent by\nthe <bot>".into(),
        "1".into(),
        false.into(),
        author,
        extra,
    ];
    assert_eq!(
        answer(&core, "sb_send_agents_notifications", arguments),
        Value::Bool(true)
    );
    core.end();
    let email = mail.email();
    assert_eq!(email["recipients"], json!(["ben@support.example"]));
    assert_eq!(headers(&email, "Subject"), ["New message from Bob <b> \"B\""]);
    let html = email["html"].as_str().unwrap().replace("\r\n", "\n");
    assert!(html.contains("<ul><li>One</li><li>Two</li></ul>"), "{html}");
    assert!(
        html.contains("Sent by<br>\nthe &lt;bot&gt;") && !html.contains("*Two*"),
        "{html}"
    );
    assert!(html.contains("Bob &lt;b&gt; &quot;B&quot;"), "{html}");
    scene.database.drop();
}

#[test]
fn the_language_is_that_of_who_is_named() {
    let mail = MailServer::plain();
    let mut settings = settings(mail.port, "http://127.0.0.1:1/");
    settings.as_object_mut().unwrap().remove("sms");
    let languages = "INSERT INTO sb_users_data (user_id, slug, name, value)
        VALUES (3, 'language', 'Language', 'de'), (7, 'language', 'Language', 'sv')";
    let templates = r#"INSERT INTO sb_settings (name, value) VALUES ('external-settings-translations-sv',
        '{"emails": {"email-user-subject": "Svar"}}')"#;
    let scene = scene("language", &settings, true, &[languages, templates]);
    let core = core_of(&scene);
    let arguments = ["2", "1", "Hello", "", "", "", "", "7"].map(Value::from);
    answer(&core, "sb_send_message", arguments);
    core.end();
    let email = mail.email();
    assert_eq!(email["recipients"], json!(["carla@customer.example"]));
    assert_eq!(headers(&email, "Subject"), ["Svar"]);
    scene.database.drop();
}

#[test]
fn who_is_deleted_meanwhile_is_not_told_and_a_failure_is_kept() {
    let mail = MailServer::plain();
    let mut settings = settings(mail.port, "http://127.0.0.1:1/");
    settings.as_object_mut().unwrap().remove("sms");
    let refused = "UPDATE sb_users SET email = 'refused-rcpt@support.example' WHERE id = 2";
    let mut scene = scene("deleted", &settings, true, &[refused]);
    let core = core_of(&scene);
    answer(&core, "sb_send_message", ["3".into(), "2".into(), "Hello".into()]);
    scene.run("DELETE FROM sb_users WHERE id = 1");
    core.end();
    assert!(mail.seen("email").is_empty());
    scene.expect(
        "SELECT GROUP_CONCAT(state ORDER BY id) AS states, MAX(failure) AS failure FROM sb_outbox
            WHERE event = 'notification'",
        &[("states", "2,3"), ("failure", "~match:550 5.1.1 there is nobody")],
    );
    scene.database.drop();
}

#[test]
fn whoever_follows_events_hears_of_text_messages() {
    let (service, receiver) = (sms::start(0), StandIn::start(|_| Reply::of(204, &[], "")));
    let mut settings = settings(1, &service.url(""));
    settings.as_object_mut().unwrap().remove("email-server");
    settings["webhooks"] = json!([{
        "webhooks-active": [true, "checkbox"], "webhooks-url": [receiver.url("/hook"), "text"],
        "webhooks-allowed": ["sms-sent", "text"],
    }, "multi-input"]);
    let scene = scene("sms-sent", &settings, false, &[]);
    let core = core_of(&scene);
    answer(
        &core,
        "sb_send_sms",
        ["Hello".into(), "+12025550143".into(), false.into()],
    );
    answer(&core, "sb_send_message", ["2".into(), "1".into(), "Hello".into()]);
    core.end();
    let events: Vec<serde_json::Value> = receiver
        .received()
        .iter()
        .map(|call| serde_json::from_str(&call.body).unwrap())
        .collect();
    assert_eq!(events.len(), 2, "{events:?}");
    assert_eq!(events[0]["function"], "sms-sent");
    assert_eq!(events[0]["data"], json!({"to": "+12025550143", "message": "Hello"}));
    assert_eq!(events[1]["data"]["to"], "+39065550142");
    scene.database.drop();
}

/// The settings of a service of notifications for agents and for customers.
fn push_settings(service: &StandIn) -> serde_json::Value {
    json!({"push-notifications": [{
        "push-notifications-active": [true, "checkbox"], "push-notifications-users-active": [true, "checkbox"],
        "push-notifications-id": [push::INSTANCE, "text"], "push-notifications-key": [push::KEY, "password"],
        "push-notifications-url": [service.url(""), "text"],
    }, "multi-input"]})
}

/// What was published, in order.
fn published(service: &StandIn) -> Vec<serde_json::Value> {
    let requests = service.received();
    requests
        .iter()
        .map(|request| serde_json::from_slice(&request.bytes).unwrap())
        .collect()
}

#[test]
fn the_devices_of_who_is_away_show_the_message() {
    for with_table in [true, false] {
        let service = push::start();
        let mut scene = scene("push", &push_settings(&service), with_table, &[]);
        let core = core_of(&scene);
        let attachments = json::decode(br#"[["a.png", "https://support.example/a.png"]]"#).unwrap();
        let by_push = Some(Value::List(vec!["push".into()]));
        let sent = answer(
            &core,
            "sb_send_message",
            ["3".into(), "2".into(), "*Where* is it?".into()],
        );
        assert_eq!(sent.get(&"notifications".into()), by_push.as_ref());
        // Who writes is there; a minute later no more.
        scene.run("UPDATE sb_users SET last_activity = last_activity - INTERVAL 1 MINUTE");
        let sent = answer(
            &core,
            "sb_send_message",
            ["2".into(), "1".into(), "".into(), attachments],
        );
        assert_eq!(sent.get(&"notifications".into()), by_push.as_ref());
        scene.run("UPDATE sb_users SET last_activity = last_activity - INTERVAL 1 MINUTE");
        answer(
            &core,
            "sb_send_agents_notifications",
            ["Hello".into(), false.into(), "1".into()],
        );
        core.end();
        let published = published(&service);
        let shown: Vec<_> = published
            .iter()
            .map(|body| (&body["interests"], &body["web"]["notification"]))
            .map(|(interests, shown)| json!([interests, shown["title"], shown["body"]]))
            .collect();
        let expected = [
            json!([["1", "2"], "Carla D'Angelo", "Where is it?"]),
            json!([["3"], "Ben Okafor", "a.png"]),
            json!([["2"], "New message", "Hello"]),
        ];
        assert_eq!(shown, expected);
        assert_eq!(published[1]["web"]["data"]["image"], "https://support.example/a.png");
        scene.database.drop();
    }
}

#[test]
fn who_is_connected_to_the_push_service_is_not_away() {
    let service = realtime::start(&[("presence-agents", &["2"]), ("presence-users", &["3"])]);
    let mut settings = settings(1, "http://127.0.0.1:1/");
    settings["realtime"] = realtime::settings(&service.url(""))["realtime"].clone();
    let mut scene = scene("connected", &settings, true, &[]);
    let core = core_of(&scene);
    let told = |sender: &str, conversation: &str| {
        let sent = answer(
            &core,
            "sb_send_message",
            [sender.into(), conversation.into(), "Hello".into()],
        );
        json::encode(sent.get(&"notifications".into()).unwrap())
    };
    assert_eq!(told("2", "1"), "[]");
    assert_eq!(told("3", "1"), "[]");
    assert_eq!(told("3", "2"), r#"["email"]"#);
    scene.expect(
        "SELECT GROUP_CONCAT(target) AS targets FROM sb_outbox WHERE event = 'notification'",
        &[("targets", "ada@support.example")],
    );
    scene.database.drop();
}

/// How many statements the connection has been asked for.
fn asked(core: &Core) -> i64 {
    let row = answer(core, "sb_db_get", ["SHOW SESSION STATUS LIKE 'Questions'".into()]);
    row.get(&"Value".into()).unwrap().as_str().unwrap().parse().unwrap()
}

#[test]
fn who_tells_nobody_asks_nothing() {
    let statements = |settings: &serde_json::Value, sql: &[&str], sender: &str| {
        let scene = scene("statements", settings, false, sql);
        let core = core_of(&scene);
        let send = || answer(&core, "sb_send_message", [sender.into(), "1".into(), "Hello".into()]);
        send();
        let before = asked(&core);
        send();
        let taken = asked(&core) - before;
        scene.database.drop();
        taken
    };
    let (all, none) = (settings(1, "http://127.0.0.1:1/"), json!({}));
    let present = ["UPDATE sb_users SET last_activity = UTC_TIMESTAMP()"];
    let plain = statements(&none, &present, "2");
    assert_eq!(statements(&all, &present, "2"), plain, "the customer is there");
    assert_eq!(
        statements(&all, &present, "6"),
        statements(&none, &present, "6"),
        "the bot"
    );
    let away = ["UPDATE sb_users SET last_activity = UTC_TIMESTAMP() WHERE id = 2"];
    assert!(statements(&all, &away, "2") > plain, "who is away is asked for");
}
