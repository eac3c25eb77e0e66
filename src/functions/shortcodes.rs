//! Shortcodes within messages, and merge fields, which have brackets of their own.

/// `[name attribute="value" …]`, or with the brackets of merge fields.
pub(super) struct Shortcode<'a> {
    /// The whole of it.
    pub(super) text: &'a str,
    pub(super) name: &'a str,
    pub(super) attributes: Vec<(&'a str, String)>,
}

impl<'a> Shortcode<'a> {
    /// Reads the shortcode that a text begins with.
    pub(super) fn read(text: &'a str, open: char, close: char) -> Option<Self> {
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

    /// The value of an attribute, when there is one that says something.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.attributes.iter().find(|(own, _)| *own == name)?;
        Some(value.trim()).filter(|value| !value.is_empty())
    }
}

/// A message in its order: texts, and the shortcodes between them.
pub(super) enum Segment<'a> {
    Text(&'a str),
    Shortcode(Shortcode<'a>),
}

/// The segments of a message. What looks like a shortcode and has no attributes is text.
pub(super) fn segments(message: &str) -> Vec<Segment<'_>> {
    let mut segments = Vec::new();
    let (mut begin, mut at) = (0, 0);
    let text = |from, to| message.get(from..to).filter(|text| !text.is_empty()).map(Segment::Text);
    while let Some((before, _)) = message.get(at..).and_then(|rest| rest.split_once('[')) {
        let found = at + before.len();
        let shortcode = message.get(found..).and_then(|rest| Shortcode::read(rest, '[', ']'));
        let Some(shortcode) = shortcode.filter(|shortcode| !shortcode.attributes.is_empty()) else {
            at = found + 1;
            continue;
        };
        segments.extend(text(begin, found));
        at = found + shortcode.text.len();
        begin = at;
        segments.push(Segment::Shortcode(shortcode));
    }
    segments.extend(text(begin, message.len()));
    segments
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

    fn shown(message: &str) -> Vec<String> {
        let segments = segments(message).into_iter();
        segments
            .map(|segment| match segment {
                Segment::Text(text) => text.to_owned(),
                Segment::Shortcode(shortcode) => format!("<{}>", shortcode.text),
            })
            .collect()
    }

    #[test]
    fn a_message_is_texts_and_shortcodes_in_their_order() {
        for (message, segments) in [
            ("", vec![]),
            ("a [b] c", vec!["a [b] c"]),
            ("[a b=\"c\"]", vec!["<[a b=\"c\"]>"]),
            ("x[[a b=c]é[d", vec!["x[", "<[a b=c]>", "é[d"]),
            ("[a b=\"]", vec!["[a b=\"]"]),
            ("[a b=1][c d=2] ", vec!["<[a b=1]>", "<[c d=2]>", " "]),
        ] {
            assert_eq!(shown(message), segments, "{message}");
        }
    }
}
