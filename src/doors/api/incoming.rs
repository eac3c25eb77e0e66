//! A request as it came.

use percent_encoding::percent_decode_str;

use super::BODY_LIMIT;
use super::failure::{Failure, Refusal};
use crate::contract::{Map, Value, json};
use crate::platform::crypto;
use crate::platform::host::Host;

/// How deep JSON may be nested.
const DEPTH_LIMIT: usize = 64;

/// The kind of a body that is a form.
pub const FORM: &str = "application/x-www-form-urlencoded";

/// The longest id that a client may give its request.
const ID_LIMIT: usize = 64;

/// A request.
pub struct Incoming<'a> {
    host: &'a dyn Host,
    body: &'a [u8],
    /// Its method.
    pub method: String,
    /// Its path, from `/v1` on.
    pub path: String,
    /// Its id: the client's own in `X-Request-Id`, or a new one.
    pub id: String,
}

impl<'a> Incoming<'a> {
    /// Reads what the host knows of it.
    pub fn read(host: &'a dyn Host, body: &'a [u8]) -> Self {
        Self {
            host,
            body,
            method: host.request("REQUEST_METHOD").unwrap_or_default(),
            path: path(host),
            id: id(host),
        }
    }

    /// A header, by its CGI name.
    pub fn header(&self, name: &str) -> Option<String> {
        self.host.request(name)
    }

    /// The parameters of the address. Of several of one name the first counts.
    pub fn parameters(&self) -> Map {
        let target = self.host.request("REQUEST_URI").unwrap_or_default();
        fields(
            target
                .split_once('?')
                .map(|(_, query)| query)
                .unwrap_or_default()
                .as_bytes(),
        )
    }

    /// The body: one JSON object, or a form.
    pub fn object_or_form(&self) -> Result<Map, Failure> {
        if !self.is_of_kind(FORM) {
            return self.object();
        }
        self.check_length()?;
        Ok(fields(self.body))
    }

    /// The body: one JSON object.
    pub fn object(&self) -> Result<Map, Failure> {
        if !self.is_of_kind("application/json") {
            return Err(Failure::of(Refusal::UnsupportedMediaType));
        }
        self.check_length()?;
        if depth(self.body) > DEPTH_LIMIT {
            return Err(Failure::of(Refusal::MalformedJson));
        }
        match json::decode(self.body) {
            Some(Value::Map(map)) => Ok(map),
            _ => Err(Failure::of(Refusal::MalformedJson)),
        }
    }

    fn is_of_kind(&self, kind: &str) -> bool {
        let own = self.header("CONTENT_TYPE").unwrap_or_default();
        let own = own.split(';').next().unwrap_or_default().trim();
        own.eq_ignore_ascii_case(kind)
    }

    /// PHP reads no body that is larger than its `post_max_size`: what is announced counts too.
    fn check_length(&self) -> Result<(), Failure> {
        let announced = self.header("CONTENT_LENGTH").and_then(|length| length.parse().ok());
        if self.body.len().max(announced.unwrap_or_default()) > BODY_LIMIT {
            return Err(Failure::of(Refusal::TooLarge));
        }
        Ok(())
    }
}

/// The fields of a form. Of several of one name the first counts.
fn fields(form: &[u8]) -> Map {
    let mut fields = Map::new();
    for (name, value) in form_urlencoded::parse(form) {
        let value = Value::from(value.into_owned());
        fields.entry(name.into_owned().into()).or_insert(value);
    }
    fields
}

/// The path behind the script, or else behind the address of the installation, which a proxy may have taken away. Web
/// servers decode and tidy it up before scripts see it, each in its own way: it is read as it was sent.
fn path(host: &dyn Host) -> String {
    let target = host.request("REQUEST_URI").unwrap_or_default();
    let path = target.split('?').next().unwrap_or_default();
    let script = host.request("SCRIPT_NAME").unwrap_or_default();
    let url = host.configured("SB_URL").unwrap_or_default();
    let base = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
    let base = base.find('/').map_or("", |at| base.split_at(at).1);
    let behind = behind(path, &script).or_else(|| behind(path, base.trim_end_matches('/')));
    percent_decode_str(behind.unwrap_or(path))
        .decode_utf8_lossy()
        .into_owned()
}

