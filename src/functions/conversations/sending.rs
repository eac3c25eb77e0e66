//! Sending a message: one transaction that nothing doubles and nothing loses.

use chrono::TimeDelta;

use super::attachments;
use crate::contract::args::{Items, StatusCode};
use crate::contract::error::{Code, Error, Result};
use crate::contract::ids::{ConversationId, UserId};
use crate::contract::status::{ConversationStatus, UserType};
use crate::contract::{Map, Value, json};
use crate::params;
use crate::platform::Context;
use crate::platform::context::refuse_foreign;
use crate::platform::db::{OnUnknown, Transaction};

/// Everything that must be known, and the lock on the conversation: whoever writes to it waits here for the one before,
/// so that the ids of its messages become visible in their order. Beside the owner and the status of the conversation:
/// its newest message, above which a message of this call must lie, and of the sender the type and whether the presence
/// is out of date.
const LOCK_CONVERSATION: &str = "
    SELECT c.user_id, c.status_code,
        (SELECT MAX(m.id) FROM sb_messages m WHERE m.conversation_id = c.id),
        (SELECT s.user_type FROM sb_users s WHERE s.id = ?),
        (SELECT s.typing <> -1 OR COALESCE(s.last_activity < ?, TRUE) FROM sb_users s WHERE s.id = ?)
    FROM sb_conversations c
    WHERE c.id = ?
    FOR UPDATE";

const SET_STATUS: &str = "
    UPDATE sb_conversations
    SET status_code = ?
    WHERE id = ?";

const ADD_MESSAGE: &str = "
    INSERT INTO sb_messages (user_id, message, creation_time, status_code, attachments, payload, conversation_id)
    VALUES (?, ?, ?, 0, ?, ?, ?)";

/// The message of an earlier try whose outcome was not known. Locking, because such a read sees what is committed now: a
/// plain one sees what was when the lock on the conversation was asked for.
const EARLIER_TRY: &str = "
    SELECT MIN(id)
    FROM sb_messages
    WHERE conversation_id = ? AND id > ? AND user_id = ? AND message = ? AND attachments = ? AND payload = ?
    LOCK IN SHARE MODE";

/// Typing ends with the message. Kept out of its transaction, and written only where it changes something.
const STOP_TYPING: &str = "
    UPDATE sb_users
    SET typing = -1, last_activity = ?
    WHERE id = ?";

/// How many seconds `last_activity` may lag behind; a user counts as online for 30.
const PRESENCE_LAG: i64 = 5;

/// What the message and payload columns hold.
const TEXT_LIMIT: usize = 65_535;

/// A message before it is stored.
struct NewMessage {
    sender: UserId,
    conversation: ConversationId,
    text: String,
    attachments: String,
    payload: String,
    status: StatusCode,
    /// The active user, if it may only touch its own conversations.
    restricted_to: Option<UserId>,
}

/// What [`LOCK_CONVERSATION`] gives.
type Known = (u32, Option<i64>, Option<u32>, Option<String>, Option<bool>);

/// A message that is stored.
struct Sent {
    id: u32,
    presence_is_stale: bool,
}

