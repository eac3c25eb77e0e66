//! Sending e-mail: the connection, the form of what is sent, and the function on top, against a mail server that others
//! have written.
//!
//! `tests/support/mariadb cargo test --test email`

// Tests may panic, their helpers too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[allow(dead_code)]
#[path = "support/mail.rs"]
mod mail;
mod support;

use std::net::TcpListener;
use std::time::{Duration, Instant};

use mail::{MailServer, headers};
use sb::contract::error::{Error, Outcome, ProviderError, Result};
use sb::contract::{Value, json};
use sb::platform::crypto::Keys;
use sb::platform::engine::Engine;
use sb::platform::smtp::{Address, Encryption, Limits, Server, Smtp};
use secrecy::SecretString;
use support::bench::Installation;
use support::case::Given;
use support::core::Core;
use support::database::{Database, Server as DatabaseServer};

const USER: &str = "sender@support.example";
const PASSWORD: &str = "planted mail password";

const FAST: Limits = Limits {
    connect: Duration::from_secs(1),
    total: Duration::from_secs(2),
};

fn server(port: u16) -> Server {
    Server {
        host: "127.0.0.1".into(),
        port,
        encryption: Encryption::Offered,
        login: None,
        domain: "support.example".into(),
        check_certificate: false,
    }
}

fn with_login(port: u16, password: &str) -> Server {
    Server {
        login: Some((USER.into(), SecretString::from(password))),
        ..server(port)
    }
}

/// Sends to each of some recipients, by one connection where it holds.
fn send(server: &Server, recipients: &[&str]) -> Vec<Result<()>> {
    // Whoever says nothing is not waited for; a machine that has much to do is.
    let is_silent = recipients.iter().any(|recipient| recipient.starts_with("silent"));
    let smtp = Smtp::with_limits(if is_silent { FAST } else { Limits::default() });
    let from: Address = USER.parse().unwrap();
    let content = b"From: sender@support.example\r\nSubject: Hello\r\n\r\n.Hello\r\n..\r\n";
    Engine::default()
        .run(async |_| {
            let mut results = Vec::new();
            for recipient in recipients {
                let to = format!("{recipient}@customer.example").parse().unwrap();
                results.push(smtp.send(server, &from, &to, content).await);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            smtp.disconnect().await;
            Ok(results)
        })
        .unwrap()
}

fn failure(result: Result<()>) -> ProviderError {
    let error = result.unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains(PASSWORD), "the password is in {shown}");
    match error {
        Error::Provider(error) => *error,
        error => panic!("not the mail server's: {error:?}"),
    }
}

#[test]
fn a_connection_serves_one_email_after_the_other() {
    let mail = MailServer::plain();
    let results = send(&server(mail.port), &["one", "two", "three"]);
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    let emails = mail.emails(3);
    assert!(emails.iter().all(|email| email["connection"] == 1));
    assert_eq!(emails[1]["recipients"], serde_json::json!(["two@customer.example"]));
    assert_eq!(emails[1]["sender"], USER);
    assert_eq!(emails[1]["text"], ".Hello\r\n..\r\n");
    assert_eq!(mail.seen("hello")[0]["domain"], "support.example");
}

#[test]
fn a_connection_that_the_server_has_closed_is_made_anew() {
    let mail = MailServer::plain();
    let results = send(&server(mail.port), &["then-gone", "then-gone", "one"]);
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    let connections: Vec<_> = mail.emails(3).iter().map(|email| email["connection"].clone()).collect();
    assert_eq!(connections, [1, 2, 3]);
}

