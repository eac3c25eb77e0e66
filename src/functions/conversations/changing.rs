//! Changing conversations.

use super::routing;
use crate::contract::Value;
use crate::contract::args::StatusCode;
use crate::contract::error::{Code, Result};
use crate::contract::ids::{ConversationId, UserId};
use crate::contract::status::ConversationStatus;
use crate::functions::events::{Event, Followers};
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
