//! The bench of the cases, whatever the door: reading them, a database for each, comparing what came of it.

pub mod bench;
pub mod case;
pub mod database;
pub mod matching;
