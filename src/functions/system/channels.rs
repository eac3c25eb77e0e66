//! The channels of the team-messaging workspace.

use crate::contract::error::Result;
use crate::platform::Context;
use crate::providers::teamchat::{Archiving, Workspace};

/// How many channels the service lets one archive within a minute.
const AT_ONCE: usize = 20;

/// Archives channels, as many as the service lets within a minute.
pub(super) async fn archive_teamchat_channels(cx: &Context<'_>) -> Result<bool> {
    let workspace = Workspace::of(cx).await?;
    for channel in workspace.channels().await?.iter().take(AT_ONCE) {
        if workspace.archive(channel).await? == Archiving::TooOften {
            break;
        }
    }
    Ok(true)
}
