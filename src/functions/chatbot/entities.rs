//! Entities: the things that the chatbot knows by name.

use super::completed;
use crate::contract::args::{EntityValue, EntityValues};
use crate::contract::error::{Error, Result};
use crate::contract::{Key, Value};
use crate::platform::Context;
use crate::providers::chatbot::Agent;

/// Adds an entity.
pub(super) async fn create_entity(
    cx: &Context<'_>,
    entity_name: Option<String>,
    entity: EntityValues,
    language: Option<String>,
) -> Result<bool> {
    let agent = Agent::of(cx, None, None).await?;
    let name = entity_name
        .or(entity.name)
        .ok_or_else(|| invalid("the entity has no name"))?;
    let entity_type = Value::map([
        ("displayName", name.into()),
        ("kind", "KIND_MAP".into()),
        ("entities", in_the_services_form(entity.values)),
    ]);
    agent.create_entity_type(entity_type, language).await?;
    Ok(true)
}

/// Replaces the values of an entity.
pub(super) async fn update_entity(
    cx: &Context<'_>,
    entity_id: String,
    entity: EntityValues,
    language: Option<String>,
) -> Result<bool> {
    let agent = Agent::of(cx, None, None).await?;
    let id = entity_id.trim();
    if id.is_empty() {
        return Err(invalid("the id of the entity is empty"));
    }
    agent
        .update_entity_type(id, in_the_services_form(entity.values), language)
        .await?;
    Ok(true)
}

/// One entity, or all of them.
pub(super) async fn get_entity(cx: &Context<'_>, entity_id: String, language: Option<String>) -> Result<Value> {
    let agent = Agent::of(cx, None, None).await?;
    let entities = match entity_id.trim() {
        "" | "all" | "false" => agent.entity_types(language).await?,
        id => vec![agent.entity_type(id, language).await?],
    };
    Ok(Value::List(entities.into_iter().map(in_full).collect()))
}

/// An entity with what the service leaves out.
fn in_full(entity: Value) -> Value {
    let defaults = [
        ("kind", "KIND_UNSPECIFIED".into()),
        ("autoExpansionMode", "AUTO_EXPANSION_MODE_UNSPECIFIED".into()),
        ("entities", Value::List(Vec::new())),
        ("enableFuzzyExtraction", Value::Bool(false)),
    ];
    let mut entity = completed(entity, defaults);
    if let Value::Map(entity) = &mut entity
        && let Some(Value::List(values)) = entity.get_mut(&Key::from("entities"))
    {
        for value in values {
            *value = completed(std::mem::take(value), [("synonyms", Value::List(Vec::new()))]);
        }
    }
    entity
}

/// Only its synonyms are looked for: each value is one of its own.
fn in_the_services_form(values: Vec<EntityValue>) -> Value {
    let values = values.into_iter().map(|EntityValue { value, synonyms }| {
        let itself = (!synonyms.contains(&value)).then(|| value.clone());
        let synonyms = itself.into_iter().chain(synonyms).map(Value::from).collect();
        Value::map([("value", value.into()), ("synonyms", Value::List(synonyms))])
    });
    Value::List(values.collect())
}

fn invalid(message: &str) -> Error {
    Error::Refused {
        code: "invalid-entity",
        message: message.to_owned(),
    }
}
