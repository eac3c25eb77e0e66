//! Addressing e-mails so that answers to them come back into the conversation that they belong to.

use super::mailboxes::{Mailbox, mailboxes};
use super::sending::{Email, ReplyTo};
use super::thread::{Side, Thread};
use crate::contract::error::Result;
use crate::functions::formatting::escaped;
use crate::platform::Context;
use crate::providers::email::Sender;

/// Who e-mails come from, and where answers to them are read.
pub(crate) struct Answering {
    /// The name of whom e-mails come from.
    pub(super) name: String,
    /// The domain of ids.
    domain: String,
    /// The sender's own address.
    address: String,
    mailboxes: Vec<Mailbox>,
}

impl Answering {
    /// As the settings have it. Asked for before a transaction begins, so that nothing is asked within it.
    pub(crate) async fn of(cx: &Context<'_>) -> Result<Self> {
        let sender = Sender::of(cx).await?;
        let settings = cx.settings().await?;
        Ok(Self {
            name: settings.text("email-sender-name").unwrap_or_default(),
            domain: sender.domain().to_owned(),
            address: sender.address().to_owned(),
            mailboxes: mailboxes(&settings),
        })
    }

    /// An e-mail in HTML as one of a thread, for one side of it: known by `what` among the others, a message's id mostly,
    /// and with what mail programs and we need to know an answer.
    pub(crate) fn addressed(&self, email: Email, thread: &Thread, side: Side, what: &str) -> Email {
        let mailbox = self.mailbox(thread.department);
        let delimiter = mailbox.and_then(|mailbox| mailbox.delimiter.as_ref());
        Email {
            message: match delimiter {
                Some(delimiter) => format!("<div>{}</div>\n{}", escaped(delimiter), email.message),
                None => email.message,
            },
            id: Some(thread.id(what, side, &self.domain)),
            references: thread.references(side, &self.domain),
            reply_to: mailbox.map(|mailbox| self.reply_to(mailbox, thread, side)),
            ..email
        }
    }

    /// The mailbox of a department, or else the first.
    fn mailbox(&self, department: Option<u8>) -> Option<&Mailbox> {
        let mut mailboxes = self.mailboxes.iter();
        mailboxes
            .find(|mailbox| mailbox.department == department)
            .or_else(|| self.mailboxes.first())
    }

    fn reply_to(&self, mailbox: &Mailbox, thread: &Thread, side: Side) -> ReplyTo {
        let address = if mailbox.user().contains('@') {
            mailbox.user()
        } else {
            &self.address
        };
        let name = format!("{} | {}", self.name, thread.tag(side));
        ReplyTo {
            name: name.trim_start_matches([' ', '|']).to_owned(),
            address: address.to_owned(),
        }
    }
}
