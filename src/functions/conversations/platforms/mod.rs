//! Messages to the platform that a conversation comes from.

mod content;

use crate::contract::args::{Argument, Items};
use crate::contract::error::{Code, Error, Outcome, Result};
use crate::contract::ids::{ConversationId, MessageId, UserId};
use crate::contract::json;
use crate::contract::value::{Key, Map, Value};
use crate::functions::attachments::links;
use crate::functions::columns::{self, check_bytes};
use crate::functions::formatting::{to_html, to_plain, to_whatsapp};
use crate::functions::notify::{Answering, Email, Outbox, Side, Thread, people};
use crate::functions::sms::normal;
use crate::params;
use crate::platform::db::{OnUnknown, Transaction};
use crate::platform::{Context, crypto};
use crate::providers::messaging::{self, File, Message, Part};
use crate::providers::parts::parts;
use crate::providers::sms::{Account, MEDIA_LIMIT, WHATSAPP};

const CONVERSATION: &str = "
    SELECT user_id, COALESCE(source, ''), COALESCE(extra, ''), COALESCE(title, '')
    FROM sb_conversations
    WHERE id = ?";

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

/// What answers to an e-mail begin their subject with.
const ANSWER: &str = "Re: ";

/// Where conversations come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Platform {
    WhatsApp,
    Messenger,
    Instagram,
    Microblog,
    WeChat,
    TextMessage,
    Email,
    /// Within the installation: its messages leave no more than those of the chat.
    Ticket,
    Business,
}

/// A conversation, its user and where it comes from.
struct Place {
    conversation: ConversationId,
    user: UserId,
    platform: Platform,
    extra: String,
    title: String,
}

impl Platform {
    const ALL: [Self; 9] = [
        Self::WhatsApp,
        Self::Messenger,
        Self::Instagram,
        Self::Microblog,
        Self::WeChat,
        Self::TextMessage,
        Self::Email,
        Self::Ticket,
        Self::Business,
    ];

    /// That of a conversation's source; the chat is none.
    pub(super) fn of(source: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|platform| platform.source() == source)
    }

    const fn source(self) -> &'static str {
        match self {
            Self::WhatsApp => "wa",
            Self::Messenger => "fb",
            Self::Instagram => "ig",
            Self::Microblog => "tw",
            Self::WeChat => "wc",
            Self::TextMessage => "tx",
            Self::Email => "em",
            Self::Ticket => "tk",
            Self::Business => "gb",
        }
    }

    /// The details of a user that may hold where they are on it, the own one first.
    const fn details(self) -> [&'static str; 2] {
        match self {
            Self::WhatsApp | Self::TextMessage => ["phone"; 2],
            Self::Messenger => ["facebook-id"; 2],
            Self::Instagram => ["instagram-id"; 2],
            Self::Microblog => ["microblog-id", "twitter-id"],
            Self::WeChat => ["wechat-id"; 2],
            Self::Business => ["business-messages-id"; 2],
            Self::Email | Self::Ticket => ["email"; 2],
        }
    }
}

/// Sends a message to the user of a conversation by the platform that it comes from; one of that id only once.
pub(super) async fn send_message(
    cx: &Context<'_>,
    message: String,
    conversation_id: ConversationId,
    message_id: Option<MessageId>,
) -> Result<bool> {
    check_bytes("message", &message, columns::TEXT)?;
    let place = Place::of(cx, conversation_id).await?;
    if message_id.is_none() && message.trim().is_empty() {
        return Err(Code::EmptyMessage.into());
    }
    match place.platform {
        Platform::Ticket => {}
        Platform::Email => place.send_by_email(cx, &message, message_id).await?,
        _ => place.send(cx, &message, message_id).await?,
    }
    Ok(true)
}

impl Place {
    async fn of(cx: &Context<'_>, conversation: ConversationId) -> Result<Self> {
        let row: Option<(u32, String, String, String)> =
            cx.database()?.row(CONVERSATION, params![conversation]).await?;
        let (user, source, extra, title) = row.ok_or(Code::ConversationNotFound)?;
        Ok(Self {
            conversation,
            user: user.into(),
            platform: Platform::of(&source).ok_or(Error::NotFound)?,
            extra,
            title,
        })
    }

    async fn send(&self, cx: &Context<'_>, message: &str, id: Option<MessageId>) -> Result<()> {
        let to = self.recipient(cx).await?;
        let Some(id) = id else {
            return self.deliver(cx, to, message, Vec::new()).await;
        };
        let claimed = cx
            .database()?
            .transaction(OnUnknown::Report, async |transaction| {
                self.claim(transaction, id, message).await
            })
            .await?;
        let Some(files) = claimed else { return Ok(()) };
        let outcome = self.deliver(cx, to, message, files).await;
        if outcome.as_ref().is_err_and(was_not_sent) {
            self.release(cx, id).await?;
        }
        outcome
    }

    /// Where the user is on the platform.
    async fn recipient(&self, cx: &Context<'_>) -> Result<String> {
        let [detail, older] = self.platform.details();
        let row: Option<(String,)> = cx.database()?.row(ADDRESS, params![self.user, detail, older]).await?;
        let (address,) = row.ok_or_else(|| no_recipient(detail))?;
        Ok(if detail == "phone" {
            normal(&address)
        } else {
            address.trim().to_owned()
        })
    }

