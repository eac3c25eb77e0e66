//! The language model as its published description has it: a stand-in that is as strict as the service, keeps the files
//! that it is sent, and whose own answers are held against the description too.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::openapi::OpenApi;
use super::stand_in::{Received, Reply, StandIn};

pub const KEY: &str = "sk-planted-key";

const MULTIPART: &str = "multipart/form-data";

static API: LazyLock<OpenApi> = LazyLock::new(|| OpenApi::new(include_str!("../fixtures/llm.openapi.json")));

/// A part of a form with files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub name: String,
    pub file_name: Option<String>,
    pub media_type: Option<String>,
    pub content: Vec<u8>,
}

/// Starts a model that first says so often that it is asked too often.
pub fn start(too_often: usize) -> StandIn {
    let mut too_often = too_often;
    let mut files = BTreeMap::new();
    StandIn::start(move |request| {
        let refused = |status, code: &str| Err((status, refusal("planted refusal", "tokens", code)));
        let answer = if too_often > 0 {
            too_often -= 1;
            refused(429, "rate_limit_exceeded")
        } else if request.header("authorization") != Some(&format!("Bearer {KEY}")) {
            refused(401, "invalid_api_key")
        } else {
            answer(request, &mut files)
        };
        match answer {
            Ok((media_type, body)) => Reply::of(200, &[("content-type", media_type)], body),
            Err((status, refusal)) => {
                let headers = [("content-type", "application/json"), ("retry-after", "1")];
                Reply::of(status, &headers, refusal.to_string())
            }
        }
    })
}

/// A refusal as the service writes it.
pub fn refusal(message: &str, kind: &str, code: &str) -> Value {
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}

type Answer = Result<(&'static str, Vec<u8>), (u16, Value)>;

fn answer(request: &Received, files: &mut BTreeMap<String, (Value, Vec<u8>)>) -> Answer {
    let invalid = |message: &str| Err((400, refusal(message, "invalid_request_error", "invalid")));
    let path = request.path.strip_prefix("/v1").unwrap_or_default();
    let Some(operation) = API.operation(&request.method, path) else {
        return Err((404, refusal("Invalid URL", "invalid_request_error", "unknown_url")));
    };
    if let Err(fault) = operation.check_parameters(&request.query) {
        return invalid(&fault);
    }
    let kind = request.header("content-type").unwrap_or_default();
    let parts = if kind.starts_with(MULTIPART) {
        parts(request)
    } else {
        Vec::new()
    };
    let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
    let fault = if !operation.takes_body() {
        None
    } else if kind.starts_with(MULTIPART) {
        let fields: Vec<_> = parts
            .iter()
            .map(|part| (part.name.clone(), String::from_utf8_lossy(&part.content).into_owned()))
            .collect();
        operation
            .check_body(MULTIPART, &operation.form(MULTIPART, &fields))
            .err()
    } else if kind.starts_with("application/json") {
        operation.check_body("application/json", &body).err()
    } else {
        Some(format!("a body of the type {kind:?}"))
    };
    if let Some(fault) = fault {
        return invalid(&fault);
    }
    let assistants = request.header("openai-beta") == Some("assistants=v2");
    let answer = match (request.method.as_str(), path) {
        ("GET", "/models") => {
            let model = |id| json!({"id": id, "created": 1_700_000_000, "object": "model", "owned_by": "test"});
            json!({"object": "list", "data": [model("small"), model("large")]})
        }
        ("POST", "/chat/completions") => {
            let said = body["messages"]
                .as_array()
                .and_then(|messages| messages.last()?["content"].as_str().map(str::to_owned));
            let message =
                json!({"role": "assistant", "content": format!("Echo: {}", said.unwrap_or_default()), "refusal": null});
            json!({
                "id": "chatcmpl-1", "object": "chat.completion", "created": 1_700_000_000, "model": body["model"],
                "choices": [{"index": 0, "finish_reason": "stop", "logprobs": null, "message": message}],
            })
        }
        ("POST", "/audio/speech") => return Ok(("audio/mpeg", b"\xff\xfb\x90\0sound".to_vec())),
        ("POST", "/files") => {
            let Some(file) = parts
                .iter()
                .find(|part| part.name == "file" && part.file_name.is_some())
            else {
                return invalid("'file' is no file");
            };
            let id = format!("file-{}", files.len() + 1);
            let purpose = parts.iter().find(|part| part.name == "purpose").unwrap();
            let record = json!({
                "id": id, "object": "file", "bytes": file.content.len(), "created_at": 1_700_000_000,
                "filename": file.file_name, "purpose": String::from_utf8_lossy(&purpose.content), "status": "uploaded",
            });
            files.insert(id, (record.clone(), file.content.clone()));
            record
        }
        ("GET", "/assistants") if assistants => {
            json!({"object": "list", "data": [], "first_id": null, "last_id": null, "has_more": false})
        }
        ("GET", "/assistants") => return invalid("the header OpenAI-Beta is missing"),
        ("GET", path) => {
            let id = path.trim_start_matches("/files/").trim_end_matches("/content");
            return match files.get(id) {
                Some((_, content)) => Ok(("application/octet-stream", content.clone())),
                None => Err((
                    404,
                    refusal("No such File object", "invalid_request_error", "not_found"),
                )),
            };
        }
        _ => return invalid("the stand-in does not have this"),
    };
    if path != "/assistants" {
        operation.assert_answer(200, &answer);
    }
    Ok(("application/json", answer.to_string().into_bytes()))
}

/// The parts of a form with files.
pub fn parts(request: &Received) -> Vec<Part> {
    let kind = request.header("content-type").unwrap();
    let boundary = kind.split("boundary=").nth(1).unwrap().trim_matches('"');
    let separator = format!("\r\n--{boundary}").into_bytes();
    let mut rest = [b"\r\n", &request.bytes[..]].concat();
    let mut parts = Vec::new();
    let find = |text: &[u8], what: &[u8]| text.windows(what.len()).position(|window| window == what);
    let mut next = find(&rest, &separator).unwrap();
    loop {
        rest.drain(..next + separator.len());
        if rest.starts_with(b"--") {
            return parts;
        }
        next = find(&rest, &separator).unwrap();
        let head_end = find(&rest, b"\r\n\r\n").unwrap();
        let head = String::from_utf8(rest[2..head_end].to_vec()).unwrap();
        let attribute = |name: &str| {
            let (_, value) = head.split_once(&format!("; {name}=\""))?;
            Some(value.split('"').next().unwrap().to_owned())
        };
        let media_type = head
            .lines()
            .find_map(|line| line.to_lowercase().strip_prefix("content-type: ").map(str::to_owned));
        parts.push(Part {
            name: attribute("name").unwrap(),
            file_name: attribute("filename"),
            media_type,
            content: rest[head_end + 4..next].to_vec(),
        });
    }
}
