//! The messaging platforms as they are described: a stand-in for all of them that is as strict as they are, and whose own
//! answers are held against the descriptions too.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::sign::Signer;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

use super::openapi::OpenApi;
use super::stand_in::{Received, Reply, StandIn, fields};

/// The phone number's id that WhatsApp's messages go from, and the ids of the pages.
pub const PHONE: &str = "15550100";
pub const PAGE: &str = "900";
pub const ACCOUNT: &str = "901";

/// The token of the Graph API.
pub const TOKEN: &str = "EAAB-planted-graph-token";

/// Who has not written for so long that nobody may write to them.
pub const SILENT: &str = "199";

/// Key, its password, token, its password.
pub const SIGNING: [&str; 4] = [
    "consumer-key",
    "planted&consumer=secret",
    "access-token",
    "planted/token+secret",
];

pub const APP: &str = "wx-app";
pub const APP_SECRET: &str = "planted-app-secret";

/// The token of Business Messages.
pub const ASSERTED: &str = "planted-business-token";

/// All that is escaped in a signature.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

static WHATSAPP: LazyLock<OpenApi> = LazyLock::new(|| OpenApi::new(include_str!("../fixtures/messaging.openapi.json")));
static OTHERS: LazyLock<OpenApi> = LazyLock::new(|| OpenApi::new(include_str!("../fixtures/platforms.openapi.json")));

/// What has happened.
struct State {
    too_often: usize,
    /// How often a token of WeChat is taken.
    uses: usize,
    /// The newest token's number, and how often it was used.
    token: (usize, usize),
    nonces: HashSet<String>,
    /// The types of what was uploaded, by ids.
    media: HashMap<String, String>,
}

/// Starts platforms that first say so often that they are asked too often, and where a token of WeChat is taken so often.
pub fn start(too_often: usize, uses: usize) -> StandIn {
    let mut state = State {
        too_often,
        uses,
        token: (0, 0),
        nonces: HashSet::new(),
        media: HashMap::new(),
    };
    StandIn::start(move |request| {
        if state.too_often > 0 {
            state.too_often -= 1;
            let refusal = graph_error(130_429, "Rate limit hit");
            return Reply::of(429, &[("retry-after", "1")], refusal.to_string());
        }
        let (status, answer) = state.answer(request);
        Reply::of(status, &[("content-type", "application/json")], answer.to_string())
    })
}

/// A refusal as the Graph API writes it.
pub fn graph_error(code: u32, message: &str) -> Value {
    json!({"error": {"message": message, "type": "OAuthException", "code": code, "fbtrace_id": "Az1"}})
}

impl State {
    fn answer(&mut self, request: &Received) -> (u16, Value) {
        let path: Vec<&str> = request.path.split('/').skip(1).collect();
        match path[..] {
            ["v23.0", PHONE, "messages"] => whatsapp(request),
            ["v23.0", page @ (PAGE | ACCOUNT), "messages"] => pages(request, page),
            ["2", ..] => self.microblog(request),
            ["cgi-bin", ..] => self.wechat(request),
            ["oauth"] => (
                200,
                json!({"access_token": ASSERTED, "expires_in": 3599, "token_type": "Bearer"}),
            ),
            ["v1", "conversations", ..] => business(request),
            _ => (404, graph_error(100, "Unsupported post request")),
        }
    }

    fn microblog(&mut self, request: &Received) -> (u16, Value) {
        let problem = |status: u16, title: &str, detail: String| {
            let problem = json!({"title": title, "type": "about:blank", "status": status, "detail": detail});
            (status, problem)
        };
        if let Err(fault) = self.check_signature(request) {
            return problem(401, "Unauthorized", fault);
        }
        let Some(operation) = OTHERS.operation(&request.method, &request.path) else {
            return problem(404, "Not Found", String::new());
        };
        if request.path == "/2/media/upload" {
            let (form, kinds) = parts(request);
            if let Err(error) = operation.check_body("multipart/form-data", &form) {
                return problem(400, "Invalid Request", error);
            }
            let kind = kinds.get("media").cloned().unwrap_or_default();
            if !["image/jpeg", "image/png", "image/webp", "image/bmp", "image/tiff"].contains(&kind.as_str()) {
                return problem(400, "Invalid Request", format!("media type {kind}"));
            }
            let id = (1_880_000_000_000_000_000_u64 + self.media.len() as u64).to_string();
            self.media.insert(id.clone(), kind);
            let answer = json!({"data": {"id": id, "media_key": format!("3_{id}"), "expires_after_secs": 86_400}});
            operation.assert_answer(200, &answer);
            return (200, answer);
        }
        let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
        if let Err(error) = operation.check_body("application/json", &body) {
            return problem(400, "Invalid Request", error);
        }
        if let Some(id) = body["attachments"][0]["media_id"].as_str()
            && !self.media.contains_key(id)
        {
            return problem(400, "Invalid Request", "unknown media".to_owned());
        }
        if request.path.contains(&format!("/{SILENT}/")) {
            return problem(
                403,
                "Forbidden",
                "You do not have permission to DM one or more participants.".into(),
            );
        }
        let answer = json!({"data": {"dm_conversation_id": "1-2", "dm_event_id": "3"}});
        operation.assert_answer(201, &answer);
        (201, answer)
    }

