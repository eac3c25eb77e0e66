//! Section "Notifications and messaging": text messages.

use crate::contract::args::{Argument, Items};
use crate::contract::error::{Code, Result};
use crate::contract::ids::{ConversationId, UserId};
use crate::contract::language::Language;
use crate::contract::status::UserType;
use crate::contract::{Key, Map, Value};
use crate::functions;
use crate::functions::attachments::is_link;
use crate::functions::events::{Event, announce};
use crate::functions::language::stored_language;
use crate::functions::notify::Person;
use crate::functions::settings::get_multilingual_setting;
use crate::functions::templates::filled;
use crate::params;
use crate::platform::Context;
use crate::platform::outbox::{Channel, Delivery};
use crate::providers::sms::{Account, MEDIA_LIMIT};

functions! {
    /// Sends a text message.
    ///
    /// The template is the setting sms-message-agent for agents and admins, else sms-message-user, in the language of
    /// the recipient. In it {message}, {recipient_name}, {sender_name} and {conversation_url_parameter} are filled in;
    /// an empty template sends the message alone. {conversation_url_parameter}, which the message may hold too, becomes
    /// ?conversation=ID; for the customer whose conversation it is &token=TOKEN follows, which logs in.
    ///
    /// @param $message the text
    /// @param $to the phone number with its country code; spaces, brackets and dashes in it do not count
    /// @param $template false to send the message without the template
    /// @param $conversation_id the conversation that the message leads to
    /// @param $attachments list of [name, http(s) link], or of links; the service sends ten of them, the links of the
    ///     others follow the text
    /// @return the service's record of the message, or its own error response
    /// @errors invalid-attachment; SBError configuration; the text of a failed connection: the message is not sent again
    ///     when its fate is not known
    async fn sb_send_sms(
        message: String,
        to: String,
        template: bool = true,
        conversation_id: Option<ConversationId> = true,
        attachments: Items = false,
    ) -> "array{sid: string, date_created: string|null, date_updated: string|null, date_sent: string|null, account_sid: string, to: string, from: string|null, body: string, status: string, flags: mixed, api_version: string, price: string|null, uri: string}|array{code: int, message: string, more_info: string, status: int}|string|SBError"
        => send_sms, provider_errors_as_they_are;
}

const OWNER: &str = "
    SELECT u.id, u.first_name, u.last_name, u.user_type, u.token, COALESCE(d.value, '')
    FROM sb_conversations c
    JOIN sb_users u ON u.id = c.user_id
    LEFT JOIN sb_users_data d ON d.user_id = u.id AND d.slug = 'phone'
    WHERE c.id = ?";

/// The details are asked first, as by `sb_get_user_by`.
const BY_PHONE: &str = "
    SELECT STRAIGHT_JOIN u.id, u.first_name, u.last_name, u.user_type, u.token, d.value
    FROM sb_users_data d
    JOIN sb_users u ON u.id = d.user_id
    WHERE d.slug = 'phone' AND d.value IN (?, ?) AND u.user_type <> 'bot'
    ORDER BY u.id
    LIMIT 1";

const URL_PARAMETER: &str = "{conversation_url_parameter}";

/// What the contract has of a message's record.
const RECORD: [&str; 13] = [
    "sid",
    "date_created",
    "date_updated",
    "date_sent",
    "account_sid",
    "to",
    "from",
    "body",
    "status",
    "flags",
    "api_version",
    "price",
    "uri",
];

/// Id, first name, last name, type, token and phone number.
type User = (u32, String, String, String, String, String);

/// Who gets the message, as far as it is known.
#[derive(Default)]
struct Recipient {
    id: Option<UserId>,
    name: String,
    is_staff: bool,
    /// The token of the customer whose conversation it is.
    token: Option<String>,
}

/// A text message before its template and its service are known.
struct Text {
    phone: String,
    message: String,
    conversation: Option<ConversationId>,
    links: Vec<String>,
}

/// A number has 15 digits at most; some services take more with it.
const PHONE_LIMIT: usize = 64;

/// What a text message in the outbox is called there.
const EVENT: &str = "sms";

/// Whether the service is set.
pub(super) async fn is_open(cx: &Context<'_>) -> Result<bool> {
    let settings = cx.settings().await?;
    let is_set = |name: &&str| settings.text(name).is_some();
    Ok(["sms-user", "sms-token", "sms-sender"].iter().all(is_set))
}

