//! What the embedding program offers: PHP, a C program, a server, the command line.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;

use crate::contract::value::{Key, Map, Value};

/// The embedding program, as the functions see it.
///
/// Everything is read at each call: nothing of one request is seen by the next.
pub trait Host {
    /// A configured value by its name in `config.php`: `SB_DB_NAME`.
    fn configured(&self, name: &str) -> Option<String>;

    /// A global variable: `SB_LOGIN`, `SB_FORCE_ADMIN`.
    fn global(&self, name: &str) -> Option<Value>;

    /// An entry of a global variable that is a map, and the variable itself when it is none: enough to see whether it is
    /// the same as before, without reading all of it.
    fn global_entry(&self, name: &str, key: &'static str) -> Option<Value> {
        self.global(name).and_then(|value| entry(value, key))
    }

    /// Whether [`Host::global_entry`] is that.
    fn is_global_entry(&self, name: &str, key: &'static str, expected: Option<&Value>) -> bool {
        self.global_entry(name, key).as_ref() == expected
    }

    /// Sets a global variable. It may become visible to the program only when the call returns, but is seen by
    /// [`Host::global`] at once.
    fn set_global(&self, name: &'static str, value: Value);

    /// A fact about the request, under its CGI name: `REMOTE_ADDR`, `HTTP_ACCEPT_LANGUAGE`.
    fn request(&self, name: &str) -> Option<String>;

    /// A cookie of the request.
    fn cookie(&self, name: &str) -> Option<String>;

    /// Sends a cookie with the answer, where that is still possible.
    fn set_cookie(&self, cookie: Cookie);

    /// Prints a text to the program's output. It may appear only when the call returns.
    fn print(&self, text: String);

    /// What the program has counted of itself, in the text format of Prometheus.
    fn figures(&self) -> String {
        String::new()
    }
}

/// The entry of a map; what is no map, whole.
pub fn entry(value: Value, key: &'static str) -> Option<Value> {
    match value {
        Value::Map(mut map) => map.swap_remove(&Key::from(key)),
        value => Some(value),
    }
}

/// A cookie to send, for the whole site, out of reach of scripts and of other sites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cookie {
    /// Its name.
    pub name: &'static str,
    /// Its value: letters, digits, `-` and `_`; empty to remove it.
    pub value: String,
    /// Whether it may travel by https only.
    pub secure: bool,
}

impl Cookie {
    /// The header that sends it (RFC 6265). It lives for ten years, or ends at once when it has no value.
    pub fn header(&self) -> String {
        let life = if self.value.is_empty() {
            0
        } else {
            10 * 365 * 24 * 60 * 60
        };
        let secure = if self.secure { "; Secure" } else { "" };
        format!(
            "Set-Cookie: {}={}; Max-Age={life}; Path=/; HttpOnly; SameSite=Lax{secure}",
            self.name, self.value
        )
    }
}

/// A host without a request: a C program, the command line, a test. It prints to the standard output.
#[derive(Default)]
pub struct PlainHost {
    configuration: BTreeMap<String, String>,
    globals: RefCell<Map>,
}

impl PlainHost {
    /// A host with the given configuration, by the names of `config.php`.
    pub fn new(configuration: BTreeMap<String, String>) -> Self {
        Self {
            configuration,
            globals: RefCell::default(),
        }
    }
}

impl Host for PlainHost {
    fn configured(&self, name: &str) -> Option<String> {
        self.configuration.get(name).cloned()
    }

    fn global(&self, name: &str) -> Option<Value> {
        self.globals.borrow().get(&Key::from(name.to_owned())).cloned()
    }

    fn global_entry(&self, name: &str, key: &'static str) -> Option<Value> {
        match self.globals.borrow().get(&Key::from(name.to_owned()))? {
            Value::Map(map) => map.get(&Key::from(key)).cloned(),
            value => Some(value.clone()),
        }
    }

    fn set_global(&self, name: &'static str, value: Value) {
        self.globals.borrow_mut().insert(name.into(), value);
    }

    fn request(&self, _: &str) -> Option<String> {
        None
    }

    fn cookie(&self, _: &str) -> Option<String> {
        None
    }

    fn set_cookie(&self, _: Cookie) {}

    fn print(&self, text: String) {
        // As of any program whose output is closed: what it prints is lost, its work is not.
        let mut output = std::io::stdout().lock();
        let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    }
}
