//! The conditions of automations, judged by the clock, the active user and the request.

use std::collections::HashMap;

use chrono::{Datelike, NaiveDate, NaiveDateTime, TimeDelta};

use super::period::{Period, Range};
use crate::contract::args::{Items, Texts, time};
use crate::contract::language::Language;
use crate::contract::status::UserType;
use crate::contract::{Argument, Value};

/// From then on someone who comes is a returning visitor.
const RETURNING_AFTER: TimeDelta = TimeDelta::hours(24);

/// The conditions that ask for a user.
const OF_USER: &[&str] = &[
    "user_type",
    "returning_visitor",
    "website",
    "company",
    "postal_code",
    "custom_variable",
    "cities",
    "countries",
    "birthdate",
];

/// What is said of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It holds.
    Holds,
    /// It does not hold yet.
    NotYet,
    /// Only the browser can say.
    OfBrowser,
    /// It can never hold.
    Never,
}

/// What conditions are judged by.
pub(super) struct Facts {
    pub(super) now: NaiveDateTime,
    /// The active user.
    pub(super) user: Option<User>,
    /// The language of the user, when one is known.
    pub(super) language: Option<Language>,
}

/// What is known of a user.
pub(super) struct User {
    pub(super) kind: Option<UserType>,
    pub(super) created: NaiveDateTime,
    pub(super) first_name: String,
    pub(super) last_name: String,
    pub(super) email: Option<String>,
    pub(super) details: HashMap<String, String>,
}

impl User {
    /// The language that is known of the user.
    pub(super) fn language(&self) -> Option<Language> {
        let known = self.detail("language").or_else(|| self.detail("browser_language"));
        known.and_then(Language::read)
    }

    /// A detail that is not empty.
    pub(super) fn detail(&self, slug: &str) -> Option<&str> {
        let detail = self.details.get(slug).map(|detail| detail.trim());
        detail.filter(|detail| !detail.is_empty())
    }
}

/// A condition as it is stored: `[name, value]`, `[name, operator]` or `[name, operator, value]`.
pub(super) struct Condition {
    name: String,
    operator: Option<Operator>,
    value: Value,
}

/// How a condition compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    IsBetween,
    IsExactly,
    IsNot,
    Contains,
    DoesNotContain,
    IsIncluded,
    IsNotIncluded,
    IsSet,
    IsNotSet,
    IsTrue,
    IsFalse,
    /// One that nobody knows: nothing holds by it.
    Unknown,
}

impl Operator {
    fn read(text: &str) -> Option<Self> {
        Some(match text {
            "is-between" => Self::IsBetween,
            "is-exactly" => Self::IsExactly,
            "is-not" => Self::IsNot,
            "contains" => Self::Contains,
            "does-not-contain" => Self::DoesNotContain,
            "is-included" => Self::IsIncluded,
            "is-not-included" => Self::IsNotIncluded,
            "is-set" => Self::IsSet,
            "is-not-set" => Self::IsNotSet,
            "is-true" => Self::IsTrue,
            "is-false" => Self::IsFalse,
            _ => return None,
        })
    }
}

impl Condition {
    /// Reads one; `None` when it has no name.
    pub(super) fn read(condition: Value) -> Option<Self> {
        let mut parts = Items::from_value(condition)?.0.into_iter();
        let name = parts.next().and_then(String::from_value)?;
        let second = parts.next().unwrap_or_default();
        let third = parts
            .next()
            .filter(|third| !String::is_absent(third) && third.as_bytes() != Some(b""));
        let (operator, value) = match (second.as_str().and_then(Operator::read), third) {
            (Some(operator), third) => (Some(operator), third.unwrap_or_default()),
            // Of `[user_type, is-user]` and `[repeat, every-day]` the second is all there is.
            (None, Some(_)) if name == "user_type" || name == "repeat" => (None, second),
            (None, Some(third)) => (Some(Operator::Unknown), third),
            (None, None) => (None, second),
        };
        (!name.is_empty()).then_some(Self { name, operator, value })
    }

    /// Whether it says when something is due.
    pub(super) fn is_of_time(&self) -> bool {
        matches!(self.name.as_str(), "datetime" | "birthdate")
    }

