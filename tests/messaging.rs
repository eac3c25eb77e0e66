//! Messaging platforms: their SDKs and then ours against the same stand-in, what each is sent, and what becomes of a
//! message that fails.
//!
//! `tests/support/mariadb cargo test --test messaging`

// Tests may panic, their helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[path = "support/installed.rs"]
mod installed;
#[allow(dead_code)]
#[path = "support/mail.rs"]
mod mail;
#[path = "support/messaging.rs"]
mod messaging;
#[allow(dead_code)]
#[path = "support/openapi.rs"]
mod openapi;
#[allow(dead_code)]
#[path = "support/sms.rs"]
mod sms;
#[allow(dead_code)]
#[path = "support/stand_in.rs"]
mod stand_in;
mod support;

use std::collections::HashSet;
use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use installed::Installed;
use mail::MailServer;
use messaging::{ACCOUNT, APP, APP_SECRET, PAGE, PHONE, SIGNING, SILENT, TOKEN, graph_error};
use openssl::rsa::Rsa;
use sb::contract::error::Exit;
use scraper::{Html, Node};
use serde_json::{Value, json};
use stand_in::{Received, Reply, StandIn, fields};
use support::bench::Installation;
use support::core::Core;
use support::database::Server;
use tempfile::TempDir;

const SEND: &str = "sb_messaging_platforms_send_message";

/// Where user 7 is on each platform.
const ADDRESSES: &str = "
    INSERT INTO sb_users_data (user_id, slug, name, value) VALUES
        (7, 'phone', 'Phone', '+46 70 555 014'), (7, 'facebook-id', 'x', '101'), (7, 'instagram-id', 'x', '102'),
        (7, 'twitter-id', 'x', '103'), (7, 'microblog-id', 'x', '104'), (7, 'wechat-id', 'x', 'open-105'),
        (7, 'business-messages-id', 'x', '106')";

/// A file anywhere, and an image of the uploads.
const FILES: &str = r#"
    UPDATE sb_messages
    SET attachments = '[["a b.pdf","https://support.example/a.pdf"],["c.png","https://support.example/chat/uploads/c%20d.png"]]'
    WHERE id = 11"#;

const IMAGE: &str = "https://support.example/chat/uploads/c%20d.png";

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

const RICH: &str = "Hi\n[buttons title=\"Which?\" options=\"Red, Blue\"]\n\
    [card header=\"Shoe\" description=\"It fits\" image=\"https://a.example/s.png\" link=\"https://a.example/s\" link-text=\"See it\"]\n\
    [image url=\"https://a.example/i.jpg\"]";

const SOURCES: [&str; 8] = ["wa", "fb", "ig", "tw", "wc", "tx", "gb", "em"];

fn settings(platforms: &str, texts: &str) -> Value {
    let on = |name: &str, children: &[(&str, &str)]| {
        let mut map = json!({ format!("{name}-active"): [true, "checkbox"] });
        for (child, value) in children {
            map[format!("{name}-{child}")] = json!([value, "text"]);
        }
        json!([map, "multi-input"])
    };
    let graph = format!("{platforms}/v23.0");
    let [key, key_secret, token, token_secret] = SIGNING;
    json!({
        "whatsapp": on("whatsapp", &[("phone-id", PHONE), ("token", TOKEN), ("url", &graph)]),
        "messenger": on("messenger", &[("page-id", PAGE), ("token", TOKEN), ("url", &graph)]),
        "instagram": on("instagram", &[("page-id", ACCOUNT), ("token", TOKEN), ("url", &graph)]),
        "microblog": on("microblog", &[
            ("consumer-key", key), ("consumer-secret", key_secret), ("access-token", token),
            ("access-token-secret", token_secret), ("url", platforms),
        ]),
        "wechat": on("wechat", &[("app-id", APP), ("app-secret", APP_SECRET), ("url", platforms)]),
        "business-messages": on("business-messages", &[
            ("credentials", &key_file()), ("url", platforms), ("token-url", &format!("{platforms}/oauth")),
        ]),
        "sms": on("sms", &[
            ("user", sms::ACCOUNT), ("token", sms::TOKEN), ("sender", sms::SENDER), ("url", texts),
        ]),
    })
}

/// A service account's key file.
fn key_file() -> String {
    let key = Rsa::generate(2048).unwrap().private_key_to_pem().unwrap();
    json!({"type": "service_account", "private_key": String::from_utf8(key).unwrap(), "client_email": "a@b.example"})
        .to_string()
}

