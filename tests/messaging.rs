//! Messaging platforms: what each is sent, against stand-ins, and what becomes of a message that fails.
//!
//! `tests/support/mariadb cargo test --test messaging`

// Tests may panic, their helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[path = "support/installed.rs"]
mod installed;
#[allow(dead_code)]
#[path = "support/openapi.rs"]
mod openapi;
#[allow(dead_code)]
#[path = "support/stand_in.rs"]
mod stand_in;
mod support;

use installed::Installed;
use openapi::OpenApi;
use sb::contract::error::Exit;
use serde_json::{Value, json};
use stand_in::{Received, Reply, StandIn, fields};

const SEND: &str = "sb_messaging_platforms_send_message";

/// Where user 7 is on each platform.
const ADDRESSES: &str = "
    INSERT INTO sb_users_data (user_id, slug, name, value) VALUES
        (7, 'phone', 'Phone', '+46 70 555 014'), (7, 'facebook-id', 'x', '101'), (7, 'instagram-id', 'x', '102'),
        (7, 'twitter-id', 'x', '103'), (7, 'microblog-id', 'x', '104'), (7, 'wechat-id', 'x', 'open-105')";

const FILES: &str = r#"
    UPDATE sb_messages
    SET attachments = '[["a b.pdf","https://support.example/a.pdf"],["c.png","https://support.example/c.png"]]'
    WHERE id = 11"#;

fn settings(service: &StandIn, provider: &str) -> Value {
    let url = service.url("/v23.0");
    let page = |name: &str| {
        json!([{
            format!("{name}-active"): [true, "checkbox"], format!("{name}-page-id"): ["900", "text"],
            format!("{name}-token"): ["planted", "password"], format!("{name}-url"): [url, "text"],
        }, "multi-input"])
    };
    json!({
        "whatsapp": [{
            "whatsapp-active": [true, "checkbox"], "whatsapp-phone-id": ["15550100", "text"],
            "whatsapp-token": ["planted", "password"], "whatsapp-url": [url, "text"],
            "whatsapp-provider": [provider, "select"],
        }, "multi-input"],
        "messenger": page("messenger"),
        "instagram": page("instagram"),
        "microblog": [{
            "microblog-active": [true, "checkbox"], "microblog-consumer-key": ["key", "text"],
            "microblog-consumer-secret": ["planted", "password"], "microblog-access-token": ["token", "text"],
            "microblog-access-token-secret": ["planted too", "password"], "microblog-url": [service.url(""), "text"],
        }, "multi-input"],
        "wechat": [{
            "wechat-active": [true, "checkbox"], "wechat-app-id": ["app", "text"],
            "wechat-app-secret": ["planted", "password"], "wechat-url": [service.url(""), "text"],
        }, "multi-input"],
        "sms": [{
            "sms-user": ["AC1", "text"], "sms-token": ["planted", "password"], "sms-sender": ["+12025550100", "text"],
            "sms-url": [service.url(""), "text"],
        }, "multi-input"],
    })
}

/// An installation whose conversation 6 comes from `source`, with an agent at work.
fn installed(name: &str, service: &StandIn, source: &str, provider: &str) -> Installed {
    let from = format!("UPDATE sb_conversations SET source = '{source}', extra = NULL WHERE id = 6");
    let installation = Installed::new(name, "people", &settings(service, provider), &[ADDRESSES, FILES, &from]);
    installation.log_in("2", "agent");
    installation
}

fn taking() -> StandIn {
    StandIn::start(|request| {
        Reply::json(match request.path.as_str() {
            "/cgi-bin/token" => r#"{"access_token":"given","expires_in":7200}"#,
            "/cgi-bin/message/custom/send" => r#"{"errcode":0,"errmsg":"ok"}"#,
            _ => r#"{"messages":[{"id":"1"}]}"#,
        })
    })
}

fn bodies(service: &StandIn) -> Vec<Value> {
    let body = |request: &Received| serde_json::from_str(&request.body).unwrap();
    service
        .received()
        .iter()
        .filter(|request| request.method == "POST")
        .map(body)
        .collect()
}

