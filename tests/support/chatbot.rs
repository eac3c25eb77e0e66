//! The conversational agent as its published description has it: a stand-in that remembers what it is told, is as strict
//! as the service, and whose own answers are held against the description too.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::sign::Verifier;
use serde_json::{Value, json};

use super::openapi::OpenApi;
use super::stand_in::{Received, Reply, StandIn, fields};

pub const PROJECT: &str = "test-agent";
pub const CLIENT_ID: &str = "client-1";
pub const CLIENT_SECRET: &str = "planted-client-secret";
pub const REFRESH_TOKEN: &str = "1//planted-refresh-token";
const EMAIL: &str = "bot@test-agent.example";

/// The key of the service account.
pub static KEY: LazyLock<PKey<Private>> = LazyLock::new(|| PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap());

static API: LazyLock<OpenApi> = LazyLock::new(|| OpenApi::new(include_str!("../fixtures/chatbot.openapi.json")));

/// A running agent.
pub struct Chatbot {
    pub server: StandIn,
    pub state: Arc<Mutex<State>>,
}

/// What it knows, and how it behaves.
pub struct State {
    /// The tokens that open it.
    pub tokens: Vec<String>,
    /// How long a token is said to live.
    pub token_life: u64,
    /// How many tokens it has given.
    pub tokens_given: usize,
    /// What it answers to a text or an event, in the place of a repetition.
    pub answers: HashMap<String, Value>,
    /// How often it says first that it is asked too often.
    pub too_often: usize,
    /// How often an operation is not done yet when it is asked after.
    pub questions: usize,
    /// How an operation ends in the place of its success.
    pub operation_error: Option<Value>,
    /// The largest page that it gives.
    pub page: usize,
    pub intents: Vec<Value>,
    pub entity_types: Vec<Value>,
    /// By the session's name.
    pub contexts: HashMap<String, Vec<Value>>,
    operations: HashMap<String, (usize, Value)>,
    responses: usize,
}

impl Chatbot {
    pub fn start() -> Self {
        let state = Arc::new(Mutex::new(State {
            tokens: Vec::new(),
            token_life: 3599,
            tokens_given: 0,
            answers: HashMap::new(),
            too_often: 0,
            questions: 2,
            operation_error: None,
            page: 100,
            intents: Vec::new(),
            entity_types: Vec::new(),
            contexts: HashMap::new(),
            operations: HashMap::new(),
            responses: 0,
        }));
        let shared = Arc::clone(&state);
        let server = StandIn::start(move |request| shared.lock().unwrap().reply(request));
        Self { server, state }
    }

    /// The key file of the service account, as the service gives it out.
    pub fn key_file(&self) -> Value {
        json!({
            "type": "service_account", "project_id": PROJECT, "private_key_id": "key-1",
            "private_key": String::from_utf8(KEY.private_key_to_pem_pkcs8().unwrap()).unwrap(),
            "client_email": EMAIL, "client_id": "1", "token_uri": self.server.url("/token"),
        })
    }

    pub fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// The requests to the agent itself, without those for tokens.
    pub fn asked(&self) -> Vec<Received> {
        let received = self.server.received().into_iter();
        received.filter(|request| request.path != "/token").collect()
    }
}

/// A refusal as the service writes it.
pub fn refusal(code: u16, status: &str, message: &str) -> Value {
    json!({"error": {"code": code, "message": message, "status": status}})
}

impl State {
    fn reply(&mut self, request: &Received) -> Reply {
        let (status, answer) = if request.path == "/token" {
            self.token(request)
        } else {
            self.answer(request)
        };
        let mut headers = vec![("content-type", "application/json; charset=UTF-8")];
        if status == 429 {
            headers.push(("retry-after", "1"));
        }
        Reply::of(status, &headers, answer.to_string())
    }

