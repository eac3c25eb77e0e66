//! Deleting people, and with them what is theirs.

use crate::contract::Value;
use crate::contract::args::Several;
use crate::contract::error::Result;
use crate::contract::ids::UserId;
use crate::functions::events::{Event, Followers};
use crate::params;
use crate::platform::Context;
use crate::platform::db::{Builder, OnUnknown};

/// Before the row of an agent goes: its foreign key would take the customers' conversations along.
const UNASSIGN: &str = "
    UPDATE sb_conversations
    SET agent_id = NULL
    WHERE agent_id IN ";

/// The internal notes of a conversation are a row of the settings, found by its key. A subquery in its place would be
/// run for every row of the settings.
const FORGET_NOTES: &str = "
    DELETE s
    FROM sb_conversations c
    JOIN sb_settings s ON s.name = CONCAT('notes-', c.id)
    WHERE c.user_id IN ";

/// Conversations, messages and details follow by their foreign keys.
const DELETE_USERS: &str = "
    DELETE FROM sb_users
    WHERE id IN ";

const LEADS: &str = "
    SELECT id
    FROM sb_users
    WHERE user_type = 'lead'
    LIMIT 200";

/// How many users go in one transaction: with their messages a few thousand rows, which a cluster takes at once.
const CHUNK: usize = 200;

/// Deletes a user.
pub(super) async fn delete_user(cx: &Context<'_>, user_id: UserId) -> Result<bool> {
    delete_users(cx, Several(vec![user_id])).await
}

/// Deletes users.
pub(super) async fn delete_users(cx: &Context<'_>, Several(user_ids): Several<UserId>) -> Result<bool> {
    for chunk in user_ids.chunks(CHUNK) {
        delete_chunk(cx, chunk).await?;
    }
    Ok(true)
}

/// Deletes all leads.
pub(super) async fn delete_leads(cx: &Context<'_>) -> Result<bool> {
    loop {
        let leads: Vec<(u32,)> = cx.database()?.rows(LEADS, params![]).await?;
        if leads.is_empty() {
            return Ok(true);
        }
        let leads: Vec<UserId> = leads.into_iter().map(|(id,)| id.into()).collect();
        delete_chunk(cx, &leads).await?;
    }
}

async fn delete_chunk(cx: &Context<'_>, ids: &[UserId]) -> Result<()> {
    let followers = Followers::of(cx).await?;
    let deleted = cx.database()?.transaction(OnUnknown::Report, async |transaction| {
        for part in [UNASSIGN, FORGET_NOTES, DELETE_USERS] {
            let mut statement = Builder::new(part, params![]);
            statement.list(ids.iter().copied());
            let (sql, params) = statement.finish();
            transaction.execute(sql, params).await?;
        }
        let data = || {
            let ids = ids.iter().map(|&id| id.into()).collect();
            Value::map([("user_ids", Value::List(ids))])
        };
        followers.record(transaction, Event::UserDeleted, data).await
    });
    cx.after_commit(deleted.await?);
    Ok(())
}
