//! The HTML of articles: what of it is kept, and the text in it.

use std::collections::HashSet;

use ammonia::Builder;

/// How many characters of an article stand in lists.
const EXCERPT: usize = 100;

/// Elements that stand within a line: no space takes their place.
const INLINE: &[&str] = &[
    "a", "abbr", "b", "bdi", "bdo", "cite", "code", "del", "em", "font", "i", "ins", "kbd", "mark", "s", "samp",
    "small", "span", "strike", "strong", "sub", "sup", "tt", "u", "var", "wbr",
];

/// Where a link may lead.
const SCHEMES: [&str; 4] = ["http", "https", "mailto", "tel"];

/// HTML with only those elements, attributes and links that do no harm.
pub(super) fn cleaned(html: &str) -> String {
    let mut builder = Builder::default();
    builder
        .add_generic_attributes(["class", "dir", "id"])
        .add_tag_attributes("a", ["target", "rel"])
        .url_schemes(HashSet::from(SCHEMES))
        // As the author wrote it: an opened page can do nothing to its opener any more.
        .link_rel(None);
    builder.clean(html).to_string()
}

/// Whether a link leads to a page: with a harmless scheme, or with none.
pub(super) fn is_harmless(link: &str) -> bool {
    let link = link.trim();
    if link.contains(|letter: char| letter.is_control() || letter.is_whitespace()) {
        return false;
    }
    match link.split_once(':') {
        Some((scheme, rest)) if !scheme.contains(['/', '?', '#']) => {
            SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known))
                // `host.example:8080` has a port and no scheme.
                || scheme.contains('.') && rest.starts_with(|letter: char| letter.is_ascii_digit())
        }
        _ => true,
    }
}

/// The beginning of the text, still escaped as in HTML.
pub(super) fn excerpt(html: &str) -> String {
    let text = stripped(html);
    let mut end = 0;
    for _ in 0..EXCERPT {
        let rest = text.get(end..).unwrap_or_default();
        let Some(letter) = rest.chars().next() else {
            return text;
        };
        end += reference(rest).map_or(letter.len_utf8(), str::len);
    }
    match text.get(..end) {
        Some(beginning) if end < text.len() => format!("{}...", beginning.trim_end()),
        _ => text,
    }
}

/// The text, as people read it.
pub(super) fn text(html: &str) -> String {
    escapes().iter().fold(stripped(html), |text, (letter, reference)| {
        text.replace(reference, &letter.to_string())
    })
}

/// A text as it stands in HTML.
pub(super) fn escaped(text: &str) -> String {
    // The ampersand first, or those of the others were escaped too.
    let escapes = escapes();
    let needed = escapes.iter().rev().take(3);
    needed.fold(text.to_owned(), |text, (letter, reference)| {
        text.replace(*letter, reference)
    })
}

