//! Files of the uploads that callers write themselves.

use crate::contract::args::Bytes;
use crate::contract::error::Result;
use crate::platform::Context;

/// Writes a file.
pub(super) async fn file(cx: &Context<'_>, path: String, Bytes(content): Bytes) -> Result<bool> {
    let (folder, name) = cx.uploads()?.locate(&path)?;
    folder.store(name, &content)?;
    Ok(true)
}
