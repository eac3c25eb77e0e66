//! The way to outside services: what is sent, what is sent again, what is waited for, and what an error may say.

// Tests may panic, their helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[allow(dead_code)]
#[path = "support/stand_in.rs"]
mod stand_in;

use std::net::TcpListener;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use openssl::asn1::Asn1Time;
use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::rsa::Rsa;
use openssl::ssl::{SslAcceptor, SslMethod};
use openssl::x509::extension::SubjectAlternativeName;
use openssl::x509::{X509, X509NameBuilder};
use sb::contract::error::{Error, Outcome, ProviderError, Result};
use sb::contract::json;
use sb::platform::engine::Engine;
use sb::platform::http::{Answer, Body, Http, Limits, Method, Request};
use secrecy::SecretString;
use stand_in::{Reply, StandIn, fields, nowhere, serve};

const TOKEN: &str = "xoxb-planted-token";

/// A program that is not asynchronous: between two requests nothing runs its runtime.
struct Program {
    engine: Engine,
    http: Http,
    proxy: Option<String>,
}

impl Program {
    fn new() -> Self {
        Self::with_limits(Limits::default())
    }

    fn with_limits(limits: Limits) -> Self {
        Self {
            engine: Engine::default(),
            http: Http::with_limits(limits),
            proxy: None,
        }
    }

    fn send(&self, base: &str, request: Request<'_>) -> Result<Answer> {
        let service = self.http.service("teamchat", base, self.proxy.clone())?;
        self.engine.run(async |_| service.send(request.bearer(&token())).await)
    }

    fn get(&self, base: &str) -> Result<Answer> {
        self.send(base, Request::new(Method::GET, &["users.list"]))
    }

    fn post(&self, base: &str) -> Result<Answer> {
        let fields = [("text", "hello")];
        self.send(
            base,
            Request::new(Method::POST, &["chat.postMessage"]).body(Body::Form(&fields)),
        )
    }
}

fn token() -> SecretString {
    SecretString::from(TOKEN)
}

/// The error, which must not hold a credential in any of its forms.
fn failure(result: Result<Answer>) -> ProviderError {
    let error = result.unwrap_err();
    let shown = format!("{error} {error:?} {}", error.code());
    for secret in ["planted", "users.list", "chat.postMessage"] {
        assert!(!shown.contains(secret), "{secret} is in {shown}");
    }
    match error {
        Error::Provider(error) => *error,
        error => panic!("not the provider's: {error:?}"),
    }
}

/// A server that gives these replies one after the other, and then 200 for ever.
fn in_turn(replies: impl IntoIterator<Item = Reply, IntoIter: Send + 'static>) -> StandIn {
    let mut replies = replies.into_iter();
    StandIn::start(move |_| replies.next().unwrap_or_else(|| Reply::json("{}")))
}

#[test]
fn a_request_arrives_as_it_was_meant() {
    let server = in_turn([]);
    let program = Program::new();
    for base in [
        server.url("/api"),
        server.url("/api/"),
        format!(" {} ", server.url("/api/")),
    ] {
        let request = Request::new(Method::GET, &["sessions", "a/b?c d:detect"]).query("cursor", "dXNlcg==&x=ü");
        assert_eq!(program.send(&base, request).unwrap().status, 200);
    }
    for request in server.received() {
        assert_eq!(request.method, "GET");
        assert_eq!(request.path, "/api/sessions/a%2Fb%3Fc%20d:detect");
        assert_eq!(request.query, [("cursor".into(), "dXNlcg==&x=ü".into())]);
        assert_eq!(request.header("authorization"), Some("Bearer xoxb-planted-token"));
        assert_eq!(
            request.header("user-agent"),
            Some(concat!("sb/", env!("CARGO_PKG_VERSION")))
        );
        assert_eq!(request.body, "");
        assert_eq!(request.connection, 0, "one connection serves them all");
    }
}

