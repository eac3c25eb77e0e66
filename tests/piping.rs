//! E-mails that come in: real mailboxes, by IMAP and POP3, and what becomes of what lies in them.
//!
//! `tests/support/mariadb cargo test --test piping`

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

use std::fmt::Write;
use std::path::Path;

use dovecot::{Dovecot, PASSWORD};
use installed::Installed;
use sb::platform::crypto::Keys;
use serde_json::{Value, json};

const BOX: &str = "answers@support.example";

/// The settings of one mailbox.
fn mailbox(user: &str, port: u16, takes_all: bool) -> Value {
    json!({
        "email-piping-active": true, "email-piping-host": "127.0.0.1", "email-piping-user": user,
        "email-piping-password": PASSWORD, "email-piping-port": port.to_string(), "email-piping-all": takes_all,
        "email-piping-department": "2",
    })
}

fn settings(mailboxes: &[Value]) -> Value {
    json!({"email-piping": [mailboxes, "repeater"]})
}

/// An installation whose uploads lie in a folder of its own.
struct Piped {
    installed: Installed,
    folder: tempfile::TempDir,
}

impl Piped {
    fn new(name: &str, settings: &Value, further: &[&str]) -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let mut installed = Installed::new(name, "people", settings, further);
        installed.configure("SB_PATH", folder.path().to_str().unwrap());
        Self { installed, folder }
    }

    /// Reads the mailboxes now.
    #[track_caller]
    fn fetch(&self) {
        assert_eq!(self.installed.call("sb_email_piping", &json!([true])), true);
    }

    fn rows(&mut self, sql: &str) -> Value {
        self.installed.rows(sql)
    }

    /// The messages that have come since the fixture, oldest first.
    fn messages(&mut self) -> Vec<Value> {
        let rows = self.rows(
            "SELECT m.conversation_id, m.user_id, m.message, m.attachments, c.title, c.status_code, c.department, c.source,
                c.extra, u.email, u.user_type, CONCAT_WS(' ', u.first_name, u.last_name) AS name
            FROM sb_messages m JOIN sb_conversations c ON c.id = m.conversation_id JOIN sb_users u ON u.id = m.user_id
            WHERE m.id > 11 ORDER BY m.id",
        );
        rows.as_array().unwrap().clone()
    }

    fn end(self) {
        self.installed.database.drop();
    }
}

/// An e-mail of somebody, with further headers.
fn letter(from: &str, subject: &str, headers: &str, text: &str) -> Vec<u8> {
    format!(
        "From: {from}\r\nTo: Support <{BOX}>\r\nSubject: {subject}\r\nDate: {}\r\n{headers}\
         Content-Type: text/plain; charset=utf-8\r\n\r\n{text}\r\n",
        chrono::Utc::now().to_rfc2822()
    )
    .into_bytes()
}

/// What signs the e-mails of a conversation, to customers and to staff.
fn signature(conversation: u32) -> String {
    Keys::new("the secret of the cases".into(), None)
        .signature(&format!("email/{conversation}"))
        .unwrap()
}

fn staff_signature(conversation: u32) -> String {
    Keys::new("the secret of the cases".into(), None)
        .signature(&format!("email/{conversation}/staff"))
        .unwrap()
}

#[test]
fn an_email_of_a_stranger_opens_a_conversation() {
    let server = Dovecot::start();
    let mut piped = Piped::new("piping stranger", &settings(&[mailbox(BOX, server.imap, true)]), &[]);
    server.deliver(
        BOX,
        &letter(
            "Erika Mustermann <Erika@New.example>",
            "Where is\r\n my parcel?",
            "Message-ID: <1@new.example>\r\n",
            "It has not *arrived*.\r\n\r\n-- \r\nErika",
        ),
    );
    piped.fetch();
    let messages = piped.messages();
    let expected = json!([{
        "conversation_id": "7", "user_id": "8", "message": "It has not *arrived*.", "attachments": "",
        "title": "Where is my parcel?", "status_code": "2", "department": "2", "source": "em", "extra": BOX,
        "email": "Erika@New.example", "user_type": "lead", "name": "Erika Mustermann",
    }]);
    assert_eq!(json!(messages), expected);
    assert_eq!(server.read(BOX), (1, 1));
    piped.fetch();
    assert_eq!(piped.messages().len(), 1);
    // The same once more, and her next one.
    server.deliver(
        BOX,
        &letter(
            "erika@new.example",
            "Where?",
            "Message-ID: <1@new.example>\r\n",
            "Again",
        ),
    );
    server.deliver(
        BOX,
        &letter(
            "erika@new.example",
            "Re: Where?",
            "Message-ID: <2@new.example>\r\nReferences: <0@new.example> <1@new.example>\r\n",
            "Found it",
        ),
    );
    piped.fetch();
    let messages = piped.messages();
    assert_eq!(messages.len(), 2);
    assert_eq!(
        (&messages[1]["message"], &messages[1]["conversation_id"]),
        (&json!("Found it"), &json!("7"))
    );
    piped.end();
}

