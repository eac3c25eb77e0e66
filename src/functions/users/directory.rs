//! Records of users.

use crate::contract::error::Result;
use crate::contract::ids::UserId;
use crate::contract::value::Columns;
use crate::contract::{Records, Value};
use crate::params;
use crate::platform::Context;
use crate::platform::records::DETAIL;

/// The password leaves as an empty text.
const USER: &str = "
    SELECT id, first_name, last_name, email, profile_image, user_type, creation_time, last_activity, department, token,
        ''
    FROM sb_users
    WHERE id = ?";

/// One round trip for the user and the details: the user's columns come with each detail, or once when it has none.
/// In no order: the server would sort in a temporary table, which takes four times as long as all the rest.
const USER_WITH_DETAILS: &str = "
    SELECT u.id, u.first_name, u.last_name, u.email, u.profile_image, u.user_type, u.creation_time, u.last_activity,
        u.department, u.token, '', d.id, d.slug, d.name, d.value
    FROM sb_users u
    LEFT JOIN sb_users_data d ON d.user_id = u.id
    WHERE u.id = ?";

const FULL_USER: &[&str] = &[
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
    "password",
    "details",
];

/// The same without details.
const PLAIN_USER: &[&str] = FULL_USER.split_at(FULL_USER.len() - 1).0;

/// The record of a user.
pub(super) async fn get_user(cx: &Context<'_>, user_id: UserId, extra: bool) -> Result<Option<Value>> {
    let database = cx.database()?;
    let user = if extra {
        with_details(database.cells(USER_WITH_DETAILS, params![user_id]).await?)
    } else {
        database.records(USER, params![user_id], PLAIN_USER).await?
    };
    Ok(Some(user).filter(|user| !user.is_empty()).map(Value::Record))
}

/// The user of the first row, and the details of all, in the order in which they were added.
fn with_details(rows: Vec<Vec<Value>>) -> Records {
    let mut user = None;
    let mut details: Vec<_> = rows
        .into_iter()
        .map(|mut row| {
            let detail = row.split_off(PLAIN_USER.len());
            user.get_or_insert(row);
            detail
        })
        .collect();
    let id = |detail: &Vec<Value>| {
        detail
            .first()
            .and_then(Value::as_str)
            .and_then(|id| id.parse::<u32>().ok())
    };
    details.retain(|detail| id(detail).is_some());
    details.sort_by_key(id);
    let mut list = Records::new(Columns::Static(DETAIL));
    for detail in details {
        list.push(detail.into_iter().skip(1));
    }
    let mut records = Records::new(Columns::Static(FULL_USER));
    if let Some(user) = user {
        records.push(user.into_iter().chain([Value::Records(list)]));
    }
    records
}
