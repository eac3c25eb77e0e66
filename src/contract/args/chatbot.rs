//! Intents and entities of the chatbot as callers give them: objects, maps, texts.

use super::{Argument, Items, is_absent};
use crate::contract::json;
use crate::contract::value::{Key, Map, Value, at};

/// Texts, or one of them. Unlike in [`Texts`](super::Texts) a comma is part of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Phrases(pub Vec<String>);

impl Argument for Phrases {
    const TYPE: &'static str = "list<string>|string";
    const EXPECTED: &'static str = "a list of texts";

    fn from_value(value: Value) -> Option<Self> {
        let items = match value {
            value if is_absent(&value) => Vec::new(),
            Value::Bytes(text) => match json::decode(&text) {
                Some(Value::List(items)) => items,
                _ => vec![Value::Bytes(text)],
            },
            Value::List(_) | Value::Map(_) => Items::from_value(value)?.0,
            value => vec![value],
        };
        let texts: Option<Vec<String>> = items.into_iter().map(String::from_value).collect();
        Some(Self(
            texts?.into_iter().filter(|text| !text.trim().is_empty()).collect(),
        ))
    }
}

/// An intent: an SBChatbotIntent, or the map of its arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Intent {
    /// What people say.
    pub training_phrases: Vec<String>,
    /// What the bot answers: one of them.
    pub responses: Vec<String>,
    /// Of the phrases and the responses.
    pub language: Option<String>,
    /// How it is called in the agent, or the provider's own name for it.
    pub name: String,
    /// The intent in the provider's own form, where the caller gave that.
    pub own: Option<Map>,
}

impl Intent {
    /// A text names an intent.
    fn from_value(value: Value) -> Option<Self> {
        let map = match value {
            Value::Map(map) => map,
            Value::Bytes(text) => Map::from_iter([(Key::from("name"), Value::Bytes(text))]),
            _ => return None,
        };
        let value = |name| at(&map, name).cloned().unwrap_or_default();
        Some(Self {
            training_phrases: Phrases::from_value(value("training_phrases"))?.0,
            responses: Phrases::from_value(value("responses"))?.0,
            language: Option::from_value(value("language"))?,
            name: String::from_value(value("name"))?,
            own: is_the_providers(&map).then_some(map),
        })
    }
}

fn is_the_providers(intent: &Map) -> bool {
    ["displayName", "trainingPhrases"]
        .iter()
        .any(|name| at(intent, name).is_some())
}

/// Several intents, or one of them.
pub struct Intents(pub Vec<Intent>);

impl Argument for Intents {
    const TYPE: &'static str = "list<SBChatbotIntent|array<string, mixed>|string>|SBChatbotIntent|string";
    const EXPECTED: &'static str = "a list of SBChatbotIntent";

    fn from_value(value: Value) -> Option<Self> {
        let decoded = match &value {
            Value::Bytes(text) => json::decode(text).filter(|value| matches!(value, Value::List(_) | Value::Map(_))),
            _ => None,
        };
        let items = match decoded.unwrap_or(value) {
            Value::Map(map)
                if is_the_providers(&map) || at(&map, "training_phrases").or(at(&map, "name")).is_some() =>
            {
                vec![Value::Map(map)]
            }
            text @ Value::Bytes(_) if !is_absent(&text) => vec![text],
            value => Items::from_value(value)?.0,
        };
        items
            .into_iter()
            .map(Intent::from_value)
            .collect::<Option<_>>()
            .map(Self)
    }
}

/// The values of an entity: an SBChatbotEntity, or a list of values.
pub struct EntityValues {
    /// How the entity is called, where the object says it.
    pub name: Option<String>,
    /// Its values.
    pub values: Vec<EntityValue>,
}

/// A value of an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityValue {
    /// The value.
    pub value: String,
    /// Other words for it.
    pub synonyms: Vec<String>,
}

impl Argument for EntityValues {
    const TYPE: &'static str = "SBChatbotEntity|list<array{value: string, synonyms?: list<string>}|string>|string";
    const EXPECTED: &'static str = "an SBChatbotEntity or a list of {value, synonyms}";

    fn from_value(value: Value) -> Option<Self> {
        let decoded = value.as_bytes().and_then(json::decode);
        let (name, items) = match decoded.unwrap_or(value) {
            Value::Map(map) if at(&map, "values").is_some() => {
                let value = |name| at(&map, name).cloned().unwrap_or_default();
                (Option::from_value(value("name"))?, value("values"))
            }
            Value::Map(map) if at(&map, "value").is_some() => (None, Value::List(vec![Value::Map(map)])),
            items => (None, items),
        };
        let values = Items::from_value(items)?.0.into_iter().map(EntityValue::from_value);
        Some(Self {
            name,
            values: values.collect::<Option<_>>()?,
        })
    }
}

