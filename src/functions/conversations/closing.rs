//! The message that ends a conversation.

use super::sending::send;
use super::storing::NewMessage;
use crate::contract::args::{Items, StatusCode};
use crate::contract::error::Result;
use crate::contract::ids::{ConversationId, UserId};
use crate::contract::{Map, Value};
use crate::functions::users::get_bot_id;
use crate::platform::Context;

/// What is said where the settings have no words for it.
const GOODBYE: &str = "This conversation has been closed.";

/// Says goodbye as the bot, in the words of the settings.
pub(super) async fn close_message(
    cx: &Context<'_>,
    conversation_id: ConversationId,
    bot_id: Option<UserId>,
) -> Result<Value> {
    let text = cx.settings().await?.text("close-msg");
    let sender = match bot_id {
        Some(bot) => bot,
        None => get_bot_id(cx).await?,
    };
    let message = NewMessage {
        sender,
        conversation: conversation_id,
        text: text.unwrap_or_else(|| GOODBYE.to_owned()),
        attachments: Items(Vec::new()),
        payload: Map::new(),
        status: StatusCode::Skip,
        queue: false,
    };
    let sent = send(cx, message).await?;
    Ok(Value::map([
        ("status", "success".into()),
        ("message-id", Value::Int(sent.id.number().into())),
    ]))
}
