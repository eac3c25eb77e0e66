//! The initials of a name, in any script.

use unicode_segmentation::UnicodeSegmentation;

/// More code points no emoji sequence has; a letter buried under marks is cut there.
const CLUSTER_LIMIT: usize = 16;

/// Between initials, so that Arabic letters and the like do not join.
const NON_JOINER: &str = "\u{200c}";

/// The initials of a person: none, one or two.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Initials(pub(super) Vec<String>);

impl Initials {
    /// Those of a first and a last name.
    pub(super) fn of(first_name: &str, last_name: &str) -> Self {
        Self([first_name, last_name].into_iter().filter_map(initial).collect())
    }

    /// All in one text.
    pub(super) fn text(&self) -> String {
        self.0.join(NON_JOINER)
    }

    /// Whether they are read from right to left.
    pub(super) fn are_right_to_left(&self) -> bool {
        let first = self.0.first().and_then(|initial| initial.chars().next());
        matches!(
            first,
            Some(
                '\u{590}'..='\u{8ff}'
                | '\u{fb1d}'..='\u{fdff}'
                | '\u{fe70}'..='\u{fefc}'
                | '\u{10800}'..='\u{10fff}'
                | '\u{1e800}'..='\u{1efff}',
            )
        )
    }
}

/// The first thing in a name that has a shape of its own: a letter with its marks, a digit, an emoji with all it is
/// made of. Quotes, brackets and the like are passed over.
fn initial(name: &str) -> Option<String> {
    let cluster = name.graphemes(true).find(|cluster| cluster.chars().any(shows))?;
    let upper: String = cluster.chars().take(CLUSTER_LIMIT).flat_map(upper_case).collect();
    // One letter can have several in upper case: the first of them is the initial.
    upper.graphemes(true).next().map(str::to_owned)
}

fn shows(character: char) -> bool {
    match character {
        // Letters without a shape.
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}' => false,
        // Arrows and symbols, among them the older emoji; emoji.
        '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' => true,
        letter => letter.is_alphanumeric(),
    }
}

/// Upper case as at the beginning of a name. What it is of itself, one letter, becomes one letter.
fn upper_case(letter: char) -> Vec<char> {
    match letter {
        'ß' => vec!['ẞ'],
        // Georgian has capitals, but begins no name with them.
        'ა'..='ჿ' => vec![letter],
        letter => letter.to_uppercase().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initials_are_the_first_clusters_in_upper_case() {
        for (first_name, last_name, initials) in [
            ("Ann", "Lee", &["A", "L"][..]),
            ("émile", "zola", &["É", "Z"]),
            ("e\u{301}mile", "", &["E\u{301}"]),
            ("Дмитрий", "ким", &["Д", "К"]),
            ("山田", "太郎", &["山", "太"]),
            ("محمد", "علي", &["م", "ع"]),
            ("ნინო", "ბერიძე", &["ნ", "ბ"]),
            ("ﬁona", "ﬂynn", &["F", "F"]),
            ("ßtraße", "ǆon", &["ẞ", "Ǆ"]),
            ("क्षितिज", "श्री", &["क्षि", "श्री"]),
            ("각", "한", &["각", "한"]),
            ("👩‍👩‍👧 family", "🇮🇹 Italia", &["👩‍👩‍👧", "🇮🇹"]),
            ("👍🏽", "❤️", &["👍🏽", "❤️"]),
            ("1️⃣", "☎", &["1️⃣", "☎"]),
            ("Cher", "", &["C"]),
            ("", "Lee", &["L"]),
            ("  ann", "\tlee", &["A", "L"]),
            ("User", "#48213", &["U", "4"]),
            ("\"Bob\"", "(Smith)", &["B", "S"]),
            ("«Жан»", "-", &["Ж"]),
            ("\u{200e}\u{202e}ann", "\u{feff}lee", &["A", "L"]),
            ("<b>", "&amp;", &["B", "A"]),
            ("", "", &[]),
            (" ", "...", &[]),
            ("\u{3164}", "\u{200b}\0", &[]),
        ] {
            assert_eq!(
                Initials::of(first_name, last_name).0,
                initials,
                "{first_name} {last_name}"
            );
        }
    }

    #[test]
    fn a_letter_buried_under_marks_is_cut() {
        let name = format!("z{}", "\u{301}".repeat(1_000_000));
        let initials = Initials::of(&name, "");
        assert_eq!(initials.0[0].chars().count(), CLUSTER_LIMIT);
    }

    #[test]
    fn letters_that_join_are_kept_apart_and_their_direction_is_known() {
        let arabic = Initials::of("محمد", "علي");
        assert_eq!(arabic.text(), "م\u{200c}ع");
        assert!(arabic.are_right_to_left());
        assert!(Initials::of("שרה", "Levi").are_right_to_left());
        assert!(!Initials::of("Ann", "علي").are_right_to_left());
        assert!(!Initials::of("", "").are_right_to_left());
    }
}
