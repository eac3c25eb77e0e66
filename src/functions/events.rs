//! Events: what happened, for whoever wants to follow it up: webhooks, by deliveries of the outbox, and the feed of the
//! HTTP API, by signs.

use crate::contract::args::{Argument, Texts};
use crate::contract::error::Result;
use crate::contract::value::{Key, Map, Value};
use crate::functions::feed::{self, Sign};
use crate::functions::realtime;
use crate::platform::Context;
use crate::platform::db::{OnUnknown, Transaction};
use crate::platform::outbox::{self, Channel, Delivery, Recorded};
use crate::providers::realtime::Keys;

/// What clients are told of an event besides a message. Texts, names and addresses are not.
const IDS: [&str; 10] = [
    "agent_id",
    "conversation_id",
    "conversation_status_code",
    "department",
    "id",
    "message_id",
    "rating",
    "status_code",
    "user_id",
    "user_ids",
];

/// What clients are told of an event besides a message.
pub(super) fn ids_in(data: &Value) -> Map {
    let ids = IDS.map(Key::from).into_iter().filter_map(|key| {
        let value = data.get(&key)?.clone();
        Some((key, value))
    });
    ids.collect()
}

/// Something that happened, under the name that webhooks know it by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// A user was added.
    UserCreated,
    /// An account or a detail was changed.
    UserUpdated,
    /// Users were deleted.
    UserDeleted,
    /// A user logged in.
    Login,
    /// A person wrote a message.
    MessageSent,
    /// The bot wrote a message.
    BotMessage,
    /// A message was changed.
    MessageUpdated,
    /// A message was deleted.
    MessageDeleted,
    /// A conversation was opened.
    NewConversation,
    /// A conversation's status was set.
    ConversationStatusUpdated,
    /// A conversation was given to an agent.
    ConversationAssigned,
    /// A conversation was moved to another department.
    DepartmentUpdated,
    /// Somebody rated a conversation.
    Rating,
    /// An agent wrote an internal note.
    NoteAdded,
    /// Somebody rated an article.
    ArticleRating,
    /// An automation ran.
    AutomationRun,
    /// An e-mail was handed to the mail server.
    EmailSent,
    /// An e-mail became a message.
    EmailReceived,
    /// A notification was handed to the push service.
    PushSent,
    /// A text message was handed to its service.
    SmsSent,
}

impl Event {
    const fn name(self) -> &'static str {
        match self {
            Self::UserCreated => "user-created",
            Self::UserUpdated => "user-updated",
            Self::UserDeleted => "user-deleted",
            Self::Login => "login",
            Self::MessageSent => "message-sent",
            Self::BotMessage => "bot-message",
            Self::MessageUpdated => "message-updated",
            Self::MessageDeleted => "message-deleted",
            Self::NewConversation => "new-conversation",
            Self::ConversationStatusUpdated => "conversation-status-updated",
            Self::ConversationAssigned => "conversation-assigned",
            Self::DepartmentUpdated => "department-updated",
            Self::Rating => "rating",
            Self::NoteAdded => "note-added",
            Self::ArticleRating => "article-rating",
            Self::AutomationRun => "automation-run",
            Self::EmailSent => "email-sent",
            Self::EmailReceived => "email-received",
            Self::PushSent => "push-sent",
            Self::SmsSent => "sms-sent",
        }
    }

    /// The sign that it leaves for the feed, if it is the clients' to know. New messages leave none: they are found by
    /// themselves.
    const fn sign(self) -> Option<Sign> {
        Some(match self {
            Self::UserCreated => Sign::UserCreated,
            Self::UserUpdated => Sign::UserUpdated,
            Self::UserDeleted => Sign::UserDeleted,
            Self::MessageUpdated => Sign::MessageUpdated,
            Self::MessageDeleted => Sign::MessageDeleted,
            Self::NewConversation => Sign::ConversationCreated,
            Self::ConversationStatusUpdated => Sign::ConversationStatus,
            Self::ConversationAssigned => Sign::ConversationAssigned,
            Self::DepartmentUpdated => Sign::ConversationDepartment,
            Self::Rating => Sign::ConversationRating,
            Self::NoteAdded => Sign::NoteCreated,
            Self::MessageSent
            | Self::BotMessage
            | Self::Login
            | Self::ArticleRating
            | Self::AutomationRun
            | Self::EmailSent
            | Self::EmailReceived
            | Self::PushSent
            | Self::SmsSent => return None,
        })
    }

    /// The name that clients know it by, if it is theirs to know.
    fn name_for_clients(self) -> Option<&'static str> {
        match self {
            Self::MessageSent | Self::BotMessage => Some(feed::NEW_MESSAGE),
            _ => self.sign().map(Sign::name),
        }
    }
}

