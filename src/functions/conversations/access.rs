//! Who may touch which conversation.

use crate::contract::error::{Error, Result};
use crate::contract::ids::UserId;
use crate::platform::Context;

/// Refuses a conversation of `owner` to an active user who may only touch its own.
pub(super) async fn check(cx: &Context<'_>, owner: UserId) -> Result<()> {
    match cx.restricted_user().await? {
        Some(user) if user != owner => Err(Error::security("the active user may use only its own conversations")),
        _ => Ok(()),
    }
}
