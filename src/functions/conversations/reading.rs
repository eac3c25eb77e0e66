//! Conversations and messages as callers read them.

use crate::contract::args::Since;
use crate::contract::error::{Code, Result};
use crate::contract::ids::{ConversationId, MessageId, UserId};
use crate::contract::value::Columns;
use crate::contract::{Records, Value};
use crate::functions::feed::{self, Sign};
use crate::params;
use crate::platform::Context;
use crate::platform::records::{self, MESSAGE};

/// The fields of a conversation's details. `COALESCE`: a NULL title leaves as an empty text.
const DETAILS: &str = "
    SELECT c.id, c.user_id, u.first_name, u.last_name, u.profile_image, u.user_type, COALESCE(c.title, ''),
        c.creation_time, c.status_code, c.department
    FROM sb_conversations c
    JOIN sb_users u ON u.id = c.user_id
    WHERE c.id = ?
        AND (? IS NULL OR c.user_id = ? OR EXISTS (
            SELECT 1 FROM sb_users a WHERE a.id = ? AND a.user_type IN ('agent', 'admin', 'bot')))";

const DETAILS_COLUMNS: &[&str] = &[
    "id",
    "user_id",
    "first_name",
    "last_name",
    "profile_image",
    "user_type",
    "title",
    "conversation_time",
    "conversation_status_code",
    "department",
];

const MESSAGES: &str = "
    SELECT m.id, m.user_id, m.message, m.creation_time, m.attachments, m.status_code, m.payload, m.conversation_id,
        u.first_name, u.last_name, u.profile_image, u.user_type
    FROM sb_messages m
    JOIN sb_users u ON u.id = m.user_id
    WHERE m.conversation_id = ?
    ORDER BY m.id";

const OWNER: &str = "
    SELECT user_id
    FROM sb_conversations
    WHERE id = ?";

const PAGE: &str = "
    SELECT m.id, m.user_id, m.message, m.creation_time, m.attachments, m.status_code, m.payload, m.conversation_id,
        u.first_name, u.last_name, u.profile_image, u.user_type
    FROM sb_messages m
    JOIN sb_users u ON u.id = m.user_id
    WHERE m.conversation_id = ? AND m.id > ?
    ORDER BY m.id
    LIMIT ?";

const LAST_MESSAGE: &str = "
    SELECT MAX(id)
    FROM sb_messages
    WHERE conversation_id = ?";

const MESSAGES_AFTER_ID: &str = "
    SELECT m.id, m.user_id, m.message, m.creation_time, m.attachments, m.status_code, m.payload, m.conversation_id,
        u.first_name, u.last_name, u.profile_image, u.user_type
    FROM sb_messages m
    JOIN sb_users u ON u.id = m.user_id
    JOIN sb_conversations c ON c.id = m.conversation_id
    WHERE m.conversation_id = ? AND m.id > ?
        AND (? IS NULL OR c.user_id = ? OR EXISTS (
            SELECT 1 FROM sb_users a WHERE a.id = ? AND a.user_type IN ('agent', 'admin', 'bot')))
    ORDER BY m.id";

const MESSAGES_AFTER_TIME: &str = "
    SELECT m.id, m.user_id, m.message, m.creation_time, m.attachments, m.status_code, m.payload, m.conversation_id,
        u.first_name, u.last_name, u.profile_image, u.user_type
    FROM sb_messages m
    JOIN sb_users u ON u.id = m.user_id
    JOIN sb_conversations c ON c.id = m.conversation_id
    WHERE m.conversation_id = ? AND m.creation_time > ?
        AND (? IS NULL OR c.user_id = ? OR EXISTS (
            SELECT 1 FROM sb_users a WHERE a.id = ? AND a.user_type IN ('agent', 'admin', 'bot')))
    ORDER BY m.id";

/// Marks as read what the other side wrote: to an agent the owner's messages, to the owner all others.
const MARK_READ: &str = "
    UPDATE sb_messages
    SET status_code = 2
    WHERE conversation_id = ? AND id <= ? AND status_code = 0 AND (user_id = ?) = ?";

/// Read by the other side.
const SENT: &[u8] = b"0";

