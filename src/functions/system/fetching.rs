//! What lies at addresses that callers give.

use crate::contract::args::{Argument, Fields, HeaderLines, MediaType};
use crate::contract::error::{Error, Outcome, ProviderError, Result};
use crate::contract::{Map, Value, json};
use crate::platform::Context;
use crate::platform::http::web::{Method, Page, Request};

/// Headers that say how a request travels, which is not the caller's to say.
const OUR_HEADERS: [&str; 6] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "transfer-encoding",
    "upgrade",
];

const METHODS: [Method; 7] = [
    Method::GET,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::HEAD,
    Method::OPTIONS,
];

/// Media types and the extensions of their files; of several the first is given to a file, and all are left. SVG is not
/// among them: a drawing of someone else may run scripts in the name of this site.
const MEDIA_TYPES: &[(&str, &[&str])] = &[
    ("image/png", &["png"]),
    ("image/jpeg", &["jpg", "jpeg"]),
    ("image/gif", &["gif"]),
    ("image/webp", &["webp"]),
    ("image/avif", &["avif"]),
    ("image/bmp", &["bmp"]),
    ("image/vnd.microsoft.icon", &["ico"]),
    ("image/x-icon", &["ico"]),
    ("text/css", &["css"]),
    ("text/csv", &["csv"]),
    ("text/plain", &["txt"]),
    ("text/calendar", &["ics"]),
    ("text/vcard", &["vcf"]),
    ("application/json", &["json"]),
    ("application/pdf", &["pdf"]),
    ("application/rtf", &["rtf"]),
    ("application/msword", &["doc"]),
    (
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        &["docx"],
    ),
    ("application/vnd.oasis.opendocument.text", &["odt"]),
    ("application/vnd.ms-excel", &["xls"]),
    (
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        &["xlsx"],
    ),
    ("application/vnd.oasis.opendocument.spreadsheet", &["ods"]),
    ("application/vnd.ms-powerpoint", &["ppt"]),
    (
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        &["pptx"],
    ),
    ("application/vnd.oasis.opendocument.presentation", &["odp"]),
    ("application/zip", &["zip"]),
    ("application/gzip", &["gz"]),
    ("application/x-tar", &["tar"]),
    ("application/x-7z-compressed", &["7z"]),
    ("application/vnd.rar", &["rar"]),
    ("audio/mpeg", &["mp3"]),
    ("audio/mp4", &["m4a"]),
    ("audio/aac", &["aac"]),
    ("audio/ogg", &["ogg", "oga", "opus"]),
    ("audio/wav", &["wav"]),
    ("audio/webm", &["weba", "webm"]),
    ("video/mp4", &["mp4", "m4v"]),
    ("video/quicktime", &["mov"]),
    ("video/webm", &["webm"]),
    ("video/ogg", &["ogv"]),
    ("video/3gpp", &["3gp"]),
    ("video/x-msvideo", &["avi"]),
    ("video/x-matroska", &["mkv"]),
];

/// How long a name may be that an address has given, in characters.
const NAME_LIMIT: usize = 40;

/// Sends a request and gives the array that a JSON answer is, or else the answer's text.
pub(super) async fn curl(
    cx: &Context<'_>,
    url: String,
    fields: Fields,
    HeaderLines(header): HeaderLines,
    method: String,
) -> Result<Value> {
    let method = METHODS.iter().find(|known| method.eq_ignore_ascii_case(known.as_str()));
    let method = method.ok_or(Error::Argument {
        name: "method",
        expected: "GET, POST, PUT, PATCH, DELETE, HEAD or OPTIONS",
    })?;
    let mut request = Request::new(method.clone(), &url)?;
    for (name, value) in header {
        if !OUR_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
            request = request.header(&name, &value)?;
        }
    }
    let page = cx.fetch(with_fields(request, fields)).await?;
    Ok(match json::decode(&page.body) {
        Some(array @ (Value::List(_) | Value::Map(_))) => array,
        _ => page.body.into(),
    })
}

/// The request with its fields: of a form, unless it says that it is JSON.
fn with_fields(request: Request, fields: Fields) -> Request {
    let is_json = request
        .header_of("content-type")
        .is_some_and(|kind| kind.to_ascii_lowercase().contains("json"));
    let decoded = |text: &[u8]| json::decode(text).filter(|value| matches!(value, Value::List(_) | Value::Map(_)));
    match fields {
        Fields::None => request,
        Fields::Map(map) if is_json && !request.has_no_body() => {
            let body = json::encode(&Value::Map(map)).into_bytes();
            request.body(body, "application/json")
        }
        Fields::Map(map) => request.form(&form(map)),
        Fields::Text(text) if request.has_no_body() => match decoded(&text).and_then(Map::from_value) {
            Some(map) => request.form(&form(map)),
            None => request.query(&String::from_utf8_lossy(&text)),
        },
        Fields::Text(text) => {
            let kind = if decoded(&text).is_some() {
                "application/json"
            } else {
                "application/x-www-form-urlencoded"
            };
            request.body(text, kind)
        }
    }
}

