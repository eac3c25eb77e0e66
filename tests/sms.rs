//! Text messages: their provider's own SDK and then ours against the same stand-in, and the function on top.
//!
//! `tests/support/mariadb cargo test --test sms`

// Tests may panic, their helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[path = "support/installed.rs"]
mod installed;
#[allow(dead_code)]
#[path = "support/openapi.rs"]
mod openapi;
#[path = "support/sms.rs"]
mod sms;
#[allow(dead_code)]
#[path = "support/stand_in.rs"]
mod stand_in;
mod support;

use std::process::Command;
use std::time::{Duration, Instant};

use installed::Installed;
use serde_json::{Value, json};
use sms::{ACCOUNT, SENDER, TOKEN, UNSUBSCRIBED, refusal};
use stand_in::{Reply, StandIn, fields, nowhere};

/// Of the user 3.
const PHONE: &str = "+39 06 555 0142";

fn settings(service: &StandIn) -> Value {
    json!({"sms": [{
        "sms-user": [format!(" {ACCOUNT}"), "text"], "sms-token": [format!("{TOKEN}\n"), "password"],
        "sms-sender": [SENDER, "text"], "sms-url": [service.url(""), "text"],
        "sms-message-user": ["{recipient_name}: {message} {conversation_url_parameter}", "textarea"],
        "sms-message-agent": ["{sender_name} wrote to {recipient_name}: {message}", "textarea"],
    }, "multi-input"]})
}

fn installed(name: &str, settings: &Value) -> Installed {
    let agents_phone =
        "INSERT INTO sb_users_data (user_id, slug, name, value) VALUES (2, 'phone', 'Phone', '+31201234567')";
    let italian = "INSERT INTO sb_users_data (user_id, slug, name, value) VALUES (3, 'language', 'Language', 'it')";
    Installed::new(name, "people", settings, &[agents_phone, italian])
}

/// The fields of the last message.
fn last(service: &StandIn) -> Vec<(String, String)> {
    fields(&service.received().pop().unwrap().body)
}

