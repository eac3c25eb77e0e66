//! The conversational agent: the REST API of Dialogflow ES, version 2.
//!
//! A refusal is `{"error": {"code", "message", "status"}}`. Lists come in pages, each with the token of the next. What
//! takes its time answers with an operation, which is asked after until it is done.

use std::cell::RefCell;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use tokio::time::sleep;

use super::oauth::{Account, Client, Consent, Grant};
use crate::contract::error::{Code, Error, Result};
use crate::contract::{Argument, Key, Map, Value, json};
use crate::platform::http::{Answer, Body, Method, Request, Service};
use crate::platform::settings::Settings;
use crate::platform::{Context, crypto};
use crate::providers::Outside;

/// Where tokens come from when neither the settings nor the key file say otherwise.
const TOKEN_ADDRESS: &str = "https://oauth2.googleapis.com/token";

/// As it is looked for.
pub(super) const SERVICE: Outside = Outside {
    name: "chatbot",
    is_wanted: |settings| settings.is_on("chatbot-active"),
    address: |settings| Ok(address(location(settings)?.as_deref())),
};

/// The same of where its tokens come from.
pub(super) const TOKENS: Outside = Outside {
    name: "chatbot-token",
    is_wanted: |settings| settings.is_on("chatbot-active"),
    address: |settings| {
        let grant = grant(settings, client(settings))?;
        Ok(grant
            .as_ref()
            .and_then(own_token_address)
            .unwrap_or(TOKEN_ADDRESS)
            .to_owned())
    },
};

const SCOPE: &str = "https://www.googleapis.com/auth/dialogflow";

const VERSION: &str = "v2";

/// How the service's access tokens begin.
const ACCESS_TOKEN: &str = "ya29.";

/// The largest page of a list.
const PAGE: &str = "1000";

/// More pages than this, and the service is turning in a circle.
const MAX_PAGES: usize = 1_000;

/// The longest text that the service takes, in characters.
const TEXT_LIMIT: usize = 256;

/// The first pauses between questions after an operation, and all that follow.
const PAUSES: [Duration; 3] = [
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
];
const LONGEST_PAUSE: Duration = Duration::from_secs(4);

/// How often an operation is asked after: for about a minute. One that takes longer is given as it is then.
const QUESTIONS: usize = 17;

/// How long the facts of an agent are kept.
const FACTS_LIFE: Duration = Duration::from_hours(1);

const UNAUTHENTICATED: u16 = 401;

/// The agent of an installation.
pub struct Agent<'a> {
    cx: &'a Context<'a>,
    service: Service<'a>,
    grant: Option<Grant>,
    /// The application that refresh tokens were given to.
    client: Option<Client>,
    project: String,
    location: Option<String>,
    language: Option<String>,
    token: RefCell<Option<SecretString>>,
}

/// What is said to the agent.
pub enum Input {
    /// What someone wrote.
    Text(String),
    /// Something that happened, and what about it.
    Event(String, Map),
}

/// What an agent says of itself, as far as it matters to a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// Its main language.
    pub language: String,
    /// How sure it must be of an intent.
    pub threshold: f64,
}

/// An intent of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The service's name for it.
    pub name: String,
    /// How people call it.
    pub display_name: String,
}

/// What is asked of the service.
struct Call {
    method: Method,
    path: Path,
    query: Vec<(String, String)>,
    body: Option<Value>,
}

enum Path {
    Segments(Vec<String>),
    Written(String),
}

impl<'a> Agent<'a> {
    /// The agent of the settings, or that of another project; opened by a token that the caller has, or by its own.
    pub async fn of(cx: &'a Context<'_>, project: Option<String>, token: Option<SecretString>) -> Result<Self> {
        let settings = cx.settings().await?;
        if !settings.is_on("chatbot-active") {
            return Err(Code::ChatbotNotActive.into());
        }
        let client = client(&settings);
        let grant = grant(&settings, client.clone())?;
        let own = match &grant {
            Some(Grant::Account(account)) => account.project_id.clone(),
            _ => None,
        };
        let project = project.or_else(|| settings.text("chatbot-project-id")).or(own);
        let project = project
            .map(|project| project.trim().to_owned())
            .filter(|project| !project.is_empty());
        let location = location(&settings)?;
        let address = address(location.as_deref());
        Ok(Self {
            cx,
            service: cx.service("chatbot", &address).await?,
            grant,
            client,
            project: project.ok_or_else(|| Error::configuration("chatbot-project-id is not set"))?,
            location,
            language: settings.text("chatbot-agent-language"),
            token: RefCell::new(token),
        })
    }

