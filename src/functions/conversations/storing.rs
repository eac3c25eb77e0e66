//! Storing messages in a transaction: what is locked, what becomes of their conversations, and how they are found again
//! when nobody knows whether they were stored.

use chrono::{NaiveDateTime, TimeDelta};

use super::telling::Place;
use crate::contract::args::{self, Items, StatusCode};
use crate::contract::error::{Code, Error, Result};
use crate::contract::ids::{ConversationId, MessageId, UserId};
use crate::contract::status::{ConversationStatus, UserType};
use crate::contract::{Map, Value, json};
use crate::functions::attachments;
use crate::functions::columns::{self, check_bytes};
use crate::functions::notifications::Notification;
use crate::functions::users::ONLINE_FOR;
use crate::params;
use crate::platform::context::refuse_foreign;
use crate::platform::db::{Builder, Param, Transaction};
use crate::platform::idempotency::Repeatable;

/// Everything that must be known, and the locks on the conversations: whoever writes to one waits here for the one before,
/// so that the ids of its messages become visible in their order. Of a conversation the owner and the status, and by how
/// much the server counts on from id to id; the [authors](Author). All of it by one look-up: a second one would cost a
/// tenth of a whole send.
const CONVERSATIONS: &str = "
    SELECT c.id, c.user_id, c.status_code, @@auto_increment_increment,";

const ITS_AUTHOR: &str = "
        (SELECT CONCAT_WS('|', s.id, s.user_type, s.typing, s.last_activity) FROM sb_users s WHERE s.id IN ";

/// Of several messages; it costs more than [`ITS_AUTHOR`].
const THEIR_AUTHORS: &str = "
        (SELECT GROUP_CONCAT(CONCAT_WS('|', s.id, s.user_type, s.typing, s.last_activity)) FROM sb_users s WHERE s.id IN ";

/// Where somebody may have to be told: who, and whether the owner is there.
const WITH_PLACE: &str = "),
        c.agent_id, c.department, c.source,
        (SELECT o.last_activity > ? FROM sb_users o WHERE o.id = c.user_id)";

const WITHOUT_PLACE: &str = "),
        NULL, NULL, NULL, NULL";

const AMONG: &str = "
    FROM sb_conversations c
    WHERE c.id IN ";

/// In one order, so that nobody waits for somebody who waits for them.
const LOCKED: &str = "
    ORDER BY c.id
    FOR UPDATE";

const THOSE_THAT_ARE_FREE: &str = " SKIP LOCKED";

const SET_STATUS: &str = "
    UPDATE sb_conversations
    SET status_code = ?
    WHERE id = ?";

const ADD_MESSAGE: &str = "
    INSERT INTO sb_messages (user_id, message, creation_time, status_code, attachments, payload, conversation_id)
    VALUES (?, ?, ?, 0, ?, ?, ?)";

const AND_MESSAGE: &str = ", (?, ?, ?, 0, ?, ?, ?)";

/// The message of an earlier try whose outcome was not known, by the id that it got then. The time is compared too: a
/// server that is started again may give the id of what it lost to another. Locking, because a try that still runs has
/// to end first.
const EARLIER_TRY: &str = "
    SELECT id
    FROM sb_messages
    WHERE id = ? AND conversation_id = ? AND user_id = ? AND creation_time = ? AND message = ?
    LOCK IN SHARE MODE";

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
pub(super) struct Message {
    pub(super) sender: UserId,
    pub(super) conversation: ConversationId,
    pub(super) text: String,
    pub(super) attachments: String,
    pub(super) payload: String,
    pub(super) status: StatusCode,
    /// The active user, if it may only touch its own conversations.
    pub(super) restricted_to: Option<UserId>,
    pub(super) once: Option<Once>,
}

/// A row of [`CONVERSATIONS`].
type Row = (
    u32,
    u32,
    Option<i64>,
    u64,
    Option<String>,
    Option<u32>,
    Option<u8>,
    Option<String>,
    Option<bool>,
);

/// Which conversations are locked, and what is asked of them meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    /// All, as soon as nobody else has them.
    All,
    /// All, and what telling somebody of their messages takes.
    WithPlace,
    /// Those that nobody else has. Others are not found.
    WhoeverIsFree,
}

/// What is known before messages are stored.
struct Known {
    places: Vec<(ConversationId, Place)>,
    authors: Vec<(UserId, Author)>,
    /// From each id that the server gives to the next.
    step: u64,
}

/// Who writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Author {
    /// None for one that the library does not know.
    pub(super) user_type: Option<UserType>,
    /// Whether it is typing, or was seen too long ago.
    pub(super) presence_is_stale: bool,
}

