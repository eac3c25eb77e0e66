//! The command-line program: installing, upgrading, its statuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod bench;
mod install;
mod keys;
mod schema;
mod statuses;
mod upgrade;
