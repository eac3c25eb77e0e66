//! Who calls.

use super::login::{record_by_email, record_by_id, session};
use crate::contract::error::Result;
use crate::contract::ids::UserId;
use crate::contract::value::Key;
use crate::contract::{Argument, Map, Value, json};
use crate::platform::Context;
use crate::platform::context::ActiveUser;
use crate::platform::crypto::Purpose;
use crate::platform::records::LOGIN;

/// The active user's login record and login data.
pub(crate) async fn get_active_user(cx: &Context<'_>, db: bool, login_app: Option<String>) -> Result<Option<Value>> {
    if let Some(login_app) = login_app {
        return log_in_from_app(cx, &login_app).await;
    }
    let Some(active) = cx.active_user().await? else {
        return Ok(None);
    };
    let record = if db {
        match record_by_id(cx, active.id).await? {
            Some(record) => record,
            None => return Ok(None),
        }
    } else {
        completed(active)
    };
    let data = cx.login_data(&record).await?;
    Ok(Some(Value::List(vec![Value::Map(record), data.into()])))
}

/// What server code said of the active user, completed to the fields of the contract.
fn completed(active: ActiveUser) -> Map {
    let mut given = active.record;
    let mut text = |name: &'static str| {
        given
            .swap_remove(&Key::from(name))
            .and_then(String::from_value)
            .unwrap_or_default()
            .into()
    };
    let mut record: Map = LOGIN.iter().map(|name| (Key::from(*name), text(name))).collect();
    record.insert("id".into(), active.id.into());
    record
}

/// Ends the session.
pub(super) async fn logout(cx: &Context<'_>) -> Result<bool> {
    cx.log_out();
    Ok(true)
}

/// Changes the login data of the active user.
pub(super) async fn update_login(
    cx: &Context<'_>,
    profile_image: String,
    first_name: String,
    last_name: String,
    email: String,
    department: String,
) -> Result<Option<String>> {
    let Some(active) = cx.active_user().await? else {
        return Ok(None);
    };
    let mut record = active.record;
    for (name, value) in [
        ("profile_image", profile_image),
        ("first_name", first_name),
        ("last_name", last_name),
        ("email", email),
        ("department", department),
    ] {
        record.insert(Key::from(name), value.into());
    }
    cx.log_in(&record).await.map(Some)
}

/// The active user's id.
pub(super) async fn get_active_user_id(cx: &Context<'_>) -> Result<Option<UserId>> {
    Ok(cx.active_user().await?.map(|user| user.id))
}

/// Logs in the user whom the embedding system vouches for, by `[id, e-mail]` encrypted with the installation's key.
async fn log_in_from_app(cx: &Context<'_>, login_app: &str) -> Result<Option<Value>> {
    let vouched = cx
        .keys()
        .await?
        .decrypt(Purpose::Caller, login_app.as_bytes())
        .and_then(|text| json::decode(&text));
    let email = vouched.and_then(|pair| {
        pair.get(&Key::Int(1))
            .and_then(|email| email.as_str().map(str::to_owned))
    });
    let Some(email) = email.filter(|email| !email.is_empty()) else {
        return Ok(None);
    };
    match record_by_email(cx, &email).await? {
        Some(record) => session(cx, record).await.map(Some),
        None => Ok(None),
    }
}
