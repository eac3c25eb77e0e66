//! The parts of an e-mail (RFC 2045, RFC 2046).
//!
//! It goes no deeper than people do. E-mails within e-mails are not taken apart at all: a stranger may nest thousands.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use mail_parser::decoders::base64::base64_decode;
use mail_parser::decoders::quoted_printable::quoted_printable_decode;
use mail_parser::{Message, MessageParser, MimeHeaders};

use super::charset::decoded;

/// How deep parts are nested.
const DEEPEST: usize = 20;

/// How many parts an e-mail has.
const LIMIT: usize = 500;

/// What is left of base64 whose letters are not all there.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// An e-mail, or a part of one.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// `text/plain`, in lower case.
    pub(super) media_type: String,
    /// The name that it has as a file.
    pub(super) name: Option<String>,
    /// Whether it is to be kept apart from the text.
    pub(super) is_attachment: bool,
    /// Whether its lines are folded (RFC 3676), and lose the space that they are folded at.
    pub(super) is_flowed: bool,
    pub(super) deletes_space: bool,
    /// What it holds, without the encoding for the way; nothing where it has parts.
    pub(super) content: Vec<u8>,
    /// Its own parts.
    pub(super) parts: Vec<Part>,
    charset: Option<String>,
}

impl Part {
    /// The parts of an e-mail whose headers are read.
    pub(super) fn of(message: &Message<'_>, content: &[u8]) -> Self {
        let mut count = 0;
        Self::read(message, content, 0, &mut count)
    }

    fn read(headers: &Message<'_>, content: &[u8], depth: usize, count: &mut usize) -> Self {
        let (_, body) = split(content);
        let kind = headers.content_type();
        let attribute = |name: &str| kind.and_then(|kind| kind.attribute(name));
        let is = |name, value: &str| attribute(name).is_some_and(|own| own.eq_ignore_ascii_case(value));
        let media_type = kind.map_or_else(
            || "text/plain".to_owned(),
            |kind| format!("{}/{}", kind.ctype(), kind.subtype().unwrap_or_default()).to_ascii_lowercase(),
        );
        let boundary = attribute("boundary").filter(|_| media_type.starts_with("multipart/"));
        let sections = boundary.map(|boundary| sections(body, boundary)).unwrap_or_default();
        let mut part = Self {
            name: headers.attachment_name().map(str::to_owned),
            is_attachment: headers
                .content_disposition()
                .is_some_and(mail_parser::ContentType::is_attachment),
            is_flowed: is("format", "flowed"),
            deletes_space: is("delsp", "yes"),
            charset: attribute("charset").map(str::to_owned),
            ..Self::default()
        };
        if sections.is_empty() {
            // One without parts is a text, whatever it says.
            part.media_type = if media_type.starts_with("multipart/") {
                "text/plain".to_owned()
            } else {
                media_type
            };
            part.content = unpacked(body, headers.content_transfer_encoding().unwrap_or_default());
            return part;
        }
        part.media_type = media_type;
        for section in sections {
            *count += 1;
            if depth == DEEPEST || *count > LIMIT {
                break;
            }
            part.parts.push(match MessageParser::default().parse_headers(section) {
                Some(headers) => Self::read(&headers, section, depth + 1, count),
                None => Self {
                    media_type: "text/plain".to_owned(),
                    content: split(section).1.to_vec(),
                    ..Self::default()
                },
            });
        }
        part
    }

    /// This part and all within it, in their order.
    pub(super) fn all(&self) -> Vec<&Self> {
        let within = self.parts.iter().flat_map(Self::all);
        std::iter::once(self).chain(within).collect()
    }

    /// Whether it is of a type, whatever kind of it.
    pub(super) fn is_kind(&self, kind: &str) -> bool {
        self.media_type.split_once('/').is_some_and(|(own, _)| own == kind)
    }

    /// What it holds as text, in its charset.
    pub(super) fn text(&self) -> String {
        decoded(&self.content, self.charset.as_deref())
    }
}

/// The headers of an e-mail or a part, with the empty line that ends them, and what follows it.
pub(super) fn split(content: &[u8]) -> (&[u8], &[u8]) {
    let mut end = 0;
    for line in content.split_inclusive(|byte| *byte == b'\n') {
        end += line.len();
        if matches!(line, b"\n" | b"\r\n") {
            break;
        }
    }
    content.split_at_checked(end).unwrap_or((content, &[]))
}