    /// Opens the agent by a token that a caller got from wherever: an access token, or a refresh token of the
    /// installation's application.
    pub fn open_by(&mut self, token: String) {
        let Some(client) = &self.client else {
            self.token = RefCell::new(Some(token.into()));
            return;
        };
        let kept = self.kept_token();
        let is_kept = kept.is_some_and(|kept| crypto::equal(kept.expose_secret().as_bytes(), token.as_bytes()));
        if is_kept || token.starts_with(ACCESS_TOKEN) {
            self.token = RefCell::new(Some(token.into()));
        } else {
            self.grant = Some(Grant::Consent(Consent {
                client: client.clone(),
                refresh_token: token.into(),
            }));
        }
    }

    /// A new access token, which is used from now on.
    pub async fn new_token(&self) -> Result<SecretString> {
        let grant = self.grant.as_ref().ok_or_else(|| {
            Error::configuration(
                "neither chatbot-credentials nor chatbot-client-id, -secret and -refresh-token are set",
            )
        })?;
        let address = own_token_address(grant).unwrap_or(TOKEN_ADDRESS);
        let service = self.cx.service("chatbot-token", address).await?;
        let token = grant.token(&service, TOKEN_ADDRESS, SCOPE, self.cx.now()).await?;
        self.cx.kept().keep(kept_name(grant)?, token.text.clone(), token.life);
        self.token.replace(Some(token.text.clone()));
        Ok(token.text)
    }

    /// The access token that is in use.
    pub async fn token(&self) -> Result<SecretString> {
        let own = self.token.borrow().clone();
        match own.or_else(|| self.kept_token()) {
            Some(token) => Ok(token),
            None => self.new_token().await,
        }
    }

    fn kept_token(&self) -> Option<SecretString> {
        let name = self.grant.as_ref().and_then(|grant| kept_name(grant).ok())?;
        self.cx.kept().get(&name)
    }

    /// The agent's description of itself.
    pub async fn description(&self) -> Result<Value> {
        self.ask(self.agent_call(Method::GET, &[], &[], None)).await
    }

    /// What it says of itself, asked rarely.
    pub async fn facts(&self) -> Result<Facts> {
        let name = format!("chatbot-agent/{}", self.parent());
        let kept = self
            .cx
            .kept()
            .get(&name)
            .and_then(|text| json::decode(text.expose_secret().as_bytes()));
        let description = if let Some(kept) = kept {
            kept
        } else {
            let description = self.description().await?;
            let text = json::encode(&description);
            self.cx.kept().keep(name, text.into(), FACTS_LIFE);
            description
        };
        let language = text_at(&description, "defaultLanguageCode").unwrap_or("en").to_owned();
        let threshold = description
            .get(&"classificationThreshold".into())
            .map_or(0.0, |threshold| match threshold {
                Value::Float(number) => *number,
                // Thresholds lie between 0 and 1.
                Value::Int(number) if *number > 0 => 1.0,
                _ => 0.0,
            });
        Ok(Facts { language, threshold })
    }

    /// The language to speak when the caller names none.
    async fn main_language(&self) -> Result<String> {
        match &self.language {
            Some(language) => Ok(language.clone()),
            None => Ok(self.facts().await?.language),
        }
    }