#[test]
fn every_way_into_a_mailbox_is_taken() {
    let server = Dovecot::start();
    let plain = Dovecot::with("ssl = no");
    for (name, host, port) in [
        ("imap", &server, server.imap),
        ("imaps", &server, server.imaps),
        ("pop", &server, server.pop),
        ("pops", &server, server.pops),
        ("plain imap", &plain, plain.imap),
        ("plain pop", &plain, plain.pop),
    ] {
        let mut piped = Piped::new(
            &format!("piping by {name}"),
            &settings(&[mailbox(BOX, port, true)]),
            &[],
        );
        let already = host.read(BOX).1;
        host.deliver(BOX, &letter("a@new.example", name, "", &format!(".{name}\r\n..\r\nÄ")));
        piped.fetch();
        let messages = piped.messages();
        // By POP3 nobody knows what was read before.
        let last = messages.last().unwrap_or_else(|| panic!("{name}: {}", host.log()));
        assert_eq!(last["message"], format!(".{name}\n..\nÄ"), "{name}");
        if !name.contains("pop") {
            assert_eq!(messages.len(), 1, "{name}");
        }
        let count = messages.len();
        host.deliver(BOX, &letter("b@new.example", "second", "", "second"));
        piped.fetch();
        piped.fetch();
        let messages = piped.messages();
        assert_eq!(messages.len(), count + 1, "{name}");
        assert_eq!(messages[count]["email"], "b@new.example");
        assert_eq!(host.read(BOX).1, already + 2, "nothing is removed");
        piped.end();
    }
}

#[test]
fn an_answer_is_added_to_its_conversation_when_its_sender_got_the_mark() {
    let server = Dovecot::start();
    let mut piped = Piped::new("piping answers", &settings(&[mailbox(BOX, server.imap, false)]), &[]);
    let (customer, staff) = (signature(1), staff_signature(1));
    let reference = format!("In-Reply-To: <conv-1.2.{customer}@support.example>\r\n");
    let mark = format!("Cc: \"Support, =?utf-8?q?=C3=85B?= | SB1-{customer}\" <answers@support.example>\r\n");
    let quotation = "Number *1042*\r\n\r\nOn Mon, 2 Mar 2026 at 09:00, Ben Okafor <answers@support.example>\r\nwrote:\r\n\r\n> Which order is it?\r\n";
    for email in [
        letter(
            "Carla <carla@customer.example>",
            "Re: New message",
            &reference,
            quotation,
        ),
        letter("CARLA@customer.example", "Hello", &mark, "By the mark"),
        // The mark of another conversation of hers, and of one that is not hers.
        letter("emil@customer.example", "Re: New message", &reference, "I am not Carla"),
        // Of the staff, who got an e-mail with a mark of their own, and of somebody who says so.
        letter(
            "Ben <ben@support.example>",
            "Re: New message",
            &format!("References: <x@y> <conv-1.3.{staff}@support.example>\r\n"),
            "I look for it",
        ),
        letter("ben@support.example", "Re: New message", &reference, "I am not Ben"),
        // Whoever answers from an address of which nothing is known.
        letter("carla@private.example", "Re: New message", &reference, "From my phone"),
        letter("x@stranger.example", "Hello", "", "A stranger"),
        letter(
            "x@stranger.example",
            "Re: SB1-0000000000000000",
            "In-Reply-To: <conv-1.2.0000000000000000@support.example>\r\n",
            "A forged mark",
        ),
    ] {
        server.deliver(BOX, &email);
    }
    piped.fetch();
    let messages = piped.messages();
    let seen: Vec<String> = messages
        .iter()
        .map(|message| {
            let text = |name: &str| message[name].as_str().unwrap().to_owned();
            format!("{} {}: {}", text("conversation_id"), text("email"), text("message"))
        })
        .collect();
    assert_eq!(
        seen,
        [
            "1 carla@customer.example: Number *1042*",
            "1 carla@customer.example: By the mark",
            "7 emil@customer.example: I am not Carla",
            "1 ben@support.example: I look for it",
            "8 carla@private.example: From my phone",
        ]
    );
    assert_eq!(
        messages[0]["status_code"], "1",
        "an answer of the staff waits for the customer"
    );
    assert_eq!(messages[4]["user_type"], "lead");
    // What is not ours stays unread.
    assert_eq!(server.read(BOX), (5, 8));
    piped.end();
}