/// Letters and how they are escaped, in the order in which that is undone.
const fn escapes() -> [(char, &'static str); 6] {
    [
        (' ', "&nbsp;"),
        ('"', "&quot;"),
        ('\'', "&#39;"),
        ('>', "&gt;"),
        ('<', "&lt;"),
        ('&', "&amp;"),
    ]
}

/// The text between the tags, its white space reduced to single spaces.
fn stripped(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        if !tag.starts_with(|letter: char| letter.is_ascii_alphabetic() || matches!(letter, '/' | '!' | '?')) {
            text.push_str("&lt;");
            rest = tag;
            continue;
        }
        let name = tag
            .trim_start_matches('/')
            .split(|letter: char| !letter.is_ascii_alphanumeric());
        let name = name.into_iter().next().unwrap_or_default().to_ascii_lowercase();
        if !INLINE.contains(&name.as_str()) {
            text.push(' ');
        }
        rest = tag.split_once('>').map_or("", |(_, rest)| rest);
    }
    text.push_str(rest);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The character reference that a text begins with: `&amp;`.
fn reference(text: &str) -> Option<&str> {
    const LONGEST: usize = 12;
    let body = text.strip_prefix('&')?;
    let end = body.find(';').filter(|end| (1..LONGEST).contains(end))?;
    let is_reference = body
        .get(..end)?
        .bytes()
        .all(|letter| letter.is_ascii_alphanumeric() || letter == b'#');
    if is_reference { text.get(..end + 2) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_run_is_left_out() {
        for (html, kept) in [
            ("<p>Hi <b>there</b></p>", "<p>Hi <b>there</b></p>"),
            ("<script>alert(1)</script>a", "a"),
            ("<img src=x onerror=alert(1)>", "<img src=\"x\">"),
            ("<a href=\"javascript:alert(1)\">a</a>", "<a>a</a>"),
            ("<a href=\" jAvA\tscript:alert(1)\">a</a>", "<a>a</a>"),
            ("<a href=\"data:text/html,x\">a</a>", "<a>a</a>"),
            (
                "<a href=\"https://a.example/?b=1&c\" target=\"_blank\">a</a>",
                "<a href=\"https://a.example/?b=1&amp;c\" target=\"_blank\">a</a>",
            ),
            ("<iframe src=\"https://a.example\"></iframe>a", "a"),
            ("<svg><script>x</script></svg>", ""),
            ("<math><mi//xlink:href=\"data:x,<script>alert(4)</script>\">", ""),
            (
                "<p style=\"background:url(javascript:x)\" class=\"c\">a",
                "<p class=\"c\">a</p>",
            ),
            ("<form action=x><input></form>", ""),
            ("a < b & c", "a &lt; b &amp; c"),
            ("<b>not closed", "<b>not closed</b>"),
            ("<!-- --><style>p{}</style>a", "a"),
        ] {
            assert_eq!(cleaned(html), kept, "{html}");
            assert_eq!(cleaned(kept), kept, "{html}");
        }
    }

    #[test]
    fn a_link_leads_to_a_page() {
        for link in [
            "",
            "https://a.example/b?c=d:e",
            "HTTP://a.example",
            "/help",
            "?article=1",
            "#top",
            "a.example:8080/b",
            "mailto:a@b.example",
            "//a.example",
        ] {
            assert!(is_harmless(link), "{link}");
        }
        for link in [
            "javascript:alert(1)",
            "JavaScript:x",
            "java\nscript:x",
            "data:text/html,x",
            "vbscript:x",
            "x:1",
            "file:///etc/passwd",
        ] {
            assert!(!is_harmless(link), "{link}");
        }
    }

    #[test]
    fn an_excerpt_is_the_beginning_of_the_text() {
        for (html, beginning) in [
            ("<p>One</p><p>two <b>th</b>ree</p>", "One two three"),
            ("<ul><li>a</li><li>b</li></ul>", "a b"),
            ("a &lt;b&gt; &amp; c", "a &lt;b&gt; &amp; c"),
            ("1 < 2", "1 &lt; 2"),
            ("<p title=\"not closed", ""),
            ("", ""),
        ] {
            assert_eq!(excerpt(html), beginning, "{html}");
        }
        assert_eq!(excerpt(&"é".repeat(100)), "é".repeat(100));
        assert_eq!(excerpt(&"é".repeat(101)), format!("{}...", "é".repeat(100)));
        assert_eq!(excerpt(&"&amp;".repeat(101)), format!("{}...", "&amp;".repeat(100)));
        assert_eq!(
            excerpt(&format!("{} b", "a".repeat(99))),
            format!("{}...", "a".repeat(99))
        );
    }

    #[test]
    fn a_text_is_found_as_it_is_read() {
        assert_eq!(text("<p>a &lt;b&gt;&nbsp;&amp;lt; \"c\"</p>"), "a <b> &lt; \"c\"");
        assert_eq!(escaped("a <b> & c"), "a &lt;b&gt; &amp; c");
    }

    proptest::proptest! {
        #[test]
        fn no_excerpt_holds_a_tag(html in ".*") {
            let excerpt = excerpt(&html);
            proptest::prop_assert!(!excerpt.contains('<'), "{}", excerpt);
        }
    }
}
