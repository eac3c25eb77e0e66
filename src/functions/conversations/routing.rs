//! Queue and routing: which agent a conversation is given to.
//!
//! With the setting `routing` every new conversation goes to the agents of its department in turn. With `queue` an agent
//! gets no more than `queue-concurrent-chats` at a time, and who finds no agent waits.

use crate::contract::args::Argument;
use crate::contract::error::Result;
use crate::contract::ids::ConversationId;
use crate::contract::value::Key;
use crate::contract::{Map, Value, json};
use crate::functions::events::{Event, Followers};
use crate::functions::users::ONLINE_FOR;
use crate::params;
use crate::platform::Context;
use crate::platform::db::{Builder, OnUnknown, Transaction};

/// The settings row of whose turn it was last: department, 0 for none → agent.
const TURN: &str = "routing-last";

const MAKE_TURN: &str = "
    INSERT IGNORE INTO sb_settings (name, value)
    VALUES (?, '{}')";

/// Two at once would take the same agent.
const LOCK_TURN: &str = "
    SELECT value
    FROM sb_settings
    WHERE name = ?
    FOR UPDATE";

const SET_TURN: &str = "
    UPDATE sb_settings
    SET value = ?
    WHERE name = ?";

const AGENTS: &str = "
    SELECT id
    FROM sb_users
    WHERE user_type IN ('agent', 'admin')";

/// Of the conversations that an agent was given last, so many as may be open are counted.
const OPEN: &str = "
    SELECT COUNT(*)
    FROM (SELECT status_code FROM sb_conversations WHERE agent_id = ? ORDER BY id DESC LIMIT 1000) given
    WHERE status_code IN (0, 1, 2)";

const ASSIGN: &str = "
    UPDATE sb_conversations
    SET agent_id = ?
    WHERE id = ?";

/// Who has waited longest, of those who came last.
const WAITING: &str = "
    SELECT MIN(id)
    FROM (SELECT id, status_code FROM sb_conversations WHERE agent_id IS NULL ORDER BY id DESC LIMIT 1000) unassigned
    WHERE status_code = 2";

const PLACE: &str = "
    SELECT agent_id, department
    FROM sb_conversations
    WHERE id = ?";

const LOCK: &str = "
    SELECT agent_id
    FROM sb_conversations
    WHERE id = ?
    FOR UPDATE";

/// How conversations are given out.
pub(super) struct Routing {
    /// How many conversations an agent may have open; `None` without a queue.
    limit: Option<i64>,
    /// Whether agents who are away get conversations too.
    offline_too: bool,
}

impl Routing {
    /// The settings' way; `None` when conversations are not given out. The queue counts only where it is asked for.
    pub(super) async fn of(cx: &Context<'_>, queue: bool) -> Result<Option<Self>> {
        let settings = cx.settings().await?;
        let queue = queue && settings.is_on("queue-active");
        // A checkbox, in generation 5 a multi-input.
        if !queue && !settings.is_on("routing") && !settings.is_on("routing-active") {
            return Ok(None);
        }
        let concurrent = settings.value("queue-concurrent-chats").and_then(i64::from_value);
        Ok(Some(Self {
            limit: queue.then(|| concurrent.filter(|&limit| limit > 0).unwrap_or(DEFAULT_LIMIT)),
            offline_too: settings.is_on("routing-disable-status-check"),
        }))
    }