#[test]
fn what_programs_write_is_left_alone() {
    let server = Dovecot::start();
    let mut piped = Piped::new("piping programs", &settings(&[mailbox(BOX, server.imap, true)]), &[]);
    let signature = signature(1);
    for headers in [
        "Auto-Submitted: auto-replied\r\n",
        "Auto-Submitted: auto-generated\r\n",
        "Precedence: bulk\r\n",
        "Precedence: Junk\r\n",
        "List-Id: <news.example>\r\n",
        "X-Auto-Response-Suppress: All\r\n",
        "X-Autoreply: yes\r\n",
        "X-Loop: answers@support.example\r\n",
        "Return-Path: <>\r\n",
        &format!("Message-ID: <conv-1.2.{signature}@support.example>\r\n"),
    ] {
        server.deliver(
            BOX,
            &letter("carla@customer.example", "Re: Hello", headers, "By itself"),
        );
    }
    server.deliver(BOX, &letter("Answers@Support.example", "Hello", "", "Of our own"));
    server.deliver(
        BOX,
        &letter("MAILER-DAEMON@mx.example", "Undelivered", "", "Whatever it was"),
    );
    server.deliver(BOX, b"garbage");
    server.deliver(BOX, b"");
    server.deliver(
        BOX,
        &letter("carla@customer.example", "Hello", "Auto-Submitted: no\r\n", "By hand"),
    );
    piped.fetch();
    let messages = piped.messages();
    assert_eq!(messages.len(), 1, "{messages:#?}");
    assert_eq!(messages[0]["message"], "By hand");
    assert_eq!(server.read(BOX), (1, 15));
    piped.end();
}

/// A report of a mail server about an e-mail of ours.
fn report(action: &str, original: &str) -> Vec<u8> {
    format!(
        "From: Mail Delivery System <MAILER-DAEMON@mx.example>\r\nTo: {BOX}\r\nSubject: Undelivered Mail\r\n\
         Auto-Submitted: auto-replied\r\nReturn-Path: <>\r\nMIME-Version: 1.0\r\n\
         Content-Type: multipart/report; report-type=delivery-status; boundary=\"b\"\r\n\r\n\
         --b\r\nContent-Type: text/plain\r\n\r\nSorry.\r\n\
         --b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.example\r\n\r\n\
         Final-Recipient: rfc822; carla@customer.example\r\nAction: {action}\r\nStatus: 5.1.1\r\n\
         Diagnostic-Code: smtp; 550 5.1.1 there is nobody\r\n of that name\r\n\r\n\
         --b\r\nContent-Type: text/rfc822-headers\r\n\r\nMessage-ID: <{original}>\r\nSubject: Hello\r\n\r\n--b--\r\n"
    )
    .into_bytes()
}

