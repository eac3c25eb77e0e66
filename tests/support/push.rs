//! The push service as its published reference has it: a stand-in that is as strict about what is published.

use regex::Regex;
use serde_json::{Map, Value, json};

use super::stand_in::{Received, Reply, StandIn};

pub const INSTANCE: &str = "8f9a6e22-2483-49aa-8552-125f1a4c5781";
pub const KEY: &str = "planted-push-key";

/// How many bytes a publish may have.
const LIMIT: usize = 10 * 1024;

/// Starts a service.
pub fn start() -> StandIn {
    let mut count = 0;
    StandIn::start(move |request| {
        count += 1;
        let (status, body) = match publish(request) {
            Ok(()) => (200, json!({"publishId": format!("pubid-{count}")})),
            Err((status, error, description)) => (status, json!({"error": error, "description": description})),
        };
        Reply::of(status, &[("content-type", "application/json")], body.to_string())
    })
}

type Refusal = (u16, &'static str, String);

fn publish(request: &Received) -> Result<(), Refusal> {
    let refused = |status, error, description: &str| Err((status, error, description.to_owned()));
    if request.header("authorization") != Some(&format!("Bearer {KEY}")) {
        return refused(401, "Unauthorized", "Incorrect API Key");
    }
    let path = format!("/publish_api/v1/instances/{INSTANCE}/publishes/interests");
    if request.method != "POST" || request.path != path {
        return refused(404, "Instance not found", "Could not find the instance");
    }
    if !request
        .header("content-type")
        .is_some_and(|kind| kind.starts_with("application/json"))
    {
        return refused(400, "Bad request", "Content-Type must be application/json");
    }
    if request.bytes.len() > LIMIT {
        return refused(413, "Payload too large", "The request body is larger than 10KiB");
    }
    let Ok(Value::Object(body)) = serde_json::from_slice(&request.bytes) else {
        return refused(400, "Bad request", "The body is no JSON object");
    };
    check(&body).map_err(|description| (422, "Unprocessable Entity", description))
}

fn check(body: &Map<String, Value>) -> Result<(), String> {
    only(body, &["interests", "web"])?;
    let interest = Regex::new(r"^[A-Za-z0-9_\-=@,.;]{1,164}$").unwrap();
    let interests = body
        .get("interests")
        .and_then(Value::as_array)
        .ok_or("interests is no list")?;
    if !(1..=100).contains(&interests.len()) {
        return Err("there must be 1 to 100 interests".into());
    }
    if !interests
        .iter()
        .all(|name| name.as_str().is_some_and(|name| interest.is_match(name)))
    {
        return Err("an interest has a forbidden character".into());
    }
    let web = body
        .get("web")
        .and_then(Value::as_object)
        .ok_or("there is nothing to show")?;
    only(web, &["notification", "data", "time_to_live"])?;
    let shown = web
        .get("notification")
        .and_then(Value::as_object)
        .ok_or("web has no notification")?;
    only(
        shown,
        &[
            "title",
            "body",
            "icon",
            "deep_link",
            "hide_notification_if_site_has_focus",
        ],
    )?;
    let is_text = |name: &str| shown.get(name).is_none_or(Value::is_string);
    if !["title", "body", "icon", "deep_link"].into_iter().all(is_text) {
        return Err("what is shown is text".into());
    }
    match web.get("data") {
        None => Ok(()),
        Some(Value::Object(data)) if !data.contains_key("pusher") => Ok(()),
        Some(_) => Err("data is an object without the key pusher".into()),
    }
}

fn only(object: &Map<String, Value>, known: &[&str]) -> Result<(), String> {
    match object.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(format!("unknown field {name}")),
        None => Ok(()),
    }
}
