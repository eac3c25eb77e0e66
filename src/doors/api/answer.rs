//! What a request is answered.

use crate::contract::{Value, json};

/// The status that says that there is no body.
const NO_CONTENT: u16 = 204;

/// An answer, to be carried to whoever asked.
#[derive(Debug, Default)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The headers, in order.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// What failed, for the log: never for whoever asked.
    pub failure: Option<String>,
}

impl Answer {
    /// An answer without a body.
    pub fn empty(status: u16) -> Self {
        Self {
            status,
            ..Self::default()
        }
    }

    /// An answer in JSON.
    pub fn json(status: u16, value: &Value) -> Self {
        Self::text(status, "application/json", json::encode(value))
    }

    /// An answer of a given kind.
    pub fn text(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            body: body.into(),
            ..Self::empty(status).with("Content-Type", kind)
        }
    }

    /// With a header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// With its length, which stands in place of its body where the headers alone are asked for.
    #[must_use]
    pub(super) fn measured(mut self, is_head_only: bool) -> Self {
        if self.status != NO_CONTENT {
            let length = self.body.len().to_string();
            self.headers.push(("Content-Length", length));
        }
        if is_head_only {
            self.body.clear();
        }
        self
    }
}
