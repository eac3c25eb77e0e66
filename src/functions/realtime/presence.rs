//! Who is connected to the push service.

use std::time::Duration;

use secrecy::ExposeSecret;

use super::channels::{AGENTS, USERS};
use crate::contract::args::{Argument, Several};
use crate::contract::error::Result;
use crate::contract::ids::UserId;
use crate::contract::{Value, json};
use crate::platform::Context;
use crate::providers::realtime::{Application, Keys, is_active};

/// How long a process believes what it has heard of who is there.
const BELIEVED_FOR: Duration = Duration::from_secs(3);

/// Everyone on the channels of presence.
pub(super) async fn online_users(cx: &Context<'_>) -> Result<Vec<Value>> {
    let mut ids: Vec<String> = Vec::new();
    if is_active(cx.settings().await?.as_ref()) {
        let application = Application::of(cx).await?;
        for channel in [AGENTS, USERS] {
            let members = application.members(channel).await?;
            let new: Vec<String> = members.into_iter().filter(|id| !ids.contains(id)).collect();
            ids.extend(new);
        }
    }
    Ok(ids.into_iter().map(|id| Value::map([("id", id.into())])).collect())
}

/// Whether an agent is there.
pub(super) async fn agents_online(cx: &Context<'_>) -> Result<bool> {
    if !is_active(cx.settings().await?.as_ref()) {
        return Ok(false);
    }
    Ok(!Application::of(cx).await?.members(AGENTS).await?.is_empty())
}

/// Who is there, for those who ask the database too: agents only, or everyone. What the service says is believed for
/// three seconds, and nobody is there while it does not answer, so that its outage holds nobody up for long.
pub(crate) async fn present(cx: &Context<'_>, agents: bool) -> Result<Vec<UserId>> {
    if Keys::of(cx.settings().await?.as_ref()).is_none() {
        return Ok(Vec::new());
    }
    let mut ids = members(cx, AGENTS).await?;
    if !agents {
        ids.extend(members(cx, USERS).await?);
    }
    Ok(ids)
}

async fn members(cx: &Context<'_>, channel: &str) -> Result<Vec<UserId>> {
    let read = |text: &str| Several::from_value(Value::from(text)).map_or_else(Vec::new, |Several(ids)| ids);
    let name = format!("realtime {} {channel}", cx.configuration()?.database.name);
    if let Some(known) = cx.kept().get(&name) {
        return Ok(read(known.expose_secret()));
    }
    let found = match Application::of(cx).await {
        Ok(application) => application.members(channel).await.unwrap_or_default(),
        Err(_) => Vec::new(),
    };
    let found = found.into_iter().map(Value::from).collect();
    let text = json::encode(&Value::List(found));
    let ids = read(&text);
    cx.kept().keep(name, text.into(), BELIEVED_FOR);
    Ok(ids)
}
