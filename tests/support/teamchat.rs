//! The team-messaging service as its published schema describes it: a stand-in that is as strict as the service, and
//! whose own answers are held against the schema too.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::stand_in::{Received, Reply, StandIn, fields};

/// The token that opens the workspace.
pub const TOKEN: &str = "xoxb-12-planted-token";

/// How many people the workspace has: more than a page holds.
pub const PEOPLE: usize = 230;

/// How many channels it has: the first is everybody's, of the last 25 the app is a member, and one of these is locked.
pub const CHANNELS: usize = 205;
pub const LOCKED: &str = "C00000190";

/// Who is in the workspace, but cannot be invited.
pub const UNINVITED: &str = "U0230";

/// What has happened in the workspace.
#[derive(Default)]
struct State {
    archived: BTreeSet<String>,
    /// The names of the channels that were made, in the order of their ids.
    made: Vec<String>,
    /// Who is in which channel.
    members: BTreeSet<(String, String)>,
}

/// The service's own description (Swagger 2.0).
static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let mut schema = serde_json::from_str(include_str!("../fixtures/teamchat.swagger2.json")).unwrap();
    repair(&mut schema);
    schema
});

/// Starts a workspace that first answers so often that it is asked too often.
pub fn start(too_often: usize) -> StandIn {
    let mut too_often = too_often;
    let mut state = State::default();
    StandIn::start(move |request| {
        if too_often > 0 {
            too_often -= 1;
            return Reply::of(429, &[("retry-after", "1")], r#"{"ok":false,"error":"ratelimited"}"#);
        }
        Reply::json(answer(request, &mut state).to_string())
    })
}

/// Everyone in the workspace: people, and between them those who are none.
pub fn everyone() -> Vec<Value> {
    let people = (1..=PEOPLE).map(|number| user(&format!("U{number:04}"), &format!("Person {number}"), false, false));
    let mut everyone: Vec<_> = people.collect();
    everyone.insert(0, user("USLACKBOT", "Slackbot", false, false));
    everyone.insert(3, user("U9001", "A bot", true, false));
    everyone.insert(210, user("U9002", "Who has left", false, true));
    everyone
}

fn user(id: &str, real_name: &str, is_bot: bool, deleted: bool) -> Value {
    // Person 2 has no full name, person 3 neither that nor a shown one.
    let (real_name, display_name) = match id {
        "U0002" => ("", "two"),
        "U0003" => ("", ""),
        _ => (real_name, "shown"),
    };
    json!({
        "id": id, "team_id": "T00000001", "name": id.to_lowercase(), "deleted": deleted, "is_bot": is_bot,
        "is_app_user": false, "updated": 1_700_000_000,
        "profile": {
            "real_name": real_name, "real_name_normalized": real_name, "display_name": display_name,
            "display_name_normalized": display_name, "avatar_hash": "g0", "title": "", "phone": "", "skype": "",
            "status_text": "", "status_emoji": "", "fields": null, "email": format!("{}@example.com", id.to_lowercase()),
        },
    })
}

fn answer(request: &Received, state: &mut State) -> Value {
    let method = request.path.trim_start_matches("/api");
    // The service takes either verb for every method; the schema has one of them.
    let operation = &SCHEMA["paths"][method];
    let operation = operation.as_object().and_then(|verbs| verbs.iter().next());
    let Some((verb, operation)) = operation.filter(|_| matches!(request.method.as_str(), "GET" | "POST")) else {
        return json!({"ok": false, "error": "unknown_method"});
    };
    let mut parameters = request.query.clone();
    match request.header("content-type") {
        Some("application/x-www-form-urlencoded") => parameters.extend(fields(&request.body)),
        None => {}
        // So the SDK sends a request without parameters.
        Some(kind) if kind.starts_with("application/json") && request.body.is_empty() => {}
        Some(kind) if kind.starts_with("application/json") => {
            let given: serde_json::Map<String, Value> = serde_json::from_str(&request.body).unwrap();
            let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            parameters.extend(given.into_iter().map(|(name, value)| (name, text(value))));
        }
        Some(_) => return json!({"ok": false, "error": "invalid_post_type"}),
    }
    let refusal = |error| json!({"ok": false, "error": error});
    let reply = match request.header("authorization") {
        None => refusal("not_authed"),
        Some(header) if header != format!("Bearer {TOKEN}") => refusal("invalid_auth"),
        Some(_) if !fit(operation, &parameters) => refusal("invalid_arg_name"),
        Some(_) => match method {
            "/users.list" => users_list(&parameters),
            "/conversations.list" => conversations_list(&parameters, state),
            "/conversations.archive" => conversations_archive(&parameters, state),
            "/conversations.create" => conversations_create(&parameters, state),
            "/conversations.invite" => conversations_invite(&parameters, state),
            "/chat.postMessage" => chat_post_message(&parameters, state),
            _ => refusal("unknown_method"),
        },
    };
    let response = if reply["ok"] == true { "200" } else { "default" };
    let validator = validator(&format!(
        "#/paths/~1{}/{verb}/responses/{response}/schema",
        &method[1..]
    ));
    if let Err(error) = validator.validate(&reply) {
        panic!(
            "the stand-in's own answer is none of the service's: {error} at {}",
            error.instance_path()
        );
    }
    reply
}

/// Whether the parameters are those that the schema names, each of its type, and the required ones are there.
fn fit(operation: &Value, parameters: &[(String, String)]) -> bool {
    let known = operation["parameters"].as_array().unwrap();
    let given = |name: &Value| parameters.iter().filter(|(given, _)| name == given).collect::<Vec<_>>();
    let is_of_type = |value: &str, kind: &Value| match kind.as_str().unwrap() {
        "integer" => value.parse::<i64>().is_ok(),
        "boolean" => matches!(value, "true" | "false" | "0" | "1"),
        _ => true,
    };
    parameters
        .iter()
        .all(|(name, _)| known.iter().any(|known| known["name"] == *name))
        && known.iter().all(|known| match given(&known["name"])[..] {
            // The token may come in the header in its place.
            [] => known["required"] != true || known["name"] == "token",
            [(_, value)] => is_of_type(value, &known["type"]),
            _ => false,
        })
}

fn given<'a>(parameters: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let (_, value) = parameters.iter().find(|(given, _)| given == name)?;
    Some(value)
}

