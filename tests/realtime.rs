//! The realtime push integration: the provider's own SDK and then ours against the same stand-in, what writes tell its
//! clients, and both again against servers of the protocol: a real one where there is one (`make realtime-server`), and what stands in
//! for it.
//!
//! `tests/support/mariadb cargo test --test realtime`

// Tests may panic, their helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[allow(dead_code)]
#[path = "support/installed.rs"]
mod installed;
#[path = "support/realtime.rs"]
mod realtime;
#[allow(dead_code)]
#[path = "support/realtime_server.rs"]
mod realtime_server;
#[allow(dead_code)]
#[path = "support/stand_in.rs"]
mod stand_in;
mod support;

use std::process::Command;
use std::time::{Duration, Instant};

use installed::Installed;
use realtime::{ID, KEY, SECRET, settings, settings_of, signature};
use realtime_server::{Browsers, RealtimeServer};
use sb::contract::json as own_json;
use serde_json::{Value, json};
use stand_in::{Received, Reply, StandIn, nowhere};
use support::bench::Installation;
use support::core::Core;
use support::scene::{Scene, answer};

const OUTBOX: &str = include_str!("fixtures/own-tables.sql");

fn installed(name: &str, service: &StandIn) -> Installed {
    Installed::new(name, "people", &settings(&service.url("")), &[])
}

/// An installation whose events go to a service; with the library's own tables or without.
fn scene(test: &str, url: &str, table: bool, further: &[&str]) -> (Scene, Core) {
    scene_with(test, &settings(url), table, further)
}

fn scene_with(name: &str, settings: &Value, table: bool, further: &[&str]) -> (Scene, Core) {
    let text = settings.to_string().replace('\\', r"\\").replace('\'', "''");
    let settings = format!("UPDATE sb_settings SET value = '{text}' WHERE name = 'settings'");
    let tables = table.then(|| OUTBOX.trim_end().trim_end_matches(';'));
    let sql: Vec<&str> = tables
        .into_iter()
        .chain([settings.as_str()])
        .chain(further.iter().copied())
        .collect();
    let scene = Scene::new(name, &sql);
    let core = Core::open(Installation::of(&scene.server, &scene.database));
    (scene, core)
}

/// Calls a function with arguments in JSON.
fn call(core: &Core, name: &str, arguments: &Value) -> Value {
    let Some(sb::contract::Value::List(arguments)) = own_json::decode(arguments.to_string().as_bytes()) else {
        panic!("arguments are a list")
    };
    serde_json::from_str(&own_json::encode(&answer(core, name, arguments))).unwrap()
}

/// What an event tells: its channels, its name, its data.
fn told(request: &Received) -> (Vec<String>, String, Value) {
    assert_eq!(
        (request.method.as_str(), request.path.as_str()),
        ("POST", "/apps/1042/events")
    );
    let body: Value = serde_json::from_slice(&request.bytes).unwrap();
    let channels = body["channels"].as_array().unwrap();
    let channels = channels
        .iter()
        .map(|channel| channel.as_str().unwrap().to_owned())
        .collect();
    let data = serde_json::from_str(body["data"].as_str().unwrap()).unwrap();
    (channels, body["name"].as_str().unwrap().to_owned(), data)
}

