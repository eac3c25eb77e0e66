//! The feed of events of `sb serve`: what it tells, to whom, and that nothing is missed, whatever happens to whom.
//!
//! `tests/support/mariadb cargo test --features program --test feed [FILTER]`
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use std::collections::{BTreeMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Trial};
use sb::contract::{Key, Value, json};
use support::api::prepared_plain;
use support::bench::Installation;
use support::core::Core;
use support::cut::Way;
use support::database::{Database, Server};
use support::following::{Event, Following, Listening};
use support::scene::answer;
use support::serving::Serving;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

/// The fields of a message in the feed: no token, no e-mail address.
const MESSAGE: [&str; 12] = [
    "id",
    "user_id",
    "message",
    "creation_time",
    "attachments",
    "status_code",
    "payload",
    "conversation_id",
    "first_name",
    "last_name",
    "profile_image",
    "user_type",
];

/// The conversations that are written into: of Carla, of Dora, of a visitor, of Emil.
const CONVERSATIONS: [(&str, &str); 5] = [("1", "3"), ("2", "3"), ("4", "4"), ("5", "5"), ("6", "7")];

/// By which this program is a writer: one of several processes that write at once.
const WRITER: &str = "SB_TEST_WRITER";

fn main() {
    if let Ok(writer) = std::env::var(WRITER) {
        return write(&writer);
    }
    let arguments = Arguments::from_args();
    let server = Arc::new(Server::of_environment().unwrap());
    #[allow(clippy::type_complexity)]
    let tests: [(&str, fn(&Server)); 19] = [
        ("what happens is told", what_happens),
        ("to whom: everyone hears of the own conversations", to_whom),
        ("who is there is told", presence),
        ("server-sent events tell the same", server_sent),
        ("coming back: what was missed follows, once", coming_back),
        ("coming back: what is not kept is a resync", resync),
        (
            "keys: none, a wrong one and one for something else are refused",
            refused,
        ),
        ("keys: one that is revoked ends within three seconds", revoked),
        (
            "keys: an admin's token, on a database without tables of our own",
            without_tables,
        ),
        (
            "order: what commits late is told late, and nothing is missed",
            late_commits,
        ),
        (
            "order: a thousand messages by four processes, two servers, a cut of five seconds",
            thousand,
        ),
        (
            "wake: a message comes when it is written, not at the next look at the database",
            woken,
        ),
        ("database: gone for a moment, nothing is missed", database_gone),
        ("database: one that has lost messages is a resync", failover),
        ("clients: whoever talks nonsense is closed, and nobody else", nonsense),
        ("clients: whoever is slow to say its key may come again", slow_key),
        ("memory: two thousand who follow would cost less than 60 MB", memory),
        ("end: followers are told, and it ends at once", end),
        ("client: the JavaScript library sends, follows, and comes back", client),
    ];
    let trials = tests.map(|(name, test)| {
        let server = Arc::clone(&server);
        Trial::test(name, move || {
            test(&server);
            Ok(())
        })
    });
    libtest_mimic::run(&arguments, trials.into()).exit();
}

/// A database, an installation on it, and a server.
struct Stage {
    database: Database,
    installation: Installation,
    serving: Serving,
}

impl Stage {
    fn new(server: &Server, test: &str) -> Self {
        Self::with(server, test, &[])
    }

    /// One of which some rows are changed before the server starts.
    fn with(server: &Server, test: &str, sql: &[&str]) -> Self {
        let database = prepared_plain(server, &format!("feed {test}"), sql);
        let installation = Installation::of(server, &database);
        let serving = Serving::start(&installation);
        Self {
            database,
            installation,
            serving,
        }
    }

    fn follow(&self, key: &str) -> Following {
        let mut following = Following::open(&self.serving.address, key, None);
        following.greeted();
        following
    }

    /// Someone who uses the library, in a process of its own as far as the server can tell.
    fn core(&self) -> Core {
        Core::open(copy(&self.installation))
    }

    fn run(&mut self, sql: &str) {
        self.database.rows(sql).unwrap();
    }
}

fn copy(installation: &Installation) -> Installation {
    Installation {
        constants: installation.constants.clone(),
        login: None,
        force_admin: true,
    }
}

fn call<const N: usize>(core: &Core, name: &str, arguments: [&str; N]) -> Value {
    answer(core, name, arguments.map(Value::from))
}

