//! Sending a message: one transaction that nothing doubles and nothing loses.

use chrono::{NaiveDateTime, TimeDelta};

use super::routing::Routing;
use super::telling::{Audience, Place, Telling};
use crate::contract::args::{self, Items, StatusCode};
use crate::contract::error::{Code, Result};
use crate::contract::ids::{ConversationId, MessageId, UserId};
use crate::contract::status::{ConversationStatus, UserType};
use crate::contract::{Map, Value, json};
use crate::functions::attachments;
use crate::functions::columns::{self, check_bytes};
use crate::functions::events::{Event, Followers};
use crate::functions::notifications::{Notification, Told};
use crate::functions::users::ONLINE_FOR;
use crate::params;
use crate::platform::Context;
use crate::platform::context::refuse_foreign;
use crate::platform::db::{Builder, OnUnknown, Transaction};
use crate::platform::idempotency::Repeatable;
use crate::platform::outbox::Recorded;

/// Everything that must be known, and the lock on the conversation: whoever writes to it waits here for the one before,
/// so that the ids of its messages become visible in their order. The owner and the status of the conversation, and the
/// [author](Author). All of it by one look-up: a second one would cost a tenth of the whole send.
const CONVERSATION: &str = "
    SELECT c.user_id, c.status_code,
        (SELECT CONCAT_WS('|', s.user_type, s.typing, s.last_activity) FROM sb_users s WHERE s.id = ?),";

/// Where somebody may have to be told: who, and whether the owner is there.
const WITH_PLACE: &str = "
        c.agent_id, c.department, c.source,
        (SELECT o.last_activity > ? FROM sb_users o WHERE o.id = c.user_id)";

const WITHOUT_PLACE: &str = "
        NULL, NULL, NULL, NULL";

const LOCKED: &str = "
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

/// The message of an earlier try whose outcome was not known, by the id that it got then. The time is compared too: a
/// server that is started again may give the id of what it lost to another. Locking, because a try that still runs has
/// to end first.
const EARLIER_TRY: &str = "
    SELECT id
    FROM sb_messages
    WHERE id = ? AND conversation_id = ? AND user_id = ? AND creation_time = ? AND message = ?
    LOCK IN SHARE MODE";

/// Typing ends with the message. Kept out of its transaction, and written only where it changes something.
const STOP_TYPING: &str = "
    UPDATE sb_users
    SET typing = -1, last_activity = ?
    WHERE id = ?";

/// How many seconds `last_activity` may lag behind; a user counts as online for 30.
const PRESENCE_LAG: i64 = 5;

/// What `typing` holds of somebody who is not.
const NOT_TYPING: &str = "-1";

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
    /// By what somebody is told of it.
    pub(crate) notifications: Vec<&'static str>,
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
    telling: Option<Telling<'a>>,
    once: Option<Once>,
}

/// What [`CONVERSATION`] gives, and [`WITH_PLACE`].
type Known = (
    u32,
    Option<i64>,
    Option<String>,
    Option<u32>,
    Option<u8>,
    Option<String>,
    Option<bool>,
);

/// Who writes.
struct Author {
    /// None for one that the library does not know.
    user_type: Option<UserType>,
    /// Whether it is typing, or was seen too long ago.
    presence_is_stale: bool,
}

/// What a try has done.
pub(crate) struct Done {
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
    recipient_id: Option<UserId>,
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
    let audience = Audience::WhoeverIsAway {
        language_of: recipient_id.filter(|id| id.is_some()),
    };
    let sent = store(cx, message, audience, None).await?;
    let notifications = sent.notifications.into_iter().map(Value::from);
    Ok(Value::map([
        ("status", "success".into()),
        ("message-id", Value::Int(sent.id.number().into())),
        ("queue", sent.waits.into()),
        ("notifications", Value::List(notifications.collect())),
    ]))
}

/// The way of messages that are stored with other things, in one transaction of the caller. Asked for before it begins, so
/// that nothing is asked within it.
pub(crate) struct Joined<'a> {
    cx: &'a Context<'a>,
    routing: Option<Routing>,
    telling: Option<Telling<'a>>,
}

impl<'a> Joined<'a> {
    /// Reads the settings.
    pub(crate) async fn of(cx: &'a Context<'a>) -> Result<Self> {
        Ok(Self {
            cx,
            routing: Routing::of(cx, false).await?,
            telling: Telling::of(cx, Audience::OfEmail).await?,
        })
    }

