//! Messages to the platform that a conversation comes from.

use crate::functions::attachments::links;
use super::sending::TEXT_LIMIT;
use crate::contract::args::{Argument, Items};
use crate::contract::error::{Code, Error, Outcome, Result};
use crate::contract::ids::{ConversationId, MessageId};
use crate::contract::json;
use crate::contract::value::{Key, Map, Value};
use crate::functions::formatting::{to_html, to_plain};
use crate::functions::notify::{Email, Outbox};
use crate::functions::sms::normal;
use crate::functions::system::without_shortcodes;
use crate::params;
use crate::platform::Context;
use crate::platform::db::{OnUnknown, Transaction};
use crate::providers::messaging::{self, Message};
use crate::providers::parts::parts;
use crate::providers::sms::{Account, MEDIA_LIMIT, WHATSAPP};

const CONVERSATION: &str = "
    SELECT c.user_id, COALESCE(c.source, ''), COALESCE(c.extra, ''), COALESCE(c.title, ''), COALESCE(u.email, '')
    FROM sb_conversations c
    JOIN sb_users u ON u.id = c.user_id
    WHERE c.id = ?";

/// The service's older name of a detail is asked too; ours comes first in the alphabet.
const ADDRESS: &str = "
    SELECT value
    FROM sb_users_data
    WHERE user_id = ? AND slug IN (?, ?) AND value <> ''
    ORDER BY slug
    LIMIT 1";

const LOCK_MESSAGE: &str = "
    SELECT COALESCE(attachments, ''), COALESCE(payload, '')
    FROM sb_messages
    WHERE id = ? AND conversation_id = ?
    FOR UPDATE";

const MARK: &str = "
    UPDATE sb_messages
    SET payload = ?
    WHERE id = ?";

/// What the payload of a message holds once it is handed to a platform.
const SENT: &str = "sent-to";

/// How long a text message may be.
const SMS_LIMIT: usize = 1600;

/// The subject of an e-mail when its conversation has no title.
const SUBJECT: &str = "New message";

/// A conversation, its user and where it comes from.
struct Place {
    user: u32,
    source: String,
    extra: String,
    title: String,
    email: String,
}

/// Sends a message to the user of a conversation by the platform that it comes from; one of that id only once.
pub(super) async fn send_message(
    cx: &Context<'_>,
    message: String,
    conversation_id: ConversationId,
    message_id: Option<MessageId>,
) -> Result<bool> {
    if message.len() > TEXT_LIMIT {
        return Err(Error::too_long("message", "65535 bytes"));
    }
    let row: Option<(u32, String, String, String, String)> =
        cx.database()?.row(CONVERSATION, params![conversation_id]).await?;
    let (user, source, extra, title, email) = row.ok_or(Code::ConversationNotFound)?;
    let place = Place {
        user,
        source,
        extra,
        title,
        email,
    };
    if matches!(place.source.as_str(), "em" | "tk") {
        return by_email(cx, &place, &message, conversation_id, message_id).await;
    }
    let to = place.recipient(cx).await?;
    let files = match message_id {
        None if message.trim().is_empty() => return Err(Code::EmptyMessage.into()),
        None => Vec::new(),
        Some(id) => {
            let database = cx.database()?;
            let claimed = database
                .transaction(OnUnknown::Report, async |transaction| {
                    claim(transaction, id, conversation_id, &place.source, &message).await
                })
                .await?;
            match claimed {
                Some(files) => files,
                None => return Ok(true),
            }
        }
    };
    let outcome = deliver(cx, &place, to, &message, files).await;
    if let (Err(error), Some(id)) = (&outcome, message_id)
        && was_not_sent(error)
    {
        release(cx, id, conversation_id).await?;
    }
    outcome.map(|()| true)
}

/// Whether a message is of a source that leads to a platform.
pub(super) fn leaves(source: &str) -> bool {
    matches!(source, "em" | "tk" | "wa" | "fb" | "ig" | "tw" | "wc" | "tx" | "gb")
}

/// Whether an error says that nobody has the message.
fn was_not_sent(error: &Error) -> bool {
    match error {
        Error::Provider(error) => error.outcome != Outcome::Unknown,
        _ => true,
    }
}

impl Place {
    /// Where the user is on the platform.
    async fn recipient(&self, cx: &Context<'_>) -> Result<String> {
        let [slug, older] = match self.source.as_str() {
            "wa" | "tx" => ["phone"; 2],
            "fb" => ["facebook-id"; 2],
            "ig" => ["instagram-id"; 2],
            "tw" => ["microblog-id", "twitter-id"],
            "wc" => ["wechat-id"; 2],
            "gb" => ["business-messages-id"; 2],
            _ => return Err(Error::NotFound),
        };
        let row: Option<(String,)> = cx.database()?.row(ADDRESS, params![self.user, slug, older]).await?;
        let (address,) = row.ok_or_else(|| no_recipient(slug))?;
        Ok(if slug == "phone" {
            normal(&address)
        } else {
            address.trim().to_owned()
        })
    }
}

fn no_recipient(detail: &str) -> Error {
    Error::Refused {
        code: "no-recipient",
        message: format!("the user of the conversation has no {detail}"),
    }
}

