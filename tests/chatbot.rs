//! The chatbot: its provider's own library and then ours against the same stand-in, and the functions on top.
//!
//! `tests/support/mariadb cargo test --test chatbot`

// Tests may panic, their helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[path = "support/chatbot.rs"]
mod chatbot;
#[path = "support/installed.rs"]
mod installed;
#[allow(dead_code)]
#[path = "support/openapi.rs"]
mod openapi;
#[allow(dead_code)]
#[path = "support/stand_in.rs"]
mod stand_in;
mod support;

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chatbot::{CLIENT_ID, CLIENT_SECRET, Chatbot, PROJECT, REFRESH_TOKEN, refusal};
use installed::Installed;
use serde_json::{Value, json};
use stand_in::{Received, Reply, StandIn, nowhere};

/// Settings of an agent that a service account opens.
fn settings(chatbot: &Chatbot) -> Value {
    let key_file = chatbot.key_file().to_string();
    multi_input(json!({
        "chatbot-active": [true, "checkbox"], "chatbot-credentials": [key_file, "textarea"],
        "chatbot-url": [chatbot.server.url(""), "text"], "chatbot-agent-language": ["en", "text"],
    }))
}

fn multi_input(children: Value) -> Value {
    json!({"chatbot": [children, "multi-input"]})
}

/// Settings with one child changed.
fn with(mut settings: Value, child: &str, value: Value) -> Value {
    settings["chatbot"][0][child] = json!([value, "text"]);
    settings
}

fn installed(name: &str, settings: &Value) -> Installed {
    Installed::new(name, "people", settings, &[])
}

/// The messages that a test has added.
fn written(installation: &mut Installed) -> Value {
    installation.rows(
        "SELECT user_id, conversation_id, message, attachments, status_code FROM sb_messages WHERE id > 11 ORDER BY id",
    )
}

fn body(request: &Received) -> Value {
    serde_json::from_str(&request.body).unwrap()
}

#[test]
fn the_providers_own_library_takes_the_stand_in_for_the_service() {
    let chatbot = Chatbot::start();
    let output = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/sdk"))
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/chatbot_sdk.py"))
        .args([chatbot.server.url(""), chatbot.key_file().to_string()])
        .args([CLIENT_ID, CLIENT_SECRET, REFRESH_TOKEN])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (what, expected) in [
        ("by key", json!("Test")),
        ("by consent", json!("Test")),
        ("expiry", json!([true, true])),
        ("wrong body", json!("INVALID_ARGUMENT")),
        ("wrong value", json!("INVALID_ARGUMENT")),
        ("wrong token", json!("refused")),
        ("answer", json!("You said: Hello")),
        ("operation", json!({"name": "projects/test-agent/operations/o1"})),
    ] {
        assert_eq!(seen[what], expected, "{what}");
    }
    for (what, error) in [
        ("wrong key", "invalid_grant"),
        ("wrong refresh token", "invalid_grant"),
        ("wrong client", "invalid_client"),
    ] {
        assert_eq!(seen[what]["error"], error, "{what}");
    }
}

#[test]
fn a_message_is_answered_once_as_the_bot() {
    let chatbot = Chatbot::start();
    let mut installation = installed("answered", &settings(&chatbot));
    let answer = installation.call("sb_chatbot_message", &json!(["1", "Where is my parcel?"]));
    assert_eq!(
        answer["messages"],
        json!([{"message": "You said: Where is my parcel?", "attachments": []}])
    );
    assert_eq!(answer["token"], "ya29.planted-token-1");
    assert_eq!(answer["response"]["responseId"], "response-1");
    assert_eq!(answer["response"]["queryResult"]["intent"]["displayName"], "Echo");
    assert_eq!(answer.as_object().unwrap().len(), 3);
    assert_eq!(
        written(&mut installation),
        json!([{"user_id": "6", "conversation_id": "1", "message": "You said: Where is my parcel?", "attachments": "",
            "status_code": "0"}])
    );
    let payload = installation.rows("SELECT payload FROM sb_messages WHERE id > 11");
    let payload: Value = serde_json::from_str(payload[0]["payload"].as_str().unwrap()).unwrap();
    let source = json!({"response_id": "response-1", "intent": "Echo", "action": "echo", "confidence": 0.9});
    assert_eq!(payload, json!({"chatbot": source}));
    assert_eq!(
        installation.rows("SELECT status_code FROM sb_conversations WHERE id = 1"),
        json!([{"status_code": "2"}]),
        "the bot changes no status"
    );
    let asked = chatbot.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(
        asked[0].path,
        format!("/v2/projects/{PROJECT}/agent/sessions/conversation-1:detectIntent")
    );
    assert_eq!(
        body(&asked[0]),
        json!({"queryInput": {"text": {"text": "Where is my parcel?", "languageCode": "en"}}})
    );
}

#[test]
fn all_that_a_caller_says_reaches_the_agent() {
    let chatbot = Chatbot::start();
    let installation = installed("all arguments", &settings(&chatbot));
    let ask = |arguments: Value| {
        let answer = installation.call("sb_chatbot_message", &arguments);
        assert!(answer["response"]["responseId"].is_string(), "{answer}");
        let request = chatbot.asked().pop().unwrap();
        (request.path.clone(), body(&request))
    };
    let (path, said) = ask(json!([
        1,
        "Ciao",
        false,
        "it",
        "[[\"a.pdf\",\"https://support.example/a.pdf\"]]"
    ]));
    assert!(path.ends_with("/conversation-1:detectIntent"), "{path}");
    assert_eq!(
        said,
        json!({
            "queryInput": {"text": {"text": "Ciao", "languageCode": "it"}},
            "queryParams": {"payload": {"attachments": [["a.pdf", "https://support.example/a.pdf"]]}},
        })
    );
    let event = json!([6, "", "", "", "", "WELCOME", {"name": "Emil"}, "other-agent"]);
    let (path, said) = ask(event);
    assert_eq!(
        path,
        "/v2/projects/other-agent/agent/sessions/conversation-6:detectIntent"
    );
    let event = json!({"name": "WELCOME", "languageCode": "en", "parameters": {"name": "Emil"}});
    assert_eq!(said, json!({"queryInput": {"event": event}}));
    let (_, said) = ask(json!([1, "Hi", -1, null, [], false, "{\"plan\":\"gold\"}"]));
    assert_eq!(
        said["queryParams"],
        json!({"payload": {"parameters": {"plan": "gold"}}})
    );
    let (_, said) = ask(json!([1, "", false, "en", [["bill.pdf", "https://support.example/b"]]]));
    assert_eq!(said["queryInput"]["text"]["text"], "bill.pdf");
    let (_, said) = ask(json!([1, "ä".repeat(300)]));
    assert_eq!(said["queryInput"]["text"]["text"], "ä".repeat(256));
    let (_, said) = ask(json!([1, "' OR 1=1 -- <b>\u{0}"]));
    assert_eq!(said["queryInput"]["text"]["text"], "' OR 1=1 -- <b>\u{0}");
}

