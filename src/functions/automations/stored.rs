//! Automations as they are stored: row `automations-{group}`, a list; row `automations-translations-{code}`, a map of
//! group to list.

use std::collections::BTreeMap;

use super::Group;
use crate::contract::args::Items;
use crate::contract::error::{Error, Result};
use crate::contract::language::Language;
use crate::contract::value::at;
use crate::contract::{Argument, Key, Map, Value};
use crate::platform::Context;
use crate::platform::crypto;

/// What the rows of automations begin with, and those of their translations.
pub(super) const ROWS: &str = "automations-";
const TRANSLATIONS: &str = "automations-translations-";

/// How many letters an id has that is made here.
const ID_LENGTH: usize = 8;

/// The automations by their groups, and their translations by language and group.
pub(super) struct Set {
    pub(super) groups: Vec<(Group, Vec<Map>)>,
    pub(super) translations: BTreeMap<Language, Map>,
}

impl Set {
    /// Reads it from its rows.
    pub(super) fn of(mut rows: BTreeMap<String, Value>) -> Self {
        let groups = Group::ALL.map(|group| (group, entries(rows.remove(&group.row()))));
        let translations = rows.into_iter().filter_map(|(name, row)| {
            let language = Language::exact(name.strip_prefix(TRANSLATIONS)?)?;
            Some((language, Map::from_value(row)?))
        });
        Self {
            groups: groups.into(),
            translations: translations.collect(),
        }
    }

    /// Every automation, and its group.
    pub(super) fn automations(&self) -> impl Iterator<Item = (Group, &Map)> {
        let groups = self.groups.iter();
        groups.flat_map(|(group, automations)| automations.iter().map(|automation| (*group, automation)))
    }

    /// An automation with what its translation says, in the nearest language that there is.
    pub(super) fn translated(&self, group: Group, mut automation: Map, language: Option<&Language>) -> Map {
        let id = id_of(&automation);
        let languages = language.map_or_else(Vec::new, Language::with_primary);
        let translation = languages.iter().find_map(|language| {
            let of_group = self.translations.get(language)?.get(&Key::from(group.name()))?;
            let mut found = entries(Some(of_group.clone())).into_iter();
            found.find(|translation| id_of(translation) == id)
        });
        let says_something = |(key, value): &(Key, Value)| {
            value.is_truthy() && *key != Key::from("id") && *key != Key::from("conditions")
        };
        automation.extend(translation.into_iter().flatten().filter(says_something));
        automation
    }
}

/// The set as the contract has it: `[groups, translations]`.
pub(super) async fn automations_get(cx: &Context<'_>) -> Result<Value> {
    let set = Set::of(cx.stored_rows_like(ROWS).await?);
    let list = |automations: Vec<Map>| Value::List(automations.into_iter().map(Value::Map).collect());
    let groups = set.groups.into_iter();
    let groups = groups.map(|(group, automations)| (Key::from(group.name()), list(automations)));
    let translations = set.translations.into_iter();
    let translations =
        translations.map(|(language, of_groups)| (Key::from(language.code().to_owned()), Value::Map(of_groups)));
    Ok(Value::List(vec![
        Value::Map(groups.collect()),
        Value::Map(translations.collect()),
    ]))
}

/// Saves the groups and languages that are given, all or none.
pub(super) async fn automations_save(cx: &Context<'_>, automations: Option<Map>, translations: Map) -> Result<bool> {
    let mut automations = automations.ok_or(MISSHAPEN)?;
    let mut rows = BTreeMap::new();
    for group in Group::ALL {
        if let Some(list) = automations.shift_remove(&Key::from(group.name())) {
            rows.insert(group.row(), checked(list)?);
        }
    }
    for (code, of_groups) in translations {
        let code = code.to_text();
        let language = Language::exact(&code).ok_or_else(|| Error::invalid_language(&code))?;
        let mut of_groups = Map::from_value(of_groups).ok_or(MISSHAPEN)?;
        let mut translation = Map::new();
        for group in Group::ALL {
            if let Some(list) = of_groups.shift_remove(&Key::from(group.name())) {
                translation.insert(group.name().into(), checked(list)?);
            }
        }
        rows.insert(format!("{TRANSLATIONS}{}", language.code()), translation.into());
    }
    cx.store(rows).await?;
    Ok(true)
}

const MISSHAPEN: Error = Error::Argument {
    name: "automations",
    expected: "a map of group to list of automations",
};

/// A list of automations, each with an id. Conditions that nobody knows are kept.
fn checked(list: Value) -> Result<Value> {
    let Items(list) = Items::from_value(list).ok_or(MISSHAPEN)?;
    let automations = list.into_iter().map(|automation| {
        let is_named = |automation: &Map| automation.keys().any(|key| matches!(key, Key::Text(_)));
        let mut automation = Map::from_value(automation).filter(is_named).ok_or(MISSHAPEN)?;
        let id = match id_of(&automation) {
            Some(id) => id,
            None => crypto::token()?.get(..ID_LENGTH).unwrap_or_default().to_owned(),
        };
        automation.insert("id".into(), id.into());
        if let Some(conditions) = automation.get_mut(&Key::from("conditions")) {
            let Items(list) = Items::from_value(std::mem::take(conditions)).ok_or(MISSHAPEN)?;
            *conditions = list.into();
        }
        Ok(Value::Map(automation))
    });
    automations.collect::<Result<Vec<_>>>().map(Value::List)
}

/// The id of an automation.
pub(super) fn id_of(automation: &Map) -> Option<String> {
    let id = at(automation, "id").cloned().and_then(String::from_value);
    id.filter(|id| !id.is_empty())
}

/// The automations that a row holds.
fn entries(row: Option<Value>) -> Vec<Map> {
    let entries = row
        .and_then(Items::from_value)
        .map_or_else(Vec::new, |Items(entries)| entries);
    let automations = entries.into_iter().filter_map(Map::from_value);
    automations.filter(|automation| id_of(automation).is_some()).collect()
}