#[test]
fn what_became_of_an_email_is_known_as_far_as_it_can_be() {
    let mail = MailServer::plain();
    let cases = [
        (
            "refused-rcpt",
            Outcome::NotDone,
            "refused the e-mail: 550 5.1.1 there is nobody of that name",
        ),
        (
            "later-rcpt",
            Outcome::NotSent,
            "refused the e-mail: 451 4.7.1 come back later",
        ),
        (
            "refused-data",
            Outcome::NotDone,
            "refused the e-mail: 554 5.7.1 not such a thing",
        ),
        ("later-data", Outcome::NotSent, "refused the e-mail: 452 4.3.1 no room"),
        ("gone-rcpt", Outcome::NotSent, "broke off: "),
        ("gone-data", Outcome::Unknown, "broke off: "),
        ("silent-rcpt", Outcome::NotSent, "did not answer within 2s"),
        ("silent-data", Outcome::Unknown, "did not answer within 2s"),
    ];
    for (recipient, outcome, message) in cases {
        let failure = failure(send(&server(mail.port), &[recipient]).remove(0));
        assert_eq!((failure.outcome, failure.service), (outcome, "email"), "{recipient}");
        let expected = format!("127.0.0.1:{} {message}", mail.port);
        assert!(failure.message.starts_with(&expected), "{}", failure.message);
    }
    // None of them was tried twice.
    assert_eq!(mail.emails(4).len(), 4);
}

#[test]
fn after_an_email_of_unknown_outcome_nothing_is_repeated_by_itself() {
    let mail = MailServer::plain();
    let mut results = send(&server(mail.port), &["one", "gone-data"]);
    assert_eq!(failure(results.remove(1)).outcome, Outcome::Unknown);
    assert_eq!(mail.emails(2)[1]["connection"], 1);
}

#[test]
fn a_server_that_is_not_there_or_says_nothing_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let started = Instant::now();
    let silent = failure(send(&server(port), &["silent"]).remove(0));
    assert_eq!(silent.outcome, Outcome::NotSent);
    assert!(started.elapsed() < Duration::from_secs(10));
    drop(listener);
    let absent = failure(send(&server(port), &["one"]).remove(0));
    assert_eq!(absent.outcome, Outcome::NotSent);
    assert!(
        absent.message.contains("cannot be reached: Connection refused"),
        "{}",
        absent.message
    );
}

#[test]
fn the_login_is_taken_by_both_mechanisms_and_a_wrong_one_refused() {
    let mail = MailServer::start(&serde_json::json!({"encryption": "none", "login": [USER, PASSWORD]}));
    assert_eq!(send(&with_login(mail.port, PASSWORD), &["one"]), [Ok(())]);
    assert_eq!(mail.email()["login"], USER);
    let wrong = "another planted password";
    let refusal = failure(send(&with_login(mail.port, wrong), &["one"]).remove(0));
    assert_eq!(refusal.outcome, Outcome::NotDone);
    assert!(
        refusal.message.contains("refused the login: 535 5.7.8"),
        "{}",
        refusal.message
    );
    assert!(!refusal.message.contains(wrong));
}

#[test]
fn a_server_that_repeats_the_password_is_not_repeated() {
    let mail = MailServer::start(&serde_json::json!({"encryption": "none", "login": [USER, PASSWORD]}));
    let failure = failure(send(&with_login(mail.port, PASSWORD), &["echo"]).remove(0));
    assert!(
        failure.message.ends_with("answered with the credentials"),
        "{}",
        failure.message
    );
}

#[test]
fn a_connection_is_encrypted_when_it_can_be_and_when_it_must() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("certificate.pem");
    mail::certificate(&file);
    let start = |encryption: &str| {
        MailServer::start(&serde_json::json!({
            "encryption": encryption, "certificate": file.to_str().unwrap(), "login": [USER, PASSWORD],
        }))
    };
    for (offered, wanted) in [
        ("starttls", Encryption::Offered),
        ("starttls", Encryption::Required),
        ("tls", Encryption::AtOnce),
    ] {
        let mail = start(offered);
        let server = Server {
            encryption: wanted,
            ..with_login(mail.port, PASSWORD)
        };
        assert_eq!(send(&server, &["one", "two"]), [Ok(()), Ok(())], "{offered}");
        let emails = mail.emails(2);
        assert!(
            emails
                .iter()
                .all(|email| email["encrypted"] == true && email["connection"] == 1),
            "{emails:#?}"
        );

        // The same server, if it must prove who it is.
        let server = Server {
            check_certificate: true,
            ..server
        };
        let failure = failure(send(&server, &["one"]).remove(0));
        assert_eq!(failure.outcome, Outcome::NotSent);
        assert!(
            failure.message.contains("certificate verify failed"),
            "{}",
            failure.message
        );
        assert_eq!(mail.seen("login").len(), 1, "the password stays here");
    }
    let mail = start("none");
    let server = Server {
        encryption: Encryption::Required,
        ..with_login(mail.port, PASSWORD)
    };
    let failure = failure(send(&server, &["one"]).remove(0));
    assert!(
        failure.message.ends_with("does not offer STARTTLS"),
        "{}",
        failure.message
    );
    assert!(mail.seen("login").is_empty(), "the password stays here");
}

