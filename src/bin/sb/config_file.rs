//! Reads the constants of a `config.php` without running it.
//!
//! What counts is `define('NAME', value)` with a text or a number as value, wherever it stands. A value that would
//! have to be computed is passed over, and so is everything else.

use std::collections::BTreeMap;

/// The constants that a file defines. Of two definitions of a name the first counts, as in PHP.
pub fn read(text: &[u8]) -> BTreeMap<String, String> {
    let mut reader = Reader { rest: text };
    let mut defined = BTreeMap::new();
    reader.skip_to_code();
    // What stands before a name decides whether it is a function of PHP's own.
    let mut before = Token::Other(b';');
    while let Some(token) = reader.token() {
        if token == Token::Name(b"define") && !before.makes_a_name_foreign() {
            let behind = reader.rest;
            match reader.definition() {
                Some((name, value)) => {
                    defined.entry(name).or_insert(value);
                }
                None => reader.rest = behind,
            }
        }
        before = token;
    }
    defined
}

#[derive(Debug, Clone, PartialEq)]
enum Token<'a> {
    /// A name or a number.
    Name(&'a [u8]),
    /// A text without anything to compute.
    Text(Vec<u8>),
    /// A text that PHP would compute.
    Computed,
    /// A sign.
    Other(u8),
}

