//! Texts of e-mails that say a wrong charset, or none.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};
use mail_parser::decoders::base64::base64_decode;
use mail_parser::decoders::charsets::map::charset_decoder;
use mail_parser::decoders::quoted_printable::quoted_printable_decode;

use super::mime::split;

/// What an encoded word may have, in bytes; by its standard it is 75.
const WORD_LIMIT: usize = 1000;

/// Bytes as text. `label` is the charset that the e-mail names.
pub(super) fn decoded(bytes: &[u8], label: Option<&str>) -> String {
    let utf8 = std::str::from_utf8(bytes).ok();
    let named = label
        .map(str::trim)
        .filter(|label| !label.is_empty() && !label.eq_ignore_ascii_case("us-ascii"));
    let encoding = match named {
        None => None,
        Some(label) => match Encoding::for_label(label.as_bytes()) {
            Some(encoding) => Some(encoding),
            // One that browsers do not know, such as UTF-7.
            None => match charset_decoder(label.as_bytes()) {
                Some(decode) if bytes.is_ascii() => return decode(bytes),
                _ => None,
            },
        },
    };
    match (encoding, utf8) {
        // In a charset of single bytes everything is some text; what is UTF-8 beyond ASCII is so by no chance.
        (Some(encoding), Some(utf8)) if encoding == UTF_8 || (encoding.is_single_byte() && !bytes.is_ascii()) => {
            without_mark(utf8)
        }
        (Some(encoding), utf8) if encoding != UTF_8 => {
            let (text, had_errors) = encoding.decode_without_bom_handling(bytes);
            match utf8 {
                _ if !had_errors => without_mark(&text),
                Some(utf8) => without_mark(utf8),
                None => guessed(bytes).unwrap_or_else(|| text.into_owned()),
            }
        }
        (None, Some(utf8)) if !bytes.contains(&0x1b) => without_mark(utf8),
        (Some(_), None) if is_mostly_utf8(bytes) => without_mark(&String::from_utf8_lossy(bytes)),
        _ => guessed(bytes).unwrap_or_else(|| String::from_utf8_lossy(bytes).into_owned()),
    }
}

/// Whether bytes are UTF-8 but for a few, such as the half of a letter at which an e-mail was cut. In a text of another
/// charset hardly any two bytes are a letter of UTF-8.
fn is_mostly_utf8(bytes: &[u8]) -> bool {
    let (mut letters, mut errors) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        letters += chunk.valid().chars().filter(|letter| !letter.is_ascii()).count();
        errors += usize::from(!chunk.invalid().is_empty());
    }
    letters >= errors && letters > 0
}

/// A text in the charset that it is most likely in; `None` when it is not.
fn guessed(bytes: &[u8]) -> Option<String> {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    let (text, had_errors) = detector
        .guess(None, Utf8Detection::Allow)
        .decode_without_bom_handling(bytes);
    (!had_errors).then(|| text.into_owned())
}

/// An e-mail whose headers can be read: some programs write them in their own charset as they are, and some part a letter
/// between two encoded words.
pub(super) fn with_readable_headers(content: Vec<u8>) -> Vec<u8> {
    let (headers, body) = split(&content);
    let readable = match std::str::from_utf8(headers) {
        Ok(headers) => Cow::Borrowed(headers),
        Err(_) => guessed(headers).map_or_else(|| String::from_utf8_lossy(headers), Cow::Owned),
    };
    let joined = with_whole_words(&readable);
    if joined.as_bytes() == headers {
        return content;
    }
    [joined.as_bytes(), body].concat()
}

/// Headers in which encoded words (RFC 2047) that follow each other in one charset are one.
fn with_whole_words(headers: &str) -> String {
    let mut whole = String::with_capacity(headers.len());
    let mut rest = headers;
    while let Some(begin) = rest.find("=?") {
        let (before, from) = rest.split_at(begin);
        whole.push_str(before);
        let Some((charset, mut bytes, mut behind)) = encoded_word(from) else {
            whole.push_str("=?");
            rest = from.get(2..).unwrap_or_default();
            continue;
        };
        let single = behind;
        while let Some((_, more, further)) =
            encoded_word(behind.trim_start()).filter(|(own, ..)| own.eq_ignore_ascii_case(charset))
        {
            bytes.extend(more);
            behind = further;
        }
        if behind.len() == single.len() {
            whole.push_str(from.get(..from.len() - behind.len()).unwrap_or_default());
        } else {
            whole.extend(["=?", charset, "?B?", &STANDARD.encode(bytes), "?="]);
        }
        rest = behind;
    }
    whole + rest
}