/// Adds a message.
pub(super) async fn send_message(
    cx: &Context<'_>,
    sender_id: UserId,
    conversation_id: ConversationId,
    message: String,
    attachments: Items,
    conversation_status: StatusCode,
    payload: Map,
    queue: bool,
    _recipient_id: Option<UserId>,
) -> Result<Value> {
    if conversation_status == StatusCode::Invalid {
        return Err(Code::InvalidStatusCode.into());
    }
    let attachments = attachments::stored(attachments)?;
    let payload = if payload.is_empty() {
        String::new()
    } else {
        json::encode(&Value::Map(payload))
    };
    if message.is_empty() && attachments.is_empty() && payload.is_empty() {
        return Err(Code::EmptyMessage.into());
    }
    for (name, text) in [("message", &message), ("payload", &payload)] {
        if text.len() > TEXT_LIMIT {
            return Err(Error::too_long(name, "65535 bytes"));
        }
    }
    let message = NewMessage {
        sender: sender_id,
        conversation: conversation_id,
        text: message,
        attachments,
        payload,
        status: conversation_status,
        restricted_to: cx.restricted_user().await?,
    };
    let mut newest = None;
    let sent = cx
        .database()?
        .transaction(OnUnknown::Repeat, async |transaction| {
            message.store(cx, transaction, &mut newest).await
        })
        .await?;
    if sent.presence_is_stale {
        // The message is stored, and a failure of this would be answered by sending it again.
        let _ = cx.database()?.execute(STOP_TYPING, params![cx.now(), sender_id]).await;
    }
    let queue = queue && cx.settings().await?.is_on("queue-active");
    Ok(Value::map([
        ("status", "success".into()),
        ("message-id", Value::Int(sent.id.into())),
        ("queue", queue.into()),
        ("notifications", Value::List(Vec::new())),
    ]))
}

impl NewMessage {
    /// Stores it; `newest` keeps from the first try on which message was the newest before.
    async fn store(
        &self,
        cx: &Context<'_>,
        transaction: &mut Transaction<'_>,
        newest: &mut Option<u32>,
    ) -> Result<Sent> {
        let lag = cx.now() - TimeDelta::seconds(PRESENCE_LAG);
        let params = params![self.sender, lag, self.sender, self.conversation];
        let known: Option<Known> = transaction.row(LOCK_CONVERSATION, params).await?;
        let (owner, status, newest_now, sender_type, presence_is_stale) = known.ok_or(Code::ConversationNotFound)?;
        let sender_type = sender_type.ok_or(Code::UserNotFound)?;
        refuse_foreign(self.restricted_to, owner.into())?;
        let newest = *newest.get_or_insert(newest_now.unwrap_or_default());
        let presence_is_stale = presence_is_stale.unwrap_or(true);
        // The lock on the conversation is ours now: an earlier try has ended, one way or the other.
        if transaction.may_be_done()
            && let Some(id) = self.earlier_try(transaction, newest).await?
        {
            return Ok(Sent { id, presence_is_stale });
        }
        let status = status.and_then(|code| code.try_into().ok());
        let next = self.status_after(status, sender_type.parse().ok());
        if next != status
            && let Some(next) = next
        {
            transaction
                .execute(SET_STATUS, params![next, self.conversation])
                .await?;
        }
        let params = params![
            self.sender,
            &self.text,
            cx.now(),
            &self.attachments,
            &self.payload,
            self.conversation
        ];
        let added = transaction.execute(ADD_MESSAGE, params).await?;
        Ok(Sent {
            id: u32::try_from(added.insert_id).unwrap_or_default(),
            presence_is_stale,
        })
    }

    /// The status that the conversation has after the message. A user's message brings it back from the archive, nothing
    /// brings it back from the trash.
    fn status_after(&self, now: Option<ConversationStatus>, sender: Option<UserType>) -> Option<ConversationStatus> {
        use ConversationStatus::{Archive, Trash, WaitingForAgent, WaitingForUser};
        match (self.status, sender) {
            (StatusCode::Code(status), _) => Some(status),
            (StatusCode::NotGiven, Some(sender)) if sender.is_staff() => match now {
                Some(Archive | Trash) => now,
                _ => Some(WaitingForUser),
            },
            (StatusCode::NotGiven, Some(sender)) if sender.is_customer() => match now {
                Some(Trash) => now,
                _ => Some(WaitingForAgent),
            },
            _ => now,
        }
    }

    async fn earlier_try(&self, transaction: &mut Transaction<'_>, newest: u32) -> Result<Option<u32>> {
        let params = params![
            self.conversation,
            newest,
            self.sender,
            &self.text,
            &self.attachments,
            &self.payload
        ];
        let found: Option<(Option<u32>,)> = transaction.row(EARLIER_TRY, params).await?;
        Ok(found.and_then(|(id,)| id))
    }
}
