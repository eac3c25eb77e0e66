//! The team-messaging service: its own SDK and then ours against the same stand-in, and the function on top.
//!
//! `tests/support/mariadb cargo test --test teamchat`

// Tests may panic, their helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stderr)]

#[path = "support/installed.rs"]
mod installed;
#[allow(dead_code)]
#[path = "support/stand_in.rs"]
mod stand_in;
mod support;
#[path = "support/teamchat.rs"]
mod teamchat;

use std::process::Command;
use std::time::{Duration, Instant};

use installed::Installed;
use sb::contract::error::{Error, Exit, Outcome, ProviderError, Result};
use sb::contract::value::Failure;
use sb::contract::{Value, json};
use sb::platform::engine::Engine;
use sb::platform::http::{Http, Limits};
use sb::providers::teamchat::{Member, Workspace};
use secrecy::SecretString;
use stand_in::{Reply, StandIn, fields, nowhere};
use teamchat::{CHANNELS, LOCKED, PEOPLE, TOKEN};

/// The people of the workspace at an address.
fn members(base: &str, token: &str, limits: Limits) -> Result<Vec<Member>> {
    let http = Http::with_limits(limits);
    let workspace = Workspace::new(http.service("teamchat", base, None)?, SecretString::from(token));
    Engine::default().run(async |_| workspace.members().await)
}

/// The error of a workspace, which must not hold the token.
fn failure(base: &str, token: &str) -> ProviderError {
    let limits = Limits {
        total: Duration::from_secs(2),
        ..Limits::default()
    };
    let error = members(base, token, limits).unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains(token), "the token is in {shown}");
    match error {
        Error::Provider(error) => *error,
        error => panic!("not the provider's: {error:?}"),
    }
}