/// An installation whose conversation 6 comes from a platform, with an agent at work and an image in its uploads.
struct Chat {
    installed: Installed,
    folder: TempDir,
}

impl Chat {
    fn new(name: &str, settings: &Value, further: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("uploads")).unwrap();
        fs::write(folder.path().join("uploads/c d.png"), PNG).unwrap();
        let sql: Vec<&str> = [ADDRESSES, FILES].into_iter().chain(further.iter().copied()).collect();
        let mut installed = Installed::new(name, "people", settings, &sql);
        installed.configure("SB_PATH", folder.path().to_str().unwrap());
        installed.log_in("2", "agent");
        Self { installed, folder }
    }

    fn from(source: &str, platforms: &StandIn) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let from = format!("UPDATE sb_conversations SET source = '{source}', extra = NULL WHERE id = 6");
        let name = format!("{source} {}", COUNT.fetch_add(1, Ordering::Relaxed));
        Self::new(&name, &settings(&platforms.url(""), &platforms.url("")), &[&from])
    }

    #[track_caller]
    fn send(&self, message: &str, id: Option<u32>) -> Value {
        self.installed.call(SEND, &json!([message, 6, id]))
    }

    /// What the message says of itself.
    fn payload(&mut self) -> String {
        let rows = self.installed.rows("SELECT payload FROM sb_messages WHERE id = 11");
        rows[0]["payload"].as_str().unwrap().to_owned()
    }
}

/// What was posted to a stand-in as JSON.
fn bodies(service: &StandIn) -> Vec<Value> {
    let requests = service.received().into_iter();
    requests
        .filter_map(|request| serde_json::from_str(&request.body).ok())
        .collect()
}

fn paths(service: &StandIn) -> Vec<String> {
    service.received().into_iter().map(|request| request.path).collect()
}