/// A text message as the outbox keeps it.
pub(super) fn delivery(phone: &str, message: &str) -> Delivery {
    Delivery {
        channel: Channel::Sms,
        event: EVENT.to_owned(),
        target: Some(phone.to_owned()),
        payload: Value::map([("message", message.into())]),
    }
}

/// Sends what waits in the outbox: the message alone.
pub(super) async fn deliver(cx: &Context<'_>, delivery: &Delivery) -> Result<()> {
    let message = delivery.payload.get(&Key::from("message")).cloned();
    let message = message.and_then(String::from_value).unwrap_or_default();
    let to = delivery.target.clone().unwrap_or_default();
    send_sms(cx, message, to, false, None, Items(Vec::new()))
        .await
        .map(drop)
}

/// A message that someone is told of.
pub(super) struct Telling<'a> {
    /// The number of who is told.
    pub(super) phone: &'a str,
    /// The name of who wrote it.
    pub(super) sender: String,
    /// The message.
    pub(super) message: String,
    /// Links to its attachments.
    pub(super) links: Vec<String>,
    /// Where it was written.
    pub(super) conversation: Option<ConversationId>,
}

/// Tells someone of a message, in the words of the template and their language.
pub(super) async fn tell(cx: &Context<'_>, person: &Person, telling: Telling<'_>) -> Result<()> {
    let text = Text {
        phone: normal(telling.phone),
        message: telling.message,
        conversation: telling.conversation,
        links: telling.links,
    };
    let recipient = Recipient {
        id: Some(person.id),
        name: person.name.clone(),
        is_staff: person.is_staff(),
        token: (!person.is_staff()).then(|| person.token.clone()),
    };
    let template = template_for(cx, recipient.is_staff, person.language.as_ref()).await?;
    text.send(cx, &recipient, template.as_deref(), &telling.sender)
        .await
        .map(drop)
}

async fn send_sms(
    cx: &Context<'_>,
    message: String,
    to: String,
    template: bool,
    conversation_id: Option<ConversationId>,
    attachments: Items,
) -> Result<Value> {
    let text = Text {
        phone: normal(&to),
        message,
        conversation: conversation_id.filter(|id| id.is_some()),
        links: links(attachments)?,
    };
    let recipient = if template || text.message.contains(URL_PARAMETER) {
        recipient(cx, &to, &text.phone, text.conversation).await?
    } else {
        Recipient::default()
    };
    let template = if template {
        let language = match recipient.id {
            Some(user) => stored_language(cx, user).await?,
            None => None,
        };
        template_for(cx, recipient.is_staff, language.as_ref()).await?
    } else {
        None
    };
    let sender = match template {
        Some(_) => sender_name(cx).await?,
        None => String::new(),
    };
    text.send(cx, &recipient, template.as_deref(), &sender).await
}

impl Text {
    /// Sends it: the service's record of it.
    async fn send(
        mut self,
        cx: &Context<'_>,
        recipient: &Recipient,
        template: Option<&str>,
        sender: &str,
    ) -> Result<Value> {
        let account = Account::of(cx).await?;
        let further = self.links.split_off(self.links.len().min(MEDIA_LIMIT));
        let parameter = url_parameter(self.conversation, recipient);
        let mut text = self.message.replace(URL_PARAMETER, &parameter);
        if let Some(template) = template {
            let fields = [
                ("{message}", text.as_str()),
                ("{recipient_name}", &recipient.name),
                ("{sender_name}", sender),
                (URL_PARAMETER, &parameter),
            ];
            text = filled(template, &fields);
        }
        for link in further {
            text.push('\n');
            text.push_str(&link);
        }
        let mut record = match account.send(&self.phone, &text, &self.links).await? {
            Value::Map(record) => record,
            _ => Map::new(),
        };
        for name in RECORD {
            record.entry(name.into()).or_insert(Value::Null);
        }
        let data = || Value::map([("to", self.phone.clone().into()), ("message", text.clone().into())]);
        // It is sent, and a failure of this would be answered by sending it again.
        let _ = announce(cx, Event::SmsSent, data).await;
        Ok(record.into())
    }
}

