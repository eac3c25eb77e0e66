//! What a message of the chat is made of elsewhere: its texts, and what its shortcodes stand for.

use crate::functions::attachments::is_link;
use crate::functions::shortcodes::{Segment, Shortcode, segments};
use crate::providers::messaging::{Card, Choice, File, Part};

/// Attributes of shortcodes that say something to people. They may be numbered: `header-2`.
const WORDS: [&str; 11] = [
    "title",
    "header",
    "name",
    "message",
    "description",
    "extra",
    "options",
    "values",
    "link",
    "url",
    "image",
];

/// The parts of a message, its texts as `written` writes them.
pub(super) fn parts(message: &str, written: fn(&str) -> String) -> Vec<Part> {
    let parts = segments(message).into_iter().filter_map(|segment| match segment {
        Segment::Text(text) => words(written(text.trim())),
        Segment::Shortcode(shortcode) => of(&shortcode),
    });
    parts.collect()
}

fn words(text: String) -> Option<Part> {
    (!text.is_empty()).then_some(Part::Text(text))
}

/// What a shortcode is; in words where it is nothing that platforms know.
fn of(shortcode: &Shortcode<'_>) -> Option<Part> {
    let part = match shortcode.name {
        "buttons" | "chips" | "select" => choice(shortcode),
        "card" => card(shortcode),
        "image" => image(shortcode),
        _ => None,
    };
    part.or_else(|| words(said(shortcode)))
        .or_else(|| words(shortcode.text.to_owned()))
}

fn choice(shortcode: &Shortcode<'_>) -> Option<Part> {
    let mut options: Vec<String> = Vec::new();
    for option in listed(shortcode.get("options")?) {
        // Buttons with the same name are refused, and mean the same.
        if !options.iter().any(|own| own == option) {
            options.push(option.to_owned());
        }
    }
    let text = lines(["title", "message"].map(|name| shortcode.get(name)));
    (!options.is_empty()).then_some(Part::Choice(Choice { text, options }))
}

fn card(shortcode: &Shortcode<'_>) -> Option<Part> {
    let link = |name| shortcode.get(name).filter(|link| is_link(link)).map(str::to_owned);
    let name = shortcode.get("link-text").unwrap_or_default().to_owned();
    let title = shortcode.get("header").or_else(|| shortcode.get("title"));
    let card = Card {
        title: title.unwrap_or_default().to_owned(),
        text: lines(["description", "extra"].map(|name| shortcode.get(name))),
        image: link("image"),
        link: link("link").map(|link| (name, link)),
    };
    (card != Card::default()).then_some(Part::Card(card))
}

fn image(shortcode: &Shortcode<'_>) -> Option<Part> {
    let first = |names: [&str; 3]| names.into_iter().find_map(|name| shortcode.get(name));
    let link = first(["url", "src", "link"]).filter(|link| is_link(link))?;
    Some(Part::File(File {
        name: first(["alt", "title", "name"]).unwrap_or_default().to_owned(),
        link: link.to_owned(),
    }))
}

/// The words of a shortcode, line by line.
fn said(shortcode: &Shortcode<'_>) -> String {
    let mut said = Vec::new();
    for (name, value) in &shortcode.attributes {
        let unnumbered = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let name = if unnumbered == *name {
            name
        } else {
            unnumbered.trim_end_matches('-')
        };
        match name {
            "options" | "values" => said.extend(listed(value).map(|option| format!("- {option}"))),
            name if WORDS.contains(&name) => said.push(value.trim().to_owned()),
            _ => {}
        }
    }
    lines(said.iter().map(|line| Some(line.as_str())))
}

/// What stands between commas.
fn listed(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty())
}

fn lines<'a>(lines: impl IntoIterator<Item = Option<&'a str>>) -> String {
    let lines = lines.into_iter().flatten().filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::formatting::to_plain;

    fn text(text: &str) -> Part {
        Part::Text(text.to_owned())
    }

    #[test]
    fn shortcodes_are_what_platforms_know_or_words() {
        for (message, expected) in [
            ("", vec![]),
            (" *Hi* there ", vec![text("Hi there")]),
            (
                "Hi [chips title=\"Choose\" message=\"one\" options=\"A, B,,A\"] [x]",
                vec![
                    text("Hi"),
                    Part::Choice(Choice {
                        text: "Choose\none".into(),
                        options: vec!["A".into(), "B".into()],
                    }),
                    text("[x]"),
                ],
            ),
            ("[buttons title=\"Choose\" options=\" , \"]", vec![text("Choose")]),
            (
                "[card header='H' description='D' extra='9 €' image='https://a.example/b.png' link='https://a.example' link-text='See']",
                vec![Part::Card(Card {
                    title: "H".into(),
                    text: "D\n9 €".into(),
                    image: Some("https://a.example/b.png".into()),
                    link: Some(("See".into(), "https://a.example".into())),
                })],
            ),
            (
                "[card header=H image='javascript:alert(1)' link='/a']",
                vec![Part::Card(Card {
                    title: "H".into(),
                    ..Card::default()
                })],
            ),
            (
                "[image url=\"https://a.example/b.png\" alt=\"A cat\"]",
                vec![Part::File(File {
                    name: "A cat".into(),
                    link: "https://a.example/b.png".into(),
                })],
            ),
            ("[image url=\"b.png\"]", vec![text("b.png")]),
            (
                "[slider header-1='A' link-1='https://a.example' header-2='B' target='_blank']",
                vec![text("A\nhttps://a.example\nB")],
            ),
            (
                "[video type='youtube' id='a']",
                vec![text("[video type='youtube' id='a']")],
            ),
        ] {
            assert_eq!(parts(message, to_plain), expected, "{message}");
        }
    }
}