/// The page of a list that the parameters ask for, and the cursor of the next; `None` for a cursor of nobody's.
fn page(all: &[Value], parameters: &[(String, String)]) -> Option<(Vec<Value>, String)> {
    let limit = given(parameters, "limit").map_or(all.len(), |limit| limit.parse().unwrap());
    let begin = match given(parameters, "cursor") {
        None | Some("") => 0,
        Some(cursor) => cursor.strip_prefix("dXNlcjo=+/")?.parse().ok()?,
    };
    if begin >= all.len().max(1) {
        return None;
    }
    let end = all.len().min(begin + limit);
    let next = if end < all.len() {
        format!("dXNlcjo=+/{end}")
    } else {
        String::new()
    };
    Some((all[begin..end].to_vec(), next))
}

fn users_list(parameters: &[(String, String)]) -> Value {
    match page(&everyone(), parameters) {
        None => json!({"ok": false, "error": "invalid_cursor"}),
        Some((members, next)) => json!({
            "ok": true, "members": members, "cache_ts": 1_700_000_000, "response_metadata": {"next_cursor": next},
        }),
    }
}

/// A channel as lists have it.
fn channel(number: usize, name: &str, state: &State) -> Value {
    let id = format!("C{number:08}");
    let text = json!({"value": "", "creator": "", "last_set": 0});
    json!({
        "id": id, "name": name, "name_normalized": name,
        "created": 1_700_000_000, "creator": "U0001", "is_archived": state.archived.contains(&id), "is_channel": true,
        "is_general": number == 1, "is_mpim": false, "is_group": false, "is_org_shared": false, "is_im": false,
        "is_shared": false, "is_private": number == CHANNELS, "is_member": number == 1 || number > CHANNELS - 25,
        "topic": text, "purpose": text,
    })
}

fn conversations_list(parameters: &[(String, String)], state: &State) -> Value {
    let without_archived = matches!(given(parameters, "exclude_archived"), Some("true" | "1"));
    let names = (1..=CHANNELS)
        .map(|number| format!("channel-{number}"))
        .chain(state.made.iter().cloned());
    let channels = (1..).zip(names).map(|(number, name)| channel(number, &name, state));
    let channels: Vec<Value> = channels
        .filter(|channel| !without_archived || channel["is_archived"] == false)
        .collect();
    match page(&channels, parameters) {
        None => json!({"ok": false, "error": "invalid_arg_name"}),
        Some((channels, next)) => json!({
            "ok": true, "channels": channels, "response_metadata": {"next_cursor": next},
        }),
    }
}

