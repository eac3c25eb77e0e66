//! Who may use a conversation.

use crate::contract::error::Result;
use crate::contract::ids::ConversationId;
use crate::params;
use crate::platform::Context;

const OWNER: &str = "
    SELECT user_id
    FROM sb_conversations
    WHERE id = ?";

/// Whether the active user has no right to a conversation. Nobody has one to a conversation that there is not, but
/// agents and admins to all.
pub(super) async fn conversation_security_error(cx: &Context<'_>, conversation_id: ConversationId) -> Result<bool> {
    if cx.has_authority().await? {
        return Ok(false);
    }
    let Some(active) = cx.restricted_user().await? else {
        return Ok(true);
    };
    let owner: Option<(u32,)> = cx.database()?.row(OWNER, params![conversation_id]).await?;
    Ok(owner.is_none_or(|(owner,)| active.number() != owner))
}
