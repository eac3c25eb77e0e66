//! The settings map of the installation, typed: row `settings` of `sb_settings`, id → `[value, control type]`.

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::FxHashMap;
use secrecy::SecretString;

use crate::contract::args::Argument;
use crate::contract::json;
use crate::contract::value::{Key, Map, Value};

/// The settings as they were read in this request.
#[derive(Debug, Default)]
pub struct Settings {
    map: Map,
    places: FxHashMap<Vec<u8>, Place>,
}

/// Where a setting lies in the map: its own position, and as a child of a multi-input its position among the children.
#[derive(Debug, Clone, Copy)]
struct Place {
    setting: usize,
    child: Option<usize>,
}

impl Settings {
    fn new(map: Map) -> Self {
        let mut places = FxHashMap::default();
        let mut add = |id: &Key, setting, child| {
            let id = id.to_text().into_owned().into_bytes();
            places.entry(id).or_insert(Place { setting, child });
        };
        for (setting, id) in map.keys().enumerate() {
            add(id, setting, None);
        }
        // Behind the settings themselves, which go before a child of the same id.
        for (setting, value) in map.values().enumerate() {
            for (child, id) in children(value).into_iter().flat_map(|map| map.keys()).enumerate() {
                add(id, setting, Some(child));
            }
        }
        Self { map, places }
    }

    /// The value of a setting: of a whole multi-input (`queue`, then a map of its children) or of one of its children
    /// (`queue-active`).
    pub fn value(&self, id: &str) -> Option<Value> {
        let place = self.places.get(id.as_bytes())?;
        let (_, setting) = self.map.get_index(place.setting)?;
        Some(match place.child {
            None => bare(setting),
            Some(child) => bare(children(setting)?.get_index(child)?.1),
        })
    }

    /// All settings as they are stored: id → `[value, control type]`.
    pub fn map(&self) -> &Map {
        &self.map
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

/// The children of a multi-input.
fn children(setting: &Value) -> Option<&Map> {
    match setting {
        Value::List(pair) => match pair.as_slice() {
            [Value::Map(children), Value::Bytes(kind)] if kind == b"multi-input" => Some(children),
            _ => None,
        },
        _ => None,
    }
}

/// A setting without its control type; a multi-input as a map of its children, each without theirs.
pub fn bare(setting: &Value) -> Value {
    if let Some(children) = children(setting) {
        return children
            .iter()
            .map(|(id, child)| (id.clone(), bare(child)))
            .collect::<Map>()
            .into();
    }
    match setting {
        Value::List(pair) => match pair.as_slice() {
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
        let map = match json::decode(&text) {
            Some(Value::Map(map)) => map,
            _ => Map::new(),
        };
        let settings = Rc::new(Settings::new(map));
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
    fn a_child_need_not_begin_as_its_parent_and_never_hides_a_setting() {
        let settings = settings(
            r#"{"popup-message":[{"popup-active":[true,"checkbox"],"rtl":["child","text"]},"multi-input"],
                "email-server":[{"email-sender-name":["Ann","text"]},"multi-input"],"rtl":["own","checkbox"],
                "saved-replies":[[{"reply-name":"a","reply-text":"b"}],"repeater"],"empty":[[],"multi-input"],"7":["seven","text"]}"#,
        );
        assert!(settings.is_on("popup-active"));
        assert_eq!(settings.text("email-sender-name").as_deref(), Some("Ann"));
        assert_eq!(settings.text("rtl").as_deref(), Some("own"));
        assert_eq!(settings.text("7").as_deref(), Some("seven"));
        assert_eq!(settings.value("empty"), Some(Value::List(vec![])));
        assert_eq!(settings.value("reply-name"), None);
        assert_eq!(settings.map().len(), 6);
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
