//! Messages: sending them, and reading those of a conversation.

use chrono::NaiveDateTime;
use serde_json::{Value as Json, json};

use super::answer::Answer;
use super::failure::Failure;
use super::fields::{Attachments, Field, Fields, Limit, Text, fields, required};
use super::repeats::{Turn, turn};
use super::routes::Call;
use crate::contract::args::StatusCode;
use crate::contract::error::Code;
use crate::contract::ids::{ConversationId, MessageId, UserId};
use crate::contract::{Error, Map, Records, Value};
use crate::functions::conversations::{self, Once, Sent};
use crate::platform::idempotency;

fields! {
    /// A message to send.
    NewMessage {
        /// The conversation that it goes to.
        conversation_id: ConversationId,
        /// The author.
        user_id: UserId,
        /// The text, up to 65,535 bytes of UTF-8.
        message: Option<Text<65_535>>,
        /// Files that are already uploaded: [name, link] or {"name", "url"} each.
        attachments: Attachments,
    }
}

fields! {
    /// Which messages of a conversation are listed.
    MessageList {
        /// The messages after this one: next_cursor of the page before.
        after: Option<MessageId>,
        /// How many.
        limit: Limit,
    }
}

impl NewMessage {
    /// The schema of the body: it has a text, or attachments.
    // Assigning by index adds an entry to an object, and this one is made here.
    #[allow(clippy::indexing_slicing)]
    pub fn schema_of_either() -> Json {
        let mut schema = Self::schema();
        schema["anyOf"] = json!([
            {"required": ["message"], "properties": {"message": {"type": "string", "minLength": 1}}},
            {"required": ["attachments"], "properties": {"attachments": {"type": "array", "minItems": 1}}},
        ]);
        schema
    }
}

/// `POST /v1/messages`
pub async fn send(call: &Call<'_>) -> Result<Answer, Failure> {
    let body = call.incoming.object()?;
    let once = match turn(call, "POST /v1/messages", &body).await? {
        Turn::First(once) => once,
        Turn::Again(answer) => return Ok(answer),
    };
    let fields = NewMessage::read(body.clone())?;
    let text = fields.message.map_or_else(String::new, |text| text.0);
    if text.is_empty() && fields.attachments.0.0.is_empty() {
        return Err(Failure::of_fields(vec![required("message")]));
    }
    if let Some(access) = call.access {
        access.check_user(fields.user_id, "user_id")?;
    }
    let message = conversations::NewMessage {
        sender: fields.user_id,
        conversation: fields.conversation_id,
        text,
        attachments: fields.attachments.0,
        payload: Map::new(),
        status: StatusCode::NotGiven,
        queue: true,
    };
    let once = once.map(|request| Once {
        request,
        status: 200,
        answer: sent,
    });
    match conversations::send_once(call.cx, message, once).await {
        Ok(message) => Ok(Answer::text(200, "application/json", sent(&message))),
        Err(error) if idempotency::is_repeated(&error) => match turn(call, "POST /v1/messages", &body).await? {
            Turn::Again(answer) => Ok(answer),
            Turn::First(_) => Err(error.into()),
        },
        Err(error) => Err(refused(error)),
    }
}

/// The answer to a message that is sent.
fn sent(message: &Sent) -> String {
    let answer = Value::map([
        ("id", message.id.into()),
        ("status", "sent".into()),
        ("timestamp", timestamp(message.time).into()),
        ("conversation_id", message.conversation.into()),
    ]);
    crate::contract::json::encode(&answer)
}

/// A time as ISO 8601 has it, in UTC.
fn timestamp(time: NaiveDateTime) -> String {
    time.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn refused(error: Error) -> Failure {
    Failure::from_function(error, |code| match code {
        "conversation-not-found" => Some("conversation_id"),
        "user-not-found" => Some("user_id"),
        "too-long" | "empty-message" => Some("message"),
        "invalid-attachment" => Some("attachments"),
        _ => None,
    })
}

/// `GET /v1/conversations/{id}/messages`
pub async fn list(call: &Call<'_>) -> Result<Answer, Failure> {
    let fields = MessageList::read(call.incoming.parameters())?;
    let segment = Value::from(call.segment.unwrap_or_default());
    let conversation = ConversationId::read(segment).map_err(|_| refused(Code::ConversationNotFound.into()))?;
    let after = fields.after.unwrap_or(MessageId::NONE);
    let (messages, is_last) = conversations::messages_after(call.cx, conversation, after, fields.limit.0)
        .await
        .map_err(refused)?;
    Ok(page(messages, is_last))
}

/// A page of records, of which the first column is the cursor.
pub fn page(records: Records, is_last: bool) -> Answer {
    let last = records.cells().chunks_exact(records.columns().len().max(1)).next_back();
    let cursor = last.and_then(|cells| cells.first()).filter(|_| !is_last);
    let cursor = cursor.cloned().unwrap_or_default();
    Answer::json(200, &Value::map([("data", records.into()), ("next_cursor", cursor)]))
}