    /// Whether it is about what a user looks at now.
    pub(super) fn is_of_visit(&self) -> bool {
        let of_page = [
            "include_urls",
            "exclude_urls",
            "browsing_time",
            "scroll_position",
            "referring",
        ];
        of_page.contains(&self.name.as_str())
    }

    /// The period of `repeat`.
    pub(super) fn period(&self) -> Option<Period> {
        (self.name == "repeat").then(|| Period::read(&self.text()))?
    }

    /// The times of `datetime`.
    pub(super) fn range(&self) -> Option<Range> {
        if self.name != "datetime" {
            return None;
        }
        let text = self.text();
        match self.operator {
            Some(Operator::IsBetween) => Range::between(&text),
            Some(Operator::IsExactly) => Range::exactly(&text),
            None => Range::read(&text),
            _ => None,
        }
    }

    /// Judges it. `repeat` is the period in which times come again.
    pub(super) fn judge(&self, facts: &Facts, repeat: Option<Period>) -> Verdict {
        match self.name.as_str() {
            "browsing_time" | "scroll_position" | "referring" => Verdict::OfBrowser,
            "datetime" => self.judge_time(facts.now, repeat),
            "repeat" => self.period().map_or(Verdict::Never, |_| Verdict::Holds),
            "languages" => self.judge_language(facts.language.as_ref()),
            "include_urls" | "exclude_urls" => self.judge_url(facts.user.as_ref()),
            name => match &facts.user {
                // Nothing is known of nobody.
                None if OF_USER.contains(&name) => Verdict::NotYet,
                None => Verdict::Never,
                Some(user) => self.judge_user(name, user, facts),
            },
        }
    }

    fn judge_user(&self, name: &str, user: &User, facts: &Facts) -> Verdict {
        match name {
            "user_type" => self.judge_type(user.kind),
            "returning_visitor" => self.judge_returning(facts.now - user.created > RETURNING_AFTER),
            "website" | "company" | "postal_code" => self.judge_text(user.detail(name)),
            "custom_variable" => self.judge_variable(user),
            "cities" => self.judge_list(&[user.detail("city")]),
            "countries" => self.judge_list(&[user.detail("country"), user.detail("country_code")]),
            "birthdate" => self.judge_birthday(user.detail("birthday"), facts.now.date()),
            _ => Verdict::Never,
        }
    }

    fn judge_time(&self, now: NaiveDateTime, repeat: Option<Period>) -> Verdict {
        match self.range() {
            None => Verdict::Never,
            Some(range) if range.occurrence(now, repeat).is_some() => Verdict::Holds,
            Some(range) if range.end < now && repeat.is_none() => Verdict::Never,
            Some(_) => Verdict::NotYet,
        }
    }

    /// Types change in one direction only.
    fn judge_type(&self, own: Option<UserType>) -> Verdict {
        let text = self.text();
        let text = text.strip_prefix("is-").unwrap_or(&text);
        let (wanted, negated) = match text.strip_prefix("not-") {
            Some(wanted) => (wanted, true),
            None => (text, false),
        };
        let Some(wanted) = wanted.parse().ok().filter(|wanted: &UserType| wanted.is_customer()) else {
            return Verdict::Never;
        };
        let (own_rank, wanted_rank) = (own.and_then(rank), rank(wanted));
        match (own == Some(wanted), negated) {
            (true, false) | (false, true) => Verdict::Holds,
            (false, false) if own_rank.is_some() && own_rank < wanted_rank => Verdict::NotYet,
            (true, true) if own_rank < rank(UserType::User) => Verdict::NotYet,
            _ => Verdict::Never,
        }
    }

    /// Who has come before stays one who has.
    fn judge_returning(&self, is_returning: bool) -> Verdict {
        let wanted = match self.operator {
            Some(Operator::IsTrue) => true,
            Some(Operator::IsFalse) => false,
            Some(_) => return Verdict::Never,
            None => self.value == Value::Null || bool::from_value(self.value.clone()).unwrap_or(false),
        };
        match (is_returning, wanted) {
            (own, wanted) if own == wanted => Verdict::Holds,
            (false, _) => Verdict::NotYet,
            (true, _) => Verdict::Never,
        }
    }

