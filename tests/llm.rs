//! The language model: its provider's own SDK and then ours against the same stand-in, and the function on top.
//!
//! `tests/support/mariadb cargo test --test llm`

// Tests may panic, their helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[path = "support/installed.rs"]
mod installed;
#[path = "support/llm.rs"]
mod llm;
#[allow(dead_code)]
#[path = "support/openapi.rs"]
mod openapi;
#[allow(dead_code)]
#[path = "support/stand_in.rs"]
mod stand_in;
mod support;

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use installed::Installed;
use llm::{KEY, Part, refusal};
use sb::contract::error::Exit;
use sb::contract::value::HostFile;
use serde_json::{Value, json};
use stand_in::{Reply, StandIn, nowhere};

fn settings(model: &StandIn, further: &[(&str, Value)]) -> Value {
    let mut children = json!({
        "llm-active": [true, "checkbox"], "llm-key": [format!("{KEY}\n"), "password"],
        "llm-url": [model.url("/v1/"), "text"],
    });
    for (name, value) in further {
        children[*name] = json!([value, "text"]);
    }
    json!({"llm": [children, "multi-input"]})
}

fn installed(name: &str, settings: &Value) -> Installed {
    Installed::new(name, "empty", settings, &[])
}

#[test]
fn the_providers_own_sdk_takes_the_stand_in_for_the_service() {
    let (model, busy) = (llm::start(0), llm::start(2));
    let output = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/sdk"))
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/llm_sdk.py"))
        .args([model.url("/v1/"), busy.url("/v1/"), KEY.to_owned()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (what, expected) in [
        ("models", json!(["small", "large"])),
        ("answer", json!("Echo: Hi")),
        ("file", json!(["notes.txt", 1024, "assistants"])),
        ("content", json!(true)),
        ("speech", json!("fffb9000736f756e64")),
        ("assistants", json!(0)),
        ("wrong key", json!(["AuthenticationError", 401, "invalid_api_key"])),
        ("wrong field", json!(["BadRequestError", 400, "invalid"])),
        ("wrong purpose", json!(["BadRequestError", 400, "invalid"])),
        ("no file", json!(["NotFoundError", 404, "not_found"])),
        ("too often", json!(["RateLimitError", 429, "rate_limit_exceeded"])),
        ("patient", json!("Echo: Hi")),
    ] {
        assert_eq!(seen[what], expected, "{what}");
    }
}

#[test]
fn a_request_goes_where_it_says() {
    let model = llm::start(0);
    let installation = installed("requests", &settings(&model, &[("llm-organization", json!("org-1"))]));
    let call = |arguments: Value| installation.call("sb_llm_curl", &arguments);
    let said = json!({"model": "small", "messages": [{"role": "user", "content": "Ciao \"tutti\" 👋"}]});
    let answer = call(json!(["chat/completions", said]));
    assert_eq!(answer["choices"][0]["message"]["content"], "Echo: Ciao \"tutti\" 👋");
    assert_eq!(call(json!(["/v1/chat/completions", said.to_string(), "post"])), answer);
    let models = call(json!(["models", [], "GET"]));
    assert_eq!(models["data"][1]["id"], "large");
    assert_eq!(
        call(json!(["assistants?limit=5", {"order": "asc"}, "GET"]))["has_more"],
        false
    );
    let received = model.received();
    for request in &received {
        assert_eq!(request.header("authorization"), Some(&*format!("Bearer {KEY}")));
        assert_eq!(request.header("openai-organization"), Some("org-1"));
    }
    let asked: Vec<_> = received
        .iter()
        .map(|request| (request.method.as_str(), request.path.as_str()))
        .collect();
    assert_eq!(
        asked,
        [
            ("POST", "/v1/chat/completions"),
            ("POST", "/v1/chat/completions"),
            ("GET", "/v1/models"),
            ("GET", "/v1/assistants")
        ]
    );
    let query = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(received[3].query, [query("limit", "5"), query("order", "asc")]);
    assert_eq!(received[3].header("openai-beta"), Some("assistants=v2"));
    assert_eq!(received[2].header("openai-beta"), None);
}

#[test]
fn what_is_no_json_comes_as_it_is() {
    let model = llm::start(0);
    let installation = installed("sound", &settings(&model, &[]));
    let speech = json!(["audio/speech", {"model": "tts-1", "voice": "alloy", "input": "Hi"}]);
    let Exit::Value(sound) = installation.exit("sb_llm_curl", &speech) else {
        panic!("no value")
    };
    assert_eq!(sound.as_bytes(), Some(&b"\xff\xfb\x90\0sound"[..]));
}

#[test]
fn a_file_of_the_uploads_is_sent() {
    let model = llm::start(0);
    let mut installation = installed("uploads", &settings(&model, &[]));
    let folder = tempfile::tempdir().unwrap();
    let uploads = folder.path().join("uploads/2026");
    fs::create_dir_all(&uploads).unwrap();
    let content: Vec<u8> = (0..=255).cycle().take(70_000).chain(*b"\r\n--\r\n").collect();
    fs::write(uploads.join("voice 1.ogg"), &content).unwrap();
    fs::write(folder.path().join("secret.txt"), "secret").unwrap();
    installation.configure("SB_PATH", folder.path().to_str().unwrap());
    let upload = |file: &str| {
        installation.call(
            "sb_llm_curl",
            &json!(["files", {"purpose": "user_data", "file": file}, "UPLOAD"]),
        )
    };
    let absolute = format!("{}/uploads/2026/voice 1.ogg", folder.path().to_str().unwrap());
    for file in ["2026/voice 1.ogg", "@2026/voice 1.ogg", &absolute] {
        let record = upload(file);
        assert_eq!(record["bytes"], content.len(), "{record}");
        assert_eq!(
            llm::parts(&model.received().pop().unwrap()),
            [
                Part {
                    name: "file".into(),
                    file_name: Some("voice 1.ogg".into()),
                    media_type: Some("audio/ogg".into()),
                    content: content.clone()
                },
                Part {
                    name: "purpose".into(),
                    file_name: None,
                    media_type: None,
                    content: b"user_data".to_vec()
                },
            ]
        );
    }
    let sent = model.received().len();
    for (file, code) in [
        ("@2026/none.ogg", "file-not-found"),
        ("@../secret.txt", "invalid-file-name"),
        ("@/etc/passwd", "invalid-file-name"),
    ] {
        let error = installation.error(
            "sb_llm_curl",
            &json!(["files", {"purpose": "user_data", "file": file}, "UPLOAD"]),
        );
        assert_eq!(error.0, code, "{file}");
    }
    assert_eq!(model.received().len(), sent);
    // What names no file is text, which the service does not take for one.
    for file in ["../secret.txt", "/etc/passwd", "none.ogg"] {
        assert_eq!(upload(file)["error"]["message"], "'file' is no file", "{file}");
    }
}

#[test]
fn what_lies_behind_a_link_is_sent() {
    let (model, site) = (
        llm::start(0),
        StandIn::start(|request| match request.path.as_str() {
            "/a/photo.png" => Reply::of(200, &[("content-type", "image/png")], b"\x89PNG\r\n\x1a\n\0".to_vec()),
            _ => Reply::of(404, &[], "nothing"),
        }),
    );
    let host = site.url("").trim_start_matches("http://").to_owned();
    let open = {
        let mut settings = settings(&model, &[]);
        settings["http-allowed-hosts"] = json!([host, "text"]);
        installed("allowed link", &settings)
    };
    let closed = installed("link to the inside", &settings(&model, &[]));
    let upload = |installation: &Installed, path: &str| {
        let fields = json!({"purpose": "vision", "file": site.url(path)});
        installation.exit("sb_llm_curl", &json!(["files", fields, "UPLOAD"]))
    };
    let Exit::Value(record) = upload(&open, "/a/photo.png?size=1") else {
        panic!("no value")
    };
    assert_eq!(record.get(&"filename".into()), Some(&"photo.png".into()));
    let part = llm::parts(&model.received()[0]).remove(0);
    assert_eq!((part.media_type.as_deref(), part.content.len()), (Some("image/png"), 9));
    let Exit::Value(text) = upload(&open, "/b") else {
        panic!("no value")
    };
    assert!(text.as_str().unwrap().ends_with("answered with HTTP status 404"));
    assert!(matches!(upload(&closed, "/a/photo.png"), Exit::Object(failure) if failure.code == "url-not-allowed"));
    assert_eq!((model.received().len(), site.received().len()), (1, 2));
}

#[test]
fn a_file_of_the_embedding_program_is_sent_wherever_it_lies() {
    let model = llm::start(0);
    let installation = installed("host file", &settings(&model, &[]));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clip.tmp").to_str().unwrap().to_owned();
    fs::write(&path, "clip").unwrap();
    let upload = |path: &str, media_type: &str, name: &str| {
        let file = HostFile {
            path: path.into(),
            media_type: media_type.into(),
            name: name.into(),
        };
        let list = sb::contract::Value::List(vec!["word".into(), "segment".into()]);
        let fields = sb::contract::Value::map([
            ("file", sb::contract::Value::File(Box::new(file))),
            ("purpose", "user_data".into()),
            ("temperature", sb::contract::Value::Float(0.5)),
            ("stream", false.into()),
            ("granularities", list),
            ("after", sb::contract::Value::map([("anchor", "created_at".into())])),
            ("nothing", sb::contract::Value::Null),
        ]);
        installation.run("sb_llm_curl", vec!["files".into(), fields, "UPLOAD".into()])
    };
    upload(&path, "audio/mp4\r\nX: y", "voice \"1\"\r\n.m4a");
    upload(&path, "", "");
    let received = model.received();
    let parts = llm::parts(&received[0]);
    let shown: Vec<_> = parts
        .iter()
        .map(|part| (part.name.as_str(), String::from_utf8_lossy(&part.content)))
        .collect();
    assert_eq!(
        shown,
        [
            ("file", "clip".into()),
            ("purpose", "user_data".into()),
            ("temperature", "0.5".into()),
            ("stream", "false".into()),
            ("granularities[]", "word".into()),
            ("granularities[]", "segment".into()),
            ("after[anchor]", "created_at".into()),
        ]
    );
    assert_eq!(
        (parts[0].file_name.as_deref(), parts[0].media_type.as_deref()),
        (Some("voice %221%22%0D%0A.m4a"), Some("audio/mp4x:y"))
    );
    let own = llm::parts(&received[1]).remove(0);
    assert_eq!(own.file_name.as_deref(), Some("clip.tmp"));
    assert_eq!(own.media_type.as_deref(), Some("application/octet-stream"));
    assert!(matches!(upload("/nowhere/x", "", ""), Exit::Object(failure) if failure.code == "file-not-found"));
    assert!(matches!(upload("/dev/zero", "", ""), Exit::Object(failure) if failure.code == "file-not-found"));
    assert_eq!(model.received().len(), 2);
}

#[test]
fn a_refusal_is_the_services_and_a_failure_of_the_way_its_text() {
    let model = llm::start(1);
    let installation = installed("patient", &settings(&model, &[]));
    let started = Instant::now();
    assert_eq!(
        installation.call("sb_llm_curl", &json!(["models", [], "GET"]))["object"],
        "list"
    );
    assert!(started.elapsed() >= Duration::from_secs(1));
    let too_often = refusal("planted refusal", "tokens", "rate_limit_exceeded");
    let busy = installed("busy", &settings(&llm::start(9), &[]));
    assert_eq!(busy.call("sb_llm_curl", &json!(["models", [], "GET"])), too_often);
    let wrong = installed("wrong key", &settings(&model, &[("llm-key", json!("sk-wrong"))]));
    let refused = refusal("planted refusal", "tokens", "invalid_api_key");
    assert_eq!(
        wrong.call("sb_llm_curl", &json!(["chat/completions", {"model": "small"}])),
        refused
    );
    let body = installation.call("sb_llm_curl", &json!(["chat/completions", {"model": "small"}]));
    assert_eq!(body["error"]["code"], "invalid");
    let down = installed("down", &settings(&model, &[("llm-url", nowhere().into())]));
    let text = down.call("sb_llm_curl", &json!(["models", [], "GET"]));
    assert!(text.as_str().unwrap().contains("cannot be reached"), "{text}");
    let page = StandIn::start(|_| Reply::of(502, &[], "<html>planted</html>"));
    let gateway = installed("gateway", &settings(&page, &[]));
    assert_eq!(
        gateway.call("sb_llm_curl", &json!(["models", [], "GET"])),
        "an answer that is not the service's, with HTTP status 502"
    );
}
