//! Texts: slugs, and the shortcodes and merge fields within messages.

use crate::contract::error::{Error, Result};
use crate::contract::value::{Key, Map, Value};

/// A text as a slug, or a slug as a text.
pub(super) fn string_slug(string: String, action: String) -> Result<String> {
    let string = string.trim();
    match action.as_str() {
        "slug" => Ok(string.to_lowercase().replace(' ', "-")),
        "string" => {
            let text = string.replace('-', " ");
            let mut letters = text.chars();
            let first = letters.next().into_iter().flat_map(char::to_uppercase);
            Ok(first.chain(letters.clone()).collect())
        }
        _ => Err(Error::Argument {
            name: "action",
            expected: "slug or string",
        }),
    }
}

/// The first shortcode in a text.
pub(super) fn get_shortcode(shortcode: String, name: Option<String>, kind: Option<String>) -> Result<Option<Map>> {
    let (open, close) = match kind.as_deref() {
        None => ('[', ']'),
        Some("merge") => ('{', '}'),
        Some(_) => {
            return Err(Error::Argument {
                name: "type",
                expected: "merge, or false",
            });
        }
    };
    let starts = shortcode.match_indices(open).filter_map(|(at, _)| shortcode.get(at..));
    let mut found = starts.filter_map(|text| Shortcode::read(text, open, close));
    Ok(found
        .find(|shortcode| name.as_deref().is_none_or(|name| name == shortcode.name))
        .map(Shortcode::into_map))
}

/// `[name attribute="value" …]`, or with the brackets of merge fields.
struct Shortcode<'a> {
    text: &'a str,
    name: &'a str,
    attributes: Vec<(&'a str, String)>,
}

impl<'a> Shortcode<'a> {
    /// Reads the shortcode that a text begins with.
    fn read(text: &'a str, open: char, close: char) -> Option<Self> {
        let mut rest = Rest(text.strip_prefix(open)?);
        let name = rest.name()?;
        let mut attributes = Vec::new();
        loop {
            rest.skip_blanks();
            if rest.skip(close) {
                break;
            }
            let attribute = rest.name()?;
            rest.skip_blanks();
            let value = if rest.skip('=') {
                rest.skip_blanks();
                rest.value(open, close)?
            } else {
                // A flag: that it is there is what it says.
                "true".to_owned()
            };
            attributes.push((attribute, value));
        }
        let text = text.get(..text.len() - rest.0.len())?;
        Some(Self { text, name, attributes })
    }

    /// What it says to people who see no shortcodes.
    fn words(&self) -> String {
        let values = |name| {
            self.attributes
                .iter()
                .filter(move |(own, _)| *own == name)
                .map(|(_, value)| value)
        };
        let options = values("options").flat_map(|options| options.split(',')).map(str::trim);
        let options = options
            .filter(|option| !option.is_empty())
            .map(|option| format!("- {option}"));
        let texts = values("title").chain(values("message")).cloned();
        let lines: Vec<String> = texts.chain(options).chain(values("link").cloned()).collect();
        lines.join("\n")
    }

    fn into_map(self) -> Map {
        let mut map = Map::new();
        map.insert("shortcode".into(), self.text.into());
        map.insert("shortcode_name".into(), self.name.into());
        for (attribute, value) in self.attributes {
            // Of two that have one name the first counts, and ours before both.
            map.entry(Key::from(attribute.to_owned()))
                .or_insert_with(|| Value::from(value));
        }
        map
    }
}

/// A text in which each shortcode is what it says to people: its title, its message, its options line by line, its link.
/// One without attributes is text.
pub(crate) fn without_shortcodes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('[') {
        plain.push_str(before);
        rest = rest.get(before.len()..).unwrap_or_default();
        match Shortcode::read(rest, '[', ']').filter(|shortcode| !shortcode.attributes.is_empty()) {
            Some(shortcode) => {
                plain.push_str(&shortcode.words());
                rest = rest.get(shortcode.text.len()..).unwrap_or_default();
            }
            None => {
                plain.push('[');
                rest = behind;
            }
        }
    }
    plain.push_str(rest);
    plain
}

/// What is not read yet.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn skip(&mut self, character: char) -> bool {
        let rest = self.0.strip_prefix(character);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn skip_blanks(&mut self) {
        self.0 = self.0.trim_start();
    }

    /// Takes what comes before the first character that is none of `these`, or everything.
    fn take_while(&mut self, these: impl Fn(char) -> bool) -> &'a str {
        let end = self.0.find(|character| !these(character)).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at_checked(end).unwrap_or((self.0, ""));
        self.0 = rest;
        taken
    }

    fn name(&mut self) -> Option<&'a str> {
        let name = self.take_while(|character| character.is_alphanumeric() || matches!(character, '_' | '-'));
        (!name.is_empty()).then_some(name)
    }

    /// A value in quotes of either kind, within which `\` keeps the quote from ending it; or one without quotes, which
    /// ends at a blank.
    fn value(&mut self, open: char, close: char) -> Option<String> {
        let Some(quote) = ['"', '\''].into_iter().find(|quote| self.skip(*quote)) else {
            let value =
                self.take_while(|character| !character.is_whitespace() && character != open && character != close);
            return Some(value.to_owned());
        };
        let mut value = String::new();
        loop {
            value.push_str(self.take_while(|character| character != quote));
            if !self.skip(quote) {
                return None;
            }
            if !value.ends_with('\\') {
                return Some(value);
            }
            value.pop();
            value.push(quote);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn reading_takes_time_in_proportion_to_the_text() {
        for piece in [
            "[",
            "[a ",
            "[a x=\"",
            "[a x='[b y=\"",
            "[a x=\"\\",
            "[a x=",
            "[a x=\"]",
            "[é\\\"'",
        ] {
            let text = piece.repeat(200_000 / piece.len());
            let started = Instant::now();
            let _ = get_shortcode(text, Some("none".into()), None).unwrap();
            assert!(started.elapsed().as_secs() < 2, "{piece}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_in_quotes_is_read(value in "[^\"\\\\]*", name in "[a-z_-]{1,9}") {
            let text = format!("before [{name} label=\"{value}\"] behind");
            let found = get_shortcode(text, None, None).unwrap().unwrap();
            proptest::prop_assert_eq!(found.get(&Key::from("label")), Some(&Value::from(value)));
            proptest::prop_assert_eq!(found.get(&Key::from("shortcode_name")), Some(&Value::from(name)));
        }

        #[test]
        fn any_text_is_read_or_not(text in "[\\[\\]{}a\"'\\\\= é\n]*") {
            let _ = get_shortcode(text.clone(), None, None).unwrap();
            let _ = get_shortcode(text, None, Some("merge".into())).unwrap();
        }
    }
}
