//! Changing and deleting messages that are sent.

use super::storing::stored_payload;
use crate::contract::args::{Argument, Items};
use crate::contract::error::{Code, Result};
use crate::contract::ids::{ConversationId, MessageId, UserId};
use crate::contract::{Map, Value, json};
use crate::functions::attachments;
use crate::functions::columns::{self, check_bytes};
use crate::functions::events::{Event, Followers};
use crate::params;
use crate::platform::Context;
use crate::platform::context::refuse_foreign;
use crate::platform::db::{OnUnknown, Transaction};
use crate::platform::outbox::Recorded;

/// What a deleted message holds: whoever polls sees that it is gone.
const DELETED: &str = r#"{"event":"delete-message"}"#;

/// The lock is on the message; whose the conversation is does not change.
const LOCK_MESSAGE: &str = "
    SELECT m.conversation_id, c.user_id
    FROM sb_messages m
    JOIN sb_conversations c ON c.id = m.conversation_id
    WHERE m.id = ?
    FOR UPDATE";

const UPDATE: &str = "
    UPDATE sb_messages
    SET message = COALESCE(?, message), attachments = COALESCE(?, attachments), payload = COALESCE(?, payload)
    WHERE id = ?";

const PAYLOAD: &str = "
    SELECT payload
    FROM sb_messages
    WHERE id = ? AND conversation_id = ?
    FOR UPDATE";

/// What is to be different; `None` stays as it is.
pub(super) struct Change {
    text: Option<String>,
    attachments: Option<String>,
    payload: Option<String>,
}

impl Change {
    /// What is given, when it can be stored.
    pub(super) fn of(text: Option<String>, attachments: Items, payload: Map) -> Result<Self> {
        let given = |text: String| Some(text).filter(|text| !text.is_empty());
        check_bytes("message", text.as_deref().unwrap_or_default(), columns::TEXT)?;
        Ok(Self {
            text,
            attachments: given(attachments::stored(attachments)?),
            payload: given(stored_payload(payload)?),
        })
    }
}

/// Changes what is given.
pub(super) async fn update_message(
    cx: &Context<'_>,
    message_id: MessageId,
    message: Option<String>,
    attachments: Items,
    payload: Map,
) -> Result<bool> {
    let change = Change::of(message, attachments, payload)?;
    store(cx, message_id, change, Event::MessageUpdated).await
}

/// Empties a message.
pub(super) async fn delete_message(cx: &Context<'_>, message_id: MessageId) -> Result<bool> {
    let change = Change {
        text: Some(String::new()),
        attachments: Some(String::new()),
        payload: Some(DELETED.to_owned()),
    };
    store(cx, message_id, change, Event::MessageDeleted).await
}

async fn store(cx: &Context<'_>, message_id: MessageId, change: Change, event: Event) -> Result<bool> {
    let restricted_to = cx.restricted_user().await?;
    let followers = Followers::of(cx).await?;
    let recorded = cx
        .database()?
        .transaction(OnUnknown::Repeat, async |transaction| {
            let (conversation, owner) = lock(transaction, message_id).await?;
            refuse_foreign(restricted_to, owner)?;
            apply(transaction, &followers, (conversation, message_id), &change, event).await
        })
        .await?;
    cx.after_commit(recorded);
    Ok(true)
}

/// Locks a message. Gives its conversation and whose that is.
pub(super) async fn lock(transaction: &mut Transaction<'_>, message_id: MessageId) -> Result<(ConversationId, UserId)> {
    let known: Option<(u32, u32)> = transaction.row(LOCK_MESSAGE, params![message_id]).await?;
    let (conversation, owner) = known.ok_or(Code::MessageNotFound)?;
    Ok((conversation.into(), owner.into()))
}

/// Changes a message that is locked, and records the event.
pub(super) async fn apply(
    transaction: &mut Transaction<'_>,
    followers: &Followers<'_>,
    (conversation, message_id): (ConversationId, MessageId),
    change: &Change,
    event: Event,
) -> Result<Vec<Recorded>> {
    let Change {
        text,
        attachments,
        payload,
    } = change;
    let params = params![text.as_ref(), attachments.as_ref(), payload.as_ref(), message_id];
    transaction.execute(UPDATE, params).await?;
    let data = || {
        Value::map([
            ("message_id", message_id.into()),
            ("conversation_id", conversation.into()),
            ("message", text.clone().map_or(Value::Null, Value::from)),
        ])
    };
    followers.record(transaction, event, data).await
}

/// Adds a mark to the payload of a message, in a transaction of the caller. `None` when the conversation has no such
/// message, or one without room for it.
pub(crate) async fn mark(
    transaction: &mut Transaction<'_>,
    followers: &Followers<'_>,
    place: (ConversationId, MessageId),
    name: &'static str,
    mark: Value,
) -> Result<Option<Vec<Recorded>>> {
    let (conversation, message_id) = place;
    let known: Option<(Option<String>,)> = transaction.row(PAYLOAD, params![message_id, conversation]).await?;
    let Some((payload,)) = known else {
        return Ok(None);
    };
    let payload = payload
        .and_then(|text| json::decode(text.as_bytes()))
        .and_then(Map::from_value);
    let mut payload = payload.unwrap_or_default();
    payload.insert(name.into(), mark);
    let Ok(payload) = stored_payload(payload) else {
        return Ok(None);
    };
    let change = Change {
        text: None,
        attachments: None,
        payload: Some(payload),
    };
    let recorded = apply(transaction, followers, place, &change, Event::MessageUpdated).await?;
    Ok(Some(recorded))
}
