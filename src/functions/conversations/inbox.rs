//! Lists of conversations, each shown by its last message.

use std::collections::HashMap;

use crate::contract::Records;
use crate::contract::args::{Department, Page, Since, StatusCode};
use crate::contract::error::{Code, Result};
use crate::contract::ids::{MessageId, UserId};
use crate::contract::status::ConversationStatus;
use crate::contract::value::Columns;
use crate::params;
use crate::platform::Context;
use crate::platform::db::Builder;
use crate::platform::records;

/// The fields of a list item: a message, the conversation's status and the type of the message's author. Who it shows
/// is the conversation's user.
const ITEM: &[&str] = &[
    "id",
    "user_id",
    "message",
    "creation_time",
    "attachments",
    "status_code",
    "payload",
    "conversation_id",
    "first_name",
    "last_name",
    "profile_image",
    "user_type",
    "conversation_status_code",
    "message_user_type",
];

/// The first page walks down the messages from the newest and keeps each that is its conversation's last: a few hundred
/// rows, whatever the size of the tables. The inner MAX is one dive into the index on the conversation.
const WALK: &str = "
    SELECT STRAIGHT_JOIN m.id, c.user_id, m.message, m.creation_time, m.attachments, m.status_code, m.payload,
        m.conversation_id, u.first_name, u.last_name, u.profile_image, u.user_type, c.status_code, a.user_type
    FROM sb_messages m FORCE INDEX (PRIMARY)
    JOIN sb_conversations c ON c.id = m.conversation_id
    JOIN sb_users u ON u.id = c.user_id
    JOIN sb_users a ON a.id = m.user_id
    WHERE m.id > ? AND m.id < ?
        AND m.id = (SELECT MAX(x.id) FROM sb_messages x WHERE x.conversation_id = m.conversation_id)";

const NEWEST_MESSAGE: &str = "
    SELECT MAX(id)
    FROM sb_messages";

/// Pages further down, and filters that match few, begin at the conversations.
const LAST_MESSAGES: &str = "
    SELECT l.last_id
    FROM (
        SELECT (SELECT MAX(x.id) FROM sb_messages x WHERE x.conversation_id = c.id) AS last_id
        FROM sb_conversations c
        WHERE TRUE";

const ITEMS_BY_MESSAGE: &str = "
    SELECT m.id, c.user_id, m.message, m.creation_time, m.attachments, m.status_code, m.payload, m.conversation_id,
        u.first_name, u.last_name, u.profile_image, u.user_type, c.status_code, a.user_type
    FROM sb_messages m
    JOIN sb_conversations c ON c.id = m.conversation_id
    JOIN sb_users u ON u.id = c.user_id
    JOIN sb_users a ON a.id = m.user_id
    WHERE m.id IN ";

/// The newest messages below an id, and when they were written.
const MESSAGES_BELOW: &str = "
    SELECT id, conversation_id, creation_time > ?
    FROM sb_messages
    WHERE id < ?
    ORDER BY id DESC
    LIMIT ?";

const CREATION_TIME: &str = "
    SELECT DATE_FORMAT(creation_time, '%Y-%m-%d %H:%i:%s')
    FROM sb_conversations
    WHERE id = ?";

/// How far the walk goes for a page before it gives way: an empty filter would make it read everything.
const WALK_LIMIT: u32 = 20_000;

/// Above every id.
const NO_END: u32 = u32::MAX;

/// How many messages are looked at first, and at most at once, for what is new.
const FIRST_STEP: u32 = 500;
const LARGEST_STEP: u32 = 50_000;

/// What a list is narrowed to.
pub(crate) struct Filter {
    /// Whose conversations.
    pub(crate) user: Option<UserId>,
    /// Of which status.
    pub(crate) statuses: Statuses,
    /// Of which department.
    pub(crate) department: Option<u8>,
    /// From which source.
    pub(crate) source: Option<String>,
}

/// Statuses of conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Statuses {
    /// The inbox: neither archived nor in the trash.
    Inbox,
    /// This one.
    Only(ConversationStatus),
    /// All.
    All,
}

/// Which part of a list: so many of those whose last message is below an id, behind the first of them.
struct Part {
    below: u32,
    offset: u32,
    limit: u32,
}

impl Filter {
    fn add_to(&self, statement: &mut Builder) {
        match self.statuses {
            Statuses::Only(status) => statement.add(" AND c.status_code = ?", params![status]),
            Statuses::Inbox => statement.add(" AND c.status_code IN (0, 1, 2)", params![]),
            Statuses::All => statement,
        };
        if let Some(user) = self.user {
            statement.add(" AND c.user_id = ?", params![user]);
        }
        if let Some(department) = self.department {
            statement.add(" AND c.department = ?", params![department]);
        }
        if let Some(source) = &self.source {
            statement.add(" AND c.source = ?", params![source]);
        }
    }
}