#[test]
fn the_platforms_sdks_take_the_stand_in_for_the_services() {
    let (service, busy) = (messaging::start(0, 5), messaging::start(1, 5));
    let arguments = json!({
        "phone": PHONE, "page": PAGE, "account": ACCOUNT, "token": TOKEN, "silent": SILENT, "signing": SIGNING,
        "app": [APP, APP_SECRET],
    });
    let output = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/sdk"))
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/messaging_sdk.py"))
        .args([service.url(""), busy.url(""), arguments.to_string()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected = json!({
        "whatsapp": "wamid.1", "whatsapp image": "wamid.1", "whatsapp document": "wamid.1", "whatsapp buttons": "wamid.1",
        "whatsapp wrong token": [401, 190], "whatsapp silent": [400, 131_047], "whatsapp long": [400, 100],
        "whatsapp too often": [429, 130_429],
        "messenger": "m_1", "messenger file": "m_1", "messenger replies": "m_1", "messenger template": "m_1",
        "messenger wrong token": [400, 190], "messenger silent": [400, 10], "messenger long": [400, 100],
        "messenger neither": [400, 100],
        "instagram": "m_1", "instagram long": [400, 100], "instagram file": [400, 100],
        "microblog": "3", "microblog image": "3", "microblog wrong secret": [401, "Unauthorized"],
        "microblog unknown image": [400, "Invalid Request"], "microblog silent": [403, "Forbidden"],
        "wechat": 0, "wechat image": 0, "wechat article": 0, "wechat unknown image": [200, 40_007],
        "wechat long": [200, 45_002], "wechat silent": [200, 45_015], "wechat wrong secret": [200, 40_125],
    });
    assert_eq!(seen, expected);
}

#[test]
fn whatsapp_gets_text_files_and_shortcodes_once() {
    let service = messaging::start(0, 1);
    let mut chat = Chat::from("wa", &service);
    for _ in 0..2 {
        assert_eq!(chat.send(&format!("*A* __b__ ~c~ {RICH}"), Some(11)), json!(true));
    }
    let message = |kind: &str, content: Value| json!({"messaging_product": "whatsapp", "recipient_type": "individual", "to": "4670555014", "type": kind, kind: content});
    let button = |title: &str| json!({"type": "reply", "reply": {"id": title, "title": title}});
    assert_eq!(
        bodies(&service),
        [
            message("text", json!({"body": "*A* _b_ ~c~ Hi", "preview_url": true})),
            message(
                "interactive",
                json!({"type": "button", "body": {"text": "Which?"}, "action": {"buttons": [button("Red"), button("Blue")]}})
            ),
            message(
                "image",
                json!({"link": "https://a.example/s.png", "caption": "Shoe\nIt fits\nSee it: https://a.example/s"})
            ),
            message("image", json!({"link": "https://a.example/i.jpg"})),
            message(
                "document",
                json!({"link": "https://support.example/a.pdf", "filename": "a b.pdf"})
            ),
            message("image", json!({"link": IMAGE})),
        ],
        "each once, though it was sent twice"
    );
    for request in service.received() {
        assert_eq!(request.path, format!("/v23.0/{PHONE}/messages"));
        assert!(request.query.is_empty());
    }
    assert_eq!(chat.payload(), r#"{"sent-to":"wa"}"#);
}

#[test]
fn whatsapp_shows_many_options_as_a_list_and_too_many_as_lines() {
    let service = messaging::start(0, 1);
    let chat = Chat::from("wa", &service);
    let options = |count: usize| (1..=count).map(|number| format!("Option {number}")).collect::<Vec<_>>();
    for count in [4, 10, 11] {
        let message = format!(
            "[select title=\"Which of these?\" options=\"{}\"]",
            options(count).join(",")
        );
        assert_eq!(chat.send(&message, None), json!(true));
    }
    let long = format!("[buttons title=\"{}\" options=\"A\"]", "é".repeat(1025));
    assert_eq!(chat.send(&long, None), json!(true));
    let bodies = bodies(&service);
    for (body, count) in bodies.iter().zip([4, 10]) {
        let action = &body["interactive"]["action"];
        assert_eq!(action["button"], "Which of these?");
        assert_eq!(action["sections"][0]["rows"].as_array().unwrap().len(), count);
    }
    let lines = format!("Which of these?\n- {}", options(11).join("\n- "));
    assert_eq!(bodies[2]["text"]["body"], lines);
    assert_eq!(bodies[3]["text"]["body"], format!("{}\n- A", "é".repeat(1025)));
}

#[test]
fn whatsapp_goes_by_the_service_of_text_messages_too() {
    for (source, scheme, text) in [("wa", "whatsapp:", "*Hi* _you_"), ("tx", "", "Hi you")] {
        let service = sms::start(0);
        let mut settings = settings("http://127.0.0.1:1", &service.url(""));
        settings["whatsapp"][0]["whatsapp-provider"] = json!(["sms", "select"]);
        let from = format!("UPDATE sb_conversations SET source = '{source}' WHERE id = 6");
        let chat = Chat::new(&format!("sms {source}"), &settings, &[&from]);
        let message = "*Hi* __you__ [chips title=\"Which?\" options=\"A,B\"]";
        assert_eq!(chat.send(message, Some(11)), json!(true));
        let request = service.received().pop().unwrap();
        let expected = [
            ("To", format!("{scheme}+4670555014")),
            ("From", format!("{scheme}{}", sms::SENDER)),
            ("Body", format!("{text}\nWhich?\n- A\n- B")),
            ("MediaUrl", "https://support.example/a.pdf".to_owned()),
            ("MediaUrl", IMAGE.to_owned()),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(fields(&request.body), expected, "{source}");
    }
}

#[test]
fn ten_files_go_with_a_text_message_and_the_links_of_others_in_it() {
    let service = sms::start(0);
    let links: Vec<String> = (1..=12)
        .map(|number| format!("https://support.example/{number}.png"))
        .collect();
    let files: Vec<Value> = links.iter().map(|link| json!(["a", link])).collect();
    let files = format!(
        "UPDATE sb_messages SET attachments = '{}' WHERE id = 11",
        Value::from(files)
    );
    let settings = settings("http://127.0.0.1:1", &service.url(""));
    let from = "UPDATE sb_conversations SET source = 'tx' WHERE id = 6";
    let chat = Chat::new("many files", &settings, &[from, &files]);
    let text = "é".repeat(3000);
    assert_eq!(chat.send(&text, Some(11)), json!(true));
    let sent: Vec<_> = service.received().iter().map(|request| fields(&request.body)).collect();
    let of = |name: &str| -> Vec<Vec<&str>> {
        let values = sent.iter().map(|fields| {
            let own = fields.iter().filter(|(own, _)| own == name);
            own.map(|(_, value)| value.as_str()).collect()
        });
        values.collect()
    };
    assert_eq!(
        of("MediaUrl"),
        [links[..10].iter().map(String::as_str).collect(), vec![]]
    );
    assert_eq!(
        of("Body").concat().concat(),
        format!("{text}\n{}\n{}", links[10], links[11])
    );
}

#[test]
fn pages_get_what_they_take() {
    let file =
        |kind: &str, link: &str| json!({"attachment": {"type": kind, "payload": {"url": link, "is_reusable": false}}});
    let reply = |title: &str| json!({"content_type": "text", "title": title, "payload": title});
    let rich = [
        json!({"text": "Hi"}),
        json!({"text": "Which?", "quick_replies": [reply("Red"), reply("Blue")]}),
        json!({"attachment": {"type": "template", "payload": {"template_type": "generic", "elements": [{
            "title": "Shoe", "subtitle": "It fits", "image_url": "https://a.example/s.png",
            "buttons": [{"type": "web_url", "url": "https://a.example/s", "title": "See it"}],
        }]}}}),
        file("image", "https://a.example/i.jpg"),
    ];
    for (source, to, page, pdf) in [
        ("fb", "101", PAGE, file("file", "https://support.example/a.pdf")),
        (
            "ig",
            "102",
            ACCOUNT,
            json!({"text": "a b.pdf: https://support.example/a.pdf"}),
        ),
    ] {
        let service = messaging::start(0, 1);
        let chat = Chat::from(source, &service);
        assert_eq!(
            chat.send(&format!("*{}", &RICH.replacen("Hi", "Hi*", 1)), Some(11)),
            json!(true)
        );
        let expected: Vec<_> = rich
            .iter()
            .cloned()
            .chain([pdf, file("image", IMAGE)])
            .map(|message| json!({"recipient": {"id": to}, "messaging_type": "RESPONSE", "message": message}))
            .collect();
        assert_eq!(bodies(&service), expected, "{source}");
        for request in service.received() {
            assert_eq!(request.path, format!("/v23.0/{page}/messages"));
            assert_eq!(request.query, [("access_token".to_owned(), TOKEN.to_owned())]);
        }
    }
}

#[test]
fn a_conversation_knows_the_page_that_it_belongs_to() {
    let service = messaging::start(0, 1);
    let from = format!("UPDATE sb_conversations SET source = 'fb', extra = '{ACCOUNT}' WHERE id = 6");
    let chat = Chat::new("page", &settings(&service.url(""), ""), &[&from]);
    assert_eq!(chat.send("Hi", None), json!(true));
    assert_eq!(paths(&service), [format!("/v23.0/{ACCOUNT}/messages")]);
}

#[test]
fn long_texts_go_in_parts_that_each_platform_takes() {
    let text = "äöü 👋 ".repeat(1800);
    for (source, limit, length) in [
        ("wa", 4096, (|_| 1) as fn(char) -> usize),
        ("fb", 2000, |_| 1),
        ("ig", 1000, char::len_utf8),
        ("tw", 10_000, |_| 1),
        ("wc", 2048, char::len_utf8),
        ("gb", 3072, |_| 1),
    ] {
        let service = messaging::start(0, 100);
        let chat = Chat::from(source, &service);
        assert_eq!(chat.send(&text, None), json!(true), "{source}");
        let texts: Vec<String> = bodies(&service)
            .iter()
            .filter_map(|body| {
                let texts = [
                    &body["text"]["body"],
                    &body["message"]["text"],
                    &body["text"]["content"],
                    &body["text"],
                ];
                texts.into_iter().find_map(Value::as_str).map(str::to_owned)
            })
            .collect();
        assert_eq!(texts.concat(), text.trim(), "{source}");
        let longest = texts.iter().map(|text| text.chars().map(length).sum::<usize>()).max();
        assert!(texts.len() > 1 || source == "tw", "{source}");
        assert!((limit / 2..=limit).contains(&longest.unwrap()), "{source}: {longest:?}");
    }
}

#[test]
fn the_microblog_gets_images_and_the_rest_in_words() {
    let service = messaging::start(0, 1);
    let chat = Chat::from("tw", &service);
    assert_eq!(
        chat.send("Hi [buttons title=\"Which?\" options=\"A,B\"]", Some(11)),
        json!(true)
    );
    let send = "/2/dm_conversations/with/104/messages";
    assert_eq!(paths(&service), ["/2/media/upload", send, send]);
    let upload = &service.received()[0];
    let (form, kinds) = messaging::parts(upload);
    assert_eq!(
        (&form["media_category"], kinds["media"].as_str()),
        (&json!("dm_image"), "image/png")
    );
    assert!(
        upload.bytes.windows(PNG.len()).any(|window| window == PNG),
        "the image as it is"
    );
    assert_eq!(
        bodies(&service),
        [
            json!({"text": "Hi\nWhich?\n- A\n- B\na b.pdf: https://support.example/a.pdf"}),
            json!({"attachments": [{"media_id": "1880000000000000000"}]}),
        ]
    );
    for request in service.received() {
        let header = request.header("authorization").unwrap();
        assert!(
            SIGNING[1..]
                .iter()
                .all(|secret| secret == &SIGNING[2] || !header.contains(secret)),
            "{header}"
        );
    }
}

#[test]
fn an_image_that_is_not_to_be_had_goes_as_its_link() {
    for (what, content) in [
        ("no image", b"%PDF-1.7".to_vec()),
        ("too large", [PNG, &vec![0; 11 << 20]].concat()),
    ] {
        for source in ["tw", "wc"] {
            let service = messaging::start(0, 100);
            let chat = Chat::from(source, &service);
            fs::write(chat.folder.path().join("uploads/c d.png"), &content).unwrap();
            // What lies in the private network is not fetched.
            let text = "[image url=\"http://127.0.0.1:1/x.png\"]";
            assert_eq!(chat.send(text, Some(11)), json!(true), "{what}");
            let expected = format!("http://127.0.0.1:1/x.png\na b.pdf: https://support.example/a.pdf\nc.png: {IMAGE}");
            let body = bodies(&service).pop().unwrap();
            let text = if source == "tw" {
                &body["text"]
            } else {
                &body["text"]["content"]
            };
            assert_eq!(*text, json!(expected), "{what}");
            assert!(!paths(&service).iter().any(|path| path.ends_with("upload")), "{what}");
        }
    }
}

#[test]
fn wechat_gets_images_and_articles_with_a_token_that_is_kept_and_replaced() {
    let service = messaging::start(0, 5);
    let chat = Chat::from("wc", &service);
    assert_eq!(
        chat.send(
            "Grüße 👋 [card header=T link=\"https://a.example/s\" image=\"https://a.example/s.png\"]",
            Some(11)
        ),
        json!(true)
    );
    let (token, upload, send) = (
        "/cgi-bin/token",
        "/cgi-bin/media/upload",
        "/cgi-bin/message/custom/send",
    );
    assert_eq!(paths(&service), [token, upload, send, send, send, send]);
    let message = |kind: &str, content: Value| json!({"touser": "open-105", "msgtype": kind, kind: content});
    let article =
        json!({"title": "T", "description": "", "url": "https://a.example/s", "picurl": "https://a.example/s.png"});
    assert_eq!(
        bodies(&service),
        [
            message("text", json!({"content": "Grüße 👋"})),
            message("news", json!({"articles": [article]})),
            message("text", json!({"content": "a b.pdf: https://support.example/a.pdf"})),
            message("image", json!({"media_id": "media-0"})),
        ]
    );
    let raw = r#"{"touser":"open-105","msgtype":"text","text":{"content":"Grüße 👋"}}"#;
    assert_eq!(service.received()[2].body, raw, "letters as they are");
    // The token has been used up before its time.
    assert_eq!(chat.send("Again", None), json!(true));
    assert_eq!(paths(&service)[6..], [send, token, send]);
}

#[test]
fn all_processes_share_the_token_of_wechat() {
    let service = messaging::start(0, 100);
    let mut chat = Chat::from("wc", &service);
    assert_eq!(chat.send("One", None), json!(true));
    let row = chat
        .installed
        .rows("SELECT value FROM sb_settings WHERE name = 'wechat-token'");
    assert!(!row.to_string().contains("token-1"), "{row}");
    let server = Server::of_environment().unwrap();
    let installation = Installation {
        force_admin: true,
        ..Installation::of(&server, &chat.installed.database)
    };
    let other = Core::open(installation);
    assert_eq!(other.call(SEND, ["Two".into(), "6".into()]).unwrap(), true.into());
    let (token, send) = ("/cgi-bin/token", "/cgi-bin/message/custom/send");
    assert_eq!(paths(&service), [token, send, send]);
}

#[test]
fn business_messages_are_off_until_they_are_wanted_and_keep_their_token() {
    let service = messaging::start(0, 1);
    let from = "UPDATE sb_conversations SET source = 'gb' WHERE id = 6";
    let mut settings = settings(&service.url(""), "");
    let chat = Chat::new("business", &settings, &[from]);
    for _ in 0..2 {
        assert_eq!(chat.send(RICH, None), json!(true));
    }
    let send = "/v1/conversations/106/messages";
    assert_eq!(paths(&service), ["/oauth", send, send]);
    let ids: HashSet<String> = bodies(&service)
        .iter()
        .map(|body| body["messageId"].to_string())
        .collect();
    assert_eq!(ids.len(), 2);
    settings["business-messages"][0]["business-messages-active"] = json!([false, "checkbox"]);
    let chat = Chat::new("business off", &settings, &[from]);
    let refused = chat.installed.error(SEND, &json!(["Hi", 6]));
    let expected = (
        "configuration".to_owned(),
        "business-messages-active is not set".to_owned(),
    );
    assert_eq!(refused, expected);
}

#[test]
fn a_refusal_is_the_platforms_own_and_leaves_the_message_to_be_sent() {
    let silent = format!(
        "UPDATE sb_users_data SET value = '{SILENT}' WHERE user_id = 7 AND slug IN ('phone', 'facebook-id', 'instagram-id', 'microblog-id', 'wechat-id')"
    );
    for (source, refusal) in [
        ("wa", graph_error(131_047, "(#131047) Re-engagement message")),
        (
            "fb",
            graph_error(10, "(#10) This message is sent outside of allowed window."),
        ),
        (
            "ig",
            graph_error(10, "(#10) This message is sent outside of allowed window."),
        ),
        (
            "tw",
            json!({"title": "Forbidden", "type": "about:blank", "status": 403, "detail": "You do not have permission to DM one or more participants."}),
        ),
        (
            "wc",
            json!({"errcode": 45015, "errmsg": "response out of time limit or subscription is canceled"}),
        ),
    ] {
        let service = messaging::start(0, 100);
        let from = format!("UPDATE sb_conversations SET source = '{source}' WHERE id = 6");
        let none = "UPDATE sb_messages SET attachments = '' WHERE id = 11";
        let name = format!("silent {source}");
        let sql = [
            from.as_str(),
            silent.as_str(),
            none,
            "UPDATE sb_conversations SET extra = NULL",
        ];
        let mut chat = Chat::new(&name, &settings(&service.url(""), ""), &sql);
        assert_eq!(chat.send("Hi", Some(11)), refusal, "{source}");
        assert_eq!(chat.payload(), "", "{source}");
        let asked = service.received().len();
        assert_eq!(chat.send("Hi", Some(11)), refusal, "{source}");
        assert!(service.received().len() > asked, "{source}");
    }
}

/// The text that is given when a service fails.
fn failure(exit: Exit) -> String {
    match exit {
        Exit::Value(value) => value.as_str().unwrap().to_owned(),
        exit => panic!("no text: {exit:?}"),
    }
}

#[test]
fn a_message_of_unknown_fate_is_not_sent_again() {
    let crash = || {
        Reply::of(
            500,
            &[("content-type", "application/json")],
            r#"{"error":{"message":"Oops","code":1}}"#,
        )
    };
    let replies: [(_, fn() -> Reply); 5] = [
        ("hung up", || Reply::HangUp),
        ("crashed", crash),
        ("foreign crash", || Reply::of(502, &[], "<html>planted")),
        ("foreign answer", || Reply::of(200, &[], "<html>")),
        ("unavailable", || {
            Reply::of(503, &[("retry-after", "1")], r#"{"error":{"message":"Busy"}}"#)
        }),
    ];
    for (name, reply) in replies {
        let service = StandIn::start(move |_| reply());
        let from = "UPDATE sb_conversations SET source = 'wa' WHERE id = 6";
        let mut chat = Chat::new(name, &settings(&service.url(""), ""), &[from]);
        let exit = chat.installed.exit(SEND, &json!(["Hi", 6, 11]));
        assert_ne!(exit, Exit::Value(true.into()), "{name}");
        assert!(!format!("{exit:?}").contains("planted"), "{name}: {exit:?}");
        assert_eq!(chat.payload(), r#"{"sent-to":"wa"}"#, "{name}");
        assert_eq!(chat.send("Hi", Some(11)), json!(true), "{name}");
        assert_eq!(service.received().len(), 1, "{name}");
    }
}

#[test]
fn what_was_sent_in_part_is_not_sent_again() {
    let mut count = 0;
    let service = StandIn::start(move |_| {
        count += 1;
        match count {
            2 => Reply::of(400, &[], graph_error(100, "no").to_string()),
            _ => Reply::json(r#"{"messages":[{"id":"1"}]}"#),
        }
    });
    let chat = Chat::from("wa", &service);
    assert_eq!(chat.send("Hi", Some(11)), graph_error(100, "no"));
    assert_eq!(service.received().len(), 2, "the third part waits for nobody");
    assert_eq!(chat.send("Hi", Some(11)), json!(true));
    assert_eq!(service.received().len(), 2);
}

#[test]
fn who_is_asked_too_often_is_given_the_time_that_it_asks_for() {
    let service = messaging::start(1, 1);
    let chat = Chat::from("wa", &service);
    let started = Instant::now();
    assert_eq!(chat.send("Hi", None), json!(true));
    assert!(started.elapsed() >= Duration::from_secs(1));
    assert_eq!(service.received().len(), 2);

    let busy = graph_error(130_429, "Rate limit hit");
    let body = busy.to_string();
    let service = StandIn::start(move |_| Reply::of(429, &[("retry-after", "30")], body.clone()));
    let mut chat = Chat::from("wa", &service);
    let started = Instant::now();
    assert_eq!(chat.send("Hi", Some(11)), busy);
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(
        (service.received().len(), chat.payload()),
        (1, String::new()),
        "it may be sent later"
    );
}

#[test]
fn a_token_is_asked_for_again_when_the_service_says_when() {
    let mut asked = 0;
    let service = StandIn::start(move |request| {
        if request.path != "/cgi-bin/token" {
            return Reply::json(r#"{"errcode":0,"errmsg":"ok"}"#);
        }
        asked += 1;
        match asked {
            1 => Reply::of(503, &[("retry-after", "1")], ""),
            _ => Reply::json(r#"{"access_token":"given","expires_in":7200}"#),
        }
    });
    let chat = Chat::from("wc", &service);
    assert_eq!(chat.send("Hi", None), json!(true));
    assert_eq!(service.received().len(), 3);
    // Where there is no token nothing was sent.
    let service = StandIn::start(|_| Reply::HangUp);
    let mut chat = Chat::from("wc", &service);
    let exit = chat.installed.exit(SEND, &json!(["Hi", 6, 11]));
    assert!(failure(exit).contains("broke off"));
    assert_eq!(chat.payload(), "");
}

#[test]
fn no_credential_leaves_by_an_error() {
    let echo = |request: &Received| {
        let everything = format!("{} {:?} {:?}", request.body, request.query, request.headers);
        let body = json!({"error": {"message": everything, "code": 190}, "errcode": 40_125, "errmsg": everything, "detail": everything});
        Reply::of(400, &[("content-type", "application/json")], body.to_string())
    };
    for source in SOURCES.into_iter().filter(|source| !matches!(*source, "tx" | "em")) {
        let service = StandIn::start(echo);
        let chat = Chat::from(source, &service);
        let told = format!("{:?}", chat.installed.exit(SEND, &json!(["Hi", 6])));
        for secret in [TOKEN, SIGNING[1], SIGNING[2], SIGNING[3], APP_SECRET, "PRIVATE KEY"] {
            assert!(!told.contains(secret), "{source}: {secret} in {told}");
        }
    }
}

#[test]
fn a_direct_message_leaves_by_the_platform() {
    let service = messaging::start(0, 1);
    let mut chat = Chat::from("wa", &service);
    let arguments = json!(["7,3", "Hi {user_name}"]);
    assert_eq!(chat.installed.call("sb_direct_message", &arguments), json!(true));
    let texts: Vec<Value> = bodies(&service)
        .iter()
        .map(|body| body["text"]["body"].clone())
        .collect();
    assert_eq!(texts, ["Hi Emil Ågren"]);
    assert_eq!(
        chat.installed
            .rows("SELECT user_id, conversation_id, message, payload FROM sb_messages WHERE id > 11 ORDER BY id"),
        json!([
            {"user_id": "2", "conversation_id": "2", "message": "Hi Carla D'Angelo", "payload": ""},
            {"user_id": "2", "conversation_id": "6", "message": "Hi Emil Ågren", "payload": r#"{"sent-to":"wa"}"#},
        ])
    );
}

#[test]
fn a_direct_message_is_a_text_message_where_the_conversation_is() {
    let service = sms::start(0);
    let from = "UPDATE sb_conversations SET source = 'tx' WHERE id = 6";
    let chat = Chat::new("direct sms", &settings("http://127.0.0.1:1", &service.url("")), &[from]);
    let arguments = json!(["7", "*Hi* {user_name}"]);
    assert_eq!(chat.installed.call("sb_direct_message", &arguments), json!(true));
    let sent: Vec<_> = service.received().iter().map(|request| fields(&request.body)).collect();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0][2], ("Body".to_owned(), "Hi Emil Ågren".to_owned()));
}

/// Statements that make users of so many times 100 with an e-mail address.
fn crowd(hundreds: usize) -> Vec<String> {
    let numbers = support::scene::numbers(1, 100);
    (0..hundreds)
        .map(|hundred| {
            format!(
                "INSERT INTO sb_users (id, first_name, last_name, email, user_type, creation_time, token)
                SELECT {0} + seq, CONCAT('N', {0} + seq), '', CONCAT({0} + seq, '@crowd.example'), 'user', '2026-01-01', CONCAT('crowd', {0} + seq)
                FROM {numbers}",
                1000 + hundred * 100
            )
        })
        .collect()
}

fn mail_settings(port: u16) -> Value {
    json!({"email-server": [{
        "email-server-host": ["127.0.0.1", "text"], "email-server-port": [port.to_string(), "text"],
        "email-server-from": ["chat@support.example", "text"],
    }, "multi-input"]})
}

/// The outbox's table, as `sb upgrade` adds it.
fn outbox() -> &'static str {
    let tables = include_str!("fixtures/own-tables.sql");
    let begin = tables.find("CREATE TABLE sb_outbox").unwrap();
    tables[begin..].split(';').next().unwrap()
}

#[test]
fn of_hostile_markup_only_our_tags_are_in_an_email() {
    let payloads: Vec<String> = serde_json::from_str(include_str!("fixtures/markup.json")).unwrap();
    assert!(payloads.len() >= 100);
    let sql = [outbox(), "UPDATE sb_conversations SET title = '<b>x</b>' WHERE id = 4"];
    let mut chat = Chat::new("markup", &mail_settings(1), &sql);
    let send = |text: String| chat.installed.call(SEND, &json!([text, 4]));
    for payload in &payloads {
        assert_eq!(send(payload.clone()), json!(true), "{payload}");
        assert_eq!(
            send(format!("[card header='{payload}' description=\"{payload}\"]")),
            json!(true),
            "{payload}"
        );
    }
    let emails = chat.installed.rows("SELECT payload FROM sb_outbox ORDER BY id");
    let emails = emails.as_array().unwrap();
    assert_eq!(emails.len(), 2 * payloads.len());
    for email in emails {
        let email: Value = serde_json::from_str(email["payload"].as_str().unwrap()).unwrap();
        assert_eq!(email["subject"], "<b>x</b>");
        let html = email["message"].as_str().unwrap();
        let document = Html::parse_fragment(html);
        for node in document.tree.root().first_child().unwrap().descendants().skip(1) {
            match node.value() {
                Node::Text(_) => {}
                Node::Element(element) => {
                    let name = element.name();
                    assert!(
                        ["b", "em", "del", "code", "pre", "br", "a"].contains(&name),
                        "<{name}> in {html}"
                    );
                    for (attribute, value) in element.attrs() {
                        let is_ours = match attribute {
                            "href" => name == "a" && value.to_ascii_lowercase().starts_with("http"),
                            "target" => value == "_blank",
                            "rel" => value == "noopener nofollow",
                            _ => false,
                        };
                        assert!(is_ours, "{attribute}={value} in {html}");
                    }
                }
                other => panic!("{other:?} in {html}"),
            }
        }
    }
}

#[test]
fn an_email_to_all_is_recorded_once_for_each_in_pages() {
    let users = crowd(5);
    let sql: Vec<&str> = users.iter().map(String::as_str).chain([outbox()]).collect();
    let mut installed = Installed::new("crowd", "people", &mail_settings(1), &sql);
    installed.log_in("2", "agent");
    let arguments = json!(["all", "Hi {user_name}", "News"]);
    assert_eq!(installed.call("sb_direct_message", &arguments), json!(true));
    assert_eq!(
        installed.rows(
            "SELECT COUNT(*) AS emails, COUNT(DISTINCT target) AS people, COUNT(DISTINCT payload) AS contents FROM sb_outbox"
        ),
        json!([{"emails": "503", "people": "503", "contents": "503"}])
    );
}

#[test]
fn an_email_to_all_is_sent_page_by_page_where_there_is_no_table() {
    let users = crowd(3);
    let mail = MailServer::plain();
    let sql: Vec<&str> = users.iter().map(String::as_str).collect();
    let installed = Installed::new("crowd without table", "people", &mail_settings(mail.port), &sql);
    installed.log_in("2", "agent");
    let arguments = json!(["all", "Hi {user_name}", "News"]);
    assert_eq!(installed.call("sb_direct_message", &arguments), json!(true));
    // What was recorded last waits for the end of the request, which is none here. Of the first page one has no address.
    let seen = mail.emails(199);
    let to: HashSet<String> = seen.iter().map(|email| email["recipients"].to_string()).collect();
    assert_eq!(to.len(), 199, "each once");
}