/// What stands between the lines of a boundary; the last section may have no end.
fn sections<'a>(body: &'a [u8], boundary: &str) -> Vec<&'a [u8]> {
    let mut sections = Vec::new();
    let mut begin = None;
    let mut position = 0;
    for line in body.split_inclusive(|byte| *byte == b'\n') {
        let delimiter = line
            .strip_prefix(b"--")
            .and_then(|line| line.strip_prefix(boundary.as_bytes()));
        let is_last = delimiter.is_some_and(|rest| rest.starts_with(b"--"));
        let is_delimiter = is_last || delimiter.is_some_and(|rest| rest.trim_ascii().is_empty());
        if is_delimiter {
            let end = position;
            position += line.len();
            if let Some(begin) = begin {
                sections.extend(body.get(begin..end).map(without_line_end));
            }
            begin = (!is_last).then_some(position);
            if is_last {
                break;
            }
        } else {
            position += line.len();
        }
    }
    if let Some(begin) = begin {
        sections.extend(body.get(begin..));
    }
    sections
}

/// The line break before a boundary belongs to it.
fn without_line_end(section: &[u8]) -> &[u8] {
    let section = section.strip_suffix(b"\n").unwrap_or(section);
    section.strip_suffix(b"\r").unwrap_or(section)
}

/// A body without the encoding for the way. What is broken is read as well as it can be.
fn unpacked(body: &[u8], encoding: &str) -> Vec<u8> {
    match encoding.trim().to_ascii_lowercase().as_str() {
        "base64" => base64_decode(body).unwrap_or_else(|| {
            let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
            let letters: Vec<u8> = body.iter().copied().filter(is_letter).collect();
            // One letter alone is no byte.
            let whole = if letters.len() % 4 == 1 {
                letters.len() - 1
            } else {
                letters.len()
            };
            LENIENT
                .decode(letters.get(..whole).unwrap_or_default())
                .unwrap_or_else(|_| body.to_vec())
        }),
        "quoted-printable" => quoted_printable_decode(body).unwrap_or_else(|| body.to_vec()),
        _ => body.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str) -> Part {
        let headers = MessageParser::default().parse_headers(content.as_bytes()).unwrap();
        Part::of(&headers, content.as_bytes())
    }

    #[test]
    fn parts_stand_between_their_boundaries() {
        let part = read(
            "Content-Type: multipart/mixed; boundary=\"b\"\r\n\r\nbefore\r\n--b\r\n\r\none\r\n--bc\r\n--b  \r\n\
             Content-Type: text/html\r\n\r\ntwo\r\n\r\n--b--\r\nbehind",
        );
        let contents: Vec<_> = part
            .parts
            .iter()
            .map(|part| (part.media_type.as_str(), part.text()))
            .collect();
        assert_eq!(
            contents,
            [
                ("text/plain", "one\r\n--bc".to_owned()),
                ("text/html", "two\r\n".to_owned())
            ]
        );
    }

    #[test]
    fn however_deep_parts_are_nested_they_are_read_in_time() {
        let part = |number| format!("Content-Type: multipart/mixed; boundary=b{number}\r\n\r\n--b{number}\r\n");
        let mixed = (0..20_000).map(part).collect::<Vec<_>>().concat();
        assert!(read(&mixed).all().len() <= DEEPEST + 2);
        let same = "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n".repeat(20_000);
        assert!(read(&same).all().len() <= LIMIT + DEEPEST + 2);
        let messages = "Content-Type: message/rfc822\r\n\r\n".repeat(100_000);
        assert_eq!(read(&messages).all().len(), 1);
        let many = format!(
            "Content-Type: multipart/mixed; boundary=b\r\n\r\n{}",
            "--b\r\n\r\nx\r\n".repeat(20_000)
        );
        assert!(read(&many).all().len() <= LIMIT + 2);
    }

    #[test]
    fn broken_encodings_give_what_they_hold() {
        assert_eq!(unpacked(b"SGVs\r\nbG8", "Base64"), b"Hello");
        assert_eq!(unpacked(b"SGVs*bG8=x", "base64").get(..5), Some(&b"Hello"[..]));
        assert_eq!(unpacked(b"a=20b=\r\nc", "quoted-printable"), b"a bc");
        assert_eq!(unpacked(b"a=20b", "8bit"), b"a=20b");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_have_parts(content in "(Content-Type: multipart/mixed; boundary=b\r\n|Content-Transfer-Encoding: base64\r\n|\r\n|--b|--|.|=){0,80}") {
            if let Some(headers) = MessageParser::default().parse_headers(content.as_bytes()) {
                let part = Part::of(&headers, content.as_bytes());
                proptest::prop_assert!(part.all().len() <= LIMIT + DEEPEST + 2);
            }
        }
    }
}
