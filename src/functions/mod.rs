//! The public functions, one room per section of the contract, and the list of the sections.

mod articles;
mod attachments;
mod automations;
pub mod catalog;
mod chatbot;
mod cms;
mod columns;
mod conversation_link;
pub(crate) mod conversations;
mod database;
mod deliveries;
mod events;
pub(crate) mod feed;
mod formatting;
mod language;
mod notifications;
mod notify;
mod push;
pub(crate) mod realtime;
mod settings;
mod shop;
mod shortcodes;
mod sms;
mod system;
mod templates;
mod users;

pub use catalog::{Body, Call, Function, Param};
pub use cms::{Synchronisation, synchronise};
pub use deliveries::{deliver_all, deliver_due, deliver_recorded};
pub use notify::reach_mailboxes;
pub use system::write_users;

/// The sections: their titles and their functions. A section of several rooms stands once for each.
pub static SECTIONS: &[(&str, &[Function])] = &[
    ("Users", users::FUNCTIONS),
    ("Conversations and messages", conversations::FUNCTIONS),
    ("Database", database::FUNCTIONS),
    ("Language and translations", language::FUNCTIONS),
    ("Chatbot integration", chatbot::FUNCTIONS),
    ("Content-management system integration", cms::FUNCTIONS),
    ("Shop integration", shop::FUNCTIONS),
    ("Realtime push integration", push::FUNCTIONS),
    ("Realtime push integration", realtime::FUNCTIONS),
    ("Notifications and messaging", notify::FUNCTIONS),
    ("Notifications and messaging", sms::FUNCTIONS),
    ("Notifications and messaging", notifications::FUNCTIONS),
    ("Settings, articles, automations and utilities", settings::FUNCTIONS),
    ("Settings, articles, automations and utilities", articles::FUNCTIONS),
    ("Settings, articles, automations and utilities", automations::FUNCTIONS),
    ("Settings, articles, automations and utilities", system::FUNCTIONS),
];

/// Every public function.
pub fn all() -> impl Iterator<Item = &'static Function> {
    SECTIONS.iter().flat_map(|(_, functions)| functions.iter())
}

/// The function of that exact name.
pub fn find(name: &str) -> Option<&'static Function> {
    all().find(|function| function.name == name)
}