    /// Stores a message of whoever it is of. Whether an earlier try has stored all of the transaction is for the caller to
    /// know. What it gives is to be handed to [`Self::follow`] after the commit.
    pub(crate) async fn store(
        &self,
        transaction: &mut Transaction<'_>,
        followers: Followers<'a>,
        message: NewMessage,
    ) -> Result<Done> {
        let unit = Unit {
            telling: self.telling.clone(),
            ..Unit::of(self.cx, followers, message)?
        };
        unit.store(transaction, &mut None).await
    }

    /// What follows a message that is stored.
    pub(crate) async fn follow(&self, done: Done) {
        self.cx.after_commit(done.recorded);
        if done.routable
            && let Some(routing) = &self.routing
        {
            // The message is stored, and a failure of this would be answered by storing it again.
            let _ = routing.route(self.cx, done.sent.conversation).await;
        }
    }
}

/// Stores a message in one transaction, and what follows it. Nobody is told of it elsewhere.
pub(crate) async fn send(cx: &Context<'_>, message: NewMessage) -> Result<Sent> {
    store(cx, message, Audience::Nobody, None).await
}

/// As [`send`], of a request that is carried out once, with its answer; and the other side is told when it is away.
pub(crate) async fn send_once(cx: &Context<'_>, message: NewMessage, once: Option<Once>) -> Result<Sent> {
    let audience = Audience::WhoeverIsAway { language_of: None };
    store(cx, message, audience, once).await
}