/// Fields as PHP's http_build_query names them: `a[b][0]`.
fn form(map: Map) -> Vec<(String, String)> {
    fn add(name: String, value: Value, fields: &mut Vec<(String, String)>) {
        match value {
            Value::Null => {}
            Value::Bool(truth) => fields.push((name, if truth { "1" } else { "0" }.to_owned())),
            value @ (Value::List(_) | Value::Map(_) | Value::Record(_) | Value::Records(_)) => {
                for (key, value) in Map::from_value(value).unwrap_or_default() {
                    add(format!("{name}[{}]", key.to_text()), value, fields);
                }
            }
            value => fields.extend(String::from_value(value).map(|text| (name, text))),
        }
    }
    let mut fields = Vec::new();
    for (key, value) in map {
        add(key.to_text().into_owned(), value, &mut fields);
    }
    fields
}

/// What lies at an address.
pub(super) async fn download(cx: &Context<'_>, url: String) -> Result<Value> {
    let page = found(cx.fetch(Request::new(Method::GET, &url)?).await?)?;
    Ok(page.body.into())
}

/// Saves what lies at an address in the uploads.
pub(super) async fn download_file(
    cx: &Context<'_>,
    url: String,
    file_name: Option<String>,
    kind: MediaType,
) -> Result<String> {
    let request = Request::new(Method::GET, &url)?;
    let original = plain_name(&request.file_name());
    let given = match &kind {
        MediaType::Given(kind) => Some(extension_of(kind).ok_or_else(|| invalid("this media type has no extension"))?),
        MediaType::OfName | MediaType::Detect => None,
    };
    let uploads = cx.uploads()?;
    let page = found(cx.fetch(request).await?)?;
    let name = file_name.as_deref().unwrap_or(&original);
    let (stem, own) = name.rsplit_once('.').unwrap_or((name, ""));
    let extension = match given {
        None if kind == MediaType::OfName && !own.is_empty() => None,
        None => Some(detected(&page).ok_or_else(|| invalid("what came is of no known type"))?),
        given => given,
    };
    let name = match extension {
        Some(extensions) if !extensions.contains(&own.to_ascii_lowercase().as_str()) => {
            let stem = if media_type_of(own).is_some() { stem } else { name };
            format!("{stem}.{}", extensions.first().copied().unwrap_or_default())
        }
        _ => name.to_owned(),
    };
    if name
        .rsplit_once('.')
        .is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("svg"))
    {
        return Err(invalid("a drawing in SVG of someone else may run scripts"));
    }
    if file_name.is_some() {
        uploads.store(&name, &page.body)
    } else {
        uploads.store_beside(&name, &page.body)
    }
}

/// An answer that is what was asked for.
pub(crate) fn found(page: Page) -> Result<Page> {
    if (200..300).contains(&page.status) {
        return Ok(page);
    }
    Err(Error::Provider(Box::new(ProviderError {
        service: "http",
        message: format!("{} answered with HTTP status {}", page.place, page.status),
        outcome: Outcome::NotDone,
        response: None,
    })))
}

/// The extensions of a page's type, as the server says, or else as its first bytes say.
fn detected(page: &Page) -> Option<&'static [&'static str]> {
    let said = page.content_type.as_deref().and_then(extension_of);
    said.or_else(|| extension_of(infer::get(&page.body)?.mime_type()))
}

/// The extensions of files of a media type.
pub(crate) fn extension_of(kind: &str) -> Option<&'static [&'static str]> {
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let (_, extensions) = MEDIA_TYPES.iter().find(|(own, _)| *own == kind)?;
    Some(extensions)
}

/// The media type of files with an extension.
pub(crate) fn media_type_of(extension: &str) -> Option<&'static str> {
    let extension = extension.to_ascii_lowercase();
    let (kind, _) = MEDIA_TYPES
        .iter()
        .find(|(_, extensions)| extensions.contains(&extension.as_str()))?;
    Some(kind)
}

/// A name that somebody else has given, as one that uploads can have.
pub(crate) fn plain_name(name: &str) -> String {
    let plain = |character: char| match character {
        '.' | '_' | '-' | ' ' => character,
        character if character.is_alphanumeric() => character,
        _ => '-',
    };
    let name: String = name.chars().map(plain).collect();
    let (stem, extension) = name.rsplit_once('.').unwrap_or((&name, ""));
    let stem: String = stem.chars().take(NAME_LIMIT).collect();
    let stem = match stem.trim_matches(['.', ' ']) {
        "" => "download",
        stem => stem,
    };
    if extension.is_empty() {
        stem.to_owned()
    } else {
        format!("{stem}.{extension}")
    }
}

fn invalid(why: &str) -> Error {
    Error::Refused {
        code: "invalid-file-name",
        message: why.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_names_of_phps_forms() {
        let map = Map::from_value(
            br#"{"a":"x y","b":[1,true],"c":{"d":{"e":null,"f":false}},"7":2.5}"#
                .to_vec()
                .into(),
        );
        let fields = form(map.unwrap());
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(
            fields,
            [
                ("a", "x y"),
                ("b[0]", "1"),
                ("b[1]", "1"),
                ("c[d][f]", "0"),
                ("7", "2.5")
            ]
        );
    }

    #[test]
    fn a_name_out_of_an_address_is_plain() {
        for (name, plain) in [
            ("photo.jpg", "photo.jpg"),
            ("", "download"),
            (".htaccess", "download.htaccess"),
            ("..", "download"),
            ("a/b\\c:d.png", "a-b-c-d.png"),
            ("x\r\ny.png", "x--y.png"),
            (" é ñ .png", "é ñ.png"),
        ] {
            assert_eq!(plain_name(name), plain, "{name}");
        }
    }
}
