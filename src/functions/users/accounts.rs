//! Signing people up, and changing what is known of them.

use chrono::NaiveDateTime;

use crate::contract::args::{Argument, Bytes, Department, Detail, Details, given, title_case};
use crate::contract::error::{Code, Error, Result};
use crate::contract::ids::UserId;
use crate::contract::status::UserType;
use crate::contract::{Key, Map, Value};
use crate::functions::columns::{self, check_bytes, check_characters};
use crate::functions::events::{Event, Followers};
use crate::params;
use crate::platform::Context;
use crate::platform::crypto;
use crate::platform::db::{Builder, OnUnknown, Transaction};
use crate::platform::outbox::Recorded;

use super::login::{record_by_id, session};

const ADD_USER: &str = "
    INSERT INTO sb_users (first_name, last_name, password, email, profile_image, user_type, creation_time, token,
        last_activity, department)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

const LOCK_USER: &str = "
    SELECT user_type
    FROM sb_users
    WHERE id = ?
    FOR UPDATE";

const SET_DETAIL: &str = "
    INSERT INTO sb_users_data (user_id, slug, name, value)
    VALUES (?, ?, ?, ?)
    ON DUPLICATE KEY UPDATE name = ?, value = ?";

const ADD_DETAIL: &str = "
    INSERT IGNORE INTO sb_users_data (user_id, slug, name, value)
    VALUES (?, ?, ?, ?)";

const REMOVE_DETAIL: &str = "
    DELETE FROM sb_users_data
    WHERE user_id = ? AND slug = ?";

/// A unique key refused the row.
pub(super) const DUPLICATE: u16 = 1062;

/// Characters that a name column holds, and a stored hash.
pub(super) const NAME_LIMIT: usize = 100;

/// The slug whose value makes a visitor a lead.
const PHONE: &str = "phone";

/// The columns of an account that callers may set.
const COLUMNS: [&str; 7] = [
    "first_name",
    "last_name",
    "email",
    "password",
    "profile_image",
    "user_type",
    "department",
];

/// The columns that are not the caller's to set.
const FIXED_COLUMNS: [&str; 5] = ["id", "token", "creation_time", "last_activity", "typing"];

/// What a caller gives of an account, checked. What is not given is `None`; an e-mail address that is taken away is
/// empty, a department 0.
#[derive(Default)]
struct Account {
    first_name: Option<String>,
    last_name: Option<String>,
    email: Option<String>,
    password: Option<String>,
    profile_image: Option<String>,
    user_type: Option<UserType>,
    department: Option<u8>,
}

/// Adds a user and gives its id.
pub(super) async fn add_user(
    cx: &Context<'_>,
    settings: Map,
    Details(details): Details,
    _login_app: Value,
    hash_password: bool,
) -> Result<UserId> {
    let account = Account::read(settings, hash_password)?;
    let details = checked(details)?;
    let (first_name, last_name) = match account.first_name.clone().filter(|name| !name.is_empty()) {
        Some(first_name) => (first_name, account.last_name.clone().unwrap_or_default()),
        None => visitor_name(cx, account.last_name.clone().unwrap_or_default()).await?,
    };
    let email = account.email.filter(|email| !email.is_empty());
    let user_type = account.user_type.unwrap_or(if email.is_some() {
        UserType::User
    } else {
        UserType::Visitor
    });
    let newcomer = Newcomer {
        first_name,
        last_name,
        password: account.password,
        email,
        profile_image: account.profile_image.unwrap_or_default(),
        user_type,
        department: account.department.filter(|department| *department != 0),
        token: crypto::token()?,
    };
    let followers = Followers::of(cx).await?;
    let stored = cx.database()?.transaction(OnUnknown::Report, async |transaction| {
        let (id, recorded) = newcomer.store(transaction, &followers, cx.now()).await?;
        for detail in details.iter().filter(|detail| !detail.value.is_empty()) {
            transaction
                .execute(ADD_DETAIL, params![id, &detail.slug, &detail.name, &detail.value])
                .await?;
        }
        Ok((id, recorded))
    });
    let (id, recorded) = stored.await.map_err(duplicate_email)?;
    cx.after_commit(recorded);
    Ok(id)
}

