//! Sending a message: one transaction that nothing doubles and nothing loses. Messages that a thread is asked to store at
//! the same time, and that nobody is told of elsewhere, share one.

use std::cell::RefCell;
use std::rc::Rc;
use std::slice;

use chrono::{NaiveDateTime, TimeDelta};

use super::routing::Routing;
use super::telling::{Audience, Place, Telling};
use crate::contract::args::{self, Items, StatusCode};
use crate::contract::error::{Code, Error, Result};
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
use crate::platform::db::{Builder, OnUnknown, Param, Settings, Transaction};
use crate::platform::idempotency::Repeatable;
use crate::platform::outbox::Recorded;
use crate::platform::together::Together;

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
struct Message {
    sender: UserId,
    conversation: ConversationId,
    text: String,
    attachments: String,
    payload: String,
    status: StatusCode,
    /// The active user, if it may only touch its own conversations.
    restricted_to: Option<UserId>,
    once: Option<Once>,
}

/// The way of messages into the database, and of the news of them to others.
struct Way<'a> {
    cx: &'a Context<'a>,
    followers: Followers<'a>,
    telling: Option<Telling<'a>>,
}

/// What has become of a message that was to be stored together with others.
enum Fate {
    /// It is stored, or refused.
    Done(Result<Done>),
    /// Nothing is stored, for a reason that may be another's: it is to be stored alone.
    Alone(Message),
}

/// How many messages one transaction stores. What is known of their authors comes as one text, of which MySQL gives 1,024
/// bytes.
const TOGETHER: usize = 16;

type Gathering = Together<Message, Fate>;

