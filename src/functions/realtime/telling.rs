//! What the push service is told of what happened.
//!
//! The outbox holds ids only. What they stand for is read when it is told, so that it is what is so then: a message as
//! it is now, for those whose conversation it is in.

use super::channels::Channel;
use crate::contract::args::Argument;
use crate::contract::error::Result;
use crate::contract::ids::{ConversationId, MessageId, UserId};
use crate::contract::value::{Map, at};
use crate::contract::{Value, json};
use crate::functions::events::ids_in;
use crate::functions::feed::{NEW_MESSAGE, Sign};
use crate::params;
use crate::platform::Context;
use crate::platform::outbox;
use crate::platform::outbox::{Delivery, Recorded};
use crate::platform::records::{self, MESSAGE};
use crate::providers::realtime::{Application, DATA_LIMIT, Keys};

const FIND_MESSAGE: &str = "
    SELECT m.id, m.user_id, m.message, m.creation_time, m.attachments, m.status_code, m.payload, m.conversation_id,
        u.first_name, u.last_name, u.profile_image, u.user_type
    FROM sb_messages m
    JOIN sb_users u ON u.id = m.user_id
    WHERE m.id = ?";

const OWNER: &str = "
    SELECT user_id
    FROM sb_conversations
    WHERE id = ?";

/// Texts and lists of an event that is too long go when they are longer than this in JSON.
const SHORT: usize = 300;

/// Something to tell.
struct News {
    channels: Vec<Channel>,
    data: Map,
}

/// An event as the outbox keeps it.
pub(crate) fn delivery(event: &str, data: &Value) -> Delivery {
    Delivery {
        channel: outbox::Channel::Realtime,
        event: event.to_owned(),
        target: None,
        payload: Value::Map(ids_in(data)),
    }
}

/// Tells the service at the end of the request of what is soon forgotten: who types, who has read what. That it fails is
/// no failure of the write.
pub(crate) async fn pass(cx: &Context<'_>, event: &str, data: &Value) {
    let Ok(settings) = cx.settings().await else { return };
    if Keys::of(&settings).is_some() {
        cx.after_commit(vec![Recorded::passing(delivery(event, data))]);
    }
}

/// Tells the service of what waits in the outbox.
pub(crate) async fn deliver(cx: &Context<'_>, delivery: &Delivery) -> Result<()> {
    if Keys::of(cx.settings().await?.as_ref()).is_none() {
        // Switched off since.
        return Ok(());
    }
    let data = Map::from_value(delivery.payload.clone()).unwrap_or_default();
    let Some(news) = news(cx, &delivery.event, data).await? else {
        // It is gone since.
        return Ok(());
    };
    let channels: Vec<String> = news.channels.into_iter().map(Channel::name).collect();
    Application::of(cx)
        .await?
        .trigger(&channels, &delivery.event, &fitting(news.data).into())
        .await
}

async fn news(cx: &Context<'_>, event: &str, mut data: Map) -> Result<Option<News>> {
    let sign = Sign::named(event);
    if event == NEW_MESSAGE || sign.is_some_and(Sign::is_of_message) {
        let id = id_in::<MessageId>(&data, "message_id");
        let message = cx.database()?.records(FIND_MESSAGE, params![id], MESSAGE).await?;
        let Some(message) = records::messages(message).rows().next() else {
            return Ok(None);
        };
        data = message;
    }
    let mut channels = vec![Channel::Agents];
    let conversation = id_in::<ConversationId>(&data, "conversation_id");
    if let Some(conversation) = conversation.filter(|_| !sign.is_some_and(Sign::is_internal)) {
        let Some(owner) = owner_of(cx, conversation).await? else {
            return Ok(None);
        };
        channels.extend([Channel::Conversation(conversation), Channel::User(owner)]);
    }
    Ok(Some(News { channels, data }))
}

/// Whose a conversation is.
pub(super) async fn owner_of(cx: &Context<'_>, conversation: ConversationId) -> Result<Option<UserId>> {
    let owner: Option<(u32,)> = cx.database()?.row(OWNER, params![conversation]).await?;
    Ok(owner.map(|(owner,)| owner.into()))
}

fn id_in<T: Argument>(data: &Map, name: &'static str) -> Option<T> {
    T::from_value(at(data, name)?.clone())
}

/// What is too long for the service goes without its long parts, and says so: those who hear of it can ask for the rest.
fn fitting(mut data: Map) -> Map {
    let length = |value: &Value| json::encode(value).len();
    if length(&data.clone().into()) > DATA_LIMIT {
        data.retain(|_, value| length(value) <= SHORT);
        data.insert("truncated".into(), true.into());
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outbox_keeps_ids_only() {
        let data = Value::map([
            ("conversation_id", Value::from("1")),
            ("id", 7.into()),
            ("user_id", "2".into()),
            ("name", "Ben".into()),
            ("message", "internal".into()),
            ("email", "ben@support.example".into()),
            ("department", Value::Null),
        ]);
        let delivery = delivery(Sign::NoteCreated.name(), &data);
        assert_eq!(
            json::encode(&delivery.payload),
            r#"{"conversation_id":"1","department":null,"id":7,"user_id":"2"}"#
        );
    }

    #[test]
    fn what_is_too_long_goes_without_its_long_parts() {
        let data = |length: usize| -> Map {
            let entries = [("id", Value::from("1")), ("message", "x".repeat(length).into())];
            entries.into_iter().map(|(name, value)| (name.into(), value)).collect()
        };
        assert_eq!(fitting(data(10_000)), data(10_000));
        let cut = fitting(data(10_240));
        assert_eq!(json::encode(&cut.into()), r#"{"id":"1","truncated":true}"#);
    }
}
