//! Who may use a conversation.

use crate::contract::error::{Code, Result};
use crate::contract::ids::ConversationId;
use crate::contract::{Value, json};
use crate::params;
use crate::platform::Context;
use crate::platform::context::refuse_foreign;

const OWNER: &str = "
    SELECT user_id
    FROM sb_conversations
    WHERE id = ?";

const OWNER_AND_ROW: &str = "
    SELECT c.user_id, s.value
    FROM sb_conversations c
    LEFT JOIN sb_settings s ON s.name = ?
    WHERE c.id = ?";

/// A row of the settings that tells of a conversation, when the active user may use that; null when there is no row.
pub(super) async fn stored(cx: &Context<'_>, conversation_id: ConversationId, row: &str) -> Result<Value> {
    let restricted_to = cx.restricted_user().await?;
    let known: Option<(u32, Option<Vec<u8>>)> =
        cx.database()?.row(OWNER_AND_ROW, params![row, conversation_id]).await?;
    let (owner, text) = known.ok_or(Code::ConversationNotFound)?;
    refuse_foreign(restricted_to, owner.into())?;
    Ok(text.and_then(|text| json::decode(&text)).unwrap_or_default())
}

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