    /// Marks a message as handed over, and gives its files; `None` when it was before.
    async fn claim(
        &self,
        transaction: &mut Transaction<'_>,
        message: MessageId,
        text: &str,
    ) -> Result<Option<Vec<(String, String)>>> {
        let row: Option<(String, String)> = transaction
            .row(LOCK_MESSAGE, params![message, self.conversation])
            .await?;
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
        payload.insert(SENT.into(), self.platform.source().into());
        let payload = json::encode(&Value::Map(payload));
        check_bytes("payload", &payload, columns::TEXT)?;
        transaction.execute(MARK, params![payload, message]).await?;
        Ok(Some(files))
    }

    /// Lets a message that nobody has be sent again.
    async fn release(&self, cx: &Context<'_>, message: MessageId) -> Result<()> {
        cx.database()?
            .transaction(OnUnknown::Repeat, async |transaction| {
                let row: Option<(String, String)> = transaction
                    .row(LOCK_MESSAGE, params![message, self.conversation])
                    .await?;
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

    async fn deliver(&self, cx: &Context<'_>, to: String, text: &str, files: Vec<(String, String)>) -> Result<()> {
        let written = if self.platform == Platform::WhatsApp {
            to_whatsapp
        } else {
            to_plain
        };
        let files = files.into_iter().map(|(name, link)| Part::File(File { name, link }));
        let message = Message {
            to,
            from: Some(self.extra.clone()),
            parts: content::parts(text, written).into_iter().chain(files).collect(),
        };
        match self.platform {
            Platform::WhatsApp if cx.settings().await?.text("whatsapp-provider").as_deref() == Some("sms") => {
                by_sms(Account::of(cx).await?.by_whatsapp(), &message, WHATSAPP).await
            }
            Platform::WhatsApp => messaging::whatsapp(cx, &message).await,
            Platform::Messenger => messaging::messenger(cx, &message).await,
            Platform::Instagram => messaging::instagram(cx, &message).await,
            Platform::Microblog => messaging::microblog(cx, &message).await,
            Platform::WeChat => messaging::wechat(cx, &message).await,
            Platform::TextMessage => by_sms(Account::of(cx).await?, &message, "").await,
            Platform::Business => messaging::business(cx, &message).await,
            Platform::Email | Platform::Ticket => Err(Error::NotFound),
        }
    }

    /// Puts an e-mail into the outbox, in the transaction that marks the message: one of the conversation's thread.
    async fn send_by_email(&self, cx: &Context<'_>, text: &str, id: Option<MessageId>) -> Result<()> {
        let user = people(cx, [self.user]).await?.pop();
        let (to, language) = user
            .and_then(|user| Some((user.email?, user.language)))
            .ok_or_else(|| no_recipient("e-mail address"))?;
        let outbox = Outbox::of(cx).await?;
        if !outbox.is_open() {
            return Err(Error::configuration("email-server is not set"));
        }
        let answering = Answering::of(cx).await?;
        let thread = Thread::of(cx, self.conversation)
            .await?
            .ok_or(Code::ConversationNotFound)?;
        let what = match id {
            Some(id) => id.number().to_string(),
            None => crypto::token()?.chars().take(16).collect(),
        };
        let email = Email {
            to,
            subject: self.subject(thread.is_answered()),
            language,
            ..Email::default()
        };
        let recorded = cx
            .database()?
            .transaction(OnUnknown::Report, async |transaction| {
                let files = match id {
                    None => Vec::new(),
                    Some(id) => match self.claim(transaction, id, text).await? {
                        Some(files) => files,
                        None => return Ok(Vec::new()),
                    },
                };
                let files = files.into_iter().map(|(name, link)| Part::File(File { name, link }));
                // Marks stay for the HTML.
                let content = Message {
                    to: String::new(),
                    from: None,
                    parts: content::parts(text, str::to_owned).into_iter().chain(files).collect(),
                };
                let email = Email {
                    message: to_html(&content.text()),
                    ..email.clone()
                };
                outbox
                    .put(transaction, answering.addressed(email, &thread, Side::Customer, &what))
                    .await
            })
            .await?;
        cx.after_commit(recorded);
        Ok(())
    }

    /// The title of the conversation as a subject.
    fn subject(&self, is_answer: bool) -> String {
        let title = self.title.replace(|letter: char| letter.is_control(), " ");
        let title = title.trim();
        let is_marked = title
            .get(..ANSWER.trim_end().len())
            .is_some_and(|start| start.eq_ignore_ascii_case(ANSWER.trim_end()));
        match title {
            "" => SUBJECT.to_owned(),
            title if is_answer && !is_marked => format!("{ANSWER}{title}"),
            title => title.to_owned(),
        }
    }
}

/// Whether an error says that nobody has the message.
fn was_not_sent(error: &Error) -> bool {
    match error {
        Error::Provider(error) => error.outcome != Outcome::Unknown,
        _ => true,
    }
}

fn no_recipient(detail: &str) -> Error {
    Error::Refused {
        code: "no-recipient",
        message: format!("the user of the conversation has no {detail}"),
    }
}

/// Sends by the service of text messages: ten files go with the first, the links of others follow the text.
async fn by_sms(account: Account<'_>, message: &Message, scheme: &str) -> Result<()> {
    let mut media = Vec::new();
    let mut texts = Vec::new();
    for part in message.in_forms(|part| matches!(part, Part::File(_))) {
        match part {
            Part::File(file) if media.len() < MEDIA_LIMIT => media.push(file.link),
            Part::File(file) => texts.push(file.link),
            Part::Text(text) => texts.push(text),
            Part::Choice(_) | Part::Card(_) => {}
        }
    }
    let text = texts.join("\n");
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