#[test]
fn the_main_language_of_the_agent_is_asked_for_once() {
    let chatbot = Chatbot::start();
    let mut of_nothing = settings(&chatbot);
    of_nothing["chatbot"][0]
        .as_object_mut()
        .unwrap()
        .remove("chatbot-agent-language");
    let installation = installed("main language", &of_nothing);
    for _ in 0..2 {
        installation.call("sb_chatbot_message", &json!([1, "Hello"]));
    }
    let asked = chatbot.asked();
    assert_eq!(
        asked.iter().map(|request| request.method.as_str()).collect::<Vec<_>>(),
        ["GET", "POST", "POST"]
    );
    assert_eq!(body(&asked[2])["queryInput"]["text"]["languageCode"], "en");
}

#[test]
fn an_agent_may_be_in_a_region() {
    let chatbot = Chatbot::start();
    let settings = with(settings(&chatbot), "chatbot-location", json!("europe-west2"));
    let installation = installed("region", &settings);
    installation.call("sb_chatbot_message", &json!([1, "Hello"]));
    let entity = json!(["colour", ["red"]]);
    assert_eq!(installation.call("sb_chatbot_create_entity", &entity), json!(true));
    let intents = json!([[{"training_phrases": "Hello", "responses": "Hi"}]]);
    let operation = installation.call("sb_chatbot_batch_intents", &intents);
    let place = format!("projects/{PROJECT}/locations/europe-west2");
    assert_eq!(operation["name"], format!("{place}/operations/o1"));
    assert_eq!(operation["done"], true);
    for request in chatbot.asked() {
        assert!(request.path.starts_with(&format!("/v2/{place}/")), "{}", request.path);
    }
}

#[test]
fn a_token_is_kept_until_a_minute_before_its_end() {
    let chatbot = Chatbot::start();
    chatbot.state().token_life = 62;
    let installation = installed("kept token", &settings(&chatbot));
    let message = || installation.call("sb_chatbot_message", &json!([1, "Hello"]))["token"].clone();
    assert_eq!([message(), message()], ["ya29.planted-token-1", "ya29.planted-token-1"]);
    std::thread::sleep(Duration::from_millis(2100));
    assert_eq!(message(), "ya29.planted-token-2");
    chatbot.state().token_life = 3599;
    // Asked for, it is a new one, and then in use.
    assert_eq!(
        installation.call("sb_chatbot_get_token", &json!([])),
        "ya29.planted-token-3"
    );
    assert_eq!(message(), "ya29.planted-token-3");
    assert_eq!(chatbot.state().tokens_given, 3);
}

#[test]
fn a_token_that_is_not_taken_any_more_is_renewed_once() {
    let chatbot = Chatbot::start();
    let mut installation = installed("renewed token", &settings(&chatbot));
    installation.call("sb_chatbot_message", &json!([1, "Hello"]));
    chatbot.state().tokens.clear();
    let answer = installation.call("sb_chatbot_message", &json!([1, "Again"]));
    assert_eq!(answer["token"], "ya29.planted-token-2");
    assert_eq!(written(&mut installation).as_array().unwrap().len(), 2);
    // One that the caller has is used, and renewed as well.
    let answer = installation.call("sb_chatbot_message", &json!([1, "Hi", "ya29.planted-token-2"]));
    assert_eq!(answer["token"], "ya29.planted-token-2");
    let answer = installation.call("sb_chatbot_message", &json!([1, "Hi", "ya29.ended"]));
    assert_eq!(answer["token"], "ya29.planted-token-3");
    assert_eq!(chatbot.state().tokens_given, 3);
}

#[test]
fn a_service_that_takes_no_token_is_asked_twice_and_no_more() {
    let chatbot = Chatbot::start();
    let unauthenticated = refusal(401, "UNAUTHENTICATED", "no");
    let text = unauthenticated.to_string();
    let closed = StandIn::start(move |_| Reply::of(401, &[], text.clone()));
    let settings = with(settings(&chatbot), "chatbot-url", closed.url("").into());
    let mut installation = installed("closed", &settings);
    let answer = installation.call("sb_chatbot_message", &json!([1, "Hello"]));
    assert_eq!((answer, closed.received().len()), (unauthenticated, 2));
    assert_eq!(written(&mut installation), json!([]));
}

