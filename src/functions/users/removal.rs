//! Deleting people, and with them what is theirs.

use chrono::NaiveDateTime;

use crate::contract::Value;
use crate::contract::args::Several;
use crate::contract::error::Result;
use crate::contract::ids::UserId;
use crate::functions::events::{Event, Followers};
use crate::params;
use crate::platform::Context;
use crate::platform::db::{Builder, OnUnknown, Transaction};
use crate::platform::outbox::Recorded;

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

/// Likewise the row that says which automations have run for a user.
const FORGET_AUTOMATIONS: &str = "
    DELETE s
    FROM sb_users u
    JOIN sb_settings s ON s.name = CONCAT('automation-runs-', u.id)
    WHERE u.id IN ";

/// Conversations, messages and details follow by their foreign keys.
const DELETE_USERS: &str = "
    DELETE FROM sb_users
    WHERE id IN ";

const LEADS: &str = "
    SELECT id
    FROM sb_users
    WHERE user_type = 'lead'
    LIMIT 200";

/// In the order of their ids, so that the next ones begin where these end.
const OLD_VISITORS: &str = "
    SELECT id
    FROM sb_users
    WHERE id > ? AND user_type = 'visitor' AND COALESCE(last_activity, creation_time) < ?
    ORDER BY id
    LIMIT 200";

/// Those who have not come back meanwhile, and shall not do so now.
const STILL_OLD_VISITORS: &str = "
    SELECT id
    FROM sb_users
    WHERE user_type = 'visitor' AND COALESCE(last_activity, creation_time) < ? AND id IN ";

const CONVERSATIONS_OF: &str = "
    SELECT id
    FROM sb_conversations
    WHERE user_id IN ";

const DELETE_MESSAGES: &str = "
    DELETE FROM sb_messages
    WHERE conversation_id IN ";

/// How many messages go in one transaction.
const MESSAGES: u64 = 5_000;

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

/// Deletes the visitors who were not active since then.
pub(crate) async fn delete_old_visitors(cx: &Context<'_>, since: NaiveDateTime) -> Result<()> {
    let followers = Followers::of(cx).await?;
    let mut last = 0;
    loop {
        let visitors: Vec<(u32,)> = cx.database()?.rows(OLD_VISITORS, params![last, since]).await?;
        let Some((end,)) = visitors.last() else {
            return Ok(());
        };
        last = *end;
        while !delete_some(cx, &followers, &visitors, since).await? {}
    }
}

/// Deletes the messages of visitors, as many as go in one transaction, and with the last of them the visitors; whether
/// it came so far.
async fn delete_some(
    cx: &Context<'_>,
    followers: &Followers<'_>,
    visitors: &[(u32,)],
    since: NaiveDateTime,
) -> Result<bool> {
    let deleted = cx.database()?.transaction(OnUnknown::Report, async |transaction| {
        let mut statement = Builder::new(STILL_OLD_VISITORS, params![since]);
        statement.list(visitors.iter().map(|(id,)| *id));
        statement.add(" FOR UPDATE", params![]);
        let (sql, params) = statement.finish();
        let old: Vec<(u32,)> = transaction.rows(sql, params).await?;
        if old.is_empty() {
            return Ok((true, Vec::new()));
        }
        let mut statement = Builder::new(CONVERSATIONS_OF, params![]);
        statement.list(old.iter().map(|(id,)| *id));
        let (sql, params) = statement.finish();
        let conversations: Vec<(u32,)> = transaction.rows(sql, params).await?;
        if !conversations.is_empty() {
            let mut statement = Builder::new(DELETE_MESSAGES, params![]);
            statement.list(conversations.into_iter().map(|(id,)| id));
            statement.add(" LIMIT ?", params![MESSAGES]);
            let (sql, params) = statement.finish();
            if transaction.execute(sql, params).await?.affected == MESSAGES {
                return Ok((false, Vec::new()));
            }
        }
        let old: Vec<UserId> = old.into_iter().map(|(id,)| id.into()).collect();
        Ok((true, delete(transaction, followers, &old).await?))
    });
    let (done, recorded) = deleted.await?;
    cx.after_commit(recorded);
    Ok(done)
}

async fn delete_chunk(cx: &Context<'_>, ids: &[UserId]) -> Result<()> {
    let followers = Followers::of(cx).await?;
    let deleted = cx.database()?.transaction(OnUnknown::Report, async |transaction| {
        delete(transaction, &followers, ids).await
    });
    cx.after_commit(deleted.await?);
    Ok(())
}

async fn delete(transaction: &mut Transaction<'_>, followers: &Followers<'_>, ids: &[UserId]) -> Result<Vec<Recorded>> {
    for part in [UNASSIGN, FORGET_NOTES, FORGET_AUTOMATIONS, DELETE_USERS] {
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
}
