//! Sending e-mails.

use super::content::Texts;
use crate::contract::Value;
use crate::contract::error::Result;
use crate::contract::language::Language;
use crate::functions::events::{Event, announce};
use crate::platform::Context;
use crate::providers::email::{Letter, Sender};

/// An e-mail as a function asks for it. The settings' header and signature, the sender and the plain form come with the
/// sending.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Email {
    /// The address of the one who gets it.
    pub(crate) to: String,
    /// The subject.
    pub(crate) subject: String,
    /// HTML, or plain text.
    pub(crate) message: String,
    /// What is appended to the sender's name.
    pub(crate) sender_suffix: String,
    /// Of header and signature; the default one when it is not known.
    pub(crate) language: Option<Language>,
    /// Its own id, without brackets; one is made when there is none.
    pub(crate) id: Option<String>,
    /// The ids of the e-mails before it, the oldest first.
    pub(crate) references: Vec<String>,
    /// Where answers go, if not to the sender.
    pub(crate) reply_to: Option<ReplyTo>,
    /// Whether nobody wrote it: then no program should answer.
    pub(crate) is_automatic: bool,
}

/// Where answers go.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ReplyTo {
    /// The name that people see.
    pub(crate) name: String,
    /// The address.
    pub(crate) address: String,
}

/// Sends an e-mail to anyone.
pub(super) async fn email_send(
    cx: &Context<'_>,
    to: String,
    subject: String,
    message: String,
    sender_suffix: String,
) -> Result<bool> {
    let email = Email {
        to,
        subject,
        message,
        sender_suffix,
        ..Email::default()
    };
    send(cx, email).await?;
    Ok(true)
}

/// Sends an e-mail now, and waits until the mail server has taken it.
pub(crate) async fn send(cx: &Context<'_>, email: Email) -> Result<()> {
    let sender = Sender::of(cx).await?;
    let texts = Texts::of(cx, email.language.as_ref()).await?;
    let content = texts.around(&email.message, email.language.as_ref());
    let letter = Letter {
        to: email.to,
        subject: email.subject,
        html: content.html,
        text: content.text,
        sender_suffix: email.sender_suffix,
        id: email.id,
        references: email.references,
        reply_to: email.reply_to.map(|answers| (answers.name, answers.address)),
        is_automatic: email.is_automatic,
    };
    sender.send(cx, &letter).await?;
    let data = || {
        Value::map([
            ("to", letter.to.clone().into()),
            ("subject", letter.subject.clone().into()),
            ("message", email.message.clone().into()),
        ])
    };
    // It is sent, and a failure of this would be answered by sending it again.
    let _ = announce(cx, Event::EmailSent, data).await;
    Ok(())
}
