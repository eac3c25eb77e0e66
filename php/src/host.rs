//! PHP as the core's host: constants, global variables, the request and its answer.

use std::cell::RefCell;
use std::collections::VecDeque;

use ext_php_rs::types::Zval;
use sb::contract::args::Unreadable;
use sb::contract::value::Value;
use sb::platform::host::{Cookie, Host, entry};

use crate::{engine, ini, zval};

/// What a function wants done in PHP. It is done when the function has returned and nothing of Rust is left on the
/// stack: the destructor of an overwritten variable and the filter of an output buffer are PHP code, which may exit, and
/// exit jumps over all frames.
enum Effect {
    Global(&'static str, Value),
    Cookie(Cookie),
    Print(String),
}

thread_local! {
    static PENDING: RefCell<VecDeque<Effect>> = RefCell::default();
}

/// The PHP of this thread.
pub struct Php;

impl Host for Php {
    fn configured(&self, name: &str) -> Option<String> {
        let constant = engine::constant(name).and_then(|value| match zval::read(value) {
            Ok(Value::Bytes(text)) => Some(String::from_utf8_lossy(&text).into_owned()),
            Ok(Value::Int(number)) => Some(number.to_string()),
            Ok(Value::Float(number)) => Some(number.to_string()),
            Ok(_) | Err(Unreadable) => None,
        });
        constant.or_else(|| ini::entry_of(name).and_then(engine::ini))
    }

    fn global(&self, name: &str) -> Option<Value> {
        pending_global(name).or_else(|| engine::global(name).and_then(|value| zval::read(value).ok()))
    }

    fn global_entry(&self, name: &str, key: &'static str) -> Option<Value> {
        if let Some(value) = pending_global(name) {
            return entry(value, key);
        }
        let variable = engine::global(name)?;
        match variable.array() {
            Some(array) => zval::read(array.get(key)?).ok(),
            None => zval::read(variable).ok(),
        }
    }

    fn is_global_entry(&self, name: &str, key: &'static str, expected: Option<&Value>) -> bool {
        // The plain case without a copy: it is asked for every text of a page.
        if let Some(Value::Bytes(expected)) = expected
            && PENDING.with_borrow(VecDeque::is_empty)
            && let Some(entry) = engine::global(name).and_then(|variable| variable.array()?.get(key))
            && let Some(text) = entry.dereference().zend_str()
        {
            return text.as_bytes() == expected;
        }
        self.global_entry(name, key).as_ref() == expected
    }

    fn set_global(&self, name: &'static str, value: Value) {
        PENDING.with_borrow_mut(|pending| pending.push_back(Effect::Global(name, value)));
    }

    fn request(&self, name: &str) -> Option<String> {
        superglobal("_SERVER", name)
    }

    fn cookie(&self, name: &str) -> Option<String> {
        superglobal("_COOKIE", name)
    }

    fn set_cookie(&self, cookie: Cookie) {
        PENDING.with_borrow_mut(|pending| pending.push_back(Effect::Cookie(cookie)));
    }

    fn print(&self, text: String) {
        PENDING.with_borrow_mut(|pending| pending.push_back(Effect::Print(text)));
    }
}

/// The value that a global variable is about to get.
fn pending_global(name: &str) -> Option<Value> {
    PENDING.with_borrow(|pending| {
        pending.iter().rev().find_map(|effect| match effect {
            Effect::Global(own, value) if *own == name => Some(value.clone()),
            _ => None,
        })
    })
}

fn superglobal(variable: &str, name: &str) -> Option<String> {
    let value = engine::global(variable)?.array()?.get(name)?;
    match zval::read(value) {
        Ok(Value::Bytes(text)) => Some(String::from_utf8_lossy(&text).into_owned()),
        _ => None,
    }
}

/// Whether functions wanted something done.
pub fn is_pending() -> bool {
    PENDING.with_borrow(|pending| !pending.is_empty())
}

/// Does what functions wanted done, one by one, each off the list before PHP code can run.
pub fn flush() {
    while let Some(effect) = PENDING.with_borrow_mut(VecDeque::pop_front) {
        match effect {
            Effect::Global(name, value) => {
                let mut variable = Zval::new();
                zval::write(&value, &mut variable);
                drop(value);
                engine::set_global(name, variable);
            }
            Effect::Cookie(cookie) => engine::add_header(&cookie.header()),
            Effect::Print(text) => {
                // Held by PHP, which frees it even when the filter never comes back.
                let mut output = Zval::new();
                engine::set_text(&mut output, text.as_bytes());
                drop(text);
                engine::print(&output);
            }
        }
    }
}

/// Forgets what was not done when the request ended.
pub fn forget() {
    PENDING.with_borrow_mut(VecDeque::clear);
}