#[test]
fn a_refresh_token_opens_the_agent_too() {
    let chatbot = Chatbot::start();
    let consent = |secret: &str| {
        multi_input(json!({
            "chatbot-active": ["1", "checkbox"], "chatbot-project-id": [PROJECT, "text"],
            "chatbot-client-id": [CLIENT_ID, "text"], "chatbot-client-secret": [secret, "password"],
            "chatbot-refresh-token": [format!(" {REFRESH_TOKEN}\n"), "password"],
            "chatbot-url": [chatbot.server.url(""), "text"],
            "chatbot-token-url": [chatbot.server.url("/token"), "text"],
        }))
    };
    let installation = installed("consent", &consent(CLIENT_SECRET));
    let answer = installation.call("sb_chatbot_message", &json!([1, "Hello"]));
    assert_eq!(answer["token"], "ya29.planted-token-1");
    let request = chatbot.server.received().remove(0);
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/token"));
    assert_eq!(
        stand_in::fields(&request.body),
        [
            ("grant_type".to_owned(), "refresh_token".to_owned()),
            ("client_id".to_owned(), CLIENT_ID.to_owned()),
            ("client_secret".to_owned(), CLIENT_SECRET.to_owned()),
            ("refresh_token".to_owned(), REFRESH_TOKEN.to_owned()),
        ]
    );
    let refused = installed("wrong client", &consent("other")).call("sb_chatbot_get_token", &json!([]));
    let description = "The OAuth client was not found.";
    assert_eq!(
        refused,
        json!({"error": "invalid_client", "error_description": description})
    );
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table of all kinds")]
fn every_kind_of_answer_becomes_messages_of_the_chat() {
    let chatbot = Chatbot::start();
    let image = |name: &str| json!({"imageUri": format!("https://cdn.example/{name}.png"), "accessibilityText": name});
    let attachment = |name: &str| json!([name, format!("https://cdn.example/{name}.png")]);
    let open = |uri: &str| json!({"uri": uri});
    let kinds = [
        (json!({"text": {"text": ["One", "Two"]}}), "One\nTwo", json!([])),
        (
            json!({"simpleResponses": {"simpleResponses": [
                {"textToSpeech": "spoken", "displayText": "shown"}, {"ssml": "<speak>Say <b>this</b></speak>"}]}}),
            "shown\nSay this",
            json!([]),
        ),
        (
            json!({"quickReplies": {"title": "Which?", "quickReplies": ["Red", "Blue"]}}),
            "Which?\n• Red\n• Blue",
            json!([]),
        ),
        (
            json!({"suggestions": {"suggestions": [{"title": "A"}, {"title": "B"}]}}),
            "• A\n• B",
            json!([]),
        ),
        (
            json!({"linkOutSuggestion": {"destinationName": "Shop", "uri": "https://shop.example/"}}),
            "Shop: https://shop.example/",
            json!([]),
        ),
        (json!({"image": image("cat")}), "", json!([attachment("cat")])),
        (
            json!({"image": {"imageUri": "https://cdn.example/a/dog.jpg?size=1"}}),
            "",
            json!([["dog.jpg", "https://cdn.example/a/dog.jpg?size=1"]]),
        ),
        (
            json!({"image": {"imageUri": "gs://bucket/a.png"}}),
            "gs://bucket/a.png",
            json!([]),
        ),
        (
            json!({"card": {"title": "Bike", "subtitle": "Fast", "imageUri": "https://cdn.example/Bike.png", "buttons": [
                {"text": "Buy", "postback": "https://shop.example/bike"}, {"text": "More", "postback": "more bikes"}]}}),
            "*Bike*\nFast\nBuy: https://shop.example/bike\n• More",
            json!([attachment("Bike")]),
        ),
        (
            json!({"basicCard": {"title": "T", "subtitle": "S", "formattedText": "F", "image": image("card"), "buttons": [
                {"title": "Open", "openUriAction": open("https://a.example/")}]}}),
            "*T*\nS\nF\nOpen: https://a.example/",
            json!([attachment("card")]),
        ),
        (
            json!({"listSelect": {"title": "List", "subtitle": "Sub", "items": [
                {"title": "First", "description": "one", "info": {"key": "1"}, "image": image("first")},
                {"title": "Second", "info": {"key": "2"}}]}}),
            "*List*\nSub\n• First: one\n• Second",
            json!([attachment("first")]),
        ),
        (
            json!({"carouselSelect": {"items": [{"title": "First"}, {"title": "Second", "image": image("two")}]}}),
            "• First\n• Second",
            json!([attachment("two")]),
        ),
        (
            json!({"browseCarouselCard": {"items": [{"title": "News", "description": "Today", "footer": "foot",
                "openUriAction": {"url": "https://news.example/1"}}]}}),
            "• News: Today\nfoot\nhttps://news.example/1",
            json!([]),
        ),
        (
            json!({"tableCard": {"title": "Prices", "columnProperties": [{"header": "What"}, {"header": "EUR"}], "rows": [
                {"cells": [{"text": "Tea"}, {"text": "2"}]}, {"cells": [{"text": "Coffee"}, {"text": "3"}]}],
                "buttons": [{"title": "All", "openUriAction": open("https://a.example/all")}]}}),
            "*Prices*\nWhat | EUR\nTea | 2\nCoffee | 3\nAll: https://a.example/all",
            json!([]),
        ),
        (
            json!({"mediaContent": {"mediaType": "AUDIO", "mediaObjects": [
                {"name": "Song", "description": "A song", "contentUrl": "https://cdn.example/song.mp3", "icon": image("i")}]}}),
            "*Song*\nA song",
            json!([["Song", "https://cdn.example/song.mp3"], attachment("i")]),
        ),
        (
            json!({"payload": {"message": "Look", "event": "open-chat", "attachments": [
                ["a.pdf", "https://a.example/a.pdf"], {"name": "b", "link": "https://a.example/b"}, ["x", "javascript:1"]]}}),
            "Look\njavascript:1",
            json!([["a.pdf", "https://a.example/a.pdf"], ["b", "https://a.example/b"]]),
        ),
        (
            json!({"payload": {"richContent": [[
                {"type": "info", "title": "Info", "subtitle": "sub", "actionLink": "https://a.example/i"},
                {"type": "description", "title": "D", "text": ["one", "two"]}, {"type": "divider"},
                {"type": "image", "rawUrl": "https://cdn.example/r.png", "accessibilityText": "r"},
                {"type": "accordion", "title": "More", "text": "inside"},
                {"type": "button", "text": "Go", "link": "https://a.example/go"},
                {"type": "chips", "options": [{"text": "Yes"}, {"text": "Docs", "link": "https://a.example/docs"}]}]]}}),
            "*Info*\nsub\nhttps://a.example/i\n*D*\none\ntwo\n*More*\ninside\nGo: https://a.example/go\n• Yes\nDocs: https://a.example/docs",
            json!([attachment("r")]),
        ),
        (json!({"payload": {"human": true}}), "", json!([])),
    ];
    let messages: Vec<&Value> = kinds.iter().map(|(message, ..)| message).collect();
    chatbot.state().answers.insert(
        "everything".to_owned(),
        json!({"queryText": "everything", "fulfillmentText": "not shown", "fulfillmentMessages": messages}),
    );
    let mut installation = installed("every kind", &settings(&chatbot));
    let answer = installation.call("sb_chatbot_message", &json!([1, "everything"]));
    let rows = installation.rows("SELECT message, attachments, payload FROM sb_messages WHERE id > 11 ORDER BY id");
    assert_eq!(rows.as_array().unwrap().len(), kinds.len());
    for (at, (kind, message, attachments)) in kinds.iter().enumerate() {
        assert_eq!(
            answer["messages"][at],
            json!({"message": message, "attachments": attachments}),
            "{kind}"
        );
        assert_eq!(rows[at]["message"], *message, "{kind}");
        let stored = rows[at]["attachments"].as_str().unwrap();
        let stored = if stored.is_empty() { "[]" } else { stored };
        assert_eq!(serde_json::from_str::<Value>(stored).unwrap(), *attachments, "{kind}");
        let mut payload: Value = serde_json::from_str(rows[at]["payload"].as_str().unwrap()).unwrap();
        assert_eq!(payload["chatbot"]["response_id"], "response-1");
        payload.as_object_mut().unwrap().remove("chatbot");
        let plain = ["text", "simpleResponses", "image"]
            .iter()
            .any(|plain| kind.get(plain).is_some());
        let expected = match kind.get("payload") {
            Some(payload) => payload.clone(),
            None if plain => json!({}),
            None => json!({"rich": kind}),
        };
        assert_eq!(payload, expected);
    }
}

#[test]
fn of_messages_for_several_platforms_those_for_all_are_read() {
    let chatbot = Chatbot::start();
    let text = |text: &str, platform: Option<&str>| {
        let mut message = json!({"text": {"text": [text]}});
        if let Some(platform) = platform {
            message["platform"] = platform.into();
        }
        message
    };
    let answers = [
        (
            "both",
            json!({"fulfillmentMessages": [text("slack", Some("SLACK")), text("all", None), text("all", None),
                text("unspecified", Some("PLATFORM_UNSPECIFIED"))]}),
            vec!["all", "unspecified"],
        ),
        (
            "others",
            json!({"fulfillmentMessages": [text("slack", Some("SLACK")), text("viber", Some("VIBER"))]}),
            vec!["slack"],
        ),
        ("text", json!({"fulfillmentText": "only this"}), vec!["only this"]),
        (
            "empty",
            json!({"fulfillmentText": "this", "fulfillmentMessages": [text("", None)]}),
            vec!["this"],
        ),
        ("nothing", json!({}), vec![]),
    ];
    let mut installation = installed("platforms", &settings(&chatbot));
    let mut expected = Vec::new();
    for (said, result, texts) in answers {
        chatbot.state().answers.insert(said.to_owned(), result);
        let answer = installation.call("sb_chatbot_message", &json!([1, said]));
        let messages = answer["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|message| &message["message"]);
        assert_eq!(messages.collect::<Vec<_>>(), texts, "{said}");
        expected.extend(texts);
    }
    let rows = written(&mut installation);
    let rows: Vec<_> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["message"].clone())
        .collect();
    assert_eq!(rows, expected);
}

#[test]
fn an_answer_that_is_too_long_for_the_table_is_cut() {
    let chatbot = Chatbot::start();
    let long = "ä".repeat(40_000);
    let card = json!({"card": {"title": "T", "subtitle": long}});
    chatbot.state().answers.insert(
        "long".to_owned(),
        json!({"fulfillmentMessages": [{"text": {"text": [long]}}, card]}),
    );
    let mut installation = installed("long", &settings(&chatbot));
    let answer = installation.call("sb_chatbot_message", &json!([1, "long"]));
    assert_eq!(answer["messages"].as_array().unwrap().len(), 2);
    assert_eq!(
        installation.rows(
            "SELECT LENGTH(message) AS bytes, payload LIKE '%rich%' AS rich FROM sb_messages WHERE id > 11 ORDER BY id"
        ),
        json!([{"bytes": "65534", "rich": "0"}, {"bytes": "65534", "rich": "0"}])
    );
}

#[test]
fn a_response_that_comes_twice_is_written_once() {
    let answer = json!({"responseId": "the-same_%", "queryResult": {"fulfillmentText": "Yes"}}).to_string();
    let agent = StandIn::start(move |_| Reply::json(answer.clone()));
    let chatbot = Chatbot::start();
    let settings = with(settings(&chatbot), "chatbot-url", agent.url("").into());
    let mut installation = installed("twice", &settings);
    for conversation in [1, 1, 6, 1] {
        let answer = installation.call("sb_chatbot_message", &json!([conversation, "Hello"]));
        assert_eq!(answer["messages"], json!([{"message": "Yes", "attachments": []}]));
    }
    let rows = written(&mut installation);
    let rows: Vec<_> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["conversation_id"].clone())
        .collect();
    assert_eq!(rows, ["1", "6"]);
}

