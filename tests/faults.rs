//! Sending while connections are cut and the server is killed: what was acknowledged is stored once, and nothing else is
//! stored but what was reported as failed.
//!
//! `tests/support/mariadb cargo test --test faults`. One test alone, since it takes the server away from under all others.

// A test fails by panicking, in its helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::collections::HashMap;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use sb::contract::Value;
use support::core::Core;
use support::database::Database;
use support::scene::{Scene, answer};

const SENDERS: usize = 4;
const SENDS: usize = 10_000;
const KILLS: usize = 20;

/// What was told of a message that was sent.
#[derive(Default)]
struct Told {
    acknowledged: Vec<String>,
    failed: Vec<String>,
}

#[test]
fn ten_thousand_sends_survive_cut_connections_and_a_killed_server() {
    let mut scene = Scene::new("faults", &[]);
    let (next, told) = (AtomicUsize::new(0), Mutex::new(Told::default()));
    scene.at_once(SENDERS + 1, |worker, core| {
        if worker == SENDERS {
            break_things(&scene, &next);
        } else {
            send_all(core, &next, &told);
        }
    });
    scene.database = Database::watch(&scene.server, &scene.database).unwrap();
    check(&mut scene, &told.into_inner().unwrap());
    scene.database.drop();
}

/// Sends until all is sent.
fn send_all(core: &Core, next: &AtomicUsize, told: &Mutex<Told>) {
    loop {
        let number = next.fetch_add(1, Ordering::SeqCst);
        if number >= SENDS {
            return;
        }
        let text = format!("message {number}");
        let conversation = ["1", "4", "5", "6"][number % 4];
        let answer = answer(
            core,
            "sb_send_message",
            ["3".into(), conversation.into(), text.as_str().into()],
        );
        match answer {
            Value::Record(_) => told.lock().unwrap().acknowledged.push(text),
            // The text of the database's failure. Not the next one at once, or all are sent while the server is away.
            Value::Bytes(_) => {
                told.lock().unwrap().failed.push(text);
                thread::sleep(Duration::from_millis(100));
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Cuts a connection every few milliseconds, and kills the server so many times, evenly over the sends. Where they are fast
/// the last time may come after them.
fn break_things(scene: &Scene, next: &AtomicUsize) {
    let mut kills = 0;
    while kills < KILLS || next.load(Ordering::SeqCst) < SENDS {
        if next.load(Ordering::SeqCst) >= SENDS * (kills + 1) / (KILLS + 1) {
            kills += 1;
            server(&["--stop", "-KILL"]);
            server(&["--start"]);
        }
        let _ = cut_one(scene);
        thread::sleep(Duration::from_millis(20));
    }
}

fn cut_one(scene: &Scene) -> Result<(), String> {
    let mut watcher = Database::watch(&scene.server, &scene.database)?;
    let rows = watcher.rows(
        "SELECT CAST(id AS CHAR) AS id FROM information_schema.PROCESSLIST WHERE user = 'sb' ORDER BY RAND() LIMIT 1",
    )?;
    if let Some(id) = rows.get(&0.into()).and_then(|row| row.get(&"id".into())) {
        watcher.rows(&format!("KILL {}", id.as_str().unwrap()))?;
    }
    Ok(())
}

/// Stops or starts the server that the tests run beside.
fn server(action: &[&str]) {
    let script = std::env::var_os("SB_TEST_SCRIPT").unwrap();
    let status = Command::new(script).args(action).status();
    assert!(status.unwrap().success(), "{action:?}");
}

fn check(scene: &mut Scene, told: &Told) {
    let rows = scene
        .database
        .rows("SELECT message FROM sb_messages WHERE message LIKE 'message %'")
        .unwrap();
    let Value::List(rows) = rows else { panic!("no list") };
    let mut stored = HashMap::<String, usize>::new();
    for row in rows {
        *stored
            .entry(row.get(&"message".into()).unwrap().as_str().unwrap().to_owned())
            .or_default() += 1;
    }
    assert_eq!(told.acknowledged.len() + told.failed.len(), SENDS);
    let doubled: Vec<_> = stored.iter().filter(|(_, count)| **count > 1).collect();
    assert!(doubled.is_empty(), "stored more than once: {doubled:?}");
    let lost: Vec<_> = told
        .acknowledged
        .iter()
        .filter(|text| !stored.contains_key(*text))
        .collect();
    assert!(lost.is_empty(), "acknowledged and not stored: {lost:?}");
    let of_failed = told.failed.iter().filter(|text| stored.contains_key(*text)).count();
    assert_eq!(stored.len(), told.acknowledged.len() + of_failed);
}