/// Someone who is not known yet.
pub(crate) struct Newcomer {
    first_name: String,
    last_name: String,
    password: Option<String>,
    email: Option<String>,
    profile_image: String,
    user_type: UserType,
    department: Option<u8>,
    token: String,
}

impl Newcomer {
    /// A lead who is known by an e-mail address, and by a name as well as it fits.
    pub(crate) fn lead(name: &str, email: &str) -> Result<Self> {
        let name = if name.is_empty() {
            email.split('@').next().unwrap_or_default()
        } else {
            name
        };
        let (first_name, last_name) = name.split_once(' ').unwrap_or((name, ""));
        let short = |name: &str| name.trim().chars().take(NAME_LIMIT).collect();
        Ok(Self {
            first_name: short(first_name),
            last_name: short(last_name),
            password: None,
            email: Some(fitting("email", email.to_owned(), columns::SHORT)?),
            profile_image: String::new(),
            user_type: UserType::Lead,
            department: None,
            token: crypto::token()?,
        })
    }

    /// Stores it in a transaction of the caller.
    pub(crate) async fn store(
        &self,
        transaction: &mut Transaction<'_>,
        followers: &Followers<'_>,
        now: NaiveDateTime,
    ) -> Result<(UserId, Vec<Recorded>)> {
        let columns = params![
            &self.first_name,
            &self.last_name,
            self.password.as_ref(),
            self.email.as_ref(),
            &self.profile_image,
            self.user_type,
            now,
            &self.token,
            now,
            self.department
        ];
        let added = transaction.execute(ADD_USER, columns).await?;
        let id = UserId::from(u32::try_from(added.insert_id).unwrap_or_default());
        let data = || {
            Value::map([
                ("user_id", id.into()),
                ("first_name", self.first_name.clone().into()),
                ("last_name", self.last_name.clone().into()),
                ("email", self.email.clone().map_or(Value::Null, Value::from)),
                ("user_type", self.user_type.text().into()),
            ])
        };
        let recorded = followers.record(transaction, Event::UserCreated, data).await?;
        Ok((id, recorded))
    }
}

/// Adds a user and makes it the active one.
pub(super) async fn add_user_and_login(
    cx: &Context<'_>,
    settings: Map,
    details: Details,
    login_app: Value,
    hash_password: bool,
) -> Result<Option<Value>> {
    let id = add_user(cx, settings, details, login_app, hash_password).await?;
    match record_by_id(cx, id).await? {
        Some(record) => session(cx, record).await.map(Some),
        None => Ok(None),
    }
}

/// Adds details that a user does not have yet.
pub(super) async fn add_new_user_extra(cx: &Context<'_>, user_id: UserId, Details(settings): Details) -> Result<bool> {
    let details = checked(settings)?;
    let followers = Followers::of(cx).await?;
    let stored = cx.database()?.transaction(OnUnknown::Report, async |transaction| {
        type_of(transaction, user_id).await?;
        for detail in details.iter().filter(|detail| !detail.value.is_empty()) {
            transaction
                .execute(ADD_DETAIL, params![user_id, &detail.slug, &detail.name, &detail.value])
                .await?;
        }
        followers
            .record(transaction, Event::UserUpdated, || changed(user_id))
            .await
    });
    cx.after_commit(stored.await?);
    Ok(true)
}

/// Changes an account and its details.
pub(super) async fn update_user(
    cx: &Context<'_>,
    user_id: UserId,
    settings: Map,
    Details(details): Details,
    hash_password: bool,
) -> Result<bool> {
    let account = Account::read(settings, hash_password)?;
    let details = checked(details)?;
    store(cx, user_id, &account, &details).await
}

