//! Sending a message: one transaction that nothing doubles and nothing loses. Messages that a thread is asked to store at
//! the same time, and that nobody is told of elsewhere, share one; where a thread has but one thing to do at a time there
//! are no such.

use std::cell::RefCell;
use std::rc::Rc;
use std::slice;

use super::routing::Routing;
use super::storing::{Decision, Lock, Message, NewMessage, Once, Sent, Stored, Tried, store_all};
use super::telling::{Audience, Telling};
use crate::contract::args::{Items, StatusCode};
use crate::contract::error::{Code, Error, Result};
use crate::contract::ids::{ConversationId, UserId};
use crate::contract::status::{ConversationStatus, UserType};
use crate::contract::{Map, Value};
use crate::functions::events::{Event, Followers};
use crate::functions::notifications::Told;
use crate::params;
use crate::platform::Context;
use crate::platform::db::{OnUnknown, Settings, Transaction};
use crate::platform::outbox::Recorded;
use crate::platform::together::Together;

/// Typing ends with the message. Kept out of its transaction, and written only where it changes something.
const STOP_TYPING: &str = "
    UPDATE sb_users
    SET typing = -1, last_activity = ?
    WHERE id = ?";

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
    /// It is not stored, for a reason that may be another's, or passes: it is to be stored alone.
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

impl Done {
    /// What follows a message that is stored.
    fn of(message: &Message, stored: &Stored) -> Self {
        let decision = stored.decision.as_ref();
        Self {
            sent: message.sent(stored.id, stored.time),
            routable: decision.is_some_and(Decision::is_routable),
            presence_is_stale: decision.is_some_and(|decision| decision.author.presence_is_stale),
            recorded: Vec::new(),
        }
    }
}

impl Way<'_> {
    /// Stores a message.
    async fn store(&self, message: Message) -> Result<Done> {
        let database = self.cx.database()?;
        let message = if database.is_alone() || self.telling.is_some() || self.followers.want_messages() {
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
        let mut done = database
            .transaction(OnUnknown::Repeat, async |transaction| {
                self.store_one(transaction, &message, &mut tried).await
            })
            .await?;
        self.cx.after_commit(std::mem::take(&mut done.recorded));
        Ok(done)
    }

    /// Stores messages that nobody is told of elsewhere in one transaction. It waits for no conversation that somebody
    /// else has locked: all the other messages would wait too.
    async fn store_together(&self, messages: Vec<Message>) -> Vec<Fate> {
        let mut tried = None;
        let result = async {
            let unit = async |transaction: &mut Transaction<'_>| {
                store_all(transaction, self.cx.now(), &messages, Lock::WhoeverIsFree, &mut tried).await
            };
            self.cx.database()?.transaction(OnUnknown::Repeat, unit).await
        };
        match result.await {
            Ok(stored) => {
                self.cx.after_commit(Vec::new());
                let fate = |(message, stored): (Message, Result<Stored>)| match stored {
                    Err(Error::Code(Code::ConversationNotFound)) => Fate::Alone(message),
                    stored => Fate::Done(stored.map(|stored| Done::of(&message, &stored))),
                };
                messages.into_iter().zip(stored).map(fate).collect()
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
        let lock = if self.telling.is_some() {
            Lock::WithPlace
        } else {
            Lock::All
        };
        let stored = store_all(transaction, now, slice::from_ref(message), lock, tried).await?;
        let stored = stored
            .into_iter()
            .next()
            .unwrap_or_else(|| Err(Code::ConversationNotFound.into()))?;
        let mut done = Done::of(message, &stored);
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