#[test]
fn an_address_in_another_script_needs_a_server_that_takes_it() {
    for (takes, result) in [(true, true), (false, false)] {
        let mail = MailServer::start(&serde_json::json!({"encryption": "none", "smtputf8": takes}));
        let mut results = send(&server(mail.port), &["дора"]);
        assert_eq!(results[0].is_ok(), result);
        if takes {
            assert_eq!(mail.email()["recipients"], serde_json::json!(["дора@customer.example"]));
        } else {
            assert_eq!(failure(results.remove(0)).outcome, Outcome::NotDone);
        }
    }
}

/// An installation whose settings name a mail server.
struct Installed {
    core: Core,
    database: Database,
}

/// The secret of every test.
fn keys() -> Keys {
    Keys::new("the secret of the cases".into(), None)
}

impl Installed {
    fn new(name: &str, port: u16, emails: &serde_json::Value, further: &[&str]) -> Self {
        let settings = serde_json::json!({"email-server": [{
            "email-server-host": ["127.0.0.1", "text"], "email-server-port": [port.to_string(), "number"],
            "email-server-from": [USER, "text"], "email-sender-name": ["Support, ÅB", "text"],
        }, "multi-input"], "email-piping": [{
            "email-piping-active": [true, "checkbox"], "email-piping-host": ["127.0.0.1", "text"],
            "email-piping-user": ["answers@support.example", "text"], "email-piping-password": ["secret", "password"],
        }, "multi-input"]});
        let row = |name: &str, value: &serde_json::Value| {
            let value = value.to_string().replace('\\', r"\\").replace('\'', "''");
            format!("REPLACE INTO sb_settings (name, value) VALUES ('{name}', '{value}')")
        };
        let server = DatabaseServer::of_environment().unwrap();
        let given = Given {
            sql: [row("settings", &settings), row("emails", emails)]
                .into_iter()
                .chain(further.iter().map(|sql| (*sql).to_owned()))
                .collect(),
            ..Given::default()
        };
        let database = Database::create(&server, name, &given).unwrap();
        let core = Core::open(Installation::of(&server, &database));
        Self { core, database }
    }

    fn send(&self, arguments: [&str; 4]) -> Result<Value> {
        self.core.call("sb_email_send", arguments.map(Value::from))
    }
}

/// Rows of the settings that translate the e-mails for Carla.
const GERMAN: [&str; 3] = [
    r#"INSERT INTO sb_settings (name, value) VALUES ('external-settings-translations-de', '{"emails": {
        "email-user": [{"email-user-subject": ["Antwort von {sender_name}", "text"], "email-user-content": [
            "<h1>Hallo {recipient_name}</h1><img src=\\"{sender_profile_image}\\" alt=\\"\\"><div>{message}</div><p>{attachments}</p><a href=\\"{conversation_link}\\">Antworten</a>",
            "textarea"]}, "multi-input"],
        "email-signature": ["Ihr Team", "textarea"]}}')"#,
    "INSERT INTO sb_users_data (user_id, slug, name, value) VALUES (3, 'language', 'Language', 'de'),
        (3, 'current_url', 'Current URL', 'https://shop.example/cart?step=2#top')",
    r#"INSERT INTO sb_settings (name, value) VALUES ('email-thread-2', '{"ids": ["first@customer.example", "second@customer.example"]}')"#,
];

fn texts() -> serde_json::Value {
    serde_json::json!({
        "email-header": ["<h2>Support</h2>", "textarea"], "email-signature": ["Your team\nat support.example", "textarea"],
    })
}

