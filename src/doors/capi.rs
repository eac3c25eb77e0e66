//! The C library: one call by name, JSON in and JSON out. `include/sb.h` is made from this file.
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::contract::error::{Error, Exit, Result};
use crate::contract::value::{Failure, FailureClass};
use crate::contract::{Argument, Arguments, Key, Map, Value, json};
use crate::functions;
use crate::platform::context::Request;
use crate::platform::engine::Engine;
use crate::platform::host::{Host, PlainHost};

/// An installation, and the connection to its database.
///
/// One thread at a time may use a handle; it may move from thread to thread. Several handles may be used in parallel.
/// After fork() the child makes a connection of its own.
#[allow(non_camel_case_types)]
pub struct sb_handle {
    engine: Engine,
    host: PlainHost,
}

/// Opens an installation. It connects on the first call.
///
/// config_json is a map of: db_name, db_user, db_password, db_host, db_port, db_socket, path, url, secret_key (what
/// config.php defines, in upper case and with SB_ before), connect_timeout, statement_timeout, login (the active user: a
/// map with id, user_type, …) and force_admin (true lifts every restriction). Returns NULL when it is no such map.
///
/// # Safety
/// config_json points to len bytes, or is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sb_open(config_json: *const c_char, len: usize) -> *mut sb_handle {
    // SAFETY: the caller's promise above.
    let text = unsafe { bytes(config_json, len) };
    let opened = catch_unwind(AssertUnwindSafe(|| text.and_then(open))).ok().flatten();
    opened.map_or(std::ptr::null_mut(), |handle| Box::into_raw(Box::new(handle)))
}

/// Calls a function of the library.
///
/// function is its name; args_json its arguments, as a list by position or as a map by name; NULL for none. Returns
/// {"ok": value} or {"error": {"code", "function", "message"}}, to be freed with sb_free. Texts that are not UTF-8 come
/// with U+FFFD. NULL only when memory runs out.
///
/// # Safety
/// handle comes from sb_open and is not closed; function is NULL or ends with a NUL byte; args_json points to len
/// bytes, or is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sb_call(
    handle: *mut sb_handle,
    function: *const c_char,
    args_json: *const c_char,
    len: usize,
) -> *mut c_char {
    // SAFETY: the caller's promise above.
    let (handle, name, arguments) = unsafe {
        let name = if function.is_null() {
            "".into()
        } else {
            CStr::from_ptr(function).to_string_lossy()
        };
        (handle.as_ref(), name, bytes(args_json, len))
    };
    let answer = catch_unwind(AssertUnwindSafe(|| call(handle, &name, arguments)));
    let answer = answer.unwrap_or_else(|_| {
        failed(Failure {
            class: FailureClass::Error,
            code: "internal-error".into(),
            function: name.into_owned(),
            message: "the library failed".into(),
        })
    });
    // JSON has no NUL byte: it is written as an escape.
    CString::new(answer).map_or(std::ptr::null_mut(), CString::into_raw)
}

/// Frees a text of sb_call. NULL is ignored.
///
/// # Safety
/// text comes from sb_call and is not freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sb_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: the caller's promise above.
        drop(unsafe { CString::from_raw(text) });
    }
}

/// Closes a handle and its connection. NULL is ignored; closing twice is undefined.
///
/// # Safety
/// handle comes from sb_open, is not closed yet, and no call runs on it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sb_close(handle: *mut sb_handle) {
    if !handle.is_null() {
        // SAFETY: the caller's promise above.
        let handle = unsafe { Box::from_raw(handle) };
        let _ = catch_unwind(AssertUnwindSafe(|| drop(handle)));
    }
}

/// The version of the library, as a text that lives for ever.
#[unsafe(no_mangle)]
pub extern "C" fn sb_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// # Safety
/// text points to len bytes, or is NULL.
unsafe fn bytes<'a>(text: *const c_char, len: usize) -> Option<&'a [u8]> {
    if text.is_null() || isize::try_from(len).is_err() {
        return None;
    }
    // SAFETY: the caller's promise; the length is one that memory can have.
    Some(unsafe { std::slice::from_raw_parts(text.cast(), len) })
}

fn open(config: &[u8]) -> Option<sb_handle> {
    let Value::Map(mut config) = json::decode(config)? else {
        return None;
    };
    let login = config.shift_remove(&Key::from("login"));
    let force_admin = config.shift_remove(&Key::from("force_admin"));
    let names = config.into_iter().filter_map(|(key, value)| {
        let name = format!("SB_{}", key.to_text().to_ascii_uppercase());
        Some((name, String::from_value(value)?))
    });
    let host = PlainHost::new(names.collect::<BTreeMap<_, _>>());
    if let Some(login) = login {
        host.set_global("SB_LOGIN", login);
    }
    host.set_global("SB_FORCE_ADMIN", Value::Bool(force_admin == Some(Value::Bool(true))));
    Some(sb_handle {
        engine: Engine::default(),
        host,
    })
}

fn call(handle: Option<&sb_handle>, name: &str, arguments: Option<&[u8]>) -> String {
    let Some(function) = functions::find(name) else {
        return failed(refusal("unknown-function", name, "there is no function of this name"));
    };
    let Some(handle) = handle else {
        return failed(refusal("argument-error", name, "the handle is NULL"));
    };
    let request = Request::default();
    let outcome = read_arguments(function, arguments)
        .and_then(|arguments| function.run(&handle.engine, &handle.host, &request, arguments));
    functions::deliver_recorded(&handle.engine, &handle.host, &request);
    match outcome.map_or_else(|error| function.exit(error), Exit::Value) {
        Exit::Value(value) => json::encode(&Value::map([("ok", value)])),
        Exit::Object(failure) | Exit::Exception(_, failure) => failed(failure),
    }
}

fn read_arguments(function: &functions::Function, text: Option<&[u8]>) -> Result<Arguments> {
    let refused = |message: &str| Error::Refused {
        code: "argument-error",
        message: message.to_owned(),
    };
    match text.map(json::decode) {
        None => function.named(Map::new()),
        Some(Some(Value::List(values))) => Ok(Arguments::of_values(values)),
        Some(Some(Value::Map(values))) => function.named(values),
        Some(_) => Err(refused("the arguments are no list and no map in JSON")),
    }
}

fn refusal(code: &str, function: &str, message: &str) -> Failure {
    Failure {
        class: FailureClass::Error,
        code: code.to_owned(),
        function: function.to_owned(),
        message: message.to_owned(),
    }
}

fn failed(failure: Failure) -> String {
    json::encode(&Value::map([("error", Value::Error(Box::new(failure)))]))
}
