//! What someone is, and may do.

use crate::contract::error::Result;
use crate::contract::ids::UserId;
use crate::contract::status::UserType;
use crate::contract::value::at;
use crate::contract::{Argument, Key, Map, Value, json};
use crate::params;
use crate::platform::Context;

const DEPARTMENT: &str = "
    SELECT department
    FROM sb_users
    WHERE id = ?";

/// Whether a user, or a type, is one who answers.
pub(super) async fn is_agent(cx: &Context<'_>, user: Value, exclude_bot: bool, only_admin: bool) -> Result<bool> {
    let user_type = match user {
        Value::Bytes(text) if !text.is_empty() && text != b"false" => {
            let known = std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok());
            known.or_else(|| json::decode(&text).and_then(|user| type_of(&user)))
        }
        user @ (Value::Map(_) | Value::Record(_) | Value::List(_)) => type_of(&user),
        _ => cx.active_user().await?.and_then(|user| user.user_type),
    };
    Ok(match user_type {
        Some(UserType::Admin) => true,
        Some(UserType::Agent) => !only_admin,
        Some(UserType::Bot) => !only_admin && !exclude_bot,
        _ => false,
    })
}

/// The type of a user record, or of the one in the pair that sb_get_active_user gives.
fn type_of(user: &Value) -> Option<UserType> {
    let user = user.get(&Key::Int(0)).unwrap_or(user);
    let user_type = user.get(&Key::from("user_type")).and_then(Value::as_str);
    user_type.and_then(|text| text.parse().ok())
}

/// The settings of the supervisor, when the active user is one. Generation 5 keeps several, in `supervisors`.
pub(super) async fn supervisor(cx: &Context<'_>) -> Result<Option<Value>> {
    let Some(active) = cx.active_user().await? else {
        return Ok(None);
    };
    let settings = cx.settings().await?;
    let several = match settings.value("supervisors") {
        Some(Value::List(supervisors)) => supervisors,
        _ => Vec::new(),
    };
    let all = several.into_iter().chain(settings.value("supervisor"));
    Ok(all.into_iter().find(|supervisor| {
        let id = supervisor
            .get(&Key::from("supervisor-id"))
            .cloned()
            .and_then(UserId::from_value);
        id == Some(active.id)
    }))
}

/// The department of the active user.
pub(super) async fn get_department(cx: &Context<'_>) -> Result<Option<String>> {
    let Some(active) = cx.active_user().await? else {
        return Ok(None);
    };
    if let Some(department) = at(&active.record, "department").cloned() {
        return Ok(String::from_value(department).filter(|department| !department.is_empty()));
    }
    let row: Option<(Option<u8>,)> = cx.database()?.row(DEPARTMENT, params![active.id]).await?;
    Ok(row
        .and_then(|(department,)| department)
        .map(|department| department.to_string()))
}

/// The full name of a user record, or of the active user.
pub(super) async fn get_user_name(cx: &Context<'_>, user: Map) -> Result<String> {
    let user = if user.is_empty() {
        cx.active_user().await?.map(|user| user.record).unwrap_or_default()
    } else {
        user
    };
    let name = |field| {
        at(&user, field)
            .cloned()
            .and_then(String::from_value)
            .unwrap_or_default()
    };
    Ok(format!("{} {}", name("first_name"), name("last_name"))
        .trim()
        .to_owned())
}