fn conversations_create(parameters: &[(String, String)], state: &mut State) -> Value {
    let name = given(parameters, "name").unwrap_or_default();
    let is_special = |byte: u8| !matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    let error = match name {
        "" => "invalid_name_required",
        name if name.len() > 80 => "invalid_name_maxlength",
        name if name.bytes().any(is_special) => "invalid_name_specials",
        name if state.made.iter().any(|made| made == name) => "name_taken",
        name => {
            state.made.push(name.to_owned());
            return json!({"ok": true, "channel": channel(CHANNELS + state.made.len(), name, state)});
        }
    };
    json!({"ok": false, "error": error})
}

/// The number of a channel that the token is in and that is not archived.
fn open_channel(id: &str, state: &State) -> Result<usize, &'static str> {
    let number: usize = id.trim_start_matches('C').parse().unwrap_or_default();
    match number {
        _ if state.archived.contains(id) => Err("is_archived"),
        number if number > CHANNELS - 25 && number <= CHANNELS + state.made.len() => Ok(number),
        _ => Err("channel_not_found"),
    }
}

fn conversations_invite(parameters: &[(String, String)], state: &mut State) -> Value {
    let id = given(parameters, "channel").unwrap_or_default();
    let number = match open_channel(id, state) {
        Ok(number) => number,
        Err(error) => return json!({"ok": false, "error": error}),
    };
    let users: Vec<&str> = given(parameters, "users").unwrap_or_default().split(',').collect();
    let refusal = |user: &str| match user {
        "" => Some("no_user"),
        UNINVITED => Some("cant_invite"),
        user if !everyone().iter().any(|own| own["id"] == user) => Some("user_not_found"),
        user if state.members.contains(&(id.to_owned(), user.to_owned())) => Some("already_in_channel"),
        _ => None,
    };
    if let Some(error) = users.iter().find_map(|user| refusal(user)) {
        return json!({"ok": false, "error": error});
    }
    state
        .members
        .extend(users.iter().map(|user| (id.to_owned(), (*user).to_owned())));
    let name = state
        .made
        .get(number.wrapping_sub(CHANNELS + 1))
        .cloned()
        .unwrap_or_default();
    json!({"ok": true, "channel": channel(number, &name, state)})
}

fn chat_post_message(parameters: &[(String, String)], state: &State) -> Value {
    let (id, text) = (
        given(parameters, "channel").unwrap_or_default(),
        given(parameters, "text").unwrap_or_default(),
    );
    let error = match open_channel(id, state) {
        Err(error) => error,
        Ok(_) if text.is_empty() => "no_text",
        Ok(_) if text.chars().count() > 40_000 => "msg_too_long",
        Ok(_) => {
            let ts = "1700000000.000100";
            let message =
                json!({"type": "message", "text": text, "ts": ts, "bot_id": "B00000001", "user": "U00000001"});
            return json!({"ok": true, "channel": id, "ts": ts, "message": message});
        }
    };
    json!({"ok": false, "error": error})
}

fn conversations_archive(parameters: &[(String, String)], state: &mut State) -> Value {
    let channel = given(parameters, "channel").unwrap_or_default();
    let number: usize = channel.trim_start_matches('C').parse().unwrap_or_default();
    let error = match number {
        0 => "channel_not_found",
        1 => "cant_archive_general",
        number if number > CHANNELS + state.made.len() => "channel_not_found",
        number if number <= CHANNELS - 25 || channel == LOCKED => "restricted_action",
        _ if !state.archived.insert(channel.to_owned()) => "already_archived",
        _ => return json!({"ok": true}),
    };
    json!({"ok": false, "error": error})
}

/// The judge of one part of the schema.
fn validator(part: &str) -> Validator {
    let mut schema = SCHEMA.clone();
    schema["allOf"] = json!([{"$ref": part}]);
    jsonschema::draft4::new(&schema).unwrap()
}

/// Writes `anyOf` where the schema writes `items` for alternatives: as `items` they would judge nothing but arrays.
fn repair(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if !map.contains_key("type")
                && map.get("items").is_some_and(Value::is_array)
                && let Some(alternatives) = map.remove("items")
            {
                map.insert("anyOf".to_owned(), alternatives);
            }
            map.values_mut().for_each(repair);
        }
        Value::Array(items) => items.iter_mut().for_each(repair),
        _ => {}
    }
}
