//! Section "Settings, articles, automations and utilities": what belongs to no other room.

use crate::contract::args::{Bytes, Keyed};
use crate::contract::error::{Code, Error, Result};
use crate::contract::value::FailureClass;
use crate::contract::{Key, Value, json};
use crate::functions;
use crate::platform::Context;
use crate::platform::crypto::Purpose;

functions! {
    /// Says whether a value is an SBError.
    ///
    /// @param $object the value
    pure fn sb_is_error(object: Value) -> "bool" => is_error;

    /// Says whether a value is an SBValidationError or one of the library's validation codes, such as duplicate-email.
    ///
    /// @param $object the value
    pure fn sb_is_validation_error(object: Value) -> "bool" => is_validation_error;

    /// Returns the value under a key, or a default where the key is missing or holds an empty text.
    ///
    /// @param $array the array; anything else has no keys
    /// @param $key the key
    /// @param $default what to return otherwise
    pure fn sb_isset(array: Keyed, key: Key, default: Value = false) -> "mixed" => isset;

    /// Converts JSON text to an array.
    ///
    /// @param $json the JSON text; an array is returned as it is
    /// @param $default what to return when it is no array in JSON
    pure fn sb_json_array(json: Value, default: Value = []) -> "array<array-key, mixed>|mixed" => json_array;

    /// Encrypts or decrypts a text with the installation's secret key.
    ///
    /// AES-256-GCM (NIST SP 800-38D); the result is base64url text and differs at each call.
    ///
    /// @param $string the text
    /// @param $encrypt false to decrypt
    /// @return the text; false when it was not encrypted with this installation's key or was changed since
    async fn sb_encryption(string: Bytes, encrypt: bool = true) -> "string|false" => encryption;
}

fn is_error(object: Value) -> Result<bool> {
    Ok(matches!(object, Value::Error(failure) if failure.class == FailureClass::Error))
}

fn is_validation_error(object: Value) -> Result<bool> {
    Ok(match object {
        Value::Error(failure) => failure.class == FailureClass::Validation,
        Value::Bytes(text) => Code::ALL.iter().any(|code| code.text().as_bytes() == text),
        _ => false,
    })
}

fn isset(array: Keyed, key: Key, default: Value) -> Result<Value> {
    let found = array.get(&key).map_err(|_| Error::Argument {
        name: "array",
        expected: "an array without objects",
    })?;
    // As PHP's isset: null counts as missing.
    Ok(found
        .filter(|value| *value != Value::Null && value.as_bytes() != Some(b""))
        .unwrap_or(default))
}

fn json_array(json: Value, default: Value) -> Result<Value> {
    let decoded = match json {
        Value::Bytes(text) => json::decode(&text),
        array => Some(array),
    };
    Ok(decoded
        .filter(|value| {
            matches!(
                value,
                Value::List(_) | Value::Map(_) | Value::Record(_) | Value::Records(_)
            )
        })
        .unwrap_or(default))
}

async fn encryption(cx: &Context<'_>, Bytes(string): Bytes, encrypt: bool) -> Result<Value> {
    let keys = cx.keys().await?;
    Ok(if encrypt {
        keys.encrypt(Purpose::Caller, &string)?.into()
    } else {
        keys.decrypt(Purpose::Caller, &string).into()
    })
}
