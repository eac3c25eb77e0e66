//! The records of the contract: their fields, and the columns that fill them.

use crate::contract::json;
use crate::contract::value::{Records, Value};

/// The fields of a basic user record.
pub const USER: &[&str] = &[
    "id",
    "first_name",
    "last_name",
    "email",
    "profile_image",
    "user_type",
    "creation_time",
    "last_activity",
    "department",
    "token",
];

/// The fields of a login record.
pub const LOGIN: [&str; 7] = [
    "id",
    "profile_image",
    "first_name",
    "last_name",
    "email",
    "user_type",
    "token",
];

/// The fields of an extra detail.
pub const DETAIL: &[&str] = &["slug", "name", "value"];

/// The fields of a message.
pub const MESSAGE: &[&str] = &[
    "id",
    "user_id",
    "message",
    "creation_time",
    "attachments",
    "status_code",
    "payload",
    "conversation_id",
    "first_name",
    "last_name",
    "profile_image",
    "user_type",
];

const ATTACHMENTS: usize = 4;
const PAYLOAD: usize = 6;

/// Messages as they leave: attachments as a list and the payload as a map, or an empty text when there is none.
///
/// Empty is what the column holds for "none"; `[]` and null are read as it too, and so is what is no JSON.
pub fn messages(mut records: Records) -> Records {
    for row in records.rows_mut() {
        for column in [ATTACHMENTS, PAYLOAD] {
            if let Some(cell) = row.get_mut(column) {
                *cell = structure(cell);
            }
        }
    }
    records
}

fn structure(cell: &Value) -> Value {
    let decoded = cell.as_bytes().filter(|text| !text.is_empty()).and_then(json::decode);
    decoded
        .filter(|value| matches!(value, Value::List(_) | Value::Map(_)) && value.is_truthy())
        .unwrap_or_else(|| Value::from(""))
}