    /// Whether a request is signed as RFC 5849 says, and not for the second time.
    fn check_signature(&mut self, request: &Received) -> Result<(), String> {
        let header = request.header("authorization").unwrap_or_default();
        let header = header.strip_prefix("OAuth ").ok_or("no signature")?;
        let mut given: HashMap<String, String> = HashMap::new();
        for pair in header.split(',') {
            let (name, value) = pair.trim().split_once('=').ok_or("misshapen")?;
            let pair = format!("{name}={}", value.trim_matches('"').replace('+', "%2B"));
            given.extend(fields(&pair));
        }
        let signature = given.remove("oauth_signature").ok_or("no signature")?;
        let [key, key_secret, token, token_secret] = SIGNING;
        let of = |name: &str| given.get(name).cloned().unwrap_or_default();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let time: u64 = of("oauth_timestamp").parse().map_err(|_| "no time")?;
        if (of("oauth_consumer_key"), of("oauth_token")) != (key.to_owned(), token.to_owned()) {
            return Err("unknown key".to_owned());
        }
        if of("oauth_signature_method") != "HMAC-SHA1" || now.abs_diff(time) > 300 {
            return Err("method or time".to_owned());
        }
        if !self.nonces.insert(of("oauth_nonce")) {
            return Err("the nonce was used".to_owned());
        }
        let mut pairs: Vec<(String, String)> = given
            .into_iter()
            .chain(request.query.clone())
            .map(|(name, value)| (escaped(&name), escaped(&value)))
            .collect();
        pairs.sort();
        let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let address = format!("http://{}{}", request.header("host").unwrap_or_default(), request.path);
        let base = [request.method.clone(), escaped(&address), escaped(&pairs.join("&"))].join("&");
        let key = format!("{}&{}", escaped(key_secret), escaped(token_secret));
        let key = PKey::hmac(key.as_bytes()).unwrap();
        let mut signer = Signer::new(MessageDigest::sha1(), &key).unwrap();
        let expected = STANDARD.encode(signer.sign_oneshot_to_vec(base.as_bytes()).unwrap());
        if signature == expected {
            Ok(())
        } else {
            Err("wrong signature".to_owned())
        }
    }