    fn token(&mut self, request: &Received) -> (u16, Value) {
        if request.header("content-type") != Some("application/x-www-form-urlencoded") {
            return (
                400,
                json!({"error": "invalid_request", "error_description": "not a form"}),
            );
        }
        let given: HashMap<String, String> = fields(&request.body).into_iter().collect();
        let field = |name: &str| given.get(name).map(String::as_str).unwrap_or_default();
        let refused = match field("grant_type") {
            "urn:ietf:params:oauth:grant-type:jwt-bearer" => assertion_fault(field("assertion"), request),
            "refresh_token" if (field("client_id"), field("client_secret")) != (CLIENT_ID, CLIENT_SECRET) => {
                let description = "The OAuth client was not found.";
                return (
                    401,
                    json!({"error": "invalid_client", "error_description": description}),
                );
            }
            "refresh_token" if field("refresh_token") == REFRESH_TOKEN => None,
            "refresh_token" => Some("Token has been expired or revoked."),
            _ => return (400, json!({"error": "unsupported_grant_type"})),
        };
        if let Some(description) = refused {
            return (400, json!({"error": "invalid_grant", "error_description": description}));
        }
        self.tokens_given += 1;
        let token = format!("ya29.planted-token-{}", self.tokens_given);
        self.tokens.push(token.clone());
        let scope = "https://www.googleapis.com/auth/dialogflow";
        (
            200,
            json!({"access_token": token, "expires_in": self.token_life, "scope": scope, "token_type": "Bearer"}),
        )
    }

    fn answer(&mut self, request: &Received) -> (u16, Value) {
        if self.too_often > 0 {
            self.too_often -= 1;
            return (429, refusal(429, "RESOURCE_EXHAUSTED", "Quota exceeded"));
        }
        let token = request
            .header("authorization")
            .and_then(|header| header.strip_prefix("Bearer "));
        if token.is_none_or(|token| self.tokens.iter().all(|known| known != token)) {
            let message = "Request had invalid authentication credentials.";
            return (401, refusal(401, "UNAUTHENTICATED", message));
        }
        // The description has the paths without a region, which is a part of them like any other.
        let path = regex::Regex::new("/locations/[^/]+")
            .unwrap()
            .replace(&request.path, "");
        let Some(operation) = API.operation(&request.method, &path) else {
            return (404, refusal(404, "NOT_FOUND", "there is no such path"));
        };
        let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
        let fault = operation.check_parameters(&request.query).err().or_else(|| {
            let is_json = request
                .header("content-type")
                .is_some_and(|kind| kind.starts_with("application/json"));
            match (operation.takes_body(), is_json) {
                (true, true) => operation.check_body("application/json", &body).err(),
                (true, false) => Some("the body is no JSON".to_owned()),
                (false, _) if request.body.is_empty() => None,
                (false, _) => Some("a body where none belongs".to_owned()),
            }
        });
        if let Some(fault) = fault {
            let message = format!("Invalid JSON payload received. {fault}");
            return (400, refusal(400, "INVALID_ARGUMENT", &message));
        }
        let (status, answer) = self.act(request, &body);
        operation.assert_answer(status, &answer);
        (status, answer)
    }

