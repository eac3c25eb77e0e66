//! The formatting of messages: what their marks mean, in HTML and without marks.
//!
//! A text is read once, from its beginning to its end, into pieces; whatever it holds, only the tags and attributes of
//! [`to_html`] come out, since every character of it is escaped on its way.

use std::fmt::Write;

use crate::contract::Result;

/// A message as HTML.
pub(crate) fn to_html(message: &str) -> String {
    let mut html = String::with_capacity(message.len());
    let pieces = pieces(message);
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Text(text) => escape(&mut html, text),
            Piece::Code(text) => element(&mut html, "code", text),
            Piece::Block(text) => {
                html.push_str("<pre>");
                element(&mut html, "code", text);
                html.push_str("</pre>");
            }
            Piece::Link(url) => {
                html.push_str("<a href=\"");
                escape(&mut html, url);
                html.push_str("\" target=\"_blank\" rel=\"noopener nofollow\">");
                escape(&mut html, url);
                html.push_str("</a>");
            }
            Piece::Mark(style, Role::Begin) => tag(&mut html, "<", *style),
            Piece::Mark(style, Role::End) => tag(&mut html, "</", *style),
            Piece::Mark(style, Role::Text) => html.push_str(style.mark()),
            // A block begins and ends a line of itself.
            Piece::Break => {
                let beside = [at.checked_sub(1), at.checked_add(1)].map(|at| at.and_then(|at| pieces.get(at)));
                if !beside.iter().flatten().any(|piece| matches!(piece, Piece::Block(_))) {
                    html.push_str("<br>");
                }
            }
        }
    }
    html
}

/// What stands around bold, italic, struck out and coded text.
struct Marks {
    bold: &'static str,
    italic: &'static str,
    strike: &'static str,
    code: &'static str,
    block: &'static str,
}

const NO_MARKS: Marks = Marks {
    bold: "",
    italic: "",
    strike: "",
    code: "",
    block: "",
};

/// Those of WhatsApp.
const WHATSAPP_MARKS: Marks = Marks {
    bold: "*",
    italic: "_",
    strike: "~",
    code: "`",
    block: "```",
};

/// A message without its marks.
pub(crate) fn to_plain(message: &str) -> String {
    with_marks(message, &NO_MARKS)
}

/// A message with the marks that WhatsApp knows.
pub(crate) fn to_whatsapp(message: &str) -> String {
    with_marks(message, &WHATSAPP_MARKS)
}

fn with_marks(message: &str, marks: &Marks) -> String {
    let mut text = String::with_capacity(message.len());
    for piece in pieces(message) {
        let (mark, inner) = match piece {
            Piece::Text(inner) | Piece::Link(inner) => ("", inner),
            Piece::Code(inner) => (marks.code, inner),
            Piece::Block(inner) => (marks.block, inner),
            Piece::Mark(style, Role::Text) => ("", style.mark()),
            Piece::Mark(style, _) => ("", marks.of(style)),
            Piece::Break => ("", "\n"),
        };
        text.extend([mark, inner, mark]);
    }
    text
}

impl Marks {
    const fn of(&self, style: Style) -> &'static str {
        match style {
            Style::Bold => self.bold,
            Style::Italic => self.italic,
            Style::Strike => self.strike,
        }
    }
}

/// [`to_html`] as a public function.
pub(super) fn text_formatting_to_html(message: String) -> Result<String> {
    Ok(to_html(&message))
}

/// [`to_plain`] as a public function.
pub(super) fn clear_text_formatting(message: String) -> Result<String> {
    Ok(to_plain(&message))
}

fn element(html: &mut String, name: &str, text: &str) {
    // Writing into a String cannot fail.
    let _ = write!(html, "<{name}>");
    escape(html, text);
    let _ = write!(html, "</{name}>");
}

fn tag(html: &mut String, bracket: &str, style: Style) {
    let _ = write!(html, "{bracket}{}>", style.element());
}

/// A text whose letters mean nothing in HTML.
pub(crate) fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    escape(&mut html, text);
    html
}

/// A text in HTML, between tags and in attributes.
fn escape(html: &mut String, text: &str) {
    for letter in text.chars() {
        match letter {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            letter => html.push(letter),
        }
    }
}

