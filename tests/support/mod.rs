//! The bench of the cases, whatever the door: reading them, a database for each, comparing what came of it.

// Each test uses a part of it.
#![allow(dead_code)]

pub mod bench;
pub mod case;
pub mod core;
pub mod database;
pub mod matching;
