//! Intents: what people say to the chatbot, and what it answers.

use crate::contract::args::{Intent, Intents, Phrases};
use crate::contract::error::{Error, Result};
use crate::contract::value::at;
use crate::contract::{Key, Map, Value};
use crate::platform::Context;
use crate::providers::chatbot::{Agent, Known};

/// How the service's names for its things begin.
const RESOURCE: &str = "projects/";

/// The longest that an intent may be called, in characters.
const NAME_LIMIT: usize = 100;

/// Adds one intent.
pub(super) async fn create_intent(
    cx: &Context<'_>,
    Phrases(training_phrases): Phrases,
    response: String,
    language: Option<String>,
) -> Result<bool> {
    let agent = Agent::of(cx, None, None).await?;
    let intent = Intent {
        training_phrases,
        responses: vec![response],
        language: None,
        name: String::new(),
        own: None,
    };
    agent.create_intent(in_the_services_form(intent)?, language).await?;
    Ok(true)
}

/// Adds and replaces intents, a batch for each language.
pub(super) async fn batch_intents(
    cx: &Context<'_>,
    Intents(intents): Intents,
    language: Option<String>,
) -> Result<Value> {
    let agent = Agent::of(cx, None, None).await?;
    let mut batches: Vec<(Option<String>, Vec<Value>)> = Vec::new();
    for mut intent in intents {
        let language = intent.language.take().or_else(|| language.clone());
        let intent = in_the_services_form(intent)?;
        match batches.iter_mut().find(|(of, _)| *of == language) {
            Some((_, batch)) => batch.push(intent),
            None => batches.push((language, vec![intent])),
        }
    }
    let mut made = Vec::new();
    let mut last = None;
    for (language, batch) in batches {
        let mut operation = with_done(agent.update_intents(batch, language).await?);
        made.append(&mut intents_of(&mut operation));
        let failed = at(&operation, "response").is_none();
        last = Some(operation);
        if failed {
            break;
        }
    }
    let mut operation = last.ok_or_else(|| invalid("there are no intents"))?;
    if let Some(Value::Map(response)) = operation.get_mut(&Key::from("response")) {
        response.insert("intents".into(), made.into());
    }
    Ok(operation.into())
}

/// Removes intents.
pub(super) async fn batch_intents_delete(cx: &Context<'_>, Intents(intents): Intents) -> Result<Value> {
    let agent = Agent::of(cx, None, None).await?;
    if intents.is_empty() {
        return Err(invalid("there are no intents"));
    }
    let mut known: Option<Vec<Known>> = None;
    let mut names = Vec::new();
    for intent in intents {
        if intent.name.starts_with(RESOURCE) {
            names.push(intent.name);
            continue;
        }
        let known = match &mut known {
            Some(known) => known,
            None => known.insert(agent.intents().await?),
        };
        names.push(find(known, &called(&intent)?)?);
    }
    Ok(with_done(agent.delete_intents(names).await?).into())
}

/// The service's name for the intent that is called so, or has this id.
fn find(known: &[Known], called: &str) -> Result<String> {
    let found = known
        .iter()
        .find(|intent| intent.display_name == called || intent.name.rsplit('/').next() == Some(called));
    found.map(|intent| intent.name.clone()).ok_or_else(|| Error::Refused {
        code: "intent-not-found",
        message: format!("the agent has no intent {called}"),
    })
}

/// How an intent is called in the agent.
fn called(intent: &Intent) -> Result<String> {
    let own = intent.own.as_ref().and_then(|own| at(own, "displayName")?.as_str());
    let name = Some(intent.name.as_str()).filter(|name| !name.is_empty() && !name.starts_with(RESOURCE));
    let first = intent.training_phrases.first().map(String::as_str);
    let called = own
        .or(name)
        .or(first)
        .ok_or_else(|| invalid("an intent has neither phrases nor a name"))?;
    Ok(called.chars().take(NAME_LIMIT).collect())
}

fn in_the_services_form(intent: Intent) -> Result<Value> {
    if let Some(own) = intent.own {
        return Ok(own.into());
    }
    if intent.training_phrases.is_empty() {
        return Err(invalid("an intent has no phrases"));
    }
    let called = called(&intent)?;
    let phrase = |text: String| {
        let part = Value::map([("text", text.into())]);
        Value::map([("type", "EXAMPLE".into()), ("parts", Value::List(vec![part]))])
    };
    let mut fields = vec![
        ("displayName", called.into()),
        (
            "trainingPhrases",
            Value::List(intent.training_phrases.into_iter().map(phrase).collect()),
        ),
    ];
    let responses: Vec<Value> = intent
        .responses
        .into_iter()
        .filter(|response| !response.is_empty())
        .map(Value::from)
        .collect();
    if !responses.is_empty() {
        let text = Value::map([("text", Value::List(responses))]);
        fields.push(("messages", Value::List(vec![Value::map([("text", text)])])));
    }
    if intent.name.starts_with(RESOURCE) {
        fields.push(("name", intent.name.into()));
    }
    Ok(Value::map(fields))
}

/// An operation that says whether it is done: the service leaves out what is false.
fn with_done(operation: Value) -> Map {
    let Value::Map(mut operation) = operation else {
        return Map::new();
    };
    operation.entry("done".into()).or_insert(Value::Bool(false));
    operation
}

/// The intents in the response of an operation, which are taken out.
fn intents_of(operation: &mut Map) -> Vec<Value> {
    let response = operation.get_mut(&Key::from("response"));
    let intents = match response {
        Some(Value::Map(response)) => response.shift_remove(&Key::from("intents")),
        _ => None,
    };
    match intents {
        Some(Value::List(intents)) => intents,
        _ => Vec::new(),
    }
}

fn invalid(message: &str) -> Error {
    Error::Refused {
        code: "invalid-intent",
        message: message.to_owned(),
    }
}
