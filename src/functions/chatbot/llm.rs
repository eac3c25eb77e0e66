//! Any request to the language model, files included.

use std::fs::File;

use super::agent::{invalid_method, parameters};
use crate::contract::error::{Error, Result};
use crate::contract::value::HostFile;
use crate::contract::{Argument, Map, Value};
use crate::functions::system::{found, media_type_of};
use crate::platform::Context;
use crate::platform::http::web;
use crate::platform::http::{Body, Method, Part};
use crate::platform::uploads::{self, Uploads};
use crate::providers::llm::{LanguageModel, PATIENCE};

/// The longest file that is sent.
const FILE_LIMIT: u64 = 100 << 20;

/// What is known of a file that nobody says anything of.
const BYTES: &str = "application/octet-stream";

/// Sends a request.
pub(super) async fn curl(cx: &Context<'_>, url_part: String, fields: Map, method: String) -> Result<Value> {
    let model = LanguageModel::of(cx, PATIENCE).await?;
    match method.to_ascii_uppercase().as_str() {
        "GET" => model.ask(Method::GET, &url_part, &parameters(fields)?, None).await,
        "DELETE" => model.ask(Method::DELETE, &url_part, &parameters(fields)?, None).await,
        "POST" => {
            let fields = Value::Map(fields);
            let body = Some(Body::Json(&fields));
            model.ask(Method::POST, &url_part, &[], body).await
        }
        "UPLOAD" => {
            let parts = parts(cx, fields).await?;
            let body = Some(Body::Multipart(&parts));
            model.ask(Method::POST, &url_part, &[], body).await
        }
        _ => Err(invalid_method("GET, POST, UPLOAD or DELETE")),
    }
}

/// The parts of a form: fields, and the files that they name.
async fn parts(cx: &Context<'_>, fields: Map) -> Result<Vec<Part>> {
    let mut flat = Vec::new();
    for (name, value) in fields {
        flatten(name.to_text().into_owned(), value, &mut flat);
    }
    let mut parts = Vec::new();
    for (name, value) in flat {
        parts.push(match value {
            Value::File(file) => of_host(name, *file)?,
            Value::Bool(truth) => plain(name, truth.to_string().into_bytes()),
            Value::Bytes(text) => of_text(cx, name, text).await?,
            value => plain(name, String::from_value(value).unwrap_or_default().into_bytes()),
        });
    }
    Ok(parts)
}

/// Lists and maps as fields of their own: `a[]`, `a[b]`.
fn flatten(name: String, value: Value, flat: &mut Vec<(String, Value)>) {
    match value {
        Value::Null => {}
        Value::List(items) => {
            for item in items {
                flatten(format!("{name}[]"), item, flat);
            }
        }
        Value::Map(map) => {
            for (key, item) in map {
                flatten(format!("{name}[{}]", key.to_text()), item, flat);
            }
        }
        value => flat.push((name, value)),
    }
}

fn plain(name: String, content: Vec<u8>) -> Part {
    Part {
        name,
        content,
        file: None,
    }
}

/// A text, or the file that it names.
async fn of_text(cx: &Context<'_>, name: String, text: Vec<u8>) -> Result<Part> {
    let Ok(place) = std::str::from_utf8(&text) else {
        return Ok(plain(name, text));
    };
    let lower = place.get(..8).unwrap_or(place).to_ascii_lowercase();
    if lower.starts_with("http://") || lower.starts_with("https://") {
        return of_link(cx, name, place).await;
    }
    let explicit = place.strip_prefix('@');
    // An installation without a folder of uploads has no files in it.
    let found = match (explicit, cx.uploads()) {
        (Some(path), uploads) => Some(of_path(uploads?, &name, path)?.ok_or_else(|| not_found(path))?),
        (None, Ok(uploads)) => of_path(uploads, &name, place).ok().flatten(),
        (None, Err(_)) => None,
    };
    Ok(found.unwrap_or_else(|| plain(name, text)))
}

/// A file in the uploads.
fn of_path(uploads: Uploads, name: &str, path: &str) -> Result<Option<Part>> {
    let (folder, file) = uploads.locate(path)?;
    let content = folder.read(file, FILE_LIMIT)?;
    Ok(content.map(|content| Part {
        name: name.to_owned(),
        content,
        file: Some((file.to_owned(), media_type_by_name(file))),
    }))
}

/// What lies behind a link.
async fn of_link(cx: &Context<'_>, name: String, link: &str) -> Result<Part> {
    let request = web::Request::new(Method::GET, link)?;
    let file = Some(request.file_name()).filter(|file| !file.is_empty());
    let file = file.unwrap_or_else(|| "file".to_owned());
    let page = found(cx.fetch(request).await?)?;
    let media_type = page.content_type.unwrap_or_else(|| media_type_by_name(&file));
    Ok(Part {
        name,
        content: page.body,
        file: Some((file, media_type)),
    })
}

/// A file that the embedding program vouches for, wherever it lies.
fn of_host(
    name: String,
    HostFile {
        path,
        media_type,
        name: called,
    }: HostFile,
) -> Result<Part> {
    let content = File::open(&path)
        .and_then(|file| uploads::content(file, FILE_LIMIT))
        .map_err(|_| not_found(&path))??
        .ok_or_else(|| not_found(&path))?;
    let own = path.rsplit('/').next().unwrap_or_default().to_owned();
    let called = if called.is_empty() { own } else { called };
    let media_type = if media_type.is_empty() {
        media_type_by_name(&called)
    } else {
        media_type
    };
    Ok(Part {
        name,
        content,
        file: Some((called, media_type)),
    })
}

fn media_type_by_name(name: &str) -> String {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    extension.and_then(media_type_of).unwrap_or(BYTES).to_owned()
}

fn not_found(path: &str) -> Error {
    Error::Refused {
        code: "file-not-found",
        message: format!("there is no file {path}"),
    }
}