#[test]
fn the_providers_own_sdk_takes_the_stand_in_for_the_service() {
    let (workspace, busy) = (teamchat::start(0), teamchat::start(2));
    let output = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/sdk"))
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/teamchat_sdk.py"))
        .args([workspace.url("/api/"), busy.url("/api/"), TOKEN.to_owned()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let everyone = teamchat::everyone();
    assert_eq!(seen["pages"], serde_json::json!([200, everyone.len() - 200]));
    assert_eq!(seen["members"], serde_json::Value::from(everyone));
    assert_eq!(seen["channels"], serde_json::json!([200, CHANNELS - 200]));
    assert_eq!(
        (&seen["archived"], &seen["left"]),
        (&true.into(), &(CHANNELS - 1).into())
    );
    for (what, refusal) in [
        ("wrong token", serde_json::json!([200, "invalid_auth", null])),
        ("wrong cursor", serde_json::json!([200, "invalid_cursor", null])),
        ("wrong argument", serde_json::json!([200, "invalid_arg_name", null])),
        ("archived again", serde_json::json!([200, "already_archived", null])),
        (
            "archived general",
            serde_json::json!([200, "cant_archive_general", null]),
        ),
        ("name taken", serde_json::json!([200, "name_taken", null])),
        ("wrong name", serde_json::json!([200, "invalid_name_specials", null])),
        ("invited", serde_json::json!(true)),
        ("invited again", serde_json::json!([200, "already_in_channel", null])),
        ("posted", serde_json::json!("Ciao")),
        ("no text", serde_json::json!([200, "no_text", null])),
        ("posted to the archive", serde_json::json!([200, "is_archived", null])),
        ("too often", serde_json::json!([429, "ratelimited", "1"])),
        ("patient", serde_json::json!(5)),
    ] {
        assert_eq!(seen[what], refusal, "{what}");
    }
}

#[test]
fn people_come_page_by_page_without_bots_and_those_who_left() {
    let workspace = teamchat::start(0);
    let members = members(&workspace.url("/api/"), TOKEN, Limits::default()).unwrap();
    let expected = (1..=PEOPLE).map(|number| Member {
        id: format!("U{number:04}"),
        name: match number {
            2 => "two".into(),
            3 => "u0003".into(),
            number => format!("Person {number}"),
        },
    });
    assert_eq!(members, expected.collect::<Vec<_>>());
    let requests: Vec<_> = workspace.received();
    assert_eq!(requests.len(), 2);
    for (request, cursor) in requests.iter().zip([None, Some("dXNlcjo=+/200")]) {
        assert_eq!(
            (request.method.as_str(), request.path.as_str()),
            ("GET", "/api/users.list")
        );
        let mut parameters = vec![("limit".to_owned(), "200".to_owned())];
        parameters.extend(cursor.map(|cursor| ("cursor".to_owned(), cursor.to_owned())));
        assert_eq!(request.query, parameters, "and the token is not among them");
        assert_eq!((request.body.as_str(), request.connection), ("", 0));
    }
}

#[test]
fn who_asks_too_often_waits_and_is_answered() {
    let workspace = teamchat::start(1);
    let started = Instant::now();
    let members = members(&workspace.url("/api/"), TOKEN, Limits::default()).unwrap();
    assert_eq!(members.len(), PEOPLE);
    assert!(started.elapsed() >= Duration::from_secs(1));
    assert_eq!(workspace.received().len(), 3);

    let failure = failure(&teamchat::start(5).url("/api/"), TOKEN);
    assert_eq!(
        (failure.message.as_str(), failure.outcome),
        ("ratelimited", Outcome::NotDone)
    );
}

#[test]
fn a_refusal_is_the_services_code_and_its_response() {
    let workspace = teamchat::start(0);
    let refusal = failure(&workspace.url("/api/"), "xoxb-wrong");
    assert_eq!(
        (refusal.message.as_str(), refusal.outcome),
        ("invalid_auth", Outcome::NotDone)
    );
    assert_eq!(
        refusal.response,
        json::decode(br#"{"ok":false,"error":"invalid_auth"}"#)
    );
    assert_eq!(workspace.received().len(), 1);

    let body = r#"{"ok":false,"error":"missing_scope","needed":"users:read","provided":"chat:write"}"#;
    let workspace = StandIn::start(move |_| Reply::json(body));
    assert_eq!(
        failure(&workspace.url("/"), TOKEN).message,
        "missing_scope (needed: users:read)"
    );
}

#[test]
fn what_is_no_answer_of_the_service_is_an_error_without_its_text() {
    let echo = |request: &stand_in::Received| {
        let token = request.header("authorization").unwrap().to_owned();
        Reply::of(502, &[], format!("<html>Bad gateway for {token}"))
    };
    let list_without_people = |_: &stand_in::Received| Reply::json(r#"{"ok":true,"cache_ts":1}"#);
    let foreign = teamchat::start(0);
    let elsewhere = foreign.url("/api/users.list");
    let redirect = move |_: &stand_in::Received| Reply::of(302, &[("location", &elsewhere)], "");
    for (server, status) in [
        (StandIn::start(echo), 502),
        (StandIn::start(|_| Reply::json("")), 200),
        (StandIn::start(list_without_people), 200),
        (StandIn::start(redirect), 302),
    ] {
        let failure = failure(&server.url("/api/"), TOKEN);
        let message = format!("an answer that is not the service's, with HTTP status {status}");
        assert_eq!((failure.message, failure.response), (message, None));
    }
    assert_eq!(foreign.received().len(), 0, "the token stays here");
}

#[test]
fn a_refusal_that_repeats_the_token_is_not_repeated() {
    let body = format!(r#"{{"ok":false,"error":"{TOKEN}"}}"#);
    let server = StandIn::start(move |_| Reply::json(body.clone()));
    let error = members(&server.url("/"), TOKEN, Limits::default()).unwrap_err();
    assert_eq!(error.to_string(), "refused without a code");
}

#[test]
fn a_list_without_end_is_given_up() {
    let server =
        StandIn::start(|_| Reply::json(r#"{"ok":true,"members":[],"response_metadata":{"next_cursor":"again"}}"#));
    assert_eq!(
        failure(&server.url("/"), TOKEN).message,
        "the list of users.list has no end"
    );
}

#[test]
fn a_service_that_cannot_be_reached_or_is_silent_is_an_error() {
    assert_eq!(failure(&nowhere(), TOKEN).outcome, Outcome::NotSent);
    let server = StandIn::start(|_| Reply::Silence);
    assert_eq!(failure(&server.url("/"), TOKEN).outcome, Outcome::Unknown);
}

fn users(installation: &Installed) -> Exit {
    installation.exit("sb_teamchat_users", &serde_json::json!([]))
}

fn settings(url: &str, token: &str) -> serde_json::Value {
    serde_json::json!({"teamchat": [{
        "teamchat-active": [true, "checkbox"], "teamchat-token": [token, "password"], "teamchat-url": [url, "text"],
    }, "multi-input"]})
}

fn error_object(exit: Exit) -> Failure {
    match exit {
        Exit::Object(failure) => failure,
        exit => panic!("not an SBError: {exit:?}"),
    }
}

const PEOPLE_ROWS: &str = "
    INSERT INTO sb_users (id, first_name, last_name, user_type, creation_time, token) VALUES
        (1, 'Ann', 'Admin', 'admin', '2024-01-01', 'a'), (2, 'Åsa', '', 'agent', '2024-01-01', 'b'),
        (3, 'Uma', 'User', 'user', '2024-01-01', 'c'), (4, 'Bot', '', 'bot', '2024-01-01', 'd')";

#[test]
fn the_function_gives_people_agents_and_who_is_who() {
    let workspace = teamchat::start(0);
    let rows =
        r#"INSERT INTO sb_settings (name, value) VALUES ('teamchat-agents', '{"U0001":"1","U0002":2,"U0003":""}')"#;
    let installation = Installed::new(
        "people, agents and who is who",
        "empty",
        // Pasted with a line break after it.
        &settings(&workspace.url("/api"), &format!("{TOKEN}\n")),
        &[PEOPLE_ROWS, rows],
    );
    let Exit::Value(value) = users(&installation) else {
        panic!("no value")
    };
    let value: serde_json::Value = serde_json::from_str(&json::encode(&value)).unwrap();
    assert_eq!(value["teamchat_users"].as_array().unwrap().len(), PEOPLE);
    assert_eq!(
        value["teamchat_users"][0],
        serde_json::json!({"id": "U0001", "name": "Person 1"})
    );
    assert_eq!(
        value["agents"],
        serde_json::json!([{"id": "1", "name": "Ann Admin"}, {"id": "2", "name": "Åsa"}])
    );
    assert_eq!(value["saved"], serde_json::json!({"U0001": "1", "U0002": "2"}));
    assert_eq!(value.as_object().unwrap().len(), 3);
}

#[test]
fn the_function_gives_an_empty_map_when_nobody_was_saved() {
    let workspace = teamchat::start(0);
    let settings = settings(&workspace.url("/api/"), TOKEN);
    let row = |text| format!("INSERT INTO sb_settings (name, value) VALUES ('teamchat-agents', '{text}')");
    for (name, row) in [
        ("no row", "SELECT 1".to_owned()),
        ("a list", row("[]")),
        ("no JSON", row("{broken")),
    ] {
        let Exit::Value(value) = users(&Installed::new(name, "empty", &settings, &[&row])) else {
            panic!("no value")
        };
        assert_eq!(value.get(&"saved".into()), Some(&Value::Map(sb::contract::Map::new())));
        assert_eq!(json::encode(value.get(&"agents".into()).unwrap()), "[]");
    }
}

#[test]
fn the_function_gives_an_error_object_without_the_token_when_the_service_fails() {
    let token = "xoxb-other-planted-token";
    let refusing = teamchat::start(0);
    for (name, url, message) in [
        ("refused", refusing.url("/api/"), "invalid_auth"),
        ("down", nowhere(), "cannot be reached: Connection refused"),
    ] {
        let failure = error_object(users(&Installed::new(name, "empty", &settings(&url, token), &[])));
        assert_eq!(
            (failure.code.as_str(), failure.function.as_str()),
            ("teamchat-error", "sb_teamchat_users")
        );
        assert!(failure.message.contains(message), "{}", failure.message);
        assert!(!format!("{failure:?}").contains(token));
    }
    let failure = error_object(users(&Installed::new(
        "no token",
        "empty",
        &settings(&nowhere(), ""),
        &[],
    )));
    assert_eq!(
        (failure.code.as_str(), failure.message.as_str()),
        ("configuration", "teamchat-token is not set")
    );
}

#[test]
fn the_function_takes_a_new_connection_when_the_service_has_closed_the_old_one() {
    let body = r#"{"ok":true,"members":[{"id":"U1","name":"one"}],"cache_ts":1}"#;
    let workspace = StandIn::start(move |_| Reply::json(body).and_hang_up());
    let installation = Installed::new("closed", "empty", &settings(&workspace.url("/"), TOKEN), &[]);
    for _ in 0..3 {
        let Exit::Value(value) = users(&installation) else {
            panic!("no value")
        };
        assert_eq!(
            json::encode(&value),
            r#"{"teamchat_users":[{"id":"U1","name":"one"}],"agents":[],"saved":{}}"#
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(workspace.received().len(), 3);
}

/// The channels that a workspace was asked to archive.
fn archived(workspace: &StandIn) -> Vec<String> {
    let requests = workspace.received().into_iter();
    let requests = requests.filter(|request| request.path == "/api/conversations.archive");
    requests
        .map(|request| {
            assert_eq!(request.method, "POST");
            request.body.strip_prefix("channel=").unwrap().to_owned()
        })
        .collect()
}

#[test]
fn channels_are_archived_twenty_at_a_time() {
    let workspace = teamchat::start(0);
    let settings = settings(&workspace.url("/api/"), TOKEN);
    let installation = Installed::new("archive", "empty", &settings, &[]);
    let own = |numbers: std::ops::RangeInclusive<usize>| numbers.map(|number| format!("C{number:08}"));
    let mut expected: Vec<String> = own(CHANNELS - 24..=CHANNELS - 5).collect();
    for run in 1..=3 {
        let exit = installation.exit("sb_archive_teamchat_channels", &serde_json::json!([]));
        assert_eq!(exit, Exit::Value(true.into()));
        assert_eq!(archived(&workspace), expected, "run {run}");
        // The locked one is tried each time, and stands in nobody's way.
        expected.push(LOCKED.to_owned());
        if run == 1 {
            expected.extend(own(CHANNELS - 4..=CHANNELS));
        }
    }
}

#[test]
fn channels_wait_when_the_service_was_asked_too_often() {
    let channels = r#"{"ok":true,"channels":[{"id":"C1","is_member":true},{"id":"C2","is_member":true},{"id":"C3","is_member":true}]}"#;
    let refusing = |reply: fn() -> Reply| {
        let mut calls = 0;
        StandIn::start(move |request| {
            if request.path == "/api/conversations.list" {
                return Reply::json(channels);
            }
            calls += 1;
            if calls == 1 {
                Reply::json(r#"{"ok":true}"#)
            } else {
                reply()
            }
        })
    };
    let run = |name: &str, workspace: &StandIn| {
        let settings = settings(&workspace.url("/api/"), TOKEN);
        let exit =
            Installed::new(name, "empty", &settings, &[]).exit("sb_archive_teamchat_channels", &serde_json::json!([]));
        (exit, archived(workspace))
    };
    let too_often = refusing(|| Reply::of(429, &[("retry-after", "30")], r#"{"ok":false,"error":"ratelimited"}"#));
    let (exit, asked) = run("archive too often", &too_often);
    assert_eq!(
        (exit, asked),
        (Exit::Value(true.into()), vec!["C1".to_owned(), "C2".to_owned()])
    );
    let refused = refusing(|| Reply::json(r#"{"ok":false,"error":"missing_scope","needed":"channels:manage"}"#));
    let (exit, asked) = run("archive without right", &refused);
    assert_eq!(
        (error_object(exit).message.as_str(), asked.len()),
        ("missing_scope (needed: channels:manage)", 2)
    );
}

/// What a workspace was asked: method and fields.
fn asked(workspace: &StandIn) -> Vec<(String, Vec<(String, String)>)> {
    let requests = workspace.received().into_iter();
    let named = requests.map(|request| {
        let method = request.path.strip_prefix("/api/").unwrap().to_owned();
        let fields = if request.method == "GET" {
            request.query
        } else {
            fields(&request.body)
        };
        (method, fields)
    });
    named.collect()
}

/// The same of some fields.
fn ask(method: &str, given: &[(&str, &str)]) -> (String, Vec<(String, String)>) {
    let fields = given.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
    (method.to_owned(), fields.collect())
}

/// Ada and Ben are in the workspace; Carla is not hers, and number 230 cannot be invited.
const AGENTS_ROW: &str = r#"
    INSERT INTO sb_settings (name, value)
    VALUES ('teamchat-agents', '{"U0001":"1","U0002":2,"U0003":"3","U0230":1,"U0004":"99"}')"#;

const NEW_CHANNEL: &str = "C00000206";

#[test]
fn a_users_first_message_makes_a_channel_with_the_agents_in_it() {
    let workspace = teamchat::start(0);
    let settings = settings(&workspace.url("/api/"), TOKEN);
    let mut installation = Installed::new("send", "people", &settings, &[AGENTS_ROW]);
    let image = "https://support.example/carla.png";
    let attachments = serde_json::json!([["receipt & more.pdf", "https://support.example/r.pdf?a=1&b=2"]]);
    let message = serde_json::json!([3, "Carla D'Angelo", image, "Is *this* <!channel> & co?", attachments, 2]);
    let sent = serde_json::json!(["success", NEW_CHANNEL]);
    assert_eq!(installation.call("sb_send_teamchat_message", &message), sent);
    let text =
        "Is *this* &lt;!channel&gt; &amp; co?\nreceipt &amp; more.pdf: https://support.example/r.pdf?a=1&amp;b=2";
    assert_eq!(
        asked(&workspace),
        [
            ask("conversations.create", &[("name", "carla-d-angelo-3")]),
            ask(
                "conversations.invite",
                &[("channel", NEW_CHANNEL), ("users", "U0001,U0002,U0230")]
            ),
            ask("conversations.invite", &[("channel", NEW_CHANNEL), ("users", "U0001")]),
            ask("conversations.invite", &[("channel", NEW_CHANNEL), ("users", "U0002")]),
            ask("conversations.invite", &[("channel", NEW_CHANNEL), ("users", "U0230")]),
            ask(
                "chat.postMessage",
                &[
                    ("channel", NEW_CHANNEL),
                    ("text", text),
                    ("username", "Carla D'Angelo"),
                    ("icon_url", image)
                ]
            ),
        ]
    );
    assert_eq!(
        installation.rows("SELECT name, value FROM sb_users_data WHERE user_id = 3 AND slug = 'teamchat-channel'"),
        serde_json::json!([{"name": "Teamchat channel", "value": NEW_CHANNEL}])
    );
    // The second one goes there at once, and what is no link is no image.
    let second = serde_json::json!(["3", "", "javascript:alert(1)", "Again"]);
    assert_eq!(installation.call("sb_send_teamchat_message", &second), sent);
    assert_eq!(
        asked(&workspace)[6..],
        [ask("chat.postMessage", &[("channel", NEW_CHANNEL), ("text", "Again")])]
    );
}

#[test]
fn agents_of_other_departments_are_not_invited() {
    let workspace = teamchat::start(0);
    let settings = settings(&workspace.url("/api/"), TOKEN);
    let other = "UPDATE sb_conversations SET department = 2 WHERE id = 2";
    let installation = Installed::new("department", "people", &settings, &[AGENTS_ROW, other]);
    installation.call(
        "sb_send_teamchat_message",
        &serde_json::json!([3, "Carla", false, "Hi", [], 2]),
    );
    let users = &asked(&workspace)[1].1[1].1;
    assert_eq!(users, "U0001,U0230");
}

#[test]
fn a_channel_that_is_there_already_is_found() {
    let workspace = teamchat::start(0);
    let settings = settings(&workspace.url("/api/"), TOKEN);
    let message = serde_json::json!([3, "Carla", false, "Hi"]);
    for run in ["first", "row lost"] {
        let installation = Installed::new(run, "people", &settings, &[]);
        let sent = installation.call("sb_send_teamchat_message", &message);
        assert_eq!(sent, serde_json::json!(["success", NEW_CHANNEL]), "{run}");
    }
}

#[test]
fn an_archived_channel_is_replaced() {
    let workspace = teamchat::start(0);
    let settings = settings(&workspace.url("/api/"), TOKEN);
    let mut installation = Installed::new("replaced", "people", &settings, &[]);
    let message = serde_json::json!([3, "Carla", false, "Hi"]);
    installation.call("sb_send_teamchat_message", &message);
    for _ in 0..2 {
        installation.call("sb_archive_teamchat_channels", &serde_json::json!([]));
    }
    assert!(archived(&workspace).contains(&NEW_CHANNEL.to_owned()));
    let sent = installation.call("sb_send_teamchat_message", &message);
    assert_eq!(sent, serde_json::json!(["success", "C00000207"]));
    let names: Vec<_> = asked(&workspace)
        .into_iter()
        .filter_map(|(method, fields)| (method == "conversations.create").then(|| fields[0].1.clone()))
        .collect();
    assert_eq!(names[..2], ["carla-d-angelo-3", "carla-d-angelo-3"]);
    assert!(
        names[2].starts_with("carla-d-angelo-3-") && names[2].len() == 23,
        "{names:?}"
    );
    assert_eq!(
        installation.rows("SELECT value FROM sb_users_data WHERE slug = 'teamchat-channel'"),
        serde_json::json!([{"value": "C00000207"}])
    );
}

#[test]
fn another_channel_gets_the_message_when_it_is_given() {
    let workspace = teamchat::start(0);
    let settings = settings(&workspace.url("/api/"), TOKEN);
    let mut installation = Installed::new("given", "people", &settings, &[]);
    let sent = installation.call(
        "sb_send_teamchat_message",
        &serde_json::json!([99, "Bot", false, "Hi", "[]", false, "C00000200"]),
    );
    assert_eq!(sent, serde_json::json!(["success", "C00000200"]));
    assert_eq!(asked(&workspace).len(), 1);
    let refused = installation.error(
        "sb_send_teamchat_message",
        &serde_json::json!([3, "Bot", false, "Hi", [], false, "C1"]),
    );
    assert_eq!(refused, ("teamchat-error".to_owned(), "channel_not_found".to_owned()));
    assert_eq!(
        installation.rows("SELECT id FROM sb_users_data WHERE slug = 'teamchat-channel'"),
        serde_json::json!([])
    );
}

#[test]
fn a_long_message_is_posted_in_parts() {
    let workspace = teamchat::start(0);
    let settings = settings(&workspace.url("/api/"), TOKEN);
    let installation = Installed::new("long", "people", &settings, &[]);
    let text = "a & b ".repeat(10_000);
    installation.call(
        "sb_send_teamchat_message",
        &serde_json::json!([3, "Carla", false, text, [], false, "C00000200"]),
    );
    let posted: Vec<_> = asked(&workspace)
        .into_iter()
        .map(|(_, fields)| fields[1].1.clone())
        .collect();
    assert_eq!((posted.len(), posted.concat()), (3, text.replace('&', "&amp;")));
}
