//! The language model: the API of OpenAI, and of those who speak it.
//!
//! A refusal is `{"error": {"message", "type", "param", "code"}}`. Some answers are no JSON: sound, files, plain texts.

use std::time::Duration;

use secrecy::SecretString;

use crate::contract::error::{Error, Result};
use crate::contract::{Value, json};
use crate::platform::Context;
use crate::platform::http::{Answer, Body, Method, Request, Service};
use crate::providers::Outside;

/// Where the service is when the settings do not say otherwise.
const ADDRESS: &str = "https://api.openai.com/v1/";

/// How long a request may take by itself: models think, and files are large.
pub const PATIENCE: Duration = Duration::from_mins(2);

/// As it is looked for.
pub(super) const SERVICE: Outside = Outside {
    name: "llm",
    is_wanted: |settings| settings.is_on("llm-active"),
    address: |_| Ok(ADDRESS.to_owned()),
};

/// What the paths of this version of the assistants' interface begin with.
const ASSISTANTS: [&str; 3] = ["assistants", "threads", "vector_stores"];

/// The language model of an installation.
pub struct LanguageModel<'a> {
    service: Service<'a>,
    key: SecretString,
    organization: Option<String>,
}

impl<'a> LanguageModel<'a> {
    /// The language model of the settings, of which a request may take so long.
    pub async fn of(cx: &'a Context<'_>, limit: Duration) -> Result<Self> {
        let settings = cx.settings().await?;
        if !settings.is_on("llm-active") {
            return Err(Error::Refused {
                code: "llm-not-active",
                message: "the language model is not active in the settings".into(),
            });
        }
        let key = settings.secret("llm-key");
        Ok(Self {
            service: cx.service("llm", ADDRESS).await?.within(limit),
            key: key.ok_or_else(|| Error::configuration("llm-key is not set"))?,
            organization: settings.text("llm-organization"),
        })
    }

    /// Sends a request to a path below the version.
    pub async fn ask(
        &self,
        method: Method,
        path: &str,
        parameters: &[(String, String)],
        body: Option<Body<'_>>,
    ) -> Result<Value> {
        let path = path.trim().trim_start_matches('/');
        let path = path.strip_prefix("v1/").unwrap_or(path);
        let mut request = Request::written(method, path).bearer(&self.key);
        for (name, value) in parameters {
            request = request.query(name, value);
        }
        if let Some(organization) = &self.organization {
            request = request.header("openai-organization", organization.as_str());
        }
        if ASSISTANTS.contains(&path.split(['/', '?']).next().unwrap_or_default()) {
            request = request.header("openai-beta", "assistants=v2");
        }
        if let Some(body) = body {
            request = request.body(body);
        }
        self.read(self.service.send(request).await?)
    }

    /// What a model answers to a message, under the rules of a prompt.
    pub async fn answer(&self, model: &str, prompt: Option<&str>, message: &str) -> Result<Option<String>> {
        let said = |role: &str, content: &str| Value::map([("role", role.into()), ("content", content.into())]);
        let prompt = prompt.map(|prompt| said("system", prompt));
        let messages = prompt.into_iter().chain([said("user", message)]).collect();
        let body = Value::map([("model", model.into()), ("messages", Value::List(messages))]);
        let answer = self
            .ask(Method::POST, "chat/completions", &[], Some(Body::Json(&body)))
            .await?;
        let content = answer
            .get(&"choices".into())
            .and_then(|choices| choices.get(&0.into())?.get(&"message".into())?.get(&"content".into()))
            .and_then(Value::as_str);
        Ok(content.map(str::to_owned).filter(|content| !content.trim().is_empty()))
    }

    /// JSON as a value, anything else as it is.
    fn read(&self, answer: Answer) -> Result<Value> {
        let value = json::decode(&answer.body).filter(|value| matches!(value, Value::List(_) | Value::Map(_)));
        match value {
            Some(value) if (200..300).contains(&answer.status) => Ok(value),
            Some(refusal) => {
                let message = refusal
                    .get(&"error".into())
                    .and_then(|error| error.get(&"message".into()))
                    .and_then(Value::as_str)
                    .unwrap_or("refused without a message")
                    .to_owned();
                Err(self.service.refusal(message, Some(refusal)))
            }
            None if (200..300).contains(&answer.status) => Ok(Value::Bytes(answer.body)),
            None => Err(self.service.foreign(&answer)),
        }
    }
}
