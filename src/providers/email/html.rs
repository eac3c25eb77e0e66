//! HTML of e-mails as plain text.
//!
//! It reads tags one after the other and keeps no tree: whatever is nested in whatever, an e-mail of a stranger takes
//! time by its length only.

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};

/// How deep lists and quotations are shown.
const DEPTH_LIMIT: usize = 5;

/// The ids of elements with which mail programs begin what they quote.
const QUOTATIONS: [&str; 3] = [
    "divRplyFwdMsg",
    "OutlookMessageHeader",
    "mail-editor-reference-message-container",
];

/// The line that says so in plain text.
pub(super) const ORIGINAL: &str = "-----Original Message-----";

/// HTML as plain text: an address behind the text that links to it, `>` before the lines of a quotation.
pub fn plain_text(html: &str) -> String {
    let sink = Sink(RefCell::default());
    let tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(html));
    // It stops at the end of a script, to let somebody run it.
    while !input.is_empty() {
        let _ = tokenizer.feed(&input);
    }
    tokenizer.end();
    tokenizer.sink.0.into_inner().finish()
}

struct Sink(RefCell<Text>);

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        let mut text = self.0.borrow_mut();
        match token {
            Token::CharacterTokens(letters) => text.letters(&letters),
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => {
                text.open(&tag);
                return match &*tag.name {
                    "script" | "style" | "xmp" | "iframe" | "noembed" | "noframes" => {
                        TokenSinkResult::RawData(RawKind::Rawtext)
                    }
                    "title" | "textarea" => TokenSinkResult::RawData(RawKind::Rcdata),
                    _ => TokenSinkResult::Continue,
                };
            }
            Token::TagToken(tag) => text.close(&tag.name),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

/// A text that is being written.
#[derive(Default)]
struct Text {
    written: String,
    /// Line breaks that come before the next letter; at the beginning none do.
    breaks: usize,
    /// A space comes before the next letter.
    space: bool,
    /// The element whose content is not shown.
    hidden: Option<String>,
    preformatted: bool,
    quotations: usize,
    /// The numbers that the items of the open lists have reached, `None` where they have none.
    lists: Vec<Option<u32>>,
    /// The address of the open link, and where its text begins.
    link: Option<(String, usize)>,
}

impl Text {
    fn open(&mut self, tag: &Tag) {
        let attribute = |name: &str| {
            let found = tag.attrs.iter().find(|attribute| &*attribute.name.local == name);
            found.map(|attribute| attribute.value.trim())
        };
        match &*tag.name {
            name @ ("script" | "style" | "title" | "textarea" | "iframe" | "noembed" | "noframes" | "object") => {
                self.hidden.get_or_insert_with(|| name.to_owned());
            }
            "br" => self.breaks += 1,
            "hr" => {
                self.block(2);
                self.letters("----------");
                self.block(2);
            }
            "pre" => {
                self.block(2);
                self.preformatted = true;
            }
            "blockquote" => {
                self.block(2);
                self.quotations += 1;
            }
            "ul" | "ol" => {
                self.block(if self.lists.is_empty() { 2 } else { 1 });
                self.lists.push((&*tag.name == "ol").then_some(0));
            }
            "li" => self.item(),
            "td" | "th" => self.space = true,
            "img" => self.letters(attribute("alt").unwrap_or_default()),
            "a" => {
                self.end_link();
                self.link = attribute("href").map(|address| (address.to_owned(), self.written.len()));
            }
            name => {
                if attribute("id").is_some_and(|id| QUOTATIONS.contains(&id.trim_start_matches("x_"))) {
                    self.block(2);
                    self.letters(ORIGINAL);
                }
                self.block(breaks_around(name));
            }
        }
    }

    fn close(&mut self, name: &str) {
        if self.hidden.as_deref() == Some(name) {
            self.hidden = None;
            return;
        }
        match name {
            "a" => self.end_link(),
            "pre" => {
                self.preformatted = false;
                self.block(2);
            }
            "blockquote" => {
                self.block(2);
                self.quotations = self.quotations.saturating_sub(1);
            }
            "ul" | "ol" => {
                self.lists.pop();
                self.block(if self.lists.is_empty() { 2 } else { 1 });
            }
            name => self.block(breaks_around(name)),
        }
    }

    /// Begins a block: so many line breaks stand before it, unless they are there.
    fn block(&mut self, breaks: usize) {
        self.breaks = self.breaks.max(breaks);
    }

    fn item(&mut self) {
        self.block(1);
        let depth = self.lists.len().clamp(1, DEPTH_LIMIT);
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number = number.saturating_add(1);
                format!("{number}. ")
            }
            _ => "- ".to_owned(),
        };
        self.begin_line();
        self.written.push_str(&"  ".repeat(depth - 1));
        self.written.push_str(&mark);
    }

    fn letters(&mut self, letters: &str) {
        if self.hidden.is_some() {
            return;
        }
        for letter in letters.chars() {
            match letter {
                '\n' if self.preformatted => self.breaks += 1,
                ' ' | '\t' if self.preformatted => {
                    self.begin_line();
                    self.written.push(letter);
                }
                ' ' | '\t' | '\n' | '\r' | '\x0c' => self.space = true,
                // Marks that are there to be invisible, mostly in what a mail program shows beside the subject.
                '\u{200b}' | '\u{200c}' | '\u{200d}' | '\u{feff}' | '\u{ad}' | '\0' => {}
                letter => {
                    self.begin_line();
                    self.written.push(if letter == '\u{a0}' { ' ' } else { letter });
                }
            }
        }
    }

    /// Writes the line breaks, or the space, that have become due.
    fn begin_line(&mut self) {
        let is_beginning = self.written.is_empty();
        if self.breaks > 0 || is_beginning {
            let quotation = "> ".repeat(self.quotations.min(DEPTH_LIMIT));
            // Three in a row are as good as a hundred.
            let breaks = if is_beginning { 0 } else { self.breaks.min(3) };
            trim_end(&mut self.written);
            for number in 0..breaks {
                if number > 0 {
                    self.written.push_str(quotation.trim_end());
                }
                self.written.push('\n');
            }
            self.written.push_str(&quotation);
        } else if self.space && !self.written.ends_with([' ', '\n']) {
            self.written.push(' ');
        }
        self.breaks = 0;
        self.space = false;
    }

    /// Writes the address of a link, where its text is not the address itself.
    fn end_link(&mut self) {
        let Some((address, begin)) = self.link.take() else {
            return;
        };
        let is_of_use = ["http://", "https://", "mailto:", "tel:"].iter().any(|scheme| {
            address
                .get(..scheme.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        });
        let shown = self.written.get(begin..).unwrap_or_default().trim();
        let bare = |text: &str| {
            let rest = text
                .split_once("://")
                .or_else(|| text.split_once(':'))
                .map_or(text, |(_, rest)| rest);
            rest.trim_end_matches('/').to_ascii_lowercase()
        };
        if is_of_use && !shown.is_empty() && bare(shown) != bare(&address) && !address.contains(char::is_whitespace) {
            self.written.push_str(" (");
            self.written
                .push_str(address.strip_prefix("mailto:").unwrap_or(&address));
            self.written.push(')');
        }
    }

    fn finish(mut self) -> String {
        self.end_link();
        trim_end(&mut self.written);
        self.written.trim_start_matches('\n').to_owned()
    }
}

