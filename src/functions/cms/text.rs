//! Texts as the content-management system stores them: names with their HTML escaped, titles as parts of addresses.

use icu_normalizer::DecomposingNormalizerBorrowed;

/// What an address holds of a title.
const SLUG_LIMIT: usize = 200;

/// The ways in which a name may be stored: as it is given, escaped, and with what the caller has escaped as it was.
pub(crate) fn spellings(name: &str) -> [String; 3] {
    let escaped = name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let pairs = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#039;", "'"),
        ("&amp;", "&"),
    ];
    let raw = pairs
        .iter()
        .fold(name.to_owned(), |text, (from, to)| text.replace(from, to));
    [name.to_owned(), escaped, raw]
}

/// A title as part of an address: small letters without accents, digits, and dashes; what has no Latin letters is
/// percent-encoded.
pub(crate) fn slug(title: &str) -> String {
    let text = without_tags(title);
    let letters = text.chars().flat_map(without_accent).flat_map(char::to_lowercase);
    let mut slug = String::new();
    for letter in letters {
        let part = match letter {
            'a'..='z' | '0'..='9' | '_' => letter.to_string(),
            '-' | '.' | '/' | '\u{2010}'..='\u{2015}' => "-".to_owned(),
            letter if letter.is_whitespace() => "-".to_owned(),
            letter if letter.is_ascii() || is_mark(letter) => continue,
            letter => percent_encoded(letter),
        };
        // No letter is cut in the middle of its code.
        if slug.len() + part.len() > SLUG_LIMIT {
            break;
        }
        if part != "-" || !(slug.is_empty() || slug.ends_with('-')) {
            slug.push_str(&part);
        }
    }
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}

fn percent_encoded(letter: char) -> String {
    let mut buffer = [0; 4];
    let bytes = letter.encode_utf8(&mut buffer).bytes();
    bytes.fold(String::new(), |code, byte| format!("{code}%{byte:02x}"))
}

/// Marks that join no words.
fn is_mark(letter: char) -> bool {
    matches!(
        letter,
        '\u{2018}'..='\u{201f}' | '¡' | '¿' | '«' | '»' | '‹' | '›' | '©' | '®' | '°' | '…' | '™' | '´'
    )
}

/// A Latin letter without its accent, other letters as they are.
fn without_accent(letter: char) -> impl Iterator<Item = char> {
    let special = match letter {
        'ß' => "s",
        'ẞ' => "S",
        'Æ' => "AE",
        'æ' => "ae",
        'Ø' => "O",
        'ø' => "o",
        'Œ' => "OE",
        'œ' => "oe",
        'Ð' | 'Đ' => "D",
        'ð' | 'đ' => "d",
        'Þ' => "TH",
        'þ' => "th",
        'Ł' => "L",
        'ł' => "l",
        'Ħ' => "H",
        'ħ' => "h",
        'ı' => "i",
        'Ŧ' => "T",
        'ŧ' => "t",
        '×' => "x",
        '€' => "E",
        '£' => "",
        _ => {
            let mut buffer = [0; 4];
            let decomposed = DecomposingNormalizerBorrowed::new_nfd().normalize(letter.encode_utf8(&mut buffer));
            let base = decomposed.chars().next().filter(char::is_ascii_alphabetic);
            return base
                .unwrap_or(letter)
                .to_string()
                .chars()
                .collect::<Vec<_>>()
                .into_iter();
        }
    };
    special.chars().collect::<Vec<_>>().into_iter()
}

/// The text without tags and named characters, as a reader sees it.
fn without_tags(title: &str) -> String {
    let mut text = String::new();
    let mut rest = title;
    while let Some(at) = rest.find(['<', '&']) {
        let (before, behind) = rest.split_at(at);
        text.push_str(before);
        let length = if behind.starts_with('<') {
            behind.find('>').map(|end| end + 1)
        } else {
            let end = behind.find(';').filter(|end| {
                let name = behind.get(1..*end).unwrap_or_default();
                !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'#')
            });
            end.map(|end| end + 1)
        };
        rest = behind.get(length.unwrap_or(1)..).unwrap_or_default();
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_becomes_part_of_an_address() {
        for (title, expected) in [
            ("Hello World", "hello-world"),
            // Written by the system itself.
            (r#"Héllo "it's" & me"#, "hello-its-me"),
            ("größe", "grose"),
            ("Łódź – Ærø", "lodz-aero"),
            ("日本", "%e6%97%a5%e6%9c%ac"),
            ("  --a  b..c/d--  ", "a-b-c-d"),
            ("<b>Bold</b> &amp; &#39;new&#39;", "bold-new"),
            ("50% off_now", "50-off_now"),
            ("D’Artagnan", "dartagnan"),
            ("3 < 4", "3-4"),
            ("🦊", "%f0%9f%a6%8a"),
            ("", ""),
            ("'", ""),
        ] {
            assert_eq!(slug(title), expected, "{title}");
        }
    }

    #[test]
    fn a_long_title_is_cut_behind_a_whole_letter() {
        assert_eq!(slug(&"a".repeat(300)), "a".repeat(200));
        let cut = slug(&"日".repeat(100));
        assert_eq!(cut, "%e6%97%a5".repeat(22));
        assert_eq!(
            slug(&format!("{}é日", "a".repeat(198))),
            format!("{}e", "a".repeat(198))
        );
    }

    #[test]
    fn a_name_may_be_stored_escaped() {
        assert_eq!(spellings("A & B <x>")[1], "A &amp; B &lt;x&gt;");
        assert_eq!(spellings("A &amp; B")[2], "A & B");
    }
}
