//! A request of a client, as the library's host tells of it.

use std::net::IpAddr;

use hyper::header::{HeaderMap, HeaderName};
use hyper::http::request::Parts;
use sb::contract::Value;
use sb::platform::host::{Cookie, Host};

use super::Shared;

/// A request, and the installation that it is for.
pub struct Asked<'a> {
    shared: &'a Shared,
    parts: &'a Parts,
    address: IpAddr,
}

impl<'a> Asked<'a> {
    /// A request from an address.
    pub fn new(shared: &'a Shared, parts: &'a Parts, address: IpAddr) -> Self {
        Self { shared, parts, address }
    }
}

impl Host for Asked<'_> {
    fn configured(&self, name: &str) -> Option<String> {
        self.shared.constants.get(name).cloned()
    }

    fn global(&self, _: &str) -> Option<Value> {
        None
    }

    fn set_global(&self, _: &'static str, _: Value) {}

    fn request(&self, name: &str) -> Option<String> {
        match name {
            "REQUEST_METHOD" => Some(self.parts.method.as_str().to_owned()),
            "REQUEST_URI" => self.parts.uri.path_and_query().map(ToString::to_string),
            "REMOTE_ADDR" => Some(self.address.to_string()),
            "CONTENT_TYPE" => header(&self.parts.headers, "content-type"),
            _ => {
                let name = name.strip_prefix("HTTP_")?.replace('_', "-").to_ascii_lowercase();
                header(&self.parts.headers, &name)
            }
        }
    }

    fn cookie(&self, _: &str) -> Option<String> {
        None
    }

    fn set_cookie(&self, _: Cookie) {}

    fn print(&self, _: String) {}

    fn figures(&self) -> String {
        self.shared.metrics.text(self.shared.feed.count())
    }
}

/// The value of a header; of several the values, separated by commas.
fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    let name: HeaderName = name.parse().ok()?;
    let values: Vec<_> = headers
        .get_all(name)
        .iter()
        .map(|value| String::from_utf8_lossy(value.as_bytes()))
        .collect();
    (!values.is_empty()).then(|| values.join(", "))
}
