//! Section "Settings, articles, automations and utilities": the settings.

use std::collections::BTreeMap;

use crate::contract::args::Given;
use crate::contract::error::{Error, Result};
use crate::contract::language::Language;
use crate::contract::{Key, Map, Value};
use crate::functions;
use crate::platform::Context;
use crate::platform::context::Request;
use crate::platform::host::Host;
use crate::platform::settings::bare;

functions! {
    /// Returns the value of a setting.
    ///
    /// The settings are read once per request; sb_save_settings in the same request makes the next call read them again.
    ///
    /// @param $setting the id of a setting, or of a child of a multi-input
    /// @return of a multi-input a map of its children, of a repeater a list of maps; false when there is no such setting
    async fn sb_get_setting(setting: String) -> "mixed" => [known_setting] get_setting;

    /// Returns all settings as they are stored.
    async fn sb_get_settings() -> "array<string, array{mixed, string}>|SBError" => get_settings;

    /// Saves the settings. Either all of it is stored or nothing.
    ///
    /// @param $settings map of setting id to [value, control type], which takes the place of all settings; false leaves
    ///     them as they are
    /// @param $external_settings map of row name to value, each stored as a row of its own; other rows stay
    /// @param $external_settings_translations map of language code to (map of row name to value)
    /// @errors SBError security-error, invalid-setting, invalid-language, too-long
    async fn sb_save_settings(
        settings: Option<Map>,
        external_settings: Map = [],
        external_settings_translations: Map = [],
    ) -> "true|SBError" => save_settings, protected;

    /// Returns a setting in a language. What is not translated comes in the default language, child by child.
    ///
    /// @param $name the id of a setting, or the name of an external one: emails
    /// @param $sub_name one of its children: email-agent
    /// @param $language a language code; false or en for the default language
    /// @return of a multi-input a map of its children; false when there is no such setting
    async fn sb_get_multilingual_setting(
        name: String,
        sub_name: Option<String> = false,
        language: Option<String> = false,
    ) -> "mixed" => get_multilingual_setting;
}

/// The row of all settings.
const SETTINGS: &str = "settings";

/// The rows of translated external settings, each behind its language code.
const TRANSLATIONS: &str = "external-settings-translations-";

/// Rows that are no external settings: whoever overwrites the secret key ends every session.
const OWN_ROWS: [&str; 2] = [SETTINGS, "secret-key"];

fn known_setting(_: &dyn Host, request: &Request, arguments: &[Given]) -> Option<Value> {
    let [Given::Value(id), ..] = arguments else {
        return None;
    };
    let settings = request.known_settings()?;
    Some(settings.value(id.as_str()?).into())
}

async fn get_setting(cx: &Context<'_>, setting: String) -> Result<Option<Value>> {
    Ok(cx.settings().await?.value(&setting))
}

async fn get_settings(cx: &Context<'_>) -> Result<Map> {
    Ok(cx.settings().await?.map().clone())
}

async fn save_settings(cx: &Context<'_>, settings: Option<Map>, external: Map, translations: Map) -> Result<bool> {
    let mut rows = BTreeMap::new();
    for (name, value) in external {
        let name = name.to_text().into_owned();
        if name.is_empty() || OWN_ROWS.contains(&name.to_ascii_lowercase().as_str()) {
            return Err(Error::Refused {
                code: "invalid-setting",
                message: format!("{name:?} is not the name of an external setting"),
            });
        }
        rows.insert(name, decoded(value));
    }
    for (code, value) in translations {
        let code = code.to_text();
        let language = Language::exact(&code).ok_or_else(|| Error::invalid_language(&code))?;
        rows.insert(format!("{TRANSLATIONS}{}", language.code()), decoded(value));
    }
    rows.extend(settings.map(|settings| (SETTINGS.to_owned(), settings.into())));
    cx.store(rows).await?;
    cx.forget_settings();
    Ok(true)
}

/// What a caller may also pass as JSON text.
fn decoded(value: Value) -> Value {
    let structure = value.as_bytes().and_then(crate::contract::json::decode);
    structure
        .filter(|value| matches!(value, Value::List(_) | Value::Map(_)))
        .unwrap_or(value)
}

pub(super) async fn get_multilingual_setting(
    cx: &Context<'_>,
    name: String,
    sub_name: Option<String>,
    language: Option<String>,
) -> Result<Option<Value>> {
    let language = language.as_deref().and_then(Language::read);
    let languages = language.filter(|language| !language.is_default());
    let languages = languages.map_or_else(Vec::new, |language| language.with_primary());
    let translations: Vec<String> = languages
        .iter()
        .map(|language| format!("{TRANSLATIONS}{}", language.code()))
        .collect();
    let setting = cx.settings().await?.value(&name);
    let mut wanted = translations.clone();
    if setting.is_none() {
        wanted.push(name.clone());
    }
    let mut rows = cx.stored_rows(&wanted).await?;
    let key = Key::from(name.clone());
    let translated = translations.iter().find_map(|row| {
        let translation = rows.get(row)?;
        let of_settings = || translation.get(&SETTINGS.into())?.get(&key);
        part(plain(translation.get(&key).or_else(of_settings)?), sub_name.as_deref())
    });
    let original = setting.or_else(|| rows.remove(&name).map(|row| plain(&row)));
    Ok(completed(
        translated,
        original.and_then(|original| part(original, sub_name.as_deref())),
    ))
}

/// An external setting without control types.
fn plain(stored: &Value) -> Value {
    match stored {
        Value::Map(children) => children
            .iter()
            .map(|(id, child)| (id.clone(), bare(child)))
            .collect::<Map>()
            .into(),
        setting => bare(setting),
    }
}

/// The child of that id, or the whole.
fn part(setting: Value, child: Option<&str>) -> Option<Value> {
    match child {
        None => Some(setting),
        Some(child) => setting.get(&Key::from(child.to_owned())).cloned(),
    }
}

/// A translation, with the original where it says nothing.
fn completed(translated: Option<Value>, original: Option<Value>) -> Option<Value> {
    match (translated, original) {
        (Some(Value::Map(mut children)), Some(Value::Map(originals))) => {
            for (id, original) in originals {
                let translated = children.shift_remove(&id);
                children.extend(completed(translated, Some(original)).map(|child| (id, child)));
            }
            Some(children.into())
        }
        (Some(translated), original) if says_nothing(&translated) => original,
        (Some(translated), _) => Some(translated),
        (None, original) => original,
    }
}

fn says_nothing(translated: &Value) -> bool {
    match translated {
        Value::Null => true,
        Value::Bytes(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        _ => false,
    }
}
