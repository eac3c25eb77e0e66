//! Clean-up: what is too old goes, or into the archive.
//!
//! Rows are found in the order of their ids, each step beginning where the last has ended, and written in chunks: a
//! cluster takes large writes at once, and lets everyone wait meanwhile.

use chrono::TimeDelta;

use crate::contract::error::Result;
use crate::functions::users;
use crate::params;
use crate::platform::Context;
use crate::platform::db::Builder;

const VISITORS_AGE: TimeDelta = TimeDelta::hours(24);
const TRASH_AGE: TimeDelta = TimeDelta::days(30);
const CONVERSATIONS_AGE: TimeDelta = TimeDelta::hours(24);

/// How many rows are written at once.
const CHUNK: usize = 5_000;

const OLD_MESSAGES: &str = "
    SELECT STRAIGHT_JOIN c.id, m.id
    FROM sb_conversations c
    JOIN sb_messages m ON m.conversation_id = c.id
    WHERE c.id >= ? AND c.status_code = 4 AND m.creation_time < ?
    ORDER BY c.id
    LIMIT ?";

/// Those of them that are still in the trash.
const DELETE_MESSAGES: &str = "
    DELETE m
    FROM sb_messages m
    JOIN sb_conversations c ON c.id = m.conversation_id
    WHERE c.status_code = 4 AND m.id IN ";

const OLD_CONVERSATIONS: &str = "
    SELECT id
    FROM sb_conversations FORCE INDEX (PRIMARY)
    WHERE id > ? AND status_code IN (0, 1) AND creation_time < ?
    ORDER BY id
    LIMIT ?";

/// Those of them that nobody has answered meanwhile.
const ARCHIVE: &str = "
    UPDATE sb_conversations
    SET status_code = 3
    WHERE status_code IN (0, 1) AND id IN ";

/// Deletes old visitors and what has lain in the trash for long, and archives old conversations.
pub(super) async fn clean_data(cx: &Context<'_>) -> Result<bool> {
    users::delete_old_visitors(cx, cx.now() - VISITORS_AGE).await?;
    empty_trash(cx).await?;
    archive(cx).await?;
    Ok(true)
}

async fn empty_trash(cx: &Context<'_>) -> Result<()> {
    let since = cx.now() - TRASH_AGE;
    let mut conversation = 0;
    loop {
        let params = params![conversation, since, CHUNK as u64];
        let messages: Vec<(u32, u32)> = cx.database()?.rows(OLD_MESSAGES, params).await?;
        let Some((last, _)) = messages.last() else {
            return Ok(());
        };
        // The last one may have more of them.
        conversation = *last;
        let found = messages.len();
        let deleted = write(cx, DELETE_MESSAGES, messages.into_iter().map(|(_, id)| id)).await?;
        if found < CHUNK || deleted == 0 {
            return Ok(());
        }
    }
}

async fn archive(cx: &Context<'_>) -> Result<()> {
    let since = cx.now() - CONVERSATIONS_AGE;
    let mut last = 0;
    loop {
        let params = params![last, since, CHUNK as u64];
        let conversations: Vec<(u32,)> = cx.database()?.rows(OLD_CONVERSATIONS, params).await?;
        let Some((end,)) = conversations.last() else {
            return Ok(());
        };
        last = *end;
        let found = conversations.len();
        write(cx, ARCHIVE, conversations.into_iter().map(|(id,)| id)).await?;
        if found < CHUNK {
            return Ok(());
        }
    }
}

async fn write(cx: &Context<'_>, part: &'static str, ids: impl Iterator<Item = u32>) -> Result<u64> {
    let mut statement = Builder::new(part, params![]);
    statement.list(ids);
    let (sql, params) = statement.finish();
    Ok(cx.database()?.execute(sql, params).await?.affected)
}
