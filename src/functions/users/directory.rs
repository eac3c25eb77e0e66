//! Records of users.

use crate::contract::error::Result;
use crate::contract::ids::UserId;
use crate::contract::value::Columns;
use crate::contract::{Map, Records, Value};
use crate::params;
use crate::platform::Context;
use crate::platform::records::{DETAIL, USER};

const USER_BY_ID: &str = "
    SELECT id, first_name, last_name, email, profile_image, user_type, creation_time, last_activity, department, token
    FROM sb_users
    WHERE id = ?";

/// One round trip for the user and the details: the user's columns come with each detail, or once when it has none.
const USER_WITH_DETAILS: &str = "
    SELECT u.id, u.first_name, u.last_name, u.email, u.profile_image, u.user_type, u.creation_time, u.last_activity,
        u.department, u.token, d.slug, d.name, d.value
    FROM sb_users u
    LEFT JOIN sb_users_data d ON d.user_id = u.id
    WHERE u.id = ?
    ORDER BY d.id";

const USER_WITH_DETAILS_COLUMNS: &[&str] = &[
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
    "slug",
    "name",
    "value",
];

/// The record of a user; its password leaves as an empty text.
pub(super) async fn get_user(cx: &Context<'_>, user_id: UserId, extra: bool) -> Result<Option<Map>> {
    let database = cx.database()?;
    if !extra {
        let users = database.records(USER_BY_ID, params![user_id], USER).await?;
        return Ok(users.rows().next().map(with_password));
    }
    let rows = database
        .records(USER_WITH_DETAILS, params![user_id], USER_WITH_DETAILS_COLUMNS)
        .await?;
    let mut details = Records::new(Columns::Static(DETAIL));
    for row in rows.rows() {
        let mut cells = row.into_iter().skip(USER.len()).map(|(_, cell)| cell);
        if let Some(slug) = cells.next().filter(|slug| *slug != Value::Null) {
            details.push(std::iter::once(slug).chain(cells));
        }
    }
    Ok(rows.rows().next().map(|mut user| {
        user.truncate(USER.len());
        let mut user = with_password(user);
        user.insert("details".into(), details.into());
        user
    }))
}

fn with_password(mut user: Map) -> Map {
    user.insert("password".into(), Value::from(""));
    user
}