/// What a message is made of.
#[derive(Debug, PartialEq)]
enum Piece<'a> {
    Text(&'a str),
    Mark(Style, Role),
    Code(&'a str),
    Block(&'a str),
    Link(&'a str),
    Break,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Style {
    Bold,
    Italic,
    Strike,
}

/// What a mark turns out to be.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Role {
    Begin,
    End,
    /// It has no partner.
    Text,
}

impl Style {
    const fn mark(self) -> &'static str {
        match self {
            Self::Bold => "*",
            Self::Italic => "__",
            Self::Strike => "~",
        }
    }

    const fn element(self) -> &'static str {
        match self {
            Self::Bold => "b",
            Self::Italic => "em",
            Self::Strike => "del",
        }
    }
}

fn pieces(message: &str) -> Vec<Piece<'_>> {
    let tokens = Cursor::new(message).tokens();
    let mut parser = Parser {
        message,
        tokens,
        pieces: Vec::new(),
        open: Vec::new(),
    };
    parser.parse();
    parser.pieces
}

/// A part of a message, by where it begins and ends.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Token {
    kind: Kind,
    begin: usize,
    end: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Break,
    Link,
    /// Of a style, and whether one can begin and end here.
    Mark {
        style: Style,
        begins: bool,
        ends: bool,
    },
    /// One back-tick.
    Tick,
    /// Three of them.
    Fence,
}

/// Reads a message letter by letter.
struct Cursor<'a> {
    message: &'a str,
    at: usize,
    /// How many letters were read, for the test that the work does not grow faster than the message.
    #[cfg(test)]
    steps: usize,
}

impl<'a> Cursor<'a> {
    const fn new(message: &'a str) -> Self {
        Self {
            message,
            at: 0,
            #[cfg(test)]
            steps: 0,
        }
    }

    fn rest(&self) -> &'a str {
        self.message.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn step(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += letter.len_utf8();
        #[cfg(test)]
        {
            self.steps += 1;
        }
        Some(letter)
    }

    fn tokens(&mut self) -> Vec<Token> {
        let mut tokens: Vec<Token> = Vec::new();
        let mut before = None;
        loop {
            let begin = self.at;
            let Some(kind) = self.token(before) else {
                return tokens;
            };
            before = self
                .message
                .get(begin..self.at)
                .and_then(|read| read.chars().next_back());
            match tokens.last_mut() {
                Some(last) if kind == Kind::Text && last.kind == Kind::Text => last.end = self.at,
                _ => tokens.push(Token {
                    kind,
                    begin,
                    end: self.at,
                }),
            }
        }
    }

    fn token(&mut self, before: Option<char>) -> Option<Kind> {
        if is_link(self.rest()) && !before.is_some_and(is_in_word) && self.link() {
            return Some(Kind::Link);
        }
        let first = self.step()?;
        let length = match first {
            '*' | '_' | '~' | '`' => 1 + self.run_of(first),
            _ => 1,
        };
        let after = self.peek();
        let mark = |style| Kind::Mark {
            style,
            begins: !before.is_some_and(is_in_word) && after.is_some_and(|after| !after.is_whitespace()),
            ends: !after.is_some_and(is_in_word) && before.is_some_and(|before| !before.is_whitespace()),
        };
        Some(match (first, length) {
            ('\n', _) => Kind::Break,
            ('\r', _) => {
                if self.peek() == Some('\n') {
                    self.step();
                }
                Kind::Break
            }
            ('*', 1) => mark(Style::Bold),
            ('_', 2) => mark(Style::Italic),
            ('~', 1) => mark(Style::Strike),
            ('`', 1) => Kind::Tick,
            ('`', 3) => Kind::Fence,
            _ => Kind::Text,
        })
    }

    /// Passes over more of the same letter.
    fn run_of(&mut self, letter: char) -> usize {
        let mut length = 0;
        while self.peek() == Some(letter) {
            self.step();
            length += 1;
        }
        length
    }

    /// Reads an address, up to where no address goes on and without the punctuation of the sentence around it. That is
    /// read again, which is no more than the address itself was: no further one begins in it.
    fn link(&mut self) -> bool {
        let begin = self.at;
        let mut end = begin;
        let mut brackets = 0_usize;
        while let Some(letter) = self.peek().filter(|letter| !ends_link(*letter)) {
            self.step();
            let belongs = match letter {
                '(' => {
                    brackets += 1;
                    false
                }
                // One that was opened in the address closes it there.
                ')' => {
                    let is_own = brackets > 0;
                    brackets = brackets.saturating_sub(1);
                    is_own
                }
                letter => !"*_~.,;:!?'[]{}".contains(letter),
            };
            if belongs {
                end = self.at;
            }
        }
        let address = self.message.get(begin..end).unwrap_or_default();
        let names_host = address
            .split_once("//")
            .is_some_and(|(_, host)| host.starts_with(char::is_alphanumeric));
        self.at = if names_host { end } else { begin };
        names_host
    }
}

