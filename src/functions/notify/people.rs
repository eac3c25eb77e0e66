//! Who gets e-mails, and who writes what they tell of.

use crate::contract::error::Result;
use crate::contract::ids::UserId;
use crate::contract::language::Language;
use crate::contract::status::UserType;
use crate::params;
use crate::platform::Context;
use crate::platform::db::Builder;

/// With the details that e-mails need, each by one dive into its key.
const PEOPLE: &str = "
    SELECT u.id, TRIM(CONCAT(u.first_name, ' ', u.last_name)), u.email, COALESCE(u.profile_image, ''), u.user_type,
        u.token,
        (SELECT d.value FROM sb_users_data d WHERE d.user_id = u.id AND d.slug = 'language'),
        (SELECT d.value FROM sb_users_data d WHERE d.user_id = u.id AND d.slug = 'browser_language'),
        (SELECT d.value FROM sb_users_data d WHERE d.user_id = u.id AND d.slug = 'current_url')
    FROM sb_users u
    WHERE ";

/// What [`PEOPLE`] gives.
type Row = (
    u32,
    String,
    Option<String>,
    String,
    String,
    String,
    Option<String>,
    Option<String>,
    Option<String>,
);

/// Someone who gets e-mails, or writes what they tell of.
#[derive(Debug, Clone)]
pub(crate) struct Person {
    pub(crate) id: UserId,
    /// First and last name.
    pub(crate) name: String,
    pub(crate) email: Option<String>,
    /// The URL of the profile image.
    pub(crate) image: String,
    pub(crate) user_type: Option<UserType>,
    pub(crate) token: String,
    pub(crate) language: Option<Language>,
    /// The page that it is on.
    pub(crate) page: Option<String>,
}

/// Who wrote what people are told of.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Author {
    /// First and last name.
    pub(crate) name: String,
    /// The URL of the profile image.
    pub(crate) image: String,
}

impl Person {
    /// As an author.
    pub(crate) fn author(&self) -> Author {
        Author {
            name: self.name.clone(),
            image: self.image.clone(),
        }
    }

    /// Whether it answers for the company.
    pub(crate) fn is_staff(&self) -> bool {
        self.user_type.is_some_and(UserType::is_staff)
    }
}

/// Those of some users that there are.
pub(crate) async fn people(cx: &Context<'_>, ids: impl IntoIterator<Item = UserId>) -> Result<Vec<Person>> {
    let mut query = Builder::new(PEOPLE, params![]);
    query.add("u.id IN ", params![]).list(ids);
    read(cx, query).await
}

async fn read(cx: &Context<'_>, query: Builder) -> Result<Vec<Person>> {
    let (sql, params) = query.finish();
    let rows: Vec<Row> = cx.database()?.rows(sql, params).await?;
    let people = rows.into_iter().map(
        |(id, name, email, image, user_type, token, language, browser_language, page)| Person {
            id: id.into(),
            name,
            email: email.filter(|email| !email.trim().is_empty()),
            image,
            user_type: user_type.parse().ok(),
            token,
            language: [language, browser_language]
                .iter()
                .flatten()
                .find_map(|code| Language::read(code)),
            page,
        },
    );
    Ok(people.collect())
}
