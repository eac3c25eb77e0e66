//! The suite of the HTTP API, whatever carries it: reading it, asking, comparing. `tests/api/README.md` says what each
//! part means.

use std::collections::BTreeMap;
use std::path::PathBuf;

use sb::contract::{Value, json};
use serde::Deserialize;

use super::bench::Installation;
use super::case::{Given, given_even_if_null, resolved, root};
use super::database::{Database, Server};
use super::matching::{compare, shown};

/// A case: requests in their order, on a database of its own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub it: String,
    #[serde(default)]
    pub given: Given,
    /// Whether the library's own tables are there, and the keys.
    #[serde(default = "yes")]
    pub tables: bool,
    pub asks: Vec<Ask>,
    #[serde(default)]
    pub then: BTreeMap<String, Value>,
}

/// A request, and what is to come.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// Method and target: `GET /healthz`.
    #[allow(clippy::struct_field_names)]
    pub ask: String,
    /// The name of the key.
    #[serde(rename = "as")]
    pub key: Option<String>,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// A body in JSON.
    #[serde(default, deserialize_with = "given_even_if_null")]
    pub body: Option<Value>,
    /// A body as it is.
    #[serde(default, deserialize_with = "given_even_if_null")]
    pub raw: Option<Value>,
    pub status: u16,
    /// Headers of the answer; null: there is none.
    #[serde(default)]
    pub answers: BTreeMap<String, Value>,
    /// The body of the answer in JSON.
    #[serde(default, deserialize_with = "given_even_if_null")]
    pub gives: Option<Value>,
    /// The body of the answer as it is.
    pub text: Option<Value>,
    /// What its body must not hold.
    #[serde(default)]
    pub lacks: Vec<String>,
}

const fn yes() -> bool {
    true
}

/// What carries the API.
pub trait Carrier {
    fn ask(&mut self, method: &str, target: &str, headers: &[(String, String)], body: &[u8]) -> Result<Answer, String>;
}

/// An answer as it arrives.
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// Every case, under the name of its file.
pub fn cases() -> Vec<(String, Case)> {
    let folder = root().join("tests/api");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read(&path).unwrap();
        let cases: Vec<Case> =
            serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        all.extend(cases.into_iter().map(|case| (format!("{name}: {}", case.it), case)));
    }
    all
}

/// Runs a case against a carrier for its installation.
pub fn examine(
    server: &Server,
    name: &str,
    case: &Case,
    open: impl FnOnce(Installation) -> Box<dyn Carrier>,
) -> Result<(), String> {
    let mut database = prepared(server, name, case)?;
    let mut carrier = open(Installation::of(server, &database).with(&case.given));
    for ask in &case.asks {
        examine_one(carrier.as_mut(), ask).map_err(|difference| format!("{}\n{difference}", ask.ask))?;
    }
    for (sql, rows) in &case.then {
        let got = database.rows(sql).map_err(|error| format!("{sql}\n{error}"))?;
        compare(rows, &got).map_err(|difference| format!("{sql}\n{difference}\ngot {}", shown(&got)))?;
    }
    drop(carrier);
    database.drop();
    Ok(())
}

/// The database of a test that is no case, with further statements.
pub fn prepared_plain(server: &Server, name: &str, sql: &[&str]) -> Database {
    let given = Given {
        sql: sql.iter().map(|&sql| sql.to_owned()).collect(),
        ..Given::default()
    };
    let case = Case {
        it: name.to_owned(),
        given,
        tables: true,
        asks: Vec::new(),
        then: BTreeMap::new(),
    };
    prepared(server, name, &case).unwrap()
}

/// The database of a case.
fn prepared(server: &Server, name: &str, case: &Case) -> Result<Database, String> {
    let tables = ["own-tables", "api-keys"].map(|name| {
        let path = root().join("tests/fixtures").join(name).with_extension("sql");
        std::fs::read_to_string(path)
            .unwrap()
            .trim_end()
            .trim_end_matches(';')
            .to_owned()
    });
    let own = if case.tables { tables.to_vec() } else { Vec::new() };
    let given = Given {
        schema: case.given.schema.clone(),
        fixture: case.given.fixture.clone(),
        sql: own.into_iter().chain(case.given.sql.iter().cloned()).collect(),
        ..Given::default()
    };
    Database::create(server, name, &given)
}

fn examine_one(carrier: &mut dyn Carrier, ask: &Ask) -> Result<(), String> {
    let (method, target) = ask.ask.split_once(' ').ok_or("a request is a method and a target")?;
    let mut headers: Vec<(String, String)> = Vec::new();
    headers.extend(
        ask.key
            .iter()
            .map(|key| ("Authorization".to_owned(), format!("Bearer sb_live_{key}"))),
    );
    let mut body = Vec::new();
    if let Some(value) = &ask.body {
        headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        body = json::encode(&resolved(value, &[])?).into_bytes();
    }
    if let Some(raw) = &ask.raw {
        body = match resolved(raw, &[])? {
            Value::Bytes(bytes) => bytes,
            _ => return Err("raw holds a text".into()),
        };
    }
    for (name, value) in &ask.headers {
        headers.retain(|(own, _)| !own.eq_ignore_ascii_case(name));
        headers.push((name.clone(), value.clone()));
    }
    let answer = carrier.ask(method, target, &headers, &body)?;
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    if answer.status != ask.status {
        return Err(format!("status {}, not {}: {text}", answer.status, ask.status));
    }
    for (name, expected) in &ask.answers {
        let got = answer.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        let got = got.map_or(Value::Null, |(_, value)| Value::from(value.as_str()));
        compare(expected, &got).map_err(|difference| format!("header {name}: {difference}"))?;
    }
    if let Some(gives) = &ask.gives {
        let got = json::decode(&answer.body).ok_or_else(|| format!("no JSON: {text}"))?;
        compare(&resolved(gives, &[])?, &got).map_err(|difference| format!("{difference}\ngot {}", shown(&got)))?;
    }
    if let Some(told) = ask.lacks.iter().find(|secret| text.contains(secret.as_str())) {
        return Err(format!("it holds {told}"));
    }
    if let Some(expected) = &ask.text {
        compare(expected, &Value::from(text))?;
    }
    Ok(())
}