/// What the provider's own SDK sees of a server.
fn seen_by_the_sdk(host: &str, port: &str, id: &str, key: &str, secret: &str) -> Value {
    let output = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/node_sdk"))
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/realtime_sdk.cjs"))
        .args([host, port, id, key, secret])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn check_what_the_sdk_sees(seen: &Value) {
    for (what, status) in [
        ("one channel", 200),
        ("several channels", 200),
        ("no data", 200),
        ("wrong secret", 401),
        ("much data", 413),
        ("users of another channel", 400),
    ] {
        assert_eq!(seen[what], status, "{what}");
    }
    assert_eq!(seen["users"], json!({"users": []}));
}

#[test]
fn the_providers_own_sdk_takes_the_stand_in_for_the_service() {
    let service = realtime::start(&[]);
    let url = service.url("");
    let port = url.rsplit_once(':').unwrap().1;
    let seen = seen_by_the_sdk("127.0.0.1", port, ID, KEY, SECRET);
    check_what_the_sdk_sees(&seen);
    let member = r#"{"user_id":"3","user_info":{"name":"Ann"}}"#;
    assert_eq!(seen["private"], format!("{KEY}:{}", signature("12.34:private-user-3")));
    assert_eq!(
        seen["presence"],
        json!({"channel_data": member, "auth": format!("{KEY}:{}", signature(&format!("12.34:presence-users:{member}")))})
    );
}

#[test]
fn an_event_is_triggered() {
    let service = realtime::start(&[]);
    let installation = installed("triggered", &service);
    let data = json!({"text": "Ciao, 'tutti' & \"più\" 👋", "list": [1, null], "map": {"a": true}});
    let arguments = json!(["private-user-3", "my-event", data]);
    assert_eq!(installation.call("sb_realtime_trigger", &arguments), true);
    let expected = (vec!["private-user-3".to_owned()], "my-event".to_owned(), data);
    assert_eq!(told(&service.received().pop().unwrap()), expected);
    assert_eq!(installation.call("sb_realtime_trigger", &json!(["a", "b"])), true);
    assert_eq!(told(&service.received().pop().unwrap()).2, json!({}));
}

#[test]
fn a_refusal_is_the_services_own() {
    let service = realtime::start(&[]);
    let refused = |name: &str, id: &str, key: &str, secret: &str, data: &str| {
        let url = service.url("");
        let (host, port) = url.trim_start_matches("http://").rsplit_once(':').unwrap();
        let settings = settings_of(id, key, secret, "http", host, port);
        let installation = Installed::new(name, "people", &settings, &[]);
        let (code, message) = installation.error("sb_realtime_trigger", &json!(["a", "b", {"text": data}]));
        assert_eq!(code, "realtime-error");
        assert!(!message.contains("planted"), "{message}");
        message
    };
    let long = "x".repeat(10 * 1024);
    for (name, id, key, secret, data, expected) in [
        (
            "secret",
            ID,
            KEY,
            "planted",
            "",
            "401: Invalid signature: you should have sent another one",
        ),
        ("key", ID, "other", SECRET, "", "401: Unknown auth_key"),
        ("id", "7", KEY, SECRET, "", "404: There is no such application"),
        (
            "long",
            ID,
            KEY,
            SECRET,
            long.as_str(),
            "413: The data content of this event exceeds the allowed maximum (10240 bytes)",
        ),
    ] {
        let message = refused(name, id, key, secret, data);
        assert_eq!(message, format!("refused with HTTP status {expected}"));
    }
    let proxy = StandIn::start(|_| Reply::of(502, &[("content-type", "text/html")], "<html>planted</html>"));
    let (code, message) = installed("proxy", &proxy).error("sb_realtime_trigger", &json!(["a", "b"]));
    assert_eq!(code, "realtime-error");
    assert_eq!(message, "an answer that is not the service's, with HTTP status 502");
}

#[test]
fn an_event_of_unknown_fate_is_not_triggered_again() {
    let broken = StandIn::start(|_| Reply::HangUp);
    let (code, message) = installed("broken", &broken).error("sb_realtime_trigger", &json!(["a", "b"]));
    assert_eq!(code, "realtime-error");
    assert!(message.contains("broke off"), "{message}");
    assert_eq!(broken.received().len(), 1);
}

#[test]
fn who_is_connected_is_online() {
    let service = realtime::start(&[("presence-agents", &["2", "1"]), ("presence-users", &["3", "2", "5"])]);
    let mut installation = installed("connected", &service);
    let list = |ids: &[&str]| -> Value { ids.iter().map(|id| json!({"id": id})).collect() };
    assert_eq!(
        installation.call("sb_realtime_get_online_users", &json!([])),
        list(&["2", "1", "3", "5"])
    );
    assert_eq!(installation.call("sb_realtime_agents_online", &json!([])), true);
    // None of them was active lately.
    let asked = service.received().len();
    for (user, is_online) in [("3", true), ("2", true), ("7", false), ("6", false)] {
        assert_eq!(
            installation.call("sb_is_user_online", &json!([user])),
            is_online,
            "{user}"
        );
    }
    assert_eq!(installation.call("sb_agents_online", &json!([])), true);
    assert_eq!(
        installation.call("sb_get_online_user_ids", &json!([])),
        json!([1, 2, 3, 5])
    );
    assert_eq!(
        installation.call("sb_get_online_user_ids", &json!([true])),
        json!([1, 2])
    );
    let users = installation.call("sb_get_online_users", &json!(["creation_time", true]));
    let ids: Vec<&str> = users
        .as_array()
        .unwrap()
        .iter()
        .map(|user| user["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["2", "1"]);
    // What the service says of a channel is believed for a while.
    assert_eq!(service.received().len(), asked + 2);
    let none = realtime::start(&[]);
    let settings = settings(&none.url("")).to_string();
    installation
        .rows(&format!("UPDATE sb_settings SET value = '{settings}' WHERE name = 'settings'").replace("\\n", "\\\\n"));
    assert_eq!(installation.call("sb_realtime_agents_online", &json!([])), false);
    assert_eq!(installation.call("sb_realtime_get_online_users", &json!([])), json!([]));
}

#[test]
fn an_outage_of_the_service_makes_nobody_online_and_holds_nobody_up() {
    let failing = StandIn::start(|_| Reply::of(500, &[], "no"));
    let mut installation = installed("outage", &failing);
    installation.rows("UPDATE sb_users SET last_activity = UTC_TIMESTAMP() WHERE id = 3");
    for (user, is_online) in [("3", true), ("7", false), ("2", false)] {
        assert_eq!(
            installation.call("sb_is_user_online", &json!([user])),
            is_online,
            "{user}"
        );
    }
    assert_eq!(installation.call("sb_agents_online", &json!([])), false);
    assert_eq!(installation.call("sb_get_online_user_ids", &json!([])), json!([3]));
    assert_eq!(failing.received().len(), 2, "once for each channel");
    assert_eq!(
        installation.error("sb_realtime_agents_online", &json!([])).0,
        "realtime-error"
    );
}

const OF_CARLA: [&str; 3] = ["presence-agents", "private-conversation-1", "private-user-3"];

#[test]
fn clients_hear_of_a_message_at_the_end_of_the_request_with_or_without_the_table() {
    for table in [true, false] {
        let service = realtime::start(&[]);
        let (mut scene, core) = scene("message", &service.url(""), table, &[]);
        let link = json!([["a.png", "https://support.example/a.png"]]);
        let sent = call(
            &core,
            "sb_send_message",
            &json!([3, 1, "Hello 😟", link, false, {"a": 1}]),
        );
        assert!(service.received().is_empty(), "the request goes on");
        core.end();
        let requests = service.received();
        assert_eq!(requests.len(), 1);
        let (channels, name, mut data) = told(&requests[0]);
        assert_eq!(
            (channels, name.as_str()),
            (OF_CARLA.map(str::to_owned).to_vec(), "message")
        );
        let time = data["creation_time"].take();
        assert_eq!(time.as_str().unwrap().len(), 19);
        let id = sent["message-id"].to_string();
        assert_eq!(
            data,
            json!({
                "id": id, "user_id": "3", "message": "Hello 😟", "creation_time": null, "attachments": link,
                "status_code": "0", "payload": {"a": 1}, "conversation_id": "1", "first_name": "Carla",
                "last_name": "D'Angelo", "profile_image": "https://support.example/chat/media/user.svg",
                "user_type": "user",
            })
        );
        if table {
            let recorded = format!(
                "{{\"conversation_id\":\"1\",\"conversation_status_code\":\"2\",\"message_id\":\"{id}\",\"user_id\":\"3\"}}"
            );
            scene.expect(
                "SELECT channel, event, payload, CAST(state AS CHAR) AS state FROM sb_outbox",
                &[
                    ("channel", "realtime"),
                    ("event", "message"),
                    ("payload", &recorded),
                    ("state", "2"),
                ],
            );
        }
        core.end();
        assert_eq!(service.received().len(), 1, "told once");
        scene.database.drop();
    }
}

#[test]
fn clients_hear_of_everything_that_is_theirs_to_know() {
    let service = realtime::start(&[]);
    let (mut scene, core) = scene(
        "everything",
        &service.url(""),
        true,
        &["UPDATE sb_conversations SET agent_id = 2"],
    );
    let agents: &[&str] = &["presence-agents"];
    let conversation: &[&str] = &OF_CARLA;
    let mut told_so_far = 0;
    let mut expect = |function: &str, arguments: Value, name: &str, channels: &[&str], data: Value| {
        let given = call(&core, function, &arguments);
        core.end();
        let requests = service.received();
        assert_eq!(requests.len(), told_so_far + 1, "{function}: {given}");
        told_so_far += 1;
        let (own_channels, own_name, own_data) = told(&requests[told_so_far - 1]);
        assert_eq!(
            (own_name.as_str(), own_channels),
            (name, channels.iter().map(|&own| own.to_owned()).collect())
        );
        for (field, value) in data.as_object().unwrap() {
            assert_eq!(&own_data[field], value, "{function}: {field} in {own_data}");
        }
        for secret in ["token", "email", "abcdef", "customer.example", "planted"] {
            assert!(!own_data.to_string().contains(secret), "{function}: {own_data}");
        }
        own_data
    };
    expect(
        "sb_update_message",
        json!(["1", "Hello, my parcel has arrived"]),
        "message.updated",
        conversation,
        json!({"id": "1", "message": "Hello, my parcel has arrived", "user_id": "3"}),
    );
    expect(
        "sb_delete_message",
        json!(["3"]),
        "message.deleted",
        conversation,
        json!({"id": "3", "message": "", "payload": {"event": "delete-message"}}),
    );
    expect(
        "sb_update_conversation_status",
        json!(["1", 3]),
        "conversation.status",
        conversation,
        json!({"conversation_id": "1", "status_code": "3"}),
    );
    expect(
        "sb_update_conversation_department",
        json!(["1", 2]),
        "conversation.department",
        conversation,
        json!({"conversation_id": "1", "department": "2"}),
    );
    expect(
        "sb_set_rating",
        json!([{"conversation_id": "1", "rating": 1}, false, false, "planted"]),
        "conversation.rating",
        conversation,
        json!({"conversation_id": "1", "rating": 1, "agent_id": "2", "user_id": "3"}),
    );
    let note = expect(
        "sb_add_note",
        json!(["1", "2", "Ben", "planted: is impatient"]),
        "note.created",
        agents,
        json!({"conversation_id": "1", "user_id": "2"}),
    );
    assert!(note["id"].is_i64() && note.get("name").is_none(), "{note}");
    expect(
        "sb_new_conversation",
        json!(["3", 0, "planted"]),
        "conversation.created",
        &["presence-agents", "private-conversation-7", "private-user-3"],
        json!({"conversation_id": "7", "user_id": "3", "department": null}),
    );
    expect(
        "sb_add_user",
        json!([{"first_name": "planted", "email": "planted@customer.example"}]),
        "user.created",
        agents,
        json!({"user_id": "8"}),
    );
    expect(
        "sb_update_user",
        json!(["8", {"first_name": "planted"}]),
        "user.updated",
        agents,
        json!({"user_id": "8"}),
    );
    scene.expect(
        "SELECT COUNT(*) AS count FROM sb_outbox WHERE channel = 'realtime' AND state = 2",
        &[("count", "9")],
    );
    scene.database.drop();
}

#[test]
fn clients_hear_at_once_or_never_who_types_and_who_has_read_what() {
    let service = realtime::start(&[]);
    let (mut scene, mut core) = scene(
        "passing",
        &service.url(""),
        true,
        &["UPDATE sb_messages SET status_code = 0"],
    );
    let expect = |core: &Core, count: usize, name: &str, data: Value| {
        core.end();
        let requests = service.received();
        assert_eq!(requests.len(), count);
        assert_eq!(
            told(&requests[count - 1]),
            (OF_CARLA.map(str::to_owned).to_vec(), name.to_owned(), data)
        );
    };
    assert_eq!(call(&core, "sb_set_typing", &json!(["3", "1"])), true);
    expect(&core, 1, "typing", json!({"conversation_id": "1", "user_id": "3"}));
    // It stops by itself.
    call(&core, "sb_set_typing", &json!(["3"]));
    let login = [("id", "2".into()), ("user_type", "agent".into())];
    core.begin(sb::contract::Value::map(login));
    call(&core, "sb_get_conversation", &json!(["2", "1"]));
    let read = json!({"conversation_id": "1", "message_id": "3", "user_id": "2"});
    expect(&core, 2, "message.read", read);
    // It was read before.
    call(&core, "sb_get_conversation", &json!(["2", "1"]));
    core.end();
    assert_eq!(service.received().len(), 2);
    scene.expect(
        "SELECT COUNT(*) AS count FROM sb_outbox WHERE channel = 'realtime'",
        &[("count", "0")],
    );
    scene.database.drop();
}

#[test]
fn clients_hear_what_is_so_when_they_hear_it() {
    let service = StandIn::start(|_| Reply::of(500, &[], "no"));
    let (mut scene, core) = scene("later", &service.url(""), true, &[]);
    call(&core, "sb_send_message", &json!([3, 1, "first"]));
    call(&core, "sb_send_message", &json!([3, 1, "second"]));
    core.end();
    scene.expect(
        "SELECT GROUP_CONCAT(state, attempts, failure ORDER BY id) AS tries FROM sb_outbox",
        &[(
            "tries",
            "01refused with HTTP status 500: no,01refused with HTTP status 500: no",
        )],
    );
    // It is back; meanwhile one message is another, and one is gone.
    let service = realtime::start(&[]);
    let settings = settings(&service.url("")).to_string().replace('\\', r"\\");
    scene.run(&format!(
        "UPDATE sb_settings SET value = '{settings}' WHERE name = 'settings'"
    ));
    scene.run("UPDATE sb_messages SET message = 'changed' WHERE message = 'first'");
    scene.run("DELETE FROM sb_messages WHERE message = 'second'");
    scene.run("UPDATE sb_outbox SET next_try = UTC_TIMESTAMP()");
    assert_eq!(scene.core().deliver_due().unwrap(), 2);
    let requests = service.received();
    assert_eq!(requests.len(), 1);
    assert_eq!(told(&requests[0]).2["message"], "changed");
    scene.expect(
        "SELECT COUNT(*) AS count FROM sb_outbox WHERE state = 2",
        &[("count", "2")],
    );
    scene.database.drop();
}

#[test]
fn a_message_that_is_too_long_for_the_service_is_told_without_its_text() {
    let service = realtime::start(&[]);
    let (scene, core) = scene("long", &service.url(""), true, &[]);
    let sent = call(&core, "sb_send_message", &json!([3, 1, "ä\"\n".repeat(15_000)]));
    core.end();
    let (channels, name, data) = told(&service.received()[0]);
    assert_eq!((channels.len(), name.as_str()), (3, "message"));
    assert_eq!(
        (&data["id"], &data["truncated"]),
        (&json!(sent["message-id"].to_string()), &json!(true))
    );
    assert_eq!((data.get("message"), &data["conversation_id"]), (None, &json!("1")));
    scene.database.drop();
}

#[test]
fn what_is_rolled_back_is_not_told() {
    let service = realtime::start(&[]);
    let (mut scene, core) = scene("rolled back", &service.url(""), true, &[]);
    answer(&core, "sb_db_query", ["START TRANSACTION".into()]);
    call(&core, "sb_send_message", &json!([3, 1, "never"]));
    core.end();
    assert!(service.received().is_empty());
    scene.expect("SELECT COUNT(*) AS count FROM sb_outbox", &[("count", "0")]);
    scene.database.drop();
}

#[test]
fn nothing_is_recorded_while_the_integration_is_off_or_not_set() {
    let service = realtime::start(&[]);
    for (name, change) in [("off", "realtime-active"), ("not set", "realtime-secret")] {
        let mut settings = settings(&service.url(""));
        settings["realtime"][0][change] = json!(["", "text"]);
        let (mut scene, core) = scene_with(name, &settings, true, &[]);
        call(&core, "sb_send_message", &json!([3, 1, "Hello"]));
        core.end();
        scene.expect("SELECT COUNT(*) AS count FROM sb_outbox", &[("count", "0")]);
        // What was recorded before is not told any more, and is no failure.
        scene.run(
            "INSERT INTO sb_outbox (channel, event, payload, next_try, created)
             VALUES ('realtime', 'message', '{\"message_id\":\"1\"}', UTC_TIMESTAMP(), UTC_TIMESTAMP())",
        );
        assert_eq!(core.deliver_due().unwrap(), 1);
        scene.expect(
            "SELECT CAST(state AS CHAR) AS state FROM sb_outbox WHERE failure IS NULL",
            &[("state", "2")],
        );
        scene.database.drop();
    }
    assert!(service.received().is_empty());
}

#[test]
fn webhooks_and_clients_hear_of_the_same() {
    let service = realtime::start(&[]);
    let receiver = StandIn::start(|_| Reply::of(204, &[], ""));
    let mut settings = settings(&service.url(""));
    settings["webhooks"] =
        json!([{"webhooks-active": [true, "checkbox"], "webhooks-url": [receiver.url("/"), "text"]}, "multi-input"]);
    let (mut scene, core) = scene_with("both", &settings, true, &[]);
    call(&core, "sb_send_message", &json!([3, 1, "Hello"]));
    core.end();
    assert_eq!(told(&service.received()[0]).2["message"], "Hello");
    let hook: Value = serde_json::from_slice(&receiver.received()[0].bytes).unwrap();
    assert_eq!(
        (&hook["function"], &hook["data"]["message"]),
        (&json!("message-sent"), &json!("Hello"))
    );
    scene.expect(
        "SELECT GROUP_CONCAT(channel, state ORDER BY id) AS states FROM sb_outbox",
        &[("states", "realtime2,webhook2")],
    );
    scene.database.drop();
}

#[test]
fn a_service_that_is_down_costs_the_caller_nothing_but_time() {
    let (mut scene, core) = scene("down", &nowhere(), true, &[]);
    let sent = call(&core, "sb_send_message", &json!([3, 1, "Hello"]));
    assert_eq!(sent["status"], "success");
    let started = Instant::now();
    core.end();
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    scene.expect("SELECT CAST(state AS CHAR) AS state FROM sb_outbox", &[("state", "0")]);
    scene.database.drop();
}

/// What the server is reached by.
fn settings_of_server(server: &RealtimeServer, secret: &str) -> Value {
    settings_of(
        realtime_server::ID,
        realtime_server::KEY,
        secret,
        "http",
        server.host(),
        &server.port(),
    )
}

/// A customer, an agent and another customer, each subscribed to what is theirs to hear, and refused what is not.
fn browsers(server: &RealtimeServer, api: &StandIn) -> Browsers {
    let mut browsers = Browsers::open(
        server,
        &api.url("/v1/realtime/auth"),
        &[
            "carla=sb_live_carla=private-user-3,private-conversation-1,presence-users,private-user-7,presence-agents",
            "ben=sb_live_ben=presence-agents",
            "emil=sb_live_emil=private-user-7,private-conversation-1",
        ],
    );
    for (who, channel) in [
        ("carla", "private-user-3"),
        ("carla", "private-conversation-1"),
        ("carla", "presence-users"),
        ("ben", "presence-agents"),
        ("emil", "private-user-7"),
    ] {
        browsers.wait_for(&json!({"who": who, "subscribed": channel}));
    }
    for (who, channel, status) in [
        ("carla", "private-user-7", 403),
        ("carla", "presence-agents", 403),
        ("emil", "private-conversation-1", 404),
    ] {
        browsers.wait_for(&json!({"who": who, "refused": channel, "status": status}));
    }
    browsers
}

/// A real server where there is one, and what stands in for it.
fn servers() -> impl Iterator<Item = RealtimeServer> {
    RealtimeServer::real().into_iter().chain([RealtimeServer::stand_in()])
}

#[test]
fn a_server_of_the_protocol_carries_events_to_browsers() {
    servers().for_each(|server| carries_events(&server));
}

/// The provider's own SDKs first, for servers and for browsers, and then ours.
fn carries_events(server: &RealtimeServer) {
    let secret = realtime_server::SECRET;
    let seen = seen_by_the_sdk(
        server.host(),
        &server.port(),
        realtime_server::ID,
        realtime_server::KEY,
        secret,
    );
    check_what_the_sdk_sees(&seen);
    let keys = include_str!("fixtures/api-keys.sql").trim_end().trim_end_matches(';');
    let (scene, core) = scene_with("real server", &settings_of_server(server, secret), true, &[keys]);
    assert_eq!(call(&core, "sb_realtime_init", &json!([])), true);
    assert_eq!(call(&core, "sb_realtime_get_online_users", &json!([])), json!([]));
    assert_eq!(call(&core, "sb_realtime_agents_online", &json!([])), false);
    let mut browsers = browsers(server, &realtime_server::api(&scene));

    // Who is there.
    let online = call(&core, "sb_realtime_get_online_users", &json!([]));
    assert_eq!(online, json!([{"id": "2"}, {"id": "3"}]));
    assert_eq!(call(&core, "sb_realtime_agents_online", &json!([])), true);
    // Another process: this one believes for a while that nobody is.
    assert_eq!(call(&scene.core(), "sb_is_user_online", &json!(["3"])), true);
    assert_eq!(call(&scene.core(), "sb_is_user_online", &json!(["7"])), false);

    // An event of one's own.
    let data = json!({"text": "Ciao 👋", "number": 7});
    assert_eq!(
        call(
            &core,
            "sb_realtime_trigger",
            &json!(["private-user-3", "greeting", data])
        ),
        true
    );
    browsers.wait_for(&json!({"who": "carla", "channel": "private-user-3", "event": "greeting", "data": data}));

    // A message, for the owner of the conversation and for agents, and for nobody else.
    call(&core, "sb_send_message", &json!([2, 1, "It is on its way 📦"]));
    core.end();
    for (who, channel) in [
        ("carla", "private-conversation-1"),
        ("carla", "private-user-3"),
        ("ben", "presence-agents"),
    ] {
        let told = browsers.wait_for(&json!({"who": who, "channel": channel, "event": "message"}));
        assert_eq!(
            (&told["data"]["message"], &told["data"]["user_type"]),
            (&json!("It is on its way 📦"), &json!("agent"))
        );
    }
    // A note, for agents only; then a sign by which one sees that nothing else came.
    call(&core, "sb_add_note", &json!(["1", "2", "Ben", "is impatient"]));
    core.end();
    browsers.wait_for(&json!({"who": "ben", "channel": "presence-agents", "event": "note.created"}));
    for user in ["3", "7"] {
        let channel = format!("private-user-{user}");
        assert_eq!(call(&core, "sb_realtime_trigger", &json!([channel, "end"])), true);
    }
    for who in ["carla", "emil"] {
        browsers.wait_for(&json!({"who": who, "event": "end"}));
    }
    let strayed = browsers.seen(&json!({"who": "emil", "event": "message"}))
        || browsers.seen(&json!({"who": "carla", "event": "note.created"}));
    assert!(!strayed, "what is not theirs to know");

    // Gone with their pages.
    drop(browsers);
    let started = Instant::now();
    while call(&core, "sb_realtime_agents_online", &json!([])) == true {
        assert!(started.elapsed() < Duration::from_secs(10), "the agent has gone");
        std::thread::sleep(Duration::from_millis(50));
    }
    scene.database.drop();
}

#[test]
fn what_a_server_refuses_is_said_in_its_words() {
    servers().for_each(|server| refuses(&server));
}

fn refuses(server: &RealtimeServer) {
    let refused = |name: &str, secret: &str, data: &str| {
        let installation = Installed::new(name, "people", &settings_of_server(server, secret), &[]);
        installation.error("sb_realtime_trigger", &json!(["a", "b", {"text": data}]))
    };
    let long = "x".repeat(11_000);
    for (name, secret, data, status) in [
        ("wrong secret", "planted", "", 401),
        ("much data", realtime_server::SECRET, long.as_str(), 413),
    ] {
        let (code, message) = refused(name, secret, data);
        assert_eq!(code, "realtime-error");
        let beginning = format!("refused with HTTP status {status}: ");
        assert!(
            message.starts_with(&beginning) && message.len() > beginning.len(),
            "{message}"
        );
    }
}