#[test]
fn a_report_marks_the_message_that_was_not_delivered() {
    let server = Dovecot::start();
    let payload = "UPDATE sb_messages SET payload = '{\"kept\":1}' WHERE id = 2";
    let mut piped = Piped::new(
        "piping reports",
        &settings(&[mailbox(BOX, server.imap, true)]),
        &[payload],
    );
    let signature = signature(1);
    for (action, original) in [
        ("failed", format!("conv-1.2.{signature}@support.example")),
        ("delayed", format!("conv-1.3.{signature}@support.example")),
        // A message of another conversation, an e-mail of no message, and somebody else's e-mail.
        ("failed", format!("conv-1.4.{signature}@support.example")),
        ("failed", format!("conv-1.0123456789abcdef.{signature}@support.example")),
        ("failed", "conv-1.2.0000000000000000@support.example".to_owned()),
        ("failed", "x@y".to_owned()),
    ] {
        server.deliver(BOX, &report(action, &original));
    }
    // A server of another age.
    let mut old = letter(
        "Mail Delivery Subsystem <mailer-daemon@old.example>",
        "Returned mail",
        "",
        "Not known here:",
    );
    let original = format!("conv-1.3.{signature}@support.example");
    old.extend(format!("\r\n--- Below is the original\r\nMessage-ID: <{original}>\r\nSubject: Hello\r\n").bytes());
    server.deliver(BOX, &old);
    piped.fetch();
    assert_eq!(piped.messages(), Vec::<Value>::new());
    let rows = piped.rows("SELECT id, payload FROM sb_messages WHERE payload LIKE '%email-failure%' ORDER BY id");
    let marks: Vec<Value> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| serde_json::from_str(row["payload"].as_str().unwrap()).unwrap())
        .collect();
    assert_eq!(marks.len(), 2, "{marks:#?}");
    assert_eq!(marks[0]["kept"], 1);
    let mark = &marks[0]["email-failure"];
    assert_eq!(
        (&mark["recipient"], &mark["status"], &mark["text"]),
        (
            &json!("carla@customer.example"),
            &json!("5.1.1"),
            &json!("550 5.1.1 there is nobody of that name")
        )
    );
    let row = piped.rows("SELECT value FROM sb_settings WHERE name = 'email-thread-1'");
    let row: Value = serde_json::from_str(row[0]["value"].as_str().unwrap()).unwrap();
    assert_eq!(row["failures"].as_array().unwrap().len(), 2, "{row}");
    assert_eq!(server.read(BOX), (4, 7));
    piped.end();
}

#[test]
fn files_come_along_and_what_is_not_accepted_is_named() {
    let server = Dovecot::start();
    let mut piped = Piped::new("piping files", &settings(&[mailbox(BOX, server.imap, true)]), &[]);
    let mut email = String::from(
        "From: a@new.example\r\nSubject: Files\r\nMessage-ID: <f@new.example>\r\nMIME-Version: 1.0\r\n\
         Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nSee there\r\n",
    );
    for name in ["receipt.pdf", "../../x.php", "run.exe", "drawing.svg", "a b.txt"] {
        write!(
            email,
            "--b\r\nContent-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=\"{name}\"\r\n\r\nwhat is in {name}\r\n"
        )
        .unwrap();
    }
    email.push_str("--b--\r\n");
    server.deliver(BOX, email.as_bytes());
    piped.fetch();
    let messages = piped.messages();
    let attachments: Value = serde_json::from_str(messages[0]["attachments"].as_str().unwrap()).unwrap();
    let names: Vec<&str> = attachments
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| pair[0].as_str().unwrap())
        .collect();
    assert_eq!(names, ["receipt.pdf", "a b.txt"]);
    let url = attachments[0][1].as_str().unwrap();
    let file = url.strip_prefix("https://support.example/chat/").unwrap();
    let content = std::fs::read_to_string(piped.folder.path().join(file)).unwrap();
    assert_eq!(content.trim_end(), "what is in receipt.pdf");
    let message = messages[0]["message"].as_str().unwrap();
    assert!(
        message.starts_with("See there\n\n[Attachment not accepted: x.php]\n"),
        "{message}"
    );
    assert!(message.ends_with("[Attachment not accepted: drawing.svg]"), "{message}");
    assert_eq!(files(&piped.folder.path().join("uploads/email")), 2);
    piped.end();
}

fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn it_runs_once_a_minute_unless_forced_and_by_cron_where_that_is_wanted() {
    let server = Dovecot::start();
    let own = mailbox(BOX, server.imap, true);
    let mut without_cron = mailbox("second@support.example", server.imap, true);
    without_cron["email-piping-disable-cron"] = json!(true);
    let mut piped = Piped::new("piping turns", &settings(&[own, without_cron]), &[]);
    for user in [BOX, "second@support.example"] {
        server.deliver(user, &letter("a@new.example", user, "", "First"));
    }
    assert_eq!(piped.installed.call("sb_cron_jobs", &json!([])), true);
    assert_eq!(piped.messages().len(), 1);
    // Less than a minute ago.
    assert_eq!(piped.installed.call("sb_email_piping", &json!([])), true);
    assert_eq!(piped.messages().len(), 1);
    piped.rows("UPDATE sb_settings SET value = CONCAT('\"', UTC_TIMESTAMP() - INTERVAL 60 SECOND, '\"') WHERE name = 'email-piping-time'");
    assert_eq!(piped.installed.call("sb_email_piping", &json!(["false"])), true);
    assert_eq!(piped.messages().len(), 2);
    server.deliver(BOX, &letter("a@new.example", "Next", "", "Next"));
    assert_eq!(piped.installed.call("sb_email_piping", &json!(["1"])), true);
    assert_eq!(piped.messages().len(), 3);
    piped.end();
}

#[test]
fn a_mailbox_that_cannot_be_read_does_not_keep_the_others_from_being() {
    let server = Dovecot::start();
    let mut wrong = mailbox(BOX, server.imap, true);
    wrong["email-piping-password"] = json!("another planted password");
    let absent = mailbox(BOX, 1, true);
    let good = mailbox("second@support.example", server.imaps, true);
    server.deliver("second@support.example", &letter("a@new.example", "Hello", "", "Hello"));
    let mut piped = Piped::new("piping failures", &settings(&[wrong, absent, good]), &[]);
    let (code, message) = piped.installed.error("sb_email_piping", &json!([true]));
    assert_eq!(code, "email-error");
    assert!(
        message.contains(&format!("127.0.0.1:{} refused", server.imap)) && !message.contains("planted"),
        "{message}"
    );
    assert_eq!(piped.messages().len(), 1);
    piped.end();
}

#[test]
fn the_first_look_takes_what_is_new_and_unread() {
    let server = Dovecot::start();
    let mut piped = Piped::new("piping first look", &settings(&[mailbox(BOX, server.imap, true)]), &[]);
    server.deliver(BOX, &letter("a@new.example", "New", "", "New"));
    let mailbox = server.mailbox(BOX);
    // Read, and older than two days by the time of the file.
    let old = letter("a@new.example", "Read", "", "Read");
    std::fs::write(mailbox.join("cur/1700000900.read:2,S"), old).unwrap();
    let path = mailbox.join("new/1600000000.old");
    std::fs::write(&path, letter("a@new.example", "Old", "", "Old")).unwrap();
    let day_before = std::time::SystemTime::now() - std::time::Duration::from_hours(4 * 24);
    std::fs::File::open(&path).unwrap().set_modified(day_before).unwrap();
    piped.fetch();
    let messages = piped.messages();
    assert_eq!(messages.len(), 1, "{messages:#?}");
    assert_eq!(messages[0]["message"], "New");
    piped.end();
}

