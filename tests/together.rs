//! Messages that come to `sb serve` at the same time share a transaction: each is answered as if it were alone, whatever
//! becomes of the others.
//!
//! `tests/support/mariadb cargo test --features program --test together`

// A test fails by panicking, in its helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::collections::BTreeMap;
use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sb::contract::{Argument, Value};
use serde_json::{Value as Json, json};
use support::api::{Answer, prepared_plain};
use support::bench::Installation;
use support::client::{connect, read, request};
use support::cut::Way;
use support::database::{Database, Server};
use support::scene::numbers;
use support::serving::Serving;

/// How many ask at once.
const CLIENTS: usize = 16;

const NO_LIMIT: &str = r#"UPDATE sb_settings SET value = JSON_SET(value, '$."api-rate-limit"', JSON_ARRAY('999999', 'number')) WHERE name = 'settings'"#;

/// A client that stays.
struct Client {
    stream: TcpStream,
    reader: BufReader<TcpStream>,
}

impl Client {
    fn of(serving: &Serving) -> Self {
        let stream = connect(&serving.address).unwrap();
        let reader = BufReader::new(stream.try_clone().unwrap());
        Self { stream, reader }
    }

    /// Sends a message, under a name if it has one.
    fn send(&mut self, conversation: u32, user: u32, message: &str, name: Option<String>) -> Answer {
        let mut headers = vec![
            ("Authorization".to_owned(), "Bearer sb_live_server".to_owned()),
            ("Content-Type".to_owned(), "application/json".to_owned()),
        ];
        headers.extend(name.map(|name| ("Idempotency-Key".to_owned(), name)));
        let body = json!({"conversation_id": conversation, "user_id": user, "message": message}).to_string();
        let asked = request("POST", "/v1/messages", &headers, body.as_bytes());
        self.stream.write_all(&asked).unwrap();
        read(&mut self.reader, "POST").unwrap()
    }

    /// A figure of the server.
    fn figure(&mut self, name: &str) -> usize {
        self.stream.write_all(&request("GET", "/metrics", &[], b"")).unwrap();
        let text = String::from_utf8(read(&mut self.reader, "GET").unwrap().body).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap().parse().unwrap()
    }
}

fn body(answer: &Answer) -> Json {
    serde_json::from_slice(&answer.body).unwrap()
}

fn id(answer: &Answer) -> u32 {
    body(answer)["id"].as_str().unwrap().parse().unwrap()
}

/// Lets all clients work at once, and gives what each of them gave.
fn at_once<T: Send>(serving: &Serving, work: impl Fn(u32, &mut Client) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let work = &work;
                scope.spawn(move || work(u32::try_from(number).unwrap(), &mut Client::of(serving)))
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    })
}

/// The messages that were stored, by their ids.
fn stored(database: &mut Database) -> BTreeMap<u32, String> {
    let rows = database
        .rows("SELECT id, message FROM sb_messages WHERE id > 11")
        .unwrap();
    let Value::List(rows) = rows else { panic!("no list") };
    let cell = |row: &Value, name: &'static str| String::from_value(row.get(&name.into()).unwrap().clone()).unwrap();
    rows.iter()
        .map(|row| (cell(row, "id").parse().unwrap(), cell(row, "message")))
        .collect()
}

#[test]
fn messages_that_come_at_once_are_stored_by_few_statements_each_under_its_own_id() {
    const TURNS: u32 = 50;
    let server = Server::of_environment().unwrap();
    // Each client has a conversation of its own, since those that both threads write to are not waited for together.
    let own = format!(
        "INSERT INTO sb_conversations (id, user_id, creation_time, status_code)
            SELECT seq, 3, UTC_TIMESTAMP(), 1 FROM {}",
        numbers(100, 115)
    );
    let is_here = "UPDATE sb_users SET typing = -1, last_activity = UTC_TIMESTAMP() WHERE id = 2";
    let mut database = prepared_plain(&server, "together", &[NO_LIMIT, &own, is_here]);
    let serving = Serving::start(&Installation::of(&server, &database));
    let say = |client: &mut Client, number: u32, turn: u32| {
        let text = format!("{number}/{turn}");
        (id(&client.send(100 + number, 2, &text, None)), text)
    };
    // Both threads have read the settings.
    let mut sent = at_once(&serving, |number, client| say(client, number, 0));
    // Nothing can be stored until all have come.
    let mut other = Database::watch(&server, &database).unwrap();
    other.rows("LOCK TABLES sb_messages WRITE").unwrap();
    let statements = || Client::of(&serving).figure("sb_statements_total");
    let before = statements();
    thread::scope(|scope| {
        let first = scope.spawn(|| at_once(&serving, |number, client| say(client, number, 1)));
        thread::sleep(Duration::from_millis(800));
        other.rows("UNLOCK TABLES").unwrap();
        sent.extend(first.join().unwrap());
    });
    let statements = statements() - before;
    // Alone each takes four of them, or five with the author's presence.
    assert!(
        statements <= CLIENTS * 4 * 2 / 3,
        "{statements} statements for {CLIENTS} messages"
    );
    // And what nobody holds up.
    let many = at_once(&serving, |number, client| {
        let turns = (2..TURNS).map(|turn| say(client, number, turn));
        turns.collect::<Vec<_>>()
    });
    sent.extend(many.into_iter().flatten());
    let sent: BTreeMap<u32, String> = sent.into_iter().collect();
    assert_eq!(sent.len(), CLIENTS * TURNS as usize);
    assert_eq!(sent, stored(&mut database));
    database.drop();
}

