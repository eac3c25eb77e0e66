//! What happens, for whoever follows it: signs that writes leave, and the tail that finds them and every new message.

mod gaps;
mod presence;
mod signs;
mod tail;

pub use presence::{Presence, touch};
pub(crate) use signs::{NEW_MESSAGE, Sign, leave, tell};
pub use tail::Tail;

use crate::contract::Value;
use crate::contract::ids::UserId;

/// Something that happened.
#[derive(Debug, Clone)]
pub struct Happened {
    /// Its name: `message`.
    pub name: &'static str,
    /// What there is to know of it.
    pub data: Value,
    /// For whom.
    pub audience: Audience,
}

/// For whom an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Agents, admins and servers.
    Agents,
    /// They, and the user whose conversation it is about.
    Owner(UserId),
    /// Everyone.
    Everyone,
}

impl Audience {
    /// Whether an event is for someone: a customer, or `None` for anyone else.
    pub fn includes(self, customer: Option<UserId>) -> bool {
        match (self, customer) {
            (_, None) | (Self::Everyone, _) => true,
            (Self::Owner(owner), Some(customer)) => owner == customer,
            (Self::Agents, Some(_)) => false,
        }
    }
}