    /// What the agent answers in a session. `payload` is for its own web hook.
    pub async fn detect_intent(
        &self,
        session: &str,
        input: Input,
        language: Option<String>,
        payload: Map,
    ) -> Result<Value> {
        let language = match language {
            Some(language) => language,
            None => self.main_language().await?,
        };
        let language = ("languageCode", Value::from(language));
        let input = match input {
            Input::Text(text) => {
                let text: String = text.chars().take(TEXT_LIMIT).collect();
                ("text", Value::map([("text", text.into()), language]))
            }
            Input::Event(name, parameters) => {
                let mut event = vec![("name", name.into()), language];
                if !parameters.is_empty() {
                    event.push(("parameters", parameters.into()));
                }
                ("event", Value::map(event))
            }
        };
        let mut body = vec![("queryInput", Value::map([input]))];
        if !payload.is_empty() {
            body.push(("queryParams", Value::map([("payload", payload.into())])));
        }
        let path = ["sessions", &format!("{session}:detectIntent")];
        self.ask(self.agent_call(Method::POST, &path, &[], Some(Value::map(body))))
            .await
    }

    /// Sets a context of a session; a life span of 0 ends it.
    pub async fn set_context(&self, session: &str, name: &str, life_span: i64, parameters: Map) -> Result<Value> {
        let mut context = vec![
            (
                "name",
                format!("{}/sessions/{session}/contexts/{name}", self.parent()).into(),
            ),
            ("lifespanCount", life_span.into()),
        ];
        if !parameters.is_empty() {
            context.push(("parameters", parameters.into()));
        }
        let path = ["sessions", session, "contexts"];
        self.ask(self.agent_call(Method::POST, &path, &[], Some(Value::map(context))))
            .await
    }

    /// Adds an intent.
    pub async fn create_intent(&self, intent: Value, language: Option<String>) -> Result<Value> {
        let language = self.language_parameter(language);
        self.ask(self.agent_call(Method::POST, &["intents"], &language, Some(intent)))
            .await
    }

    /// All intents of the agent.
    pub async fn intents(&self) -> Result<Vec<Known>> {
        let intents = self.list("intents", None).await?.into_iter().map(|intent| Known {
            name: text_at(&intent, "name").unwrap_or_default().to_owned(),
            display_name: text_at(&intent, "displayName").unwrap_or_default().to_owned(),
        });
        Ok(intents.collect())
    }

    /// Adds intents, and changes those that have a name of the service's: the finished operation.
    pub async fn update_intents(&self, intents: Vec<Value>, language: Option<String>) -> Result<Value> {
        let batch = Value::map([("intents", intents.into())]);
        let mut body = vec![("intentBatchInline", batch), ("intentView", "INTENT_VIEW_FULL".into())];
        if let Some(language) = language.or_else(|| self.language.clone()) {
            body.push(("languageCode", language.into()));
        }
        self.operate("intents:batchUpdate", Value::map(body)).await
    }

    /// Removes intents by the service's names for them: the finished operation.
    pub async fn delete_intents(&self, names: Vec<String>) -> Result<Value> {
        let intents = names.into_iter().map(|name| Value::map([("name", name.into())]));
        let body = Value::map([("intents", Value::List(intents.collect()))]);
        self.operate("intents:batchDelete", body).await
    }

    /// Adds an entity type.
    pub async fn create_entity_type(&self, entity_type: Value, language: Option<String>) -> Result<Value> {
        let language = self.language_parameter(language);
        self.ask(self.agent_call(Method::POST, &["entityTypes"], &language, Some(entity_type)))
            .await
    }

    /// Replaces the values of an entity type.
    pub async fn update_entity_type(&self, id: &str, entities: Value, language: Option<String>) -> Result<Value> {
        let mut query = self.language_parameter(language);
        query.push(("updateMask".to_owned(), "entities".to_owned()));
        let body = Value::map([("entities", entities)]);
        self.ask(Call {
            method: Method::PATCH,
            path: self.entity_path(id),
            query,
            body: Some(body),
        })
        .await
    }

    /// An entity type by its id, or by the service's name for it.
    pub async fn entity_type(&self, id: &str, language: Option<String>) -> Result<Value> {
        self.ask(Call {
            method: Method::GET,
            path: self.entity_path(id),
            query: self.language_parameter(language),
            body: None,
        })
        .await
    }

    /// All entity types.
    pub async fn entity_types(&self, language: Option<String>) -> Result<Vec<Value>> {
        self.list("entityTypes", language).await
    }