async fn store(cx: &Context<'_>, message: NewMessage, audience: Audience, once: Option<Once>) -> Result<Sent> {
    let database = cx.database()?;
    let routing = Routing::of(cx, message.queue).await?;
    let followers = Followers::of(cx).await?;
    let telling = Telling::of(cx, audience).await?;
    let unit = Unit {
        restricted_to: cx.restricted_user().await?,
        telling,
        once,
        ..Unit::of(cx, followers, message)?
    };
    let mut tried = None;
    let done = database
        .transaction(OnUnknown::Repeat, async |transaction| {
            unit.store(transaction, &mut tried).await
        })
        .await?;
    cx.after_commit(done.recorded);
    if done.presence_is_stale {
        // The message is stored, and a failure of this would be answered by sending it again.
        let _ = database.execute(STOP_TYPING, params![cx.now(), unit.sender]).await;
    }
    let waits = match routing {
        // Likewise.
        Some(routing) if done.routable => routing.route(cx, done.sent.conversation).await.unwrap_or(false),
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
    check_bytes("payload", &text, columns::TEXT)?;
    Ok(text)
}

/// The status that a conversation has after a message. A user's message brings it back from the archive, nothing brings
/// it back from the trash.
fn status_after(
    given: StatusCode,
    author: Option<UserType>,
    now: Option<ConversationStatus>,
) -> Option<ConversationStatus> {
    use ConversationStatus::{Archive, Trash, WaitingForAgent, WaitingForUser};
    match (given, author) {
        (StatusCode::Code(status), _) => Some(status),
        (StatusCode::NotGiven, Some(author)) if author.is_staff() => match now {
            Some(Archive | Trash) => now,
            _ => Some(WaitingForUser),
        },
        (StatusCode::NotGiven, Some(author)) if author.is_customer() => match now {
            Some(Trash) => now,
            _ => Some(WaitingForAgent),
        },
        _ => now,
    }
}

impl Author {
    /// Reads `type|typing|last activity`.
    fn read(text: &str, now: NaiveDateTime) -> Self {
        let mut parts = text.split('|');
        let user_type = parts.next().and_then(|text| text.parse().ok());
        let is_typing = parts.next() != Some(NOT_TYPING);
        let seen = parts.next().and_then(args::time);
        let is_present = seen.is_some_and(|seen| seen >= now - TimeDelta::seconds(PRESENCE_LAG));
        Self {
            user_type,
            presence_is_stale: is_typing || !is_present,
        }
    }
}

impl<'a> Unit<'a> {
    /// A message that can be stored, of whoever it is of.
    fn of(cx: &'a Context<'a>, followers: Followers<'a>, message: NewMessage) -> Result<Self> {
        if message.status == StatusCode::Invalid {
            return Err(Code::InvalidStatusCode.into());
        }
        let attachments = attachments::stored(message.attachments)?;
        let payload = stored_payload(message.payload)?;
        if message.text.is_empty() && attachments.is_empty() && payload.is_empty() {
            return Err(Code::EmptyMessage.into());
        }
        check_bytes("message", &message.text, columns::TEXT)?;
        Ok(Self {
            cx,
            followers,
            sender: message.sender,
            conversation: message.conversation,
            text: message.text,
            attachments,
            payload,
            status: message.status,
            restricted_to: None,
            telling: None,
            once: None,
        })
    }

    /// Stores the message; `tried` keeps what an earlier run has added, and when.
    async fn store(&self, transaction: &mut Transaction<'_>, tried: &mut Option<(u32, NaiveDateTime)>) -> Result<Done> {
        let now = self.cx.now();
        let sent = |id: u32, time| Sent {
            id: id.into(),
            conversation: self.conversation,
            time,
            waits: false,
            notifications: Vec::new(),
        };
        // An earlier try of a request that names itself is found when its answer is kept.
        if transaction.may_be_done()
            && self.once.is_none()
            && let Some((id, time)) = *tried
            && self.is_stored(transaction, id, time).await?
        {
            return Ok(Done {
                sent: sent(id, time),
                routable: false,
                presence_is_stale: false,
                recorded: Vec::new(),
            });
        }
        let known = self.lock(transaction, now).await?.ok_or(Code::ConversationNotFound)?;
        let (owner, status, author, agent, department, source, owner_is_present) = known;
        let place = Place {
            owner: owner.into(),
            status: status.and_then(|code| code.try_into().ok()),
            agent: agent.map(UserId::from),
            department,
            source,
            owner_is_present: owner_is_present.unwrap_or(false),
        };
        let author = Author::read(&author.ok_or(Code::UserNotFound)?, now);
        refuse_foreign(self.restricted_to, place.owner)?;
        let next = status_after(self.status, author.user_type, place.status);
        if next != place.status
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
        *tried = Some((id, now));
        if let Some(Once {
            request,
            status,
            answer,
        }) = &self.once
        {
            let answer = answer(&sent(id, now));
            request.keep(transaction, now, Some(id), *status, &answer).await?;
        }
        let event = if author.user_type == Some(UserType::Bot) {
            Event::BotMessage
        } else {
            Event::MessageSent
        };
        let mut recorded = self
            .followers
            .record(transaction, event, || self.event_data(id, place.owner, next))
            .await?;
        let told = match &self.telling {
            Some(telling) if self.has_content() && next != Some(ConversationStatus::Trash) => {
                let author = (self.sender, author.user_type);
                let notification = || self.notification(id);
                telling.tell(transaction, &place, author, notification).await?
            }
            _ => Told::default(),
        };
        recorded.extend(told.recorded);
        Ok(Done {
            sent: Sent {
                notifications: told.ways,
                ..sent(id, now)
            },
            routable: author.user_type.is_some_and(UserType::is_customer) && next != Some(ConversationStatus::Trash),
            presence_is_stale: author.presence_is_stale,
            recorded,
        })
    }

    /// Locks the conversation.
    async fn lock(&self, transaction: &mut Transaction<'_>, now: NaiveDateTime) -> Result<Option<Known>> {
        let mut query = Builder::new(CONVERSATION, params![self.sender]);
        match self.telling {
            Some(_) => query.add(WITH_PLACE, params![now - ONLINE_FOR]),
            None => query.add(WITHOUT_PLACE, params![]),
        };
        query.add(LOCKED, params![self.conversation]);
        let (sql, params) = query.finish();
        transaction.row(sql, params).await
    }

    /// Whether there is something to be told of.
    fn has_content(&self) -> bool {
        !(self.text.is_empty() && self.attachments.is_empty())
    }

    /// What followers get to know of the message.
    fn event_data(&self, id: u32, owner: UserId, status: Option<ConversationStatus>) -> Value {
        let structure = |text: &str| json::decode(text.as_bytes()).unwrap_or_else(|| "".into());
        Value::map([
            ("message_id", id.to_string().into()),
            ("conversation_id", self.conversation.into()),
            ("user_id", self.sender.into()),
            ("conversation_user_id", owner.into()),
            (
                "conversation_status_code",
                status.map_or(Value::Null, |status| status.code().to_string().into()),
            ),
            ("message", self.text.clone().into()),
            ("attachments", structure(&self.attachments)),
            ("payload", structure(&self.payload)),
        ])
    }

    /// What whoever is away is told.
    fn notification(&self, id: u32) -> Notification {
        Notification {
            sender: Some(self.sender),
            conversation: Some(self.conversation),
            message: self.text.clone(),
            attachments: attachments::of_stored(&self.attachments),
            what: id.to_string(),
            ..Notification::default()
        }
    }

    /// Whether a message that an earlier try added is there.
    async fn is_stored(&self, transaction: &mut Transaction<'_>, id: u32, time: NaiveDateTime) -> Result<bool> {
        let params = params![id, self.conversation, self.sender, time, &self.text];
        let found: Option<(u32,)> = transaction.row(EARLIER_TRY, params).await?;
        Ok(found.is_some())
    }
}