fn form(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|&(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[test]
fn the_providers_own_sdk_takes_the_stand_in_for_the_service() {
    let (service, busy) = (sms::start(0), sms::start(1));
    let output = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/sdk"))
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/sms_sdk.py"))
        .args([service.url(""), busy.url("")])
        .args([ACCOUNT, TOKEN, SENDER, UNSUBSCRIBED])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = "Ciao, 'tutti' & più 👋";
    for (what, expected) in [
        (
            "sent",
            json!([
                "SM",
                "queued",
                text,
                "+390655501420",
                SENDER,
                "0",
                "2026-11-20T12:00:00+00:00"
            ]),
        ),
        ("with media", json!(["MM", "2"])),
        ("by group", json!(["accepted", "MG", null])),
        (
            "too often",
            json!([429, 20429, "Unable to create record: Too Many Requests"]),
        ),
    ] {
        assert_eq!(seen[what], expected, "{what}");
    }
    for (what, code) in [
        ("wrong token", 20003),
        ("wrong number", 21211),
        ("no sender", 21603),
        ("no text", 21602),
        ("long text", 21617),
        ("unsubscribed", 21610),
    ] {
        assert_eq!(seen[what][1], code, "{what}");
    }
}

#[test]
fn a_message_is_sent_and_its_record_given() {
    let service = sms::start(0);
    let installation = installed("sent", &settings(&service));
    let text = "Hello, \"Carla\" & più 👋\n{message} {recipient_name}";
    let record = installation.call("sb_send_sms", &json!([text, PHONE, false]));
    let sid = format!("SM{:032x}", 1);
    let uri = format!("/2010-04-01/Accounts/{ACCOUNT}/Messages/{sid}.json");
    assert_eq!(
        record,
        json!({
            "sid": sid, "date_created": "Fri, 20 Nov 2026 12:00:00 +0000",
            "date_updated": "Fri, 20 Nov 2026 12:00:00 +0000", "date_sent": null, "account_sid": ACCOUNT,
            "to": "+39065550142", "from": SENDER, "messaging_service_sid": null, "body": text, "status": "queued",
            "num_segments": "1", "num_media": "0", "direction": "outbound-api", "api_version": "2010-04-01",
            "price": null, "price_unit": "USD", "error_code": null, "error_message": null, "uri": uri,
            "subresource_uris": {"media": uri.replace(".json", "/Media.json")}, "flags": null,
        })
    );
    assert_eq!(
        last(&service),
        form(&[("To", "+39065550142"), ("From", SENDER), ("Body", text)])
    );
    let request = service.received().pop().unwrap();
    assert_eq!(request.path, format!("/2010-04-01/Accounts/{ACCOUNT}/Messages.json"));
}

#[test]
fn the_template_is_the_recipients() {
    let service = sms::start(0);
    let installation = installed("template", &settings(&service));
    installation.log_in("1", "admin");
    let body = |arguments: Value| {
        let record = installation.call("sb_send_sms", &arguments);
        record["body"].as_str().unwrap_or_else(|| panic!("{record}")).to_owned()
    };
    let token = "03abcdef03abcdef03abcdef03abcdef03abcdef";
    // The owner of the conversation; someone else's conversation; nobody's number; an agent's.
    assert_eq!(
        body(json!(["{sender_name}", PHONE, true, 1])),
        format!("Carla D'Angelo: {{sender_name}} ?conversation=1&token={token}")
    );
    assert_eq!(body(json!(["Hi", "0039 06 5550142", "", "1"])), "Hi");
    assert_eq!(body(json!(["Hi", PHONE, 1, 6])), "Carla D'Angelo: Hi ?conversation=6");
    assert_eq!(body(json!(["Hi", "+1 202 555 0143"])), ": Hi ");
    assert_eq!(
        body(json!(["Hi", "0031 20 123 45 67", true, 1])),
        " wrote to Ben Okafor: Hi"
    );
    assert_eq!(
        body(json!([
            "See shop.example/{conversation_url_parameter}",
            PHONE,
            false,
            1
        ])),
        format!("See shop.example/?conversation=1&token={token}")
    );
    assert_eq!(
        body(json!([
            "See shop.example/{conversation_url_parameter}",
            "+31201234567",
            false,
            1
        ])),
        "See shop.example/?conversation=1"
    );
    assert_eq!(body(json!(["{conversation_url_parameter}.", PHONE, false])), ".");
}

#[test]
fn the_template_is_in_the_recipients_language() {
    let service = sms::start(0);
    let translations = r#"INSERT INTO sb_settings (name, value) VALUES ('external-settings-translations-it',
        '{"sms":{"sms-message-user":"Ciao {recipient_name}! {message}"}}')"#;
    let italian = "INSERT INTO sb_users_data (user_id, slug, name, value) VALUES (3, 'language', 'Language', 'it')";
    let installation = Installed::new("translated", "people", &settings(&service), &[translations, italian]);
    let record = installation.call("sb_send_sms", &json!(["Arrivo", PHONE]));
    assert_eq!(record["body"], "Ciao Carla D'Angelo! Arrivo");
    let record = installation.call("sb_send_sms", &json!(["Arriving", "+1 202 555 0143"]));
    assert_eq!(record["body"], ": Arriving ");
}

#[test]
fn without_templates_the_message_goes_alone() {
    let service = sms::start(0);
    let mut bare = settings(&service);
    for template in ["sms-message-user", "sms-message-agent"] {
        bare["sms"][0].as_object_mut().unwrap().remove(template);
    }
    let record = installed("no template", &bare).call("sb_send_sms", &json!(["Hi", PHONE]));
    assert_eq!(record["body"], "Hi");
}

#[test]
fn attachments_go_along_as_links() {
    let service = sms::start(0);
    let installation = installed("media", &settings(&service));
    let link = |number: usize| format!("https://support.example/{number}.png");
    let given = json!(["See", PHONE, false, false, [["one", link(1)], link(2)]]);
    let record = installation.call("sb_send_sms", &given);
    assert_eq!(record["num_media"], "2");
    let base = [("To", "+39065550142"), ("From", SENDER), ("Body", "See")];
    let media = [("MediaUrl", &*link(1)), ("MediaUrl", &*link(2))];
    assert_eq!(last(&service), form(&[&base[..], &media[..]].concat()));
    let many: Vec<_> = (1..=12).map(link).collect();
    let record = installation.call("sb_send_sms", &json!(["", PHONE, false, false, many]));
    assert_eq!(
        (&record["num_media"], &record["body"]),
        (&json!("10"), &json!(format!("\n{}\n{}", link(11), link(12))))
    );
    let only = installation.call("sb_send_sms", &json!(["", PHONE, false, false, [link(1)]]));
    assert_eq!((&only["num_media"], &only["body"]), (&json!("1"), &json!("")));
    let wrong = json!(["See", PHONE, false, false, ["javascript:alert(1)"]]);
    assert_eq!(installation.call("sb_send_sms", &wrong), "invalid-attachment");
}

#[test]
fn a_group_of_senders_may_send() {
    let service = sms::start(0);
    let mut settings = settings(&service);
    let group = format!("MG{}", "0".repeat(32));
    settings["sms"][0]["sms-sender"] = json!([group, "text"]);
    let record = installed("group", &settings).call("sb_send_sms", &json!(["Hi", PHONE, false]));
    assert_eq!(
        (&record["messaging_service_sid"], &record["from"]),
        (&json!(group), &Value::Null)
    );
}

#[test]
fn a_refusal_is_the_services_own() {
    let service = sms::start(0);
    let installation = installed("refused", &settings(&service));
    for (arguments, expected) in [
        (
            json!(["Hi", "12", false]),
            refusal(21211, "The 'To' number 12 is not a valid phone number.", 400),
        ),
        (
            json!(["", PHONE, false]),
            refusal(21602, "Message body is required.", 400),
        ),
        (
            json!(["Hi", UNSUBSCRIBED]),
            refusal(21610, "Attempt to send to unsubscribed recipient", 400),
        ),
        (
            json!(["x".repeat(1601), PHONE, false]),
            refusal(
                21617,
                "The concatenated message body exceeds the 1600 character limit",
                400,
            ),
        ),
    ] {
        assert_eq!(installation.call("sb_send_sms", &arguments), expected, "{arguments}");
    }
    let mut wrong = settings(&service);
    wrong["sms"][0]["sms-token"] = json!(["other", "password"]);
    let refused = installed("wrong token", &wrong).call("sb_send_sms", &json!(["Hi", PHONE]));
    assert_eq!(refused, refusal(20003, "Authenticate", 401));
}

#[test]
fn who_sends_too_often_waits_once() {
    let service = sms::start(1);
    let installation = installed("too often", &settings(&service));
    let started = Instant::now();
    assert_eq!(
        installation.call("sb_send_sms", &json!(["Hi", PHONE, false]))["status"],
        "queued"
    );
    assert!(started.elapsed() >= Duration::from_secs(1));
    let busy = sms::start(9);
    let refused = installed("much too often", &settings(&busy)).call("sb_send_sms", &json!(["Hi", PHONE]));
    assert_eq!(
        (refused, busy.received().len()),
        (refusal(20429, "Too Many Requests", 429), 2)
    );
}

#[test]
fn a_message_of_unknown_fate_is_not_sent_again() {
    let broken = StandIn::start(|_| Reply::HangUp);
    let text = installed("broken", &settings(&broken)).call("sb_send_sms", &json!(["Hi", PHONE, false]));
    assert!(text.as_str().unwrap().contains("broke off"), "{text}");
    assert_eq!(broken.received().len(), 1);
    let failing = StandIn::start(|_| Reply::of(503, &[("retry-after", "1")], "<html>planted</html>"));
    let text = installed("failing", &settings(&failing)).call("sb_send_sms", &json!(["Hi", PHONE, false]));
    assert_eq!(text, "an answer that is not the service's, with HTTP status 503");
    assert_eq!(failing.received().len(), 1);
    let mut down = settings(&failing);
    down["sms"][0]["sms-url"] = json!([nowhere(), "text"]);
    let text = installed("down", &down).call("sb_send_sms", &json!(["Hi", PHONE, false]));
    assert!(
        text.as_str().unwrap().contains("cannot be reached: Connection refused"),
        "{text}"
    );
    assert!(!text.as_str().unwrap().contains(TOKEN));
}