fn behind<'a>(path: &'a str, base: &str) -> Option<&'a str> {
    let behind = path.strip_prefix(base).filter(|_| !base.is_empty());
    behind.filter(|behind| behind.starts_with('/'))
}

fn id(host: &dyn Host) -> String {
    let own = host.request("HTTP_X_REQUEST_ID").filter(|id| {
        let is_of_id = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        (1..=ID_LIMIT).contains(&id.len()) && id.bytes().all(is_of_id)
    });
    // A request without an id of its own is still answered where the system gives no random bytes.
    own.unwrap_or_else(|| crypto::token().unwrap_or_default())
}

/// How deep a JSON text is nested. What is no JSON is found out later.
fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'\\' => {
                            bytes.next();
                        }
                        b'"' => break,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::host::{Cookie, Host};

    struct Asked<'a>(&'a [(&'a str, &'a str)]);

    impl Host for Asked<'_> {
        fn configured(&self, name: &str) -> Option<String> {
            self.request(name)
        }
        fn request(&self, name: &str) -> Option<String> {
            let (_, value) = self.0.iter().find(|(own, _)| *own == name)?;
            Some((*value).to_owned())
        }
        fn global(&self, _: &str) -> Option<Value> {
            None
        }
        fn set_global(&self, _: &'static str, _: Value) {}
        fn cookie(&self, _: &str) -> Option<String> {
            None
        }
        fn set_cookie(&self, _: Cookie) {}
        fn print(&self, _: String) {}
    }

    #[test]
    fn the_path_is_what_is_behind_the_script_or_the_installation() {
        let path = |facts: &[(&str, &str)]| path(&Asked(facts));
        let url = ("SB_URL", "https://support.example/chat");
        assert_eq!(path(&[("REQUEST_URI", "/v1/messages?a=1"), url]), "/v1/messages");
        assert_eq!(path(&[("REQUEST_URI", "/chat/v1/messages"), url]), "/v1/messages");
        assert_eq!(path(&[("REQUEST_URI", "/chatter/v1"), url]), "/chatter/v1");
        assert_eq!(
            path(&[
                ("REQUEST_URI", "/chat/include/api.php/v1/messages"),
                ("SCRIPT_NAME", "/chat/include/api.php"),
                url
            ]),
            "/v1/messages"
        );
        // PHP's own web server names every address a script.
        assert_eq!(
            path(&[("REQUEST_URI", "/v1/messages"), ("SCRIPT_NAME", "/v1/messages")]),
            "/v1/messages"
        );
        assert_eq!(path(&[("REQUEST_URI", "/v1/%6Dessages%ff")]), "/v1/messages\u{fffd}");
        assert_eq!(
            path(&[("REQUEST_URI", "/v1/x"), ("SB_URL", "https://support.example")]),
            "/v1/x"
        );
        assert_eq!(path(&[]), "");
    }

    #[test]
    fn depth_does_not_count_what_is_text() {
        assert_eq!(depth(br#"{"a":["[[[[","\"[[",{}]}"#), 3);
        assert_eq!(depth(b"]]]][["), 2);
        assert_eq!(depth(br#""unfinished \"#), 0);
    }

    #[test]
    fn a_client_may_name_its_request() {
        let id = |given: &str| id(&Asked(&[("HTTP_X_REQUEST_ID", given)]));
        assert_eq!(id("abc-1.2_3"), "abc-1.2_3");
        for given in ["", "a b", "a\n", &"x".repeat(65)] {
            assert_eq!(id(given).len(), 40, "{given:?}");
        }
    }
}
