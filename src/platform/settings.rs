//! The settings map of the installation, typed: row `settings` of `sb_settings`, id → `[value, control type]`.

use std::cell::RefCell;
use std::rc::Rc;

use secrecy::SecretString;

use crate::contract::args::Argument;
use crate::contract::json;
use crate::contract::value::{Key, Value};

/// The settings as they were read in this request.
#[derive(Debug, Default)]
pub struct Settings {
    map: Value,
}

impl Settings {
    /// The value of a setting: of a whole multi-input (`queue`, then a map of its children) or of one of its children
    /// (`queue-active`).
    pub fn value(&self, id: &str) -> Option<Value> {
        let key = Key::from(id.to_owned());
        if let Some(setting) = self.map.get(&key) {
            return Some(bare(setting));
        }
        // A child's id begins with its parent's.
        let parents = id.rmatch_indices('-').filter_map(|(at, _)| id.get(..at));
        parents
            .filter_map(|parent| self.map.get(&Key::from(parent.to_owned())))
            .find_map(|parent| {
                let children = first(parent)?;
                children.get(&key).map(bare)
            })
    }

    /// Whether a checkbox is set.
    pub fn is_on(&self, id: &str) -> bool {
        self.value(id).and_then(bool::from_value).unwrap_or(false)
    }

    /// A credential that is set and not empty; blanks around it came with pasting.
    pub fn secret(&self, id: &str) -> Option<SecretString> {
        let text = self.text(id)?;
        Some(text.trim())
            .filter(|text| !text.is_empty())
            .map(SecretString::from)
    }

    /// A text that is set and not empty.
    pub fn text(&self, id: &str) -> Option<String> {
        self.value(id)
            .and_then(String::from_value)
            .filter(|text| !text.is_empty())
    }
}

/// The first item of a `[value, type]` pair.
fn first(pair: &Value) -> Option<&Value> {
    pair.get(&Key::Int(0))
}

/// A setting without its control type; a multi-input as a map of its children, each without theirs.
fn bare(setting: &Value) -> Value {
    match setting {
        Value::List(items) => match items.as_slice() {
            [Value::Map(children), Value::Bytes(kind)] if kind == b"multi-input" => {
                Value::Map(children.iter().map(|(id, child)| (id.clone(), bare(child))).collect())
            }
            [value, Value::Bytes(_)] => value.clone(),
            _ => setting.clone(),
        },
        value => value.clone(),
    }
}

/// The settings last parsed: their text changes rarely, and parsing costs more than reading.
#[derive(Default)]
pub struct Cache(RefCell<Option<(Vec<u8>, Rc<Settings>)>>);

impl Cache {
    /// The settings of a row's text. What is no JSON counts as no settings.
    pub fn parse(&self, text: Vec<u8>) -> Rc<Settings> {
        let mut cached = self.0.borrow_mut();
        if let Some((known, settings)) = cached.as_ref()
            && *known == text
        {
            return Rc::clone(settings);
        }
        let settings = Rc::new(Settings {
            map: json::decode(&text).unwrap_or_default(),
        });
        *cached = Some((text, Rc::clone(&settings)));
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Rc<Settings> {
        Cache::default().parse(text.as_bytes().to_vec())
    }

    #[test]
    fn a_setting_is_found_by_its_own_id_or_through_its_parent() {
        let settings = settings(
            r#"{"rtl":[true,"checkbox"],"bot-name":["Ann","text"],"bare":"x","departments":[[{"department-id":"1"}],"repeater"],
                "queue":[{"queue-active":[true,"checkbox"],"queue-concurrent-chats":["5","number"],"queue-bare":7},"multi-input"]}"#,
        );
        assert!(settings.is_on("rtl") && settings.is_on("queue-active"));
        assert_eq!(settings.text("bot-name").as_deref(), Some("Ann"));
        assert_eq!(settings.text("queue-concurrent-chats").as_deref(), Some("5"));
        assert_eq!(settings.value("queue-bare"), Some(Value::Int(7)));
        assert_eq!(settings.value("bare"), Some("x".into()));
        assert_eq!(
            settings.value("queue").unwrap().get(&"queue-active".into()),
            Some(&Value::Bool(true))
        );
        assert!(settings.value("departments").unwrap().get(&Key::Int(0)).is_some());
        assert_eq!(settings.value("missing"), None);
        assert!(!settings.is_on("missing"));
    }

    #[test]
    fn the_same_text_is_parsed_once() {
        let cache = Cache::default();
        let first = cache.parse(b"{}".to_vec());
        assert!(Rc::ptr_eq(&first, &cache.parse(b"{}".to_vec())));
        assert!(!Rc::ptr_eq(&first, &cache.parse(b"{\"a\":1}".to_vec())));
    }

    #[test]
    fn broken_settings_are_no_settings() {
        assert_eq!(settings("{broken").value("rtl"), None);
    }
}
