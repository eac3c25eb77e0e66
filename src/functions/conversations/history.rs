//! The conversations of one user, and searching.

use super::inbox::items;
use crate::contract::args::{Page, Several, Since};
use crate::contract::error::Result;
use crate::contract::ids::{ConversationId, UserId};
use crate::contract::value::{Columns, Key};
use crate::contract::{Map, Records, Value};
use crate::params;
use crate::platform::Context;
use crate::platform::db::{Builder, containing};
use crate::platform::records;

/// The fields of a list item that shows the author of the last message.
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
];

const ITEMS: &str = "
    SELECT m.id, m.user_id, m.message, m.creation_time, m.attachments, m.status_code, m.payload, m.conversation_id,
        a.first_name, a.last_name, a.profile_image, a.user_type, c.status_code
    FROM sb_conversations c
    JOIN sb_messages m ON m.id = (SELECT MAX(x.id) FROM sb_messages x WHERE x.conversation_id = c.id)
    JOIN sb_users a ON a.id = m.user_id
    WHERE ";

/// The conversations that an agent wrote in or is assigned to.
const OF_AGENT: &str = "(c.agent_id = ? OR c.id IN (SELECT w.conversation_id FROM sb_messages w WHERE w.user_id = ?))";

/// Newest first. The collation is that of the other tables: messages are stored under one that tells cases apart.
const MESSAGES_WITH: &str = "
    SELECT m.conversation_id
    FROM sb_messages m
    WHERE (m.message COLLATE utf8mb4_unicode_ci LIKE ? OR m.attachments COLLATE utf8mb4_unicode_ci LIKE ?)
    ORDER BY m.id DESC
    LIMIT 500";

const CONVERSATIONS_OF_PEOPLE: &str = "
    SELECT c.id
    FROM sb_users u
    JOIN sb_conversations c ON c.user_id = u.id
    WHERE CONCAT(u.first_name, ' ', u.last_name) LIKE ? OR u.email LIKE ?
    ORDER BY c.id DESC
    LIMIT 100";

const LAST_MESSAGES: &str = "
    SELECT MAX(id)
    FROM sb_messages
    WHERE conversation_id IN ";

const AGENTS: &str = "
    SELECT DISTINCT a.id, a.first_name, a.last_name, a.profile_image, m.conversation_id
    FROM sb_messages m
    JOIN sb_users a ON a.id = m.user_id
    WHERE a.user_type IN ('agent', 'admin') AND m.conversation_id IN ";

const AGENT: &[&str] = &["id", "first_name", "last_name", "profile_image", "conversation_id"];

/// Longer texts are not searched for.
const SEARCH_LIMIT: usize = 200;

/// The conversations of a user, or of an agent, newest first.
pub(super) async fn get_user_conversations(
    cx: &Context<'_>,
    user_id: UserId,
    exclude_id: Option<ConversationId>,
    agents: bool,
) -> Result<Records> {
    let mut statement = of_user(user_id, agents);
    if let Some(excluded) = exclude_id {
        statement.add(" AND c.id <> ?", params![excluded]);
    }
    listed(cx, statement).await
}

/// Those of them that were opened, or written to, after a point.
pub(super) async fn get_new_user_conversations(cx: &Context<'_>, user_id: UserId, since: Since) -> Result<Records> {
    let mut statement = of_user(user_id, false);
    match since {
        Since::Id(id) => statement.add(" AND c.id > ?", params![id]),
        Since::Time(time) => statement.add(" AND (c.creation_time > ? OR m.creation_time > ?)", params![time, time]),
    };
    listed(cx, statement).await
}

/// The conversations of a user whose messages, attachments or title hold a text.
pub(super) async fn search_user_conversations(cx: &Context<'_>, search: String, id: Option<UserId>) -> Result<Records> {
    let user_id = match id {
        Some(id) => id,
        None => match cx.active_user().await? {
            Some(user) => user.id,
            None => return Ok(Records::new(Columns::Static(ITEM))),
        },
    };
    let Some(pattern) = pattern(&search) else {
        return Ok(Records::new(Columns::Static(ITEM)));
    };
    let mut statement = of_user(user_id, false);
    statement.add(
        " AND (c.title LIKE ? OR EXISTS (
            SELECT 1 FROM sb_messages s WHERE s.conversation_id = c.id
                AND (s.message COLLATE utf8mb4_unicode_ci LIKE ? OR s.attachments COLLATE utf8mb4_unicode_ci LIKE ?)))",
        params![&pattern, &pattern, &pattern],
    );
    listed(cx, statement).await
}

/// The newest conversations whose messages, attachments, or whose user's name or address hold a text.
pub(super) async fn search_conversations(cx: &Context<'_>, search: String) -> Result<Records> {
    let Some(pattern) = pattern(&search) else {
        return items(cx, Vec::new()).await;
    };
    let database = cx.database()?;
    // Apart: together the server could use no order of either table.
    let of_messages: Vec<(u32,)> = database.rows(MESSAGES_WITH, params![&pattern, &pattern]).await?;
    let of_people: Vec<(u32,)> = database
        .rows(CONVERSATIONS_OF_PEOPLE, params![&pattern, &pattern])
        .await?;
    let mut conversations: Vec<u32> = of_messages.into_iter().chain(of_people).map(|(id,)| id).collect();
    conversations.sort_unstable();
    conversations.dedup();
    if conversations.is_empty() {
        return items(cx, Vec::new()).await;
    }
    let mut statement = Builder::new(LAST_MESSAGES, params![]);
    statement.list(conversations);
    statement.add(" GROUP BY conversation_id ORDER BY 1 DESC LIMIT ?", params![Page::SIZE]);
    let (sql, params) = statement.finish();
    let last: Vec<(u32,)> = database.rows(sql, params).await?;
    items(cx, last.into_iter().map(|(id,)| id).collect()).await
}

/// The agents who wrote in conversations: conversation id → agents.
pub(super) async fn agents_in_conversation(
    cx: &Context<'_>,
    Several(conversations): Several<ConversationId>,
) -> Result<Map> {
    for conversation in &conversations {
        cx.check_conversation(*conversation).await?;
    }
    let mut found: Map = Map::new();
    if conversations.is_empty() {
        return Ok(found);
    }
    let mut statement = Builder::new(AGENTS, params![]);
    statement.list(conversations);
    statement.add(" ORDER BY m.conversation_id, a.id", params![]);
    let (sql, params) = statement.finish();
    let agents = cx.database()?.records(sql, params, AGENT).await?;
    for agent in agents.rows() {
        let conversation = agent
            .last()
            .and_then(|(_, id)| id.as_bytes())
            .unwrap_or_default()
            .to_vec();
        if let Value::List(list) = found
            .entry(Key::from(conversation))
            .or_insert_with(|| Value::List(Vec::new()))
        {
            list.push(Value::Map(agent));
        }
    }
    Ok(found)
}

fn of_user(user_id: UserId, agent: bool) -> Builder {
    let mut statement = Builder::new(ITEMS, params![]);
    if agent {
        statement.add(OF_AGENT, params![user_id, user_id]);
    } else {
        statement.add("c.user_id = ?", params![user_id]);
    }
    statement
}

async fn listed(cx: &Context<'_>, mut statement: Builder) -> Result<Records> {
    statement.add(" ORDER BY m.id DESC", params![]);
    let (sql, params) = statement.finish();
    Ok(records::messages(cx.database()?.records(sql, params, ITEM).await?))
}

fn pattern(search: &str) -> Option<String> {
    let search = search.trim();
    (!search.is_empty() && search.chars().nth(SEARCH_LIMIT).is_none()).then(|| containing(search))
}