#[test]
fn one_that_is_refused_takes_no_other_with_it() {
    const TURNS: u32 = 30;
    let server = Server::of_environment().unwrap();
    // A database that cannot store every letter: what the server refuses, the library does not know before.
    let narrow = "ALTER TABLE sb_messages MODIFY message TEXT CHARACTER SET utf8mb3 NOT NULL";
    let clear = "DELETE FROM sb_messages";
    let mut database = prepared_plain(&server, "together refused", &[NO_LIMIT, clear, narrow]);
    database.rows("ALTER TABLE sb_messages AUTO_INCREMENT = 12").unwrap();
    let serving = Serving::start(&Installation::of(&server, &database));
    let sent = at_once(&serving, |number, client| {
        let mut sent = Vec::new();
        for turn in 0..TURNS {
            let text = format!("{number}/{turn}");
            match (number + turn) % 5 {
                0 => assert_eq!(client.send(999, 3, &text, None).status, 404),
                1 => assert_eq!(client.send(1, 999, &text, None).status, 422),
                2 => assert_eq!(client.send(1, 3, "😟", None).status, 500),
                _ => sent.push((id(&client.send(1, 1 + turn % 3, &text, None)), text)),
            }
            // Each with another, and both mean the same.
            let text = format!("{}+{turn}", number / 2);
            let answer = client.send(4, 4, &text, Some(text.clone()));
            sent.push((id(&answer), text));
        }
        sent
    });
    let sent: BTreeMap<u32, String> = sent.into_iter().flatten().collect();
    assert_eq!(sent, stored(&mut database));
    let pairs = sent.values().filter(|text| text.contains('+')).count();
    assert_eq!(pairs, CLIENTS / 2 * TURNS as usize);
    database.drop();
}

#[test]
fn when_connections_break_all_of_a_transaction_is_stored_once_or_reported() {
    const TURNS: u32 = 60;
    const CUTS: usize = 12;
    let server = Server::of_environment().unwrap();
    let mut database = prepared_plain(&server, "together cut", &[NO_LIMIT]);
    let mut installation = Installation::of(&server, &database);
    let way = Way::to(&server.port);
    installation.constants.insert("SB_DB_PORT".into(), way.port.to_string());
    let serving = Serving::start(&installation);
    let answered = AtomicUsize::new(0);
    let told = thread::scope(|scope| {
        scope.spawn(|| {
            for cut in 1..CUTS {
                while answered.load(Ordering::SeqCst) < cut * CLIENTS * TURNS as usize / CUTS {
                    thread::sleep(Duration::from_millis(1));
                }
                way.cut();
                way.mend();
            }
        });
        at_once(&serving, |number, client| {
            let told = (0..TURNS).map(|turn| {
                let text = format!("{number}/{turn}");
                let answer = client.send([1, 4, 5, 6][turn as usize % 4], 1 + turn % 3, &text, None);
                answered.fetch_add(1, Ordering::SeqCst);
                ((answer.status == 200).then(|| id(&answer)), text)
            });
            told.collect::<Vec<_>>()
        })
    });
    let stored = stored(&mut database);
    let mut texts: Vec<&String> = stored.values().collect();
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), stored.len(), "none is doubled");
    let (acknowledged, failed): (Vec<_>, Vec<_>) = told.into_iter().flatten().partition(|(id, _)| id.is_some());
    for (id, text) in &acknowledged {
        assert_eq!(stored.get(&id.unwrap()), Some(text));
    }
    let unknown = stored.len() - acknowledged.len();
    assert!(unknown <= failed.len(), "{unknown} are stored that nobody was told of");
    assert!(acknowledged.len() > failed.len(), "{} failed", failed.len());
    database.drop();
}

#[test]
fn a_conversation_that_somebody_has_locked_holds_up_no_other() {
    let server = Server::of_environment().unwrap();
    let mut database = prepared_plain(&server, "together locked", &[NO_LIMIT]);
    let serving = Serving::start(&Installation::of(&server, &database));
    database.rows("START TRANSACTION").unwrap();
    database
        .rows("SELECT id FROM sb_conversations WHERE id = 1 FOR UPDATE")
        .unwrap();
    let (held, free) = thread::scope(|scope| {
        let sends = |conversation: u32| {
            let send = move |client: &mut Client| client.send(conversation, 2, "Hello", None).status;
            at_once(&serving, |number, client| (number % 4 == 0).then(|| send(client)))
        };
        let held = scope.spawn(move || sends(1));
        // They wait by now.
        thread::sleep(Duration::from_millis(300));
        let started = Instant::now();
        let free = sends(4);
        assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
        assert!(!held.is_finished());
        database.rows("ROLLBACK").unwrap();
        (held.join().unwrap(), free)
    });
    for statuses in [held, free] {
        assert_eq!(statuses.into_iter().flatten().collect::<Vec<_>>(), [200; CLIENTS / 4]);
    }
    database.drop();
}
