//! An e-mail from one person to another.

use super::people::{Person, people};
use super::sending::send;
use super::writing::{Notice, Writer};
use crate::contract::args::Items;
use crate::contract::error::{Code, Error, Result};
use crate::contract::ids::{ConversationId, UserId};
use crate::functions::attachments::links;
use crate::params;
use crate::platform::Context;
use crate::platform::crypto;

/// Not one in the trash.
const LAST_CONVERSATION: &str = "
    SELECT MAX(id)
    FROM sb_conversations
    WHERE user_id = ? AND status_code <> 4";

/// Sends a message to a user or agent.
pub(super) async fn email(
    cx: &Context<'_>,
    recipient_id: UserId,
    message: String,
    attachments: Items,
    sender_id: Option<UserId>,
) -> Result<bool> {
    let attachments = links(attachments)?;
    if message.is_empty() && attachments.is_empty() {
        return Err(Code::EmptyMessage.into());
    }
    let given = sender_id.filter(|id| id.is_some());
    let sender_id = match given {
        Some(sender) => Some(sender),
        None => cx.active_user().await?.map(|user| user.id),
    };
    let people = people(cx, [Some(recipient_id), sender_id].into_iter().flatten()).await?;
    let find = |id| people.iter().find(|person| person.id == id);
    let recipient = find(recipient_id).ok_or(Code::UserNotFound)?;
    let sender = sender_id.and_then(find);
    if given.is_some() && sender.is_none() {
        return Err(Code::UserNotFound.into());
    }
    let customer = [Some(recipient), sender]
        .into_iter()
        .flatten()
        .find(|person| !person.is_staff());
    let conversation = match customer {
        Some(customer) => last_conversation(cx, customer.id).await?,
        None => None,
    };
    let writer = Writer::of(cx, conversation, [recipient]).await?;
    let what = crypto::token()?;
    let author = sender.map(Person::author);
    let notice = Notice {
        sender: author.as_ref(),
        message: &message,
        instead: None,
        attachments: &attachments,
        bottom: "",
        what: what.get(..16).unwrap_or_default(),
    };
    let email = writer.write(&notice, recipient).ok_or_else(|| Error::Refused {
        code: "email-error",
        message: "the recipient has no e-mail address".into(),
    })?;
    send(cx, email).await?;
    Ok(true)
}

async fn last_conversation(cx: &Context<'_>, customer: UserId) -> Result<Option<ConversationId>> {
    let row: Option<(Option<u32>,)> = cx.database()?.row(LAST_CONVERSATION, params![customer]).await?;
    Ok(row.and_then(|(id,)| id).map(ConversationId::from))
}
