//! The ways in for programs that are not PHP.

#[cfg(feature = "capi")]
pub mod capi;