/// Who follows events up, as the settings say, and where what they get is recorded. Asked before a transaction begins,
/// so that nothing is asked within it.
#[derive(Clone)]
pub(crate) struct Followers<'a> {
    cx: &'a Context<'a>,
    has_table: bool,
    webhooks: Option<Vec<String>>,
    realtime: bool,
}

impl<'a> Followers<'a> {
    /// Reads the settings, and looks for the table.
    pub(super) async fn of(cx: &'a Context<'a>) -> Result<Self> {
        let settings = cx.settings().await?;
        let webhooks = (settings.is_on("webhooks-active") && settings.text("webhooks-url").is_some()).then(|| {
            let allowed = settings.value("webhooks-allowed").and_then(Texts::from_value);
            allowed.map_or_else(Vec::new, |Texts(events)| events)
        });
        let realtime = Keys::of(&settings).is_some();
        Ok(Self {
            cx,
            has_table: cx.database()?.has(outbox::TABLE).await?,
            webhooks,
            realtime,
        })
    }

    /// Records an event in the transaction that makes it happen. What it gives is to be handed to
    /// [`Context::after_commit`].
    pub(super) async fn record(
        &self,
        transaction: &mut Transaction<'_>,
        event: Event,
        data: impl FnOnce() -> Value,
    ) -> Result<Vec<Recorded>> {
        let sign = event.sign().filter(|_| self.has_table);
        if sign.is_none() && !self.want(event) {
            return Ok(Vec::new());
        }
        let data = data();
        if let Some(sign) = sign {
            feed::leave(transaction, self.cx.now(), sign, &data).await?;
        }
        let mut deliveries = Vec::new();
        // Whoever looks at the conversation waits for it.
        deliveries.extend(self.for_clients(event).map(|name| realtime::delivery(name, &data)));
        if self.is_for_webhooks(event) {
            deliveries.push(Delivery {
                channel: Channel::Webhook,
                event: event.name().to_owned(),
                target: None,
                payload: data,
            });
        }
        outbox::record(transaction, self.has_table, self.cx.now(), deliveries).await
    }

    /// Whether anybody follows messages up.
    pub(super) fn want_messages(&self) -> bool {
        self.want(Event::MessageSent) || self.want(Event::BotMessage)
    }

    /// Whether anybody follows it up.
    fn want(&self, event: Event) -> bool {
        self.is_for_webhooks(event) || self.for_clients(event).is_some()
    }

    fn is_for_webhooks(&self, event: Event) -> bool {
        let wanted = |allowed: &Vec<String>| allowed.is_empty() || allowed.iter().any(|own| own == event.name());
        self.webhooks.as_ref().is_some_and(wanted)
    }

    /// The name under which the push service is told.
    fn for_clients(&self, event: Event) -> Option<&'static str> {
        event.name_for_clients().filter(|_| self.realtime)
    }
}

/// Records an event that comes with no write of its own.
pub(super) async fn announce(cx: &Context<'_>, event: Event, data: impl Fn() -> Value) -> Result<()> {
    let followers = Followers::of(cx).await?;
    if followers.want(event) {
        let recorded = cx
            .database()?
            .transaction(OnUnknown::Report, async |transaction| {
                followers.record(transaction, event, &data).await
            })
            .await?;
        cx.after_commit(recorded);
    }
    Ok(())
}
