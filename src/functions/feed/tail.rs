//! Finds what is new in the database: messages by themselves, whoever wrote them, and the signs that writes leave.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use super::gaps::Gaps;
use super::signs::{NEW_MESSAGE, Sign};
use super::{Audience, Happened};
use crate::contract::error::Result;
use crate::contract::ids::UserId;
use crate::contract::value::at;
use crate::contract::{Argument, Map, Value, json};
use crate::params;
use crate::platform::db::{Builder, FromRow};
use crate::platform::records::{self, MESSAGE};
use crate::platform::{Context, outbox};

/// How many rows are read at once.
const BATCH: usize = 500;

/// The fields of a message, and whose conversation it is in.
#[allow(clippy::indexing_slicing, reason = "the compiler does it")]
const FOUND: [&str; MESSAGE.len() + 1] = {
    let mut columns = ["conversation_user_id"; MESSAGE.len() + 1];
    let mut at = 0;
    while at < MESSAGE.len() {
        columns[at] = MESSAGE[at];
        at += 1;
    }
    columns
};

const LAST_MESSAGES: &str = "
    SELECT id
    FROM sb_messages
    ORDER BY id DESC
    LIMIT 1000";

const LAST_SIGNS: &str = "
    SELECT id
    FROM sb_outbox
    ORDER BY id DESC
    LIMIT 1000";

const MESSAGES: &str = "
    SELECT STRAIGHT_JOIN n.id, n.user_id, n.message, n.creation_time, n.attachments, n.status_code, n.payload,
        n.conversation_id, u.first_name, u.last_name, u.profile_image, u.user_type, c.user_id
    FROM sb_messages n
    JOIN sb_users u ON u.id = n.user_id
    JOIN sb_conversations c ON c.id = n.conversation_id
    WHERE n.id ";

/// Rows of other channels too: their ids are no gaps.
const SIGNS: &str = "
    SELECT n.id, n.event, IF(n.channel = 'feed', n.payload, NULL)
    FROM sb_outbox n
    WHERE n.id ";

const OWNERS: &str = "
    SELECT id, user_id
    FROM sb_conversations
    WHERE id IN ";

const NEWEST_MESSAGE: &str = "
    SELECT MAX(id)
    FROM sb_messages";

const NEWEST_SIGN: &str = "
    SELECT MAX(id)
    FROM sb_outbox";

/// The end of the tables, as far as it was seen.
pub struct Tail {
    messages: Gaps,
    /// Where there is an outbox.
    signs: Option<Gaps>,
}

/// A sign that was found: what it means, and what it holds.
type Found = (Sign, Map);

impl Tail {
    /// Begins at the present end.
    pub async fn begin(cx: &Context<'_>) -> Result<Self> {
        let now = Instant::now();
        let database = cx.database()?;
        let ids = |rows: Vec<(u64,)>| rows.into_iter().map(|(id,)| id).collect();
        let messages = Gaps::behind(ids(database.rows(LAST_MESSAGES, params![]).await?), now);
        let signs = if database.has(outbox::TABLE).await? {
            Some(Gaps::behind(ids(database.rows(LAST_SIGNS, params![]).await?), now))
        } else {
            None
        };
        Ok(Self { messages, signs })
    }

    /// What is new since the last look. When it fails nothing of it is lost: it comes with the next.
    pub async fn look(&mut self, cx: &Context<'_>) -> Result<Vec<Happened>> {
        let (mut signs, mut messages) = (self.signs.clone(), self.messages.clone());
        // Before the messages: whatever a sign tells of a message, the message itself is found then.
        let told = match &mut signs {
            Some(signs) => tell(cx, unseen_signs(cx, signs).await?).await?,
            None => Vec::new(),
        };
        let said = unseen_messages(cx, &mut messages).await?;
        (self.signs, self.messages) = (signs, messages);
        // A conversation comes before what is said in it.
        let is_opened = |event: &Happened| event.name == Sign::ConversationCreated.name();
        let (opened, others): (Vec<_>, Vec<_>) = told.into_iter().partition(is_opened);
        Ok(opened.into_iter().chain(said).chain(others).collect())
    }

    /// Whether the tables still reach as far as was seen. After a failover to a replica that lagged behind they do not, and
    /// ids are given out again.
    pub async fn holds(&self, cx: &Context<'_>) -> Result<bool> {
        let database = cx.database()?;
        // Of an empty table nothing is known: its rows may have been deleted.
        let reaches = |newest: Option<(Option<u64>,)>, seen: &Gaps| {
            newest
                .and_then(|(newest,)| newest)
                .is_none_or(|newest| newest >= seen.highest())
        };
        if !reaches(database.row(NEWEST_MESSAGE, params![]).await?, &self.messages) {
            return Ok(false);
        }
        match &self.signs {
            Some(signs) => Ok(reaches(database.row(NEWEST_SIGN, params![]).await?, signs)),
            None => Ok(true),
        }
    }
}

async fn unseen_messages(cx: &Context<'_>, gaps: &mut Gaps) -> Result<Vec<Happened>> {
    unseen(MESSAGES, gaps, async |statement| read_messages(cx, statement).await).await
}