    fn judge_url(&self, user: Option<&User>) -> Verdict {
        let Some(url) = user.and_then(|user| user.detail("current_url")) else {
            return Verdict::OfBrowser;
        };
        let operator = self.operator.unwrap_or(Operator::Contains);
        let holds = compared(operator, Some(url), &self.texts());
        verdict(holds.map(|holds| holds == (self.name == "include_urls")))
    }

    fn judge_language(&self, own: Option<&Language>) -> Verdict {
        let primary = own.map(Language::primary);
        self.judge_list(&[own.map(Language::code), primary.as_ref().map(Language::code)])
    }

    fn judge_text(&self, own: Option<&str>) -> Verdict {
        let operator = self.operator.unwrap_or(Operator::Contains);
        verdict(compared(operator, own, &[self.text()]))
    }

    /// `name=value`, of the detail of that name.
    fn judge_variable(&self, user: &User) -> Verdict {
        let text = self.text();
        let (name, value) = text.split_once('=').unwrap_or((&text, ""));
        let operator = self.operator.unwrap_or(Operator::IsExactly);
        verdict(compared(operator, user.detail(name.trim()), &[value.trim().to_owned()]))
    }

    fn judge_list(&self, own: &[Option<&str>]) -> Verdict {
        let wanted = self.texts();
        let own: Vec<String> = own.iter().flatten().map(|own| own.to_lowercase()).collect();
        let is_included = || own.iter().any(|own| wanted.contains(own));
        verdict(match self.operator.unwrap_or(Operator::IsIncluded) {
            Operator::IsIncluded => Some(is_included()),
            Operator::IsNotIncluded => Some(!is_included()),
            Operator::IsSet => Some(!own.is_empty()),
            Operator::IsNotSet => Some(own.is_empty()),
            _ => None,
        })
    }

    /// Month and day; without a value those of today.
    fn judge_birthday(&self, own: Option<&str>, today: NaiveDate) -> Verdict {
        let operator = self.operator.unwrap_or(Operator::IsExactly);
        let birthday = own.and_then(month_and_day);
        match operator {
            Operator::IsSet => return verdict(Some(own.is_some())),
            Operator::IsNotSet => return verdict(Some(own.is_none())),
            _ => {}
        }
        let text = self.text();
        let ends = match text.split_once(" - ") {
            _ if text.is_empty() => Some(((today.month(), today.day()), (today.month(), today.day()))),
            Some((start, end)) if operator == Operator::IsBetween || self.operator.is_none() => {
                month_and_day(start).zip(month_and_day(end))
            }
            None if operator == Operator::IsExactly => month_and_day(&text).map(|day| (day, day)),
            _ => None,
        };
        verdict(ends.map(|(start, end)| {
            birthday.is_some_and(|day| {
                if start <= end {
                    start <= day && day <= end
                } else {
                    // Across the end of the year.
                    start <= day || day <= end
                }
            })
        }))
    }

    fn text(&self) -> String {
        String::from_value(self.value.clone())
            .unwrap_or_default()
            .trim()
            .to_owned()
    }

    /// The values of a list in small letters.
    fn texts(&self) -> Vec<String> {
        let texts = Texts::from_value(self.value.clone()).map_or_else(Vec::new, |Texts(texts)| texts);
        let texts = texts.iter().map(|text| text.trim().to_lowercase());
        texts.filter(|text| !text.is_empty()).collect()
    }
}

fn rank(user_type: UserType) -> Option<u8> {
    match user_type {
        UserType::Visitor => Some(0),
        UserType::Lead => Some(1),
        UserType::User => Some(2),
        _ => None,
    }
}

/// Compares a text with others, in whatever case; `None` where the operator is not for texts.
fn compared(operator: Operator, own: Option<&str>, wanted: &[String]) -> Option<bool> {
    let own = own.map(str::to_lowercase);
    let any = |holds: fn(&str, &str) -> bool| {
        own.as_deref().is_some_and(|own| {
            let wanted = wanted.iter().map(|wanted| wanted.to_lowercase());
            wanted
                .into_iter()
                .any(|wanted| !wanted.is_empty() && holds(own, &wanted))
        })
    };
    Some(match operator {
        Operator::Contains => any(|own, wanted| own.contains(wanted)),
        Operator::DoesNotContain => !any(|own, wanted| own.contains(wanted)),
        Operator::IsExactly => any(|own, wanted| own == wanted),
        Operator::IsNot => !any(|own, wanted| own == wanted),
        Operator::IsSet => own.is_some(),
        Operator::IsNotSet => own.is_none(),
        _ => return None,
    })
}

