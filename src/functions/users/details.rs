//! Extra details of users.

use super::accounts::update_user_value;
use crate::contract::Value;
use crate::contract::error::{Code, Result};
use crate::contract::ids::UserId;
use crate::params;
use crate::platform::Context;
use crate::platform::records::DETAIL;

const DETAILS: &str = "
    SELECT slug, name, value
    FROM sb_users_data
    WHERE user_id = ?
    ORDER BY id";

const DETAIL_BY_SLUG: &str = "
    SELECT value
    FROM sb_users_data
    WHERE user_id = ? AND slug = ?";

/// Where a user is on the site.
const CURRENT_URL: &str = "current_url";

/// All details of a user, or the value of one.
pub(super) async fn get_user_extra(
    cx: &Context<'_>,
    user_id: UserId,
    slug: Option<String>,
    default: Value,
) -> Result<Value> {
    match slug {
        None => Ok(cx.database()?.records(DETAILS, params![user_id], DETAIL).await?.into()),
        Some(slug) => Ok(value_of(cx, user_id, &slug).await?.map_or(default, Value::from)),
    }
}

/// The page a user is on; true when it is set.
pub(super) async fn current_url(
    cx: &Context<'_>,
    user_id: Option<UserId>,
    url: Option<String>,
) -> Result<Option<Value>> {
    let user_id = match user_id {
        Some(user_id) => user_id,
        None => cx.active_user().await?.ok_or(Code::UserNotFound)?.id,
    };
    match url {
        None => Ok(value_of(cx, user_id, CURRENT_URL).await?.map(Value::from)),
        Some(url) => {
            let name = Some("Current URL".to_owned());
            update_user_value(cx, user_id, CURRENT_URL.to_owned(), url.into(), name).await?;
            Ok(Some(Value::Bool(true)))
        }
    }
}

async fn value_of(cx: &Context<'_>, user_id: UserId, slug: &str) -> Result<Option<String>> {
    let row: Option<(String,)> = cx.database()?.row(DETAIL_BY_SLUG, params![user_id, slug]).await?;
    Ok(row.map(|(value,)| value))
}
