//! E-mails by the outbox: recorded in the transaction of what they tell of, sent after its commit.

use super::sending::{Email, ReplyTo, send};
use crate::contract::Value;
use crate::contract::args::{Argument, Texts};
use crate::contract::error::{Error, Result};
use crate::contract::language::Language;
use crate::contract::value::{Map, at};
use crate::platform::Context;
use crate::platform::db::Transaction;
use crate::platform::outbox::{self, Channel, Delivery, Recorded};
use crate::providers::email::Sender;

/// What an e-mail in the outbox is called there.
const EVENT: &str = "email";

/// The way of e-mails into the outbox. Asked for before a transaction begins, so that nothing is asked within it.
pub(crate) struct Outbox<'a> {
    cx: &'a Context<'a>,
    has_table: bool,
    is_open: bool,
}

impl<'a> Outbox<'a> {
    /// Reads the settings, and looks for the table only when there is a mail server.
    pub(crate) async fn of(cx: &'a Context<'a>) -> Result<Self> {
        let is_open = is_open(cx).await?;
        Ok(Self {
            cx,
            has_table: is_open && cx.database()?.has(outbox::TABLE).await?,
            is_open,
        })
    }

    /// Whether there is a mail server at all.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Records an e-mail in the transaction of what it tells of. What it gives is to be handed to
    /// [`Context::after_commit`].
    pub(crate) async fn put(&self, transaction: &mut Transaction<'_>, email: Email) -> Result<Vec<Recorded>> {
        if !self.is_open {
            return Ok(Vec::new());
        }
        outbox::record(transaction, self.has_table, self.cx.now(), vec![email.into_delivery()]).await
    }
}

/// Whether there is a mail server.
pub(crate) async fn is_open(cx: &Context<'_>) -> Result<bool> {
    Sender::is_set(cx).await
}

/// Sends an e-mail of the outbox.
pub(crate) async fn deliver(cx: &Context<'_>, delivery: &Delivery) -> Result<()> {
    let email = Email::of_delivery(delivery);
    send(
        cx,
        email.ok_or_else(|| Error::Internal("an e-mail of the outbox cannot be read".into()))?,
    )
    .await
}

impl Email {
    fn into_delivery(self) -> Delivery {
        let optional = |text: Option<String>| text.map_or(Value::Null, Value::from);
        let references: Vec<Value> = self.references.into_iter().map(Value::from).collect();
        let reply_to_name = self.reply_to.as_ref().map(|answers| answers.name.clone());
        let reply_to = self.reply_to;
        let payload = [
            ("subject", self.subject.into()),
            ("message", self.message.into()),
            ("sender_suffix", self.sender_suffix.into()),
            (
                "language",
                optional(self.language.map(|language| language.code().to_owned())),
            ),
            ("id", optional(self.id)),
            ("references", references.into()),
            ("reply_to", optional(reply_to.map(|answers| answers.address))),
            ("reply_to_name", optional(reply_to_name)),
            ("is_automatic", self.is_automatic.into()),
        ];
        Delivery {
            channel: Channel::Email,
            event: EVENT.to_owned(),
            target: Some(self.to),
            payload: Value::map(payload),
        }
    }

    fn of_delivery(delivery: &Delivery) -> Option<Self> {
        let payload = Map::from_value(delivery.payload.clone())?;
        let text = |name| {
            at(&payload, name)
                .cloned()
                .and_then(String::from_value)
                .filter(|text| !text.is_empty())
        };
        let references = at(&payload, "references").cloned().and_then(Texts::from_value);
        Some(Self {
            to: delivery.target.clone()?,
            subject: text("subject").unwrap_or_default(),
            message: text("message").unwrap_or_default(),
            sender_suffix: text("sender_suffix").unwrap_or_default(),
            language: text("language").and_then(|code| Language::read(&code)),
            id: text("id"),
            references: references.map_or_else(Vec::new, |Texts(ids)| ids),
            reply_to: text("reply_to").map(|address| ReplyTo {
                name: text("reply_to_name").unwrap_or_default(),
                address,
            }),
            is_automatic: at(&payload, "is_automatic").is_some_and(Value::is_truthy),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_email_comes_out_of_the_outbox_as_it_was_put_in() {
        for email in [
            Email::default(),
            Email {
                to: "dora@prospect.example".into(),
                subject: "Hello, \"Dora\"".into(),
                message: "<p>é\n</p>".into(),
                sender_suffix: " | Sales".into(),
                language: Language::read("pt-BR"),
                id: Some("a@b".into()),
                references: vec!["c@d".into(), "e@f".into()],
                reply_to: Some(ReplyTo {
                    name: "Support | SB1".into(),
                    address: "g@i".into(),
                }),
                is_automatic: true,
            },
        ] {
            let delivery = email.clone().into_delivery();
            let stored = crate::contract::json::encode(&delivery.payload);
            let payload = crate::contract::json::decode(stored.as_bytes()).unwrap();
            assert_eq!(Email::of_delivery(&Delivery { payload, ..delivery }), Some(email));
        }
    }
}
