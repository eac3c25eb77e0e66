//! The function library of a customer-support chat platform.
//!
//! Five floors, each of which knows only those below it: [`contract`], [`platform`], [`providers`], [`functions`] and
//! [`doors`]. ARCHITECTURE.md draws the house.

#![deny(unsafe_code)]

pub mod contract;
pub mod doors;
pub mod functions;
pub mod platform;
pub mod providers;

/// The version of the library.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
