//! Options: what the content-management system and its plugins keep by name.

use std::collections::HashMap;

use super::site::Zone;
use crate::contract::args::utf8;
use crate::contract::error::{Error, Result};
use crate::contract::{Map, Value};
use crate::functions::columns::check_characters;
use crate::params;
use crate::platform::Context;
use crate::platform::cms::Cms;
use crate::platform::db::Builder;
use crate::platform::php_serialize::{Serialized, looks_serialized};

const OPTIONS: &str = "
    SELECT option_name, option_value
    FROM {options}
    WHERE option_name IN ";

/// Beside the options, under an empty name: how many tables of users the site has of its own.
const OWN_USERS: &str = "
    UNION ALL
    SELECT '', CAST(COUNT(*) AS BINARY)
    FROM information_schema.TABLES
    WHERE TABLE_SCHEMA = COALESCE(?, DATABASE()) AND TABLE_NAME = ?";

/// The id of the option stays what it is, and is given back.
const STORE: &str = "
    INSERT INTO {options} (option_name, option_value, autoload)
    VALUES (?, ?, ?)
    ON DUPLICATE KEY UPDATE option_value = ?, option_id = LAST_INSERT_ID(option_id)";

const EXISTING: &str = "
    SELECT CAST(option_id AS CHAR)
    FROM {options}
    WHERE option_name = ?";

/// From this version of the tables on the system decides itself which options it loads at once.
const DECIDES_ITSELF: u32 = 57_920;

/// What the name column holds.
const NAME_LIMIT: usize = 191;

/// Options that were read together.
#[derive(Default)]
pub(crate) struct Options(HashMap<String, Vec<u8>>);

impl Options {
    /// Reads the options of these names, in one query.
    pub(crate) async fn read(cms: &Cms<'_>, names: impl IntoIterator<Item = &str>) -> Result<Self> {
        let mut statement = Builder::new(OPTIONS, params![]);
        statement.list(names);
        let (sql, params) = statement.finish();
        let rows: Vec<(String, Vec<u8>)> = cms.rows(sql, params).await?;
        Ok(Self(rows.into_iter().collect()))
    }

    /// Reads the options of a site, in one query, and whether it is one of a network.
    pub(super) async fn of_site(cms: &Cms<'_>, names: impl IntoIterator<Item = &str>) -> Result<(Self, Option<u32>)> {
        let Some(number) = cms.number_in_network() else {
            return Ok((Self::read(cms, names).await?, None));
        };
        let mut statement = Builder::new(OPTIONS, params![]);
        statement.list(names).add(OWN_USERS, cms.own_users());
        let (sql, params) = statement.finish();
        let rows: Vec<(String, Vec<u8>)> = cms.rows(sql, params).await?;
        let options = Self(rows.into_iter().collect());
        let shares_users = options.text("") == "0";
        Ok((options, shares_users.then_some(number)))
    }

    /// The text of an option, empty when there is none.
    pub(crate) fn text(&self, name: &str) -> String {
        self.0.get(name).cloned().map(utf8).unwrap_or_default()
    }

    /// The structure of an option, empty when there is none or it holds none. Objects in it are passed over.
    pub(crate) fn map(&self, name: &str) -> Map {
        let stored = self.0.get(name).and_then(|text| Serialized::decode(text));
        map_of(stored.and_then(Serialized::without_objects))
    }

    /// An option as the system reads it.
    fn value(&self, name: &str) -> Option<Value> {
        self.0.get(name).map(|text| read(text.clone()))
    }
}

/// A list or map as a map.
pub(crate) fn map_of(value: Option<Value>) -> Map {
    use crate::contract::Argument;
    match value {
        Some(value @ (Value::Map(_) | Value::List(_))) => Map::from_value(value).unwrap_or_default(),
        _ => Map::new(),
    }
}

/// A stored text as the system reads it. One that holds an object, or only looks like a structure, stays a text.
fn read(text: Vec<u8>) -> Value {
    let structure = looks_serialized(&text)
        .then(|| Serialized::decode(&text))
        .flatten()
        .and_then(Serialized::into_value);
    structure.unwrap_or(Value::Bytes(text))
}

/// The value of an option.
pub(super) async fn get_option(cx: &Context<'_>, name: String) -> Result<Option<Value>> {
    let cms = super::open(cx).await?;
    let name = name.trim();
    // Where the system computes what it answers, it does so from another option.
    let source = match name {
        "home" => "siteurl",
        "gmt_offset" => "timezone_string",
        _ => name,
    };
    let options = Options::read(&cms, [name, source]).await?;
    let address = |name: &str| Value::from(options.text(name).trim_end_matches('/'));
    Ok(match name {
        "home" if options.text(name).is_empty() => Some(address(source)),
        "home" | "siteurl" | "category_base" | "tag_base" => options.value(name).map(|_| address(name)),
        "gmt_offset" => match Zone::named(&options.text(source)) {
            Some(zone) => Some(Value::Float(zone.hours(cx.now()))),
            None => options.value(name),
        },
        // The column takes names that differ in case for the same.
        _ => options.0.into_values().next().map(read),
    })
}

/// Stores an option.
pub(super) async fn update_option(cx: &Context<'_>, name: String, value: Value) -> Result<Value> {
    let name = name.trim();
    if name.is_empty() {
        return Err(Error::Argument {
            name: "name",
            expected: "the name of an option",
        });
    }
    check_characters("name", name, NAME_LIMIT)?;
    let cms = super::open(cx).await?;
    if value == Value::Bool(false) {
        // False is also what a missing option reads as: the system makes no row for it.
        let existing: Option<(String,)> = cms.row(EXISTING, params![name]).await?;
        if existing.is_none() {
            return Ok(Value::Bool(true));
        }
    }
    let stored = stored(&value)?;
    let version = Options::read(&cms, ["db_version"]).await?.text("db_version");
    let decides_itself = version.parse::<u32>().is_ok_and(|version| version >= DECIDES_ITSELF);
    let autoload = if decides_itself { "auto" } else { "yes" };
    let written = cms
        .execute(STORE, params![name, stored.clone(), autoload, stored])
        .await?;
    Ok(written.insert_id.to_string().into())
}

/// A value as the system stores it.
fn stored(value: &Value) -> Result<Vec<u8>> {
    let serialized = || {
        let serialized = Serialized::of(value).map(|serialized| serialized.encode());
        serialized.ok_or_else(|| Error::too_long("value", "1 MB, or nested deeper than 64 levels"))
    };
    match value {
        Value::Null | Value::Bool(false) => Ok(Vec::new()),
        Value::Bool(true) => Ok(b"1".to_vec()),
        Value::Int(number) => Ok(number.to_string().into_bytes()),
        Value::Float(number) => Ok(number.to_string().into_bytes()),
        // One that looks like a structure would be read as one.
        Value::Bytes(text) if !looks_serialized(text) => Ok(text.clone()),
        _ => serialized(),
    }
}