#[test]
fn a_body_is_json_or_a_form() {
    let server = in_turn([]);
    let program = Program::new();
    let value = json::decode(br#"{"text":"\u00e9 \ud83d\udc4b","blocks":[1]}"#).unwrap();
    let request = |body| Request::new(Method::POST, &["chat.postMessage"]).body(body);
    program.send(&server.url("/"), request(Body::Json(&value))).unwrap();
    let form = [("text", "a=b&c d+é"), ("users", "U1,U2")];
    program.send(&server.url("/"), request(Body::Form(&form))).unwrap();
    let [first, second] = &server.received()[..] else {
        panic!("two requests")
    };
    assert_eq!(first.header("content-type"), Some("application/json; charset=utf-8"));
    assert_eq!(json::decode(first.body.as_bytes()), Some(value));
    assert_eq!(second.header("content-type"), Some("application/x-www-form-urlencoded"));
    assert_eq!(
        fields(&second.body),
        form.map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
}

#[test]
fn an_answer_of_any_status_is_an_answer() {
    let server = in_turn([
        Reply::of(500, &[], "broken"),
        Reply::of(429, &[("retry-after", "30")], "slower"),
    ]);
    let program = Program::new();
    let answer = program.get(&server.url("/")).unwrap();
    assert_eq!((answer.status, &answer.body[..]), (500, &b"broken"[..]));
    let answer = program.get(&server.url("/")).unwrap();
    assert_eq!(
        (answer.status, answer.retry_after),
        (429, Some(Duration::from_secs(30)))
    );
    assert_eq!(server.received().len(), 2, "neither is sent again");
}

#[test]
fn what_was_not_done_is_sent_again_once() {
    let busy = |status, wait| Reply::of(status, &[("retry-after", wait)], "");
    for (method, replies, statuses) in [
        (Method::POST, vec![busy(429, "1")], (200, 2)),
        (Method::GET, vec![busy(429, "0")], (200, 2)),
        (Method::GET, vec![busy(503, "0")], (200, 2)),
        (Method::GET, vec![busy(429, "0"), busy(429, "0")], (429, 2)),
        // A message that a service has perhaps taken is not sent twice.
        (Method::POST, vec![busy(503, "0")], (503, 1)),
        (Method::POST, vec![Reply::of(429, &[], "")], (429, 1)),
        (Method::GET, vec![Reply::of(503, &[], "")], (503, 1)),
        (Method::GET, vec![busy(500, "0")], (500, 1)),
        (Method::GET, vec![busy(429, "6")], (429, 1)),
        (Method::GET, vec![busy(429, "Wed, 21 Oct 2099 07:28:00 GMT")], (429, 1)),
    ] {
        let server = in_turn(replies);
        let started = Instant::now();
        let request = Request::new(method, &["users.list"]);
        let answer = Program::new().send(&server.url("/"), request).unwrap();
        assert_eq!((answer.status, server.received().len()), statuses);
        if statuses == (200, 2) && server.received()[0].method == "POST" {
            assert!(
                started.elapsed() >= Duration::from_secs(1),
                "it waits as long as it is asked to"
            );
        }
    }
}

#[test]
fn a_refused_connection_is_an_error_that_says_so() {
    let failure = failure(Program::new().post(&nowhere()));
    assert_eq!(failure.outcome, Outcome::NotSent);
    assert!(failure.message.starts_with("127.0.0.1:"), "{}", failure.message);
    assert!(
        failure.message.contains("cannot be reached: Connection refused"),
        "{}",
        failure.message
    );
}

#[test]
fn a_name_that_nobody_has_is_an_error_that_says_so() {
    let failure = failure(Program::new().get("http://nobody.invalid/"));
    assert_eq!(failure.outcome, Outcome::NotSent);
    assert!(
        failure.message.starts_with("nobody.invalid:80 cannot be reached: "),
        "{}",
        failure.message
    );
}

#[test]
fn a_server_that_never_answers_is_left_at_the_limit() {
    let limits = Limits {
        total: Duration::from_secs(1),
        ..Limits::default()
    };
    for send in [Program::get, Program::post] {
        let server = in_turn([Reply::Silence]);
        let started = Instant::now();
        let failure = failure(send(&Program::with_limits(limits), &server.url("/")));
        assert!(started.elapsed() >= limits.total && started.elapsed() < Duration::from_secs(5));
        assert_eq!(failure.outcome, Outcome::Unknown);
        assert!(
            failure.message.ends_with(" did not answer within 1s"),
            "{}",
            failure.message
        );
        assert_eq!(server.received().len(), 1);
    }
}

#[test]
fn a_server_that_never_finishes_its_handshake_is_left_at_the_limit_of_connecting() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let limits = Limits {
        connect: Duration::from_millis(300),
        ..Limits::default()
    };
    let started = Instant::now();
    let base = format!("https://{}", silent.local_addr().unwrap());
    let failure = failure(Program::with_limits(limits).post(&base));
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert_eq!(failure.outcome, Outcome::NotSent);
    assert!(
        failure.message.ends_with(" cannot be reached within 300ms"),
        "{}",
        failure.message
    );
}

#[test]
fn a_connection_that_was_closed_meanwhile_fails_no_call() {
    for send in [Program::get, Program::post] {
        let server = in_turn([Reply::json("{}").and_hang_up(), Reply::json("{}").and_hang_up()]);
        let program = Program::new();
        for _ in 0..3 {
            assert_eq!(send(&program, &server.url("/")).unwrap().status, 200);
            thread::sleep(Duration::from_millis(50));
        }
        let connections: Vec<_> = server.received().iter().map(|request| request.connection).collect();
        assert_eq!(connections, [0, 1, 2]);
    }
}

#[test]
fn a_connection_that_breaks_off_is_tried_again_only_where_that_does_no_harm() {
    let server = in_turn([Reply::HangUp]);
    assert_eq!(Program::new().get(&server.url("/")).unwrap().status, 200);
    assert_eq!(server.received().len(), 2);

    let server = in_turn([Reply::HangUp]);
    let failure = failure(Program::new().post(&server.url("/")));
    assert_eq!(failure.outcome, Outcome::Unknown);
    assert!(failure.message.contains(" broke off: "), "{}", failure.message);
    assert_eq!(server.received().len(), 1);
}

#[test]
fn no_redirect_carries_the_credentials_away() {
    let foreign = in_turn([]);
    for status in [301, 302, 303, 307, 308] {
        let server = in_turn([Reply::of(status, &[("location", &foreign.url("/"))], "")]);
        assert_eq!(Program::new().get(&server.url("/")).unwrap().status, status);
    }
    assert_eq!(foreign.received().len(), 0);
}

#[test]
fn an_answer_may_be_as_long_as_the_limit() {
    let limits = Limits {
        body: 100_000,
        ..Limits::default()
    };
    let program = Program::with_limits(limits);
    let server = in_turn([
        Reply::of(200, &[], "x".repeat(100_000)),
        Reply::of(200, &[], "x".repeat(100_001)),
    ]);
    assert_eq!(program.get(&server.url("/")).unwrap().body.len(), 100_000);
    let failure = failure(program.get(&server.url("/")));
    assert!(
        failure.message.ends_with(" answered with more than 100000 bytes"),
        "{}",
        failure.message
    );
}

#[test]
fn an_address_or_a_credential_that_cannot_be_used_is_named_and_not_shown() {
    let program = Program::new();
    for base in ["", "planted", "file:///planted", "ftp://planted/"] {
        let error = program.get(base).unwrap_err();
        assert_eq!(error.code(), "configuration");
        assert!(
            error.to_string().contains("teamchat-url") && !error.to_string().contains("planted"),
            "{error}"
        );
    }
    let request = Request::new(Method::GET, &[]).header("x-key", "planted\n");
    let error = program.send(&nowhere(), request).unwrap_err();
    assert_eq!(error.code(), "configuration");
    assert!(!format!("{error:?}").contains("planted"));
}

#[test]
fn the_proxy_of_the_settings_is_used() {
    let proxy = in_turn([]);
    let mut program = Program::new();
    program.get(&proxy.url("/")).unwrap();
    program.proxy = Some(proxy.url("/").replace("://", "://ann:planted@"));
    assert_eq!(program.get("http://provider.invalid/api/").unwrap().status, 200);
    let request = &proxy.received()[1];
    assert_eq!(request.path, "http://provider.invalid/api/users.list");
    assert_eq!(request.header("proxy-authorization"), Some("Basic YW5uOnBsYW50ZWQ="));

    program.proxy = Some(nowhere().replace("://", "://ann:planted@"));
    let failure = failure(program.get("http://provider.invalid/api/"));
    assert!(
        failure
            .message
            .starts_with("provider.invalid:80 through the proxy cannot be reached: Connection refused")
    );

    program.proxy = Some("http://planted planted".into());
    let error = program.get(&proxy.url("/")).unwrap_err();
    assert_eq!(
        (error.code().as_str(), error.to_string().contains("planted")),
        ("configuration", false)
    );
}

#[test]
fn a_proxy_of_the_environment_is_not_used() {
    let nowhere = nowhere();
    let names = [
        "http_proxy",
        "HTTP_PROXY",
        "https_proxy",
        "HTTPS_PROXY",
        "all_proxy",
        "ALL_PROXY",
    ];
    run_again(
        "a_request_arrives_as_it_was_meant",
        names.map(|name| (name, nowhere.as_str())),
    );
}

/// The name of the environment's variable by which a test below finds the server of [`tls_server`].
const SECURE: &str = "SB_TEST_SECURE_SERVER";

#[test]
fn a_certificate_of_nobody_is_refused_and_the_credentials_are_not_sent() {
    let (base, _) = tls_server();
    let failure = failure(Program::new().get(&base));
    assert_eq!(failure.outcome, Outcome::NotSent);
    assert!(
        failure.message.contains("certificate verify failed"),
        "{}",
        failure.message
    );
}

#[test]
fn a_certificate_that_the_system_trusts_is_accepted() {
    // The trust of a process is read from its environment, so the other half runs in a process of its own.
    if let Ok(base) = std::env::var(SECURE) {
        let program = Program::new();
        for _ in 0..2 {
            assert_eq!(program.get(&base).unwrap().body, TOKEN.as_bytes());
            thread::sleep(Duration::from_millis(50));
        }
        return;
    }
    let (base, certificate) = tls_server();
    let file = std::env::temp_dir().join(format!("sb-test-{}.pem", std::process::id()));
    std::fs::write(&file, certificate.to_pem().unwrap()).unwrap();
    run_again(
        "a_certificate_that_the_system_trusts_is_accepted",
        [(SECURE, base.as_str()), ("SSL_CERT_FILE", file.to_str().unwrap())],
    );
    std::fs::remove_file(file).unwrap();
}

/// A server that answers with the token it was sent and then closes the connection, and the certificate it signed itself.
fn tls_server() -> (String, X509) {
    let key = PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap();
    let mut name = X509NameBuilder::new().unwrap();
    name.append_entry_by_text("CN", "stand-in").unwrap();
    let name = name.build();
    let mut builder = X509::builder().unwrap();
    builder.set_version(2).unwrap();
    builder.set_subject_name(&name).unwrap();
    builder.set_issuer_name(&name).unwrap();
    builder.set_pubkey(&key).unwrap();
    builder.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::days_from_now(1).unwrap()).unwrap();
    let alternative = SubjectAlternativeName::new()
        .ip("127.0.0.1")
        .build(&builder.x509v3_context(None, None));
    builder.append_extension(alternative.unwrap()).unwrap();
    builder.sign(&key, MessageDigest::sha256()).unwrap();
    let certificate = builder.build();
    let mut acceptor = SslAcceptor::mozilla_intermediate(SslMethod::tls()).unwrap();
    acceptor.set_private_key(&key).unwrap();
    acceptor.set_certificate(&certificate).unwrap();
    let acceptor = acceptor.build();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("https://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = acceptor.accept(stream.unwrap()) else {
                continue;
            };
            serve(0, stream, |request| {
                let token = request.header("authorization").unwrap().trim_start_matches("Bearer ");
                Reply::json(token).and_hang_up()
            });
        }
    });
    (base, certificate)
}

/// Runs one of these tests in a process with another environment.
fn run_again<const N: usize>(test: &str, environment: [(&str, &str); N]) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .envs(environment)
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && report.contains("1 passed"), "{report}");
}
