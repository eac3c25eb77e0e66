//! Whoever calls functions on behalf of a request: the user of its key, and nobody that the embedding program knows.

use std::cell::RefCell;

use super::access::Access;
use crate::contract::Value;
use crate::platform::host::{Cookie, Host};

/// The host of one request. Where it is configured and what was asked is the embedding program's, the active user is
/// not: a login cookie that a browser sends along is no right.
pub struct Caller<'a> {
    host: &'a dyn Host,
    login: RefCell<Option<Value>>,
}

impl<'a> Caller<'a> {
    /// Nobody in particular.
    pub fn of(host: &'a dyn Host) -> Self {
        Self {
            host,
            login: RefCell::default(),
        }
    }

    /// Makes the user that a key is bound to the active one.
    pub fn act_for(&self, access: &Access) {
        self.login.replace(access.login());
    }
}

impl Host for Caller<'_> {
    fn configured(&self, name: &str) -> Option<String> {
        self.host.configured(name)
    }

    fn global(&self, name: &str) -> Option<Value> {
        if name == "SB_LOGIN" {
            self.login.borrow().clone()
        } else {
            None
        }
    }

    fn set_global(&self, _: &'static str, _: Value) {}

    fn request(&self, name: &str) -> Option<String> {
        self.host.request(name)
    }

    fn cookie(&self, _: &str) -> Option<String> {
        None
    }

    fn set_cookie(&self, _: Cookie) {}

    fn print(&self, _: String) {}

    fn figures(&self) -> String {
        self.host.figures()
    }
}