/// Where a message goes, by whom, and what becomes of the conversation.
pub(super) struct Decision {
    pub(super) place: Place,
    pub(super) author: Author,
    pub(super) next: Option<ConversationStatus>,
}

/// A message in the table; of one that an earlier try has stored nothing else is known.
pub(super) struct Stored {
    pub(super) id: u32,
    pub(super) time: NaiveDateTime,
    pub(super) decision: Option<Decision>,
}

/// What a try has added, or refused, in case its outcome is not known.
pub(super) struct Tried {
    time: NaiveDateTime,
    ids: Vec<Result<u32>>,
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

impl Message {
    /// A message that can be stored, of whoever it is of.
    pub(super) fn of(message: NewMessage) -> Result<Self> {
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
            sender: message.sender,
            conversation: message.conversation,
            text: message.text,
            attachments,
            payload,
            status: message.status,
            restricted_to: None,
            once: None,
        })
    }

    /// Whether it may be stored, and what becomes of its conversation, which is known to the messages behind it.
    fn decide(&self, known: &mut Known) -> Result<Decision> {
        let place = known.places.iter_mut().find(|(id, _)| *id == self.conversation);
        let (_, place) = place.ok_or(Code::ConversationNotFound)?;
        let author = known.authors.iter().find(|(id, _)| *id == self.sender);
        let (_, author) = *author.ok_or(Code::UserNotFound)?;
        refuse_foreign(self.restricted_to, place.owner)?;
        let next = status_after(self.status, author.user_type, place.status);
        let decision = Decision {
            place: place.clone(),
            author,
            next,
        };
        place.status = next;
        Ok(decision)
    }

    /// What its insertion binds.
    fn params(&self, now: NaiveDateTime) -> Vec<Param> {
        params![
            self.sender,
            &self.text,
            now,
            &self.attachments,
            &self.payload,
            self.conversation
        ]
    }

    pub(super) fn sent(&self, id: u32, time: NaiveDateTime) -> Sent {
        Sent {
            id: id.into(),
            conversation: self.conversation,
            time,
            waits: false,
            notifications: Vec::new(),
        }
    }

    /// Whether there is something to be told of.
    pub(super) fn has_content(&self) -> bool {
        !(self.text.is_empty() && self.attachments.is_empty())
    }

    /// What followers get to know of it.
    pub(super) fn event_data(&self, id: u32, owner: UserId, status: Option<ConversationStatus>) -> Value {
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
    pub(super) fn notification(&self, id: u32) -> Notification {
        Notification {
            sender: Some(self.sender),
            conversation: Some(self.conversation),
            message: self.text.clone(),
            attachments: attachments::of_stored(&self.attachments),
            what: id.to_string(),
            ..Notification::default()
        }
    }
}

impl Decision {
    pub(super) fn is_routable(&self) -> bool {
        self.author.user_type.is_some_and(UserType::is_customer) && self.next != Some(ConversationStatus::Trash)
    }
}

impl Known {
    /// Locks the conversations of messages.
    async fn locked(
        transaction: &mut Transaction<'_>,
        now: NaiveDateTime,
        messages: &[Message],
        lock: Lock,
    ) -> Result<Self> {
        let mut query = Builder::new(CONVERSATIONS, params![]);
        query.add(if messages.len() == 1 { ITS_AUTHOR } else { THEIR_AUTHORS }, params![]);
        query.list(messages.iter().map(|message| message.sender));
        if lock == Lock::WithPlace {
            query.add(WITH_PLACE, params![now - ONLINE_FOR]);
        } else {
            query.add(WITHOUT_PLACE, params![]);
        }
        query
            .add(AMONG, params![])
            .list(messages.iter().map(|message| message.conversation))
            .add(LOCKED, params![]);
        if lock == Lock::WhoeverIsFree {
            query.add(THOSE_THAT_ARE_FREE, params![]);
        }
        let (sql, params) = query.finish();
        let rows: Vec<Row> = transaction.rows(sql, params).await?;
        let (step, authors) = rows
            .first()
            .map_or((1, ""), |row| (row.3, row.4.as_deref().unwrap_or_default()));
        let authors = authors.split(',').filter_map(|author| {
            let (id, author) = author.split_once('|')?;
            Some((id.parse::<u32>().ok()?.into(), Author::read(author, now)))
        });
        Ok(Self {
            authors: authors.collect(),
            step,
            places: rows.into_iter().map(place).collect(),
        })
    }
}

