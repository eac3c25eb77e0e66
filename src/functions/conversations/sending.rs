//! Sending a message: one transaction that nothing doubles and nothing loses.

use chrono::{NaiveDateTime, TimeDelta};

use super::routing::Routing;
use crate::contract::args::{Items, StatusCode};
use crate::contract::error::{Code, Error, Result};
use crate::contract::ids::{ConversationId, MessageId, UserId};
use crate::contract::status::{ConversationStatus, UserType};
use crate::contract::{Map, Value, json};
use crate::functions::attachments;
use crate::functions::events::{Event, Followers};
use crate::params;
use crate::platform::Context;
use crate::platform::context::refuse_foreign;
use crate::platform::crypto;
use crate::platform::db::{OnUnknown, Transaction};
use crate::platform::idempotency::Repeatable;
use crate::platform::outbox::Recorded;

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

/// The same where every send has a key of its own, which nobody else can have stored.
const EARLIER_KEY: &str = "
    SELECT message_id
    FROM sb_idempotency
    WHERE k = ?
    LOCK IN SHARE MODE";

const ADD_KEY: &str = "
    INSERT INTO sb_idempotency (k, message_id, created)
    VALUES (?, ?, ?)";

/// The table of the keys, on databases that have it.
const KEYS: &str = "sb_idempotency";

/// Typing ends with the message. Kept out of its transaction, and written only where it changes something.
const STOP_TYPING: &str = "
    UPDATE sb_users
    SET typing = -1, last_activity = ?
    WHERE id = ?";

/// How many seconds `last_activity` may lag behind; a user counts as online for 30.
const PRESENCE_LAG: i64 = 5;

/// What the message and payload columns hold.
pub(super) const TEXT_LIMIT: usize = 65_535;

/// A message before it is stored.
pub(crate) struct NewMessage {
    /// The author.
    pub(crate) sender: UserId,
    /// Where it goes.
    pub(crate) conversation: ConversationId,
    /// Its text.
    pub(crate) text: String,
    /// Its attachments, `[name, link]` each.
    pub(crate) attachments: Items,
    /// A map that is kept with it.
    pub(crate) payload: Map,
    /// The status that the conversation gets.
    pub(crate) status: StatusCode,
    /// Whether whoever finds no agent waits for one.
    pub(crate) queue: bool,
}

/// A request that is carried out once, and what it is answered.
pub(crate) struct Once {
    /// The request.
    pub(crate) request: Repeatable,
    /// The status of the answer.
    pub(crate) status: u16,
    /// The answer.
    pub(crate) answer: fn(&Sent) -> String,
}

/// A message that is sent.
pub(crate) struct Sent {
    /// Its id.
    pub(crate) id: MessageId,
    /// Where it went.
    pub(crate) conversation: ConversationId,
    /// When, in UTC.
    pub(crate) time: NaiveDateTime,
    /// Whether its author waits for an agent.
    pub(crate) waits: bool,
}

/// A message as it is stored, and what decides how.
struct Unit<'a> {
    cx: &'a Context<'a>,
    followers: Followers<'a>,
    sender: UserId,
    conversation: ConversationId,
    text: String,
    attachments: String,
    payload: String,
    status: StatusCode,
    /// The active user, if it may only touch its own conversations.
    restricted_to: Option<UserId>,
    /// By which an earlier try is found, where there is a table for it.
    key: Option<Vec<u8>>,
    once: Option<Once>,
}

/// What [`LOCK_CONVERSATION`] gives.
type Known = (u32, Option<i64>, Option<u32>, Option<String>, Option<bool>);

/// What a try has done.
struct Done {
    sent: Sent,
    /// Whether it is of someone who wants an agent.
    routable: bool,
    presence_is_stale: bool,
    recorded: Vec<Recorded>,
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
    let message = NewMessage {
        sender: sender_id,
        conversation: conversation_id,
        text: message,
        attachments,
        payload,
        status: conversation_status,
        queue,
    };
    let sent = send(cx, message).await?;
    Ok(Value::map([
        ("status", "success".into()),
        ("message-id", Value::Int(sent.id.number().into())),
        ("queue", sent.waits.into()),
        ("notifications", Value::List(Vec::new())),
    ]))
}

/// Stores a message in one transaction, and what follows it.
pub(crate) async fn send(cx: &Context<'_>, message: NewMessage) -> Result<Sent> {
    send_once(cx, message, None).await
}

