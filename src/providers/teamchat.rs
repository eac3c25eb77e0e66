//! The team-messaging workspace: the Web API of Slack.
//!
//! Every method answers with HTTP 200 and `ok`; a refusal is `{"ok": false, "error": code}`. Lists come in pages, each
//! with the cursor of the next.

use secrecy::SecretString;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::contract::error::{Code, Error, Result};
use crate::contract::json;
use crate::platform::Context;
use crate::platform::http::{Body, Method, Request, Service};
use crate::providers::Outside;
use crate::providers::parts::parts;

/// Where the service is when the settings do not say otherwise.
const ADDRESS: &str = "https://slack.com/api/";

/// As it is looked for.
pub(super) const SERVICE: Outside = Outside {
    name: "teamchat",
    is_wanted: |settings| settings.is_on("teamchat-active"),
    address: |_| Ok(ADDRESS.to_owned()),
};

/// The largest page that the service recommends.
const PAGE: &str = "200";

/// More pages than this, and the service is turning in a circle.
const MAX_PAGES: usize = 1_000;

/// Refusals that are of one channel, and say nothing of the next.
const OF_THE_CHANNEL: [&str; 7] = [
    "already_archived",
    "cant_archive_general",
    "channel_not_found",
    "method_not_supported_for_channel_type",
    "not_in_channel",
    "not_supported",
    "restricted_action",
];

/// Refusals that say that nothing can be posted to a channel any more.
const CHANNEL_IS_GONE: [&str; 2] = ["channel_not_found", "is_archived"];

/// The longest text of a message that the service does not cut off, in characters.
const TEXT_LIMIT: usize = 40_000;

/// The longest name that a channel may have.
pub const NAME_LIMIT: usize = 80;

/// The service's own bot, which it does not mark as one.
const OWN_BOT: &str = "USLACKBOT";

/// The workspace of an installation.
pub struct Workspace<'a> {
    service: Service<'a>,
    token: SecretString,
}

/// Someone in the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The service's id.
    pub id: String,
    /// The full name; the shown name or the handle of who has none.
    pub name: String,
}

/// A message for a channel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// Its text, in the chat's own marks, which are the service's too.
    pub text: String,
    /// Names and links that follow it.
    pub links: Vec<(String, String)>,
    /// The name it is shown with.
    pub author: Option<String>,
    /// The link of the image it is shown with.
    pub image: Option<String>,
}

/// What became of a channel that was to be archived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Archiving {
    /// It is archived.
    Done,
    /// This one cannot be.
    Refused,
    /// The service was asked too often, and wants to be left alone.
    TooOften,
}

impl<'a> Workspace<'a> {
    /// The workspace of the settings.
    pub async fn of(cx: &'a Context<'_>) -> Result<Self> {
        let settings = cx.settings().await?;
        if !settings.is_on("teamchat-active") {
            return Err(Code::TeamchatNotActive.into());
        }
        let token = settings.secret("teamchat-token");
        let token = token.ok_or_else(|| Error::configuration("teamchat-token is not set"))?;
        Ok(Self::new(cx.service("teamchat", ADDRESS).await?, token))
    }

    /// A workspace that this token opens.
    pub fn new(service: Service<'a>, token: SecretString) -> Self {
        Self { service, token }
    }

    /// The people of the workspace, without bots and deactivated accounts.
    pub async fn members(&self) -> Result<Vec<Member>> {
        let users: Vec<User> = self.list("users.list", &[]).await?;
        Ok(users.into_iter().filter(User::is_person).map(Member::from).collect())
    }

    /// The ids of the channels that the token may archive: those that it is in, but for the one that everybody is in.
    pub async fn channels(&self) -> Result<Vec<String>> {
        let which = [
            ("types", "public_channel,private_channel"),
            ("exclude_archived", "true"),
        ];
        let channels: Vec<Channel> = self.list("conversations.list", &which).await?;
        let may_be_archived = |channel: &Channel| !channel.is_general && !channel.is_archived && channel.is_member;
        Ok(channels
            .into_iter()
            .filter(may_be_archived)
            .map(|channel| channel.id)
            .collect())
    }

    /// Archives a channel.
    pub async fn archive(&self, channel: &str) -> Result<Archiving> {
        let fields = [("channel", channel)];
        let request = Request::new(Method::POST, &["conversations.archive"]).body(Body::Form(&fields));
        match self.ask::<Done>(request).await {
            Ok(Done {}) => Ok(Archiving::Done),
            Err(Error::Provider(error)) if error.message == "ratelimited" => Ok(Archiving::TooOften),
            Err(Error::Provider(error)) if OF_THE_CHANNEL.contains(&error.message.as_str()) => Ok(Archiving::Refused),
            Err(error) => Err(error),
        }
    }