/// Changes one column or detail.
pub(super) async fn update_user_value(
    cx: &Context<'_>,
    user_id: UserId,
    slug: String,
    value: Value,
    name: Option<String>,
) -> Result<bool> {
    if FIXED_COLUMNS.contains(&slug.as_str()) || slug.is_empty() {
        return Err(Error::Refused {
            code: "invalid-slug",
            message: format!("{slug} cannot be set"),
        });
    }
    if COLUMNS.contains(&slug.as_str()) {
        // Here the value is given, whatever it is: nothing stands for "not given".
        let value = String::from_value(value).ok_or(Error::Argument {
            name: "value",
            expected: "a text",
        })?;
        let account = Account::read(Map::from_iter([(Key::from(slug), value.into())]), true)?;
        return store(cx, user_id, &account, &[]).await;
    }
    let value = String::from_value(value).ok_or(Error::Argument {
        name: "value",
        expected: "a text",
    })?;
    let details = checked(vec![Detail {
        name: name.unwrap_or_else(|| title_case(&slug)),
        slug,
        value,
    }])?;
    store(cx, user_id, &Account::default(), &details).await
}

/// Makes someone a lead.
pub(super) async fn update_user_to_lead(cx: &Context<'_>, user_id: UserId) -> Result<bool> {
    store(
        cx,
        user_id,
        &Account {
            user_type: Some(UserType::Lead),
            ..Account::default()
        },
        &[],
    )
    .await
}

async fn store(cx: &Context<'_>, user_id: UserId, account: &Account, details: &[Detail]) -> Result<bool> {
    let followers = Followers::of(cx).await?;
    let stored = cx.database()?.transaction(OnUnknown::Report, async |transaction| {
        let now = type_of(transaction, user_id).await?;
        if let Some(statement) = account.update(user_id, account.next_type(now, details)) {
            let (sql, params) = statement.finish();
            transaction.execute(sql, params).await?;
        }
        for Detail { slug, name, value } in details {
            if value.is_empty() {
                transaction.execute(REMOVE_DETAIL, params![user_id, slug]).await?;
            } else {
                transaction
                    .execute(SET_DETAIL, params![user_id, slug, name, value, name, value])
                    .await?;
            }
        }
        followers
            .record(transaction, Event::UserUpdated, || changed(user_id))
            .await
    });
    cx.after_commit(stored.await.map_err(duplicate_email)?);
    Ok(true)
}

/// What followers get to know of a change.
fn changed(user_id: UserId) -> Value {
    Value::map([("user_id", user_id.into())])
}

/// The type of a user, whose row is locked from here on.
async fn type_of(transaction: &mut Transaction<'_>, user_id: UserId) -> Result<Option<UserType>> {
    let row: Option<(String,)> = transaction.row(LOCK_USER, params![user_id]).await?;
    let (user_type,) = row.ok_or(Code::UserNotFound)?;
    Ok(user_type.parse().ok())
}