impl EntityValue {
    /// A text is a value without synonyms.
    fn from_value(value: Value) -> Option<Self> {
        let (value, synonyms) = match value {
            Value::Map(map) => {
                let synonyms = at(&map, "synonyms").cloned().unwrap_or_default();
                (at(&map, "value").cloned()?, Phrases::from_value(synonyms)?.0)
            }
            value => (value, Vec::new()),
        };
        let value = String::from_value(value).filter(|value| !value.trim().is_empty())?;
        Some(Self { value, synonyms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: Argument>(json: &str) -> Option<T> {
        T::from_value(json::decode(json.as_bytes()).unwrap())
    }

    /// JSON text within JSON text.
    fn quoted(json: &str) -> String {
        json::encode(&json.into())
    }

    #[test]
    fn a_phrase_keeps_its_commas() {
        for (given, phrases) in [
            (r#""Hello, you""#, vec!["Hello, you"]),
            (r#"["a, b", 5, "", " "]"#, vec!["a, b", "5"]),
            (r#""[\"a\",\"b\"]""#, vec!["a", "b"]),
            (r#"{"x":"a","y":"b"}"#, vec!["a", "b"]),
            ("7", vec!["7"]),
            ("null", vec![]),
            ("false", vec![]),
            (r#""[not JSON""#, vec!["[not JSON"]),
        ] {
            assert_eq!(read::<Phrases>(given).unwrap().0, phrases, "{given}");
        }
        assert_eq!(read::<Phrases>(r#"[["a"]]"#), None);
    }

    #[test]
    fn intents_come_as_maps_in_either_form_or_by_their_names() {
        let intents = |given: &str| read::<Intents>(given).map(|Intents(intents)| intents);
        let map = r#"{"training_phrases":["a","b"],"responses":"c","language":false,"name":null}"#;
        let intent = Intent {
            training_phrases: vec!["a".into(), "b".into()],
            responses: vec!["c".into()],
            language: None,
            name: String::new(),
            own: None,
        };
        let list = format!("[{map}]");
        for given in [map, &list, &quoted(&list)] {
            assert_eq!(intents(given).unwrap(), std::slice::from_ref(&intent), "{given}");
        }
        let own = r#"{"name":"projects/p/agent/intents/1","displayName":"x","trainingPhrases":[]}"#;
        for given in [own.to_owned(), format!("[{own}]")] {
            let [intent] = &intents(&given).unwrap()[..] else {
                panic!("not one")
            };
            assert_eq!(intent.name, "projects/p/agent/intents/1");
            assert_eq!(intent.own.as_ref().map(|own| own.len()), Some(3));
        }
        let named = intents(r#"["a","b"]"#).unwrap();
        assert_eq!([&named[0].name, &named[1].name], ["a", "b"]);
        assert_eq!(intents(r#""a""#).unwrap().len(), 1);
        assert_eq!(intents(r#"{"0":{"name":"a"},"5":{"name":"b"}}"#).unwrap().len(), 2);
        assert_eq!(intents("[]").unwrap().len(), 0);
        for given in ["[[]]", "[5]", r#"[{"training_phrases":[[]]}]"#, "5"] {
            assert_eq!(intents(given), None, "{given}");
        }
    }

    #[test]
    fn values_of_an_entity_come_as_an_object_or_a_list() {
        let values = |given: &str| read::<EntityValues>(given).map(|entity| (entity.name, entity.values));
        let value = |value: &str, synonyms: &[&str]| EntityValue {
            value: value.into(),
            synonyms: synonyms.iter().map(|&synonym| synonym.into()).collect(),
        };
        let both = vec![value("red", &["crimson", "scarlet"]), value("blue", &[])];
        let list = r#"[{"value":"red","synonyms":["crimson","scarlet"]},"blue"]"#;
        assert_eq!(values(list).unwrap(), (None, both.clone()));
        let object = format!(r#"{{"values":{list},"name":"colour"}}"#);
        assert_eq!(values(&object).unwrap(), (Some("colour".into()), both.clone()));
        assert_eq!(values(&quoted(list)).unwrap(), (None, both));
        assert_eq!(
            values(r#"{"value":5,"synonyms":"five"}"#).unwrap().1,
            [value("5", &["five"])]
        );
        for given in [r#"[{"synonyms":["a"]}]"#, r#"[""]"#, "[[]]", r#"[{"value":[]}]"#, "5"] {
            assert_eq!(values(given), None, "{given}");
        }
    }
}
