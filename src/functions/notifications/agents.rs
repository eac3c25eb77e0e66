//! Telling agents of a message.

use super::{Notification, Notifier, Recipients};
use crate::contract::args::{Argument, Items};
use crate::contract::error::{Code, Result};
use crate::contract::ids::{ConversationId, UserId};
use crate::contract::value::at;
use crate::contract::{Map, Value};
use crate::functions::attachments::links;
use crate::functions::columns::{self, check_bytes};
use crate::functions::notify::Author;
use crate::params;
use crate::platform::Context;
use crate::platform::crypto;
use crate::platform::db::OnUnknown;

const PLACE: &str = "
    SELECT user_id, agent_id, department
    FROM sb_conversations
    WHERE id = ?";

/// What takes the place of the message may be several of them.
const EMAIL_LIMIT: usize = 1_048_576;

/// Records who is told; it is sent after this has returned.
pub(super) async fn send_agents_notifications(
    cx: &Context<'_>,
    message: String,
    bottom_message: Option<String>,
    conversation_id: Option<ConversationId>,
    attachments: Items,
    user: Option<Map>,
    extra: Map,
) -> Result<bool> {
    let text = |name| {
        at(&extra, name)
            .cloned()
            .and_then(Option::<String>::from_value)
            .flatten()
    };
    let (instead, bottom) = (text("email"), bottom_message.unwrap_or_default());
    let attachments = links(attachments)?;
    if message.is_empty() && attachments.is_empty() && instead.is_none() {
        return Err(Code::EmptyMessage.into());
    }
    check_bytes("message", &message, columns::TEXT)?;
    check_bytes("bottom_message", &bottom, columns::TEXT)?;
    check_bytes("email", instead.as_deref().unwrap_or_default(), EMAIL_LIMIT)?;
    let (agent, department) = match conversation_id {
        Some(conversation) => place(cx, conversation).await?,
        None => (None, None),
    };
    let (sender, author) = match user {
        Some(user) => who(&user),
        None => cx.active_user().await?.map_or((None, None), |user| {
            let (_, author) = who(&user.record);
            (Some(user.id), author)
        }),
    };
    let Some(notifier) = Notifier::of(cx).await? else {
        return Ok(true);
    };
    let recipients = Recipients::Agents {
        agent,
        department,
        present_too: at(&extra, "force").cloned().and_then(bool::from_value).unwrap_or(false),
        except: sender,
    };
    let what = crypto::token()?;
    let notification = Notification {
        sender,
        author,
        conversation: conversation_id,
        message,
        attachments,
        bottom,
        instead,
        what: what.get(..16).unwrap_or_default().to_owned(),
        language_of: None,
    };
    let told = cx
        .database()?
        .transaction(OnUnknown::Report, async |transaction| {
            notifier.tell(transaction, &recipients, || notification.clone()).await
        })
        .await?;
    cx.after_commit(told.recorded);
    Ok(true)
}

/// The agent and the department of a conversation that the active user may use.
async fn place(cx: &Context<'_>, conversation: ConversationId) -> Result<(Option<UserId>, Option<u8>)> {
    let row: Option<(u32, Option<u32>, Option<u8>)> = cx.database()?.row(PLACE, params![conversation]).await?;
    let (owner, agent, department) = row.ok_or(Code::ConversationNotFound)?;
    cx.check_owner(owner.into()).await?;
    Ok((agent.map(UserId::from), department))
}

/// Who a record is about, and by what name and image they are shown, when it says so.
fn who(record: &Map) -> (Option<UserId>, Option<Author>) {
    let text = |name| at(record, name).and_then(Value::as_str).unwrap_or_default();
    let id = at(record, "id")
        .cloned()
        .and_then(UserId::from_value)
        .filter(|id| id.is_some());
    let name = format!("{} {}", text("first_name"), text("last_name"));
    let author = Author {
        name: name.trim().to_owned(),
        image: text("profile_image").to_owned(),
    };
    (id, Some(author).filter(|author| !author.name.is_empty()))
}