thread_local! {
    /// Where the messages for a database gather: the one that was written to last.
    static GATHERING: RefCell<Option<(Rc<Settings>, Gathering)>> = const { RefCell::new(None) };
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

/// What is known before messages are stored.
struct Known {
    places: Vec<(ConversationId, Place)>,
    authors: Vec<(UserId, Author)>,
    /// From each id that the server gives to the next.
    step: u64,
}

/// Who writes.
#[derive(Debug, Clone, Copy)]
struct Author {
    /// None for one that the library does not know.
    user_type: Option<UserType>,
    /// Whether it is typing, or was seen too long ago.
    presence_is_stale: bool,
}

/// Where a message goes, by whom, and what becomes of the conversation.
struct Decision {
    place: Place,
    author: Author,
    next: Option<ConversationStatus>,
}

/// A message in the table; of one that an earlier try has stored nothing else is known.
struct Stored {
    id: u32,
    time: NaiveDateTime,
    decision: Option<Decision>,
}

/// What a try has added, or refused, in case its outcome is not known.
struct Tried {
    time: NaiveDateTime,
    ids: Vec<Result<u32>>,
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
    let cells = [
        "success".into(),
        Value::Int(sent.id.number().into()),
        sent.waits.into(),
        Value::List(notifications.collect()),
    ];
    Ok(Value::record(
        &["status", "message-id", "queue", "notifications"],
        cells,
    ))
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
        let way = Way {
            cx: self.cx,
            followers,
            telling: self.telling.clone(),
        };
        way.store_one(transaction, &Message::of(message)?, &mut None).await
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
    let way = Way {
        cx,
        followers: Followers::of(cx).await?,
        telling: Telling::of(cx, audience).await?,
    };
    let message = Message {
        restricted_to: cx.restricted_user().await?,
        once,
        ..Message::of(message)?
    };
    let sender = message.sender;
    let done = way.store(message).await?;
    if done.presence_is_stale {
        // The message is stored, and a failure of this would be answered by sending it again.
        let _ = database.execute(STOP_TYPING, params![cx.now(), sender]).await;
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

impl Message {
    /// A message that can be stored, of whoever it is of.
    fn of(message: NewMessage) -> Result<Self> {
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

    fn sent(&self, id: u32, time: NaiveDateTime) -> Sent {
        Sent {
            id: id.into(),
            conversation: self.conversation,
            time,
            waits: false,
            notifications: Vec::new(),
        }
    }

    fn done(&self, stored: &Stored) -> Done {
        let decision = stored.decision.as_ref();
        Done {
            sent: self.sent(stored.id, stored.time),
            routable: decision.is_some_and(Decision::is_routable),
            presence_is_stale: decision.is_some_and(|decision| decision.author.presence_is_stale),
            recorded: Vec::new(),
        }
    }

    /// Whether there is something to be told of.
    fn has_content(&self) -> bool {
        !(self.text.is_empty() && self.attachments.is_empty())
    }

    /// What followers get to know of it.
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
}

impl Decision {
    fn is_routable(&self) -> bool {
        self.author.user_type.is_some_and(UserType::is_customer) && self.next != Some(ConversationStatus::Trash)
    }
}

impl Known {
    /// Locks the conversations of messages; `with_place` also asks what telling somebody of them takes.
    async fn locked(
        transaction: &mut Transaction<'_>,
        now: NaiveDateTime,
        messages: &[Message],
        with_place: bool,
    ) -> Result<Self> {
        let mut query = Builder::new(CONVERSATIONS, params![]);
        query.add(if messages.len() == 1 { ITS_AUTHOR } else { THEIR_AUTHORS }, params![]);
        query.list(messages.iter().map(|message| message.sender));
        if with_place {
            query.add(WITH_PLACE, params![now - ONLINE_FOR]);
        } else {
            query.add(WITHOUT_PLACE, params![]);
        }
        query
            .add(AMONG, params![])
            .list(messages.iter().map(|message| message.conversation))
            .add(LOCKED, params![]);
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

/// Stores messages in a transaction, each unless it is refused. `tried` keeps what an earlier run has done.
async fn store_all(
    transaction: &mut Transaction<'_>,
    now: NaiveDateTime,
    messages: &[Message],
    with_place: bool,
    tried: &mut Option<Tried>,
) -> Result<Vec<Result<Stored>>> {
    if transaction.may_be_done()
        && let Some(tried) = tried
        && let Some(stored) = tried.found(transaction, messages).await?
    {
        return Ok(stored);
    }
    let mut known = Known::locked(transaction, now, messages, with_place).await?;
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

impl Way<'_> {
    /// Stores a message.
    async fn store(&self, message: Message) -> Result<Done> {
        let message = if self.telling.is_some() || self.followers.want_messages() {
            message
        } else {
            let gathering = gathering(&self.cx.configuration()?.database);
            let work = async |messages| self.store_together(messages).await;
            match gathering.run(message, TOGETHER, work).await {
                Some(Fate::Done(result)) => return result,
                Some(Fate::Alone(message)) => message,
                None => {
                    let message = "the request that stored this message with its own was broken off: it may be stored";
                    return Err(Error::Internal(message.into()));
                }
            }
        };
        let mut tried = None;
        let database = self.cx.database()?;
        let mut done = database
            .transaction(OnUnknown::Repeat, async |transaction| {
                self.store_one(transaction, &message, &mut tried).await
            })
            .await?;
        self.cx.after_commit(std::mem::take(&mut done.recorded));
        Ok(done)
    }

    /// Stores messages that nobody is told of elsewhere in one transaction.
    async fn store_together(&self, messages: Vec<Message>) -> Vec<Fate> {
        let mut tried = None;
        let result = async {
            let unit = async |transaction: &mut Transaction<'_>| {
                store_all(transaction, self.cx.now(), &messages, false, &mut tried).await
            };
            self.cx.database()?.transaction(OnUnknown::Repeat, unit).await
        };
        match result.await {
            Ok(stored) => {
                self.cx.after_commit(Vec::new());
                let done = |(message, stored): (&Message, Result<Stored>)| {
                    Fate::Done(stored.map(|stored| message.done(&stored)))
                };
                messages.iter().zip(stored).map(done).collect()
            }
            Err(error) if messages.len() == 1 || error.outcome_is_unknown() => {
                messages.iter().map(|_| Fate::Done(Err(error.clone()))).collect()
            }
            Err(_) => messages.into_iter().map(Fate::Alone).collect(),
        }
    }

    /// Stores a message in a transaction, and records there who is told of it.
    async fn store_one(
        &self,
        transaction: &mut Transaction<'_>,
        message: &Message,
        tried: &mut Option<Tried>,
    ) -> Result<Done> {
        let now = self.cx.now();
        let with_place = self.telling.is_some();
        let stored = store_all(transaction, now, slice::from_ref(message), with_place, tried).await?;
        let stored = stored
            .into_iter()
            .next()
            .unwrap_or_else(|| Err(Code::ConversationNotFound.into()))?;
        let mut done = message.done(&stored);
        let Some(Decision { place, author, next }) = &stored.decision else {
            return Ok(done);
        };
        let event = if author.user_type == Some(UserType::Bot) {
            Event::BotMessage
        } else {
            Event::MessageSent
        };
        let data = || message.event_data(stored.id, place.owner, *next);
        done.recorded = self.followers.record(transaction, event, data).await?;
        if let Some(telling) = &self.telling
            && message.has_content()
            && *next != Some(ConversationStatus::Trash)
        {
            let author = (message.sender, author.user_type);
            let notification = || message.notification(stored.id);
            let told: Told = telling.tell(transaction, place, author, notification).await?;
            done.sent.notifications = told.ways;
            done.recorded.extend(told.recorded);
        }
        Ok(done)
    }
}

/// Where the messages for a database gather.
fn gathering(database: &Rc<Settings>) -> Gathering {
    GATHERING.with_borrow_mut(|last| match last {
        Some((own, gathering)) if own == database => gathering.clone(),
        _ => {
            let gathering = Gathering::default();
            *last = Some((Rc::clone(database), gathering.clone()));
            gathering
        }
    })
}