async fn unseen_signs(cx: &Context<'_>, gaps: &mut Gaps) -> Result<Vec<Found>> {
    let found = unseen(SIGNS, gaps, async |statement| {
        let rows: Vec<(u64, String, Option<Vec<u8>>)> = read(cx, statement).await?;
        let found = rows.into_iter().map(|(id, name, payload)| {
            let data = payload.and_then(|payload| json::decode(&payload));
            (id, Sign::named(&name).zip(data.and_then(Map::from_value)))
        });
        Ok(found.collect())
    });
    // What is no sign is passed over, and one of a newer version is left to it.
    Ok(found.await?.into_iter().flatten().collect())
}

/// Rows that were not seen yet: those with higher ids, and those that were missing. One statement, and so one moment,
/// finds both: who writes into a conversation waits for whoever does so before, and is never found before that one.
async fn unseen<T>(
    select: &'static str,
    gaps: &mut Gaps,
    read: impl AsyncFn(Builder) -> Result<Vec<(u64, T)>>,
) -> Result<Vec<T>> {
    let now = Instant::now();
    let mut found = Vec::new();
    loop {
        let mut statement = Builder::new(select, params![]);
        statement.add("> ?", params![gaps.highest()]);
        if gaps.missing().len() > 0 {
            statement.add(" OR n.id IN ", params![]).list(gaps.missing());
        }
        statement.add(" ORDER BY n.id LIMIT ?", params![BATCH as u64]);
        let batch = read(statement).await?;
        let is_last = batch.len() < BATCH;
        let new = batch.into_iter().filter(|(id, _)| gaps.note(*id, now));
        found.extend(new.map(|(_, row)| row));
        if is_last {
            gaps.give_up(now);
            return Ok(found);
        }
    }
}

async fn read<T: FromRow>(cx: &Context<'_>, statement: Builder) -> Result<Vec<T>> {
    let (sql, params) = statement.finish();
    cx.database()?.rows(sql, params).await
}

/// Messages as the feed tells them, by their ids.
async fn read_messages(cx: &Context<'_>, statement: Builder) -> Result<Vec<(u64, Happened)>> {
    let (sql, params) = statement.finish();
    let rows = records::messages(cx.database()?.records(sql, params, &FOUND).await?);
    let messages = rows.rows().filter_map(|mut message| {
        let (_, owner) = message.pop()?;
        let id = id_in(&message, "id")?;
        let event = Happened {
            name: NEW_MESSAGE,
            data: Value::Map(message),
            audience: Audience::Owner(UserId::from_value(owner)?),
        };
        Some((id, event))
    });
    Ok(messages.collect())
}

/// What signs tell: messages as they are now, everything else by its ids.
async fn tell(cx: &Context<'_>, signs: Vec<Found>) -> Result<Vec<Happened>> {
    let messages = signs.iter().filter(|(sign, _)| sign.is_of_message());
    let messages = messages_of(cx, messages.filter_map(|(_, data)| id_in(data, "message_id"))).await?;
    let conversations = signs.iter().filter_map(|(_, data)| id_in(data, "conversation_id"));
    let owners = owners_of(cx, conversations).await?;
    let told = signs.into_iter().filter_map(|(sign, data)| {
        let name = sign.name();
        if sign.is_of_message() {
            // One that is gone since has nothing to tell.
            let message = messages.get(&id_in(&data, "message_id")?)?.clone();
            return Some(Happened { name, ..message });
        }
        let owner = id_in(&data, "conversation_id").and_then(|id| owners.get(&id).copied());
        let owner = owner.filter(|_| !sign.is_internal());
        Some(Happened {
            name,
            data: Value::Map(data),
            audience: owner.map_or(Audience::Agents, Audience::Owner),
        })
    });
    Ok(told.collect())
}

async fn messages_of(cx: &Context<'_>, ids: impl Iterator<Item = u64>) -> Result<HashMap<u64, Happened>> {
    match statement_of(MESSAGES, "IN ", ids) {
        Some(statement) => Ok(read_messages(cx, statement).await?.into_iter().collect()),
        None => Ok(HashMap::new()),
    }
}

/// Whose conversations are.
async fn owners_of(cx: &Context<'_>, ids: impl Iterator<Item = u64>) -> Result<HashMap<u64, UserId>> {
    let Some(statement) = statement_of(OWNERS, "", ids) else {
        return Ok(HashMap::new());
    };
    let rows: Vec<(u64, u32)> = read(cx, statement).await?;
    Ok(rows.into_iter().map(|(id, owner)| (id, owner.into())).collect())
}

/// A statement about rows of some ids; none, when there are none.
fn statement_of(select: &'static str, part: &'static str, ids: impl Iterator<Item = u64>) -> Option<Builder> {
    let ids: HashSet<u64> = ids.collect();
    if ids.is_empty() {
        return None;
    }
    let mut statement = Builder::new(select, params![]);
    statement.add(part, params![]).list(ids);
    Some(statement)
}

/// An id in a record or a sign.
fn id_in(data: &Map, name: &'static str) -> Option<u64> {
    let id = i64::from_value(at(data, name)?.clone())?;
    u64::try_from(id).ok().filter(|id| *id > 0)
}