#[test]
fn a_silence_is_cut_off_and_nothing_is_doubled() {
    let chatbot = Chatbot::start();
    let silent = Arc::new(AtomicBool::new(true));
    let is_silent = Arc::clone(&silent);
    let answer = json!({"responseId": "r1", "queryResult": {"fulfillmentText": "At last"}}).to_string();
    let agent = StandIn::start(move |_| {
        if is_silent.load(Ordering::Relaxed) {
            Reply::Silence
        } else {
            Reply::json(answer.clone())
        }
    });
    let settings = with(settings(&chatbot), "chatbot-url", agent.url("").into());
    let mut installation = installed("silence", &settings);
    let started = Instant::now();
    let failure = installation.call("sb_chatbot_message", &json!([1, "Hello"]));
    assert!((19..25).contains(&started.elapsed().as_secs()));
    assert!(
        failure.as_str().unwrap().ends_with("did not answer within 20s"),
        "{failure}"
    );
    assert_eq!(
        agent.received().len(),
        1,
        "a question of unknown outcome is not repeated"
    );
    assert_eq!(written(&mut installation), json!([]));
    silent.store(false, Ordering::Relaxed);
    installation.call("sb_chatbot_message", &json!([1, "Hello"]));
    assert_eq!(written(&mut installation).as_array().unwrap().len(), 1);
}

