//! The HTTP API through the core, without a socket: the suite of `tests/api`, and what needs more than one caller.
//!
//! `tests/support/mariadb cargo test --test api [FILTER]`
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use std::collections::BTreeMap;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use sb::contract::{Value, json};
use sb::doors::api;
use sb::platform::context::Request;
use sb::platform::engine::Engine;
use sb::platform::host::{Cookie, Host};
use support::api::{Answer, Carrier, cases, examine, prepared_plain};
use support::bench::Installation;
use support::database::{Database, Server};

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
            examine(&server, &name, &case, |installation| Box::new(Core::open(installation))).map_err(Failed::from)
        }));
    }
    #[allow(clippy::type_complexity)]
    let further: [(&str, fn(&Server)); 6] = [
        (
            "parallel: of identical requests with one key one is carried out",
            identical_requests,
        ),
        (
            "parallel: the limit of a key holds for all processes together",
            one_limit,
        ),
        ("faults: without a database the answer is 503 at once", no_database),
        (
            "faults: what fails is told to the log and to nobody else",
            nothing_is_told,
        ),
        ("keys: one that is revoked ends within three seconds", revoked),
        (
            "keys: what holds in one installation is nothing in the next",
            installations,
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

/// The core in a process of its own.
struct Core {
    engine: Engine,
    constants: BTreeMap<String, String>,
    log: Vec<String>,
}

/// A request as a web server would tell of it.
struct Asked<'a> {
    constants: &'a BTreeMap<String, String>,
    facts: BTreeMap<String, String>,
}

impl Core {
    fn open(installation: Installation) -> Self {
        Self {
            engine: Engine::default(),
            constants: installation.constants,
            log: Vec::new(),
        }
    }

    fn post(&mut self, key: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut all = vec![
            ("Authorization".to_owned(), format!("Bearer sb_live_{key}")),
            ("Content-Type".to_owned(), "application/json".to_owned()),
        ];
        all.extend(
            headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        self.ask("POST", target, &all, body.as_bytes()).unwrap()
    }
}

impl Carrier for Core {
    fn ask(&mut self, method: &str, target: &str, headers: &[(String, String)], body: &[u8]) -> Result<Answer, String> {
        let mut facts = BTreeMap::from([
            ("REQUEST_METHOD".to_owned(), method.to_owned()),
            ("REQUEST_URI".to_owned(), target.to_owned()),
            ("REMOTE_ADDR".to_owned(), "127.0.0.1".to_owned()),
        ]);
        for (name, value) in headers {
            let name = name.to_ascii_uppercase().replace('-', "_");
            let name = if name == "CONTENT_TYPE" {
                name
            } else {
                format!("HTTP_{name}")
            };
            facts.insert(name, value.clone());
        }
        let host = Asked {
            constants: &self.constants,
            facts,
        };
        let request = Request::default();
        let answer = self
            .engine
            .run(async |process| Ok(api::answer(process, &host, &request, body).await))
            .map_err(|error| error.to_string())?;
        self.engine.end_request();
        self.log.extend(answer.failure);
        Ok(Answer {
            status: answer.status,
            headers: answer
                .headers
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            body: answer.body,
        })
    }
}

impl Host for Asked<'_> {
    fn configured(&self, name: &str) -> Option<String> {
        self.constants.get(name).cloned()
    }

    /// That somebody is logged in to the embedding program is no right here.
    fn global(&self, name: &str) -> Option<Value> {
        (name == "SB_FORCE_ADMIN").then_some(Value::Bool(true))
    }

    fn set_global(&self, name: &'static str, _: Value) {
        panic!("the API sets {name}");
    }

    fn request(&self, name: &str) -> Option<String> {
        self.facts.get(name).cloned()
    }

    fn cookie(&self, _: &str) -> Option<String> {
        panic!("the API reads cookies");
    }

    fn set_cookie(&self, _: Cookie) {
        panic!("the API sets cookies");
    }

    fn print(&self, _: String) {
        panic!("the API prints");
    }
}

/// A database with the library's own tables, and how to reach it.
fn scene(server: &Server, test: &str, sql: &[&str]) -> (Database, impl Fn() -> Core + use<>) {
    let database = prepared_plain(server, test, sql);
    let constants = Installation::of(server, &database).constants;
    let open = move || {
        Core::open(Installation {
            constants: constants.clone(),
            login: None,
            force_admin: false,
        })
    };
    (database, open)
}

const MESSAGE: &str = r#"{"conversation_id":"1","user_id":"3","message":"once"}"#;

/// Runs `work` in so many threads at once.
fn at_once<T: Send>(workers: usize, open: impl Fn() -> Core + Sync, work: impl Fn(&mut Core) -> T + Sync) -> Vec<T> {
    let start = Barrier::new(workers);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..workers)
            .map(|_| {
                scope.spawn(|| {
                    let mut core = open();
                    let _ = core.ask("GET", "/readyz", &[], b"").unwrap();
                    start.wait();
                    work(&mut core)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn identical_requests(server: &Server) {
    let (mut database, open) = scene(server, "identical", &[]);
    for (round, target, body, status, table) in [
        (1, "/v1/messages", MESSAGE, 200, "sb_messages"),
        (2, "/v1/messages", MESSAGE, 200, "sb_messages"),
        (
            3,
            "/v1/conversations",
            r#"{"user_id":"3","title":"once"}"#,
            201,
            "sb_conversations",
        ),
    ] {
        let count = format!("SELECT COUNT(*) AS count FROM {table}");
        let before = number(&mut database, &count);
        let name = format!("round {round}");
        let answers = at_once(8, &open, |core| {
            let answer = core.post("server", target, &[("Idempotency-Key", &name)], body);
            let replayed = answer.headers.iter().any(|(name, _)| name == "Idempotent-Replayed");
            (answer.status, String::from_utf8(answer.body).unwrap(), replayed)
        });
        assert_eq!(number(&mut database, &count), before + 1);
        assert_eq!(
            answers.iter().filter(|(_, _, replayed)| !replayed).count(),
            1,
            "{answers:?}"
        );
        for (own, body, _) in &answers {
            assert_eq!((*own, body), (status, &answers[0].1));
        }
    }
    database.drop();
}

fn one_limit(server: &Server) {
    let setting = r#"UPDATE sb_settings SET value = JSON_SET(value, '$."api-rate-limit"', JSON_ARRAY('20', 'number')) WHERE name = 'settings'"#;
    let (database, open) = scene(server, "limit", &[setting]);
    // Within one minute: else a second one begins.
    while seconds() % 60 > 50 {
        thread::sleep(Duration::from_secs(1));
    }
    let statuses = at_once(4, &open, |core| {
        let mut statuses = Vec::new();
        for _ in 0..10 {
            let answer = core.post("server", "/v1/messages", &[], MESSAGE);
            if answer.status == 429 {
                let header = |name| answer.headers.iter().find(|(own, _)| own == name).unwrap().1.as_str();
                let wait: u64 = header("Retry-After").parse().unwrap();
                assert!((1..=60).contains(&wait), "{wait}");
                assert_eq!(header("X-RateLimit-Remaining"), "0");
                assert!(String::from_utf8_lossy(&answer.body).contains(r#""code":"rate-limit-exceeded""#));
            }
            statuses.push(answer.status);
        }
        statuses
    });
    let statuses = statuses.concat();
    let of = |status| statuses.iter().filter(|&&own| own == status).count();
    assert_eq!((of(200), of(429)), (20, 20), "{statuses:?}");
    database.drop();
}

fn no_database(server: &Server) {
    let (database, open) = scene(server, "no database", &[]);
    let mut core = open();
    core.constants.insert("SB_DB_PORT".into(), "1".into());
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("sb.log");
    core.constants.insert("SB_LOG".into(), log.to_str().unwrap().into());
    for (method, target) in [
        ("POST", "/v1/messages"),
        ("GET", "/readyz"),
        ("GET", "/v1/conversations"),
    ] {
        let started = Instant::now();
        let key = [("Authorization".to_owned(), "Bearer sb_live_server".to_owned())];
        let answer = core.ask(method, target, &key, b"").unwrap();
        let body = String::from_utf8(answer.body).unwrap();
        assert_eq!(answer.status, 503, "{body}");
        assert!(body.contains(r#""code":"unavailable""#), "{body}");
        assert!(
            answer.headers.contains(&("Retry-After".to_owned(), "1".to_owned())),
            "{:?}",
            answer.headers
        );
        assert!(
            started.elapsed() < Duration::from_millis(500),
            "{:?}",
            started.elapsed()
        );
    }
    assert_eq!(core.ask("GET", "/healthz", &[], b"").unwrap().status, 200);
    let metrics = core.ask("GET", "/metrics", &[], b"").unwrap();
    assert!(String::from_utf8(metrics.body).unwrap().contains("sb_database_up 0\n"));
    assert!(
        core.log.iter().all(|line| line.contains("cannot connect")),
        "{:?}",
        core.log
    );
    assert_eq!(core.log.len(), 3);
    let log = std::fs::read_to_string(log).unwrap();
    assert_eq!(log.lines().count(), 3, "{log}");
    assert!(log.contains(r#""operation":"POST /v1/messages, request "#), "{log}");
    core.constants.remove("SB_LOG");
    // It is back.
    core.constants.insert("SB_DB_PORT".into(), server.port.clone());
    assert_eq!(core.post("server", "/v1/messages", &[], MESSAGE).status, 200);
    database.drop();
}

fn nothing_is_told(server: &Server) {
    let (database, open) = scene(
        server,
        "nothing is told",
        &["ALTER TABLE sb_messages DROP COLUMN payload"],
    );
    let mut core = open();
    let answer = core.post("server", "/v1/messages", &[("X-Request-Id", "mine")], MESSAGE);
    let body = json::decode(&answer.body).unwrap();
    let expected = br#"{"type":"error.list","request_id":"mine","errors":[{"code":"internal-error","message":"the request failed; the log says why"}]}"#;
    assert_eq!((answer.status, body), (500, json::decode(expected).unwrap()));
    assert_eq!(core.log.len(), 1);
    assert!(
        core.log[0].starts_with("request mine: POST /v1/messages: "),
        "{:?}",
        core.log
    );
    assert!(core.log[0].contains("payload"), "{:?}", core.log);
    database.drop();
}

fn revoked(server: &Server) {
    let (mut database, open) = scene(server, "revoked", &[]);
    let mut core = open();
    let mut status = || core.post("later", "/v1/messages", &[], MESSAGE).status;
    assert_eq!(status(), 200);
    database
        .rows("UPDATE sb_api_keys SET revoked = UTC_TIMESTAMP() WHERE name = 'later'")
        .unwrap();
    let started = Instant::now();
    while status() == 200 {
        assert!(started.elapsed() < Duration::from_secs(3));
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(status(), 401);
    database.drop();
}

fn installations(server: &Server) {
    let (first, open) = scene(server, "installation", &[]);
    let (second, _) = scene(server, "another installation", &["DELETE FROM sb_api_keys"]);
    let mut core = open();
    let mut status = |database: &Database| {
        core.constants.insert("SB_DB_NAME".into(), database.name.clone());
        core.post("server", "/v1/messages", &[], MESSAGE).status
    };
    for _ in 0..2 {
        assert_eq!((status(&first), status(&second)), (200, 401));
    }
    first.drop();
    second.drop();
}

fn number(database: &mut Database, sql: &str) -> i64 {
    let rows = database.rows(sql).unwrap();
    let cell = rows
        .get(&0.into())
        .and_then(|row| row.get(&"count".into()))
        .unwrap()
        .clone();
    cell.as_str().unwrap().parse().unwrap()
}

fn seconds() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs()
}
