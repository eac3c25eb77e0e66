//! `sb serve`: the suite of the HTTP API on a socket, and how the server behaves towards clients, the database and its
//! own end.
//!
//! `tests/support/mariadb cargo test --features program --test serve [FILTER]`
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use std::io::{BufReader, Write};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use support::api::{Answer, Carrier, cases, examine, prepared_plain};
use support::bench::Installation;
use support::client::{Client, connect, read, request};
use support::cut::Way;
use support::database::{Database, Server};
use support::serving::Serving;

fn main() {
    let arguments = Arguments::from_args();
    let server = Arc::new(Server::of_environment().unwrap());
    let mut trials = Vec::new();
    for (name, case) in cases() {
        let server = Arc::clone(&server);
        // A value does not go from thread to thread: the case is found again where it runs.
        drop(case);
        trials.push(Trial::test(name.clone(), move || {
            let (_, case) = cases().into_iter().find(|(own, _)| *own == name).unwrap();
            let open = |installation| -> Box<dyn Carrier> { Box::new(Served::start(&installation)) };
            examine(&server, &format!("serve {name}"), &case, open).map_err(Failed::from)
        }));
    }
    #[allow(clippy::type_complexity)]
    let further: [(&str, fn(&Server)); 8] = [
        ("clients: one connection carries many requests", one_connection),
        ("clients: whoever leaves early breaks nothing off", whoever_leaves),
        (
            "clients: what is no HTTP, or too large, is answered and done with",
            strange_clients,
        ),
        (
            "clients: whoever is slow to say what it wants is let go, and holds nobody up",
            slow_clients,
        ),
        ("end: what has begun is finished, and no more is begun", graceful_end),
        (
            "database: gone means 503 at once, and back means well within a second",
            database_gone,
        ),
        (
            "start: what cannot be listened on, or is not configured, is told",
            no_start,
        ),
        (
            "description: it is valid, and the server does what it says",
            as_described,
        ),
    ];
    for (name, test) in further {
        let server = Arc::clone(&server);
        trials.push(Trial::test(name, move || {
            test(&server);
            Ok(())
        }));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// A server, and a client of it.
struct Served {
    client: Client,
    _serving: Serving,
}

impl Served {
    fn start(installation: &Installation) -> Self {
        let serving = Serving::start(installation);
        Self {
            client: Client {
                address: serving.address.clone(),
            },
            _serving: serving,
        }
    }
}

impl Carrier for Served {
    fn ask(&mut self, method: &str, target: &str, headers: &[(String, String)], body: &[u8]) -> Result<Answer, String> {
        self.client.ask(method, target, headers, body)
    }
}

fn scene(server: &Server, test: &str) -> (Database, Installation) {
    let database = prepared_plain(server, &format!("serve {test}"), &[]);
    let installation = Installation::of(server, &database);
    (database, installation)
}

const MESSAGE: &str = r#"{"conversation_id":"1","user_id":"3","message":"served"}"#;

/// The request that sends a message.
fn message(key: &str) -> Vec<u8> {
    request("POST", "/v1/messages", &headers(key), MESSAGE.as_bytes())
}

fn headers(key: &str) -> Vec<(String, String)> {
    vec![
        ("Authorization".to_owned(), format!("Bearer sb_live_{key}")),
        ("Content-Type".to_owned(), "application/json".to_owned()),
    ]
}

fn one_connection(server: &Server) {
    let (mut database, installation) = scene(server, "one connection");
    let serving = Serving::start(&installation);
    let stream = connect(&serving.address).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    for _ in 0..20 {
        stream.write_all(&message("server")).unwrap();
        assert_eq!(read(&mut reader, "POST").unwrap().status, 200);
    }
    // Pipelined: both are answered, in order.
    let both = [message("server"), request("GET", "/healthz", &[], b"")].concat();
    stream.write_all(&both).unwrap();
    assert_eq!(read(&mut reader, "POST").unwrap().status, 200);
    assert_eq!(read(&mut reader, "GET").unwrap().body, br#"{"status":"ok"}"#);
    assert_eq!(count(&mut database, "sb_messages"), 11 + 21);
    database.drop();
}

fn whoever_leaves(server: &Server) {
    let (mut database, installation) = scene(server, "whoever leaves");
    let serving = Serving::start(&installation);
    for _ in 0..20 {
        let mut stream = connect(&serving.address).unwrap();
        stream.write_all(&message("server")).unwrap();
        drop(stream);
    }
    let started = Instant::now();
    while count(&mut database, "sb_messages") < 11 + 20 {
        assert!(started.elapsed() < Duration::from_secs(10));
        thread::sleep(Duration::from_millis(10));
    }
    database.drop();
}

fn strange_clients(server: &Server) {
    let (database, installation) = scene(server, "strange clients");
    let serving = Serving::start(&installation);
    let status = |sent: &[u8]| {
        let mut stream = connect(&serving.address).unwrap();
        // It may hang up before all is sent.
        let _ = stream.write_all(sent);
        read(&mut BufReader::new(stream), "POST").map(|answer| answer.status)
    };
    assert_eq!(status(b"hello\r\n\r\n"), Some(400));
    assert_eq!(status(&vec![b'x'; 1 << 20]), Some(431));
    assert_eq!(
        status(format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(1 << 20)).as_bytes()),
        Some(431)
    );
    let long_head = |size: usize| format!("GET /healthz HTTP/1.1\r\nX-Long: {}\r\n\r\n", "x".repeat(size));
    assert_eq!(status(long_head(32 << 10).as_bytes()), Some(200));
    assert_eq!(status(long_head(80 << 10).as_bytes()), Some(431));
    let many = "X-Many: x\r\n".repeat(1_000);
    assert_eq!(
        status(format!("GET /healthz HTTP/1.1\r\n{many}\r\n").as_bytes()),
        Some(431)
    );
    // One length, and one only: what a proxy takes for a body is none of another request's head.
    for lengths in [
        "Content-Length: 2\r\nContent-Length: 60\r\n",
        "Content-Length: +2\r\n",
        "Content-Length: -1\r\n",
    ] {
        assert_eq!(
            status(format!("POST /v1/messages HTTP/1.1\r\n{lengths}\r\n{{}}").as_bytes()),
            Some(400),
            "{lengths}"
        );
    }
    let two_mib = vec![b' '; 2 << 20];
    assert_eq!(
        status(&request("POST", "/v1/messages", &headers("server"), &two_mib)),
        Some(413)
    );
    let chunked = b"POST /v1/messages HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer sb_live_server\r\nContent-Type: application/json\r\n\
        Transfer-Encoding: chunked\r\n\r\n";
    let body = format!("{:x}\r\n{MESSAGE}\r\n0\r\n\r\n", MESSAGE.len());
    assert_eq!(status(&[&chunked[..], body.as_bytes()].concat()), Some(200));
    assert_eq!(status(&message("server")), Some(200));
    database.drop();
}

fn slow_clients(server: &Server) {
    let (database, installation) = scene(server, "slow clients");
    let serving = Serving::start(&installation);
    let head =
        b"POST /v1/messages HTTP/1.1\r\nAuthorization: Bearer sb_live_server\r\nContent-Type: application/json\r\n";
    let begun: [&[u8]; 3] = [b"", b"GET /hea", &[&head[..], b"Content-Length: 60\r\n\r\n{"].concat()];
    let started = Instant::now();
    let mut slow: Vec<_> = (0..60)
        .map(|number| {
            let mut stream = connect(&serving.address).unwrap();
            stream.write_all(begun[number % begun.len()]).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(40))).unwrap();
            stream
        })
        .collect();
    // More of them than there are connections to the database, and still everyone else is answered.
    for _ in 0..20 {
        let mut stream = connect(&serving.address).unwrap();
        stream.write_all(&message("server")).unwrap();
        assert_eq!(read(&mut BufReader::new(stream), "POST").unwrap().status, 200);
    }
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    for (number, stream) in slow.drain(..).enumerate() {
        let answer = read(&mut BufReader::new(stream), "POST");
        let expected = [None, None, Some(408)][number % begun.len()];
        assert_eq!(answer.as_ref().map(|answer| answer.status), expected, "{number}");
        let tells_why = |answer: &Answer| String::from_utf8_lossy(&answer.body).contains(r#""code":"too-slow""#);
        assert!(answer.is_none_or(|answer| tells_why(&answer)), "{number}");
    }
    assert!(started.elapsed() < Duration::from_secs(35), "{:?}", started.elapsed());
    database.drop();
}

fn graceful_end(server: &Server) {
    let (mut database, installation) = scene(server, "graceful end");
    let mut serving = Serving::start(&installation);
    // Somebody holds the conversation, so that the message takes its time.
    database.rows("BEGIN").unwrap();
    database
        .rows("SELECT id FROM sb_conversations WHERE id = 1 FOR UPDATE")
        .unwrap();
    let mut waiting = connect(&serving.address).unwrap();
    waiting.write_all(&message("server")).unwrap();
    let idle = connect(&serving.address).unwrap();
    thread::sleep(Duration::from_millis(300));
    serving.stop();
    thread::sleep(Duration::from_millis(300));
    assert!(connect(&serving.address).is_err(), "new clients are still taken");
    assert!(
        serving.process.try_wait().unwrap().is_none(),
        "it ended before the request"
    );
    assert!(read(&mut BufReader::new(idle), "GET").is_none());
    database.rows("COMMIT").unwrap();
    assert_eq!(read(&mut BufReader::new(waiting), "POST").unwrap().status, 200);
    let ended = Instant::now();
    assert_eq!(serving.ended().code(), Some(0));
    assert!(ended.elapsed() < Duration::from_secs(1), "{:?}", ended.elapsed());
    assert_eq!(serving.log(), "");
    assert_eq!(count(&mut database, "sb_messages"), 12);
    database.drop();
}

fn database_gone(server: &Server) {
    let (mut database, mut installation) = scene(server, "database gone");
    let way = Way::to(&server.port);
    installation.constants.insert("SB_DB_PORT".into(), way.port.to_string());
    let serving = Serving::start(&installation);
    let ask = |target: &str| {
        let mut stream = connect(&serving.address).unwrap();
        let asked = if target == "/v1/messages" {
            message("server")
        } else {
            request("GET", target, &[], b"")
        };
        stream.write_all(&asked).unwrap();
        read(&mut BufReader::new(stream), "POST").unwrap()
    };
    let mut stored = 11;
    for _ in 0..3 {
        assert_eq!(ask("/v1/messages").status, 200);
        stored += 1;
        way.cut();
        for _ in 0..3 {
            let started = Instant::now();
            let answer = ask("/v1/messages");
            assert_eq!(answer.status, 503);
            assert!(answer.headers.contains(&("retry-after".to_owned(), "1".to_owned())));
            assert!(
                started.elapsed() < Duration::from_millis(500),
                "{:?}",
                started.elapsed()
            );
            assert_eq!(ask("/readyz").status, 503);
            assert_eq!(ask("/healthz").status, 200);
        }
        way.mend();
        let started = Instant::now();
        while ask("/readyz").status != 200 {
            assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
        }
    }
    assert_eq!(count(&mut database, "sb_messages"), stored);
    database.drop();
}

fn no_start(server: &Server) {
    let (database, installation) = scene(server, "no start");
    let serving = Serving::start(&installation);
    let program = std::env::current_exe()
        .unwrap()
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .join("sb");
    let start = |address: &str, constants: &[(&str, &str)]| {
        let output = Command::new(&program)
            .args(["serve", "--listen", address])
            .env_clear()
            .envs(constants.iter().copied())
            .output()
            .unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let constants: Vec<(&str, &str)> = installation
        .constants
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let (status, sentence) = start(&serving.address, &constants);
    assert_eq!(status, 1);
    assert!(
        sentence.contains("cannot be listened on: Address already in use"),
        "{sentence}"
    );
    let (status, sentence) = start("127.0.0.1:0", &[]);
    assert_eq!(status, 2);
    assert!(sentence.contains("SB_DB_NAME is not configured"), "{sentence}");
    database.drop();
}

/// Seconds for which the server is sent what its description allows and what it does not.
const TRIED_FOR: &str = "20";

fn as_described(server: &Server) {
    let setting = r#"UPDATE sb_settings SET value = JSON_SET(value, '$."api-rate-limit"', JSON_ARRAY('999999', 'number')) WHERE name = 'settings'"#;
    let database = prepared_plain(server, "serve as described", &[setting]);
    let mut serving = Serving::start(&Installation::of(server, &database));
    let seconds = std::env::var("SB_TEST_SECONDS").unwrap_or_else(|_| TRIED_FOR.to_owned());
    let tried = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/openapi"))
        .args([&format!("http://{}/chat", serving.address), "sb_live_admin", &seconds])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&tried.stdout).into_owned() + &String::from_utf8_lossy(&tried.stderr);
    serving.stop();
    assert_eq!(serving.ended().code(), Some(0));
    assert_eq!((serving.log(), tried.status.code()), (String::new(), Some(0)), "{told}");
    let counts = regex::Regex::new(r"Selected: (\d+)/\d+\s+Tested: (\d+)").unwrap();
    let [selected, tested] = counts.captures(&told).unwrap().extract().1;
    assert!(selected == tested && tested.parse::<u32>().unwrap() >= 7, "{told}");
    database.drop();
}

fn count(database: &mut Database, table: &str) -> i64 {
    let rows = database
        .rows(&format!("SELECT COUNT(*) AS count FROM {table}"))
        .unwrap();
    let cell = rows
        .get(&0.into())
        .and_then(|row| row.get(&"count".into()))
        .unwrap()
        .clone();
    cell.as_str().unwrap().parse().unwrap()
}