#[test]
fn who_asks_too_often_waits_once() {
    let chatbot = Chatbot::start();
    let mut installation = installed("too often", &settings(&chatbot));
    chatbot.state().too_often = 1;
    let started = Instant::now();
    let answer = installation.call("sb_chatbot_message", &json!([1, "Hello"]));
    assert!(started.elapsed() >= Duration::from_secs(1));
    assert_eq!(answer["messages"][0]["message"], "You said: Hello");
    chatbot.state().too_often = 5;
    let refused = refusal(429, "RESOURCE_EXHAUSTED", "Quota exceeded");
    assert_eq!(installation.call("sb_chatbot_message", &json!([1, "Hello"])), refused);
    assert_eq!(written(&mut installation).as_array().unwrap().len(), 1);
}

/// A call of each function, as it would be made.
fn calls() -> Vec<(&'static str, Value)> {
    vec![
        ("sb_chatbot_message", json!([1, "Hello"])),
        ("sb_chatbot_curl", json!(["intents", "", false, "GET"])),
        ("sb_chatbot_get_token", json!([])),
        ("sb_chatbot_get_agent", json!([])),
        ("sb_chatbot_set_active_context", json!(["order", {}, 5, false, 3])),
        ("sb_chatbot_create_intent", json!([["Hello"], "Hi"])),
        (
            "sb_chatbot_batch_intents",
            json!([[{"training_phrases": ["Bye"], "responses": "Bye"}]]),
        ),
        (
            "sb_chatbot_batch_intents_delete",
            json!([[{"name": "projects/test-agent/agent/intents/i1"}]]),
        ),
        (
            "sb_chatbot_create_entity",
            json!(["colour", [{"value": "red", "synonyms": ["crimson"]}]]),
        ),
        (
            "sb_chatbot_update_entity",
            json!(["e1", [{"value": "blue", "synonyms": []}]]),
        ),
        ("sb_chatbot_get_entity", json!([])),
    ]
}

#[test]
fn a_failure_of_the_way_is_its_text_and_a_refusal_is_the_services() {
    let chatbot = Chatbot::start();
    let down = with(
        with(settings(&chatbot), "chatbot-url", nowhere().into()),
        "chatbot-token-url",
        nowhere().into(),
    );
    let mut unreachable = installed("unreachable", &down);
    let mut foreign = settings(&chatbot);
    foreign = with(foreign, "chatbot-project-id", json!("foreign-agent"));
    let foreign = installed("foreign", &foreign);
    let page = StandIn::start(|_| Reply::of(502, &[], "<html>planted</html>"));
    let gateway = installed("gateway", &with(settings(&chatbot), "chatbot-url", page.url("").into()));
    let refused = refusal(403, "PERMISSION_DENIED", "The caller does not have permission");
    for (function, arguments) in calls() {
        let text = unreachable.call(function, &arguments);
        assert!(
            text.as_str().is_some_and(|text| text.contains("cannot be reached")),
            "{function}: {text}"
        );
        if function == "sb_chatbot_get_token" {
            continue;
        }
        assert_eq!(foreign.call(function, &arguments), refused, "{function}");
        assert_eq!(
            gateway.call(function, &arguments),
            "an answer that is not the service's, with HTTP status 502",
            "{function}"
        );
    }
    assert_eq!(written(&mut unreachable), json!([]));
}

#[test]
fn an_agent_that_is_not_fully_set_up_says_what_is_missing() {
    let chatbot = Chatbot::start();
    let broken_key = {
        let mut key_file = chatbot.key_file();
        key_file["private_key"] = "-----BEGIN PRIVATE KEY-----\nplanted\n-----END PRIVATE KEY-----\n".into();
        key_file.to_string()
    };
    let whole = settings(&chatbot);
    let cases = [
        (
            with(whole.clone(), "chatbot-credentials", json!("{")),
            "chatbot-credentials is not the key file of a service account",
        ),
        (
            with(whole.clone(), "chatbot-credentials", broken_key.into()),
            "the private key of the service account cannot be read",
        ),
        (
            with(whole.clone(), "chatbot-credentials", json!("")),
            "chatbot-project-id is not set",
        ),
        (
            with(whole.clone(), "chatbot-location", json!("evil.example/")),
            "chatbot-location is no region",
        ),
        (
            with(
                with(whole, "chatbot-credentials", json!("")),
                "chatbot-project-id",
                PROJECT.into(),
            ),
            "neither chatbot-credentials nor chatbot-client-id, -secret and -refresh-token are set",
        ),
    ];
    for (settings, message) in cases {
        let installation = installed(message, &settings);
        for (function, arguments) in calls() {
            let error = installation.error(function, &arguments);
            assert_eq!(error, ("configuration".to_owned(), message.to_owned()), "{function}");
        }
    }
    assert_eq!(chatbot.server.received().len(), 0);
}

