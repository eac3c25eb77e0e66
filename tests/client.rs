//! The JavaScript client in a real browser, by the feed of `sb serve` and by a server of the realtime protocol, a real one
//! where there is one (`make realtime-server`); alone, with a network that does what it is told; and its types.
//!
//! `tests/support/mariadb cargo test --features program --test client`

// Tests may panic, their helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[allow(dead_code)]
#[path = "support/realtime.rs"]
mod realtime;
#[allow(dead_code)]
#[path = "support/realtime_server.rs"]
mod realtime_server;
#[allow(dead_code)]
#[path = "support/stand_in.rs"]
mod stand_in;
mod support;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use realtime_server::RealtimeServer;
use sb::contract::Value;
use serde_json::json;
use support::api::prepared_plain;
use support::bench::Installation;
use support::core::Core;
use support::database::{Database, Server};
use support::scene::answer;
use support::serving::Serving;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// What the page in the browser has done to the world around it.
struct World {
    database: Database,
    installation: Installation,
    serving: Serving,
    push: Option<RealtimeServer>,
}

impl World {
    fn new(name: &str, push: Option<RealtimeServer>) -> Self {
        let mut settings = push.as_ref().map_or_else(
            || json!({}),
            |server| {
                let (id, key, secret) = (realtime_server::ID, realtime_server::KEY, realtime_server::SECRET);
                realtime::settings_of(id, key, secret, "http", server.host(), &server.port())
            },
        );
        settings["api-allowed-origins"] = json!(["*", "text"]);
        settings["api-rate-limit"] = json!(["9999", "number"]);
        let settings = settings.to_string().replace('\\', r"\\").replace('\'', "''");
        let settings = format!("UPDATE sb_settings SET value = '{settings}' WHERE name = 'settings'");
        let server = Server::of_environment().unwrap();
        let database = prepared_plain(&server, &format!("client {name}"), &[&settings]);
        let installation = Installation::of(&server, &database);
        let serving = Serving::start(&installation);
        Self {
            database,
            installation,
            serving,
            push,
        }
    }

    /// Someone who uses the library, as PHP does.
    fn core(&self) -> Core {
        Core::open(Installation {
            constants: self.installation.constants.clone(),
            login: None,
            force_admin: true,
        })
    }

    /// Runs the program that drives the browser, and does what it asks for.
    fn serve(mut self, way: &[&str]) {
        let core = self.core();
        let address = self.serving.address.clone();
        let mut browser = Command::new(format!("{ROOT}/tests/support/browser"))
            .args(["client.mjs", &format!("http://{address}")])
            .args(way)
            .env("SB_CLIENT", format!("{ROOT}/include/js"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut answers = browser.stdin.take().unwrap();
        let output = BufReader::new(browser.stdout.take().unwrap());
        for line in output.lines().map_while(Result::ok) {
            let mut done = "done".to_owned();
            match (line.as_str(), &mut self.push) {
                ("stop", Some(push)) => push.stop(),
                ("start", Some(push)) => push.start_again(),
                ("stop", None) => {
                    self.serving.stop();
                    assert_eq!(self.serving.ended().code(), Some(0));
                }
                ("start", None) => self.serving = Serving::start_on(&self.installation, &address, &[]),
                ("deliver", _) => self.deliver(),
                ("trigger", _) => {
                    let given = ["private-user-3", "greeting"].map(Value::from);
                    assert_eq!(answer(&core, "sb_realtime_trigger", given), Value::Bool(true));
                }
                ("see who is there", _) => {
                    let online = answer(&core, "sb_realtime_get_online_users", []);
                    let member = |id: &str| Value::map([("id", id.into())]);
                    assert_eq!(online, Value::List(vec![member("2"), member("3")]));
                    assert_eq!(answer(&core, "sb_realtime_agents_online", []), Value::Bool(true));
                }
                (line, _) if line.starts_with("took ") => is_fast(way[0], &line["took ".len()..]),
                (line, _) => {
                    let text = line.strip_prefix("write ").unwrap_or_else(|| panic!("{line}"));
                    let sent = answer(&core, "sb_send_message", ["3", "1", text].map(Value::from));
                    done = format!("done {}", milliseconds());
                    assert!(sent.get(&"message-id".into()).is_some(), "{sent:?}");
                    core.end();
                }
            }
            answers.write_all(format!("{done}\n").as_bytes()).unwrap();
        }
        assert!(browser.wait().unwrap().success());
        self.database.drop();
    }

    /// Has what waits in the outbox delivered now, and waits for it.
    fn deliver(&mut self) {
        let waiting = "SELECT id FROM sb_outbox WHERE state IN (0, 1)";
        let started = Instant::now();
        while self.database.rows(waiting).unwrap() != Value::List(Vec::new()) {
            assert!(started.elapsed() < Duration::from_secs(20), "it is not delivered");
            let due = "UPDATE sb_outbox SET next_try = '2026-01-01' WHERE state = 0";
            self.database.rows(due).unwrap();
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// The time of the wall clock, which the page reads too.
fn milliseconds() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    format!("{:.1}", now.as_secs_f64() * 1_000.0)
}

/// Whether events come when something happens, not at the next look at the database, a tenth of a second later.
fn is_fast(way: &str, median: &str) {
    #[allow(clippy::print_stderr, reason = "it is worth knowing")]
    {
        eprintln!("from the commit to the handler in the browser, by the {way}: median {median} ms");
    }
    assert!(median.parse::<f64>().unwrap() <= 60.0, "{median} ms");
}

#[test]
fn a_browser_follows_the_feed_and_comes_back() {
    World::new("feed", None).serve(&["feed"]);
}

#[test]
fn a_browser_follows_a_push_service_and_comes_back() {
    let push = RealtimeServer::real().unwrap_or_else(RealtimeServer::stand_in);
    let (host, port) = (push.host(), push.port());
    World::new("push service", Some(push)).serve(&["push", host, &port, realtime_server::KEY]);
}

#[test]
fn it_does_what_it_says_whatever_the_network_does() {
    let output = Command::new("node")
        .args(["--test", &format!("{ROOT}/tests/js/alone.mjs")])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("\n# pass 12\n"), "{told}");
}

/// A program in TypeScript, checked as strictly as it goes: what it may do and what it may not.
#[test]
fn the_types_are_those_of_the_client() {
    let output = Command::new(format!("{ROOT}/tests/support/browser"))
        .args(["--typescript", "--project", &format!("{ROOT}/tests/js/tsconfig.json")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
