//! Attachments of messages: `[name, link]` pairs of files that are already uploaded.

use crate::contract::args::{Argument, Items};
use crate::contract::error::{Code, Result};
use crate::contract::{Key, Value, json};
use crate::functions::columns::{self, check_bytes};

/// The attachments as they are stored: JSON, or an empty text for none, which other readers of the table test for.
pub(super) fn stored(attachments: Items) -> Result<String> {
    let pairs = pairs(attachments)?;
    if pairs.is_empty() {
        return Ok(String::new());
    }
    let text = json::encode(&Value::List(pairs));
    check_bytes("attachments", &text, columns::TEXT)?;
    Ok(text)
}

/// The attachments as pairs of texts.
pub(crate) fn pairs(Items(attachments): Items) -> Result<Vec<Value>> {
    attachments.iter().map(pair).collect()
}

/// The names and links of attachments that are stored.
pub(super) fn of_stored(text: &str) -> Vec<(String, String)> {
    let stored = json::decode(text.as_bytes()).and_then(Items::from_value);
    stored.and_then(|stored| links(stored).ok()).unwrap_or_default()
}

/// The attachments by their names and links.
pub(super) fn links(attachments: Items) -> Result<Vec<(String, String)>> {
    let text = |pair: &Value, index| {
        pair.get(&Key::Int(index))
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let pairs = pairs(attachments)?;
    Ok(pairs.iter().map(|pair| (text(pair, 0), text(pair, 1))).collect())
}

/// Anything but a name and an http or https link is refused: it would be shown as a link to people.
fn pair(attachment: &Value) -> Result<Value> {
    let item = |index| {
        attachment
            .get(&Key::Int(index))
            .and_then(|item| String::from_value(item.clone()))
    };
    match (item(0), item(1)) {
        (Some(name), Some(link)) if is_link(&link) => Ok(Value::List(vec![name.into(), link.into()])),
        _ => Err(Code::InvalidAttachment.into()),
    }
}

/// Whether it is a link that a browser may be sent to.
pub(crate) fn is_link(link: &str) -> bool {
    let rest = ["http://", "https://"].into_iter().find_map(|scheme| {
        link.get(..scheme.len())
            .filter(|start| start.eq_ignore_ascii_case(scheme))?;
        link.get(scheme.len()..)
    });
    rest.is_some_and(|rest| {
        !rest.is_empty()
            && !rest.starts_with('/')
            && !link.chars().any(|letter| letter.is_control() || letter.is_whitespace())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_links_of_the_web_are_links() {
        for link in ["http://a", "https://a.b/c?d=e#f", "HTTPS://A", "https://a/ä.png"] {
            assert!(is_link(link), "{link}");
        }
        for link in [
            "",
            "a",
            "//a",
            "javascript:alert(1)",
            "ftp://a",
            "http://",
            "https:///etc",
            "http://a b",
            "http://a\n",
            "data:text/html,x",
            "ｈttp://a",
        ] {
            assert!(!is_link(link), "{link}");
        }
    }
}