fn send(core: &Core, user: &str, conversation: &str, text: &str) -> String {
    let sent = call(core, "sb_send_message", [user, conversation, text]);
    json::encode(sent.get(&"message-id".into()).unwrap())
}

fn texts(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| event.text("message")).collect()
}

fn what_happens(server: &Server) {
    let stage = Stage::new(server, "what happens");
    let mut following = Following::open(&stage.serving.address, "server", None);
    let hello = following.greeted();
    assert_eq!(hello.data.get(&"heartbeat".into()), Some(&Value::Int(25)));
    assert_eq!(hello.data.get(&"agents_online".into()), Some(&Value::Bool(false)));
    let core = stage.core();

    let id = send(&core, "3", "1", "Hello 😟\n\"and\" </script>");
    let message = following.next();
    assert_eq!((message.name.as_str(), message.text("id")), ("message", id.as_str()));
    assert_eq!(message.text("message"), "Hello 😟\n\"and\" </script>");
    assert_eq!(
        (message.text("conversation_id"), message.text("first_name")),
        ("1", "Carla")
    );
    let Value::Map(fields) = &message.data else {
        panic!("{message:?}")
    };
    assert_eq!(fields.keys().cloned().collect::<Vec<_>>(), MESSAGE.map(Key::from));
    assert_ne!(message.id.as_deref(), Some(hello.text("last_event_id")));

    let mut told = |name: &str, data: &str| {
        let event = following.next();
        assert_eq!((event.name.as_str(), json::encode(&event.data).as_str()), (name, data));
        assert!(event.id.is_some());
    };
    call(&core, "sb_update_conversation_status", ["1", "3"]);
    told("conversation.status", r#"{"conversation_id":"1","status_code":"3"}"#);
    call(&core, "sb_update_conversation_department", ["1", "2"]);
    told("conversation.department", r#"{"conversation_id":"1","department":"2"}"#);
    call(&core, "sb_add_note", ["1", "2", "Ben", "a secret note"]);
    let note = following.next();
    assert_eq!((note.name.as_str(), note.text("user_id")), ("note.created", "2"));
    assert!(!json::encode(&note.data).contains("secret"));
    let mut told = |name: &str, data: &str| {
        let event = following.next();
        assert_eq!((event.name.as_str(), json::encode(&event.data).as_str()), (name, data));
    };
    call(&core, "sb_set_typing", ["2", "1"]);
    told("typing", r#"{"conversation_id":"1","user_id":"2"}"#);
    call(&core, "sb_update_user_value", ["3", "first_name", "Carlotta"]);
    told("user.updated", r#"{"user_id":"3"}"#);
    call(&core, "sb_delete_user", ["4"]);
    told("user.deleted", r#"{"user_ids":["4"]}"#);

    call(&core, "sb_update_message", [&id, "changed"]);
    let changed = following.next();
    assert_eq!(
        (changed.name.as_str(), changed.text("message")),
        ("message.updated", "changed")
    );
    assert_eq!(changed.text("first_name"), "Carlotta");
    call(&core, "sb_delete_message", [&id]);
    let deleted = following.next();
    assert_eq!(
        (deleted.name.as_str(), deleted.text("message")),
        ("message.deleted", "")
    );
    assert_eq!(
        json::encode(deleted.data.get(&"payload".into()).unwrap()),
        r#"{"event":"delete-message"}"#
    );

    let user = call(
        &core,
        "sb_add_user",
        [r#"{"first_name":"New","email":"new@customer.example"}"#],
    );
    let user = user.as_str().unwrap().to_owned();
    assert_eq!(following.next().data, Value::map([("user_id", user.as_str().into())]));
    call(&core, "sb_new_conversation", [&user]);
    let opened = following.next();
    assert_eq!(
        (opened.name.as_str(), opened.text("user_id")),
        ("conversation.created", user.as_str())
    );
    call(&core, "sb_set_rating", [r#"{"conversation_id":"6","rating":1}"#]);
    let rated = following.next();
    assert_eq!(
        (rated.name.as_str(), rated.text("conversation_id")),
        ("conversation.rating", "6")
    );
    assert_eq!(following.within(Duration::from_millis(500)), None);

    // What one side reads, the other hears of.
    let reader = Core::open(Installation {
        login: Some(Value::map([("id", "2".into()), ("user_type", "agent".into())])),
        ..copy(&stage.installation)
    });
    call(&reader, "sb_get_conversation", ["2", "2"]);
    let read = following.next();
    assert_eq!(read.name, "message.read");
    assert_eq!(
        json::encode(&read.data),
        r#"{"conversation_id":"2","message_id":"4","user_id":"2"}"#
    );
    drop(following);
    stage.database.drop();
}

fn to_whom(server: &Server) {
    let stage = Stage::new(server, "to whom");
    let [mut carla, mut emil, mut ben, mut all] = ["carla", "emil", "ben", "server"].map(|key| stage.follow(key));
    let core = stage.core();
    let mut last = [String::new(), String::new()];
    for round in 0..20 {
        for (index, (conversation, user)) in [("1", "3"), ("6", "7")].into_iter().enumerate() {
            let text = format!("{user}: {round}");
            last[index] = send(&core, user, conversation, &text);
            call(&core, "sb_set_typing", ["2", conversation]);
            call(&core, "sb_add_note", [conversation, "2", "Ben", "internal"]);
            call(&core, "sb_update_message", [&last[index], &text]);
            call(&core, "sb_update_conversation_status", [conversation, "1"]);
        }
        send(&core, "5", "5", "of a visitor");
        call(&core, "sb_update_user_value", ["3", "city", "Roma"]);
    }
    let own = ["message", "typing", "message.updated", "conversation.status"];
    for (follower, conversation) in [(&mut carla, "1"), (&mut emil, "6")] {
        let events = follower.exactly(20 * own.len());
        for event in &events {
            assert_eq!(event.text("conversation_id"), conversation, "{event:?}");
            assert!(own.contains(&event.name.as_str()), "{event:?}");
        }
    }
    for follower in [&mut ben, &mut all] {
        let events = follower.exactly(20 * (2 * (own.len() + 1) + 2));
        assert_eq!(events.iter().filter(|event| event.name == "note.created").count(), 40);
    }
    stage.database.drop();
}

fn presence(server: &Server) {
    let stage = Stage::with(
        server,
        "presence",
        &["UPDATE sb_users SET last_activity = '2026-03-01 00:00:00' WHERE last_activity IS NOT NULL"],
    );
    let mut emil = stage.follow("emil");
    let mut all = stage.follow("server");
    // An agent who follows is there, and so is a user: of the one everyone hears, of the other the agents.
    let ben = stage.follow("ben");
    let come = emil.next_of("presence");
    assert_eq!(
        (come.name.as_str(), json::encode(&come.data).as_str()),
        ("presence", r#"{"user_id":"2","user_type":"agent","online":true}"#)
    );
    let mut ids = [(); 2].map(|()| all.next_of("presence").text("user_id").to_owned());
    ids.sort();
    assert_eq!(ids, ["2", "7"]);
    let mut later = Following::open(&stage.serving.address, "emil", None);
    assert_eq!(
        later.greeted().data.get(&"agents_online".into()),
        Some(&Value::Bool(true))
    );
    let library = stage.core();
    assert_eq!(answer(&library, "sb_agents_online", []), Value::Bool(true));
    drop(ben);
    stage.database.drop();
}

fn authorization(key: &str) -> Vec<(String, String)> {
    vec![("Authorization".to_owned(), format!("Bearer sb_live_{key}"))]
}

fn server_sent(server: &Server) {
    let stage = Stage::new(server, "server-sent");
    let writer = stage.core();
    let open = |target: &str, headers: &[(String, String)]| Listening::open(&stage.serving.address, target, headers);
    let mut listening = open("/v1/events", &authorization("carla")).ok().unwrap();
    let header = |name: &str| {
        let mut headers = listening.headers.iter();
        headers.find(|(own, _)| own == name).map(|(_, value)| value.clone())
    };
    assert_eq!(header("content-type").as_deref(), Some("text/event-stream"));
    assert_eq!(header("cache-control").as_deref(), Some("no-store"));
    assert_eq!(header("x-ratelimit-limit").as_deref(), Some("100"));
    let hello = listening.next().unwrap();
    assert_eq!((hello[0].as_str(), hello[2].as_str()), ("retry: 1000", "event: hello"));
    assert!(
        hello[3].starts_with(r#"data: {"heartbeat":25,"last_event_id":""#),
        "{hello:?}"
    );
    send(&writer, "7", "6", "not for Carla");
    let ids = ["first", "second\nline", "third"].map(|text| {
        send(&writer, "3", "1", text);
        let event = listening.next().unwrap();
        assert_eq!(event.len(), 3, "{event:?}");
        assert_eq!(event[1], "event: message");
        let data = json::decode(event[2].strip_prefix("data: ").unwrap().as_bytes()).unwrap();
        assert_eq!(data.get(&"message".into()), Some(&Value::from(text)));
        event[0].strip_prefix("id: ").unwrap().to_owned()
    });
    drop(listening);
    // A browser comes back with a header, others may say it in the address.
    let mut headers = authorization("carla");
    let mut by_query = open(&format!("/v1/events?last_event_id={}", ids[0]), &headers)
        .ok()
        .unwrap();
    headers.push(("Last-Event-ID".to_owned(), ids[1].clone()));
    let mut by_header = open("/v1/events", &headers).ok().unwrap();
    for (listening, missed) in [(&mut by_query, &ids[1..]), (&mut by_header, &ids[2..])] {
        listening.next().unwrap();
        for id in missed {
            assert_eq!(listening.next().unwrap()[0], format!("id: {id}"));
        }
    }
    stage.database.drop();
}

fn coming_back(server: &Server) {
    let stage = Stage::new(server, "coming back");
    let core = stage.core();
    let mut carla = stage.follow("carla");
    send(&core, "3", "1", "0");
    let mut last = carla.next();
    drop(carla);
    for round in 0..5 {
        for step in 0..50 {
            send(&core, "3", "1", &format!("{round}.{step}"));
            send(&core, "7", "6", "of someone else");
        }
        let mut again = Following::open(&stage.serving.address, "carla", last.id.as_deref());
        assert_eq!(again.greeted().text("last_event_id"), last.id.as_deref().unwrap());
        let missed = again.exactly(50);
        let expected: Vec<String> = (0..50).map(|step| format!("{round}.{step}")).collect();
        assert_eq!(texts(&missed), expected);
        last = missed.last().unwrap().clone();
    }
    // Whoever has seen nothing yet comes back to what it was greeted with.
    let greeting = Following::open(&stage.serving.address, "emil", None).greeted();
    send(&core, "7", "6", "missed");
    let mut emil = Following::open(&stage.serving.address, "emil", Some(greeting.text("last_event_id")));
    emil.greeted();
    assert_eq!(texts(&emil.exactly(1)), ["missed"]);
    stage.database.drop();
}

fn resync(server: &Server) {
    let mut stage = Stage::new(server, "resync");
    let core = stage.core();
    let mut carla = stage.follow("carla");
    send(&core, "3", "1", "seen");
    let seen = carla.next();
    for unknown in [
        "0123456789ab-1",
        "no-id",
        "1",
        "-",
        &format!("{}0", seen.id.clone().unwrap()),
    ] {
        let mut lost = Following::open(&stage.serving.address, "carla", Some(unknown));
        let hello = lost.greeted();
        let resync = lost.next();
        assert_eq!(
            (resync.name.as_str(), &resync.id),
            ("resync", &Some(hello.text("last_event_id").to_owned()))
        );
        send(&core, "3", "1", unknown);
        assert_eq!(texts(&[lost.next()]), [unknown]);
    }
    // Another process knows nothing of what the one before it told.
    let address = stage.serving.address.clone();
    stage.serving.stop();
    assert_eq!(stage.serving.ended().code(), Some(0));
    stage.serving = Serving::start_on(&stage.installation, &address, &[]);
    let mut again = Following::open(&address, "carla", seen.id.as_deref());
    again.greeted();
    assert_eq!(again.next().name, "resync");
    stage.database.drop();
}

fn refused(server: &Server) {
    let stage = Stage::new(server, "refused");
    let address = &stage.serving.address;
    let status = |target: &str, key: Option<&str>| {
        let headers = key.map(authorization).unwrap_or_default();
        Listening::open(address, target, &headers).map_or_else(|answer| answer.status, |_| 200)
    };
    assert_eq!(status("/v1/events", None), 401);
    assert_eq!(
        status("/v1/events?api_key=sb_live_server&key=sb_live_server", None),
        401
    );
    for (key, expected) in [
        ("nobody", 401),
        ("ended", 401),
        ("revoked", 401),
        ("reader", 403),
        ("admin", 200),
    ] {
        assert_eq!(status("/v1/events", Some(key)), expected, "{key}");
        let headers = [("authorization", format!("Bearer sb_live_{key}"))];
        let upgraded = Following::upgrade(address, &headers).map_or_else(|status| status, |_| 200);
        assert_eq!(upgraded, expected, "{key}");
        let mut following = Following::open(address, key, None);
        match expected {
            200 => drop(following.greeted()),
            status => {
                let reason = following.closed().unwrap();
                let code = if status == 401 { "unauthorized" } else { "forbidden" };
                assert_eq!((reason.code, reason.reason.as_str()), (CloseCode::Policy, code));
            }
        }
    }
    // Opening the feed is a use of the key.
    let mut stage = stage;
    stage.run("UPDATE sb_settings SET value = JSON_SET(value, '$.\"api-rate-limit\"', JSON_ARRAY('3', 'number')) WHERE name = 'settings'");
    let address = &stage.serving.address;
    let statuses = [(); 5].map(|()| {
        Listening::open(address, "/v1/events", &authorization("later")).map_or_else(|answer| answer.status, |_| 200)
    });
    assert!(
        statuses.starts_with(&[200]) && statuses.ends_with(&[429, 429]),
        "{statuses:?}"
    );
    stage.database.drop();
}

fn revoked(server: &Server) {
    let mut stage = Stage::new(server, "revoked");
    let headers = [("authorization", "Bearer sb_live_later".to_owned())];
    let mut later = Following::upgrade(&stage.serving.address, &headers).ok().unwrap();
    later.greeted();
    let [mut carla, mut emil, mut all] = ["carla", "emil", "server"].map(|key| stage.follow(key));
    let mut listening = Listening::open(&stage.serving.address, "/v1/events", &authorization("carla"))
        .ok()
        .unwrap();
    listening.next().unwrap();
    let started = Instant::now();
    stage.run("UPDATE sb_api_keys SET revoked = UTC_TIMESTAMP() WHERE name = 'carla'");
    stage.run("UPDATE sb_api_keys SET expires = UTC_TIMESTAMP() WHERE name = 'later'");
    stage.run("DELETE FROM sb_users WHERE id = 7");
    for follower in [&mut carla, &mut later, &mut emil] {
        assert_eq!(follower.closed().unwrap().code, CloseCode::Policy);
    }
    while listening.next().is_some() {}
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    send(&stage.core(), "3", "1", "still there");
    assert_eq!(all.next_of("message").text("message"), "still there");
    stage.database.drop();
}

fn without_tables(server: &Server) {
    let given = support::case::Given {
        sql: vec![
            "UPDATE sb_settings SET value = JSON_SET(value, '$.\"api-admin-token\"', JSON_ARRAY(true, 'checkbox')) WHERE name = 'settings'".to_owned(),
        ],
        ..support::case::Given::default()
    };
    let mut database = Database::create(server, "feed without tables", &given).unwrap();
    let installation = Installation::of(server, &database);
    let serving = Serving::start(&installation);
    let token = [(
        "authorization",
        "Bearer 01abcdef01abcdef01abcdef01abcdef01abcdef".to_owned(),
    )];
    let mut following = Following::upgrade(&serving.address, &token).ok().unwrap();
    following.greeted();
    let core = Core::open(copy(&installation));
    send(&core, "3", "1", "untouched");
    assert_eq!(texts(&following.exactly(1)), ["untouched"]);
    database
        .rows("UPDATE sb_users SET user_type = 'agent' WHERE id = 1")
        .unwrap();
    assert_eq!(following.closed().unwrap().code, CloseCode::Policy);
    database.drop();
}

fn late_commits(server: &Server) {
    let mut stage = Stage::new(server, "late commits");
    let mut all = stage.follow("server");
    let core = stage.core();
    let insert =
        "INSERT INTO sb_messages (user_id, message, creation_time, status_code, attachments, payload, conversation_id)
        VALUES (5, 'late', UTC_TIMESTAMP(), 0, '', '', 5)";
    for pause in [0, 300, 2_000] {
        // It has its id before those that follow, and is there after them.
        stage.run("BEGIN");
        stage.run(insert);
        let expected: Vec<String> = (0..20).map(|step| format!("{pause}.{step}")).collect();
        for text in &expected {
            send(&core, "3", "1", text);
        }
        assert_eq!(texts(&all.exactly(20)), expected);
        thread::sleep(Duration::from_millis(pause));
        stage.run("COMMIT");
        assert_eq!(texts(&all.exactly(1)), ["late"]);
        // One that never comes keeps nobody from the rest.
        stage.run("BEGIN");
        stage.run(insert);
        stage.run("ROLLBACK");
    }
    stage.database.drop();
}

/// Writes messages into all conversations, as fast as it can: what a writer process does.
fn write(writer: &str) {
    let (name, count) = writer.split_once(' ').unwrap();
    let constants: BTreeMap<String, String> = std::env::vars().filter(|(name, _)| name.starts_with("SB_")).collect();
    let core = Core::open(Installation {
        constants,
        login: None,
        force_admin: true,
    });
    for step in 0..count.parse().unwrap() {
        let (conversation, user) = CONVERSATIONS[step % CONVERSATIONS.len()];
        send(&core, user, conversation, &format!("{name} {step}"));
    }
}

fn writers(installation: &Installation, count: usize, each: usize) -> Vec<Child> {
    let program = std::env::current_exe().unwrap();
    let start = |name: usize| {
        let mut command = Command::new(&program);
        command
            .env_clear()
            .envs(&installation.constants)
            .env(WRITER, format!("{name} {each}"));
        command.spawn().unwrap()
    };
    (0..count).map(start).collect()
}

fn thousand(server: &Server) {
    let mut stage = Stage::new(server, "thousand");
    let second = Serving::start(&stage.installation);
    // One who follows the first server and one the second; one whose way is cut for five seconds while they write; and
    // one who has a part in it only.
    let way = Way::to(stage.serving.address.rsplit_once(':').unwrap().1);
    let by_way = format!("127.0.0.1:{}", way.port);
    let mut first = stage.follow("server");
    let mut other = Following::open(&second.address, "admin", None);
    other.greeted();
    let mut carla = stage.follow("carla");
    let mut cut = Following::open(&by_way, "ben", None);
    cut.greeted();

    let mut processes = writers(&stage.installation, 4, 125);
    let mut seen_by_cut: Vec<Event> = (0..50).map(|_| cut.next_of("message")).collect();
    way.cut();
    let cut_at = Instant::now();
    // Those who were cut off read what had arrived.
    while let Some(event) = cut.next_or_end() {
        seen_by_cut.extend((event.name == "message").then_some(event));
    }
    for process in &mut processes {
        assert!(process.wait().unwrap().success());
    }
    let mut processes = writers(&stage.installation, 4, 125);
    thread::sleep(Duration::from_secs(5).saturating_sub(cut_at.elapsed()));
    way.mend();
    let last = seen_by_cut.last().unwrap().id.clone();
    let mut cut = Following::open(&by_way, "ben", last.as_deref());
    cut.greeted();
    for process in &mut processes {
        assert!(process.wait().unwrap().success());
    }

    let messages = |following: &mut Following, count: usize| -> Vec<Event> {
        let mut events: Vec<Event> = (0..count).map(|_| following.next()).collect();
        events.extend(following.within(Duration::from_millis(500)));
        events
    };
    let stored = |database: &mut Database, condition: &str| -> Vec<(String, String)> {
        let sql = format!(
            "SELECT id, conversation_id FROM sb_messages WHERE id > 11 AND {condition} ORDER BY conversation_id, id"
        );
        let Value::List(rows) = database.rows(&sql).unwrap() else {
            panic!()
        };
        let cell = |row: &Value, name: &'static str| row.get(&name.into()).unwrap().as_str().unwrap().to_owned();
        rows.iter()
            .map(|row| (cell(row, "id"), cell(row, "conversation_id")))
            .collect()
    };
    let everything = stored(&mut stage.database, "TRUE");
    assert_eq!(everything.len(), 1_000);
    let of_carla = stored(&mut stage.database, "conversation_id IN (1, 2)");
    let rest = 1_000 - seen_by_cut.len();
    seen_by_cut.extend(messages(&mut cut, rest));
    for (events, expected) in [
        (messages(&mut first, 1_000), &everything),
        (messages(&mut other, 1_000), &everything),
        (seen_by_cut, &everything),
        (messages(&mut carla, of_carla.len()), &of_carla),
    ] {
        let mut told: Vec<(String, String)> = events
            .iter()
            .map(|event| (event.text("id").to_owned(), event.text("conversation_id").to_owned()))
            .collect();
        // In the order of each conversation, whatever comes between: a stable sort by the conversation shows it.
        told.sort_by_key(|(_, conversation)| conversation.parse::<u32>().unwrap());
        assert_eq!(&told, expected);
        let ids: HashSet<_> = events.iter().map(|event| event.id.clone().unwrap()).collect();
        assert_eq!(ids.len(), events.len());
    }
    drop(second);
    stage.database.drop();
}

fn woken(server: &Server) {
    let stage = Stage::new(server, "woken");
    let mut following = stage.follow("server");
    let (sender, arrived) = channel();
    let reader = thread::spawn(move || {
        for _ in 0..200 {
            following.next_of("message");
            sender.send(Instant::now()).unwrap();
        }
    });
    let core = stage.core();
    let mut durations: Vec<Duration> = (0..200)
        .map(|step| {
            send(&core, "3", "1", &step.to_string());
            let committed = Instant::now();
            let arrived = arrived.recv_timeout(Duration::from_secs(10)).unwrap();
            // Not in step with the server's own looking around.
            thread::sleep(Duration::from_millis(3 + step % 7));
            arrived.saturating_duration_since(committed)
        })
        .collect();
    reader.join().unwrap();
    durations.sort();
    // Looks are 200 ms apart: half of that would be the median without being woken.
    assert!(durations[100] <= Duration::from_millis(60), "{:?}", durations[100]);
    stage.database.drop();
}

fn database_gone(server: &Server) {
    let mut stage = Stage::new(server, "database gone");
    let direct = stage.core();
    let way = Way::to(&server.port);
    stage
        .installation
        .constants
        .insert("SB_DB_PORT".into(), way.port.to_string());
    stage.serving = Serving::start(&stage.installation);
    let [mut all, mut carla] = ["server", "carla"].map(|key| stage.follow(key));
    for round in 0..3 {
        way.cut();
        let expected: Vec<String> = (0..20).map(|step| format!("{round}.{step}")).collect();
        for text in &expected {
            send(&direct, "3", "1", text);
        }
        assert_eq!(all.within(Duration::from_millis(700)), None);
        way.mend();
        let mended = Instant::now();
        for follower in [&mut all, &mut carla] {
            let missed: Vec<Event> = (0..20).map(|_| follower.next_of("message")).collect();
            assert_eq!(texts(&missed), expected);
        }
        assert!(mended.elapsed() < Duration::from_secs(1), "{:?}", mended.elapsed());
    }
    let knocking = || {
        way.cut();
        let mut following = Following::open(&stage.serving.address, "emil", None);
        let reason = following.closed().unwrap();
        assert_eq!(reason.code, CloseCode::Again);
        let answer = Listening::open(&stage.serving.address, "/v1/events", &authorization("emil"))
            .err()
            .unwrap();
        assert_eq!(answer.status, 503);
        way.mend();
    };
    knocking();
    stage.database.drop();
}

fn failover(server: &Server) {
    let mut stage = Stage::new(server, "failover");
    let core = stage.core();
    let [mut all, mut carla] = ["server", "carla"].map(|key| stage.follow(key));
    for step in 0..10 {
        send(&core, "3", "1", &step.to_string());
    }
    let last = all.exactly(10).pop().unwrap();
    carla.exactly(10);
    // The new primary had not got them, and gives their ids out again.
    stage.run("DELETE FROM sb_messages WHERE id > 15");
    stage.run("ALTER TABLE sb_messages AUTO_INCREMENT = 16");
    for follower in [&mut all, &mut carla] {
        assert_eq!(follower.next().name, "resync");
    }
    let id = send(&core, "3", "1", "with an id of before");
    assert_eq!(id, "16");
    for follower in [&mut all, &mut carla] {
        assert_eq!(texts(&follower.exactly(1)), ["with an id of before"]);
    }
    let mut again = Following::open(&stage.serving.address, "server", last.id.as_deref());
    again.greeted();
    assert_eq!(again.next().name, "resync");
    stage.database.drop();
}

fn nonsense(server: &Server) {
    let stage = Stage::new(server, "nonsense");
    let mut all = stage.follow("server");
    let core = stage.core();
    let huge = "x".repeat(1 << 20);
    for frame in [
        "",
        "no json",
        "[]",
        "{}",
        r#"{"type":"auth"}"#,
        r#"{"api_key":"sb_live_server"}"#,
        r#"{"type":"auth","api_key":"sb_live_\r\nserver"}"#,
        r#"{"type":"auth","api_key":7}"#,
        huge.as_str(),
    ] {
        let mut following = Following::knock(&stage.serving.address);
        following.say_anything(frame);
        if let Some(reason) = following.closed() {
            assert!(
                matches!(reason.code, CloseCode::Policy | CloseCode::Size),
                "{frame:.50} {reason:?}"
            );
        }
        send(&core, "3", "1", "for whoever talks sense");
        all.next();
    }
    // What a follower says later is nobody's concern.
    for frame in ["anything", r#"{"type":"auth","api_key":"sb_live_nobody"}"#] {
        all.say(frame);
        send(&core, "3", "1", frame);
        assert_eq!(texts(&[all.next()]), [frame]);
    }
    stage.database.drop();
}

fn slow_key(server: &Server) {
    let stage = Stage::new(server, "slow key");
    let mut following = Following::knock(&stage.serving.address);
    let started = Instant::now();
    assert_eq!(following.closed().unwrap().code, CloseCode::Again);
    assert!(started.elapsed() > Duration::from_secs(5), "{:?}", started.elapsed());
    stage.database.drop();
}

/// `benches/feed` measures it for a release.
fn memory(server: &Server) {
    const FOLLOWERS: usize = 300;
    // What the process needs without them is well below 20 MB.
    const OF_ONE: usize = (60_000_000 - 20_000_000) / 2_000;
    let stage = Stage::with(
        server,
        "memory",
        &[
            r#"UPDATE sb_settings SET value = JSON_SET(value, '$."api-rate-limit"', JSON_ARRAY('9999', 'number')) WHERE name = 'settings'"#,
        ],
    );
    let taken = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", stage.serving.process.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
    };
    let listen = || {
        let mut listening = Listening::open(&stage.serving.address, "/v1/events", &authorization("server"))
            .ok()
            .unwrap();
        listening.next().unwrap();
        listening
    };
    // The first ones fill what stays.
    let _first: Vec<_> = (0..20).map(|_| (listen(), stage.follow("server"))).collect();
    let before = taken();
    let _listening: Vec<_> = (0..FOLLOWERS).map(|_| listen()).collect();
    let with_listening = taken();
    let _following: Vec<_> = (0..FOLLOWERS).map(|_| stage.follow("server")).collect();
    let with_all = taken();
    for (way, cost) in [
        ("server-sent events", with_listening - before),
        ("WebSocket", with_all - with_listening),
    ] {
        let each = cost / FOLLOWERS;
        assert!(each < OF_ONE, "{each} bytes for each by {way}");
    }
    stage.database.drop();
}

fn end(server: &Server) {
    let mut stage = Stage::new(server, "end");
    let mut followers: Vec<Following> = (0..10).map(|_| stage.follow("server")).collect();
    let mut listening = Listening::open(&stage.serving.address, "/v1/events", &authorization("carla"))
        .ok()
        .unwrap();
    listening.next().unwrap();
    let waiting = Following::knock(&stage.serving.address);
    let started = Instant::now();
    stage.serving.stop();
    for follower in &mut followers {
        assert_eq!(follower.closed().unwrap().code, CloseCode::Away);
    }
    while listening.next().is_some() {}
    drop(waiting);
    assert_eq!(stage.serving.ended().code(), Some(0));
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    assert_eq!(stage.serving.log(), "");
    stage.database.drop();
}

/// What the client asks for is done to the server and to the way to it.
fn client(server: &Server) {
    let mut stage = Stage::new(server, "client");
    let core = stage.core();
    let address = stage.serving.address.clone();
    let way = Way::to(address.rsplit_once(':').unwrap().1);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/js/client.mjs");
    let mut node = Command::new("node")
        .arg(script)
        .env("SB_ENDPOINT", format!("http://127.0.0.1:{}", way.port))
        .env("SB_KEY", "sb_live_carla")
        .env("SB_READER", "sb_live_reader")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut answers = node.stdin.take().unwrap();
    for line in BufReader::new(node.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok)
    {
        match line.as_str() {
            "cut" => way.cut(),
            "mend" => way.mend(),
            "stop" => {
                stage.serving.stop();
                assert_eq!(stage.serving.ended().code(), Some(0));
            }
            "start" => stage.serving = Serving::start_on(&stage.installation, &address, &[]),
            line => {
                let text = line.strip_prefix("write ").unwrap_or_else(|| panic!("{line}"));
                send(&core, "3", "1", text);
            }
        }
        answers.write_all(b"done\n").unwrap();
    }
    assert!(node.wait().unwrap().success());
    stage.database.drop();
}