#[test]
fn an_email_has_both_forms_with_header_and_signature_around_the_message() {
    let mail = MailServer::plain();
    let installed = Installed::new("both forms", mail.port, &texts(), &[]);
    let subject = "Ihre Bestellung № 42 – “heute” 🎉";
    let message = "<p>Hello <b>Dóra</b>, <a href=\"https://support.example/42\">see here</a></p>";
    let result = installed.send([" dora@PROSPECT.example ", subject, message, " | SB7"]);
    assert_eq!(result, Ok(true.into()));
    let email = mail.email();
    assert_eq!(email["recipients"], serde_json::json!(["dora@prospect.example"]));
    assert_eq!(email["defects"], serde_json::json!([]));
    let html = email["html"].as_str().unwrap();
    for part in [
        "<h2>Support</h2>",
        message,
        "Your team<br>",
        "at support.example",
        "<meta charset=\"utf-8\">",
    ] {
        assert!(html.contains(part), "{html}");
    }
    let text = email["text"].as_str().unwrap().replace("\r\n", "\n");
    assert_eq!(
        text.trim(),
        "Support\n\nHello Dóra, see here (https://support.example/42)\n\nYour team\nat support.example"
    );
    assert_eq!(headers(&email, "Subject"), [subject]);
    assert_eq!(headers(&email, "From"), [format!("\"Support, ÅB | SB7\" <{USER}>")]);
    assert_eq!(headers(&email, "To"), ["dora@prospect.example"]);
    assert_eq!(headers(&email, "MIME-Version"), ["1.0"]);
    assert_eq!(headers(&email, "Content-Type").len(), 1);
    assert_eq!(headers(&email, "Date").len(), 1);
    let id = headers(&email, "Message-ID");
    assert!(
        id.len() == 1 && id[0].starts_with('<') && id[0].ends_with("@support.example>"),
        "{id:?}"
    );
    let raw = email["raw"].as_str().unwrap();
    assert!(raw.is_ascii() && raw.lines().all(|line| line.len() <= 998), "{raw}");
    installed.database.drop();
}

#[test]
fn plain_text_stays_what_it_is() {
    let mail = MailServer::plain();
    let installed = Installed::new("plain text", mail.port, &serde_json::json!({}), &[]);
    let message = "1 < 2 & \"so on\"\nA second line\n.\n<3";
    assert_eq!(
        installed.send(["dora@prospect.example", "", message, ""]),
        Ok(true.into())
    );
    let email = mail.email();
    let text = email["text"].as_str().unwrap().replace("\r\n", "\n");
    assert_eq!(text, message);
    let html = email["html"].as_str().unwrap();
    assert!(html.contains("1 &lt; 2 &amp; &quot;so on&quot;<br>"), "{html}");
    installed.database.drop();
}

#[test]
fn a_hostile_argument_makes_no_second_header() {
    let mail = MailServer::plain();
    let installed = Installed::new("hostile", mail.port, &texts(), &[]);
    let (to, good) = ("dora@prospect.example", "Hello");
    let injections = [
        "a\r\nBcc: x@evil.example",
        "a\nX: y",
        "a\rX: y",
        "a\0",
        "a\r\n\r\nbody",
        "\u{85}a",
        "a\u{7f}",
    ];
    for injection in injections {
        for arguments in [
            [&format!("{to}{injection}"), good, good, ""],
            [injection, good, good, ""],
            [to, injection, good, ""],
            [to, good, good, injection],
        ] {
            let error = installed.send(arguments.map(|text| text)).unwrap_err();
            assert_eq!(
                (error.code().as_str(), error.http_status()),
                ("email-error", 422),
                "{arguments:?}"
            );
        }
    }
    for to in [
        "",
        "dora",
        "dora@",
        "@prospect.example",
        "a@b@c",
        "a b@prospect.example",
        "dora@prospect.example, x@evil.example",
        "dora@prospect.example;x@evil.example",
        "<dora@prospect.example>",
        "dora@prospect.example> SIZE=1",
        "dora@-prospect.example",
        "dora@prospect..example",
    ] {
        assert_eq!(
            installed.send([to, good, good, ""]).unwrap_err().code(),
            "email-error",
            "{to}"
        );
    }
    // In the message all of it is text.
    assert_eq!(
        installed.send([to, good, "a\r\n.\r\nMAIL FROM:<x@evil.example>\r\n", ""]),
        Ok(true.into())
    );
    let email = mail.email();
    assert!(email["text"].as_str().unwrap().contains("MAIL FROM:<x@evil.example>"));
    assert_eq!(email["recipients"].as_array().unwrap().len(), 1);
    installed.database.drop();
}

