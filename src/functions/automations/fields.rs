//! Merge fields in the texts of automations: what is known of the user.

use super::conditions::User;
use crate::contract::value::{Key, Map};
use crate::contract::{Argument, Value};
use crate::functions::formatting::escaped;
use crate::functions::notify::as_html;
use crate::functions::templates::filled;

/// The details that have a meaning of their own: of who has none, nothing is shown.
const DETAILS: [&str; 18] = [
    "phone",
    "city",
    "language",
    "country",
    "birthday",
    "company",
    "facebook",
    "twitter",
    "linkedin",
    "website",
    "ip",
    "country_code",
    "browser",
    "currency",
    "location",
    "os",
    "time_zone",
    "current_url",
];

/// The fields of a user, each with its brackets. What is not among them stays as it is.
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    pub(super) fn of(user: &User) -> Self {
        let name = format!("{} {}", user.first_name, user.last_name);
        let email = user.email.as_deref().unwrap_or_default();
        let own = [
            ("user_name", name.trim()),
            ("user_email", email),
            ("recipient_name", name.trim()),
            ("recipient_email", email),
            ("first_name", &user.first_name),
            ("last_name", &user.last_name),
            ("email", email),
        ];
        let known = user.details.iter().map(|(slug, value)| (slug.as_str(), value.trim()));
        let unknown = DETAILS.into_iter().map(|slug| (slug, ""));
        // Of two that have one name the first counts.
        let all = own.into_iter().chain(known).chain(unknown);
        Self(
            all.map(|(name, value)| (format!("{{{name}}}"), value.to_owned()))
                .collect(),
        )
    }

    /// A plain text with its fields filled in.
    pub(super) fn fill(&self, text: &str) -> String {
        let fields = self.0.iter().map(|(field, value)| (field.as_str(), value.as_str()));
        filled(text, &fields.collect::<Vec<_>>())
    }

    /// A text as HTML with its fields filled in: whatever a user is called makes no markup.
    pub(super) fn fill_html(&self, text: &str) -> String {
        let fields = self.0.iter().map(|(field, value)| (field.clone(), escaped(value)));
        Self(fields.collect()).fill(&as_html(text))
    }

    /// Fills in some texts of an automation.
    pub(super) fn fill_in(&self, automation: &mut Map, texts: &[&'static str]) {
        for &name in texts {
            if let Some(value) = automation.get_mut(&Key::from(name))
                && let Some(text) = String::from_value(value.clone())
            {
                *value = Value::from(self.fill(&text));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn fields() -> Fields {
        Fields::of(&User {
            kind: None,
            created: chrono::NaiveDateTime::default(),
            first_name: "Dora <b>".into(),
            last_name: "{user_email}".into(),
            email: Some("dora@prospect.example".into()),
            details: HashMap::from([
                ("plan".into(), " Gold ".into()),
                ("email".into(), "other@a.example".into()),
            ]),
        })
    }

    #[test]
    fn what_is_known_is_filled_in_and_what_is_no_field_stays() {
        for (text, expected) in [
            ("Hi {first_name}, {user_name}!", "Hi Dora <b>, Dora <b> {user_email}!"),
            (
                "{user_email} {email} {recipient_email}",
                "dora@prospect.example dora@prospect.example dora@prospect.example",
            ),
            ("{plan}|{city}|{other}|{", "Gold||{other}|{"),
            ("", ""),
        ] {
            assert_eq!(fields().fill(text), expected, "{text}");
        }
    }

    #[test]
    fn a_name_makes_no_markup_in_html() {
        assert_eq!(fields().fill_html("<p>{first_name}</p>"), "<p>Dora &lt;b&gt;</p>");
        assert_eq!(
            fields().fill_html("1 < 2, {first_name}\nBye"),
            "1 &lt; 2, Dora &lt;b&gt;<br>\nBye"
        );
    }
}