#[test]
fn a_request_of_the_caller_goes_where_it_says() {
    let chatbot = Chatbot::start();
    let installation = installed("curl", &settings(&chatbot));
    let entity = json!({"displayName": "size", "kind": "KIND_MAP"});
    let agent = format!("/v2/projects/{PROJECT}/agent");
    for (arguments, method, path) in [
        (json!(["/agent/intents", "", "", "GET"]), "GET", "/intents"),
        (json!(["intents", {"pageSize": 5}, "it", "get"]), "GET", "/intents"),
        (
            json!(["/v2/projects/test-agent/agent/intents?pageSize=2", "", "", "GET"]),
            "GET",
            "/intents",
        ),
        (json!(["entityTypes", entity]), "POST", "/entityTypes"),
        (
            json!([
                "agent/entityTypes/e1?updateMask=entities",
                "{\"entities\":[{\"value\":\"s\",\"synonyms\":[\"s\"]}]}",
                false,
                "PATCH"
            ]),
            "PATCH",
            "/entityTypes/e1",
        ),
        (
            json!(["agent/sessions/x:detectIntent", {"queryInput": {"text": {"text": "Hi", "languageCode": "en"}}}, "", "POST", "ya29.planted-token-1"]),
            "POST",
            "/sessions/x:detectIntent",
        ),
    ] {
        let answer = installation.call("sb_chatbot_curl", &arguments);
        assert!(answer.get("error").is_none(), "{arguments}: {answer}");
        let request = chatbot.asked().pop().unwrap();
        assert_eq!(
            (request.method.as_str(), request.path),
            (method, format!("{agent}{path}")),
            "{arguments}"
        );
    }
    let queries: Vec<_> = chatbot.asked().into_iter().map(|request| request.query).collect();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(queries[1], [pair("pageSize", "5"), pair("languageCode", "it")]);
    assert_eq!(queries[2], [pair("pageSize", "2")]);
    assert_eq!(queries[4], [pair("updateMask", "entities")]);
    let answer = installation.call("sb_chatbot_curl", &json!(["operations/none", [], "", "GET"]));
    assert_eq!(answer, refusal(404, "NOT_FOUND", "no such operation"));
    let answer = installation.call("sb_chatbot_curl", &json!(["intents", {"colour": "red"}]));
    assert_eq!(answer["error"]["status"], "INVALID_ARGUMENT");
    let answer = installation.call("sb_chatbot_curl", &json!(["https://evil.example/", "", "", "GET"]));
    assert_eq!(answer["error"]["status"], "NOT_FOUND");
    let error = installation.error("sb_chatbot_curl", &json!(["intents", "", "", "PUT"]));
    assert_eq!(error.0, "invalid-method");
}

#[test]
fn the_agent_describes_itself_in_full() {
    let chatbot = Chatbot::start();
    let installation = installed("agent", &settings(&chatbot));
    assert_eq!(
        installation.call("sb_chatbot_get_agent", &json!([])),
        json!({
            "parent": format!("projects/{PROJECT}"), "displayName": "Test", "defaultLanguageCode": "en",
            "supportedLanguageCodes": ["it"], "timeZone": "Europe/Amsterdam", "enableLogging": false,
            "matchMode": "MATCH_MODE_HYBRID", "classificationThreshold": 0.3, "apiVersion": "API_VERSION_V2",
            "tier": "TIER_STANDARD",
        })
    );
}

#[test]
fn a_context_is_set_in_the_session_of_the_users_conversation() {
    let chatbot = Chatbot::start();
    let mut settings = settings(&chatbot);
    for (child, value) in [
        ("chatbot-client-id", CLIENT_ID),
        ("chatbot-client-secret", CLIENT_SECRET),
    ] {
        settings = with(settings, child, value.into());
    }
    settings = with(settings, "chatbot-token-url", chatbot.server.url("/token").into());
    let installation = installed("context", &settings);
    let context = |session: u32, life_span: i64| {
        json!({
            "name": format!("projects/{PROJECT}/agent/sessions/conversation-{session}/contexts/order"),
            "lifespanCount": life_span, "parameters": {"number": 1042},
        })
    };
    // Of the conversations 1, 2 and 3 the first is neither archived nor in the trash.
    let given = json!(["order", {"number": 1042}, 2, false, 3, "it"]);
    assert_eq!(
        installation.call("sb_chatbot_set_active_context", &given),
        context(1, 2)
    );
    assert_eq!(chatbot.state().contexts["conversation-1"], [context(1, 2)]);
    installation.log_in("7", "user");
    let given = json!(["order", "{\"number\":1042}", "", REFRESH_TOKEN]);
    assert_eq!(
        installation.call("sb_chatbot_set_active_context", &given),
        context(6, 5)
    );
    assert!(
        chatbot
            .server
            .received()
            .iter()
            .any(|request| request.body.contains("grant_type=refresh_token"))
    );
    let token = installation.call("sb_chatbot_get_token", &json!([]));
    let given = json!(["order", {"number": 1042}, 0, token]);
    assert_eq!(
        installation.call("sb_chatbot_set_active_context", &given),
        context(6, 0)
    );
    let foreign = installation.error("sb_chatbot_set_active_context", &json!(["order", [], 5, false, 3]));
    assert_eq!(foreign.0, "security-error");
    installation.log_in("2", "agent");
    let refused = installation.call("sb_chatbot_set_active_context", &json!(["order", [], 5, "1//other", 3]));
    assert_eq!(refused["error"], "invalid_grant");
    let nobody = installation.call("sb_chatbot_set_active_context", &json!(["order", [], 5, false, 99]));
    assert_eq!(nobody, "conversation-not-found");
}

#[test]
fn an_intent_is_added_with_its_phrases() {
    let chatbot = Chatbot::start();
    let installation = installed("intent", &settings(&chatbot));
    let create = |arguments: Value| installation.call("sb_chatbot_create_intent", &arguments);
    assert_eq!(
        create(json!([["Where, please, is it?", "Where?"], "In Roma, \"there\"", "it"])),
        json!(true)
    );
    assert_eq!(create(json!(["[\"Bye\",\"Ciao\"]", ""])), json!(true));
    let phrase = |text: &str| json!({"type": "EXAMPLE", "parts": [{"text": text}]});
    let asked = chatbot.asked();
    assert_eq!(
        body(&asked[0]),
        json!({
            "displayName": "Where, please, is it?",
            "trainingPhrases": [phrase("Where, please, is it?"), phrase("Where?")],
            "messages": [{"text": {"text": ["In Roma, \"there\""]}}],
        })
    );
    assert_eq!(asked[0].query, [("languageCode".to_owned(), "it".to_owned())]);
    assert_eq!(
        body(&asked[1]),
        json!({"displayName": "Bye", "trainingPhrases": [phrase("Bye"), phrase("Ciao")]})
    );
    assert_eq!(asked[1].query, [("languageCode".to_owned(), "en".to_owned())]);
    assert_eq!(create(json!([["Bye"], "x"]))["error"]["status"], "ALREADY_EXISTS");
    let error = installation.error("sb_chatbot_create_intent", &json!([["", " "], "x"]));
    assert_eq!(
        error,
        ("invalid-intent".to_owned(), "an intent has no phrases".to_owned())
    );
}

