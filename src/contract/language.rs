//! Language codes.

/// A language by its code: `de`, `pt-BR`, `zh_Hant`. Whoever has one may use it in the name of a file or row.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Language(String);

impl Language {
    /// The language that the library's own texts are in.
    pub const DEFAULT: &str = "en";

    /// A code in its exact form: two or three small letters, and a region or script of two to four letters.
    pub fn exact(code: &str) -> Option<Self> {
        let (primary, region) = match code.split_once(['-', '_']) {
            Some((primary, region)) => (primary, Some(region)),
            None => (code, None),
        };
        let is_primary = matches!(primary.len(), 2..=3) && primary.bytes().all(|letter| letter.is_ascii_lowercase());
        let is_region = region.is_none_or(|region| {
            matches!(region.len(), 2..=4) && region.bytes().all(|letter| letter.is_ascii_alphabetic())
        });
        (is_primary && is_region).then(|| Self(code.to_owned()))
    }

    /// A code as people and browsers write it: `DE`, ` de-DE `. What stands behind the region does not count.
    pub fn read(code: &str) -> Option<Self> {
        let mut parts = code.trim().split(['-', '_']);
        let primary = parts.next().unwrap_or_default().to_ascii_lowercase();
        let separator = if code.contains('-') { '-' } else { '_' };
        let whole = parts
            .next()
            .and_then(|region| Self::exact(&format!("{primary}{separator}{region}")));
        whole.or_else(|| Self::exact(&primary))
    }

    /// Whether it is the default language.
    pub fn is_default(&self) -> bool {
        self.0 == Self::DEFAULT
    }

    /// The code.
    pub fn code(&self) -> &str {
        &self.0
    }

    /// The language without its region: `pt` of `pt-BR`.
    #[must_use]
    pub fn primary(&self) -> Self {
        Self(self.0.split(['-', '_']).next().unwrap_or_default().to_owned())
    }

    /// The language, and without its region when it has one: where to look, the nearest first.
    pub fn with_primary(&self) -> Vec<Self> {
        let primary = self.primary();
        if primary == *self {
            vec![primary]
        } else {
            vec![self.clone(), primary]
        }
    }

    /// The language that a browser asks for first, by its header (RFC 9110, section 12.5.4).
    pub fn accepted(header: &str) -> Option<Self> {
        let mut best: Option<(f64, Self)> = None;
        for range in header.split(',') {
            let (code, parameters) = range.split_once(';').unwrap_or((range, ""));
            let weight = match parameters.trim().strip_prefix("q=") {
                Some(weight) => weight.trim().parse().unwrap_or(0.0),
                None => 1.0,
            };
            if let Some(language) = Self::read(code)
                && weight > best.as_ref().map_or(0.0, |(weight, _)| *weight)
            {
                best = Some((weight, language));
            }
        }
        best.map(|(_, language)| language)
    }
}

/// The default language.
impl Default for Language {
    fn default() -> Self {
        Self(Self::DEFAULT.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_code_is_safe_in_a_file_name() {
        for code in ["de", "fil", "pt-BR", "zh_Hant", "pt_br"] {
            assert_eq!(Language::exact(code).unwrap().code(), code);
        }
        for code in [
            "", "d", "DE", "deutsch", "de-", "de-D", "de-12", "../de", "de/..", "de\0", "de.json", "de-DE-x", "dé",
            "pt-BRASI",
        ] {
            assert_eq!(Language::exact(code), None, "{code:?}");
        }
    }

    #[test]
    fn a_code_may_be_written_in_many_ways() {
        for (text, code) in [
            ("DE", "de"),
            (" de ", "de"),
            ("pt-BR", "pt-BR"),
            ("PT_br", "pt_br"),
            ("zh-Hant-TW", "zh-Hant"),
            ("de-1996", "de"),
            ("de-x-private", "de"),
        ] {
            assert_eq!(Language::read(text).unwrap().code(), code, "{text}");
        }
        for text in ["", "german", "*", "1", "../../etc"] {
            assert_eq!(Language::read(text), None, "{text}");
        }
        let codes = |text: &str| {
            let languages = Language::read(text).unwrap().with_primary();
            languages
                .iter()
                .map(|language| language.code().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(codes("pt-BR"), ["pt-BR", "pt"]);
        assert_eq!(codes("pt"), ["pt"]);
    }

    #[test]
    fn the_browsers_first_choice_is_the_one_of_most_weight() {
        for (header, code) in [
            ("de-DE,de;q=0.9,en;q=0.8", Some("de-DE")),
            ("en;q=0.5, fr ; q=0.7", Some("fr")),
            ("*, it;q=0.2", Some("it")),
            ("it;q=0", None),
            ("it;q=x", None),
            ("", None),
            ("<script>", None),
        ] {
            assert_eq!(
                Language::accepted(header).as_ref().map(Language::code),
                code,
                "{header}"
            );
        }
    }
}
