//! The formatting of messages, held against a parser of HTML: whatever a message holds, only our tags come out.
//!
//! `cargo test --test formatting`

// A test fails by panicking, in its helpers too.
#![allow(clippy::unwrap_used, clippy::panic)]

use sb::contract::{Arguments, Value, json};
use sb::functions::{self, Body};
use scraper::{Html, Node};

const ELEMENTS: [&str; 7] = ["b", "em", "del", "code", "pre", "br", "a"];

fn formatted(function: &str, message: &str) -> String {
    let Body::Pure(body) = functions::find(function).unwrap().body else {
        panic!("{function} only computes")
    };
    let result = body(Arguments::of_values([message.into()])).unwrap();
    result.as_str().unwrap().to_owned()
}

/// The text that a browser shows, after it is sure that nothing else is in the HTML.
fn shown(message: &str) -> String {
    let html = formatted("sb_text_formatting_to_html", message);
    let document = Html::parse_fragment(&html);
    let mut text = String::new();
    for node in document.tree.root().first_child().unwrap().descendants().skip(1) {
        match node.value() {
            Node::Text(part) => text.push_str(part),
            Node::Element(element) => {
                let name = element.name();
                assert!(ELEMENTS.contains(&name), "{message:?} gives <{name}>:\n{html}");
                let attributes: Vec<(&str, &str)> = element.attrs().collect();
                if name == "a" {
                    let href = element.attr("href").unwrap();
                    assert!(
                        ["http://", "https://"]
                            .iter()
                            .any(|scheme| href.to_ascii_lowercase().starts_with(scheme)),
                        "{message:?} leads to {href}"
                    );
                    let expected = [("href", href), ("rel", "noopener nofollow"), ("target", "_blank")];
                    assert!(
                        attributes.len() == expected.len() && expected.iter().all(|own| attributes.contains(own)),
                        "{message:?} gives {attributes:?}"
                    );
                } else {
                    assert_eq!(attributes, [], "{message:?} gives attributes of <{name}>:\n{html}");
                }
            }
            other => panic!("{message:?} gives {other:?}:\n{html}"),
        }
    }
    text
}

/// A text but for what parsers of HTML drop or change, and line breaks, of which blocks swallow some.
fn comparable(text: &str) -> String {
    text.chars()
        .filter(|letter| !matches!(letter, '\0' | '\r' | '\n' | '\u{feff}'))
        .collect()
}

fn hostile() -> Vec<String> {
    let Some(Value::List(payloads)) = json::decode(include_bytes!("fixtures/markup.json")) else {
        panic!("markup.json is a list")
    };
    payloads
        .iter()
        .map(|payload| payload.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn of_hostile_markup_only_our_tags_come_out_and_all_of_its_text() {
    let payloads = hostile();
    assert!(payloads.len() >= 100);
    for payload in payloads {
        for message in [
            payload.clone(),
            format!("*{payload}*"),
            format!("__a {payload} b__"),
            format!("`{payload}`"),
            format!("```{payload}```"),
            format!("https://a.example/{payload}"),
            format!("https://a.example/?{payload}&{payload} *x*"),
            format!("{payload}\n{payload}"),
            format!("*~{payload}__`{payload}*"),
        ] {
            let plain = formatted("sb_clear_text_formatting", &message);
            assert_eq!(comparable(&shown(&message)), comparable(&plain), "{message:?}");
        }
    }
}

#[test]
fn what_is_shown_of_a_text_with_hostile_markup_is_that_text() {
    // Without marks there is nothing to take away.
    for payload in hostile()
        .iter()
        .filter(|payload| !payload.contains(['*', '_', '~', '`']))
    {
        assert_eq!(comparable(&shown(payload)), comparable(payload), "{payload:?}");
    }
}

#[test]
fn our_own_tags_are_there() {
    let html = formatted(
        "sb_text_formatting_to_html",
        "*b* __e__ ~d~ `c` http://a.example\n```\np\n```",
    );
    let document = Html::parse_fragment(&html);
    let names: Vec<&str> = document
        .tree
        .values()
        .filter_map(|node| node.as_element().map(scraper::node::Element::name))
        .collect();
    assert!(
        ELEMENTS
            .iter()
            .filter(|name| **name != "br")
            .all(|name| names.contains(name)),
        "{html}"
    );
}
