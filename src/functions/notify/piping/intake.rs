//! One e-mail becomes a message.

use std::collections::BTreeMap;

use super::super::mailboxes::Mailbox;
use super::super::thread::{incoming, named, row_of, with_incoming};
use super::attachments;
use super::author::{Author, Place};
use super::failures;
use super::pending::Pending;
use crate::contract::Value;
use crate::contract::args::{Items, StatusCode};
use crate::contract::error::Result;
use crate::contract::ids::{ConversationId, UserId};
use crate::contract::status::ConversationStatus;
use crate::contract::value::Map;
use crate::functions::columns;
use crate::functions::conversations::{Done, Joined, NewConversation, NewMessage};
use crate::functions::events::{Event, Followers};
use crate::functions::users::Newcomer;
use crate::platform::Context;
use crate::platform::crypto::{self, Keys};
use crate::platform::db::{OnUnknown, Transaction};
use crate::platform::outbox::Recorded;
use crate::providers::email::{Attachment, Incoming, Kind, above, without_quotation, without_signature};

/// Where conversations that e-mails open come from.
const SOURCE: &str = "em";

/// What a title, and an address that a conversation is reached at, may have, in characters.
const TITLE_LIMIT: usize = 191;

/// The file that a text becomes which is too long for a message.
const LONG_TEXT: &str = "message.txt";

/// Takes in the e-mails of a mailbox. What it must know is asked for before the first, so that nothing is asked within a
/// transaction.
pub(super) struct Intake<'a> {
    cx: &'a Context<'a>,
    mailbox: &'a Mailbox,
    own: &'a [String],
    pending: &'a Pending,
    keys: Keys,
    followers: Followers<'a>,
    messages: Joined<'a>,
}

/// What has become of an e-mail.
#[derive(Default)]
struct Taken {
    /// Whether it was for us: then it has been read.
    is_read: bool,
    message: Option<Done>,
    recorded: Vec<Recorded>,
}

impl<'a> Intake<'a> {
    pub(super) async fn of(
        cx: &'a Context<'a>,
        mailbox: &'a Mailbox,
        own: &'a [String],
        pending: &'a Pending,
    ) -> Result<Self> {
        Ok(Self {
            cx,
            mailbox,
            own,
            pending,
            keys: cx.keys().await?,
            followers: Followers::of(cx).await?,
            messages: Joined::of(cx).await?,
        })
    }

    /// Takes in an e-mail, once; `None` is one that is gone, or that cannot be read. Says whether it has been read now.
    pub(super) async fn take(&self, id: &str, email: Option<Incoming>) -> Result<bool> {
        let taken = self
            .cx
            .database()?
            .transaction(OnUnknown::Repeat, async |transaction| {
                let Some((name, rest)) = self.pending.without(transaction, id).await? else {
                    // Somebody else has it, or we had it before the connection was lost.
                    return Ok(Taken::default());
                };
                let mut rows = BTreeMap::from([(name, rest)]);
                let taken = match &email {
                    Some(email) => self.take_one(transaction, email, &mut rows).await?,
                    None => Taken::default(),
                };
                transaction.put_rows(&rows).await?;
                Ok(taken)
            })
            .await?;
        self.cx.after_commit(taken.recorded);
        if let Some(message) = taken.message {
            self.messages.follow(message).await;
        }
        Ok(taken.is_read)
    }

    async fn take_one(
        &self,
        transaction: &mut Transaction<'_>,
        email: &Incoming,
        rows: &mut BTreeMap<String, Value>,
    ) -> Result<Taken> {
        match &email.kind {
            Kind::Program => Ok(Taken::default()),
            Kind::Report(report) => {
                let named = named(&self.keys, report.texts.iter().map(String::as_str));
                let noted = failures::note(self.cx, transaction, &self.followers, report, &named, rows).await?;
                Ok(Taken {
                    is_read: noted.is_some(),
                    message: None,
                    recorded: noted.unwrap_or_default(),
                })
            }
            // A copy of what we have sent.
            Kind::Person if self.is_own(email) => Ok(Taken::default()),
            Kind::Person => self.take_letter(transaction, email, rows).await,
        }
    }

    fn is_own(&self, email: &Incoming) -> bool {
        let is_from_us = self.own.contains(&email.address.to_lowercase());
        is_from_us || !named(&self.keys, email.id.as_deref()).is_empty()
    }

