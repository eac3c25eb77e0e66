//! The agent itself: its tokens, its description, its contexts, and any request to it.

use secrecy::ExposeSecret;

use super::completed;
use super::message::session;
use crate::contract::error::{Code, Error, Result};
use crate::contract::ids::{ConversationId, UserId};
use crate::contract::{Argument, Map, Value};
use crate::params;
use crate::platform::Context;
use crate::platform::http::Method;
use crate::providers::chatbot::Agent;

/// The conversation in which a user most likely is.
const NEWEST_CONVERSATION: &str = "
    SELECT id
    FROM sb_conversations
    WHERE user_id = ?
    ORDER BY status_code IN (3, 4), id DESC
    LIMIT 1";

/// A new access token.
pub(super) async fn get_token(cx: &Context<'_>) -> Result<String> {
    let token = Agent::of(cx, None, None).await?.new_token().await?;
    Ok(token.expose_secret().to_owned())
}

/// What the agent says of itself.
pub(super) async fn get_agent(cx: &Context<'_>) -> Result<Value> {
    let description = Agent::of(cx, None, None).await?.description().await?;
    let texts = [
        "parent",
        "displayName",
        "defaultLanguageCode",
        "timeZone",
        "matchMode",
        "apiVersion",
        "tier",
    ];
    let numbers = [
        ("enableLogging", Value::Bool(false)),
        ("classificationThreshold", Value::Float(0.0)),
    ];
    Ok(completed(
        description,
        texts.map(|name| (name, Value::from(""))).into_iter().chain(numbers),
    ))
}

/// Any request.
pub(super) async fn curl(
    cx: &Context<'_>,
    url_part: String,
    query: Map,
    language: Option<String>,
    method: String,
    token: Option<String>,
) -> Result<Value> {
    let agent = Agent::of(cx, None, token.map(Into::into)).await?;
    let (method, parameters, body) = match method.to_ascii_uppercase().as_str() {
        "GET" => (Method::GET, parameters(query)?, None),
        "DELETE" => (Method::DELETE, parameters(query)?, None),
        "POST" => (Method::POST, Vec::new(), Some(Value::Map(query))),
        "PATCH" => (Method::PATCH, Vec::new(), Some(Value::Map(query))),
        _ => return Err(invalid_method("POST, GET, PATCH or DELETE")),
    };
    agent.call(method, &url_part, parameters, body, language).await
}

/// The refusal of a method that is none of these.
pub(super) fn invalid_method(known: &str) -> Error {
    Error::Refused {
        code: "invalid-method",
        message: format!("type must be {known}"),
    }
}

/// A map as parameters of an address; a list in it is one parameter several times.
pub(super) fn parameters(map: Map) -> Result<Vec<(String, String)>> {
    let mut parameters = Vec::new();
    for (name, value) in map {
        let values = match value {
            Value::List(values) => values,
            Value::Bool(truth) => vec![Value::from(truth.to_string())],
            value => vec![value],
        };
        for value in values {
            let text = String::from_value(value).ok_or(Error::Argument {
                name: "query",
                expected: "a map of texts",
            })?;
            parameters.push((name.to_text().into_owned(), text));
        }
    }
    Ok(parameters)
}

/// Sets a context in the session of the user's conversation.
pub(super) async fn set_active_context(
    cx: &Context<'_>,
    context_name: String,
    parameters: Map,
    life_span: i64,
    token: Option<String>,
    user_id: Option<UserId>,
    _language: Option<String>,
) -> Result<Value> {
    let mut agent = Agent::of(cx, None, None).await?;
    let user = match user_id {
        Some(user) => user,
        None => cx.active_user().await?.ok_or(Code::UserNotFound)?.id,
    };
    cx.check_owner(user).await?;
    let conversation: Option<(u32,)> = cx.database()?.row(NEWEST_CONVERSATION, params![user]).await?;
    let (conversation,) = conversation.ok_or(Code::ConversationNotFound)?;
    if let Some(token) = token {
        agent.open_by(token);
    }
    let session = session(ConversationId::from(conversation));
    agent.set_context(&session, &context_name, life_span, parameters).await
}
