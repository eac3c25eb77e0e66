//! A case as its file has it. `tests/cases/README.md` says what each part means.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sb::contract::value::{Failure, FailureClass};
use sb::contract::{Key, Value};
use serde::{Deserialize, Deserializer};

use super::matching::plain;

/// A file of cases.
#[derive(Clone)]
pub struct File {
    path: PathBuf,
}

impl File {
    /// `users/sb_get_user`.
    pub fn name(&self) -> String {
        let name = self.path.strip_prefix(folder_of_cases()).unwrap().with_extension("");
        name.to_str().unwrap().to_owned()
    }

    pub fn cases(&self) -> Vec<Case> {
        let text = std::fs::read(&self.path).unwrap();
        serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", self.path.display()))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub it: String,
    #[serde(default)]
    pub given: Given,
    pub call: Call,
    #[serde(default, deserialize_with = "given_even_if_null")]
    pub gives: Option<Value>,
    pub throws: Option<String>,
    pub message: Option<Value>,
    #[serde(default)]
    pub then: BTreeMap<String, Value>,
    pub doors: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Given {
    pub schema: String,
    pub fixture: Fixtures,
    pub sql: Vec<String>,
    pub login: Option<Value>,
    pub force_admin: bool,
    pub configured: BTreeMap<String, Option<String>>,
    pub calls: Vec<Call>,
}

impl Default for Given {
    fn default() -> Self {
        Self {
            schema: "generation-4".into(),
            fixture: "people".into(),
            sql: Vec::new(),
            login: None,
            force_admin: false,
            configured: BTreeMap::new(),
            calls: Vec::new(),
        }
    }
}

/// What is loaded after the schema.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub enum Fixtures {
    One(String),
    Several(Vec<String>),
}

impl From<&str> for Fixtures {
    fn from(name: &str) -> Self {
        Self::One(name.to_owned())
    }
}

impl Fixtures {
    pub fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names,
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Call {
    ByName { function: String, named: Value },
    ByPosition(Vec<Value>),
}

impl Call {
    pub fn function(&self) -> &str {
        match self {
            Self::ByName { function, .. } => function,
            Self::ByPosition(items) => items[0].as_str().expect("a call begins with the function's name"),
        }
    }

    /// The arguments as the doors take them: a list, or a map by name.
    pub fn arguments(&self, results: &[Value]) -> Result<Value, String> {
        match self {
            Self::ByName { named, .. } => resolved(named, results),
            Self::ByPosition(items) => resolved(&Value::List(items[1..].to_vec()), results),
        }
    }
}

/// Every file of cases, in order.
pub fn files() -> Vec<File> {
    let entries = |path: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(path).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let domains = entries(&folder_of_cases()).into_iter().filter(|path| path.is_dir());
    let mut paths: Vec<PathBuf> = domains.flat_map(|domain| entries(&domain)).collect();
    paths.sort();
    paths.into_iter().map(|path| File { path }).collect()
}

fn folder_of_cases() -> PathBuf {
    root().join("tests/cases")
}

/// The folder of the project.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A value with what JSON cannot hold put in its place.
pub fn resolved(value: &Value, results: &[Value]) -> Result<Value, String> {
    match value {
        Value::List(items) => items
            .iter()
            .map(|item| resolved(item, results))
            .collect::<Result<_, _>>()
            .map(Value::List),
        Value::Map(map) => {
            if let Some((Key::Text(name), of)) = map.first()
                && map.len() == 1
                && let Some(value) = stand_in(name, of, results)
            {
                return value;
            }
            let entries = map
                .iter()
                .map(|(key, value)| Ok((key.clone(), resolved(value, results)?)));
            entries.collect::<Result<_, _>>().map(Value::Map)
        }
        value => Ok(value.clone()),
    }
}

/// What `{name: of}` stands for, if it stands for something.
fn stand_in(name: &[u8], of: &Value, results: &[Value]) -> Option<Result<Value, String>> {
    let text = |value: &Value| {
        value
            .as_str()
            .unwrap_or_else(|| panic!("{of:?} holds no text"))
            .to_owned()
    };
    Some(match (name, of) {
        (b"~bytes", of) => Ok(Value::Bytes(STANDARD.decode(text(of)).expect("~bytes holds base64"))),
        (b"~repeat", Value::List(items)) => match items.as_slice() {
            [piece, Value::Int(times)] => Ok(text(piece).repeat(usize::try_from(*times).unwrap()).into()),
            _ => panic!("~repeat takes [text, times]"),
        },
        (b"~error", Value::List(items)) => match items.as_slice() {
            [code, function, message] => Ok(Value::Error(Box::new(Failure {
                class: FailureClass::Error,
                code: text(code),
                function: text(function),
                message: text(message),
            }))),
            _ => panic!("~error takes [code, function, message]"),
        },
        (b"~result", Value::List(keys)) => found(keys, results),
        _ => return None,
    })
}

/// What lies under `keys` in the results of the earlier calls.
fn found(keys: &[Value], results: &[Value]) -> Result<Value, String> {
    let mut value = plain(&Value::List(results.to_vec()));
    for key in keys {
        let key = match key {
            Value::Int(number) => Key::Int(*number),
            key => Key::from(key.as_str().expect("keys of ~result are numbers and texts").to_owned()),
        };
        value = value
            .get(&key)
            .ok_or_else(|| format!("~result finds no {key:?} in {value:?}"))?
            .clone();
    }
    Ok(value)
}

/// `null` is a result; without the key there is none.
pub fn given_even_if_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