/// The charset and the bytes of the encoded word that a text begins with, and what follows it.
fn encoded_word(text: &str) -> Option<(&str, Vec<u8>, &str)> {
    let begin = text.get(..text.floor_char_boundary(WORD_LIMIT))?;
    let (charset, rest) = begin.strip_prefix("=?")?.split_once('?')?;
    let (encoding, rest) = rest.split_once('?')?;
    let (word, rest) = rest.split_once("?=")?;
    let behind = text.get(begin.len() - rest.len()..)?;
    if charset.is_empty() || [charset, word].iter().any(|part| part.contains(char::is_whitespace)) {
        return None;
    }
    let bytes = match encoding {
        "B" | "b" => base64_decode(word.as_bytes())?,
        "Q" | "q" => quoted_printable_decode(word.replace('_', "=20").as_bytes())?,
        _ => return None,
    };
    Some((charset, bytes, behind))
}

fn without_mark(text: &str) -> String {
    text.trim_start_matches('\u{feff}').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_in_its_charset_whatever_it_says() {
        let russian = "Здравствуйте, когда придёт мой заказ? Спасибо за ответ.";
        let german = "Grüße aus München, die Lieferung fehlt noch.";
        let encoded = |label: &str, text: &str| {
            let (bytes, _, had_errors) = Encoding::for_label(label.as_bytes()).unwrap().encode(text);
            assert!(!had_errors, "{label}");
            bytes.into_owned()
        };
        for (written_in, text, said) in [
            ("utf-8", russian, Some("utf-8")),
            ("utf-8", russian, None),
            ("utf-8", russian, Some("iso-8859-1")),
            ("utf-8", russian, Some("us-ascii")),
            ("utf-8", russian, Some("x-unknown")),
            ("utf-8", german, Some("windows-1252")),
            ("windows-1251", russian, Some("windows-1251")),
            ("windows-1251", russian, Some("utf-8")),
            ("windows-1251", russian, None),
            ("koi8-r", russian, Some("utf-8")),
            ("koi8-r", russian, Some("KOI8-R")),
            ("koi8-r", russian, Some("us-ascii")),
            ("windows-1252", german, Some("iso-8859-1")),
            ("windows-1252", german, Some("utf-8")),
            ("iso-2022-jp", "お世話になっております。", Some("iso-2022-jp")),
            ("iso-2022-jp", "お世話になっております。", None),
            ("shift_jis", "お世話になっております。", Some("shift_jis")),
            ("gb18030", "您好，我的包裹还没有到。", Some("gb2312")),
            ("gb18030", "联通", Some("gbk")),
            ("big5", "您好，我的包裹還沒有到。", Some("big5")),
            (
                "euc-kr",
                "안녕하세요, 주문한 물건이 아직 안 왔어요.",
                Some("ks_c_5601-1987"),
            ),
        ] {
            assert_eq!(
                decoded(&encoded(written_in, text), said),
                text,
                "{written_in} as {said:?}"
            );
        }
        assert_eq!(decoded(b"Hi Mom +Jjo-!", Some("utf-7")), "Hi Mom ☺!");
        assert_eq!(
            decoded("Grüße aus M\u{fc}".as_bytes().split_last().unwrap().1, Some("utf-8")),
            "Grüße aus M\u{fffd}"
        );
        assert_eq!(decoded("\u{feff}a".as_bytes(), Some("utf-8")), "a");
        assert_eq!(decoded(b"\xff\xfea\0\xe4\0", Some("utf-16")), "aä");
    }

    #[test]
    fn headers_in_a_charset_of_their_own_become_readable() {
        let (subject, _, _) = encoding_rs::WINDOWS_1251.encode("Subject: Где мой заказ, когда он придёт?\r\n\r\n");
        let content = [&subject[..], b"\xff\xfe"].concat();
        let readable = with_readable_headers(content);
        assert!(readable.starts_with("Subject: Где мой заказ, когда он придёт?\r\n\r\n".as_bytes()));
        assert!(readable.ends_with(b"\xff\xfe"));
    }

    #[test]
    fn a_letter_that_is_parted_between_two_words_is_whole() {
        for (headers, whole) in [
            (
                "=?utf-8?B?R3LD?=\r\n =?UTF-8?Q?=BC=C3=9Fe_aus?= K",
                "=?utf-8?B?R3LDvMOfZSBhdXM=?= K",
            ),
            (
                "=?utf-8?B?R3LDvA==?= x =?utf-8?Q?a_b?=",
                "=?utf-8?B?R3LDvA==?= x =?utf-8?Q?a_b?=",
            ),
            ("=?utf-8?Q?a?= =?koi8-r?Q?b?=", "=?utf-8?Q?a?= =?koi8-r?Q?b?="),
            ("=?=? =?x?y?z =? ?B?x?= =?", "=?=? =?x?y?z =? ?B?x?= =?"),
        ] {
            assert_eq!(with_whole_words(headers), whole);
        }
    }
}
