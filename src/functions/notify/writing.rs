//! E-mails that tell of messages: the templates of the settings row `emails` with their fields filled in, in the language
//! of who gets them.

use super::answering::Answering;
use super::content::{Texts, as_html};
use super::people::{Author, Person};
use super::sending::Email;
use super::thread::{Side, Thread};
use crate::contract::error::Result;
use crate::contract::ids::ConversationId;
use crate::contract::language::Language;
use crate::functions::conversation_link::conversation_link;
use crate::functions::formatting::{escaped, to_html};
use crate::functions::templates::filled;
use crate::platform::Context;
use crate::platform::languages::Area;

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
    pub(crate) sender: Option<&'a Author>,
    /// The message, with the marks of its formatting.
    pub(crate) message: &'a str,
    /// What the content shows in its place: HTML, or plain text.
    pub(crate) instead: Option<&'a str>,
    /// Names and links.
    pub(crate) attachments: &'a [(String, String)],
    /// What stands behind the message.
    pub(crate) bottom: &'a str,
    /// By what the e-mail is known among those of its conversation: the message's id mostly.
    pub(crate) what: &'a str,
}

/// What e-mails to some people are written with. Asked for before a transaction begins, so that nothing is asked within it.
pub(crate) struct Writer {
    answering: Answering,
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
        let answering = Answering::of(cx).await?;
        let thread = match conversation {
            Some(conversation) => Thread::of(cx, conversation).await?,
            None => None,
        };
        let mut templates = Vec::<(Option<Language>, Templates)>::new();
        for person in recipients {
            if !templates.iter().any(|(language, _)| *language == person.language) {
                let own = Templates::of(cx, person.language.as_ref()).await?;
                templates.push((person.language.clone(), own));
            }
        }
        Ok(Self {
            answering,
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
        let mut message = notice.instead.map_or_else(|| to_html(notice.message), as_html);
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
                notice
                    .sender
                    .map_or(self.answering.name.as_str(), |sender| &sender.name),
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
        let email = Email {
            to,
            subject: on_one_line(&filled(&subject, &plain.collect::<Vec<_>>())),
            message: content,
            language: recipient.language.clone(),
            is_automatic: true,
            ..Email::default()
        };
        // Answers are read only where they can be told from each other.
        Some(match &self.thread {
            Some(thread) => {
                let side = if recipient.is_staff() {
                    Side::Staff
                } else {
                    Side::Customer
                };
                self.answering.addressed(email, thread, side, notice.what)
            }
            None => email,
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
pub(crate) fn on_one_line(text: &str) -> String {
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
