//! The command-line program: installing, upgrading, looking over, people in and out, its statuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod bench;
mod doctor;
mod documentation;
mod install;
mod keys;
mod man;
mod people;
mod schema;
mod statuses;
mod upgrade;