/// What becomes of each e-mail of the corpus, `tests/fixtures/mail`.
#[test]
fn every_email_of_the_corpus_becomes_what_it_says() {
    let server = Dovecot::start();
    let folder = support::case::root().join("tests/fixtures/mail");
    let expected = std::fs::read_to_string(folder.join("expected.json")).unwrap();
    let expected: serde_json::Map<String, Value> = serde_json::from_str(&expected).unwrap();
    // Each has a sender of its own, and answers a conversation of its own: 100 and following.
    let first = 100;
    let senders: Vec<String> = expected
        .keys()
        .zip(first..)
        .map(|(name, id)| {
            format!("({id}, '{name}', '', '{name}@corpus.example', 'user', UTC_TIMESTAMP(), 'token-{id}')")
        })
        .filter(|row| row.contains("'answer-") || row.contains("'report-"))
        .collect();
    let senders = format!(
        "INSERT INTO sb_users (id, first_name, last_name, email, user_type, creation_time, token) VALUES {}",
        senders.join(", ")
    );
    let conversations: Vec<String> = expected
        .keys()
        .zip(first..)
        .map(|(name, id)| {
            let is_own = name.starts_with("answer-") || name.starts_with("report-");
            format!("({id}, {}, UTC_TIMESTAMP())", if is_own { id } else { 3 })
        })
        .collect();
    let conversations = format!(
        "INSERT INTO sb_conversations (id, user_id, creation_time) VALUES {}",
        conversations.join(", ")
    );
    let messages =
        "INSERT INTO sb_messages (id, user_id, message, creation_time, attachments, payload, conversation_id)
        SELECT id, 2, 'Shall I send it?', UTC_TIMESTAMP(), '', '', id FROM sb_conversations WHERE id >= 100";
    let mut piped = Piped::new(
        "piping corpus",
        &settings(&[mailbox(BOX, server.imap, true)]),
        &[&senders, &conversations, messages],
    );
    for (name, id) in expected.keys().zip(first..) {
        let content = std::fs::read(folder.join(name).with_extension("eml")).unwrap();
        server.deliver(BOX, &marked(&content, id));
    }
    piped.fetch();
    let got = piped.rows(
        "SELECT m.message, m.attachments, m.conversation_id, c.title, u.email, CONCAT_WS(' ', u.first_name, u.last_name) AS name
        FROM sb_messages m JOIN sb_conversations c ON c.id = m.conversation_id JOIN sb_users u ON u.id = m.user_id
        WHERE m.id > 11 AND u.id > 7 ORDER BY m.id",
    );
    let got = got.as_array().unwrap();
    let mut wrong = Vec::new();
    for ((name, expected), id) in expected.iter().zip(first..) {
        let address = format!("{name}@corpus.example");
        let of_it: Vec<&Value> = got
            .iter()
            .filter(|row| row["email"].as_str().unwrap().eq_ignore_ascii_case(&address))
            .collect();
        if let Some(status) = expected.get("failure") {
            let rows = piped
                .installed
                .rows(&format!("SELECT payload FROM sb_messages WHERE id = {id}"));
            let payload: Value = serde_json::from_str(rows[0]["payload"].as_str().unwrap()).unwrap_or_default();
            if payload["email-failure"]["status"] != *status {
                wrong.push(format!("{name}: {payload}"));
            }
            continue;
        }
        let difference = match (expected.as_str(), of_it.as_slice()) {
            (Some("left"), []) => None,
            (Some("any"), [row]) if !row["message"].as_str().unwrap().is_empty() => None,
            (None, [row]) => difference(expected, row, id),
            (_, rows) => Some(format!("{rows:?}")),
        };
        wrong.extend(difference.map(|difference| format!("{name}: {difference}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    piped.end();
}

/// An e-mail with the marks of its conversation in it.
fn marked(content: &[u8], conversation: u32) -> Vec<u8> {
    let (customer, staff) = (signature(conversation), staff_signature(conversation));
    let marks = [
        (
            "{mark}",
            format!("conv-{conversation}.{conversation}.{customer}@support.example"),
        ),
        (
            "{staff-mark}",
            format!("conv-{conversation}.{conversation}.{staff}@support.example"),
        ),
        ("{tag}", format!("SB{conversation}-{customer}")),
    ];
    let mut content = content.to_vec();
    for (name, mark) in marks {
        while let Some(at) = content.windows(name.len()).position(|part| part == name.as_bytes()) {
            content.splice(at..at + name.len(), mark.bytes());
        }
    }
    content
}

/// How a message differs from what is expected of it.
fn difference(expected: &Value, row: &Value, conversation: u32) -> Option<String> {
    let attachments: Value = serde_json::from_str(row["attachments"].as_str().unwrap()).unwrap_or(json!([]));
    let names: Vec<&Value> = attachments.as_array().unwrap().iter().map(|pair| &pair[0]).collect();
    let is_own = row["conversation_id"].as_str() == Some(conversation.to_string().as_str());
    let seen = json!({
        "message": row["message"], "title": row["title"], "name": row["name"].as_str().unwrap().trim(),
        "email": row["email"], "attachments": names, "own": is_own,
    });
    let wanted = expected.as_object().unwrap();
    let attachments = wanted.get("attachments").cloned().unwrap_or(json!([]));
    let differs = wanted.iter().any(|(name, value)| seen[name] != *value) || seen["attachments"] != attachments;
    differs.then(|| format!("\n  expected {expected}\n       got {seen}"))
}

#[test]
fn an_email_that_is_too_long_is_taken_in_by_its_beginning() {
    let server = Dovecot::start();
    let mut content = format!(
        "From: a@new.example\r\nSubject: Long\r\nDate: {}\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n\
         --b\r\nContent-Type: text/plain\r\n\r\nSee the film\r\n\
         --b\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=short.txt\r\n\r\nShort\r\n\
         --b\r\nContent-Type: video/mp4\r\nContent-Disposition: attachment; filename=film.mp4\r\n\
         Content-Transfer-Encoding: base64\r\n\r\n",
        chrono::Utc::now().to_rfc2822()
    );
    content.push_str(&format!("{}\r\n", "A".repeat(76)).repeat(290_000));
    content.push_str("--b--\r\n");
    server.deliver(BOX, content.as_bytes());
    for (name, port) in [("imap", server.imap), ("pop", server.pop)] {
        let mut piped = Piped::new(
            &format!("piping long by {name}"),
            &settings(&[mailbox(BOX, port, true)]),
            &[],
        );
        // Once for each way, unread.
        piped.fetch();
        let messages = piped.messages();
        assert_eq!(messages.len(), 1, "{name}");
        let message = messages[0]["message"].as_str().unwrap();
        assert!(
            message.starts_with("See the film\n\n[This e-mail is longer than 20 MiB."),
            "{name}: {message}"
        );
        let attachments = messages[0]["attachments"].as_str().unwrap();
        assert!(
            attachments.contains("short.txt") && !attachments.contains("film"),
            "{name}: {attachments}"
        );
        piped.end();
    }
}

#[test]
fn a_text_that_no_message_holds_is_attached_whole() {
    let server = Dovecot::start();
    let mut piped = Piped::new("piping long text", &settings(&[mailbox(BOX, server.imap, true)]), &[]);
    let text = "Ünd so weiter.\r\n".repeat(10_000);
    server.deliver(BOX, &letter("a@new.example", "Long", "", &text));
    // As deep as a stranger can nest.
    let nested = "Content-Type: message/rfc822\r\n\r\n".repeat(100_000);
    server.deliver(
        BOX,
        format!("From: b@new.example\r\nSubject: Deep\r\n{nested}").as_bytes(),
    );
    piped.fetch();
    let messages = piped.messages();
    assert_eq!(messages.len(), 2);
    let message = messages[0]["message"].as_str().unwrap();
    assert!(message.len() > 65_000 && message.len() <= 65_535 && message.ends_with('…'));
    let attachments: Value = serde_json::from_str(messages[0]["attachments"].as_str().unwrap()).unwrap();
    assert_eq!(attachments[0][0], "message.txt");
    let file = attachments[0][1]
        .as_str()
        .unwrap()
        .strip_prefix("https://support.example/chat/")
        .unwrap();
    let content = std::fs::read_to_string(piped.folder.path().join(file)).unwrap();
    assert_eq!(content, text.replace("\r\n", "\n").trim());
    assert_eq!(messages[1]["message"], "[Attachment not accepted: file]");
    piped.end();
}

#[test]
fn of_many_who_run_at_once_one_takes_each_email_in() {
    let server = Dovecot::start();
    let given = support::case::Given {
        sql: vec![format!(
            "REPLACE INTO sb_settings (name, value) VALUES ('settings', '{}')",
            settings(&[mailbox(BOX, server.imap, true)])
        )],
        ..support::case::Given::default()
    };
    let mut scene = support::scene::Scene::of("piping at once", &given);
    for number in 0..60 {
        // Of few senders, so that they meet.
        let from = format!("sender-{}@new.example", number % 3);
        let headers = format!("Message-ID: <{number}@new.example>\r\n");
        server.deliver(BOX, &letter(&from, "Hello", &headers, &format!("message {number}")));
    }
    let outcomes = scene.at_once(4, |_, core| {
        let outcome = support::scene::answer(core, "sb_email_piping", [true.into()]);
        outcome == sb::contract::Value::Bool(true)
    });
    assert_eq!(outcomes, [true; 4]);
    scene.expect(
        "SELECT COUNT(*) AS messages, COUNT(DISTINCT message) AS texts, COUNT(DISTINCT conversation_id) AS conversations,
            COUNT(DISTINCT user_id) AS senders FROM sb_messages WHERE message LIKE 'message %'",
        &[("messages", "60"), ("texts", "60"), ("conversations", "60"), ("senders", "3")],
    );
    scene.database.drop();
}
