//! Sending a message: one transaction that nothing doubles and nothing loses.

use super::attachments;
use crate::contract::args::{Items, StatusCode};
use crate::contract::error::{Code, Error, Result};
use crate::contract::ids::{ConversationId, UserId};
use crate::contract::status::{ConversationStatus, UserType};
use crate::contract::{Map, Value, json};
use crate::params;
use crate::platform::Context;
use crate::platform::db::{OnUnknown, Transaction};

/// Everything that must be known before: the sender, the conversation, and its newest message, above which a message
/// of this call must lie.
const SENDER_AND_CONVERSATION: &str = "
    SELECT
        (SELECT user_type FROM sb_users WHERE id = ?),
        (SELECT user_id FROM sb_conversations WHERE id = ?),
        (SELECT MAX(id) FROM sb_messages WHERE conversation_id = ?)";

/// Comes before the message: whoever writes to the conversation waits here for the one before, so that the ids of its
/// messages become visible in their order. The status is decided by the row itself.
const SET_STATUS: &str = "
    UPDATE sb_conversations
    SET status_code = CASE ?
        WHEN 'set' THEN ?
        WHEN 'agent' THEN IF(status_code IN (3, 4), status_code, 1)
        WHEN 'customer' THEN IF(status_code = 4, 4, 2)
        ELSE status_code
    END
    WHERE id = ?";

const ADD_MESSAGE: &str = "
    INSERT INTO sb_messages (user_id, message, creation_time, status_code, attachments, payload, conversation_id)
    VALUES (?, ?, ?, 0, ?, ?, ?)";

/// The message of an earlier try whose outcome was not known.
const EARLIER_TRY: &str = "
    SELECT MIN(id)
    FROM sb_messages
    WHERE conversation_id = ? AND id > ? AND user_id = ? AND message = ? AND attachments = ? AND payload = ?";

/// Typing ends with the message. Kept out of its transaction, and written only where it changes something.
const STOP_TYPING: &str = "
    UPDATE sb_users
    SET typing = -1, last_activity = ?
    WHERE id = ?";

/// What the message and payload columns hold.
const TEXT_LIMIT: usize = 65_535;

/// A message before it is stored.
struct NewMessage {
    sender: UserId,
    conversation: ConversationId,
    text: String,
    attachments: String,
    payload: String,
    status: Rule,
    /// The conversation's newest message before.
    newest: u32,
}

/// How the status of the conversation follows from a message.
enum Rule {
    Set(ConversationStatus),
    OfAgent,
    OfCustomer,
    Keep,
}

/// The sender's type, the conversation's user and its newest message.
type Known = (Option<String>, Option<u32>, Option<u32>);

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
    let params = params![sender_id, conversation_id, conversation_id];
    let known: Option<Known> = cx.database()?.row(SENDER_AND_CONVERSATION, params).await?;
    let (sender_type, owner, newest) = known.unwrap_or_default();
    let owner = UserId::from(owner.ok_or(Code::ConversationNotFound)?);
    let sender_type = sender_type.ok_or(Code::UserNotFound)?;
    cx.check_owner(owner).await?;
    let message = NewMessage {
        sender: sender_id,
        conversation: conversation_id,
        text: message,
        attachments,
        payload,
        status: Rule::of(conversation_status, sender_type.parse().ok()),
        newest: newest.unwrap_or_default(),
    };
    let id = cx
        .database()?
        .transaction(OnUnknown::Repeat, async |transaction| {
            message.store(cx, transaction).await
        })
        .await?;
    cx.database()?
        .execute(STOP_TYPING, params![cx.now(), sender_id])
        .await?;
    let queue = queue && cx.settings().await?.is_on("queue-active");
    Ok(Value::map([
        ("status", "success".into()),
        ("message-id", Value::Int(id.into())),
        ("queue", queue.into()),
        ("notifications", Value::List(Vec::new())),
    ]))
}

impl Rule {
    fn of(asked: StatusCode, sender: Option<UserType>) -> Self {
        match (asked, sender) {
            (StatusCode::Code(status), _) => Self::Set(status),
            (StatusCode::NotGiven, Some(sender)) if sender.is_staff() => Self::OfAgent,
            (StatusCode::NotGiven, Some(sender)) if sender.is_customer() => Self::OfCustomer,
            _ => Self::Keep,
        }
    }

    /// As the statement takes it.
    const fn params(&self) -> (&'static str, u8) {
        match self {
            Self::Set(status) => ("set", status.code()),
            Self::OfAgent => ("agent", 0),
            Self::OfCustomer => ("customer", 0),
            Self::Keep => ("keep", 0),
        }
    }
}

impl NewMessage {
    async fn store(&self, cx: &Context<'_>, transaction: &mut Transaction<'_>) -> Result<u32> {
        let (rule, status) = self.status.params();
        transaction
            .execute(SET_STATUS, params![rule, status, self.conversation])
            .await?;
        // The lock on the conversation is ours now: an earlier try has ended, one way or the other.
        if transaction.may_be_done()
            && let Some(id) = self.earlier_try(transaction).await?
        {
            return Ok(id);
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
        Ok(u32::try_from(added.insert_id).unwrap_or_default())
    }

    async fn earlier_try(&self, transaction: &mut Transaction<'_>) -> Result<Option<u32>> {
        let params = params![
            self.conversation,
            self.newest,
            self.sender,
            &self.text,
            &self.attachments,
            &self.payload
        ];
        let found: Option<(Option<u32>,)> = transaction.row(EARLIER_TRY, params).await?;
        Ok(found.and_then(|(id,)| id))
    }
}