/// The line breaks around an element: 2 leave a line empty.
fn breaks_around(name: &str) -> usize {
    match name {
        "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "table" | "dl" => 2,
        "div" | "tr" | "li" | "address" | "article" | "aside" | "body" | "caption" | "center" | "dd" | "dt"
        | "figure" | "figcaption" | "footer" | "form" | "header" | "main" | "nav" | "section" => 1,
        _ => 0,
    }
}

fn trim_end(text: &mut String) {
    text.truncate(text.trim_end().len());
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn blocks_become_lines_and_links_keep_their_addresses() {
        for (html, text) in [
            ("", ""),
            ("a  b\n c", "a b c"),
            ("<p>a</p><p>b<br>c</p>", "a\n\nb\nc"),
            ("<div>a</div><div><div>b</div></div>c", "a\nb\nc"),
            ("<div>a</div><div><br></div><div>b</div>", "a\n\nb"),
            ("a<br><br><br><br><br>b", "a\n\n\nb"),
            ("<h1>A</h1>b", "A\n\nb"),
            ("<b>a</b><i>b</i> <u>c</u>", "ab c"),
            ("<ul><li>a<li>b<ol><li>c</ol></ul>d", "- a\n- b\n  1. c\n\nd"),
            ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</table>d", "a b\nc\n\nd"),
            ("<blockquote>a<p>b</p></blockquote>c", "> a\n>\n> b\n\nc"),
            ("<pre>a\n  b\n\nc</pre>", "a\n  b\n\nc"),
            ("a<hr>b", "a\n\n----------\n\nb"),
            ("&lt;b&gt; &amp;&nbsp;&nbsp;&eacute;&#x1F389;", "<b> &  é🎉"),
            (
                "<a href='https://a.example/b?c=d&amp;e'>see</a>",
                "see (https://a.example/b?c=d&e)",
            ),
            ("<a href='https://a.example/'>a.example</a>", "a.example"),
            ("<a href='mailto:a@a.example'>a@a.example</a>", "a@a.example"),
            ("<a href='mailto:a@a.example'>write</a>", "write (a@a.example)"),
            (
                "<a href='javascript:alert(1)'>x</a><a name=y>z</a><a href='#t'>t</a>",
                "xzt",
            ),
            (
                "<a href='https://a.example'><img alt='Logo'></a>",
                "Logo (https://a.example)",
            ),
            (
                "<style>p > a { }</style><script>'</p>'</script><title>t</title>x<!-- c -->",
                "x",
            ),
            ("<!--[if mso]><p>y</p><![endif]-->x", "x"),
            ("a\u{200b}\u{ad}b", "ab"),
            ("<p>a", "a"),
            ("1 < 2", "1 < 2"),
        ] {
            assert_eq!(plain_text(html), text, "{html}");
        }
    }

    #[test]
    fn hostile_html_becomes_text_in_time() {
        for html in [
            "<div>".repeat(200_000),
            "<b><i>".repeat(200_000),
            "<table><tr><td>x".repeat(50_000),
            "<ul><li>x".repeat(100_000),
            "<blockquote>x<br>".repeat(50_000),
            "<ol start=9223372036854775807><li>x<li>y".repeat(1_000),
            "<td colspan=1000000000>x".to_owned(),
            "<!--".repeat(300_000),
            "<!-- -->".repeat(100_000),
            "<script>".repeat(100_000),
            "<script></script>".repeat(50_000),
            "<a href=https://a.example>".repeat(50_000),
            "<a href='".repeat(100_000),
            "&#x10ffff;&notanentity;".repeat(50_000),
            "<".repeat(1_000_000),
            "x ".repeat(500_000),
            format!("<div {}>", "a=b ".repeat(50_000)),
        ] {
            let started = Instant::now();
            plain_text(&html);
            let taken = started.elapsed();
            assert!(
                taken < Duration::from_secs(10),
                "{taken:?} for {}",
                &html[..24.min(html.len())]
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn any_html_becomes_text(html in "(<(/?)(p|div|a href=\"x:y\"|br|li|ul|ol|td|pre|blockquote|style|script|b)[ >]|[a-z \n&;<>]|.){0,60}") {
            let text = plain_text(&html);
            proptest::prop_assert_eq!(text.trim_end(), text.as_str());
        }
    }
}
