//! The ways in for programs that are not PHP.

pub mod api;
#[cfg(feature = "capi")]
pub mod capi;