#[test]
fn a_domain_in_another_script_is_one_of_the_name_system() {
    let mail = MailServer::plain();
    let installed = Installed::new("domain", mail.port, &texts(), &[]);
    assert_eq!(installed.send(["dora@bücher.example", "a", "b", ""]), Ok(true.into()));
    assert_eq!(
        mail.email()["recipients"],
        serde_json::json!(["dora@xn--bcher-kva.example"])
    );
    installed.database.drop();
}

#[test]
fn a_refusal_is_an_error_with_the_servers_text() {
    let mail = MailServer::plain();
    let installed = Installed::new("refusal", mail.port, &texts(), &[]);
    let error = installed
        .send(["refused-rcpt@prospect.example", "a", "b", ""])
        .unwrap_err();
    assert_eq!((error.code().as_str(), error.http_status()), ("email-error", 502));
    assert!(error.to_string().contains("550 5.1.1 there is nobody"), "{error}");
    installed.database.drop();
}

/// The library's own table, which comes with an upgrade.
const OUTBOX: &str = "
    CREATE TABLE sb_outbox (id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, channel varchar(20) NOT NULL,
        event varchar(50) NOT NULL, target varchar(191), payload mediumtext NOT NULL, state tinyint NOT NULL DEFAULT 0,
        attempts tinyint NOT NULL DEFAULT 0, next_try datetime NOT NULL, claim binary(16), failure varchar(191),
        created datetime NOT NULL)";

#[test]
fn whoever_follows_events_hears_of_it() {
    let mail = MailServer::plain();
    let mut installed = Installed::new(
        "event",
        mail.port,
        &texts(),
        &[
            OUTBOX,
            "UPDATE sb_settings SET value = JSON_INSERT(value, '$.webhooks', JSON_ARRAY(JSON_OBJECT(
                'webhooks-active', JSON_ARRAY(TRUE, 'checkbox'), 'webhooks-url', JSON_ARRAY('http://127.0.0.1:1/', 'text')
            ), 'multi-input')) WHERE name = 'settings'",
        ],
    );
    assert_eq!(
        installed.send(["dora@prospect.example", "Subject", "Text", ""]),
        Ok(true.into())
    );
    assert!(installed.send(["refused-rcpt@prospect.example", "a", "b", ""]).is_err());
    let rows = installed
        .database
        .rows("SELECT channel, event, payload FROM sb_outbox")
        .unwrap();
    let payload = r#"{"to":"dora@prospect.example","subject":"Subject","message":"Text"}"#;
    let expected = Value::from(
        [Value::map([
            ("channel", "webhook".into()),
            ("event", "email-sent".into()),
            ("payload", payload.into()),
        ])]
        .to_vec(),
    );
    assert_eq!(json::encode(&rows), json::encode(&expected));
    installed.database.drop();
}

