//! Finding one user.

use super::accounts::{DUPLICATE, NAME_LIMIT};
use crate::contract::Value;
use crate::contract::error::Result;
use crate::contract::ids::{ConversationId, UserId};
use crate::functions::columns;
use crate::params;
use crate::platform::Context;
use crate::platform::crypto;

const FOUND: &[&str] = &["id", "first_name", "last_name", "email", "user_type", "department"];

const BY_EMAIL: &str = "
    SELECT id, first_name, last_name, email, user_type, department
    FROM sb_users
    WHERE email = ? AND user_type <> 'bot'
    LIMIT 1";

const BY_FIRST_NAME: &str = "
    SELECT id, first_name, last_name, email, user_type, department
    FROM sb_users
    WHERE first_name = ? AND user_type <> 'bot'
    ORDER BY id
    LIMIT 1";

const BY_LAST_NAME: &str = "
    SELECT id, first_name, last_name, email, user_type, department
    FROM sb_users
    WHERE last_name = ? AND user_type <> 'bot'
    ORDER BY id
    LIMIT 1";

/// The details are asked first, and the order is computed: the server would walk down the users by their ids, or look
/// every detail up by the key on them, and either takes longer than reading the table.
const BY_DETAIL: &str = "
    SELECT STRAIGHT_JOIN u.id, u.first_name, u.last_name, u.email, u.user_type, u.department
    FROM sb_users_data d
    JOIN sb_users u ON u.id = d.user_id
    WHERE d.slug = ? AND d.value = ? AND u.user_type <> 'bot'
    ORDER BY u.id + 0
    LIMIT 1";

const USER_OF_CONVERSATION: &[&str] = &["id", "email"];

const OWNER: &str = "
    SELECT u.id, u.email
    FROM sb_conversations c
    JOIN sb_users u ON u.id = c.user_id
    WHERE c.id = ?";

/// The key on the conversation holds the messages in the order of their ids: the newest by an agent is near its end.
const LAST_AGENT: &str = "
    SELECT u.id, u.email
    FROM sb_messages m
    JOIN sb_users u ON u.id = m.user_id
    WHERE m.conversation_id = ? AND u.user_type IN ('agent', 'admin')
    ORDER BY m.id DESC
    LIMIT 1";

/// It is one of the first users: walking up from the first finds it at once, where MIN(id) reads everyone.
const BOT: &str = "
    SELECT id
    FROM sb_users
    WHERE user_type = 'bot'
    ORDER BY id
    LIMIT 1";

const ADD_BOT: &str = "
    INSERT INTO sb_users (first_name, last_name, profile_image, user_type, creation_time, token, last_activity)
    VALUES (?, '', ?, 'bot', ?, ?, ?)";

/// The first user with a value in a column or detail.
pub(super) async fn get_user_by(cx: &Context<'_>, by: String, value: String) -> Result<Option<Value>> {
    if value.is_empty() {
        return Ok(None);
    }
    let (sql, params) = match by.as_str() {
        "email" => (BY_EMAIL, params![value]),
        "first_name" => (BY_FIRST_NAME, params![value]),
        "last_name" => (BY_LAST_NAME, params![value]),
        _ => (BY_DETAIL, params![by, value]),
    };
    let found = cx.database()?.records(sql, params, FOUND).await?;
    Ok((!found.is_empty()).then_some(Value::Record(found)))
}

/// The user of a conversation, or the agent who answered last.
pub(super) async fn get_user_from_conversation(
    cx: &Context<'_>,
    conversation_id: ConversationId,
    agent: bool,
) -> Result<Option<Value>> {
    cx.check_conversation(conversation_id).await?;
    let sql = if agent { LAST_AGENT } else { OWNER };
    let user = cx
        .database()?
        .records(sql, params![conversation_id], USER_OF_CONVERSATION)
        .await?;
    Ok((!user.is_empty()).then_some(Value::Record(user)))
}

/// The bot, which is made when there is none.
pub(crate) async fn get_bot_id(cx: &Context<'_>) -> Result<UserId> {
    if let Some(bot) = bot(cx).await? {
        return Ok(bot);
    }
    // Of those who make one at the same time the unique key of the token lets one through, on every node of a cluster.
    match add_bot(cx, cx.keys().await?.token_of("bot")?).await {
        Err(error) if error.database_number() == Some(DUPLICATE) => match bot(cx).await? {
            Some(bot) => Ok(bot),
            // Who has that token was the bot once and is someone else now.
            None => add_bot(cx, crypto::token()?).await,
        },
        added => added,
    }
}

async fn add_bot(cx: &Context<'_>, token: String) -> Result<UserId> {
    let settings = cx.settings().await?;
    let name = settings.text("bot-name").unwrap_or_else(|| "Bot".to_owned());
    let name: String = name.chars().take(NAME_LIMIT).collect();
    let image = settings.text("bot-image").unwrap_or_default();
    let image = if image.chars().nth(columns::SHORT).is_some() {
        ""
    } else {
        &image
    };
    let added = cx
        .database()?
        .execute(ADD_BOT, params![name, image, cx.now(), token, cx.now()])
        .await?;
    Ok(UserId::from(u32::try_from(added.insert_id).unwrap_or_default()))
}

async fn bot(cx: &Context<'_>) -> Result<Option<UserId>> {
    let row: Option<(u32,)> = cx.database()?.row(BOT, params![]).await?;
    Ok(row.map(|(id,)| UserId::from(id)))
}
