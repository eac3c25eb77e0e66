//! The command-line program: installing, upgrading, looking over, people in and out, its statuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod bench;
mod cms;
mod doctor;
mod documentation;
mod install;
mod keys;
mod man;
mod outbox;
mod people;
mod schema;
#[allow(dead_code)]
#[path = "../support/stand_in.rs"]
mod stand_in;
mod statuses;
mod upgrade;
