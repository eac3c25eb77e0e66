//! Files that come with e-mails, in the uploads.

use crate::contract::Value;
use crate::contract::error::{Error, Result};
use crate::functions::system::{extension_of, plain_name};
use crate::platform::Context;
use crate::platform::crypto::{self, Keys};
use crate::providers::email::Attachment;

/// The folder within the uploads.
const FOLDER: &str = "email";

/// How many files of one e-mail are kept.
const LIMIT: usize = 20;

/// What a name is shown with, in characters.
const NAME_LIMIT: usize = 100;

/// Drawings of strangers may run scripts.
const REFUSED: &str = "svg";

/// Names and links of files that are kept, and the names of those that are not.
#[derive(Default)]
pub(super) struct Stored {
    pub(super) kept: Vec<Value>,
    pub(super) refused: Vec<String>,
}

/// Keeps the files of an e-mail. Whoever does so again, after a crash, finds the same names and leaves nothing twice; nobody
/// else can guess them.
pub(super) fn store(cx: &Context<'_>, keys: &Keys, email: &str, attachments: &[Attachment]) -> Result<Stored> {
    let mut stored = Stored::default();
    for attachment in attachments {
        let shown = shown_name(attachment);
        if stored.kept.len() == LIMIT {
            stored.refused.push(shown);
            continue;
        }
        match store_one(cx, keys, email, &shown, attachment)? {
            Some(url) => stored.kept.push(Value::List(vec![shown.into(), url.into()])),
            None => stored.refused.push(shown),
        }
    }
    Ok(stored)
}

/// The URL of a file that is kept; `None` for one of a kind that is not.
fn store_one(
    cx: &Context<'_>,
    keys: &Keys,
    email: &str,
    shown: &str,
    attachment: &Attachment,
) -> Result<Option<String>> {
    let is_drawing = shown
        .rsplit_once('.')
        .is_some_and(|(_, own)| own.eq_ignore_ascii_case(REFUSED));
    if attachment.content.is_empty() || is_drawing {
        return Ok(None);
    }
    let content = crypto::sha256(&attachment.content)?;
    let secret = keys.signature(&format!("email-file/{email}/{content}"))?;
    let name = format!("{secret}-{}", plain_name(shown));
    match cx.uploads()?.within(FOLDER)?.store(&name, &attachment.content) {
        Ok(url) => Ok(Some(url)),
        Err(Error::Refused {
            code: "invalid-file-name",
            ..
        }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The name of a file for people. A type that says more than the name adds its extension.
fn shown_name(attachment: &Attachment) -> String {
    let name = attachment.name.rsplit(['/', '\\']).next().unwrap_or_default().trim();
    let has_extension = name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty() && (1..=5).contains(&extension.len()) && extension.chars().all(char::is_alphanumeric)
    });
    let extension = extension_of(&attachment.media_type).and_then(<[_]>::first).copied();
    let stem = if name.is_empty() { "file" } else { name };
    let name = match extension {
        Some(extension) if !has_extension => format!("{stem}.{extension}"),
        _ => stem.to_owned(),
    };
    let surplus = name.chars().count().saturating_sub(NAME_LIMIT);
    // The extension is at the end.
    name.chars().skip(surplus).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_no_folders_and_an_extension() {
        let name = |name: &str, media_type: &str| {
            shown_name(&Attachment {
                name: name.into(),
                media_type: media_type.into(),
                content: Vec::new(),
            })
        };
        assert_eq!(name("../../etc/a b.pdf", "application/pdf"), "a b.pdf");
        assert_eq!(name("C:\\docs\\a.PDF", ""), "a.PDF");
        assert_eq!(name("", "image/png"), "file.png");
        assert_eq!(name("photo", "image/jpeg"), "photo.jpg");
        assert_eq!(name("", "x/y"), "file");
        assert_eq!(name(&format!("{}.png", "é".repeat(300)), "").chars().count(), 100);
    }
}