/// The links of attachments.
fn links(Items(attachments): Items) -> Result<Vec<String>> {
    let links = attachments.into_iter().map(|attachment| match attachment {
        Value::Bytes(_) => String::from_value(attachment),
        pair => pair.get(&Key::Int(1)).cloned().and_then(String::from_value),
    });
    let links = links.map(|link| {
        link.filter(|link| is_link(link))
            .ok_or_else(|| Code::InvalidAttachment.into())
    });
    links.collect()
}

/// A phone number as the service takes it: a plus sign and digits (E.164). What is no phone number stays as it is.
pub(super) fn normal(phone: &str) -> String {
    let phone = phone.trim();
    let is_filler = |letter: char| matches!(letter, ' ' | '-' | '(' | ')' | '.' | '/' | '\u{a0}');
    let bare: String = phone.chars().filter(|letter| !is_filler(*letter)).collect();
    let digits = bare.strip_prefix('+').or_else(|| bare.strip_prefix("00"));
    if bare
        .strip_prefix('+')
        .unwrap_or(&bare)
        .bytes()
        .any(|byte| !byte.is_ascii_digit())
    {
        return phone.to_owned();
    }
    digits.map_or_else(|| bare.clone(), |digits| format!("+{digits}"))
}

/// The phone number of a user's detail; what is longer than any of them is none.
pub(super) fn phone_of(detail: &str) -> Option<String> {
    let phone = normal(detail);
    (!phone.is_empty() && phone.chars().count() <= PHONE_LIMIT).then_some(phone)
}

/// The owner of the conversation, when the phone number is theirs; else whoever has the number.
async fn recipient(cx: &Context<'_>, to: &str, phone: &str, conversation: Option<ConversationId>) -> Result<Recipient> {
    let database = cx.database()?;
    if let Some(conversation) = conversation {
        let owner: Option<User> = database.row(OWNER, params![conversation]).await?;
        if let Some(owner) = owner.filter(|(.., own)| normal(own) == phone) {
            let mut recipient = Recipient::from_user(&owner);
            let (.., token, _) = owner;
            recipient.token = Some(token).filter(|_| !recipient.is_staff);
            return Ok(recipient);
        }
    }
    let user: Option<User> = database.row(BY_PHONE, params![to.trim(), phone]).await?;
    Ok(user.as_ref().map(Recipient::from_user).unwrap_or_default())
}

impl Recipient {
    fn from_user((id, first_name, last_name, user_type, ..): &User) -> Self {
        Self {
            id: Some(UserId::from(*id)),
            name: format!("{first_name} {last_name}").trim().to_owned(),
            is_staff: user_type.parse().is_ok_and(UserType::is_staff),
            token: None,
        }
    }
}

fn url_parameter(conversation: Option<ConversationId>, recipient: &Recipient) -> String {
    let Some(conversation) = conversation else {
        return String::new();
    };
    let token = recipient.token.as_ref().map(|token| format!("&token={token}"));
    format!("?conversation={}{}", conversation.number(), token.unwrap_or_default())
}

/// The template for staff or for customers, in a language.
async fn template_for(cx: &Context<'_>, is_staff: bool, language: Option<&Language>) -> Result<Option<String>> {
    let name = if is_staff {
        "sms-message-agent"
    } else {
        "sms-message-user"
    };
    let language = language.map(|language| language.code().to_owned());
    let template = get_multilingual_setting(cx, "sms".to_owned(), Some(name.to_owned()), language).await?;
    Ok(template
        .and_then(String::from_value)
        .filter(|template| !template.trim().is_empty()))
}

/// The active user's name.
async fn sender_name(cx: &Context<'_>) -> Result<String> {
    let Some(active) = cx.active_user().await? else {
        return Ok(String::new());
    };
    let name = |field: &'static str| {
        active
            .record
            .get(&Key::from(field))
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    Ok(format!("{} {}", name("first_name"), name("last_name"))
        .trim()
        .to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phone_number_is_written_as_the_service_takes_it() {
        for (given, phone) in [
            ("+39 06 555 0142", "+39065550142"),
            (" 0039 (06) 555-0142 ", "+39065550142"),
            ("4670555014", "4670555014"),
            ("+1.202/555.0143", "+12025550143"),
            ("whatsapp:+1 2", "whatsapp:+1 2"),
            ("call me", "call me"),
            ("", ""),
        ] {
            assert_eq!(normal(given), phone, "{given}");
        }
    }
}
