//! Texts in the parts that a service takes.

/// A text in parts none of which is longer than `limit`, a letter counted as `length` says. They end behind a blank or a
/// line break where there is one in their last quarter. Nothing of the text is lost; of none there is no part.
pub fn parts(text: &str, limit: usize, length: fn(char) -> usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (part, behind) = rest.split_at(end_of_part(rest, limit, length));
        parts.push(part);
        rest = behind;
    }
    parts
}

/// Where the first part of a text ends: never at its beginning.
fn end_of_part(text: &str, limit: usize, length: fn(char) -> usize) -> usize {
    let mut total = 0;
    let mut end = 0;
    let mut blank = None;
    for (at, letter) in text.char_indices() {
        total += length(letter);
        if total > limit && end > 0 {
            return blank.unwrap_or(end);
        }
        end = at + letter.len_utf8();
        if letter.is_whitespace() && total > limit - limit / 4 {
            blank = Some(end);
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_hold_the_whole_text_and_are_no_longer_than_the_limit() {
        let one = |_: char| 1;
        assert_eq!(parts("", 4, one), [""; 0]);
        assert_eq!(parts("abcd", 4, one), ["abcd"]);
        assert_eq!(parts("abcdefghi", 4, one), ["abcd", "efgh", "i"]);
        assert_eq!(parts("abc defg hi", 4, one), ["abc ", "defg", " hi"]);
        assert_eq!(parts("äöüß", 4, char::len_utf8), ["äö", "üß"]);
        assert_eq!(
            parts("😀😀", 3, char::len_utf8),
            ["😀", "😀"],
            "one letter goes in any case"
        );
        assert_eq!(
            parts("a&b", 5, |letter| if letter == '&' { 5 } else { 1 }),
            ["a", "&", "b"]
        );
    }
}
