//! E-mails there and back: out by a mail server, into mailboxes, answered by a mail program, and in again.
//!
//! `tests/support/mariadb cargo test --test mail_loop`

// Tests may panic, their helpers too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[allow(dead_code)]
#[path = "support/dovecot.rs"]
mod dovecot;
#[path = "support/installed.rs"]
mod installed;
#[allow(dead_code)]
#[path = "support/mail.rs"]
mod mail;
mod support;

use std::process::Command;

use dovecot::{Dovecot, PASSWORD};
use installed::Installed;
use mail::MailServer;
use serde_json::{Value, json};

/// Mailboxes, and a mail server that puts e-mails there.
struct Post {
    mailboxes: Dovecot,
    server: MailServer,
}

impl Post {
    fn start(users: &[&str]) -> Self {
        let mailboxes = Dovecot::start();
        for user in users {
            mailboxes.mailbox(user);
        }
        let options = json!({"encryption": "none", "mailboxes": mailboxes.home().to_str().unwrap()});
        Self {
            server: MailServer::start(&options),
            mailboxes,
        }
    }

    /// An installation that sends and gets by it.
    fn installed(&self, name: &str, address: &str, further: &[&str]) -> Installed {
        let settings = json!({
            "email-server": [{
                "email-server-host": ["127.0.0.1", "text"], "email-server-port": [self.server.port.to_string(), "number"],
                "email-server-from": [address, "text"], "email-sender-name": ["Support, ÅB", "text"],
            }, "multi-input"],
            "email-piping": [{
                "email-piping-active": [true, "checkbox"], "email-piping-host": ["127.0.0.1", "text"],
                "email-piping-user": [address, "text"], "email-piping-password": [PASSWORD, "password"],
                "email-piping-port": [self.mailboxes.imap.to_string(), "number"], "email-piping-all": [true, "checkbox"],
            }, "multi-input"],
        });
        Installed::new(name, "people", &settings, further)
    }

    /// Lets a mail program answer the newest e-mail of somebody, or write one.
    fn write(&self, user: &str, further: &Value) -> Value {
        let mut options = json!({
            "imap": self.mailboxes.imap, "smtp": self.server.port, "user": user, "password": PASSWORD,
        });
        let own = options.as_object_mut().unwrap();
        own.extend(further.as_object().unwrap().clone());
        let output = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/sdk"))
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/mail_program.py"))
            .arg(options.to_string())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

#[test]
fn two_people_write_to_each_other_and_their_thread_holds() {
    let post = Post::start(&["answers@support.example", "carla@customer.example"]);
    let mut installed = post.installed("loop", "answers@support.example", &[]);
    let mut sent = Vec::<String>::new();
    for round in 1..=5 {
        let text = format!("Answer {round} of the staff");
        let arguments = json!(["3", text, [], "2"]);
        assert_eq!(installed.call("sb_email", &arguments), true);
        let answer = post.write(
            "carla@customer.example",
            &json!({"text": format!("Answer {round} of Carla\n\nwith a second line")}),
        );
        // The program keeps ours together by what they refer to, and ours refer to hers.
        let original = &answer["answers"];
        let references = original["References"].as_str().unwrap();
        assert!(
            sent.iter().all(|id| references.contains(id)),
            "{references} of {sent:?}"
        );
        if let Some(last) = sent.last() {
            assert_eq!(original["In-Reply-To"], *last);
        }
        assert_eq!(installed.call("sb_email_piping", &json!([true])), true);
        sent.push(answer["id"].as_str().unwrap().to_owned());
    }
    let messages = installed.rows(
        "SELECT m.message, m.user_id, m.conversation_id, c.status_code
        FROM sb_messages m JOIN sb_conversations c ON c.id = m.conversation_id WHERE m.id > 11 ORDER BY m.id",
    );
    let expected: Vec<Value> = (1..=5)
        .map(|round| {
            json!({
                "message": format!("Answer {round} of Carla\n\nwith a second line"), "user_id": "3",
                "conversation_id": "2", "status_code": "2",
            })
        })
        .collect();
    assert_eq!(messages, json!(expected));
    assert_eq!(
        installed.rows("SELECT COUNT(*) AS count FROM sb_conversations")[0]["count"],
        "6"
    );
    installed.database.drop();
}

#[test]
fn two_installations_that_answer_by_themselves_answer_once() {
    let (ours, theirs) = ("help@ours.example", "help@theirs.example");
    let post = Post::start(&[ours, theirs]);
    let customer = |address: &str| format!("UPDATE sb_users SET email = '{address}' WHERE id = 3");
    let mut installations = [
        (post.installed("first of two", ours, &[&customer(theirs)]), 11),
        (post.installed("second of two", theirs, &[&customer(ours)]), 11),
    ];
    // A person there writes by a mail program: nobody can see that it is not a customer.
    post.write(
        theirs,
        &json!({"to": ours, "subject": "Our order", "text": "Where is it?"}),
    );
    for _ in 0..6 {
        for (installed, seen) in &mut installations {
            assert_eq!(installed.call("sb_email_piping", &json!([true])), true);
            // What a program on top of the library does that answers everyone.
            let new = installed.rows(&format!(
                "SELECT id, user_id FROM sb_messages WHERE id > {seen} ORDER BY id"
            ));
            for message in new.as_array().unwrap() {
                *seen = message["id"].as_str().unwrap().parse().unwrap();
                let arguments = json!([message["user_id"], "We got your message.", [], "6"]);
                assert_eq!(installed.call("sb_email", &arguments), true);
            }
        }
    }
    // The person's, and one answer.
    assert_eq!(post.server.emails(2).len(), 2);
    assert_eq!((installations[0].1, installations[1].1), (12, 11));
    for (installed, _) in installations {
        installed.database.drop();
    }
}
