//! Delivering notifications: in the words of the settings, and in the language of who is told.

use super::recording::Notification;
use crate::contract::error::{Error, Result};
use crate::functions::notify::{self, Author, Notice, Person, Writer, people};
use crate::functions::sms;
use crate::platform::Context;
use crate::platform::outbox::{Channel, Delivery};

/// Tells who is to be told, unless they are deleted meanwhile or have no address any more.
pub(crate) async fn deliver(cx: &Context<'_>, delivery: &Delivery) -> Result<()> {
    let (recipient, notification) = Notification::read(&delivery.payload)
        .ok_or_else(|| Error::Internal("a notification of the outbox cannot be read".into()))?;
    let ids = [Some(recipient), notification.sender, notification.language_of];
    let people = people(cx, ids.into_iter().flatten()).await?;
    let find = |id| people.iter().find(|person| person.id == id);
    let Some(mut recipient) = find(recipient).cloned() else {
        return Ok(());
    };
    let language = notification.language_of.and_then(find);
    if let Some(language) = language.and_then(|person| person.language.clone()) {
        recipient.language = Some(language);
    }
    let sender = notification.sender.and_then(find).map(Person::author);
    let author = notification.author.clone().or(sender);
    match delivery.channel {
        Channel::Sms => text(cx, &notification, author, &recipient, delivery).await,
        _ => email(cx, &notification, author, &recipient).await,
    }
}

async fn email(
    cx: &Context<'_>,
    notification: &Notification,
    author: Option<Author>,
    recipient: &Person,
) -> Result<()> {
    let writer = Writer::of(cx, notification.conversation, [recipient]).await?;
    let notice = Notice {
        sender: author.as_ref(),
        message: &notification.message,
        instead: notification.instead.as_deref(),
        attachments: &notification.attachments,
        bottom: &notification.bottom,
        what: &notification.what,
    };
    match writer.write(&notice, recipient) {
        Some(email) => notify::send(cx, email).await,
        None => Ok(()),
    }
}

async fn text(
    cx: &Context<'_>,
    notification: &Notification,
    author: Option<Author>,
    recipient: &Person,
    delivery: &Delivery,
) -> Result<()> {
    let telling = sms::Telling {
        phone: delivery.target.as_deref().unwrap_or_default(),
        sender: author.map(|author| author.name).unwrap_or_default(),
        message: notification.message.clone(),
        links: notification.attachments.iter().map(|(_, link)| link.clone()).collect(),
        conversation: notification.conversation,
    };
    sms::tell(cx, recipient, telling).await
}
