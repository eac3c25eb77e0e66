//! The bench of the cases, whatever the door: reading them, a database for each, comparing what came of it.

// Each test uses a part of it, and fails by panicking.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

pub mod api;
pub mod bench;
pub mod case;
pub mod client;
pub mod core;
pub mod cut;
pub mod database;
#[cfg(feature = "program")]
pub mod following;
pub mod matching;
pub mod scene;
pub mod serving;