#[test]
fn an_email_in_the_outbox_is_repeated_only_when_nobody_has_it() {
    let mail = MailServer::plain();
    let recipients = [
        "one",
        "later-rcpt",
        "later-data",
        "refused-rcpt",
        "refused-data",
        "gone-rcpt",
        "gone-data",
    ];
    let rows: Vec<String> = recipients
        .iter()
        .map(|name| {
            let payload = r#"{"subject":"Hello","message":"Text","is_automatic":true,"references":["a@b","c@d"]}"#;
            format!("('email', 'email', '{name}@customer.example', '{payload}', UTC_TIMESTAMP(), UTC_TIMESTAMP())")
        })
        .collect();
    let rows = format!(
        "INSERT INTO sb_outbox (channel, event, target, payload, next_try, created) VALUES {}",
        rows.join(", ")
    );
    let abandoned = "
        INSERT INTO sb_outbox (channel, event, target, payload, state, claim, next_try, created) VALUES
            ('email', 'email', 'abandoned@customer.example', '{}', 1, 'x', '2026-01-01', '2026-01-01'),
            ('email', 'email', NULL, '{}', 0, NULL, '2026-01-01', '2026-01-01')";
    let mut installed = Installed::new("outbox", mail.port, &texts(), &[OUTBOX, &rows, abandoned]);
    assert_eq!(installed.core.deliver_due(), Ok(8));
    assert_eq!(installed.core.deliver_due(), Ok(0), "those that may be repeated wait");
    let first = mail.emails(4).remove(0);
    assert_eq!(headers(&first, "Auto-Submitted"), ["auto-generated"]);
    assert_eq!(headers(&first, "References"), ["<a@b> <c@d>"]);
    assert_eq!(headers(&first, "In-Reply-To"), ["<c@d>"]);
    let mut states = || {
        let rows = installed
            .database
            .rows("SELECT SUBSTRING_INDEX(target, '@', 1) AS name, state, attempts FROM sb_outbox ORDER BY id")
            .unwrap();
        let rows: serde_json::Value = serde_json::from_str(&json::encode(&rows)).unwrap();
        let rows = rows.as_array().unwrap().iter();
        let state = |row: &serde_json::Value| {
            let name = row["name"].as_str().unwrap_or("nobody");
            format!(
                "{name} {} {}",
                row["state"].as_str().unwrap(),
                row["attempts"].as_str().unwrap()
            )
        };
        rows.map(state).collect::<Vec<_>>()
    };
    let settled = ["refused-rcpt 3 1", "refused-data 3 1"];
    let expected = |waiting: [&str; 3]| {
        let [rcpt, data, gone] = waiting;
        [
            "one 2 1",
            rcpt,
            data,
            settled[0],
            settled[1],
            gone,
            "gone-data 3 1",
            "abandoned 3 0",
            "nobody 3 1",
        ]
        .map(str::to_owned)
        .to_vec()
    };
    assert_eq!(
        states(),
        expected(["later-rcpt 0 1", "later-data 0 1", "gone-rcpt 0 1"])
    );
    installed
        .database
        .rows("UPDATE sb_outbox SET next_try = UTC_TIMESTAMP() WHERE state = 0")
        .unwrap();
    assert_eq!(installed.core.deliver_due(), Ok(3));
    installed.database.drop();
}

