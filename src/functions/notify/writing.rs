//! E-mails that tell of messages: the templates of the settings row `emails` with their fields filled in, in the language
//! of who gets them.

use super::content::{Texts, as_html};
use super::mailboxes::mailboxes;
use super::people::Person;
use super::sending::{Email, ReplyTo};
use super::thread::Thread;
use crate::contract::error::Result;
use crate::contract::ids::ConversationId;
use crate::contract::language::Language;
use crate::functions::conversation_link::conversation_link;
use crate::functions::formatting::{escaped, to_html};
use crate::functions::templates::filled;
use crate::platform::Context;
use crate::platform::languages::Area;
use crate::providers::email::Sender;

/// The subject when the settings have none.
const SUBJECT: &str = "New message from {sender_name}";

/// The content when the settings have none.
const CONTENT: &str = "<p><b>{sender_name}</b></p>\n<div>{message}</div>\n{attachments}";

/// What leads to the conversation, in the content of our own.
const LINK: &str = "Open the conversation";

/// What a subject has at most, in characters: a message may be one of its fields.
const SUBJECT_LIMIT: usize = 200;

/// What an e-mail tells of.
pub(crate) struct Notice<'a> {
    /// Who wrote the message.
    pub(crate) sender: Option<&'a Person>,
    /// The message, with the marks of its formatting.
    pub(crate) message: &'a str,
    /// Names and links.
    pub(crate) attachments: &'a [(String, String)],
    /// What stands behind the message.
    pub(crate) bottom: &'a str,
    /// By what the e-mail is known among those of its conversation: the message's id mostly.
    pub(crate) what: &'a str,
}

/// What e-mails to some people are written with. Asked for before a transaction begins, so that nothing is asked within it.
pub(crate) struct Writer {
    /// The domain of ids.
    domain: String,
    /// The name of whom e-mails come from.
    name: String,
    /// The address that answers go to, when they are read.
    answers: Option<String>,
    delimiter: Option<String>,
    /// The address of the installation.
    url: Option<String>,
    thread: Option<Thread>,
    templates: Vec<(Option<Language>, Templates)>,
}

/// Subjects and contents for staff and for customers.
struct Templates {
    texts: Texts,
    subject: String,
    link: String,
}

