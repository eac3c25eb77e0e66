//! Messages to the team-messaging workspace, in which every user has a channel.

use crate::contract::args::Items;
use crate::contract::error::{Code, Error, Result};
use crate::contract::ids::{ConversationId, UserId};
use crate::contract::{Argument, Value};
use crate::functions::attachments::{is_link, links};
use crate::functions::columns::{self, check_bytes};
use crate::functions::users::teamchat_agents;
use crate::params;
use crate::platform::{Context, crypto};
use crate::providers::teamchat::{Message, NAME_LIMIT, Workspace, channel_is_gone};

/// The name of a user, and its channel when it has one.
const USER: &str = "
    SELECT TRIM(CONCAT(u.first_name, ' ', u.last_name)), d.value
    FROM sb_users u
    LEFT JOIN sb_users_data d ON d.user_id = u.id AND d.slug = 'teamchat-channel'
    WHERE u.id = ?";

const KEEP_CHANNEL: &str = "
    INSERT INTO sb_users_data (user_id, slug, name, value)
    VALUES (?, 'teamchat-channel', 'Teamchat channel', ?)
    ON DUPLICATE KEY UPDATE value = VALUES(value)";

const DEPARTMENT: &str = "
    SELECT department
    FROM sb_conversations
    WHERE id = ?";

/// Those of a department, and those of none, who look after all.
const AGENTS: &str = "
    SELECT id
    FROM sb_users
    WHERE user_type IN ('agent', 'admin') AND (? IS NULL OR department IS NULL OR department = ?)";

/// How much of a user's name stands in the name of its channel; its id and a distinction follow.
const NAME_PART: usize = NAME_LIMIT - 20;

/// Someone with a channel in the workspace.
struct Owner<'a> {
    cx: &'a Context<'a>,
    workspace: &'a Workspace<'a>,
    id: UserId,
    name: String,
    department: Option<u8>,
}

/// Posts a message to a channel; to the user's own when none is given, which is made when there is none.
pub(super) async fn send_teamchat_message(
    cx: &Context<'_>,
    user_id: UserId,
    full_name: String,
    profile_image: Option<String>,
    message: String,
    attachments: Items,
    conversation_id: Option<ConversationId>,
    channel: Option<String>,
) -> Result<Value> {
    let workspace = Workspace::of(cx).await?;
    let author = full_name.trim();
    let message = Message {
        text: message,
        links: links(attachments)?,
        author: (!author.is_empty()).then(|| author.to_owned()),
        image: profile_image.filter(|image| is_link(image)),
    };
    if message.text.trim().is_empty() && message.links.is_empty() {
        return Err(Code::EmptyMessage.into());
    }
    check_bytes("message", &message.text, columns::TEXT)?;
    let department = match conversation_id {
        Some(conversation) => department(cx, conversation).await?,
        None => None,
    };
    let channel = match channel.filter(|channel| channel != "-1") {
        Some(channel) => {
            workspace.post(&channel, &message).await?;
            channel
        }
        None => post_to_own(cx, &workspace, user_id, department, &message).await?,
    };
    Ok(Value::List(vec!["success".into(), channel.into()]))
}

/// The department of a conversation that the active user may use.
async fn department(cx: &Context<'_>, conversation: ConversationId) -> Result<Option<u8>> {
    cx.check_conversation(conversation).await?;
    let row: Option<(Option<u8>,)> = cx.database()?.row(DEPARTMENT, params![conversation]).await?;
    let (department,) = row.ok_or(Code::ConversationNotFound)?;
    Ok(department)
}

/// Posts to the user's own channel. One that was archived meanwhile is replaced.
async fn post_to_own(
    cx: &Context<'_>,
    workspace: &Workspace<'_>,
    user: UserId,
    department: Option<u8>,
    message: &Message,
) -> Result<String> {
    let row: Option<(String, Option<String>)> = cx.database()?.row(USER, params![user]).await?;
    let (name, channel) = row.ok_or(Code::UserNotFound)?;
    if let Some(channel) = channel.filter(|channel| !channel.is_empty()) {
        match workspace.post(&channel, message).await {
            Err(error) if channel_is_gone(&error) => {}
            outcome => return outcome.map(|()| channel),
        }
    }
    let owner = Owner {
        cx,
        workspace,
        id: user,
        name,
        department,
    };
    let channel = owner.channel().await?;
    workspace.post(&channel, message).await?;
    Ok(channel)
}

impl Owner<'_> {
    /// The channel of that user's name, or else a new one, with the agents in it.
    async fn channel(&self) -> Result<String> {
        let name = channel_name(&self.name, self.id);
        let channel = match self.workspace.create(&name).await? {
            Some(channel) => channel,
            None => self.existing(&name).await?,
        };
        let members = self.members().await?;
        self.workspace.invite(&channel, &members).await?;
        let params = params![self.id, &channel];
        self.cx.database()?.execute(KEEP_CHANNEL, params).await?;
        Ok(channel)
    }

    /// The channel that has the name. An archived one keeps its name for ever: then another name is needed.
    async fn existing(&self, name: &str) -> Result<String> {
        if let Some(channel) = self.workspace.find(name).await? {
            return Ok(channel);
        }
        let token = crypto::token()?;
        let other = format!("{name}-{}", token.get(..6).unwrap_or_default());
        let refused = || Error::Internal(format!("the name {other} of a channel is taken"));
        self.workspace.create(&other).await?.ok_or_else(refused)
    }

    /// Who of the workspace is an agent that looks after this user.
    async fn members(&self) -> Result<Vec<String>> {
        let saved = teamchat_agents(self.cx).await?;
        if saved.is_empty() {
            return Ok(Vec::new());
        }
        let params = params![self.department, self.department];
        let agents: Vec<(u32,)> = self.cx.database()?.rows(AGENTS, params).await?;
        let is_one = |agent: Value| UserId::from_value(agent).is_some_and(|id| agents.contains(&(id.number(),)));
        let members = saved.into_iter().filter(|(_, agent)| is_one(agent.clone()));
        Ok(members.map(|(member, _)| member.to_text().into_owned()).collect())
    }
}

/// A name as channels may have one: the user's, as far as it is ASCII, and its id.
fn channel_name(name: &str, id: UserId) -> String {
    let letters = name.chars().map(|letter| {
        let is_kept = letter.is_ascii_alphanumeric();
        if is_kept { letter.to_ascii_lowercase() } else { '-' }
    });
    let letters: String = letters.collect();
    let words: Vec<&str> = letters.split('-').filter(|word| !word.is_empty()).collect();
    let mut name = if words.is_empty() {
        "user".to_owned()
    } else {
        words.join("-")
    };
    name.truncate(NAME_PART);
    format!("{name}-{}", id.number())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_has_a_name_that_the_service_takes() {
        for (name, channel) in [
            ("Carla D'Angelo", "carla-d-angelo-3"),
            ("  <script>#general ", "script-general-3"),
            ("Žž 李", "user-3"),
            ("", "user-3"),
        ] {
            assert_eq!(channel_name(name, 3.into()), channel, "{name}");
        }
        let longest = channel_name(&"x".repeat(500), u32::MAX.into());
        assert!(longest.len() + 7 <= NAME_LIMIT, "{longest}");
    }
}