/// Whether a text begins with `http://` or `https://`.
fn is_link(text: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        text.get(..scheme.len())
            .is_some_and(|own| own.eq_ignore_ascii_case(scheme))
    })
}

/// Blanks, what no address has, and the marks that turn the direction of what follows.
fn ends_link(letter: char) -> bool {
    letter.is_whitespace()
        || letter.is_control()
        || matches!(
            letter,
            '<' | '>' | '"' | '`' | '\\' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// Whether a mark beside it is within a word: `2*3`, `a__b`. The scripts behind U+0E00 (Thai, Chinese, Japanese …) put no
/// blanks between words.
fn is_in_word(letter: char) -> bool {
    letter < '\u{e00}' && letter.is_alphanumeric()
}

/// What is left as it is: the tokens that it goes over, and what it becomes.
struct Verbatim<'a> {
    first: usize,
    last: usize,
    piece: Piece<'a>,
}

/// Finds the partners of marks.
struct Parser<'a> {
    message: &'a str,
    tokens: Vec<Token>,
    pieces: Vec<Piece<'a>>,
    /// The marks of this line that have begun: where they are among the pieces. Of each style one at most.
    open: Vec<(Style, usize)>,
}

impl<'a> Parser<'a> {
    fn parse(&mut self) {
        let mut verbatim = self.verbatim().into_iter().peekable();
        let mut at = 0;
        while let Some(&token) = self.tokens.get(at) {
            if let Some(Verbatim { last, piece, .. }) = verbatim.next_if(|verbatim| verbatim.first == at) {
                if matches!(piece, Piece::Block(_)) {
                    self.open.clear();
                }
                self.pieces.push(piece);
                at = last + 1;
                continue;
            }
            match token.kind {
                Kind::Text | Kind::Tick | Kind::Fence => {
                    self.pieces.push(Piece::Text(self.text(token.begin, token.end)));
                }
                Kind::Link => self.pieces.push(Piece::Link(self.text(token.begin, token.end))),
                Kind::Break => {
                    self.open.clear();
                    self.pieces.push(Piece::Break);
                }
                Kind::Mark { style, begins, ends } => self.mark(style, begins, ends),
            }
            at += 1;
        }
    }

    /// Blocks, which go over several lines, and outside of them the code within a line.
    fn verbatim(&self) -> Vec<Verbatim<'a>> {
        let mut found = Vec::new();
        let mut blocks = self.blocks().into_iter().peekable();
        let mut tick = None;
        let mut at = 0;
        while let Some(&token) = self.tokens.get(at) {
            if let Some(block) = blocks.next_if(|block| block.first == at) {
                at = block.last + 1;
                tick = None;
                found.push(block);
                continue;
            }
            match token.kind {
                Kind::Break => tick = None,
                Kind::Tick => {
                    let code = tick.and_then(|first| self.between(first, at));
                    tick = if code.is_none() { Some(at) } else { None };
                    found.extend(code.map(|(first, text)| Verbatim {
                        first,
                        last: at,
                        piece: Piece::Code(text),
                    }));
                }
                _ => {}
            }
            at += 1;
        }
        found
    }

    fn blocks(&self) -> Vec<Verbatim<'a>> {
        let mut found = Vec::new();
        let mut fence = None;
        for (at, _) in self
            .tokens
            .iter()
            .enumerate()
            .filter(|(_, token)| token.kind == Kind::Fence)
        {
            let block = fence.and_then(|first| self.between(first, at));
            fence = if block.is_none() { Some(at) } else { None };
            found.extend(block.map(|(first, text)| Verbatim {
                first,
                last: at,
                piece: Piece::Block(without_outer_breaks(text)),
            }));
        }
        found
    }

    /// What stands between two tokens, when it is more than blanks; with the first of the two.
    fn between(&self, first: usize, last: usize) -> Option<(usize, &'a str)> {
        let text = self.text(self.tokens.get(first)?.end, self.tokens.get(last)?.begin);
        text.contains(|letter: char| !letter.is_whitespace())
            .then_some((first, text))
    }

    fn mark(&mut self, style: Style, begins: bool, ends: bool) {
        let own = self.open.iter().position(|(open, _)| *open == style);
        let role = match own {
            Some(own) if ends => {
                // What has begun within it and not ended has no partner.
                let begun = self.open.drain(own..).next();
                if let Some(Piece::Mark(_, role)) = begun.and_then(|(_, at)| self.pieces.get_mut(at)) {
                    *role = Role::Begin;
                }
                Role::End
            }
            _ => {
                if begins {
                    // The nearer of two is the partner.
                    self.open.retain(|(open, _)| *open != style);
                    self.open.push((style, self.pieces.len()));
                }
                Role::Text
            }
        };
        self.pieces.push(Piece::Mark(style, role));
    }

    fn text(&self, begin: usize, end: usize) -> &'a str {
        self.message.get(begin..end).unwrap_or_default()
    }
}