impl Writer {
    /// For e-mails to `recipients`, about a conversation if there is one.
    pub(crate) async fn of<'a>(
        cx: &Context<'_>,
        conversation: Option<ConversationId>,
        recipients: impl IntoIterator<Item = &'a Person>,
    ) -> Result<Self> {
        let sender = Sender::of(cx).await?;
        let settings = cx.settings().await?;
        let thread = match conversation {
            Some(conversation) => Thread::of(cx, conversation).await?,
            None => None,
        };
        // Answers are read only where they can be told from each other.
        let mut mailboxes = if thread.is_some() {
            mailboxes(&settings)
        } else {
            Vec::new()
        };
        let department = thread.as_ref().and_then(|thread| thread.department);
        let own = mailboxes
            .iter()
            .position(|mailbox| mailbox.department == department)
            .unwrap_or(0);
        let mailbox = (own < mailboxes.len()).then(|| mailboxes.swap_remove(own));
        let answers = mailbox.as_ref().map(|mailbox| {
            let is_address = mailbox.user.contains('@');
            if is_address {
                mailbox.user.clone()
            } else {
                sender.address().to_owned()
            }
        });
        let mut templates = Vec::<(Option<Language>, Templates)>::new();
        for person in recipients {
            if !templates.iter().any(|(language, _)| *language == person.language) {
                let own = Templates::of(cx, person.language.as_ref()).await?;
                templates.push((person.language.clone(), own));
            }
        }
        Ok(Self {
            domain: sender.domain().to_owned(),
            name: settings.text("email-sender-name").unwrap_or_default(),
            answers,
            delimiter: mailbox.and_then(|mailbox| mailbox.delimiter),
            url: cx.configuration()?.url.clone(),
            thread,
            templates,
        })
    }

    /// The e-mail to one of those that this was asked for; `None` to who has no address.
    pub(crate) fn write(&self, notice: &Notice<'_>, recipient: &Person) -> Option<Email> {
        let to = recipient.email.clone()?;
        let (_, templates) = self
            .templates
            .iter()
            .find(|(language, _)| *language == recipient.language)?;
        let (subject, content) = templates.of_recipient(recipient);
        let mut message = to_html(notice.message);
        let attachments: Vec<String> = notice
            .attachments
            .iter()
            .map(|(name, link)| format!("<a href=\"{}\">{}</a>", escaped(link), escaped(name)))
            .collect();
        let attachments = attachments.join("<br>\n");
        if !attachments.is_empty() && !content.contains("{attachments}") {
            message = [message.as_str(), &attachments].join("<br>\n");
        }
        if !notice.bottom.is_empty() {
            message = [message.as_str(), &as_html(notice.bottom)].join("<br>\n");
        }
        let parameter = self.url_parameter(recipient);
        let plain = [
            ("{recipient_name}", recipient.name.as_str()),
            (
                "{sender_name}",
                notice.sender.map_or(self.name.as_str(), |sender| &sender.name),
            ),
            (
                "{sender_profile_image}",
                notice.sender.map_or("", |sender| &sender.image),
            ),
            ("{conversation_link}", &self.link(recipient, &parameter)),
            ("{conversation_url_parameter}", &parameter),
            (
                "{conversation_id}",
                &self
                    .thread
                    .as_ref()
                    .map_or_else(String::new, |thread| thread.conversation.number().to_string()),
            ),
        ];
        let mut html = plain.map(|(field, value)| (field, escaped(value))).to_vec();
        html.extend([("{message}", message), ("{attachments}", attachments)]);
        let html: Vec<(&str, &str)> = html.iter().map(|(field, value)| (*field, value.as_str())).collect();
        let plain = plain
            .into_iter()
            .chain([("{message}", notice.message), ("{attachments}", "")]);
        let content = filled(&content, &html);
        Some(Email {
            to,
            subject: on_one_line(&filled(&subject, &plain.collect::<Vec<_>>())),
            message: match &self.delimiter {
                Some(delimiter) => format!("<div>{}</div>\n{content}", escaped(delimiter)),
                None => content,
            },
            sender_suffix: String::new(),
            language: recipient.language.clone(),
            id: self.thread.as_ref().map(|thread| thread.id(notice.what, &self.domain)),
            references: self
                .thread
                .as_ref()
                .map_or_else(Vec::new, |thread| thread.references(&self.domain)),
            reply_to: self.reply_to(),
            is_automatic: true,
        })
    }

    fn reply_to(&self) -> Option<ReplyTo> {
        let (address, thread) = (self.answers.clone()?, self.thread.as_ref()?);
        let name = format!("{} | {}", self.name, thread.tag());
        Some(ReplyTo {
            name: name.trim_start_matches([' ', '|']).to_owned(),
            address,
        })
    }

    /// `?conversation=ID`; for the customer `&token=TOKEN` follows, which logs in.
    fn url_parameter(&self, recipient: &Person) -> String {
        let Some(thread) = &self.thread else {
            return String::new();
        };
        let token = if recipient.is_staff() {
            String::new()
        } else {
            format!("&token={}", recipient.token)
        };
        format!("?conversation={}{token}", thread.conversation.number())
    }

    /// Where the recipient finds the conversation.
    fn link(&self, recipient: &Person, parameter: &str) -> String {
        let own = self.url.as_deref().unwrap_or_default();
        conversation_link(own, recipient.is_staff(), recipient.page.as_deref(), parameter)
    }
}

impl Templates {
    async fn of(cx: &Context<'_>, language: Option<&Language>) -> Result<Self> {
        Ok(Self {
            texts: Texts::of(cx, language).await?,
            subject: translated(cx, language, SUBJECT)?,
            link: translated(cx, language, LINK)?,
        })
    }

    /// The subject and the content in HTML.
    fn of_recipient(&self, recipient: &Person) -> (String, String) {
        let (subject, content) = if recipient.is_staff() {
            self.texts
                .template("email-agent", "email-agent-subject", "email-agent-content")
        } else {
            self.texts
                .template("email-user", "email-user-subject", "email-user-content")
        };
        let own = || {
            let link = escaped(&self.link);
            format!("{CONTENT}\n<p><a href=\"{{conversation_link}}\">{link}</a></p>")
        };
        (
            subject.map_or_else(|| self.subject.clone(), str::to_owned),
            content.map_or_else(own, as_html),
        )
    }
}

/// A text of ours in a language that has a file.
fn translated(cx: &Context<'_>, language: Option<&Language>, text: &str) -> Result<String> {
    let (Some(language), Some(languages)) = (language, cx.languages()?) else {
        return Ok(text.to_owned());
    };
    for language in language.with_primary() {
        let dictionary = languages.dictionary(Area::Front, &language)?;
        let found = dictionary
            .as_ref()
            .and_then(|dictionary| dictionary.get(text.as_bytes()));
        if let Some(translation) = found.and_then(|translation| std::str::from_utf8(translation).ok()) {
            return Ok(translation.to_owned());
        }
    }
    Ok(text.to_owned())
}

/// A text as a header can hold it.
fn on_one_line(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().nth(SUBJECT_LIMIT).is_some() {
        let begin: String = text.chars().take(SUBJECT_LIMIT - 1).collect();
        return format!("{}…", begin.trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_one_line_of_a_bearable_length() {
        assert_eq!(on_one_line("a\r\nBcc: x\t y\0z "), "a Bcc: x y z");
        let long = on_one_line(&"é ".repeat(500));
        assert_eq!(long.chars().count(), 200);
        assert!(long.ends_with('…'));
    }
}