#[test]
fn a_hundred_intents_go_in_one_batch_and_are_waited_for() {
    let chatbot = Chatbot::start();
    let installation = installed("batch", &settings(&chatbot));
    let intents: Vec<Value> = (1..=100)
        .map(|number| {
            json!({
                "training_phrases": [format!("Question {number}"), format!("Asking {number}")],
                "responses": [format!("Answer {number}"), "Or this"], "language": false, "name": format!("intent {number}"),
            })
        })
        .collect();
    let started = Instant::now();
    let operation = installation.call("sb_chatbot_batch_intents", &json!([intents, "it"]));
    // Done when asked the third time: after 0.5, 1 and 2 seconds.
    assert!((3500..6000).contains(&started.elapsed().as_millis()));
    assert_eq!(operation["name"], format!("projects/{PROJECT}/operations/o1"));
    assert_eq!(operation["done"], true);
    let made = operation["response"]["intents"].as_array().unwrap();
    assert_eq!(made.len(), 100);
    assert_eq!(made[99]["displayName"], "intent 100");
    let asked = chatbot.asked();
    assert_eq!(asked.iter().filter(|request| request.method == "POST").count(), 1);
    assert_eq!(asked.len(), 4);
    let batch = body(&asked[0]);
    assert_eq!(
        (&batch["languageCode"], &batch["intentView"]),
        (&json!("it"), &json!("INTENT_VIEW_FULL"))
    );
    assert_eq!(
        batch["intentBatchInline"]["intents"][0]["messages"],
        json!([{"text": {"text": ["Answer 1", "Or this"]}}])
    );

    chatbot.state().questions = 0;
    // What the service gave is taken as it is: those intents are replaced.
    let operation = installation.call(
        "sb_chatbot_batch_intents",
        &json!([[made[0], {
        "training_phrases": "New", "responses": "New", "name": made[1]["name"]}]]),
    );
    assert_eq!(operation["response"]["intents"][1]["displayName"], "New");
    assert_eq!(chatbot.state().intents.len(), 100);

    let names =
        json!([[made[0], {"training_phrases": ["New"], "responses": ""}, {"name": "intent 3"}, "i4", made[4]["name"]]]);
    let operation = installation.call("sb_chatbot_batch_intents_delete", &names);
    assert_eq!((&operation["done"], &operation["response"]), (&json!(true), &json!({})));
    let left: Vec<String> = chatbot
        .state()
        .intents
        .iter()
        .map(|intent| intent["displayName"].to_string())
        .collect();
    assert_eq!((left.len(), left[0].as_str()), (95, "\"intent 6\""));
    let error = installation.error("sb_chatbot_batch_intents_delete", &json!([["nobody"]]));
    assert_eq!(
        error,
        (
            "intent-not-found".to_owned(),
            "the agent has no intent nobody".to_owned()
        )
    );
    for function in ["sb_chatbot_batch_intents", "sb_chatbot_batch_intents_delete"] {
        assert_eq!(installation.error(function, &json!([[]])).0, "invalid-intent");
    }
}