    /// A call that a caller of the library has written: below the project where it says so, else below its agent.
    pub async fn call(
        &self,
        method: Method,
        url_part: &str,
        parameters: Vec<(String, String)>,
        body: Option<Value>,
        language: Option<String>,
    ) -> Result<Value> {
        let part = url_part.trim().trim_start_matches('/');
        let part = part
            .strip_prefix(VERSION)
            .and_then(|rest| rest.strip_prefix('/'))
            .unwrap_or(part);
        let first = part.split(['/', ':', '?']).next().unwrap_or_default();
        let path = match first {
            "projects" => format!("{VERSION}/{part}"),
            "locations" => format!("{VERSION}/projects/{}/{part}", self.project),
            "agent" | "operations" => format!("{VERSION}/{}/{part}", self.place()),
            _ => format!("{VERSION}/{}/{part}", self.parent()),
        };
        let mut query = parameters;
        query.extend(language.map(|language| ("languageCode".to_owned(), language)));
        self.ask(Call {
            method,
            path: Path::Written(path),
            query,
            body,
        })
        .await
    }

    /// `projects/P`, with the location where there is one.
    fn place(&self) -> String {
        match &self.location {
            Some(location) => format!("projects/{}/locations/{location}", self.project),
            None => format!("projects/{}", self.project),
        }
    }

    /// The service's name for the agent.
    fn parent(&self) -> String {
        format!("{}/agent", self.place())
    }

    fn agent_call(&self, method: Method, path: &[&str], query: &[(String, String)], body: Option<Value>) -> Call {
        let mut segments = segments_of(&self.parent());
        segments.extend(path.iter().map(|&segment| segment.to_owned()));
        Call {
            method,
            path: Path::Segments(segments),
            query: query.to_vec(),
            body,
        }
    }

    fn entity_path(&self, id: &str) -> Path {
        if id.starts_with("projects/") {
            return Path::Segments(segments_of(id));
        }
        let mut segments = segments_of(&self.parent());
        segments.extend(["entityTypes".to_owned(), id.to_owned()]);
        Path::Segments(segments)
    }

    /// Without a language the service takes the agent's main one.
    fn language_parameter(&self, language: Option<String>) -> Vec<(String, String)> {
        let language = language.or_else(|| self.language.clone());
        language
            .map(|language| ("languageCode".to_owned(), language))
            .into_iter()
            .collect()
    }

    /// All items of a list, page by page.
    async fn list(&self, what: &str, language: Option<String>) -> Result<Vec<Value>> {
        let mut items = Vec::new();
        let mut next = None;
        for _ in 0..MAX_PAGES {
            let mut query = self.language_parameter(language.clone());
            query.push(("pageSize".to_owned(), PAGE.to_owned()));
            query.extend(next.take().map(|token| ("pageToken".to_owned(), token)));
            let mut page = match self.ask(self.agent_call(Method::GET, &[what], &query, None)).await? {
                Value::Map(page) => page,
                _ => Map::new(),
            };
            if let Some(Value::List(more)) = page.swap_remove(&Key::from(what.to_owned())) {
                items.extend(more);
            }
            let token = page
                .swap_remove(&Key::from("nextPageToken"))
                .and_then(String::from_value);
            match token.filter(|token| !token.is_empty()) {
                Some(token) => next = Some(token),
                None => return Ok(items),
            }
        }
        Err(self.service.refusal(format!("the list of {what} has no end"), None))
    }

    /// Begins an operation and waits for its end.
    async fn operate(&self, what: &str, body: Value) -> Result<Value> {
        let mut operation = self
            .ask(self.agent_call(Method::POST, &[what], &[], Some(body)))
            .await?;
        for question in 0..QUESTIONS {
            let is_done = operation.get(&"done".into()) == Some(&Value::Bool(true));
            let Some(name) = text_at(&operation, "name").filter(|name| !is_done && !name.is_empty()) else {
                break;
            };
            let path = Path::Segments(segments_of(name));
            sleep(PAUSES.get(question).copied().unwrap_or(LONGEST_PAUSE)).await;
            operation = self
                .ask(Call {
                    method: Method::GET,
                    path,
                    query: Vec::new(),
                    body: None,
                })
                .await?;
        }
        Ok(operation)
    }