/// The conversation's details and messages.
pub(super) async fn get_conversation(
    cx: &Context<'_>,
    user_id: Option<UserId>,
    conversation_id: ConversationId,
) -> Result<Option<Value>> {
    cx.check_conversation(conversation_id).await?;
    let database = cx.database()?;
    let details = database
        .records(
            DETAILS,
            params![conversation_id, user_id, user_id, user_id],
            DETAILS_COLUMNS,
        )
        .await?;
    let Some(owner) = details.row(0).nth(1).and_then(|(_, id)| id_in(id)) else {
        return Ok(None);
    };
    let messages = records::messages(database.records(MESSAGES, params![conversation_id], MESSAGE).await?);
    mark_read(cx, conversation_id, owner, &messages).await?;
    Ok(Some(Value::map([
        ("messages", Value::Records(messages)),
        ("details", Value::Record(details)),
    ])))
}

/// The messages after a point.
pub(super) async fn get_new_messages(
    cx: &Context<'_>,
    user_id: Option<UserId>,
    conversation_id: ConversationId,
    datetime: Since,
    last_id: Option<MessageId>,
) -> Result<Records> {
    cx.check_conversation(conversation_id).await?;
    let since = last_id.map_or(datetime, |id| Since::Id(id.number()));
    let database = cx.database()?;
    let messages = match since {
        Since::Id(last_id) => {
            // Most polls find nothing: one dive into an index says so.
            let newest: Option<(Option<u32>,)> = database.row(LAST_MESSAGE, params![conversation_id]).await?;
            if newest
                .and_then(|(newest,)| newest)
                .is_none_or(|newest| newest <= last_id)
            {
                return Ok(Records::new(Columns::Static(MESSAGE)));
            }
            let params = params![conversation_id, last_id, user_id, user_id, user_id];
            database.records(MESSAGES_AFTER_ID, params, MESSAGE).await?
        }
        Since::Time(time) => {
            let params = params![conversation_id, time, user_id, user_id, user_id];
            database.records(MESSAGES_AFTER_TIME, params, MESSAGE).await?
        }
    };
    Ok(records::messages(messages))
}

/// So many messages of a conversation after an id, oldest first, and whether they are the last.
pub(crate) async fn messages_after(
    cx: &Context<'_>,
    conversation: ConversationId,
    after: MessageId,
    limit: u32,
) -> Result<(Records, bool)> {
    let database = cx.database()?;
    let owner: Option<(u32,)> = database.row(OWNER, params![conversation]).await?;
    let (owner,) = owner.ok_or(Code::ConversationNotFound)?;
    cx.check_owner(owner.into()).await?;
    // One more shows whether there are more.
    let params = params![conversation, after, limit + 1];
    let mut page = database.records(PAGE, params, MESSAGE).await?;
    let is_last = page.len() <= limit as usize;
    page.truncate(limit as usize);
    let messages = records::messages(page);
    mark_read(cx, conversation, owner.into(), &messages).await?;
    Ok((messages, is_last))
}

/// When one side opens the conversation, what the other side wrote is read.
async fn mark_read(cx: &Context<'_>, conversation_id: ConversationId, owner: UserId, messages: &Records) -> Result<()> {
    let Some(reader) = cx.active_user().await? else {
        return Ok(());
    };
    let by_owner = reader.id == owner;
    if !by_owner
        && !reader
            .user_type
            .is_some_and(crate::contract::status::UserType::is_staff)
    {
        return Ok(());
    }
    let mut unread = messages.cells().chunks_exact(MESSAGE.len()).filter(|cells| {
        let author = cells.get(1).and_then(id_in);
        cells.get(5).and_then(Value::as_bytes) == Some(SENT) && (author == Some(owner)) != by_owner
    });
    let Some(last) = unread.next_back().and_then(|cells| cells.first()).and_then(id_in) else {
        return Ok(());
    };
    // Read as a message's id here; both kinds of id are plain numbers.
    let wrote_owner = i64::from(!by_owner);
    let params = params![conversation_id, last.number(), owner, wrote_owner];
    if cx.database()?.execute(MARK_READ, params).await?.affected > 0 {
        let data = Value::map([
            ("conversation_id", conversation_id.into()),
            ("message_id", last.into()),
            ("user_id", reader.id.into()),
        ]);
        feed::tell(cx, Sign::MessagesRead, &data).await;
    }
    Ok(())
}

fn id_in(cell: &Value) -> Option<UserId> {
    cell.as_str()
        .and_then(|text| text.parse::<u32>().ok())
        .map(UserId::from)
}