    fn wechat(&mut self, request: &Received) -> (u16, Value) {
        let refusal = |code: i64, message: &str| (200, json!({"errcode": code, "errmsg": message}));
        let Some(operation) = OTHERS.operation(&request.method, &request.path) else {
            return refusal(44_002, "empty post data");
        };
        if let Err(error) = operation.check_parameters(&request.query) {
            return refusal(47_001, &error);
        }
        let parameter = |name: &str| {
            let found = request.query.iter().find(|(own, _)| own == name);
            found.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        if request.path == "/cgi-bin/token" {
            if (parameter("appid"), parameter("secret")) != (APP.to_owned(), APP_SECRET.to_owned()) {
                return refusal(40_125, &format!("invalid appsecret {}", parameter("secret")));
            }
            self.token = (self.token.0 + 1, 0);
            let answer = json!({"access_token": format!("token-{}", self.token.0), "expires_in": 7200});
            operation.assert_answer(200, &answer);
            return (200, answer);
        }
        if parameter("access_token") != format!("token-{}", self.token.0) {
            return refusal(40_001, "invalid credential, access_token is invalid or not latest");
        }
        if self.token.1 == self.uses {
            return refusal(42_001, "access_token expired");
        }
        self.token.1 += 1;
        if request.path == "/cgi-bin/media/upload" {
            let (form, kinds) = parts(request);
            if let Err(error) = operation.check_body("multipart/form-data", &form) {
                return refusal(41_005, &error);
            }
            let id = format!("media-{}", self.media.len());
            self.media
                .insert(id.clone(), kinds.get("media").cloned().unwrap_or_default());
            let answer = json!({"type": parameter("type"), "media_id": id, "created_at": 1_795_000_000});
            operation.assert_answer(200, &answer);
            return (200, answer);
        }
        let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
        if let Err(error) = operation.check_body("application/json", &body) {
            return refusal(40_008, &error);
        }
        if body["text"]["content"].as_str().is_some_and(|text| text.len() > 2048) {
            return refusal(45_002, "content size out of limit");
        }
        if let Some(id) = body["image"]["media_id"].as_str()
            && !self.media.contains_key(id)
        {
            return refusal(40_007, "invalid media_id");
        }
        if body["touser"] == SILENT {
            return refusal(45_015, "response out of time limit or subscription is canceled");
        }
        let answer = json!({"errcode": 0, "errmsg": "ok"});
        operation.assert_answer(200, &answer);
        (200, answer)
    }
}

fn whatsapp(request: &Received) -> (u16, Value) {
    let given = request.header("authorization").unwrap_or_default();
    if given != format!("Bearer {TOKEN}") {
        let message = format!("Malformed access token {}", given.trim_start_matches("Bearer "));
        return (401, graph_error(190, &message));
    }
    let operation = WHATSAPP.operation(&request.method, &request.path).unwrap();
    let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
    if let Err(error) = operation.check_body("application/json", &body) {
        return (400, graph_error(100, &format!("(#100) {error}")));
    }
    let long = body["text"]["body"]
        .as_str()
        .is_some_and(|text| text.chars().count() > 4096);
    let titles: Vec<&Value> = body["interactive"]["action"]["buttons"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|button| &button["reply"]["title"])
        .collect();
    let are_unique = titles.iter().collect::<HashSet<_>>().len() == titles.len();
    if long || !are_unique {
        return (
            400,
            graph_error(100, "(#100) Param text['body'] must be at most 4096 characters long."),
        );
    }
    if body["to"] == SILENT {
        return (400, graph_error(131_047, "(#131047) Re-engagement message"));
    }
    let answer = json!({
        "messaging_product": "whatsapp", "contacts": [{"input": body["to"], "wa_id": body["to"]}],
        "messages": [{"id": "wamid.1"}],
    });
    operation.assert_answer(200, &answer);
    (200, answer)
}

fn pages(request: &Received, page: &str) -> (u16, Value) {
    let operation = OTHERS.operation(&request.method, &request.path).unwrap();
    let token = request.query.iter().find(|(name, _)| name == "access_token");
    if token.is_none_or(|(_, token)| token != TOKEN) {
        return (400, graph_error(190, "Invalid OAuth access token."));
    }
    let is_form = request
        .header("content-type")
        .is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"));
    let body = if is_form {
        // Structures within a form are JSON.
        let read = |(name, value): (String, String)| {
            let value = serde_json::from_str(&value).ok().filter(Value::is_object);
            (name, value)
        };
        let given = fields(&request.body);
        let texts: Map<String, Value> = given.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        let read = given
            .into_iter()
            .map(read)
            .filter_map(|(name, value)| Some((name, value?)));
        texts.into_iter().chain(read).collect::<Map<String, Value>>().into()
    } else {
        serde_json::from_str(&request.body).unwrap_or_default()
    };
    if let Err(error) = operation.check_body("application/json", &body) {
        return (400, graph_error(100, &format!("(#100) {error}")));
    }
    if page == ACCOUNT && body["message"]["text"].as_str().is_some_and(|text| text.len() > 1000) {
        return (
            400,
            graph_error(
                100,
                "(#100) Length of param message[text] must be less than or equal to 1000",
            ),
        );
    }
    if page == ACCOUNT && body["message"]["attachment"]["type"] == "file" {
        return (400, graph_error(100, "(#100) Param attachment type"));
    }
    if body["recipient"]["id"] == SILENT {
        return (
            400,
            graph_error(10, "(#10) This message is sent outside of allowed window."),
        );
    }
    let answer = json!({"recipient_id": body["recipient"]["id"], "message_id": "m_1"});
    operation.assert_answer(200, &answer);
    (200, answer)
}

fn business(request: &Received) -> (u16, Value) {
    let refusal = |code: u16, message: &str| {
        let refusal = json!({"error": {"code": code, "message": message, "status": "REFUSED"}});
        (code, refusal)
    };
    if request.header("authorization") != Some(&format!("Bearer {ASSERTED}")) {
        return refusal(401, "no access");
    }
    let operation = OTHERS.operation(&request.method, &request.path).unwrap();
    let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
    if let Err(error) = operation.check_body("application/json", &body) {
        return refusal(400, &error);
    }
    let answer = json!({"name": format!("conversations/1/messages/{}", body["messageId"].as_str().unwrap())});
    operation.assert_answer(200, &answer);
    (200, answer)
}

/// The parts of a form with files: what each holds, as far as it is text, and the media types of the files.
pub fn parts(request: &Received) -> (Value, HashMap<String, String>) {
    let kind = request.header("content-type").unwrap_or_default();
    let boundary = kind
        .split_once("boundary=")
        .map(|(_, boundary)| boundary.trim_matches('"'));
    let text = String::from_utf8_lossy(&request.bytes);
    let (mut form, mut kinds) = (Map::new(), HashMap::new());
    for part in text.split(&format!("--{}", boundary.unwrap_or_default())) {
        let Some((head, content)) = part.trim_start().split_once("\r\n\r\n") else {
            continue;
        };
        let name = head.split_once("name=\"").and_then(|(_, rest)| rest.split_once('"'));
        let Some((name, _)) = name else { continue };
        let content = content.strip_suffix("\r\n").unwrap_or(content);
        form.insert(name.to_owned(), content.into());
        let lower = head.to_ascii_lowercase();
        if let Some((_, kind)) = lower.split_once("content-type: ") {
            kinds.insert(
                name.to_owned(),
                kind.lines().next().unwrap_or_default().trim().to_owned(),
            );
        }
    }
    (form.into(), kinds)
}

fn escaped(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}
