//! Which conversation each agent is answering: row `active_agents_conversations` of the settings, agent id →
//! [conversation id, unix time].

use super::access;
use crate::contract::args::Argument;
use crate::contract::error::{Code, Result};
use crate::contract::ids::{ConversationId, UserId};
use crate::contract::{Key, Map, Value};
use crate::platform::Context;

const ROW: &str = "active_agents_conversations";

/// How long an agent is believed to answer, in seconds.
const BUSY_FOR: i64 = 2 * 60 * 60;

/// Says that an agent answers in a conversation, and in no other any more.
pub(super) async fn set_agent_active_conversation(
    cx: &Context<'_>,
    conversation_id: ConversationId,
    agent_id: Option<UserId>,
) -> Result<bool> {
    let agent = match agent_id {
        Some(agent) => agent,
        None => cx.active_user().await?.ok_or(Code::UserNotFound)?.id,
    };
    access::stored(cx, conversation_id, ROW).await?;
    let now = cx.now().and_utc().timestamp();
    cx.rewrite(ROW, |stored| {
        let mut active = active_in(stored);
        active.retain(|_, entry| time_of(entry).is_some_and(|time| time > now - BUSY_FOR));
        let entry = vec![conversation_id.into(), Value::Int(now)];
        active.insert(Key::Int(agent.number().into()), Value::List(entry));
        Ok((Some(active.into()), true))
    })
    .await
}

/// Whether an agent other than `skip` answers in a conversation.
pub(super) async fn is_active_conversation_busy(
    cx: &Context<'_>,
    conversation_id: ConversationId,
    skip: Option<UserId>,
) -> Result<bool> {
    let active = active_in(access::stored(cx, conversation_id, ROW).await?);
    let now = cx.now().and_utc().timestamp();
    let skip = skip.map(|agent| Key::Int(agent.number().into()));
    Ok(active.iter().any(|(agent, entry)| {
        let conversation = entry.get(&Key::Int(0)).cloned().and_then(ConversationId::from_value);
        Some(agent) != skip.as_ref()
            && conversation == Some(conversation_id)
            && time_of(entry).is_some_and(|time| time > now - BUSY_FOR)
    }))
}

/// A list stands for a map from 0 on.
fn active_in(stored: Value) -> Map {
    Map::from_value(stored).unwrap_or_default()
}

fn time_of(entry: &Value) -> Option<i64> {
    entry.get(&Key::Int(1)).cloned().and_then(i64::from_value)
}
