//! Who of the team-messaging workspace is which agent.

use crate::contract::error::Result;
use crate::contract::ids::UserId;
use crate::contract::value::Columns;
use crate::contract::{Argument, Map, Records, Value};
use crate::params;
use crate::platform::Context;
use crate::providers::teamchat::Workspace;

const AGENTS: &str = "
    SELECT id, TRIM(CONCAT(first_name, ' ', last_name))
    FROM sb_users
    WHERE user_type IN ('agent', 'admin')
    ORDER BY id";

const PERSON: &[&str] = &["id", "name"];

/// The settings row of who is who: user id of the workspace → agent id.
const SAVED_ROW: &str = "teamchat-agents";

/// The people of the workspace, the agents, and who is who.
pub(super) async fn teamchat_users(cx: &Context<'_>) -> Result<Value> {
    let mut members = Records::new(Columns::Static(PERSON));
    for member in Workspace::of(cx).await?.members().await? {
        members.push([member.id.into(), member.name.into()]);
    }
    let agents = cx.database()?.records(AGENTS, params![], PERSON).await?;
    Ok(Value::map([
        ("teamchat_users", members.into()),
        ("agents", agents.into()),
        ("saved", saved(cx).await?.into()),
    ]))
}

/// The agents of the workspace's people: user id of the workspace → agent id.
pub(crate) async fn saved(cx: &Context<'_>) -> Result<Map> {
    let stored = cx
        .stored(SAVED_ROW)
        .await?
        .and_then(Map::from_value)
        .unwrap_or_default();
    let agents = stored.into_iter().filter_map(|(member, agent)| {
        let agent = UserId::from_value(agent).filter(|agent| agent.is_some())?;
        Some((member, agent.into()))
    });
    Ok(agents.collect())
}
