//! The public functions, one room per section of the contract, and the list of the sections.

pub mod catalog;
mod cms;
mod conversations;
mod database;
mod shop;
mod system;
mod users;

pub use catalog::{Body, Call, Function, Param};

/// The sections: their titles and their functions.
pub static SECTIONS: [(&str, &[Function]); 6] = [
    ("Users", users::FUNCTIONS),
    ("Conversations and messages", conversations::FUNCTIONS),
    ("Database", database::FUNCTIONS),
    ("Content-management system integration", cms::FUNCTIONS),
    ("Shop integration", shop::FUNCTIONS),
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