#[test]
fn intents_of_several_languages_go_in_several_batches() {
    let chatbot = Chatbot::start();
    chatbot.state().questions = 0;
    let installation = installed("languages", &settings(&chatbot));
    let intent =
        |phrase: &str, language: Value| json!({"training_phrases": phrase, "responses": "x", "language": language});
    let intents = json!([
        [
            intent("one", false.into()),
            intent("uno", "it".into()),
            intent("two", "en".into())
        ],
        "en"
    ]);
    let operation = installation.call("sb_chatbot_batch_intents", &intents);
    let made = operation["response"]["intents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|intent| &intent["displayName"]);
    assert_eq!(made.collect::<Vec<_>>(), ["one", "two", "uno"]);
    let batches: Vec<_> = chatbot
        .asked()
        .iter()
        .filter(|request| request.method == "POST")
        .map(body)
        .collect();
    assert_eq!(
        (&batches[0]["languageCode"], &batches[1]["languageCode"]),
        (&json!("en"), &json!("it"))
    );
}

#[test]
fn an_operation_that_fails_is_given_with_its_error() {
    let chatbot = Chatbot::start();
    chatbot.state().questions = 0;
    let error = json!({"code": 9, "message": "too many intents"});
    chatbot.state().operation_error = Some(error.clone());
    let installation = installed("failed operation", &settings(&chatbot));
    let intents = json!([[{"training_phrases": "one", "responses": "x"}]]);
    let operation = installation.call("sb_chatbot_batch_intents", &intents);
    assert_eq!((&operation["done"], &operation["error"]), (&json!(true), &error));
}

#[test]
fn entities_are_made_changed_and_given_page_by_page() {
    let chatbot = Chatbot::start();
    let installation = installed("entities", &settings(&chatbot));
    let values = json!([{"value": "red", "synonyms": ["crimson", "red"]}, {"value": "blue"}, "green"]);
    let create =
        |name: &str, values: &Value| installation.call("sb_chatbot_create_entity", &json!([name, values, "it"]));
    assert_eq!(create("colour", &values), json!(true));
    let entities = json!([
        {"value": "red", "synonyms": ["crimson", "red"]}, {"value": "blue", "synonyms": ["blue"]},
        {"value": "green", "synonyms": ["green"]},
    ]);
    let asked = chatbot.asked();
    assert_eq!(
        body(&asked[0]),
        json!({"displayName": "colour", "kind": "KIND_MAP", "entities": entities})
    );
    assert_eq!(asked[0].query, [("languageCode".to_owned(), "it".to_owned())]);
    assert_eq!(create("colour", &values)["error"]["status"], "INVALID_ARGUMENT");
    let named = json!([false, {"values": values, "name": "paint"}]);
    assert_eq!(installation.call("sb_chatbot_create_entity", &named), json!(true));
    assert_eq!(
        installation.error("sb_chatbot_create_entity", &json!(["", values])).0,
        "invalid-entity"
    );

    let update = json!(["e1", [{"value": "black", "synonyms": ["ebony"]}]]);
    assert_eq!(installation.call("sb_chatbot_update_entity", &update), json!(true));
    let request = chatbot.asked().pop().unwrap();
    assert_eq!(request.path, format!("/v2/projects/{PROJECT}/agent/entityTypes/e1"));
    assert!(
        request
            .query
            .contains(&("updateMask".to_owned(), "entities".to_owned()))
    );
    let black = json!([{"value": "black", "synonyms": ["black", "ebony"]}]);
    assert_eq!(body(&request), json!({"entities": black}));
    let unknown = installation.call("sb_chatbot_update_entity", &json!(["../e1?x=1", ["a"]]));
    assert_eq!(unknown["error"]["status"], "NOT_FOUND");

    let name = format!("projects/{PROJECT}/agent/entityTypes/e1");
    let colour = json!({
        "name": name, "displayName": "colour", "kind": "KIND_MAP", "entities": black,
        "autoExpansionMode": "AUTO_EXPANSION_MODE_UNSPECIFIED", "enableFuzzyExtraction": false,
    });
    for id in ["e1", name.as_str()] {
        assert_eq!(
            installation.call("sb_chatbot_get_entity", &json!([id])),
            json!([colour])
        );
    }
    assert_eq!(
        installation.call("sb_chatbot_get_entity", &json!(["none"]))["error"]["status"],
        "NOT_FOUND"
    );
    for number in 3..=250 {
        let entity_type = json!({"name": format!("entity {number}"), "displayName": format!("{number}")});
        chatbot.state().entity_types.push(entity_type);
    }
    for all in ["all", ""] {
        let before = chatbot.asked().len();
        let all = installation.call("sb_chatbot_get_entity", &json!([all]));
        let all = all.as_array().unwrap();
        assert_eq!(
            (all.len(), &all[0], &all[249]["displayName"]),
            (250, &colour, &json!("250"))
        );
        assert_eq!(all[249]["entities"], json!([]));
        assert_eq!(chatbot.asked().len() - before, 3);
    }
}

#[test]
fn the_language_model_answers_only_where_it_may_and_the_chatbot_cannot() {
    let chatbot = Chatbot::start();
    let model = StandIn::start(|request| {
        let said = body(request)["messages"].as_array().unwrap().last().unwrap()["content"].clone();
        if said == "fail" {
            return Reply::of(500, &[], "broken");
        }
        Reply::json(json!({"choices": [{"message": {"role": "assistant", "content": "From the model"}}]}).to_string())
    });
    let answer = |fallback: bool, confidence: f64, text: &str| {
        json!({
            "fulfillmentText": text, "intentDetectionConfidence": confidence,
            "intent": {"displayName": "i", "isFallback": fallback},
        })
    };
    for (said, result) in [
        ("known", answer(false, 0.9, "From the chatbot")),
        ("unsure", answer(false, 0.2, "Perhaps")),
        ("unknown", answer(true, 1.0, "I did not get that")),
        ("nothing", json!({})),
        ("fail", answer(true, 1.0, "I did not get that")),
    ] {
        chatbot.state().answers.insert(said.to_owned(), result);
    }
    let off = settings(&chatbot);
    let mut on = off.clone();
    on["llm"] = json!([{
        "llm-active": [true, "checkbox"], "llm-key": ["sk-planted", "password"], "llm-url": [model.url("/v1/"), "text"],
        "llm-fallback": [true, "checkbox"], "llm-model": ["small", "text"], "llm-prompt": ["Be kind", "textarea"],
    }, "multi-input"]);
    let without = installed("without a model", &off);
    let mut with_model = installed("with a model", &on);
    for (said, chatbots, models) in [
        ("known", json!("From the chatbot"), json!("From the chatbot")),
        ("unsure", json!("Perhaps"), json!("From the model")),
        ("unknown", json!("I did not get that"), json!("From the model")),
        ("nothing", Value::Null, json!("From the model")),
        ("fail", json!("I did not get that"), json!("I did not get that")),
    ] {
        let message = |installation: &Installed| {
            installation.call("sb_chatbot_message", &json!([1, said]))["messages"][0]["message"].clone()
        };
        assert_eq!((message(&without), message(&with_model)), (chatbots, models), "{said}");
    }
    assert_eq!(written(&mut with_model).as_array().unwrap().len(), 5);
    let asked = model.received();
    assert_eq!(asked.len(), 4);
    assert_eq!(asked[0].path, "/v1/chat/completions");
    assert_eq!(
        body(&asked[0]),
        json!({"model": "small", "messages": [
            {"role": "system", "content": "Be kind"}, {"role": "user", "content": "unsure"}]})
    );
}

#[test]
fn who_may_not_touch_a_conversation_cannot_have_it_answered() {
    let chatbot = Chatbot::start();
    let mut installation = installed("foreign conversation", &settings(&chatbot));
    installation.log_in("3", "user");
    let error = installation.error("sb_chatbot_message", &json!([6, "Hello"]));
    assert_eq!(error.0, "security-error");
    assert_eq!(
        installation.call("sb_chatbot_message", &json!([99, "Hello"])),
        "conversation-not-found"
    );
    assert_eq!(
        installation.call("sb_chatbot_message", &json!([1, " "])),
        "empty-message"
    );
    let attachment = json!([1, "Hello", false, false, [["a", "ftp://a"]]]);
    assert_eq!(
        installation.call("sb_chatbot_message", &attachment),
        "invalid-attachment"
    );
    assert_eq!(chatbot.asked().len(), 0);
    installation.call("sb_chatbot_message", &json!([1, "Hello"]));
    assert_eq!(written(&mut installation).as_array().unwrap().len(), 1);
}