#[test]
fn whatsapp_gets_text_and_files_as_its_description_says() {
    let service = taking();
    let mut installation = installed("wa", &service, "wa", "cloud");
    let text = "*Hi* [chips title=\"Choose\" options=\"A, B\"] [x]";
    for _ in 0..2 {
        assert_eq!(installation.call(SEND, &json!([text, 6, 11])), json!(true));
    }
    let common = |kind: &str, content: Value| json!({"messaging_product": "whatsapp", "recipient_type": "individual", "to": "4670555014", "type": kind, kind: content});
    let link = |name: &str| format!("https://support.example/{name}");
    assert_eq!(
        bodies(&service),
        [
            common(
                "text",
                json!({"body": "*Hi* Choose\n- A\n- B [x]", "preview_url": true})
            ),
            common("document", json!({"link": link("a.pdf"), "filename": "a b.pdf"})),
            common("image", json!({"link": link("c.png")})),
        ],
        "each once, though it was sent twice"
    );
    let api = OpenApi::new(include_str!("fixtures/messaging.openapi.json"));
    for request in service.received() {
        assert_eq!(request.path, "/v23.0/15550100/messages");
        assert_eq!(request.header("authorization"), Some("Bearer planted"));
        let operation = api.operation("POST", &request.path).unwrap();
        let body = serde_json::from_str(&request.body).unwrap();
        assert_eq!(operation.check_body("application/json", &body), Ok(()));
    }
    assert_eq!(
        installation.rows("SELECT payload FROM sb_messages WHERE id = 11"),
        json!([{"payload": r#"{"sent-to":"wa"}"#}])
    );
}

#[test]
fn whatsapp_goes_by_the_service_of_text_messages_too() {
    let service = taking();
    for (source, scheme) in [("wa", "whatsapp:"), ("tx", "")] {
        let installation = installed(source, &service, source, "sms");
        assert_eq!(installation.call(SEND, &json!(["*Hi*", 6, 11])), json!(true));
        let request = service.received().pop().unwrap();
        assert_eq!(request.path, "/2010-04-01/Accounts/AC1/Messages.json");
        let text = if source == "wa" { "*Hi*" } else { "Hi" };
        let expected = [
            ("To", format!("{scheme}+4670555014")),
            ("From", format!("{scheme}+12025550100")),
            ("Body", text.to_owned()),
            ("MediaUrl", "https://support.example/a.pdf".to_owned()),
            ("MediaUrl", "https://support.example/c.png".to_owned()),
        ];
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        assert_eq!(fields(&request.body), expected);
    }
}

#[test]
fn pages_get_what_they_take() {
    let file = |kind: &str, name: &str| {
        let url = format!("https://support.example/{name}");
        json!({"attachment": {"type": kind, "payload": {"url": url, "is_reusable": false}}})
    };
    let text = |text: &str| json!({"text": text});
    for (source, to, messages) in [
        (
            "fb",
            "101",
            vec![text("Hi"), file("file", "a.pdf"), file("image", "c.png")],
        ),
        (
            "ig",
            "102",
            vec![
                text("Hi\na b.pdf: https://support.example/a.pdf"),
                file("image", "c.png"),
            ],
        ),
    ] {
        let service = taking();
        let installation = installed(source, &service, source, "cloud");
        assert_eq!(installation.call(SEND, &json!(["*Hi*", 6, 11])), json!(true));
        let expected: Vec<_> = messages
            .into_iter()
            .map(|message| json!({"recipient": {"id": to}, "messaging_type": "RESPONSE", "message": message}))
            .collect();
        assert_eq!(bodies(&service), expected, "{source}");
        for request in service.received() {
            assert_eq!(request.path, "/v23.0/900/messages");
            assert_eq!(request.query, [("access_token".to_owned(), "planted".to_owned())]);
        }
    }
}

#[test]
fn the_microblog_gets_a_signed_request() {
    let service = taking();
    let installation = installed("tw", &service, "tw", "cloud");
    assert_eq!(installation.call(SEND, &json!(["Hi", 6])), json!(true));
    let request = service.received().pop().unwrap();
    assert_eq!(request.path, "/2/dm_conversations/with/104/messages");
    assert_eq!(request.body, r#"{"text":"Hi"}"#);
    let header = request.header("authorization").unwrap();
    assert!(
        header.starts_with("OAuth oauth_consumer_key=\"key\", oauth_nonce=\""),
        "{header}"
    );
    assert!(
        header.contains("oauth_token=\"token\"") && header.contains("oauth_signature=\""),
        "{header}"
    );
    assert!(!header.contains("planted"), "{header}");
}

#[test]
fn a_token_of_wechat_is_kept_and_replaced_when_it_has_ended() {
    let mut tokens = 0;
    let service = StandIn::start(move |request| {
        if request.path == "/cgi-bin/token" {
            tokens += 1;
            return Reply::json(format!(r#"{{"access_token":"token-{tokens}","expires_in":7200}}"#));
        }
        let is_good = request.query == [("access_token".to_owned(), "token-2".to_owned())];
        Reply::json(if is_good {
            r#"{"errcode":0,"errmsg":"ok"}"#
        } else {
            r#"{"errcode":42001,"errmsg":"ended"}"#
        })
    });
    let installation = installed("wc", &service, "wc", "cloud");
    for _ in 0..2 {
        assert_eq!(installation.call(SEND, &json!(["Grüße 👋", 6])), json!(true));
    }
    let paths: Vec<_> = service.received().into_iter().map(|request| request.path).collect();
    let (token, send) = ("/cgi-bin/token", "/cgi-bin/message/custom/send");
    assert_eq!(paths, [token, send, token, send, send]);
    let body = r#"{"touser":"open-105","msgtype":"text","text":{"content":"Grüße 👋"}}"#;
    assert_eq!(service.received().pop().unwrap().body, body);
}

#[test]
fn a_refusal_is_the_platforms_own_and_leaves_the_message_to_be_sent() {
    for (source, status, refusal) in [
        (
            "wa",
            400,
            json!({"error": {"message": "Re-engagement", "type": "OAuthException", "code": 131_047}}),
        ),
        ("fb", 200, json!({"error": {"message": "outside window", "code": 10}})),
        (
            "tw",
            403,
            json!({"title": "Forbidden", "detail": "no", "type": "about:blank", "status": 403}),
        ),
        (
            "wc",
            200,
            json!({"errcode": 45015, "errmsg": "response out of time limit"}),
        ),
    ] {
        let body = refusal.to_string();
        let service = StandIn::start(move |request| {
            if request.path == "/cgi-bin/token" {
                return Reply::json(r#"{"access_token":"given","expires_in":7200}"#);
            }
            Reply::of(status, &[("content-type", "application/json")], body.clone())
        });
        let mut installation = installed(source, &service, source, "cloud");
        assert_eq!(installation.call(SEND, &json!(["Hi", 6, 11])), refusal, "{source}");
        let payload = installation.rows("SELECT payload FROM sb_messages WHERE id = 11");
        assert_eq!(payload, json!([{"payload": ""}]), "{source}");
    }
}

#[test]
fn a_message_of_unknown_fate_is_not_sent_again() {
    let service = StandIn::start(|_| Reply::HangUp);
    let installation = installed("unknown", &service, "wa", "cloud");
    let Exit::Value(failure) = installation.exit(SEND, &json!(["Hi", 6, 11])) else {
        panic!("no text")
    };
    assert!(failure.as_str().unwrap().contains("broke off"), "{failure:?}");
    assert_eq!(installation.call(SEND, &json!(["Hi", 6, 11])), json!(true));
    assert_eq!(service.received().len(), 1);
}

#[test]
fn a_direct_message_leaves_by_the_platform() {
    let service = taking();
    let mut installation = installed("direct", &service, "wa", "cloud");
    assert_eq!(installation.call("sb_direct_message", &json!(["7", "Hi"])), json!(true));
    assert_eq!(bodies(&service)[0]["text"]["body"], "Hi");
    assert_eq!(
        installation.rows("SELECT user_id, message, payload FROM sb_messages WHERE id > 11"),
        json!([{"user_id": "2", "message": "Hi", "payload": r#"{"sent-to":"wa"}"#}])
    );
}