impl Account {
    fn read(mut settings: Map, hash_password: bool) -> Result<Self> {
        let mut text = |name: &'static str, limit: usize| -> Result<Option<String>> {
            given::<String>(&mut settings, name)?
                .map(|text| fitting(name, text, limit))
                .transpose()
        };
        let (first_name, last_name) = (text("first_name", NAME_LIMIT)?, text("last_name", NAME_LIMIT)?);
        let (profile_image, user_type) = (text("profile_image", columns::SHORT)?, text("user_type", usize::MAX)?);
        let email = given::<String>(&mut settings, "email")?.map(|email| email.trim().to_owned());
        if email.iter().any(|email| email.contains(char::is_control)) {
            // The table's collation does not see them, and a line break would end a mail header.
            return Err(Error::Refused {
                code: "invalid-email",
                message: "email contains a control character".into(),
            });
        }
        let email = email.map(|email| fitting("email", email, columns::SHORT)).transpose()?;
        let password = given::<Bytes>(&mut settings, "password")?.filter(|Bytes(password)| !password.is_empty());
        let department = settings
            .get(&Key::from("department"))
            .is_some()
            .then(|| given_department(&mut settings));
        Ok(Self {
            first_name,
            last_name,
            email,
            password: match password {
                None => None,
                Some(Bytes(password)) if hash_password => Some(crypto::hash_password(&password)?),
                Some(Bytes(hash)) => Some(fitting(
                    "password",
                    String::from_utf8_lossy(&hash).into_owned(),
                    NAME_LIMIT,
                )?),
            },
            profile_image,
            user_type: match user_type.as_deref() {
                None | Some("" | "false") => None,
                Some(text) => Some(
                    text.parse()
                        .ok()
                        .filter(|kind| *kind != UserType::Bot)
                        .ok_or(Code::InvalidUserType)?,
                ),
            },
            department: department.transpose()?,
        })
    }

    /// What becomes of a user's type: as asked for; else a visitor who leaves an address or a phone number becomes a
    /// lead, and who sets a password a user. Nobody becomes less.
    fn next_type(&self, now: Option<UserType>, details: &[Detail]) -> Option<UserType> {
        let reachable = self.email.as_ref().is_some_and(|email| !email.is_empty())
            || details
                .iter()
                .any(|detail| detail.slug == PHONE && !detail.value.is_empty());
        match (self.user_type, now) {
            (Some(asked), _) => Some(asked),
            (None, Some(UserType::Visitor | UserType::Lead)) if self.password.is_some() => Some(UserType::User),
            (None, Some(UserType::Visitor)) if reachable => Some(UserType::Lead),
            _ => None,
        }
    }

    /// The statement that stores what is given; none when nothing is.
    fn update(&self, user_id: UserId, user_type: Option<UserType>) -> Option<Builder> {
        let mut statement = Builder::new("UPDATE sb_users SET id = id", params![]);
        let mut changes = 0;
        let mut set = |part: &'static str, params: Option<crate::platform::db::Param>| {
            if let Some(param) = params {
                statement.add(part, vec![param]);
                changes += 1;
            }
        };
        set(", first_name = ?", self.first_name.as_ref().map(Into::into));
        set(", last_name = ?", self.last_name.as_ref().map(Into::into));
        // Two empty addresses would collide on the unique key.
        set(", email = NULLIF(?, '')", self.email.as_ref().map(Into::into));
        set(", password = ?", self.password.as_ref().map(Into::into));
        set(", profile_image = ?", self.profile_image.as_ref().map(Into::into));
        set(", user_type = ?", user_type.map(Into::into));
        set(", department = NULLIF(?, 0)", self.department.map(Into::into));
        statement.add(" WHERE id = ?", params![user_id]);
        (changes > 0).then_some(statement)
    }
}

/// The department of a settings map that has the key; 0 for none.
fn given_department(settings: &mut Map) -> Result<u8> {
    let value = settings.shift_remove(&Key::from("department")).unwrap_or_default();
    let department = Department::from_value(value);
    let department = department.ok_or(Error::Argument {
        name: "department",
        expected: Department::EXPECTED,
    })?;
    Ok(department.fitting()?.unwrap_or(0))
}

/// The name of someone who gave none: the setting `visitor-default-name`, or User, and `#` with five digits.
pub(super) async fn visitor_name(cx: &Context<'_>, last_name: String) -> Result<(String, String)> {
    let first_name = cx
        .settings()
        .await?
        .text("visitor-default-name")
        .unwrap_or_else(|| "User".to_owned());
    let last_name = if last_name.is_empty() {
        let mut random = [0; 4];
        crypto::random(&mut random)?;
        format!("#{:05}", u32::from_ne_bytes(random) % 100_000)
    } else {
        last_name
    };
    Ok((first_name.chars().take(NAME_LIMIT).collect(), last_name))
}

/// Details that fit their columns.
fn checked(details: Vec<Detail>) -> Result<Vec<Detail>> {
    let named = details.into_iter().filter(|detail| !detail.slug.is_empty());
    named
        .map(|Detail { slug, name, value }| {
            check_bytes(&slug, &value, columns::TEXT)?;
            let slug = fitting("the slug of a detail", slug, columns::SHORT)?;
            let name = fitting("the name of a detail", name, columns::SHORT)?;
            Ok(Detail { slug, name, value })
        })
        .collect()
}

/// A text that its column holds whole.
fn fitting(name: &str, text: String, limit: usize) -> Result<String> {
    check_characters(name, &text, limit)?;
    Ok(text)
}

fn duplicate_email(error: Error) -> Error {
    if error.database_number() == Some(DUPLICATE) {
        Code::DuplicateEmail.into()
    } else {
        error
    }
}
