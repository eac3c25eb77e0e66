//! Asking the chatbot: what it answers is written to the conversation, once.

use std::time::Duration;

use secrecy::ExposeSecret;

use super::replies::{self, Reply};
use crate::contract::args::{Items, StatusCode};
use crate::contract::error::{Code, Result};
use crate::contract::ids::{ConversationId, UserId};
use crate::contract::{Map, Value, json};
use crate::functions::attachments;
use crate::functions::conversations::{NewMessage, send};
use crate::functions::users::get_bot_id;
use crate::params;
use crate::platform::Context;
use crate::platform::db::containing;
use crate::providers::chatbot::{Agent, Input};
use crate::providers::llm::LanguageModel;

const OWNER: &str = "
    SELECT user_id
    FROM sb_conversations
    WHERE id = ?";

/// Whether one of the newest messages came with a response. Few are looked at: the conversation may be long.
const ALREADY_WRITTEN: &str = "
    SELECT COUNT(*)
    FROM (
        SELECT payload
        FROM sb_messages
        WHERE conversation_id = ?
        ORDER BY id DESC
        LIMIT 50
    ) newest
    WHERE newest.payload LIKE ?";

/// How long someone who chats waits for the language model.
const MODEL_LIMIT: Duration = Duration::from_secs(20);

/// Asks the chatbot and writes what it answers.
pub(super) async fn chatbot_message(
    cx: &Context<'_>,
    conversation_id: ConversationId,
    message: String,
    token: Option<String>,
    language: Option<String>,
    attachments: Items,
    event: Option<String>,
    parameters: Map,
    project_id: Option<String>,
) -> Result<Value> {
    // Callers pass -1 for none.
    let token = token.filter(|token| token != "-1").map(Into::into);
    let agent = Agent::of(cx, project_id, token).await?;
    let attachments = attachments::pairs(attachments)?;
    let (input, payload) = said(&message, event, parameters, attachments)?;
    let owner: Option<(u32,)> = cx.database()?.row(OWNER, params![conversation_id]).await?;
    let (owner,) = owner.ok_or(Code::ConversationNotFound)?;
    cx.check_owner(UserId::from(owner)).await?;
    let response = agent
        .detect_intent(&session(conversation_id), input, language, payload)
        .await?;
    let replies = match answer_of_model(cx, &agent, &message, &response).await? {
        Some(answer) => vec![Reply::from_text(answer)],
        None => replies::of(&response),
    };
    write(cx, conversation_id, &response, &replies).await?;
    Ok(Value::map([
        ("token", agent.token().await?.expose_secret().into()),
        ("messages", Value::List(replies.iter().map(Reply::shown).collect())),
        ("response", response),
    ]))
}

/// The session of a conversation.
pub(super) fn session(conversation: ConversationId) -> String {
    format!("conversation-{}", conversation.number())
}

/// What is said to the agent, and what its web hook is told.
fn said(message: &str, event: Option<String>, parameters: Map, attachments: Vec<Value>) -> Result<(Input, Map)> {
    let mut payload = Map::new();
    let names = attachments
        .iter()
        .filter_map(|pair| pair.get(&0.into())?.as_str())
        .collect::<Vec<_>>()
        .join(", ");
    if !attachments.is_empty() {
        payload.insert("attachments".into(), attachments.into());
    }
    if let Some(event) = event {
        return Ok((Input::Event(event, parameters), payload));
    }
    if !parameters.is_empty() {
        payload.insert("parameters".into(), parameters.into());
    }
    // The agent takes no empty text.
    let text = if message.trim().is_empty() { &names } else { message };
    if text.trim().is_empty() {
        return Err(Code::EmptyMessage.into());
    }
    Ok((Input::Text(text.to_owned()), payload))
}

/// What the language model answers in the place of a chatbot that has no answer. When it has none either, what the
/// chatbot says to everything that it does not know is better than nothing.
async fn answer_of_model(
    cx: &Context<'_>,
    agent: &Agent<'_>,
    message: &str,
    response: &Value,
) -> Result<Option<String>> {
    let settings = cx.settings().await?;
    let Some(model) = settings.text("llm-model").filter(|_| settings.is_on("llm-fallback")) else {
        return Ok(None);
    };
    if message.trim().is_empty() || !has_no_answer(agent, response).await {
        return Ok(None);
    }
    let prompt = settings.text("llm-prompt");
    let answer = match LanguageModel::of(cx, MODEL_LIMIT).await {
        Ok(language_model) => language_model.answer(&model, prompt.as_deref(), message).await,
        Err(error) => Err(error),
    };
    Ok(answer.ok().flatten())
}

/// Whether the chatbot matched nothing, or is less sure than it says that it must be.
async fn has_no_answer(agent: &Agent<'_>, response: &Value) -> bool {
    let result = |name: &'static str| response.get(&"queryResult".into())?.get(&name.into());
    let Some(intent) = result("intent") else {
        return true;
    };
    if intent.get(&"isFallback".into()) == Some(&Value::Bool(true)) {
        return true;
    }
    let confidence = match result("intentDetectionConfidence") {
        Some(Value::Float(confidence)) => *confidence,
        Some(Value::Int(confidence)) if *confidence > 0 => 1.0,
        _ => 0.0,
    };
    // An agent that does not say it has judged for itself.
    agent.facts().await.is_ok_and(|facts| confidence < facts.threshold)
}

/// Writes the replies as messages of the bot, unless they are written already: a service that answers twice gives the
/// same response.
async fn write(cx: &Context<'_>, conversation_id: ConversationId, response: &Value, replies: &[Reply]) -> Result<()> {
    let source = replies::source(response);
    if let Some(id) = source.get(&"response_id".into()).filter(|id| id.is_truthy()) {
        let id = Value::map([("response_id", id.clone())]);
        let id = containing(json::encode(&id).trim_matches(['{', '}']));
        let written: Option<(i64,)> = cx
            .database()?
            .row(ALREADY_WRITTEN, params![conversation_id, id])
            .await?;
        if written.is_some_and(|(messages,)| messages > 0) {
            return Ok(());
        }
    }
    if replies.is_empty() {
        return Ok(());
    }
    let bot = get_bot_id(cx).await?;
    for reply in replies {
        let message = NewMessage {
            sender: bot,
            conversation: conversation_id,
            text: reply.text.clone(),
            attachments: Items(reply.attachments.clone()),
            payload: reply.payload(&source),
            status: StatusCode::NotGiven,
            queue: false,
        };
        send(cx, message).await?;
    }
    Ok(())
}
