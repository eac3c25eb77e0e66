//! Telling the other side of a message when it is away.

use crate::contract::error::Result;
use crate::contract::ids::UserId;
use crate::contract::status::{ConversationStatus, UserType};
use crate::functions::notifications::{Notification, Notifier, Recipients, Told};
use crate::platform::Context;
use crate::platform::db::Transaction;

/// Who is told of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    /// Nobody: someone else sees to it, or it is nothing to be told of.
    Nobody,
    /// The other side, if it is away.
    WhoeverIsAway {
        /// Whose language they are told in; not given: in their own.
        language_of: Option<UserId>,
    },
    /// The same of an e-mail: an agent's goes on to a customer who writes e-mails too.
    OfEmail,
}

/// The conversation that a message goes to.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) owner: UserId,
    pub(super) status: Option<ConversationStatus>,
    pub(super) agent: Option<UserId>,
    pub(super) department: Option<u8>,
    pub(super) source: Option<String>,
    /// Known only where somebody is to be told.
    pub(super) owner_is_present: bool,
}

/// The source of conversations that take place with us and nowhere else.
const TICKET: &str = "tk";

/// The source of conversations by e-mail.
const EMAIL: &str = "em";

/// How the other side is told.
#[derive(Clone)]
pub(super) struct Telling<'a> {
    notifier: Notifier<'a>,
    audience: Audience,
}

impl<'a> Telling<'a> {
    /// `None` when nobody is to be told.
    pub(super) async fn of(cx: &'a Context<'a>, audience: Audience) -> Result<Option<Self>> {
        let notifier = match audience {
            Audience::Nobody => None,
            _ => Notifier::of(cx).await?,
        };
        Ok(notifier.map(|notifier| Self { notifier, audience }))
    }

    /// Records in the transaction of a message who is told of it. `author` is who wrote it, and of which type they are.
    pub(super) async fn tell(
        &self,
        transaction: &mut Transaction<'_>,
        place: &Place,
        author: (UserId, Option<UserType>),
        notification: impl FnOnce() -> Notification,
    ) -> Result<Told> {
        let Some(recipients) = self.other_side(place, author) else {
            return Ok(Told::default());
        };
        let notification = || Notification {
            language_of: match self.audience {
                Audience::WhoeverIsAway { language_of } => language_of,
                _ => None,
            },
            ..notification()
        };
        self.notifier.tell(transaction, &recipients, notification).await
    }

    /// Who is told: of a customer's message the agents, of an agent's the customer. A customer who writes on another
    /// platform gets the message there.
    fn other_side(&self, place: &Place, (author, author_type): (UserId, Option<UserType>)) -> Option<Recipients> {
        if author_type?.is_customer() {
            return Some(Recipients::Agents {
                agent: place.agent,
                department: place.department,
                present_too: false,
                except: None,
            });
        }
        let is_here = match place.source.as_deref() {
            None | Some("" | TICKET) => true,
            Some(EMAIL) => self.audience == Audience::OfEmail,
            Some(_) => false,
        };
        let is_told = author_type?.is_staff() && place.owner != author && !place.owner_is_present && is_here;
        is_told.then_some(Recipients::Customer(place.owner))
    }
}
