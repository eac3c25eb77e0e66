//! Changing conversations: their status and their department.

use super::routing;
use crate::contract::Value;
use crate::contract::args::{Department, StatusCode};
use crate::contract::error::{Code, Result};
use crate::contract::ids::{ConversationId, UserId};
use crate::contract::status::ConversationStatus;
use crate::functions::events::{Event, Followers};
use crate::functions::notify::{Email, Outbox};
use crate::params;
use crate::platform::Context;
use crate::platform::context::refuse_foreign;
use crate::platform::db::{OnUnknown, Transaction};

const LOCK: &str = "
    SELECT user_id
    FROM sb_conversations
    WHERE id = ?
    FOR UPDATE";

const SET_STATUS: &str = "
    UPDATE sb_conversations
    SET status_code = ?
    WHERE id = ?";

const SET_DEPARTMENT: &str = "
    UPDATE sb_conversations
    SET department = ?
    WHERE id = ?";

const AGENTS_OF: &str = "
    SELECT email
    FROM sb_users
    WHERE user_type IN ('agent', 'admin') AND department = ? AND email <> ''
    ORDER BY id";

/// The subject of the e-mail to the agents of a department.
const MOVED: &str = "A conversation was moved to your department";

/// Sets the status. Whoever waits in the queue takes the place of a conversation that ends.
pub(super) async fn update_conversation_status(
    cx: &Context<'_>,
    conversation_id: ConversationId,
    status_code: StatusCode,
) -> Result<bool> {
    let StatusCode::Code(status) = status_code else {
        return Err(Code::InvalidStatusCode.into());
    };
    let data = || {
        Value::map([
            ("conversation_id", conversation_id.into()),
            ("status_code", status.code().to_string().into()),
        ])
    };
    let restricted_to = cx.restricted_user().await?;
    let followers = Followers::of(cx).await?;
    let recorded = cx
        .database()?
        .transaction(OnUnknown::Repeat, async |transaction| {
            lock(transaction, conversation_id, restricted_to).await?;
            transaction
                .execute(SET_STATUS, params![status, conversation_id])
                .await?;
            followers
                .record(transaction, Event::ConversationStatusUpdated, data)
                .await
        })
        .await?;
    cx.after_commit(recorded);
    if matches!(status, ConversationStatus::Archive | ConversationStatus::Trash) {
        // The status is set, and a failure of this would be answered by setting it again.
        let _ = routing::assign_next(cx).await;
    }
    Ok(true)
}

/// Moves a conversation to another department, or to none, and tells its agents by e-mail what is to be said.
pub(super) async fn update_conversation_department(
    cx: &Context<'_>,
    conversation_id: ConversationId,
    department: Department,
    message: Option<String>,
) -> Result<bool> {
    let department = department.fitting()?;
    let data = || {
        Value::map([
            ("conversation_id", conversation_id.into()),
            (
                "department",
                department.map_or(Value::Null, |department| department.to_string().into()),
            ),
        ])
    };
    let restricted_to = cx.restricted_user().await?;
    let followers = Followers::of(cx).await?;
    let outbox = Outbox::of(cx).await?;
    let emails = match message.filter(|_| outbox.is_open()) {
        Some(message) => emails_to_agents(cx, department, &message).await?,
        None => Vec::new(),
    };
    let recorded = cx
        .database()?
        .transaction(OnUnknown::Repeat, async |transaction| {
            lock(transaction, conversation_id, restricted_to).await?;
            transaction
                .execute(SET_DEPARTMENT, params![department, conversation_id])
                .await?;
            let mut recorded = followers.record(transaction, Event::DepartmentUpdated, data).await?;
            for email in &emails {
                recorded.extend(outbox.put(transaction, email.clone()).await?);
            }
            Ok(recorded)
        })
        .await?;
    cx.after_commit(recorded);
    Ok(true)
}

/// An e-mail for each agent of a department.
async fn emails_to_agents(cx: &Context<'_>, department: Option<u8>, message: &str) -> Result<Vec<Email>> {
    let addresses: Vec<(String,)> = cx.database()?.rows(AGENTS_OF, params![department]).await?;
    let email = |(to,)| Email {
        to,
        subject: MOVED.to_owned(),
        message: message.to_owned(),
        is_automatic: true,
        ..Email::default()
    };
    Ok(addresses.into_iter().map(email).collect())
}

/// Locks a conversation, and refuses it to an active user whose it is not. Gives its user.
pub(super) async fn lock(
    transaction: &mut Transaction<'_>,
    conversation: ConversationId,
    restricted_to: Option<UserId>,
) -> Result<UserId> {
    let owner: Option<(u32,)> = transaction.row(LOCK, params![conversation]).await?;
    let (owner,) = owner.ok_or(Code::ConversationNotFound)?;
    refuse_foreign(restricted_to, owner.into())?;
    Ok(owner.into())
}
