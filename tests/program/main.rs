//! The command-line program: installing, upgrading, its statuses.

mod bench;
mod install;
mod schema;
mod statuses;
mod upgrade;
