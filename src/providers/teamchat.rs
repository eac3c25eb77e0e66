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
use crate::platform::http::{Method, Request, Service};
use crate::providers::Outside;

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
        let mut members = Vec::new();
        let mut cursor = String::new();
        for _ in 0..MAX_PAGES {
            let mut request = Request::new(Method::GET, &["users.list"]).query("limit", PAGE);
            if !cursor.is_empty() {
                request = request.query("cursor", cursor);
            }
            let page: UsersPage = self.ask(request).await?;
            members.extend(page.members.into_iter().filter(User::is_person).map(Member::from));
            cursor = page.response_metadata.unwrap_or_default().next_cursor;
            if cursor.is_empty() {
                return Ok(members);
            }
        }
        Err(self.service.refusal("the list of users has no end", None))
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

#[derive(Deserialize)]
struct UsersPage {
    members: Vec<User>,
    response_metadata: Option<Metadata>,
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