/// Marks a message as handed over, and gives its files; `None` when it was before.
async fn claim(
    transaction: &mut Transaction<'_>,
    message: MessageId,
    conversation: ConversationId,
    source: &str,
    text: &str,
) -> Result<Option<Vec<(String, String)>>> {
    let row: Option<(String, String)> = transaction.row(LOCK_MESSAGE, params![message, conversation]).await?;
    let (attachments, payload) = row.ok_or(Code::MessageNotFound)?;
    let mut payload = Map::from_value(payload.into()).unwrap_or_default();
    if payload.contains_key(&Key::from(SENT)) {
        return Ok(None);
    }
    // Older rows hold what is no list of attachments; nobody gets that.
    let files = Items::from_value(attachments.into()).and_then(|attachments| links(attachments).ok());
    let files = files.unwrap_or_default();
    if text.trim().is_empty() && files.is_empty() {
        return Err(Code::EmptyMessage.into());
    }
    payload.insert(SENT.into(), source.into());
    let payload = json::encode(&Value::Map(payload));
    if payload.len() > TEXT_LIMIT {
        return Err(Error::too_long("payload", "65535 bytes"));
    }
    transaction.execute(MARK, params![payload, message]).await?;
    Ok(Some(files))
}

/// Lets a message that nobody has be sent again.
async fn release(cx: &Context<'_>, message: MessageId, conversation: ConversationId) -> Result<()> {
    cx.database()?
        .transaction(OnUnknown::Repeat, async |transaction| {
            let row: Option<(String, String)> = transaction.row(LOCK_MESSAGE, params![message, conversation]).await?;
            let Some((_, payload)) = row else { return Ok(()) };
            let mut payload = Map::from_value(payload.into()).unwrap_or_default();
            payload.shift_remove(&Key::from(SENT));
            let payload = if payload.is_empty() {
                String::new()
            } else {
                json::encode(&Value::Map(payload))
            };
            transaction.execute(MARK, params![payload, message]).await?;
            Ok(())
        })
        .await
}

async fn deliver(cx: &Context<'_>, place: &Place, to: String, text: &str, files: Vec<(String, String)>) -> Result<()> {
    let text = without_shortcodes(text);
    let message = Message {
        to,
        from: Some(place.extra.clone()),
        // Of the platforms one has marks of its own, and they are ours.
        text: if place.source == "wa" { text } else { to_plain(&text) },
        files,
    };
    let is_by_sms = cx.settings().await?.text("whatsapp-provider").as_deref() == Some("sms");
    match place.source.as_str() {
        "wa" if is_by_sms => by_sms(Account::of(cx).await?.by_whatsapp(), &message, WHATSAPP).await,
        "wa" => messaging::whatsapp(cx, &message).await,
        "fb" => messaging::messenger(cx, &message).await,
        "ig" => messaging::instagram(cx, &message).await,
        "tw" => messaging::microblog(cx, &message).await,
        "wc" => messaging::wechat(cx, &message).await,
        "tx" => by_sms(Account::of(cx).await?, &message, "").await,
        "gb" => messaging::business(cx, &message).await,
        _ => Err(Error::NotFound),
    }
}

/// Sends by the service of text messages: ten files go with the first, the links of others follow the text.
async fn by_sms(account: Account<'_>, message: &Message, scheme: &str) -> Result<()> {
    let mut media: Vec<String> = message.files.iter().map(|(_, link)| link.clone()).collect();
    let further = media.split_off(media.len().min(MEDIA_LIMIT));
    let text = [vec![message.text.clone()], further].concat().join("\n");
    let to = format!("{scheme}{}", message.to);
    let mut texts = parts(&text, SMS_LIMIT, |_| 1);
    if texts.is_empty() {
        texts.push("");
    }
    for (index, part) in texts.into_iter().enumerate() {
        let sent = account.send(&to, part, &std::mem::take(&mut media)).await;
        sent.map_err(|error| error.behind(index))?;
    }
    Ok(())
}

/// Puts an e-mail into the outbox, in the transaction that marks the message.
async fn by_email(
    cx: &Context<'_>,
    place: &Place,
    text: &str,
    conversation: ConversationId,
    message: Option<MessageId>,
) -> Result<bool> {
    if place.email.is_empty() {
        return Err(no_recipient("e-mail address"));
    }
    if message.is_none() && text.trim().is_empty() {
        return Err(Code::EmptyMessage.into());
    }
    let outbox = Outbox::of(cx).await?;
    if !outbox.is_open() {
        return Err(Error::configuration("email-server is not set"));
    }
    let recorded = cx
        .database()?
        .transaction(OnUnknown::Report, async |transaction| {
            let files = match message {
                None => Vec::new(),
                Some(id) => match claim(transaction, id, conversation, &place.source, text).await? {
                    Some(files) => files,
                    None => return Ok(Vec::new()),
                },
            };
            let links = files.iter().map(|(name, link)| format!("{name}: {link}"));
            let text: Vec<String> = std::iter::once(without_shortcodes(text)).chain(links).collect();
            let title = place.title.replace(['\r', '\n'], " ");
            let email = Email {
                to: place.email.clone(),
                subject: if title.trim().is_empty() {
                    SUBJECT.to_owned()
                } else {
                    title
                },
                message: to_html(text.join("\n").trim()),
                ..Email::default()
            };
            outbox.put(transaction, email).await
        })
        .await?;
    cx.after_commit(recorded);
    Ok(true)
}