    fn act(&mut self, request: &Received, body: &Value) -> (u16, Value) {
        let parts: Vec<&str> = request.path.split('/').skip(1).collect();
        let [_, "projects", project, rest @ ..] = parts.as_slice() else {
            return (404, refusal(404, "NOT_FOUND", "no project"));
        };
        if *project != PROJECT && *project != "other-agent" {
            return (
                403,
                refusal(403, "PERMISSION_DENIED", "The caller does not have permission"),
            );
        }
        let (place, rest) = match rest {
            ["locations", location, rest @ ..] => (format!("projects/{project}/locations/{location}"), rest),
            rest => (format!("projects/{project}"), rest),
        };
        let parent = format!("{place}/agent");
        match (request.method.as_str(), rest) {
            ("GET", ["agent"]) => (
                200,
                json!({
                    "parent": place, "displayName": "Test", "defaultLanguageCode": "en", "timeZone": "Europe/Amsterdam",
                    "supportedLanguageCodes": ["it"], "matchMode": "MATCH_MODE_HYBRID", "classificationThreshold": 0.3,
                    "apiVersion": "API_VERSION_V2", "tier": "TIER_STANDARD",
                }),
            ),
            ("POST", ["agent", "sessions", session, "contexts"]) => {
                let expected = format!("{parent}/sessions/{session}/contexts/");
                if !body["name"].as_str().is_some_and(|name| name.starts_with(&expected)) {
                    return (
                        400,
                        refusal(400, "INVALID_ARGUMENT", "the context is of another session"),
                    );
                }
                self.contexts
                    .entry((*session).to_owned())
                    .or_default()
                    .push(body.clone());
                (200, body.clone())
            }
            ("POST", ["agent", "sessions", session]) => {
                self.detect_intent(session.trim_end_matches(":detectIntent"), body)
            }
            ("GET", ["agent", "intents"]) => (200, paged("intents", &self.intents, self.page, request)),
            ("POST", ["agent", "intents"]) => match self.add_intent(&parent, body.clone()) {
                Ok(intent) => (200, intent),
                Err(error) => (409, error),
            },
            ("POST", ["agent", "intents:batchUpdate"]) => {
                let intents = body["intentBatchInline"]["intents"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default();
                let made: Result<Vec<Value>, Value> = intents
                    .into_iter()
                    .map(|intent| self.add_intent(&parent, intent))
                    .collect();
                match made {
                    Ok(intents) => self.begin(&place, &json!({"intents": intents})),
                    Err(error) => (409, error),
                }
            }
            ("POST", ["agent", "intents:batchDelete"]) => {
                let names: Vec<&Value> = body["intents"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|intent| &intent["name"])
                    .collect();
                self.intents.retain(|intent| !names.contains(&&intent["name"]));
                self.begin(&place, &json!({}))
            }
            ("GET", ["operations", id]) => self.ask_after(&format!("{place}/operations/{id}")),
            (method, ["agent", "entityTypes", rest @ ..]) => self.entity_types(method, &parent, rest, request, body),
            _ => (404, refusal(404, "NOT_FOUND", "nothing there")),
        }
    }

    fn entity_types(
        &mut self,
        method: &str,
        parent: &str,
        rest: &[&str],
        request: &Received,
        body: &Value,
    ) -> (u16, Value) {
        match (method, rest) {
            ("GET", []) => (200, paged("entityTypes", &self.entity_types, self.page, request)),
            ("POST", []) => {
                let same = self
                    .entity_types
                    .iter()
                    .any(|known| known["displayName"] == body["displayName"]);
                if same {
                    return (
                        400,
                        refusal(400, "INVALID_ARGUMENT", "EntityType with the same display name exists."),
                    );
                }
                let mut entity_type = body.clone();
                entity_type["name"] = format!("{parent}/entityTypes/e{}", self.entity_types.len() + 1).into();
                self.entity_types.push(entity_type.clone());
                (200, entity_type)
            }
            (method @ ("GET" | "PATCH"), [id]) => {
                let name = format!("{parent}/entityTypes/{id}");
                let Some(entity_type) = self.entity_types.iter_mut().find(|known| known["name"] == name) else {
                    let message = format!("EntityType '{name}' not found");
                    return (404, refusal(404, "NOT_FOUND", &message));
                };
                if method == "PATCH" {
                    entity_type["entities"] = body["entities"].clone();
                }
                (200, entity_type.clone())
            }
            _ => (404, refusal(404, "NOT_FOUND", "nothing there")),
        }
    }

    fn detect_intent(&mut self, session: &str, body: &Value) -> (u16, Value) {
        if session.len() > 36 {
            return (
                400,
                refusal(400, "INVALID_ARGUMENT", "the session is longer than 36 bytes"),
            );
        }
        let input = &body["queryInput"];
        let language = [&input["text"], &input["event"]]
            .into_iter()
            .find_map(|input| input["languageCode"].as_str());
        let Some(language) = language else {
            return (400, refusal(400, "INVALID_ARGUMENT", "the language is missing"));
        };
        let said = input["text"]["text"]
            .as_str()
            .or(input["event"]["name"].as_str())
            .unwrap();
        if said.is_empty() || said.chars().count() > 256 {
            return (
                400,
                refusal(
                    400,
                    "INVALID_ARGUMENT",
                    "Input text is empty or longer than 256 characters.",
                ),
            );
        }
        self.responses += 1;
        let answer = format!("You said: {said}");
        let result = self.answers.get(said).cloned().unwrap_or_else(|| {
            json!({
                "queryText": said, "languageCode": language, "action": "echo", "fulfillmentText": answer,
                "fulfillmentMessages": [{"text": {"text": [answer]}}], "intentDetectionConfidence": 0.9,
                "allRequiredParamsPresent": true, "parameters": {},
                "intent": {"name": format!("projects/{PROJECT}/agent/intents/echo"), "displayName": "Echo"},
            })
        });
        (
            200,
            json!({"responseId": format!("response-{}", self.responses), "queryResult": result}),
        )
    }

    /// Adds an intent, or replaces the one that it names.
    fn add_intent(&mut self, parent: &str, mut intent: Value) -> Result<Value, Value> {
        if let Some(known) = self.intents.iter_mut().find(|known| known["name"] == intent["name"]) {
            *known = intent.clone();
            return Ok(intent);
        }
        if self
            .intents
            .iter()
            .any(|known| known["displayName"] == intent["displayName"])
        {
            let message = format!("Intent with the display name {} already exists.", intent["displayName"]);
            return Err(refusal(409, "ALREADY_EXISTS", &message));
        }
        intent["name"] = format!("{parent}/intents/i{}", self.intents.len() + 1).into();
        self.intents.push(intent.clone());
        Ok(intent)
    }

    fn begin(&mut self, place: &str, response: &Value) -> (u16, Value) {
        let name = format!("{place}/operations/o{}", self.operations.len() + 1);
        let end = match &self.operation_error {
            Some(error) => json!({"name": name, "done": true, "error": error}),
            None => json!({"name": name, "done": true, "response": response}),
        };
        self.operations.insert(name.clone(), (self.questions, end));
        // As the service writes it: what is false is left out.
        (200, json!({"name": name}))
    }

    fn ask_after(&mut self, name: &str) -> (u16, Value) {
        match self.operations.get_mut(name) {
            Some((0, end)) => (200, end.clone()),
            Some((questions, _)) => {
                *questions -= 1;
                (200, json!({"name": name}))
            }
            None => (404, refusal(404, "NOT_FOUND", "no such operation")),
        }
    }
}

fn paged(what: &str, items: &[Value], page: usize, request: &Received) -> Value {
    let given = |name: &str| {
        request
            .query
            .iter()
            .find(|(given, _)| given == name)
            .map(|(_, value)| value.as_str())
    };
    let begin: usize = given("pageToken").map_or(0, |token| token.trim_start_matches("page=&").parse().unwrap());
    let size = given("pageSize").map_or(100, |size| size.parse().unwrap()).min(page);
    let end = items.len().min(begin + size);
    let mut answer = json!({});
    if begin < end {
        answer[what] = items[begin..end].into();
    }
    if end < items.len() {
        // A token may hold what an address has to escape.
        answer["nextPageToken"] = format!("page=&{end}").into();
    }
    answer
}

/// What is wrong with the proof that a client has the key.
fn assertion_fault(assertion: &str, request: &Received) -> Option<&'static str> {
    let parts: Vec<&str> = assertion.split('.').collect();
    let [header, claims, signature] = parts[..] else {
        return Some("Invalid JWT.");
    };
    let read = |part: &str| -> Value { serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap() };
    let mut verifier = Verifier::new(MessageDigest::sha256(), &KEY).unwrap();
    verifier.update(format!("{header}.{claims}").as_bytes()).unwrap();
    if !verifier.verify(&URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap() {
        return Some("Invalid JWT Signature.");
    }
    let (header, claims) = (read(header), read(claims));
    let time = |name: &str| claims[name].as_i64().unwrap_or_default();
    let now = chrono::Utc::now().timestamp();
    let is_right = header["alg"] == "RS256"
        && header["kid"] == "key-1"
        && claims["iss"] == EMAIL
        && claims["aud"]
            .as_str()
            .is_some_and(|audience| audience.ends_with(&request.path))
        && claims["scope"]
            .as_str()
            .is_some_and(|scope| scope.starts_with("https://www.googleapis.com/auth/"))
        && (time("iat") - now).abs() < 300
        && (1..=3600).contains(&(time("exp") - time("iat")));
    if is_right {
        None
    } else {
        Some("Invalid JWT: the claims are wrong.")
    }
}
