//! What the columns of the tables hold, and the refusal of what they would not hold whole.

use crate::contract::error::{Error, Result};

/// How many characters most short texts may have: `VARCHAR(191)`.
pub(crate) const SHORT: usize = 191;

/// How many bytes the long ones may have: `TEXT`.
pub(crate) const TEXT: usize = 65_535;

/// Refuses a text of more than so many characters.
pub(crate) fn check_characters(name: &str, text: &str, limit: usize) -> Result<()> {
    if text.chars().nth(limit).is_some() {
        Err(Error::too_long(name, &format!("{limit} characters")))
    } else {
        Ok(())
    }
}

/// Refuses a text of more than so many bytes.
pub(crate) fn check_bytes(name: &str, text: &str, limit: usize) -> Result<()> {
    if text.len() > limit {
        Err(Error::too_long(name, &format!("{limit} bytes")))
    } else {
        Ok(())
    }
}