    /// Sends a call, once more with a new token when the service does not take the one it had.
    async fn ask(&self, call: Call) -> Result<Value> {
        let mut answer = self.send(&call, &self.token().await?).await?;
        if answer.status == UNAUTHENTICATED && self.grant.is_some() {
            answer = self.send(&call, &self.new_token().await?).await?;
        }
        self.read(&answer)
    }

    async fn send(&self, call: &Call, token: &SecretString) -> Result<Answer> {
        let segments: Vec<&str>;
        let mut request = match &call.path {
            Path::Segments(path) => {
                segments = path.iter().map(String::as_str).collect();
                Request::new(call.method.clone(), &segments)
            }
            Path::Written(path) => Request::written(call.method.clone(), path),
        };
        for (name, value) in &call.query {
            request = request.query(name, value);
        }
        if let Some(body) = &call.body {
            request = request.body(Body::Json(body));
        }
        self.service.send(request.bearer(token)).await
    }

    fn read(&self, answer: &Answer) -> Result<Value> {
        let value = json::decode(&answer.body).filter(|value| matches!(value, Value::Map(_)));
        let value = value.ok_or_else(|| self.service.foreign(answer))?;
        if (200..300).contains(&answer.status) {
            return Ok(value);
        }
        let message = value
            .get(&"error".into())
            .and_then(|error| text_at(error, "message"))
            .unwrap_or("refused without a message")
            .to_owned();
        Err(self.service.refusal(message, Some(value)))
    }
}

/// The name under which the token of a grant is kept.
fn kept_name(grant: &Grant) -> Result<String> {
    Ok(format!("chatbot-token/{}", grant.digest()?))
}

/// The application of the settings.
fn client(settings: &Settings) -> Option<Client> {
    Some(Client {
        id: settings.text("chatbot-client-id")?,
        secret: settings.secret("chatbot-client-secret")?,
    })
}

/// What tokens are given for by the settings.
fn grant(settings: &Settings, client: Option<Client>) -> Result<Option<Grant>> {
    let key_file = settings.value("chatbot-credentials").filter(Value::is_truthy);
    if let Some(key_file) = key_file {
        let key_file = match key_file {
            Value::Bytes(text) => text,
            value => json::encode(&value).into_bytes(),
        };
        let account = Account::read(&key_file)
            .ok_or_else(|| Error::configuration("chatbot-credentials is not the key file of a service account"))?;
        return Ok(Some(Grant::Account(account)));
    }
    let consent = client.zip(settings.secret("chatbot-refresh-token"));
    Ok(consent.map(|(client, refresh_token)| Grant::Consent(Consent { client, refresh_token })))
}

/// Where a grant says that its tokens come from.
fn own_token_address(grant: &Grant) -> Option<&str> {
    match grant {
        Grant::Account(account) => account.token_uri(),
        Grant::Consent(_) => None,
    }
}

/// The region of the agent; it becomes part of a host's name.
fn location(settings: &Settings) -> Result<Option<String>> {
    let location = settings.text("chatbot-location").unwrap_or_default();
    let location = location.trim();
    if location
        .bytes()
        .any(|byte| !byte.is_ascii_alphanumeric() && byte != b'-')
    {
        return Err(Error::configuration("chatbot-location is no region"));
    }
    Ok(Some(location)
        .filter(|location| !matches!(*location, "" | "global"))
        .map(str::to_owned))
}

/// Where the service is when the settings do not say otherwise.
fn address(location: Option<&str>) -> String {
    match location {
        Some(location) => format!("https://{location}-dialogflow.googleapis.com"),
        None => "https://dialogflow.googleapis.com".to_owned(),
    }
}

/// The path to what has this name.
fn segments_of(name: &str) -> Vec<String> {
    std::iter::once(VERSION)
        .chain(name.split('/'))
        .map(str::to_owned)
        .collect()
}

fn text_at<'v>(value: &'v Value, name: &'static str) -> Option<&'v str> {
    value.get(&name.into()).and_then(Value::as_str)
}
