//! The realtime push service as its published reference has it: a stand-in that checks every signature and says who is on
//! which presence channel.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use openssl::hash::{MessageDigest, hash};
use openssl::pkey::PKey;
use openssl::sign::Signer;
use regex::Regex;
use serde_json::{Value, json};

use super::stand_in::{Received, Reply, StandIn};

pub const ID: &str = "1042";
pub const KEY: &str = "278d425bdf160c739803";
pub const SECRET: &str = "planted-realtime-secret";

/// How many bytes of data an event may have.
const LIMIT: usize = 10 * 1024;

/// Starts a service with members on its presence channels.
pub fn start(members: &[(&str, &[&str])]) -> StandIn {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let members: BTreeMap<String, Vec<String>> = members
        .iter()
        .map(|&(channel, ids)| (channel.to_owned(), owned(ids)))
        .collect();
    StandIn::start(move |request| answer(request, &members))
}

/// The settings of the integration with a service at an address.
pub fn settings(url: &str) -> Value {
    let (scheme, place) = url.split_once("://").unwrap();
    let (host, port) = place.trim_end_matches('/').rsplit_once(':').unwrap();
    settings_of(ID, KEY, SECRET, scheme, host, port)
}

pub fn settings_of(id: &str, key: &str, secret: &str, scheme: &str, host: &str, port: &str) -> Value {
    json!({"realtime": [{
        "realtime-active": [true, "checkbox"], "realtime-id": [format!(" {id}"), "text"], "realtime-key": [key, "text"],
        "realtime-secret": [format!("{secret}\n"), "password"], "realtime-cluster": ["eu", "text"],
        "realtime-host": [host, "text"], "realtime-port": [port, "number"], "realtime-scheme": [scheme, "text"],
    }, "multi-input"]})
}

/// The signature of a text by the application's secret.
pub fn signature(text: &str) -> String {
    let key = PKey::hmac(SECRET.as_bytes()).unwrap();
    let mut signer = Signer::new(MessageDigest::sha256(), &key).unwrap();
    hexadecimal(&signer.sign_oneshot_to_vec(text.as_bytes()).unwrap())
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .map(|digit| char::from_digit(digit.into(), 16).unwrap())
        .collect()
}

fn answer(request: &Received, members: &BTreeMap<String, Vec<String>>) -> Reply {
    let refused = |status, text: &str| Reply::of(status, &[("content-type", "text/plain")], text);
    if let Err(text) = check_signature(request) {
        return refused(401, &text);
    }
    let Some(path) = request.path.strip_prefix(&format!("/apps/{ID}/")) else {
        return refused(404, "There is no such application");
    };
    let found = match (request.method.as_str(), path.split('/').collect::<Vec<_>>().as_slice()) {
        ("POST", ["events"]) => trigger(request),
        ("GET", ["channels", channel, "users"]) if channel.starts_with("presence-") => {
            let ids = members.get(*channel).cloned().unwrap_or_default();
            let users: Vec<Value> = ids.into_iter().map(|id| json!({"id": id})).collect();
            Ok(json!({"users": users}))
        }
        ("GET", ["channels", _, "users"]) => Err((400, "Users can only be retrieved for presence channels")),
        _ => Err((404, "There is no such resource")),
    };
    match found {
        Ok(body) => Reply::json(body.to_string()),
        Err((status, text)) => refused(status, text),
    }
}

/// The reference: the parameters but the signature, sorted by their names and joined, behind method and path.
fn check_signature(request: &Received) -> Result<(), String> {
    let mut parameters: BTreeMap<_, _> = request.query.iter().cloned().collect();
    let given = parameters.remove("auth_signature").unwrap_or_default();
    let parameter = |name: &str| parameters.get(name).map(String::as_str).unwrap_or_default();
    if parameter("auth_key") != KEY {
        return Err("Unknown auth_key".into());
    }
    if parameter("auth_version") != "1.0" {
        return Err("Unsupported authentication version".into());
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    if parameter("auth_timestamp")
        .parse::<u64>()
        .unwrap_or_default()
        .abs_diff(now)
        > 600
    {
        return Err("Timestamp expired: it is not within 600 s of the server's time".into());
    }
    let digest = hexadecimal(&hash(MessageDigest::md5(), &request.bytes).unwrap());
    let has_digest = parameters.contains_key("body_md5");
    if has_digest && parameter("body_md5") != digest || !has_digest && !request.bytes.is_empty() {
        return Err("Invalid body_md5".into());
    }
    let joined: Vec<String> = parameters
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let signed = format!("{}\n{}\n{}", request.method, request.path, joined.join("&"));
    if signature(&signed) == given {
        Ok(())
    } else {
        Err("Invalid signature: you should have sent another one".into())
    }
}

fn trigger(request: &Received) -> Result<Value, (u16, &'static str)> {
    let is_json = request
        .header("content-type")
        .is_some_and(|kind| kind.starts_with("application/json"));
    let body: Value = serde_json::from_slice(&request.bytes).map_err(|_| (400, "Invalid JSON"))?;
    let known = ["name", "channels", "channel", "data", "socket_id", "info"];
    let entries = body
        .as_object()
        .filter(|_| is_json)
        .ok_or((400, "The body is no JSON object"))?;
    if entries.keys().any(|name| !known.contains(&name.as_str())) {
        return Err((400, "Unknown field"));
    }
    let name = body["name"].as_str().ok_or((400, "Missing required parameter: name"))?;
    let data = body["data"].as_str().ok_or((400, "Missing required parameter: data"))?;
    let channels: Vec<&str> = match (&body["channels"], &body["channel"]) {
        (Value::Array(channels), _) => channels.iter().filter_map(Value::as_str).collect(),
        (_, Value::String(channel)) => vec![channel],
        _ => return Err((400, "Missing required parameter: channels")),
    };
    let is_channel = Regex::new(r"^[A-Za-z0-9_\-=@,.;]{1,164}$").unwrap();
    if name.chars().count() > 200 || channels.is_empty() || channels.len() > 100 {
        return Err((400, "Too long"));
    }
    if channels.iter().any(|channel| !is_channel.is_match(channel)) {
        return Err((400, "Invalid channel name"));
    }
    if data.len() > LIMIT {
        return Err((
            413,
            "The data content of this event exceeds the allowed maximum (10240 bytes)",
        ));
    }
    Ok(json!({}))
}
