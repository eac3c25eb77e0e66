//! Signs: rows of the outbox that are delivered from the beginning. They hold ids only; what they are about is read when
//! they are found, so that it is told as it is then.

use chrono::NaiveDateTime;

use crate::contract::error::Result;
use crate::contract::{Value, json};
use crate::functions::events::ids_in;
use crate::functions::realtime;
use crate::params;
use crate::platform::Context;
use crate::platform::db::{Param, Transaction};
use crate::platform::outbox;

const LEAVE: &str = "
    INSERT INTO sb_outbox (channel, event, payload, state, next_try, created)
    VALUES ('feed', ?, ?, 2, ?, ?)";

/// What clients know a new message by.
pub(crate) const NEW_MESSAGE: &str = "message";

/// What happened, under the name that the feed knows it by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    ConversationAssigned,
    ConversationCreated,
    ConversationDepartment,
    ConversationRating,
    ConversationStatus,
    MessageDeleted,
    MessageUpdated,
    MessagesRead,
    NoteCreated,
    Typing,
    UserCreated,
    UserDeleted,
    UserUpdated,
}

impl Sign {
    const ALL: [Self; 13] = [
        Self::ConversationAssigned,
        Self::ConversationCreated,
        Self::ConversationDepartment,
        Self::ConversationRating,
        Self::ConversationStatus,
        Self::MessageDeleted,
        Self::MessageUpdated,
        Self::MessagesRead,
        Self::NoteCreated,
        Self::Typing,
        Self::UserCreated,
        Self::UserDeleted,
        Self::UserUpdated,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::ConversationAssigned => "conversation.assigned",
            Self::ConversationCreated => "conversation.created",
            Self::ConversationDepartment => "conversation.department",
            Self::ConversationRating => "conversation.rating",
            Self::ConversationStatus => "conversation.status",
            Self::MessageDeleted => "message.deleted",
            Self::MessageUpdated => "message.updated",
            Self::MessagesRead => "message.read",
            Self::NoteCreated => "note.created",
            Self::Typing => "typing",
            Self::UserCreated => "user.created",
            Self::UserDeleted => "user.deleted",
            Self::UserUpdated => "user.updated",
        }
    }

    /// The sign of a name. New messages have none: they are found by themselves.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sign| sign.name() == name)
    }

    /// Whether it tells of a message, which is told as it is now.
    pub(crate) const fn is_of_message(self) -> bool {
        matches!(self, Self::MessageUpdated | Self::MessageDeleted)
    }

    /// Whether only agents hear of it, though it is about somebody's conversation.
    pub(crate) const fn is_internal(self) -> bool {
        matches!(self, Self::NoteCreated)
    }
}

/// Leaves a sign in the transaction of what it is about.
pub(crate) async fn leave(
    transaction: &mut Transaction<'_>,
    now: NaiveDateTime,
    sign: Sign,
    data: &Value,
) -> Result<()> {
    transaction.execute(LEAVE, row(now, sign, data)).await.map(drop)
}

/// Leaves a sign of something that is written already and is soon forgotten: who types, who has read what. That it fails
/// is no failure of the write.
pub(crate) async fn tell(cx: &Context<'_>, sign: Sign, data: &Value) {
    let _ = leave_alone(cx, sign, data).await;
    realtime::pass(cx, sign.name(), data).await;
}

async fn leave_alone(cx: &Context<'_>, sign: Sign, data: &Value) -> Result<()> {
    let database = cx.database()?;
    if database.has(outbox::TABLE).await? {
        database.execute(LEAVE, row(cx.now(), sign, data)).await?;
        cx.after_commit(Vec::new());
    }
    Ok(())
}

fn row(now: NaiveDateTime, sign: Sign, data: &Value) -> Vec<Param> {
    let ids = json::encode(&Value::Map(ids_in(data)));
    params![sign.name(), ids, now, now]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart() {
        for sign in Sign::ALL {
            assert_eq!(Sign::named(sign.name()), Some(sign));
        }
        assert_eq!(Sign::named(NEW_MESSAGE), None);
    }
}