/// A text without the line break that it begins with and the one that it ends with.
fn without_outer_breaks(text: &str) -> &str {
    let begin = ["\r\n", "\n", "\r"]
        .iter()
        .find_map(|line| text.strip_prefix(line))
        .unwrap_or(text);
    ["\r\n", "\n", "\r"]
        .iter()
        .find_map(|line| begin.strip_suffix(line))
        .unwrap_or(begin)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn whatsapp_gets_its_own_marks() {
        let message = "*a* __b__ ~c~ `*d*`\n```\ne\n``` __f 2*3 https://a.example/__x";
        let written = "*a* _b_ ~c~ `*d*`\n```e``` __f 2*3 https://a.example/__x";
        assert_eq!(to_whatsapp(message), written);
        assert_eq!(to_plain("*a* __b__ `c`"), "a b c");
    }

    #[test]
    fn marks_need_a_partner_and_no_blank_inside() {
        for (message, html) in [
            (
                "*bold* __italic__ ~strike~ `code`",
                "<b>bold</b> <em>italic</em> <del>strike</del> <code>code</code>",
            ),
            ("*two words*, (*in brackets*)", "<b>two words</b>, (<b>in brackets</b>)"),
            ("*a __b ~c~ d__ e*", "<b>a <em>b <del>c</del> d</em> e</b>"),
            ("*__both__*", "<b><em>both</em></b>"),
            ("2 * 3 = 6", "2 * 3 = 6"),
            ("2 * 3 * 4", "2 * 3 * 4"),
            ("2*3*4", "2*3*4"),
            ("a__b__c file_name_here", "a__b__c file_name_here"),
            ("* one\n* two", "* one<br>* two"),
            ("*lone", "*lone"),
            ("lone*", "lone*"),
            ("* no*", "* no*"),
            ("*no *", "*no *"),
            ("**two** ***three*** ____", "**two** ***three*** ____"),
            ("~5 or ~6", "~5 or ~6"),
            ("*over\nlines*", "*over<br>lines*"),
            ("2 *3 and *four*", "2 *3 and <b>four</b>"),
            ("*a __b* c__", "<b>a __b</b> c__"),
            ("你好*世界*再见", "你好<b>世界</b>再见"),
            ("*é*", "<b>é</b>"),
            ("", ""),
            ("*", "*"),
        ] {
            assert_eq!(to_html(message), html, "{message}");
        }
    }

    #[test]
    fn code_is_left_as_it_is() {
        for (message, html) in [
            (
                "`a *b* <i> http://c.example`",
                "<code>a *b* &lt;i&gt; http://c.example</code>",
            ),
            ("a `b", "a `b"),
            ("a `b\nc`", "a `b<br>c`"),
            ("`` ` `", "`` ` `"),
            ("``a``", "``a``"),
            ("```\na *b*\n  c\n```", "<pre><code>a *b*\n  c</code></pre>"),
            ("x\n```\na\n```\ny", "x<pre><code>a</code></pre>y"),
            ("x\n\n```a```\n\ny", "x<br><pre><code>a</code></pre><br>y"),
            ("```a` *b*```", "<pre><code>a` *b*</code></pre>"),
            ("```a", "```a"),
            ("``` ```", "``` ```"),
            ("``` ```a```", "``` <pre><code>a</code></pre>"),
            ("`a ```b``` c`", "`a <pre><code>b</code></pre> c`"),
            ("*a ```b``` c*", "*a <pre><code>b</code></pre> c*"),
            ("````a````", "````a````"),
        ] {
            assert_eq!(to_html(message), html, "{message}");
        }
    }

    #[test]
    fn addresses_end_before_the_punctuation_of_the_sentence() {
        for (message, address, rest) in [
            ("http://a.example", "http://a.example", ""),
            ("HTTPS://A.example/x?y=1&z=2#f", "HTTPS://A.example/x?y=1&amp;z=2#f", ""),
            ("https://a.example/.", "https://a.example/", "."),
            ("https://a.example/x__y__z", "https://a.example/x__y__z", ""),
            ("https://a.example/x?!)", "https://a.example/x", "?!)"),
            ("https://a.example/x_(y)", "https://a.example/x_(y)", ""),
            ("https://a.example/x_(y))", "https://a.example/x_(y)", ")"),
            ("https://a.example/\u{202e}gpj", "https://a.example/", "\u{202e}gpj"),
            ("https://ü.example/ä", "https://ü.example/ä", ""),
            ("http://127.0.0.1:80/", "http://127.0.0.1:80/", ""),
        ] {
            let html = format!(r#"<a href="{address}" target="_blank" rel="noopener nofollow">{address}</a>{rest}"#);
            assert_eq!(to_html(message), html, "{message}");
        }
        let link = r#"<a href="https://a.example" target="_blank" rel="noopener nofollow">https://a.example</a>"#;
        assert_eq!(to_html("*https://a.example*"), format!("<b>{link}</b>"));
        assert_eq!(to_html("(https://a.example)"), format!("({link})"));
        for message in [
            "http://",
            "https:///x",
            "http://*a*",
            "xhttp://a.example",
            "ftp://a.example",
        ] {
            assert!(!to_html(message).contains("<a "), "{message}");
        }
    }

    #[test]
    fn line_breaks_of_every_system_are_one() {
        assert_eq!(to_html("a\nb\r\nc\rd\n\n"), "a<br>b<br>c<br>d<br><br>");
        assert_eq!(to_plain("a\nb\r\nc\rd\n\n"), "a\nb\nc\nd\n\n");
    }

    #[test]
    fn without_marks_the_text_is_left() {
        for (message, plain) in [
            ("*bold* __it *b*__ ~s~ `c*` 2 * 3", "bold it b s c* 2 * 3"),
            ("x\n```\na *b*\n```\ny", "x\na *b*\ny"),
            ("<b> & https://a.example/x__y__z.", "<b> & https://a.example/x__y__z."),
        ] {
            assert_eq!(to_plain(message), plain);
        }
    }

    /// So many bytes of what has to be looked at for as long as possible.
    fn hostile(length: usize) -> impl Iterator<Item = String> {
        let repeated = [
            "*a",
            "__a",
            "~a ",
            "` `",
            "`a",
            "```a",
            "*a __b ~c ",
            "*`",
            "```*`~__",
            "http://",
            "(http://a",
            "\n",
        ];
        let tails = [".", ")", "(", "*", "http://"];
        let texts = repeated.into_iter().map(|part| ("", part));
        let texts = texts.chain(tails.into_iter().map(|tail| ("http://a", tail)));
        texts.map(move |(begin, part)| format!("{begin}{}", part.repeat(length / part.len())))
    }

    #[test]
    fn each_letter_is_read_twice_at_most_and_belongs_to_one_token() {
        for message in hostile(1_000_000) {
            let mut cursor = Cursor::new(&message);
            let tokens = cursor.tokens();
            let letters = message.chars().count();
            assert!(
                cursor.steps <= 2 * letters,
                "{} letters read of {letters}",
                cursor.steps
            );
            assert_eq!(tokens.first().map(|token| token.begin), Some(0));
            assert_eq!(tokens.last().map(|token| token.end), Some(message.len()));
            assert!(tokens.windows(2).all(|pair| pair[0].end == pair[1].begin));
        }
    }

    #[test]
    fn html_is_no_more_than_ten_times_the_message_and_what_stands_around_addresses() {
        for message in hostile(50_000).chain(["\"'", "&", "http://a\u{a0}"].map(|part| part.repeat(20_000))) {
            let limit = 10 * message.len() + 64 * message.matches("http").count();
            let length = to_html(&message).len();
            assert!(length <= limit, "{length} of {}", message.len());
            assert!(to_plain(&message).len() <= message.len());
        }
    }

    proptest! {
        /// Tags are balanced and nested, whatever the marks are.
        #[test]
        fn tags_are_well_formed(message in "[*_~` \na(.]{0,40}") {
            let html = to_html(&message);
            let mut open = Vec::new();
            for part in html.split('<').skip(1) {
                let name = part.split('>').next().unwrap();
                match name.strip_prefix('/') {
                    Some(name) => prop_assert_eq!(open.pop(), Some(name), "{}", html),
                    None if name == "br" => {}
                    None => open.push(name),
                }
            }
            prop_assert!(open.is_empty(), "{}", html);
        }

        /// Nothing of a text without marks is lost.
        #[test]
        fn what_is_no_mark_stays(message in "[^*_~`\r]{0,60}") {
            prop_assert_eq!(to_plain(&message), message);
        }
    }
}
