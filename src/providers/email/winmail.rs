//! Files in `winmail.dat` (MS-OXTNEF), in which some mail servers wrap what comes with an e-mail.

use super::incoming::Attachment;

/// How the file begins.
const SIGNATURE: u32 = 0x223e_9f78;

/// Where a file begins, its short name, what it holds, and its further properties.
const BEGIN: u32 = 0x0006_9002;
const TITLE: u32 = 0x0001_8010;
const CONTENT: u32 = 0x0006_800f;

/// The files in one; `None` when it is not what it says, or is broken.
pub(super) fn files(content: &[u8]) -> Option<Vec<Attachment>> {
    let mut rest = Reader(content);
    if rest.number()? != SIGNATURE {
        return None;
    }
    // A key that nobody needs.
    rest.bytes(2)?;
    let mut files = Vec::<Attachment>::new();
    while !rest.0.is_empty() {
        // For the e-mail, or for a file.
        rest.bytes(1)?;
        let attribute = rest.number()?;
        let length = usize::try_from(rest.number()?).ok()?;
        let value = rest.bytes(length)?;
        // The sum of its bytes.
        rest.bytes(2)?;
        match attribute {
            BEGIN => files.push(Attachment::default()),
            TITLE => {
                let name = value.split(|byte| *byte == 0).next().unwrap_or_default();
                files.last_mut()?.name = String::from_utf8_lossy(name).into_owned();
            }
            CONTENT => files.last_mut()?.content = value.to_vec(),
            _ => {}
        }
    }
    Some(files)
}

/// Bytes that are read from their beginning.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.bytes(4)?.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_in_their_bounds(rest in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            let content = [&SIGNATURE.to_le_bytes()[..], &rest].concat();
            if let Some(files) = files(&content) {
                proptest::prop_assert!(files.iter().all(|file| file.content.len() <= rest.len()));
            }
        }
    }
}
