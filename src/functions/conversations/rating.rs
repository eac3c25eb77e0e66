//! Ratings: row `ratings` of the settings, conversation id → {rating, agent_id, user_id, message, creation_time}.
//!
//! Older ratings are in the payloads of messages, where they count as long as the row knows nothing of the conversation.

use std::collections::BTreeMap;

use super::changing::lock;
use super::editing::{self, Change};
use crate::contract::args::{Argument, Items, field};
use crate::contract::error::{Code, Result};
use crate::contract::ids::{ConversationId, MessageId, UserId};
use crate::contract::value::at;
use crate::contract::{Key, Map, Value, json};
use crate::functions::events::{Event, Followers};
use crate::params;
use crate::platform::Context;
use crate::platform::db::OnUnknown;

const ROW: &str = "ratings";

/// Who is rated: the agent of the conversation, or who answered last.
const RATED: &str = "
    SELECT COALESCE(c.agent_id, (
        SELECT m.user_id
        FROM sb_messages m
        JOIN sb_users u ON u.id = m.user_id
        WHERE m.conversation_id = c.id AND u.user_type IN ('agent', 'admin')
        ORDER BY m.id DESC
        LIMIT 1))
    FROM sb_conversations c
    WHERE c.id = ?";

/// Older ratings of an agent, by the key on the conversations' agent.
const IN_PAYLOADS: &str = r#"
    SELECT m.conversation_id, m.payload
    FROM sb_conversations c
    JOIN sb_messages m ON m.conversation_id = c.id
    WHERE c.agent_id = ? AND m.payload LIKE '%"rating"%'
    ORDER BY m.id"#;

/// Rates a conversation, in place of a rating that it has, and changes the message that asked for it.
pub(super) async fn set_rating(
    cx: &Context<'_>,
    settings: Map,
    payload: Map,
    message_id: Option<MessageId>,
    message: Option<String>,
    user_id: Option<UserId>,
) -> Result<bool> {
    let mut settings = match at(&settings, "settings").cloned().and_then(Map::from_value) {
        Some(within) => within,
        None => settings,
    };
    let conversation: Option<ConversationId> = field(&mut settings, "conversation_id")?;
    let conversation = conversation.ok_or(Code::ConversationNotFound)?;
    let rating = settings.shift_remove(&Key::from("rating"));
    let rating = rating
        .filter(|rating| !i64::is_absent(rating))
        .and_then(i64::from_value);
    let Some(rating @ (0 | 1)) = rating else {
        return Err(Code::InvalidRating.into());
    };
    let change = Change::of(message.clone(), Items(Vec::new()), payload)?;
    let restricted_to = cx.restricted_user().await?;
    let followers = Followers::of(cx).await?;
    let recorded = cx
        .database()?
        .transaction(OnUnknown::Repeat, async |transaction| {
            let owner = lock(transaction, conversation, restricted_to).await?;
            let mut recorded = Vec::new();
            if let Some(message_id) = message_id {
                let (of, _) = editing::lock(transaction, message_id).await?;
                if of != conversation {
                    return Err(Code::MessageNotFound.into());
                }
                let place = (conversation, message_id);
                recorded = editing::apply(transaction, &followers, place, &change, Event::MessageUpdated).await?;
            }
            let rated: Option<(Option<u32>,)> = transaction.row(RATED, params![conversation]).await?;
            let agent = rated.and_then(|(agent,)| agent).map(UserId::from);
            let mut entry = vec![
                ("rating", Value::Int(rating)),
                ("agent_id", agent.map_or(Value::Null, Value::from)),
                ("user_id", user_id.unwrap_or(owner).into()),
            ];
            entry.extend(message.as_deref().map(|message| ("message", message.into())));
            let time = cx.now().format("%Y-%m-%d %H:%M:%S").to_string();
            entry.push(("creation_time", time.into()));
            let mut ratings = Map::from_value(transaction.locked_row(ROW).await?).unwrap_or_default();
            ratings.insert(key_of(conversation.number()), Value::map(entry.clone()));
            transaction
                .put_rows(&BTreeMap::from([(ROW.to_owned(), ratings.into())]))
                .await?;
            let data = || Value::map([("conversation_id", conversation.into())].into_iter().chain(entry));
            recorded.extend(followers.record(transaction, Event::Rating, data).await?);
            Ok(recorded)
        })
        .await?;
    cx.after_commit(recorded);
    Ok(true)
}

/// How often an agent was rated well, and how often not.
pub(super) async fn get_rating(cx: &Context<'_>, user_id: UserId) -> Result<Value> {
    let ratings = cx.stored(ROW).await?.and_then(Map::from_value).unwrap_or_default();
    let older: Vec<(u32, Vec<u8>)> = cx.database()?.rows(IN_PAYLOADS, params![user_id]).await?;
    let is_own = |entry: &Value| {
        let agent = entry.get(&"agent_id".into()).cloned();
        user_id.is_some() && agent.and_then(UserId::from_value) == Some(user_id)
    };
    let of_row = ratings.values().filter(|entry| is_own(entry)).filter_map(rating_within);
    let of_payloads: BTreeMap<u32, i64> = older
        .into_iter()
        .filter(|(conversation, _)| !ratings.contains_key(&key_of(*conversation)))
        .filter_map(|(conversation, payload)| Some((conversation, rating_within(&json::decode(&payload)?)?)))
        .collect();
    let (positive, negative): (Vec<i64>, Vec<i64>) =
        of_row.chain(of_payloads.into_values()).partition(|rating| *rating == 1);
    let count = |ratings: Vec<i64>| Value::Int(i64::try_from(ratings.len()).unwrap_or(i64::MAX));
    Ok(Value::List(vec![count(positive), count(negative)]))
}

fn key_of(conversation: u32) -> Key {
    Key::Int(conversation.into())
}

/// The rating in what a message or an entry holds, however deep: 1, or for a negative one 0, older also -1.
fn rating_within(value: &Value) -> Option<i64> {
    let map = match value {
        Value::Map(map) => map,
        Value::List(items) => return items.iter().find_map(rating_within),
        _ => return None,
    };
    let own = at(map, "rating").filter(|rating| !i64::is_absent(rating)).cloned();
    own.and_then(i64::from_value)
        .filter(|rating| matches!(rating, -1..=1))
        .or_else(|| map.values().find_map(rating_within))
}