/// What is not so now may become so, unless nobody knows what is asked.
fn verdict(holds: Option<bool>) -> Verdict {
    match holds {
        Some(true) => Verdict::Holds,
        Some(false) => Verdict::NotYet,
        None => Verdict::Never,
    }
}

/// Month and day of `YYYY-MM-DD`, `MM-DD`, `DD/MM/YYYY`, `DD/MM` and the same with full stops.
fn month_and_day(text: &str) -> Option<(u32, u32)> {
    let text = text.trim();
    if let Some(time) = time(text) {
        return Some((time.month(), time.day()));
    }
    let number = |text: Option<&str>| text.and_then(|text| text.trim().parse::<u32>().ok());
    let (month, day) = if text.contains(['/', '.']) {
        let mut parts = text.split(['/', '.']);
        let (day, month) = (number(parts.next()), number(parts.next()));
        (month?, day?)
    } else {
        let mut parts = text.split('-');
        let found = (number(parts.next())?, number(parts.next())?);
        if parts.next().is_some() {
            return None;
        }
        found
    };
    // Of a year that has every day.
    NaiveDate::from_ymd_opt(2024, month, day).map(|_| (month, day))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::json;

    fn facts(user_type: UserType, details: &[(&str, &str)]) -> Facts {
        let details = details
            .iter()
            .map(|(slug, value)| ((*slug).to_owned(), (*value).to_owned()));
        Facts {
            now: time("2026-11-20 12:00:00").unwrap(),
            user: Some(User {
                kind: Some(user_type),
                created: time("2026-11-20 10:00:00").unwrap(),
                first_name: "Dora".into(),
                last_name: String::new(),
                email: None,
                details: details.collect(),
            }),
            language: Language::read("de-AT"),
        }
    }

    fn judged(condition: &str, facts: &Facts) -> Verdict {
        let condition = Condition::read(json::decode(condition.as_bytes()).unwrap()).unwrap();
        condition.judge(facts, None)
    }

    fn known() -> Facts {
        facts(
            UserType::Lead,
            &[
                ("current_url", "https://shop.example/Cart?a=1"),
                ("website", "www.acme.example"),
                ("company", "ACME, Inc."),
                ("postal_code", "1010"),
                ("plan", "Gold"),
                ("city", "Wien"),
                ("country", "Austria"),
                ("country_code", "AT"),
                ("birthday", "1990-11-20"),
            ],
        )
    }

    #[test]
    fn every_operator_of_time_page_and_type_is_known() {
        use Verdict::{Holds, Never, NotYet, OfBrowser};
        let facts = known();
        for (condition, verdict) in [
            (r#"["datetime", "is-between", "2026-11-01 - 2026-11-30"]"#, Holds),
            (r#"["datetime", "2026-11-01 - 2026-11-30"]"#, Holds),
            (r#"["datetime", "is-between", "2026-12-01 - 2026-12-30"]"#, NotYet),
            (r#"["datetime", "is-between", "2026-10-01 - 2026-10-30"]"#, Never),
            (r#"["datetime", "is-exactly", "2026-11-20"]"#, Holds),
            (r#"["datetime", "2026-11-20"]"#, Holds),
            (r#"["datetime", "is-exactly", "2026-11-21"]"#, NotYet),
            (r#"["datetime", "is-exactly", "2026-11-19"]"#, Never),
            (r#"["datetime", "is-between", "2026-11-20"]"#, Never),
            (r#"["datetime", "contains", "2026-11-20"]"#, Never),
            (r#"["datetime", "is-between", "soon"]"#, Never),
            (r#"["datetime"]"#, Never),
            (r#"["repeat", "every-day"]"#, Holds),
            (r#"["repeat", "every-hour"]"#, Never),
            (r#"["browsing_time", "is-greater-than", 30]"#, OfBrowser),
            (r#"["browsing_time", 30]"#, OfBrowser),
            (r#"["scroll_position", "is-less-than", "50"]"#, OfBrowser),
            (r#"["referring", "contains", "search.example"]"#, OfBrowser),
            (r#"["include_urls", "contains", "/cart"]"#, Holds),
            (r#"["include_urls", "/CART"]"#, Holds),
            (r#"["include_urls", "contains", "/a, /cart"]"#, Holds),
            (r#"["include_urls", "contains", ["/a", "/cart"]]"#, Holds),
            (r#"["include_urls", "contains", "/blog"]"#, NotYet),
            (r#"["include_urls", "does-not-contain", "/blog"]"#, Holds),
            (
                r#"["include_urls", "is-exactly", "https://shop.example/cart?a=1"]"#,
                Holds,
            ),
            (r#"["include_urls", "is-not", "https://shop.example/cart?a=1"]"#, NotYet),
            (r#"["include_urls", "is-set"]"#, Holds),
            (r#"["include_urls", "is-true"]"#, Never),
            (r#"["exclude_urls", "contains", "/blog"]"#, Holds),
            (r#"["exclude_urls", "/cart"]"#, NotYet),
            (r#"["user_type", "is-lead"]"#, Holds),
            (r#"["user_type", "lead"]"#, Holds),
            (r#"["user_type", "is-lead", ""]"#, Holds),
            (r#"["user_type", "is-user"]"#, NotYet),
            (r#"["user_type", "is-visitor"]"#, Never),
            (r#"["user_type", "is-not-visitor"]"#, Holds),
            (r#"["user_type", "is-not-user"]"#, Holds),
            (r#"["user_type", "is-not-lead"]"#, NotYet),
            (r#"["user_type", "is-agent"]"#, Never),
            (r#"["returning_visitor", "is-true"]"#, NotYet),
            (r#"["returning_visitor", "is-false"]"#, Holds),
            (r#"["returning_visitor"]"#, NotYet),
            (r#"["returning_visitor", "contains"]"#, Never),
        ] {
            assert_eq!(judged(condition, &facts), verdict, "{condition}");
        }
    }

    #[test]
    fn every_operator_of_details_is_known() {
        use Verdict::{Holds, Never, NotYet};
        let facts = known();
        for (condition, verdict) in [
            (r#"["countries", "is-included", "Italy, austria"]"#, Holds),
            (r#"["countries", ["at"]]"#, Holds),
            (r#"["countries", "is-included", "Italy"]"#, NotYet),
            (r#"["countries", "is-not-included", "AT"]"#, NotYet),
            (r#"["countries", "is-set"]"#, Holds),
            (r#"["countries", "is-not-set"]"#, NotYet),
            (r#"["countries", "contains", "Austria"]"#, Never),
            (r#"["languages", "de"]"#, Holds),
            (r#"["languages", "is-included", "fr,DE-at"]"#, Holds),
            (r#"["languages", "is-not-included", "fr"]"#, Holds),
            (r#"["languages", "fr"]"#, NotYet),
            (r#"["languages", "is-set"]"#, Holds),
            (r#"["cities", "is-included", ["wien", "Graz"]]"#, Holds),
            (r#"["cities", "is-not-included", ["wien"]]"#, NotYet),
            (r#"["website", "contains", "ACME"]"#, Holds),
            (r#"["website", "acme"]"#, Holds),
            (r#"["website", "does-not-contain", "acme"]"#, NotYet),
            (r#"["company", "is-exactly", "acme, inc."]"#, Holds),
            (r#"["company", "is-not", "acme"]"#, Holds),
            (r#"["company", "starts-with", "acme"]"#, Never),
            (r#"["postal_code", "is-exactly", 1010]"#, Holds),
            (r#"["postal_code", "is-set"]"#, Holds),
            (r#"["custom_variable", "is-exactly", "plan=gold"]"#, Holds),
            (r#"["custom_variable", "plan = gold"]"#, Holds),
            (r#"["custom_variable", "contains", "plan=go"]"#, Holds),
            (r#"["custom_variable", "is-not", "plan=gold"]"#, NotYet),
            (r#"["custom_variable", "is-set", "plan"]"#, Holds),
            (r#"["custom_variable", "is-not-set", "other"]"#, Holds),
            (r#"["birthdate", "is-exactly", "2000-11-20"]"#, Holds),
            (r#"["birthdate", "20/11"]"#, Holds),
            (r#"["birthdate", "is-exactly"]"#, Holds),
            (r#"["birthdate", "is-exactly", "21/11/1990"]"#, NotYet),
            (r#"["birthdate", "is-between", "11-01 - 11-30"]"#, Holds),
            (r#"["birthdate", "is-between", "2026-12-20 - 2027-01-05"]"#, NotYet),
            (r#"["birthdate", "is-between", "2026-11-15 - 2027-01-05"]"#, Holds),
            (r#"["birthdate", "is-set"]"#, Holds),
            (r#"["birthdate", "is-exactly", "soon"]"#, Never),
            (r#"["birthdate", "contains", "11"]"#, Never),
            (r#"["unheard_of", "is-set"]"#, Never),
        ] {
            assert_eq!(judged(condition, &facts), verdict, "{condition}");
        }
    }

    #[test]
    fn what_is_not_known_does_not_hold_yet() {
        use Verdict::{Holds, Never, NotYet, OfBrowser};
        let unknown = Facts {
            language: None,
            ..facts(UserType::Visitor, &[])
        };
        let nobody = Facts {
            user: None,
            language: None,
            ..facts(UserType::Visitor, &[])
        };
        for (condition, of_user, of_nobody) in [
            (r#"["include_urls", "contains", "/cart"]"#, OfBrowser, OfBrowser),
            (r#"["exclude_urls", "contains", "/cart"]"#, OfBrowser, OfBrowser),
            (r#"["company", "contains", "a"]"#, NotYet, NotYet),
            (r#"["company", "is-not", "a"]"#, Holds, NotYet),
            (r#"["company", "is-not-set"]"#, Holds, NotYet),
            (r#"["countries", "is-not-included", "IT"]"#, Holds, NotYet),
            (r#"["languages", "de"]"#, NotYet, NotYet),
            (r#"["birthdate", "is-exactly"]"#, NotYet, NotYet),
            (r#"["birthdate", "is-not-set"]"#, Holds, NotYet),
            (r#"["user_type", "is-user"]"#, NotYet, NotYet),
            (r#"["user_type", "is-visitor"]"#, Holds, NotYet),
            (r#"["unheard_of", "x"]"#, Never, Never),
        ] {
            assert_eq!(judged(condition, &unknown), of_user, "{condition}");
            assert_eq!(judged(condition, &nobody), of_nobody, "{condition}");
        }
    }

    #[test]
    fn a_type_that_cannot_become_the_wanted_one_never_holds() {
        use Verdict::{Holds, Never, NotYet};
        for (user_type, condition, verdict) in [
            (UserType::User, "is-lead", Never),
            (UserType::User, "is-visitor", Never),
            (UserType::User, "is-not-user", Never),
            (UserType::User, "is-not-visitor", Holds),
            (UserType::Visitor, "is-lead", NotYet),
            (UserType::Visitor, "is-not-visitor", NotYet),
            (UserType::Agent, "is-user", Never),
            (UserType::Agent, "is-not-user", Holds),
        ] {
            let condition = format!(r#"["user_type", "{condition}"]"#);
            assert_eq!(
                judged(&condition, &facts(user_type, &[])),
                verdict,
                "{user_type:?} {condition}"
            );
        }
        let mut known = facts(UserType::User, &[]);
        known.now = time("2026-11-22 12:00:00").unwrap();
        assert_eq!(judged(r#"["returning_visitor", "is-true"]"#, &known), Holds);
        assert_eq!(judged(r#"["returning_visitor", "is-false"]"#, &known), Never);
    }

    #[test]
    fn what_has_no_name_is_no_condition() {
        for text in ["[]", "[\"\"]", "7", "[[\"datetime\"]]", "null"] {
            assert!(
                Condition::read(json::decode(text.as_bytes()).unwrap()).is_none(),
                "{text}"
            );
        }
    }
}
