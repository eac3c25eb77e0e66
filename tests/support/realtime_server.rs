//! A real server of the realtime protocol, and browsers that are connected to it.
//!
//! The server is sockudo, which `make realtime-server` builds once, or what stands in for it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use sb::contract::Value as Own;
use sb::doors::api;
use sb::platform::context::Request;
use sb::platform::engine::Engine;
use sb::platform::host::{Cookie, Host};
use serde_json::Value;

use super::stand_in::{Answer, Received, Reply, StandIn};
use super::support::bench::Installation;
use super::support::scene::Scene;

pub const ID: &str = "app-id";
pub const KEY: &str = "app-key";
pub const SECRET: &str = "app-secret";

/// Runs programs in Node.js.
const NODE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/node_sdk");

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running server.
pub struct RealtimeServer {
    program: Option<PathBuf>,
    process: Child,
    port: u16,
}

impl RealtimeServer {
    /// Starts a real one; `None`, with a word about it, where it is not built.
    pub fn real() -> Option<Self> {
        let target =
            std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/target").into());
        let program = PathBuf::from(target).join("tools/bin/sockudo");
        if program.exists() {
            return Some(Self::start(Some(program)));
        }
        #[allow(clippy::print_stderr, reason = "a test that tries less says so")]
        {
            eprintln!(
                "tried against a stand-in only: {} is not there; make realtime-server builds it",
                program.display()
            );
        }
        None
    }

    /// Starts one that stands in for it.
    pub fn stand_in() -> Self {
        // What it needs may have to be installed, which takes its time.
        assert!(Command::new(NODE).args(["-e", "0"]).status().unwrap().success());
        Self::start(None)
    }

    fn start(program: Option<PathBuf>) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let process = Self::spawn(program.as_ref(), port);
        Self { program, process, port }
    }

    fn spawn(program: Option<&PathBuf>, port: u16) -> Child {
        let port_text = port.to_string();
        let mut command = if let Some(program) = program {
            let mut command = Command::new(program);
            command.env_clear().envs([
                ("HOST", "127.0.0.1"),
                ("PORT", &port_text),
                ("METRICS_ENABLED", "false"),
                ("QUEUE_DRIVER", "memory"),
                ("SOCKUDO_DEFAULT_APP_ENABLED", "true"),
                ("SOCKUDO_DEFAULT_APP_ID", ID),
                ("SOCKUDO_DEFAULT_APP_KEY", KEY),
                ("SOCKUDO_DEFAULT_APP_SECRET", SECRET),
                ("SOCKUDO_DEFAULT_APP_MAX_EVENT_PAYLOAD_IN_KB", "10"),
            ]);
            command
        } else {
            let mut command = Command::new(NODE);
            command
                .arg(concat!(
                    env!("CARGO_MANIFEST_DIR"),
                    "/tests/support/realtime_server.cjs"
                ))
                .args([&port_text, ID, KEY, SECRET]);
            command
        };
        let process = command
            .current_dir(std::env::temp_dir())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(started.elapsed() < PATIENCE, "the realtime server does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        process
    }

    /// Ends it, and everyone's connection with it.
    pub fn stop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Starts it again where it was.
    pub fn start_again(&mut self) {
        self.process = Self::spawn(self.program.as_ref(), self.port);
    }

    #[allow(clippy::unused_self, reason = "where it is is its own affair")]
    pub fn host(&self) -> &'static str {
        "127.0.0.1"
    }

    pub fn port(&self) -> String {
        self.port.to_string()
    }
}

impl Drop for RealtimeServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// People in browsers, and what happens to them.
pub struct Browsers {
    process: Child,
    lines: Receiver<Value>,
    seen: Vec<Value>,
}

impl Browsers {
    /// Opens them. Each is `NAME=API-KEY=CHANNEL,CHANNEL…`.
    pub fn open(server: &RealtimeServer, endpoint: &str, people: &[&str]) -> Self {
        let mut process = Command::new(NODE)
            .arg(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/tests/support/realtime_client.cjs"
            ))
            .args([server.host(), &server.port(), KEY, endpoint])
            .args(people)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let line = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self {
            process,
            lines,
            seen: Vec::new(),
        }
    }

    /// Waits until something happened that has these fields.
    #[track_caller]
    pub fn wait_for(&mut self, fields: &Value) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = self.seen.iter().find(|own| has(own, fields)) {
                return found.clone();
            }
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => self.seen.push(line),
                Err(error) => panic!("{error}: {fields} did not happen, but {:#?}", self.seen),
            }
        }
    }

    /// Whether something like it has happened so far.
    pub fn seen(&self, fields: &Value) -> bool {
        self.seen.iter().any(|own| has(own, fields))
    }
}

impl Drop for Browsers {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn has(value: &Value, fields: &Value) -> bool {
    let mut fields = fields.as_object().unwrap().iter();
    fields.all(|(name, field)| value.get(name) == Some(field))
}

/// The HTTP API of an installation, on the loopback.
pub fn api(scene: &Scene) -> StandIn {
    let constants = Installation::of(&scene.server, &scene.database).constants;
    StandIn::start(move |received| {
        let asked = Asked {
            constants: &constants,
            received,
        };
        let (engine, request) = (Engine::default(), Request::default());
        let answer = engine.run(async |process| Ok(api::answer(process, &asked, &request, &received.bytes).await));
        let answer = answer.unwrap();
        engine.end_request();
        // The stand-in says itself how long it is.
        let headers = answer.headers.into_iter().filter(|(name, _)| *name != "Content-Length");
        Reply::Answer(Answer {
            status: answer.status,
            headers: headers.collect(),
            body: answer.body,
        })
    })
}

/// A request as a web server would tell of it.
struct Asked<'a> {
    constants: &'a BTreeMap<String, String>,
    received: &'a Received,
}

impl Host for Asked<'_> {
    fn configured(&self, name: &str) -> Option<String> {
        self.constants.get(name).cloned()
    }

    fn global(&self, _: &str) -> Option<Own> {
        None
    }

    fn set_global(&self, _: &'static str, _: Own) {}

    fn request(&self, name: &str) -> Option<String> {
        let header = |name: &str| {
            self.received
                .header(&name.to_ascii_lowercase().replace('_', "-"))
                .map(str::to_owned)
        };
        match name {
            "REQUEST_METHOD" => Some(self.received.method.clone()),
            "REQUEST_URI" => Some(self.received.path.clone()),
            "REMOTE_ADDR" => Some("127.0.0.1".to_owned()),
            "CONTENT_TYPE" => header(name),
            name => header(name.strip_prefix("HTTP_")?),
        }
    }

    fn cookie(&self, _: &str) -> Option<String> {
        None
    }

    fn set_cookie(&self, _: Cookie) {}

    fn print(&self, _: String) {}
}
