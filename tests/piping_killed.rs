//! A process that takes in e-mails is killed again and again: every e-mail becomes one message.
//!
//! `tests/support/mariadb cargo test --test piping_killed`. Its own program is the process that is killed.

// A test fails by panicking, in its helpers too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[allow(dead_code)]
#[path = "support/dovecot.rs"]
mod dovecot;
#[allow(dead_code)]
#[path = "support/mail.rs"]
mod mail;
mod support;

use std::collections::BTreeMap;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use dovecot::{Dovecot, PASSWORD};
use libtest_mimic::{Arguments, Trial};
use sb::contract::Value;
use serde_json::json;
use support::bench::Installation;
use support::core::Core;
use support::scene::{Scene, answer};

const BOX: &str = "answers@support.example";
const EMAILS: usize = 500;
const SENDERS: usize = 25;
const KILLS: usize = 20;

/// One in so many has a file.
const FILES: usize = 10;

/// What tells the program to be the process that is killed, with the constants that it is configured by.
const CHILD: &str = "SB_TEST_PIPING";

fn main() {
    if let Ok(constants) = std::env::var(CHILD) {
        let constants: BTreeMap<String, String> = serde_json::from_str(&constants).unwrap();
        let core = Core::open(Installation {
            constants,
            login: None,
            force_admin: false,
        });
        assert_eq!(answer(&core, "sb_email_piping", [true.into()]), Value::Bool(true));
        return;
    }
    let test = Trial::test(
        "every_email_becomes_one_message_however_often_the_process_is_killed",
        || {
            every_email_becomes_one_message();
            Ok(())
        },
    );
    libtest_mimic::run(&Arguments::from_args(), vec![test]).exit();
}

fn every_email_becomes_one_message() {
    let server = Dovecot::start();
    let settings = json!({"email-piping": [{
        "email-piping-active": [true, "checkbox"], "email-piping-host": ["127.0.0.1", "text"],
        "email-piping-user": [BOX, "text"], "email-piping-password": [PASSWORD, "password"],
        "email-piping-port": [server.imap.to_string(), "number"], "email-piping-all": [true, "checkbox"],
    }, "multi-input"]});
    let settings = format!("REPLACE INTO sb_settings (name, value) VALUES ('settings', '{settings}')");
    let mut scene = Scene::new("piping killed", &[&settings]);
    let uploads = tempfile::tempdir_in("/dev/shm").unwrap();
    let mut constants = Installation::of(&scene.server, &scene.database).constants;
    constants.insert("SB_PATH".into(), uploads.path().to_str().unwrap().into());
    let constants = serde_json::to_string(&constants).unwrap();
    for number in 0..EMAILS {
        server.deliver(BOX, email(number).as_bytes());
    }
    let mut stored = Vec::new();
    let mut kills = 0;
    while kills < KILLS {
        let mut child = start(&constants);
        thread::sleep(Duration::from_millis(pause()));
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            kills += 1;
        }
        child.wait().unwrap();
        stored.push(count(
            &mut scene,
            "SELECT COUNT(*) AS count FROM sb_messages WHERE message LIKE 'message %'",
        ));
    }
    assert!(stored[0] < EMAILS, "nothing was killed on its way: {stored:?}");
    assert!(start(&constants).wait().unwrap().success(), "after {stored:?}");
    for (sql, expected) in [
        (
            "SELECT COUNT(*) AS count FROM sb_messages WHERE message LIKE 'message %'",
            EMAILS,
        ),
        (
            "SELECT COUNT(DISTINCT message) AS count FROM sb_messages WHERE message LIKE 'message %'",
            EMAILS,
        ),
        (
            "SELECT COUNT(*) AS count FROM sb_conversations WHERE source = 'em' AND id > 6",
            EMAILS,
        ),
        (
            "SELECT COUNT(*) AS count FROM sb_users WHERE user_type = 'lead' AND id > 7",
            SENDERS,
        ),
        (
            "SELECT COUNT(*) AS count FROM sb_messages WHERE attachments LIKE '%file.txt%'",
            EMAILS / FILES,
        ),
        (
            "SELECT COUNT(*) AS count FROM sb_settings WHERE name LIKE 'email-mailbox-pending-%' AND value = '[]'",
            1,
        ),
    ] {
        assert_eq!(count(&mut scene, sql), expected, "{sql}, after {stored:?}");
    }
    let files = std::fs::read_dir(uploads.path().join("uploads/email")).unwrap();
    let names: Vec<String> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    let whole = names.iter().filter(|name| !name.starts_with('.'));
    assert_eq!(whole.count(), EMAILS / FILES, "{names:?}");
    scene.database.drop();
}

fn start(constants: &str) -> Child {
    let program = std::env::current_exe().unwrap();
    Command::new(program).env(CHILD, constants).spawn().unwrap()
}

/// Milliseconds until a process is killed: some when it connects, most on its way.
fn pause() -> u64 {
    let mut random = [0; 2];
    getrandom::fill(&mut random).unwrap();
    30 + u64::from(u16::from_ne_bytes(random)) % 270
}

fn count(scene: &mut Scene, sql: &str) -> usize {
    let rows = scene.database.rows(sql).unwrap();
    let row = rows.get(&0.into()).unwrap();
    row.get(&"count".into()).unwrap().as_str().unwrap().parse().unwrap()
}

fn email(number: usize) -> String {
    let sender = number % SENDERS;
    let headers = format!(
        "From: Sender {sender} <sender-{sender}@new.example>\r\nTo: {BOX}\r\nSubject: Number {number}\r\n\
         Message-ID: <{number}@new.example>\r\nMIME-Version: 1.0\r\n"
    );
    if number.is_multiple_of(FILES) {
        format!(
            "{headers}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\n\
             message {number}\r\n--b\r\nContent-Type: text/plain\r\n\
             Content-Disposition: attachment; filename=file.txt\r\n\r\nfile {number}\r\n--b--\r\n"
        )
    } else {
        format!("{headers}\r\nmessage {number}\r\n")
    }
}
