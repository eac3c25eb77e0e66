//! Texts: slugs, and the shortcodes and merge fields within messages.

use crate::contract::error::{Error, Result};
use crate::contract::value::{Key, Map, Value};
use crate::functions::shortcodes::Shortcode;

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
        .map(as_map))
}

/// What a shortcode holds, and itself.
fn as_map(shortcode: Shortcode<'_>) -> Map {
    let mut map = Map::new();
    map.insert("shortcode".into(), shortcode.text.into());
    map.insert("shortcode_name".into(), shortcode.name.into());
    for (attribute, value) in shortcode.attributes {
        // Of two that have one name the first counts, and ours before both.
        map.entry(Key::from(attribute.to_owned()))
            .or_insert_with(|| Value::from(value));
    }
    map
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