/// A page of the inbox, or of the conversations of a status.
pub(super) async fn get_conversations(
    cx: &Context<'_>,
    page: Page,
    status_code: StatusCode,
    department: Department,
    source: Option<String>,
) -> Result<Records> {
    let statuses = match status_code {
        StatusCode::Code(status) => Statuses::Only(status),
        StatusCode::NotGiven => Statuses::Inbox,
        StatusCode::Skip | StatusCode::Invalid => return Err(Code::InvalidStatusCode.into()),
    };
    let filter = Filter {
        user: None,
        statuses,
        department: department.fitting()?,
        source,
    };
    let part = Part {
        below: NO_END,
        offset: page.offset(),
        limit: Page::SIZE,
    };
    listed(cx, &filter, part).await
}

/// So many conversations whose last message is below an id, newest first, and whether they are the last.
pub(crate) async fn conversations_before(
    cx: &Context<'_>,
    filter: &Filter,
    before: Option<MessageId>,
    limit: u32,
) -> Result<(Records, bool)> {
    let part = Part {
        below: before.map_or(NO_END, MessageId::number),
        offset: 0,
        // One more shows whether there are more.
        limit: limit + 1,
    };
    let mut conversations = listed(cx, filter, part).await?;
    let is_last = conversations.len() <= limit as usize;
    conversations.truncate(limit as usize);
    Ok((conversations, is_last))
}

async fn listed(cx: &Context<'_>, filter: &Filter, part: Part) -> Result<Records> {
    // A user has few conversations, and pages further down are far away: both begin at the conversations.
    if part.offset > 0 || filter.user.is_some() {
        return by_conversation(cx, filter, part).await;
    }
    let newest = newest_message(cx).await?.min(part.below);
    let floor = newest.saturating_sub(WALK_LIMIT);
    let mut walk = Builder::new(WALK, params![floor, part.below]);
    filter.add_to(&mut walk);
    walk.add(" ORDER BY m.id DESC LIMIT ?", params![part.limit]);
    let (sql, params) = walk.finish();
    let found = cx.database()?.records(sql, params, ITEM).await?;
    if found.len() < part.limit as usize && floor > 0 {
        return by_conversation(cx, filter, part).await;
    }
    Ok(records::messages(found))
}

async fn newest_message(cx: &Context<'_>) -> Result<u32> {
    let row: Option<(Option<u32>,)> = cx.database()?.row(NEWEST_MESSAGE, params![]).await?;
    Ok(row.and_then(|(id,)| id).unwrap_or_default())
}

async fn by_conversation(cx: &Context<'_>, filter: &Filter, part: Part) -> Result<Records> {
    let mut statement = Builder::new(LAST_MESSAGES, params![]);
    filter.add_to(&mut statement);
    statement.add(
        ") l WHERE l.last_id < ? ORDER BY l.last_id DESC LIMIT ? OFFSET ?",
        params![part.below, part.limit, part.offset],
    );
    let (sql, params) = statement.finish();
    let ids: Vec<(u32,)> = cx.database()?.rows(sql, params).await?;
    items(cx, ids.into_iter().map(|(id,)| id).collect()).await
}

/// The list items of conversations by their last messages, newest first.
pub(super) async fn items(cx: &Context<'_>, last_messages: Vec<u32>) -> Result<Records> {
    if last_messages.is_empty() {
        return Ok(Records::new(Columns::Static(ITEM)));
    }
    let mut statement = Builder::new(ITEMS_BY_MESSAGE, params![]);
    statement.list(last_messages);
    statement.add(" ORDER BY m.id DESC", params![]);
    let (sql, params) = statement.finish();
    Ok(records::messages(cx.database()?.records(sql, params, ITEM).await?))
}

/// The conversations that were opened, or written to, after a point.
///
/// Message ids follow time, so the newest messages are read, in growing steps, until a whole step holds none that is
/// new: a cluster hands ids out slightly out of the order of time, and a step is far longer than that.
pub(super) async fn get_new_conversations(cx: &Context<'_>, since: Since) -> Result<Records> {
    let time = match since {
        Since::Time(time) => time.format("%Y-%m-%d %H:%M:%S").to_string(),
        Since::Id(id) => {
            let row: Option<(String,)> = cx.database()?.row(CREATION_TIME, params![id]).await?;
            // Before the first of all, when there is no such conversation.
            row.map_or_else(|| "1000-01-01 00:00:00".to_owned(), |(time,)| time)
        }
    };
    let mut newest_of: HashMap<u32, u32> = HashMap::new();
    let (mut below, mut step) = (u32::MAX, FIRST_STEP);
    loop {
        let messages: Vec<(u32, u32, bool)> = cx.database()?.rows(MESSAGES_BELOW, params![&time, below, step]).await?;
        for (id, conversation, _) in messages.iter().filter(|(_, _, is_new)| *is_new) {
            newest_of.entry(*conversation).or_insert(*id);
        }
        match messages.last() {
            Some((last, ..)) if messages.iter().any(|(_, _, is_new)| *is_new) => below = *last,
            _ => break,
        }
        step = (step * 4).min(LARGEST_STEP);
    }
    if let Since::Id(id) = since {
        newest_of.remove(&id);
    }
    items(cx, newest_of.into_values().collect()).await
}
