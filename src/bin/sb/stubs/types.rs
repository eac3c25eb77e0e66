//! Types in PHPStan's notation, with the names of records in them.

use sb::contract::shapes;

/// A part of a type.
#[derive(Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// A name that begins with a capital letter: a record or a class.
    Name(&'a str),
    /// Everything else.
    Other(&'a str),
}

/// The parts of a type, in order. What stands between quotes is no name.
pub fn parts(php_type: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = php_type;
    let mut is_quoted = false;
    let mut length_of_other = 0;
    while let Some(letter) = rest.get(length_of_other..).and_then(|text| text.chars().next()) {
        let ahead = rest.get(length_of_other..).unwrap_or_default();
        let word = ahead
            .find(|letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '_' | '-'))
            .unwrap_or(ahead.len());
        is_quoted ^= letter == '\'';
        if !is_quoted && letter.is_ascii_uppercase() {
            let (other, behind) = rest.split_at(length_of_other);
            let (name, behind) = behind.split_at(word);
            if !other.is_empty() {
                parts.push(Part::Other(other));
            }
            parts.push(Part::Name(name));
            rest = behind;
            length_of_other = 0;
        } else {
            length_of_other += word.max(letter.len_utf8());
        }
    }
    if !rest.is_empty() {
        parts.push(Part::Other(rest));
    }
    parts
}

/// The names in a type.
pub fn names(php_type: &str) -> impl Iterator<Item = &str> {
    parts(php_type).into_iter().filter_map(|part| match part {
        Part::Name(name) => Some(name),
        Part::Other(_) => None,
    })
}

/// Whether it is one of the contract's classes.
pub fn is_class(name: &str) -> bool {
    name.starts_with("SB")
}

/// A type with every record in the place of its name.
pub fn expanded(php_type: &str) -> String {
    parts(php_type)
        .into_iter()
        .map(|part| match part {
            Part::Name(name) => shapes::find(name).map_or(name.to_owned(), |shape| expanded(&shape.php_type())),
            Part::Other(other) => other.to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_the_rest() {
        assert_eq!(
            parts("array{LoginRecord, string}|'Not-Me'|false|SBError"),
            [
                Part::Other("array{"),
                Part::Name("LoginRecord"),
                Part::Other(", string}|'Not-Me'|false|"),
                Part::Name("SBError")
            ]
        );
        assert_eq!(
            parts("list<array{message-id: int}>"),
            [Part::Other("list<array{message-id: int}>")]
        );
        assert_eq!(parts(""), []);
    }

    #[test]
    fn records_are_expanded_and_records_in_them_too() {
        assert_eq!(
            expanded("list<Detail>|SBError"),
            "list<array{slug: string, name: string, value: string}>|SBError"
        );
        assert!(expanded("FullUser").contains("details?: list<array{slug: string"));
    }
}
