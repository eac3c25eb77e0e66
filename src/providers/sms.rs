//! Text messages: the API of messages of Twilio.
//!
//! A message is a form that is posted; what comes back is its record. A refusal is `{"code", "message", "more_info",
//! "status"}`. Posting is not idempotent: a message of unknown fate is never posted again.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret, SecretString};

use crate::contract::error::{Error, Result};
use crate::contract::{Value, json};
use crate::platform::Context;
use crate::platform::http::{Body, Method, Request, Service};
use crate::providers::Outside;

/// Where the service is when the settings do not say otherwise.
const ADDRESS: &str = "https://api.twilio.com";

/// As it is looked for.
pub(super) const SERVICE: Outside = Outside {
    name: "sms",
    is_wanted: |settings| settings.text("sms-user").is_some(),
    address: |_| Ok(ADDRESS.to_owned()),
};

const VERSION: &str = "2010-04-01";

/// How many files a message may carry.
pub const MEDIA_LIMIT: usize = 10;

/// How the name of a group of senders begins, from which the service chooses.
const SENDER_GROUP: &str = "MG";

/// What stands before a phone number that is one of WhatsApp.
pub const WHATSAPP: &str = "whatsapp:";

/// An account with the service.
pub struct Account<'a> {
    service: Service<'a>,
    user: String,
    token: SecretString,
    sender: String,
}

impl<'a> Account<'a> {
    /// The account of the settings.
    pub async fn of(cx: &'a Context<'_>) -> Result<Self> {
        let settings = cx.settings().await?;
        let missing = |name: &str| Error::configuration(format!("{name} is not set"));
        let text = |name: &str| {
            let text = settings.text(name).map(|text| text.trim().to_owned());
            text.filter(|text| !text.is_empty()).ok_or_else(|| missing(name))
        };
        Ok(Self {
            user: text("sms-user")?,
            token: settings.secret("sms-token").ok_or_else(|| missing("sms-token"))?,
            sender: text("sms-sender")?,
            service: cx.service("sms", ADDRESS).await?,
        })
    }

    /// The same account for WhatsApp, which the service reaches too.
    #[must_use]
    pub fn by_whatsapp(mut self) -> Self {
        if !self.sender.starts_with(SENDER_GROUP) && !self.sender.starts_with(WHATSAPP) {
            self.sender.insert_str(0, WHATSAPP);
        }
        self
    }

    /// Sends a message, with links to files if there are any: the service's record of it.
    pub async fn send(&self, to: &str, text: &str, media: &[String]) -> Result<Value> {
        let sender = if self.sender.starts_with(SENDER_GROUP) {
            "MessagingServiceSid"
        } else {
            "From"
        };
        let mut fields = vec![("To", to), (sender, self.sender.as_str())];
        if !text.is_empty() {
            fields.push(("Body", text));
        }
        fields.extend(media.iter().map(|link| ("MediaUrl", link.as_str())));
        let path = [VERSION, "Accounts", &self.user, "Messages.json"];
        let credentials = format!("{}:{}", self.user, self.token.expose_secret());
        let request = Request::new(Method::POST, &path)
            .header("authorization", format!("Basic {}", STANDARD.encode(credentials)))
            .body(Body::Form(&fields));
        let answer = self.service.send(request).await?;
        let record = json::decode(&answer.body).filter(|value| matches!(value, Value::Map(_)));
        let record = record.ok_or_else(|| self.service.foreign(&answer))?;
        if (200..300).contains(&answer.status) {
            return Ok(record);
        }
        let message = record
            .get(&"message".into())
            .and_then(Value::as_str)
            .unwrap_or("refused without a message")
            .to_owned();
        Err(self.service.refusal_of(&answer, message, Some(record)))
    }
}