impl Token<'_> {
    /// `->define(…)`, `::define(…)`, `$define`, `function define(…)`, `new define(…)`.
    fn makes_a_name_foreign(&self) -> bool {
        matches!(
            self,
            Self::Other(b'>' | b':' | b'$') | Self::Name(b"function" | b"new" | b"fn")
        )
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// `('NAME', value)`, also with a third argument.
    fn definition(&mut self) -> Option<(String, String)> {
        self.sign(b'(')?;
        let Token::Text(name) = self.token()? else { return None };
        self.sign(b',')?;
        let value = match self.token()? {
            Token::Text(text) => text,
            Token::Name(number) => self.number(number)?,
            Token::Other(b'-') => {
                let Token::Name(number) = self.token()? else {
                    return None;
                };
                [b"-", self.number(number)?.as_slice()].concat()
            }
            _ => return None,
        };
        match self.token()? {
            Token::Other(b')' | b',') => {}
            _ => return None,
        }
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Some((text(name), text(value)))
    }

    fn sign(&mut self, sign: u8) -> Option<()> {
        (self.token()? == Token::Other(sign)).then_some(())
    }

    /// A decimal number: `3306`, `2.5`, `1_000`. Others are passed over.
    fn number(&mut self, whole: &[u8]) -> Option<Vec<u8>> {
        let is_number = whole.iter().all(|byte| byte.is_ascii_digit() || *byte == b'_');
        let is_decimal = whole == b"0" || whole.first().is_some_and(|first| (b'1'..=b'9').contains(first));
        if !is_number || !is_decimal {
            return None;
        }
        let mut number = whole.to_vec();
        if let Some(rest) = self.rest.strip_prefix(b".") {
            self.rest = rest;
            number.push(b'.');
            number.extend(self.take_while(|byte| byte.is_ascii_digit() || byte == b'_'));
        }
        number.retain(|byte| *byte != b'_');
        Some(number)
    }

    /// The next token, behind blanks and comments; `None` at the end of the file.
    fn token(&mut self) -> Option<Token<'a>> {
        loop {
            let (&first, behind) = self.rest.split_first()?;
            match first {
                b' ' | b'\t' | b'\r' | b'\n' => self.rest = behind,
                b'/' if behind.starts_with(b"*") => self.skip_behind(b"*/"),
                b'/' if behind.starts_with(b"/") => self.skip_line_comment(),
                // An attribute, not a comment.
                b'#' if behind.starts_with(b"[") => self.rest = behind,
                b'#' => self.skip_line_comment(),
                b'?' if behind.starts_with(b">") => self.skip_to_code(),
                b'\'' => {
                    self.rest = behind;
                    return Some(self.single_quoted());
                }
                b'"' => {
                    self.rest = behind;
                    return Some(self.double_quoted());
                }
                b'`' => {
                    self.rest = behind;
                    self.skip_behind(b"`");
                    return Some(Token::Computed);
                }
                b'<' if behind.starts_with(b"<<") && self.skip_heredoc() => return Some(Token::Computed),
                byte if is_of_name(byte) => return Some(Token::Name(self.take_while(is_of_name))),
                byte => {
                    self.rest = behind;
                    return Some(Token::Other(byte));
                }
            }
        }
    }

    fn take_while(&mut self, belongs: impl Fn(u8) -> bool) -> &'a [u8] {
        let end = self
            .rest
            .iter()
            .position(|byte| !belongs(*byte))
            .unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn skip_behind(&mut self, mark: &[u8]) {
        self.rest = find(self.rest, mark)
            .and_then(|at| self.rest.get(at + mark.len()..))
            .unwrap_or_default();
    }

    /// Up to the next `<?php` or `<?=`: what stands outside is not PHP.
    fn skip_to_code(&mut self) {
        loop {
            self.skip_behind(b"<?");
            if self.rest.is_empty() {
                return;
            }
            let opening = self.rest.get(..3).unwrap_or_default();
            if opening.eq_ignore_ascii_case(b"php") {
                self.rest = self.rest.get(3..).unwrap_or_default();
                return;
            }
            if opening.starts_with(b"=") {
                return;
            }
        }
    }

    /// To the end of the line, or to where PHP ends.
    fn skip_line_comment(&mut self) {
        let line = self
            .rest
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap_or(self.rest.len());
        let end = find(self.rest, b"?>").map_or(line, |end| end.min(line));
        self.rest = self.rest.get(end..).unwrap_or_default();
    }

    /// `<<<NAME`, its lines, and the `NAME` that ends them; false when it is none.
    fn skip_heredoc(&mut self) -> bool {
        let opening = self.rest.get(3..).unwrap_or_default().trim_ascii_start();
        let opening = opening
            .strip_prefix(b"'")
            .or(opening.strip_prefix(b"\""))
            .unwrap_or(opening);
        let end = opening
            .iter()
            .position(|byte| !is_of_name(*byte))
            .unwrap_or(opening.len());
        let (name, mut rest) = opening.split_at(end);
        if name.is_empty() {
            return false;
        }
        while let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
            rest = rest.get(at + 1..).unwrap_or_default().trim_ascii_start();
            if let Some(behind) = rest.strip_prefix(name)
                && !behind.first().is_some_and(|byte| is_of_name(*byte))
            {
                self.rest = behind;
                return true;
            }
            // The blank lines that were trimmed are no ends of lines that could be missed.
        }
        self.rest = &[];
        true
    }

    /// Only `\\` and `\'` are escapes here.
    fn single_quoted(&mut self) -> Token<'a> {
        let mut text = Vec::new();
        while let Some((&first, behind)) = self.rest.split_first() {
            self.rest = behind;
            match (first, behind.first()) {
                (b'\'', _) => return Token::Text(text),
                (b'\\', Some(&escaped @ (b'\\' | b'\''))) => {
                    text.push(escaped);
                    self.rest = behind.get(1..).unwrap_or_default();
                }
                _ => text.push(first),
            }
        }
        Token::Computed
    }

    fn double_quoted(&mut self) -> Token<'a> {
        let mut text = Vec::new();
        let mut is_computed = false;
        while let Some((&first, behind)) = self.rest.split_first() {
            self.rest = behind;
            match (first, behind.first()) {
                (b'"', _) if is_computed => return Token::Computed,
                (b'"', _) => return Token::Text(text),
                (b'\\', Some(_)) => self.escape(&mut text),
                (b'$', Some(&next)) if is_of_name(next) && !next.is_ascii_digit() || next == b'{' => is_computed = true,
                (b'{', Some(b'$')) => is_computed = true,
                _ => text.push(first),
            }
        }
        Token::Computed
    }

    /// What stands behind a backslash between double quotes. One that is no escape stays, backslash and all.
    fn escape(&mut self, text: &mut Vec<u8>) {
        let Some((&letter, behind)) = self.rest.split_first() else {
            return;
        };
        let plain = match letter {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'v' => 0x0b,
            b'e' => 0x1b,
            b'f' => 0x0c,
            b'\\' | b'$' | b'"' => letter,
            b'0'..=b'7' => return self.code(0, 3, 8, text),
            b'x' if behind.first().is_some_and(u8::is_ascii_hexdigit) => return self.code(1, 2, 16, text),
            b'u' if behind.starts_with(b"{") => return self.code_point(text),
            _ => return text.push(b'\\'),
        };
        text.push(plain);
        self.rest = behind;
    }

    /// A byte by its number; of one above 255 the last eight bits, as PHP has it.
    fn code(&mut self, skipped: usize, longest: usize, radix: u32, text: &mut Vec<u8>) {
        let digits = self.rest.get(skipped..).unwrap_or_default();
        let length = digits
            .iter()
            .take(longest)
            .take_while(|byte| char::from(**byte).is_digit(radix))
            .count();
        let number = digits
            .iter()
            .take(length)
            .filter_map(|byte| char::from(*byte).to_digit(radix))
            .fold(0, |number, digit| number * radix + digit);
        text.extend(u8::try_from(number & 0xff));
        self.rest = digits.get(length..).unwrap_or_default();
    }

    /// `u{1F600}`.
    fn code_point(&mut self, text: &mut Vec<u8>) {
        let digits = self.rest.get(2..).unwrap_or_default();
        let end = digits.iter().position(|byte| *byte == b'}').unwrap_or(0);
        let letter = digits
            .get(..end)
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .and_then(char::from_u32);
        match letter {
            Some(letter) => {
                text.extend(letter.to_string().bytes());
                self.rest = digits.get(end + 1..).unwrap_or_default();
            }
            None => text.push(b'\\'),
        }
    }
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn find(text: &[u8], mark: &[u8]) -> Option<usize> {
    text.windows(mark.len()).position(|window| window == mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(code: &str) -> Option<String> {
        read(format!("<?php\n{code}\n").as_bytes()).remove("A")
    }

    #[test]
    fn texts_and_numbers_are_read_as_php_reads_them() {
        for (code, text) in [
            (r"define('A', 'x');", "x"),
            (r#"define("A", "x");"#, "x"),
            (r"define ( 'A' , 'x' , true ) ;", "x"),
            (r"\define('A', 'x');", "x"),
            (r"defined('A') || define('A', 'x');", "x"),
            (r"define('A', '');", ""),
            (r"define('A', 'it\'s \\ \n $b {$c}');", r"it's \ \n $b {$c}"),
            (
                r#"define('A', "a\tb\n\\ \" \$d \q ' $ 5$");"#,
                "a\tb\n\\ \" $d \\q ' $ 5$",
            ),
            (r#"define('A', "\101\x42\x4\u{1F600}\u{e4}\0");"#, "AB\u{4}😀ä\0"),
            (r#"define('A', "\x \u{zz} \u{} \u");"#, r"\x \u{zz} \u{} \u"),
            (r"define('A', 'grüße 😀');", "grüße 😀"),
            ("define('A', 3306);", "3306"),
            ("define('A', -1);", "-1"),
            ("define('A', 2.5);", "2.5"),
            ("define('A', 1_000);", "1000"),
            ("define('A', 0);", "0"),
            ("define('A', 'first'); define('A', 'second');", "first"),
            ("define('A', /* why */ 'x' // because\n);", "x"),
            ("define('A', 'x')", "x"),
        ] {
            assert_eq!(value(code).as_deref(), Some(text), "{code}");
        }
    }

    #[test]
    fn what_php_would_not_run_or_would_compute_is_passed_over() {
        for code in [
            "// define('A', 'x');",
            "# define('A', 'x');",
            "/* define('A', 'x'); */",
            "$a = \"define('A', 'x');\";",
            "$a = 'define(\"A\", \"x\");';",
            "$a = <<<END\n define('A', 'x');\n END;",
            "$a = <<<'END'\n\n\ndefine('A', 'x');\nEND;",
            "$a = `define('A', 'x');`;",
            "$a->define('A', 'x');",
            "A::define('A', 'x');",
            "function define($a, $b) {}",
            "define('A', 'x' . 'y');",
            "define('A', getenv('A'));",
            "define('A', \"x$b\");",
            "define('A', \"x{$b}\");",
            "define('A', \"${b}\");",
            "define('A', true);",
            "define('A', 0x1f);",
            "define('A', 0755);",
            "define('A', B);",
            "define('A', 'x",
            "define('A'",
            "defines('A', 'x');",
            "?> define('A', 'x'); <?php",
            "// a comment ends with PHP ?> define('A', 'x');",
        ] {
            assert_eq!(value(code), None, "{code}");
        }
    }

    #[test]
    fn reading_goes_on_behind_what_was_passed_over() {
        for code in [
            "define('B', getenv('B')); define('A', 'x');",
            "define('B', \"$b\"); define('A', 'x');",
            "$a = <<<END\nEND_\nEND;\ndefine('A', 'x');",
            "?> <b> <?= 1 ?> <?PHP define('A', 'x');",
            "#[Attribute] define('A', 'x');",
            "1 << 2; define('A', 'x');",
            "define(define('A', 'x'), 2);",
        ] {
            assert_eq!(value(code).as_deref(), Some("x"), "{code}");
        }
        assert!(read(b"define('A', 'not PHP yet');").is_empty());
        assert!(read(b"").is_empty());
    }

    proptest::proptest! {
        /// Whatever a text is, between quotes with its quotes and backslashes escaped it is read back.
        #[test]
        fn a_quoted_text_is_read_back(text in ".*") {
            let escaped = text.replace('\\', "\\\\");
            let single = format!("define('A', '{}');", escaped.replace('\'', "\\'"));
            let double = format!("define('A', \"{}\");", escaped.replace('"', "\\\"").replace('$', "\\$"));
            proptest::prop_assert_eq!(value(&single), Some(text.clone()));
            proptest::prop_assert_eq!(value(&double), Some(text));
        }

        /// No file makes the reader fail or read on for ever.
        #[test]
        fn any_file_is_read_to_its_end(text: Vec<u8>, code in "[<?php'\"\\\\/*#$(),defin A\n-]*") {
            read(&text);
            read(format!("<?php {code}").as_bytes());
        }
    }
}
