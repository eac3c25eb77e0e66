//! New conversations.

use super::check_length;
use crate::contract::args::{Department, StatusCode};
use crate::contract::error::{Code, Error, Result};
use crate::contract::ids::{ConversationId, UserId};
use crate::contract::status::ConversationStatus;
use crate::contract::value::Columns;
use crate::contract::{Records, Value};
use crate::params;
use crate::platform::Context;
use crate::platform::records::MESSAGE;

const OWNER: &str = "
    SELECT first_name, last_name, profile_image, user_type
    FROM sb_users
    WHERE id = ?";

const NEW_CONVERSATION: &str = "
    INSERT INTO sb_conversations (user_id, title, creation_time, status_code, department, agent_id, source, extra)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)";

/// A foreign key refused the row: the user or the agent does not exist.
const NO_SUCH_USER: u16 = 1452;

/// First name, last name, image and type.
type Owner = (String, String, Option<String>, String);

/// Opens a conversation and gives it as `sb_get_conversation` would.
pub(super) async fn new_conversation(
    cx: &Context<'_>,
    user_id: UserId,
    status_code: StatusCode,
    title: String,
    department: Department,
    agent_id: Option<UserId>,
    source: Option<String>,
    extra: Option<String>,
) -> Result<Value> {
    let status = match status_code {
        StatusCode::Code(status) => status,
        StatusCode::NotGiven => ConversationStatus::Live,
        StatusCode::Skip | StatusCode::Invalid => return Err(Code::InvalidStatusCode.into()),
    };
    let department = department.fitting()?;
    check_length("title", &title, 191)?;
    check_length("source", source.as_deref().unwrap_or_default(), 2)?;
    check_length("extra", extra.as_deref().unwrap_or_default(), 191)?;
    let owner: Option<Owner> = cx.database()?.row(OWNER, params![user_id]).await?;
    let (first_name, last_name, profile_image, user_type) = owner.ok_or(Code::UserNotFound)?;
    let now = cx.now();
    let added = cx
        .database()?
        .execute(
            NEW_CONVERSATION,
            params![user_id, &title, now, status, department, agent_id, source, extra],
        )
        .await
        .map_err(|error| {
            if error.database_number() == Some(NO_SUCH_USER) {
                Error::from(Code::UserNotFound)
            } else {
                error
            }
        })?;
    let id = ConversationId::from(u32::try_from(added.insert_id).unwrap_or_default());
    let details = Value::map([
        ("id", id.into()),
        ("user_id", user_id.into()),
        ("first_name", first_name.into()),
        ("last_name", last_name.into()),
        ("profile_image", profile_image.map_or(Value::Null, Value::from)),
        ("user_type", user_type.into()),
        ("title", title.into()),
        ("conversation_time", now.format("%Y-%m-%d %H:%M:%S").to_string().into()),
        ("conversation_status_code", status.code().to_string().into()),
        (
            "department",
            department.map_or(Value::Null, |department| department.to_string().into()),
        ),
    ]);
    Ok(Value::map([
        ("messages", Records::new(Columns::Static(MESSAGE)).into()),
        ("details", details),
    ]))
}