    async fn take_letter(
        &self,
        transaction: &mut Transaction<'_>,
        email: &Incoming,
        rows: &mut BTreeMap<String, Value>,
    ) -> Result<Taken> {
        let texts = email.references.iter().map(String::as_str);
        let named = named(&self.keys, texts.chain([email.subject.as_str()]));
        let author = Author::of(transaction, &email.address).await?;
        let place = author.place(transaction, email, &named).await?;
        let is_wanted = match (&author, &place) {
            (Author::Unclear, _) | (_, Place::Known) => false,
            (_, Place::In(_) | Place::NewByMark) | (Author::Customer(_), Place::New) => true,
            (Author::Staff(_) | Author::Stranger, Place::New) => self.mailbox.takes_all,
        };
        if !is_wanted {
            return Ok(Taken::default());
        }
        let mut thread = Value::Null;
        if let Place::In(conversation) = place {
            thread = transaction.locked_row(&row_of(conversation)).await?;
            if email.id.as_ref().is_some_and(|id| incoming(&thread).contains(id)) {
                return Ok(Taken::default());
            }
        }
        let Some((text, attachments)) = self.content(email, !named.is_empty())? else {
            return Ok(Taken::default());
        };
        let mut recorded = Vec::new();
        let sender = match author {
            Author::Staff(id) | Author::Customer(id) => id,
            Author::Stranger | Author::Unclear => {
                let lead = Newcomer::lead(&email.name, &email.address)?;
                let (id, of_lead) = lead.store(transaction, &self.followers, self.cx.now()).await?;
                recorded.extend(of_lead);
                id
            }
        };
        let conversation = if let Place::In(conversation) = place {
            conversation
        } else {
            let (id, of_conversation) = self.open(transaction, sender, email).await?;
            recorded.extend(of_conversation);
            id
        };
        let message = NewMessage {
            sender,
            conversation,
            text: text.clone(),
            attachments: Items(attachments),
            payload: Map::new(),
            status: StatusCode::NotGiven,
            queue: false,
        };
        let message = self
            .messages
            .store(transaction, self.followers.clone(), message)
            .await?;
        let received = received(email, conversation, &text);
        recorded.extend(
            self.followers
                .record(transaction, Event::EmailReceived, || received)
                .await?,
        );
        rows.insert(row_of(conversation), with_incoming(thread, email.id.as_deref()));
        Ok(Taken {
            is_read: true,
            message: Some(message),
            recorded,
        })
    }

    async fn open(
        &self,
        transaction: &mut Transaction<'_>,
        sender: UserId,
        email: &Incoming,
    ) -> Result<(ConversationId, Vec<Recorded>)> {
        let short = |text: &str| text.chars().take(TITLE_LIMIT).collect::<String>();
        let conversation = NewConversation {
            user: sender,
            status: ConversationStatus::WaitingForAgent,
            title: short(&email.subject),
            department: self.mailbox.department,
            agent: None,
            source: Some(SOURCE.to_owned()),
            extra: Some(short(self.mailbox.user())),
        };
        conversation.store(transaction, &self.followers, self.cx.now()).await
    }

    /// The text of the message and its attachments; `None` when the e-mail says nothing.
    fn content(&self, email: &Incoming, is_answer: bool) -> Result<Option<(String, Vec<Value>)>> {
        let delimiter = self.mailbox.delimiter.as_deref().unwrap_or_default();
        let text = if is_answer || email.is_reply {
            without_quotation(above(&email.text, delimiter))
        } else if email.is_forward {
            email.text.trim().to_owned()
        } else {
            without_signature(&email.text)
        };
        let text = if text.is_empty() && email.attachments.is_empty() && !email.is_reply {
            email.subject.clone()
        } else {
            text
        };
        let mut files = email.attachments.clone();
        if text.len() > columns::TEXT {
            files.insert(
                0,
                Attachment {
                    name: LONG_TEXT.to_owned(),
                    media_type: "text/plain".to_owned(),
                    content: text.clone().into_bytes(),
                },
            );
        }
        let known_by = match &email.id {
            Some(id) => id.clone(),
            None => crypto::sha256(email.text.as_bytes())?,
        };
        let stored = attachments::store(self.cx, &self.keys, &known_by, &files)?;
        let mut notes: Vec<String> = stored
            .refused
            .iter()
            .map(|name| format!("[Attachment not accepted: {name}]"))
            .collect();
        if email.is_cut {
            notes.push("[This e-mail is longer than 20 MiB. What lies behind that is left in the mailbox.]".to_owned());
        }
        let text = with_notes(&text, &notes.join("\n"));
        Ok((!text.is_empty() || !stored.kept.is_empty()).then_some((text, stored.kept)))
    }
}

/// What followers get to know.
fn received(email: &Incoming, conversation: ConversationId, text: &str) -> Value {
    Value::map([
        ("conversation_id", conversation.into()),
        ("from", email.address.as_str().into()),
        ("subject", email.subject.as_str().into()),
        ("message", text.into()),
    ])
}

/// A text with notes below it, cut to what a message may have.
fn with_notes(text: &str, notes: &str) -> String {
    let notes: String = notes.chars().take(columns::TEXT / 8).collect();
    let below = if text.is_empty() || notes.is_empty() {
        notes
    } else {
        format!("\n\n{notes}")
    };
    let room = columns::TEXT - below.len();
    if text.len() <= room {
        return format!("{text}{below}");
    }
    let mut end = room - '…'.len_utf8();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…{below}", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_letters_and_keeps_its_notes() {
        assert_eq!(with_notes("a", ""), "a");
        assert_eq!(with_notes("", "b"), "b");
        assert_eq!(with_notes("a", "b"), "a\n\nb");
        for letter in ["a", "é", "€", "🎉"] {
            let cut = with_notes(&letter.repeat(70_000), "note");
            assert!(
                cut.len() <= columns::TEXT && cut.len() > columns::TEXT - 8,
                "{letter} {}",
                cut.len()
            );
            assert!(cut.ends_with("…\n\nnote"));
        }
        let cut = with_notes("a", &"é".repeat(70_000));
        assert!(cut.len() <= columns::TEXT);
    }
}