fn place((id, owner, status, _, _, agent, department, source, owner_is_present): Row) -> (ConversationId, Place) {
    let place = Place {
        owner: owner.into(),
        status: status.and_then(|code| code.try_into().ok()),
        agent: agent.map(UserId::from),
        department,
        source,
        owner_is_present: owner_is_present.unwrap_or(false),
    };
    (id.into(), place)
}

impl Tried {
    /// What it has stored, when that is there: all of it or nothing.
    async fn found(
        &self,
        transaction: &mut Transaction<'_>,
        messages: &[Message],
    ) -> Result<Option<Vec<Result<Stored>>>> {
        let first = messages
            .iter()
            .zip(&self.ids)
            .find_map(|(message, id)| Some((message, *id.as_ref().ok()?)));
        let Some((message, id)) = first else { return Ok(None) };
        let params = params![id, message.conversation, message.sender, self.time, &message.text];
        let found: Option<(u32,)> = transaction.row(EARLIER_TRY, params).await?;
        let stored = |id: &Result<u32>| {
            id.clone().map(|id| Stored {
                id,
                time: self.time,
                decision: None,
            })
        };
        Ok(found.map(|_| self.ids.iter().map(stored).collect()))
    }
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

/// Stores messages in a transaction, each unless it is refused. `tried` keeps what an earlier run has done.
pub(super) async fn store_all(
    transaction: &mut Transaction<'_>,
    now: NaiveDateTime,
    messages: &[Message],
    lock: Lock,
    tried: &mut Option<Tried>,
) -> Result<Vec<Result<Stored>>> {
    if transaction.may_be_done()
        && let Some(tried) = tried
        && let Some(stored) = tried.found(transaction, messages).await?
    {
        return Ok(stored);
    }
    let mut known = Known::locked(transaction, now, messages, lock).await?;
    let decisions: Vec<_> = messages.iter().map(|message| message.decide(&mut known)).collect();
    let accepted = messages.iter().zip(&decisions);
    let accepted: Vec<_> = accepted
        .filter_map(|(message, decision)| Some((message, decision.as_ref().ok()?)))
        .collect();
    for (message, decision) in &accepted {
        if let Some(next) = decision.next
            && decision.next != decision.place.status
        {
            transaction
                .execute(SET_STATUS, params![next, message.conversation])
                .await?;
        }
    }
    let accepted: Vec<_> = accepted.into_iter().map(|(message, _)| message).collect();
    let mut ids = add(transaction, now, &accepted, known.step).await?.into_iter();
    let stored = decisions.into_iter().map(|decision| {
        let decision = decision?;
        Ok(Stored {
            id: ids.next().unwrap_or_default(),
            time: now,
            decision: Some(decision),
        })
    });
    let stored: Vec<Result<Stored>> = stored.collect();
    for (message, stored) in messages.iter().zip(&stored) {
        if let (Some(once), Ok(Stored { id, .. })) = (&message.once, stored) {
            let answer = (once.answer)(&message.sent(*id, now));
            let keeping = once.request.keep(transaction, now, Some(*id), once.status, &answer);
            keeping.await?;
        }
    }
    let id = |stored: &Result<Stored>| stored.as_ref().map(|stored| stored.id).map_err(Error::clone);
    *tried = Some(Tried {
        time: now,
        ids: stored.iter().map(id).collect(),
    });
    Ok(stored)
}

/// Adds messages, and gives their ids. A server reserves those of one statement at once, one after the other; but where
/// it leaves ids to others, as nodes of a cluster do, how many may change meanwhile.
async fn add(
    transaction: &mut Transaction<'_>,
    now: NaiveDateTime,
    messages: &[&Message],
    step: u64,
) -> Result<Vec<u32>> {
    let at_once = if step == 1 { messages.len() } else { 1 };
    let mut ids = Vec::with_capacity(messages.len());
    for messages in messages.chunks(at_once.max(1)) {
        let mut query = Builder::new(ADD_MESSAGE, params![]);
        for (number, message) in messages.iter().enumerate() {
            query.add(if number == 0 { "" } else { AND_MESSAGE }, message.params(now));
        }
        let (sql, params) = query.finish();
        let first = u32::try_from(transaction.execute(sql, params).await?.insert_id).unwrap_or_default();
        ids.extend((first..).take(messages.len()));
    }
    Ok(ids)
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