    /// Gives a conversation to the agent whose turn it is, unless it has one, and says whether it waits for one.
    ///
    /// In a transaction of its own: the count of open conversations has to be read when it is our turn, not as it was
    /// when another transaction began.
    pub(super) async fn route(&self, cx: &Context<'_>, conversation: ConversationId) -> Result<bool> {
        let database = cx.database()?;
        let place: Option<(Option<u32>, Option<u8>)> = database.row(PLACE, params![conversation]).await?;
        let Some((None, department)) = place else {
            return Ok(false);
        };
        let agents = self.agents(cx, department).await?;
        if agents.is_empty() {
            return Ok(self.limit.is_some());
        }
        let followers = Followers::of(cx).await?;
        let (waits, recorded) = database
            .transaction(OnUnknown::Repeat, async |transaction| {
                let turns = turns(transaction).await?;
                let assigned: Option<(Option<u32>,)> = transaction.row(LOCK, params![conversation]).await?;
                if assigned != Some((None,)) {
                    return Ok((false, Vec::new()));
                }
                let Some(agent) = self.next_agent(transaction, turns, department, &agents).await? else {
                    return Ok((self.limit.is_some(), Vec::new()));
                };
                transaction.execute(ASSIGN, params![agent, conversation]).await?;
                let data = || {
                    Value::map([
                        ("conversation_id", conversation.into()),
                        ("agent_id", agent.to_string().into()),
                    ])
                };
                let recorded = followers.record(transaction, Event::ConversationAssigned, data);
                Ok((false, recorded.await?))
            })
            .await?;
        cx.after_commit(recorded);
        Ok(waits)
    }

    /// The agents of a department who may be given something, by their ids.
    async fn agents(&self, cx: &Context<'_>, department: Option<u8>) -> Result<Vec<u32>> {
        let mut query = Builder::new(AGENTS, params![]);
        if let Some(department) = department {
            query.add(" AND department = ?", params![department]);
        }
        if !self.offline_too {
            query.add(" AND last_activity > ?", params![cx.now() - ONLINE_FOR]);
        }
        query.add(" ORDER BY id", params![]);
        let (sql, params) = query.finish();
        let agents: Vec<(u32,)> = cx.database()?.rows(sql, params).await?;
        Ok(agents.into_iter().map(|(agent,)| agent).collect())
    }

    /// The agent behind the one whose turn it was last, if one is free.
    async fn next_agent(
        &self,
        transaction: &mut Transaction<'_>,
        mut turns: Map,
        department: Option<u8>,
        agents: &[u32],
    ) -> Result<Option<u32>> {
        let key = Key::Int(department.unwrap_or_default().into());
        let last = turns.get(&key).cloned().and_then(i64::from_value).unwrap_or_default();
        let (before, behind) = agents.split_at(agents.partition_point(|&agent| i64::from(agent) <= last));
        for &agent in behind.iter().chain(before) {
            if self.is_free(transaction, agent).await? {
                turns.insert(key, Value::Int(agent.into()));
                let turns = json::encode(&Value::Map(turns));
                transaction.execute(SET_TURN, params![turns, TURN]).await?;
                return Ok(Some(agent));
            }
        }
        Ok(None)
    }

    async fn is_free(&self, transaction: &mut Transaction<'_>, agent: u32) -> Result<bool> {
        let Some(limit) = self.limit else { return Ok(true) };
        let open: Option<(i64,)> = transaction.row(OPEN, params![agent]).await?;
        Ok(open.is_none_or(|(open,)| open < limit))
    }
}

/// How many conversations an agent may have open when the setting does not say.
const DEFAULT_LIMIT: i64 = 5;

/// Whose turn it was last. Whoever gives conversations out waits here for the one before.
async fn turns(transaction: &mut Transaction<'_>) -> Result<Map> {
    let mut stored: Option<(Vec<u8>,)> = transaction.row(LOCK_TURN, params![TURN]).await?;
    if stored.is_none() {
        transaction.execute(MAKE_TURN, params![TURN]).await?;
        stored = transaction.row(LOCK_TURN, params![TURN]).await?;
    }
    let turns = stored.and_then(|(text,)| json::decode(&text)).and_then(Map::from_value);
    Ok(turns.unwrap_or_default())
}

/// Gives the conversation that has waited longest in the queue to an agent, if one has become free.
pub(super) async fn assign_next(cx: &Context<'_>) -> Result<()> {
    if let Some(routing) = Routing::of(cx, true).await?.filter(|routing| routing.limit.is_some()) {
        let waiting: Option<(Option<u32>,)> = cx.database()?.row(WAITING, params![]).await?;
        if let Some((Some(id),)) = waiting {
            routing.route(cx, id.into()).await?;
        }
    }
    Ok(())
}