/// As [`send`]; of a request that is carried out once, with its answer.
pub(crate) async fn send_once(cx: &Context<'_>, message: NewMessage, once: Option<Once>) -> Result<Sent> {
    if message.status == StatusCode::Invalid {
        return Err(Code::InvalidStatusCode.into());
    }
    let attachments = attachments::stored(message.attachments)?;
    let payload = stored_payload(message.payload)?;
    if message.text.is_empty() && attachments.is_empty() && payload.is_empty() {
        return Err(Code::EmptyMessage.into());
    }
    if message.text.len() > TEXT_LIMIT {
        return Err(Error::too_long("message", "65535 bytes"));
    }
    let database = cx.database()?;
    let routing = Routing::of(cx, message.queue).await?;
    let unit = Unit {
        cx,
        followers: Followers::of(cx).await?,
        sender: message.sender,
        conversation: message.conversation,
        text: message.text,
        attachments,
        payload,
        status: message.status,
        restricted_to: cx.restricted_user().await?,
        key: match once {
            None => new_key(cx).await?,
            Some(_) => None,
        },
        once,
    };
    let mut newest = None;
    let done = database
        .transaction(OnUnknown::Repeat, async |transaction| {
            unit.store(transaction, &mut newest).await
        })
        .await?;
    cx.after_commit(done.recorded);
    if done.presence_is_stale {
        // The message is stored, and a failure of this would be answered by sending it again.
        let _ = database.execute(STOP_TYPING, params![cx.now(), unit.sender]).await;
    }
    let waits = match routing {
        // Likewise.
        Some(routing) if done.routable => routing.route(cx, message.conversation).await.unwrap_or(false),
        _ => false,
    };
    Ok(Sent { waits, ..done.sent })
}

/// A payload as it is stored: JSON, or an empty text for none.
pub(super) fn stored_payload(payload: Map) -> Result<String> {
    if payload.is_empty() {
        return Ok(String::new());
    }
    let text = json::encode(&Value::Map(payload));
    if text.len() > TEXT_LIMIT {
        Err(Error::too_long("payload", "65535 bytes"))
    } else {
        Ok(text)
    }
}

/// A key that no other send has, where keys are kept.
async fn new_key(cx: &Context<'_>) -> Result<Option<Vec<u8>>> {
    if !cx.database()?.has(KEYS).await? {
        return Ok(None);
    }
    let mut key = vec![0; 32];
    crypto::random(&mut key)?;
    Ok(Some(key))
}

impl Unit<'_> {
    /// Stores the message; `newest` keeps from the first try on which message was the newest before.
    async fn store(&self, transaction: &mut Transaction<'_>, newest: &mut Option<u32>) -> Result<Done> {
        let lag = self.cx.now() - TimeDelta::seconds(PRESENCE_LAG);
        let params = params![self.sender, lag, self.sender, self.conversation];
        let known: Option<Known> = transaction.row(LOCK_CONVERSATION, params).await?;
        let (owner, status, newest_now, sender_type, presence_is_stale) = known.ok_or(Code::ConversationNotFound)?;
        let sender_type = sender_type.ok_or(Code::UserNotFound)?.parse().ok();
        refuse_foreign(self.restricted_to, owner.into())?;
        let newest = *newest.get_or_insert(newest_now.unwrap_or_default());
        let presence_is_stale = presence_is_stale.unwrap_or(true);
        let now = self.cx.now();
        let sent = |id: u32| Sent {
            id: id.into(),
            conversation: self.conversation,
            time: now,
            waits: false,
        };
        // The lock on the conversation is ours now: an earlier try has ended, one way or the other. One of a request that
        // names itself is found when its answer is kept.
        if transaction.may_be_done()
            && self.once.is_none()
            && let Some(id) = self.earlier_try(transaction, newest).await?
        {
            return Ok(Done {
                sent: sent(id),
                routable: false,
                presence_is_stale,
                recorded: Vec::new(),
            });
        }
        let status = status.and_then(|code| code.try_into().ok());
        let next = self.status_after(status, sender_type);
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
            now,
            &self.attachments,
            &self.payload,
            self.conversation
        ];
        let added = transaction.execute(ADD_MESSAGE, params).await?;
        let id = u32::try_from(added.insert_id).unwrap_or_default();
        if let Some(key) = &self.key {
            transaction.execute(ADD_KEY, params![key.clone(), id, now]).await?;
        }
        if let Some(Once {
            request,
            status,
            answer,
        }) = &self.once
        {
            let answer = answer(&sent(id));
            request.keep(transaction, now, Some(id), *status, &answer).await?;
        }
        let event = if sender_type == Some(UserType::Bot) {
            Event::BotMessage
        } else {
            Event::MessageSent
        };
        let recorded = self
            .followers
            .record(transaction, event, || self.event_data(id, owner, next))
            .await?;
        Ok(Done {
            sent: sent(id),
            routable: sender_type.is_some_and(UserType::is_customer) && next != Some(ConversationStatus::Trash),
            presence_is_stale,
            recorded,
        })
    }

    /// What followers get to know of the message.
    fn event_data(&self, id: u32, owner: u32, status: Option<ConversationStatus>) -> Value {
        let structure = |text: &str| json::decode(text.as_bytes()).unwrap_or_else(|| "".into());
        Value::map([
            ("message_id", id.to_string().into()),
            ("conversation_id", self.conversation.into()),
            ("user_id", self.sender.into()),
            ("conversation_user_id", owner.to_string().into()),
            (
                "conversation_status_code",
                status.map_or(Value::Null, |status| status.code().to_string().into()),
            ),
            ("message", self.text.clone().into()),
            ("attachments", structure(&self.attachments)),
            ("payload", structure(&self.payload)),
        ])
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
        if let Some(key) = &self.key {
            let found: Option<(Option<u32>,)> = transaction.row(EARLIER_KEY, params![key.clone()]).await?;
            return Ok(found.and_then(|(id,)| id));
        }
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