    /// Makes a channel that everybody in the workspace may join; `None` when its name is taken.
    pub async fn create(&self, name: &str) -> Result<Option<String>> {
        let fields = [("name", name)];
        let request = Request::new(Method::POST, &["conversations.create"]).body(Body::Form(&fields));
        match self.ask::<Created>(request).await {
            Ok(Created { channel }) => Ok(Some(channel.id)),
            Err(Error::Provider(error)) if error.message == "name_taken" => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The channel of that name, when it is not archived and the token is in it.
    pub async fn find(&self, name: &str) -> Result<Option<String>> {
        let which = [("types", "public_channel"), ("exclude_archived", "true")];
        let channels: Vec<Channel> = self.list("conversations.list", &which).await?;
        let is_it = |channel: &Channel| channel.name == name && channel.is_member && !channel.is_archived;
        Ok(channels.into_iter().find(is_it).map(|channel| channel.id))
    }

    /// Invites people into a channel. Who cannot be invited keeps nobody else out: the service refuses them all, so they
    /// are then invited one by one.
    pub async fn invite(&self, channel: &str, members: &[String]) -> Result<()> {
        if members.is_empty() || self.try_invite(channel, &members.join(",")).await? || members.len() == 1 {
            return Ok(());
        }
        for member in members {
            self.try_invite(channel, member).await?;
        }
        Ok(())
    }

    /// Whether the service took the invitation.
    async fn try_invite(&self, channel: &str, members: &str) -> Result<bool> {
        let fields = [("channel", channel), ("users", members)];
        let request = Request::new(Method::POST, &["conversations.invite"]).body(Body::Form(&fields));
        match self.ask::<Done>(request).await {
            Ok(Done {}) => Ok(true),
            Err(Error::Provider(error)) if error.response.is_some() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Posts a message, in as many parts as the service's limit asks for.
    pub async fn post(&self, channel: &str, message: &Message) -> Result<()> {
        let mut text = message.text.clone();
        for (name, link) in &message.links {
            text.push_str(if text.is_empty() { "" } else { "\n" });
            text.push_str(name);
            text.push_str(": ");
            text.push_str(link);
        }
        for part in parts(&text, TEXT_LIMIT, escaped_length) {
            let text = escaped(part);
            let mut fields = vec![("channel", channel), ("text", text.as_str())];
            fields.extend(message.author.as_deref().map(|author| ("username", author)));
            fields.extend(message.image.as_deref().map(|image| ("icon_url", image)));
            let request = Request::new(Method::POST, &["chat.postMessage"]).body(Body::Form(&fields));
            self.ask::<Done>(request).await?;
        }
        Ok(())
    }

    /// All pages of a list.
    async fn list<T: DeserializeOwned>(&self, method: &str, which: &[(&'static str, &str)]) -> Result<Vec<T>> {
        let mut items = Vec::new();
        let mut cursor = String::new();
        for _ in 0..MAX_PAGES {
            let path = [method];
            let mut request = Request::new(Method::GET, &path).query("limit", PAGE);
            for &(name, value) in which {
                request = request.query(name, value);
            }
            if !cursor.is_empty() {
                request = request.query("cursor", cursor);
            }
            let page: Page<T> = self.ask(request).await?;
            items.extend(page.items);
            cursor = page.response_metadata.unwrap_or_default().next_cursor;
            if cursor.is_empty() {
                return Ok(items);
            }
        }
        Err(self.service.refusal(format!("the list of {method} has no end"), None))
    }

    async fn ask<T: DeserializeOwned>(&self, request: Request<'_>) -> Result<T> {
        let answer = self.service.send(request.bearer(&self.token)).await?;
        let verdict: Option<Verdict> = serde_json::from_slice(&answer.body).ok();
        match verdict {
            Some(Verdict { ok: true, .. }) => {
                serde_json::from_slice(&answer.body).map_err(|_| self.service.foreign(&answer))
            }
            Some(refusal) => Err(self.service.refusal(refusal.text(), json::decode(&answer.body))),
            None => Err(self.service.foreign(&answer)),
        }
    }
}

/// Whether a post was refused because its channel is not there any more.
pub fn channel_is_gone(error: &Error) -> bool {
    matches!(error, Error::Provider(error) if CHANNEL_IS_GONE.contains(&error.message.as_str()))
}

/// A text in which nothing is a command to the service: no mention, no link with another name.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// How long a character is once it is escaped.
fn escaped_length(letter: char) -> usize {
    match letter {
        '&' => 5,
        '<' | '>' => 4,
        _ => 1,
    }
}

/// What every method answers.
#[derive(Deserialize)]
struct Verdict {
    ok: bool,
    #[serde(default)]
    error: String,
    /// The scope that the token lacks.
    #[serde(default)]
    needed: String,
}

impl Verdict {
    /// The service's code, and nothing but a code: a text could repeat the token.
    fn text(&self) -> String {
        let code = |text: &str| {
            !text.is_empty()
                && text
                    .bytes()
                    .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b':' | b'.' | b','))
        };
        match (code(&self.error), code(&self.needed)) {
            (true, true) => format!("{} (needed: {})", self.error, self.needed),
            (true, false) => self.error.clone(),
            _ => "refused without a code".to_owned(),
        }
    }
}

/// A page of a list, which each method calls by another name.
#[derive(Deserialize)]
struct Page<T> {
    #[serde(alias = "members", alias = "channels")]
    items: Vec<T>,
    response_metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct Done {}

#[derive(Deserialize)]
struct Created {
    channel: Channel,
}

#[derive(Deserialize)]
struct Channel {
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    is_general: bool,
    #[serde(default)]
    is_archived: bool,
    #[serde(default)]
    is_member: bool,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    next_cursor: String,
}

#[derive(Deserialize)]
struct User {
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    deleted: bool,
    #[serde(default)]
    is_bot: bool,
    #[serde(default)]
    profile: Profile,
}

#[derive(Default, Deserialize)]
struct Profile {
    #[serde(default)]
    real_name: String,
    #[serde(default)]
    display_name: String,
}

impl User {
    fn is_person(&self) -> bool {
        !self.deleted && !self.is_bot && self.id != OWN_BOT
    }
}

impl From<User> for Member {
    fn from(user: User) -> Self {
        let names = [user.profile.real_name, user.profile.display_name, user.name];
        Self {
            id: user.id,
            name: names
                .into_iter()
                .find(|name| !name.trim().is_empty())
                .unwrap_or_default(),
        }
    }
}
