//! Push notifications: the publish API of Pusher Beams.
//!
//! A notification goes to interests, which devices have subscribed to. A refusal is `{"error", "description"}`.
//! Publishing is not idempotent: a notification of unknown fate is never published again.

use secrecy::SecretString;

use crate::contract::args::Argument;
use crate::contract::error::{Error, Result};
use crate::contract::value::{Key, Map};
use crate::contract::{Value, json};
use crate::platform::Context;
use crate::platform::http::{Body, Method, Request, Service};
use crate::platform::settings::Settings;
use crate::providers::Outside;

/// As it is looked for.
pub(super) const SERVICE: Outside = Outside {
    name: NAME,
    is_wanted: |settings| is_for_agents(settings) || is_for_users(settings),
    address,
};

const NAME: &str = "push-notifications";

const VERSION: &str = "v1";

/// How many interests one publish may name.
pub const INTERESTS: usize = 100;

/// The longest name of an interest.
const INTEREST_LIMIT: usize = 164;

/// What people see, and what it leads to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Notification {
    /// In bold.
    pub title: String,
    /// Below it.
    pub body: String,
    /// The URL of a picture.
    pub icon: String,
    /// The page that a click opens.
    pub link: Option<String>,
    /// For the page's service worker.
    pub data: Map,
}

/// An instance of the service.
pub struct Instance<'a> {
    service: Service<'a>,
    id: String,
    key: SecretString,
}

/// Whether agents and admins are notified.
pub fn is_for_agents(settings: &Settings) -> bool {
    settings.is_on("push-notifications-active")
}

/// Whether visitors, leads and users are.
pub fn is_for_users(settings: &Settings) -> bool {
    settings.is_on("push-notifications-users-active")
}

/// Whether the protocol allows the name of an interest.
pub fn is_interest(name: &str) -> bool {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-=@,.;".contains(&byte);
    (1..=INTEREST_LIMIT).contains(&name.len()) && name.bytes().all(is_of_name)
}

fn id(settings: &Settings) -> Result<String> {
    let id = settings.text("push-notifications-id").unwrap_or_default();
    let id = id.trim();
    if id.is_empty() {
        return Err(Error::configuration("push-notifications-id is not set"));
    }
    // It is the first part of the provider's host name.
    if id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        Ok(id.to_owned())
    } else {
        Err(Error::configuration("push-notifications-id is no id of an instance"))
    }
}

fn address(settings: &Settings) -> Result<String> {
    Ok(format!("https://{}.pushnotifications.pusher.com", id(settings)?))
}

impl<'a> Instance<'a> {
    /// The instance of the settings.
    pub async fn of(cx: &'a Context<'_>) -> Result<Self> {
        let settings = cx.settings().await?;
        let key = settings.secret("push-notifications-key");
        Ok(Self {
            id: id(&settings)?,
            key: key.ok_or_else(|| Error::configuration("push-notifications-key is not set"))?,
            service: cx.service(NAME, &address(&settings)?).await?,
        })
    }

    /// Publishes a notification to at most [`INTERESTS`] interests: the service's answer, a map with its id.
    pub async fn publish(&self, interests: &[String], notification: &Notification) -> Result<Value> {
        let interests = interests.iter().map(|interest| interest.as_str().into()).collect();
        let body = Value::map([
            ("interests", Value::List(interests)),
            ("web", notification.for_browsers()),
        ]);
        let path = ["publish_api", VERSION, "instances", &self.id, "publishes", "interests"];
        let request = Request::new(Method::POST, &path)
            .bearer(&self.key)
            .body(Body::Json(&body));
        let answer = self.service.send(request).await?;
        let text = |name: &'static str| {
            let body = json::decode(&answer.body)?;
            String::from_value(body.get(&Key::from(name))?.clone()).filter(|text| !text.is_empty())
        };
        if (200..300).contains(&answer.status) {
            let id = text("publishId").ok_or_else(|| self.service.foreign(&answer))?;
            return Ok(Value::map([("publishId", id.into())]));
        }
        Err(match (text("error"), text("description")) {
            (Some(error), Some(description)) => self.service.refusal(format!("{error}: {description}"), None),
            (Some(error), None) => self.service.refusal(error, None),
            _ => self.service.foreign(&answer),
        })
    }
}

impl Notification {
    fn for_browsers(&self) -> Value {
        let mut shown = vec![
            ("title", self.title.as_str().into()),
            ("body", self.body.as_str().into()),
            // Whoever looks at the conversation sees the message there.
            ("hide_notification_if_site_has_focus", true.into()),
        ];
        if !self.icon.is_empty() {
            shown.push(("icon", self.icon.as_str().into()));
        }
        if let Some(link) = &self.link {
            shown.push(("deep_link", link.as_str().into()));
        }
        let mut web = vec![("notification", Value::map(shown))];
        if !self.data.is_empty() {
            web.push(("data", self.data.clone().into()));
        }
        Value::map(web)
    }
}