#[test]
fn a_message_comes_in_the_recipients_language_and_belongs_to_its_conversation() {
    let mail = MailServer::plain();
    let installed = Installed::new("template", mail.port, &texts(), &GERMAN);
    let attachments = json::decode(br#"[["a \"b\".pdf","https://support.example/a.pdf?b=1&c=2"]]"#).unwrap();
    let message = "It is *here*:\n<b>1042</b>";
    let arguments = [Value::from("3"), message.into(), attachments, "2".into()];
    assert_eq!(installed.core.call("sb_email", arguments), Ok(true.into()));
    let email = mail.email();
    assert_eq!(email["recipients"], serde_json::json!(["carla@customer.example"]));
    assert_eq!(headers(&email, "Subject"), ["Antwort von Ben Okafor"]);
    assert_eq!(headers(&email, "Auto-Submitted"), ["auto-generated"]);
    let signature = keys().signature("email/2").unwrap();
    assert_eq!(
        headers(&email, "Reply-To"),
        [format!("\"Support, ÅB | SB2-{signature}\" <answers@support.example>")]
    );
    let id = headers(&email, "Message-ID")[0];
    assert!(
        id.starts_with("<conv-2.") && id.ends_with(&format!(".{signature}@support.example>")),
        "{id}"
    );
    assert_eq!(
        headers(&email, "References"),
        [format!(
            "<conv-2.{signature}@support.example> <first@customer.example> <second@customer.example>"
        )]
    );
    assert_eq!(headers(&email, "In-Reply-To"), ["<second@customer.example>"]);
    let html = email["html"].as_str().unwrap();
    for part in [
        "<html lang=\"de\">",
        "<h1>Hallo Carla D&#39;Angelo</h1>",
        "<img src=\"https://support.example/chat/media/ben.png\"",
        "<div>It is <b>here</b>:<br>&lt;b&gt;1042&lt;/b&gt;</div>",
        "<a href=\"https://support.example/a.pdf?b=1&amp;c=2\">a &quot;b&quot;.pdf</a>",
        "href=\"https://shop.example/cart?step=2&amp;conversation=2&amp;token=03abcdef03abcdef03abcdef03abcdef03abcdef\"",
        "Ihr Team",
        // What is not translated.
        "<h2>Support</h2>",
    ] {
        assert!(html.contains(part), "{part} is not in {html}");
    }
    installed.database.drop();
}

#[test]
fn without_templates_an_email_has_our_own_and_an_agent_gets_no_token() {
    let mail = MailServer::plain();
    let installed = Installed::new("no template", mail.port, &serde_json::json!({}), &[]);
    let arguments = [
        "1",
        "My parcel {sender_name}",
        "[[\"a.pdf\",\"https://a.example/a.pdf\"]]",
        "3",
    ];
    assert_eq!(
        installed.core.call("sb_email", arguments.map(Value::from)),
        Ok(true.into())
    );
    let email = mail.email();
    assert_eq!(headers(&email, "Subject"), ["New message from Carla D'Angelo"]);
    let text = email["text"].as_str().unwrap().replace("\r\n", "\n");
    assert_eq!(
        text.trim(),
        "Carla D'Angelo\n\nMy parcel {sender_name}\na.pdf (https://a.example/a.pdf)\n\n\
         Open the conversation (https://support.example/chat/admin.php?conversation=2)"
    );
    // The newest conversation of the customer that is not in the trash.
    assert!(headers(&email, "Message-ID")[0].starts_with("<conv-2."));
    installed.database.drop();
}

#[test]
fn whoever_has_a_hostile_name_makes_no_header_and_no_markup() {
    let mail = MailServer::plain();
    let rename =
        r#"UPDATE sb_users SET first_name = 'Eve\r\nBcc: x@evil.example <script>', profile_image = '">' WHERE id = 3"#;
    let emails = serde_json::json!({"email-agent": [{
        "email-agent-subject": ["{message} {sender_name}", "text"],
        "email-agent-content": ["{sender_name} {sender_profile_image}\n{message}", "textarea"],
    }, "multi-input"]});
    let installed = Installed::new("hostile name", mail.port, &emails, &[rename]);
    let message = "<img src=x onerror=alert(1)> [a](javascript:alert(1))\r\nBcc: y@evil.example\r\n";
    let arguments = ["1", message, "", "3"].map(Value::from);
    assert_eq!(installed.core.call("sb_email", arguments), Ok(true.into()));
    let email = mail.email();
    assert!(headers(&email, "Bcc").is_empty());
    assert_eq!(
        headers(&email, "Subject"),
        [
            "<img src=x onerror=alert(1)> [a](javascript:alert(1)) Bcc: y@evil.example Eve Bcc: x@evil.example <script> D'Angelo"
        ]
    );
    let html = email["html"].as_str().unwrap();
    assert!(
        !html.contains("<script") && !html.contains("<img") && !html.contains("href=\"javascript"),
        "{html}"
    );
    installed.database.drop();
}

#[test]
fn an_email_that_can_be_answered_begins_with_the_line_to_answer_above() {
    let mail = MailServer::plain();
    let delimiter = r#"UPDATE sb_settings SET value = JSON_INSERT(value, '$."email-piping"[0]."email-piping-delimiter"',
        JSON_ARRAY(TRUE, 'checkbox')) WHERE name = 'settings'"#;
    let mut installed = Installed::new("delimiter", mail.port, &serde_json::json!({}), &[delimiter]);
    assert_eq!(
        installed
            .core
            .call("sb_email", ["3", "Hello", "", "2"].map(Value::from)),
        Ok(true.into())
    );
    // To somebody who has no conversation there is no answer.
    installed
        .database
        .rows("DELETE FROM sb_conversations WHERE user_id = 7")
        .unwrap();
    assert_eq!(
        installed
            .core
            .call("sb_email", ["7", "Hello", "", "2"].map(Value::from)),
        Ok(true.into())
    );
    let emails = mail.emails(2);
    assert!(
        emails[0]["text"]
            .as_str()
            .unwrap()
            .starts_with("### Please type your reply above this line ###")
    );
    assert!(emails[1]["text"].as_str().unwrap().starts_with("Ben Okafor"));
    assert!(headers(&emails[1], "Reply-To").is_empty() && headers(&emails[1], "References").is_empty());
    installed.database.drop();
}
