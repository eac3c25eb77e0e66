//! Who is there, and who is typing.

use chrono::TimeDelta;

use super::lists::ONLINE_FOR;
use crate::contract::args::time;
use crate::contract::error::{Code, Result};
use crate::contract::ids::{ConversationId, UserId};
use crate::contract::{Records, Value};
use crate::functions::feed::{self, Sign};
use crate::functions::realtime::present;
use crate::params;
use crate::platform::Context;

const LAST_ACTIVITY: &str = "
    SELECT 1
    FROM sb_users
    WHERE id = ? AND last_activity > ?";

const ACTIVE_AGENT: &str = "
    SELECT 1
    FROM sb_users
    WHERE last_activity > ? AND user_type IN ('agent', 'admin')
    LIMIT 1";

const TYPING: &str = "
    SELECT 1
    FROM sb_users
    WHERE id = ? AND typing = ? AND last_activity > ?";

/// An autocommit of its own: presence is never part of a message's transaction, which would wait for its lock.
const SET_TYPING: &str = "
    UPDATE sb_users
    SET typing = ?, last_activity = ?
    WHERE id = ?";

const AGENT_TYPING: &str = "
    SELECT id, first_name, last_name
    FROM sb_users
    WHERE typing = ? AND last_activity > ? AND user_type IN ('agent', 'admin')
    ORDER BY last_activity DESC, id
    LIMIT 1";

const AGENT: &[&str] = &["id", "first_name", "last_name"];

/// Typing is believed for this long without a further sign.
const TYPING_FOR: TimeDelta = TimeDelta::seconds(10);

/// No conversation.
const NOWHERE: i64 = -1;

/// Whether a time of activity is recent.
pub(super) async fn is_online(cx: &Context<'_>, datetime: String) -> Result<bool> {
    Ok(time(&datetime).is_some_and(|time| time > cx.now() - ONLINE_FOR))
}

/// Whether a user was active recently, or is connected to the push service.
pub(super) async fn is_user_online(cx: &Context<'_>, user_id: UserId) -> Result<bool> {
    let active: Option<(i64,)> = cx
        .database()?
        .row(LAST_ACTIVITY, params![user_id, cx.now() - ONLINE_FOR])
        .await?;
    Ok(active.is_some() || present(cx, false).await?.contains(&user_id))
}

/// Whether somebody can answer.
pub(super) async fn agents_online(cx: &Context<'_>) -> Result<bool> {
    let active: Option<(i64,)> = cx.database()?.row(ACTIVE_AGENT, params![cx.now() - ONLINE_FOR]).await?;
    Ok(active.is_some() || !present(cx, true).await?.is_empty())
}

/// Whether a user types in a conversation.
pub(super) async fn is_typing(cx: &Context<'_>, user_id: UserId, conversation_id: ConversationId) -> Result<bool> {
    cx.check_conversation(conversation_id).await?;
    let typing: Option<(i64,)> = cx
        .database()?
        .row(TYPING, params![user_id, conversation_id, cx.now() - TYPING_FOR])
        .await?;
    Ok(typing.is_some())
}

/// The agent who types in a conversation.
pub(super) async fn is_agent_typing(cx: &Context<'_>, conversation_id: ConversationId) -> Result<Option<Value>> {
    cx.check_conversation(conversation_id).await?;
    let agents: Records = cx
        .database()?
        .records(AGENT_TYPING, params![conversation_id, cx.now() - TYPING_FOR], AGENT)
        .await?;
    Ok((!agents.is_empty()).then_some(Value::Record(agents)))
}

/// Says that a user types, or with no conversation, that it stopped.
pub(super) async fn set_typing(
    cx: &Context<'_>,
    user_id: Option<UserId>,
    conversation_id: Option<ConversationId>,
    _source: Value,
) -> Result<bool> {
    let user_id = match user_id {
        Some(user_id) => user_id,
        None => cx.active_user().await?.ok_or(Code::UserNotFound)?.id,
    };
    if let Some(conversation_id) = conversation_id {
        cx.check_conversation(conversation_id).await?;
    }
    let place = conversation_id
        .filter(|id| id.is_some())
        .map_or(NOWHERE, |id| i64::from(id.number()));
    cx.database()?
        .execute(SET_TYPING, params![place, cx.now(), user_id])
        .await?;
    if place != NOWHERE {
        let data = Value::map([
            ("user_id", user_id.into()),
            ("conversation_id", place.to_string().into()),
        ]);
        feed::tell(cx, Sign::Typing, &data).await;
    }
    Ok(true)
}
