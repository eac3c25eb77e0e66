//! Signing people up.

use crate::contract::args::{Bytes, Department, Detail, Details, field};
use crate::contract::error::{Code, Error, Result};
use crate::contract::ids::UserId;
use crate::contract::status::UserType;
use crate::contract::{Map, Value};
use crate::params;
use crate::platform::Context;
use crate::platform::crypto;
use crate::platform::db::{OnUnknown, Transaction};

const ADD_USER: &str = "
    INSERT INTO sb_users (first_name, last_name, password, email, profile_image, user_type, creation_time, token,
        last_activity, department)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

const ADD_DETAIL: &str = "
    INSERT IGNORE INTO sb_users_data (user_id, slug, name, value)
    VALUES (?, ?, ?, ?)";

/// A unique key refused the row.
const DUPLICATE: u16 = 1062;

/// Characters that a name column holds.
const NAME_LIMIT: usize = 100;
/// Characters that an e-mail, image, slug or detail-name column holds.
const TEXT_LIMIT: usize = 191;
/// Bytes that a detail's value holds.
const VALUE_LIMIT: usize = 65_535;

/// An account before it is stored.
struct NewUser {
    first_name: String,
    last_name: String,
    password: Option<String>,
    email: Option<String>,
    profile_image: String,
    user_type: UserType,
    department: Option<u8>,
    details: Vec<Detail>,
}

/// Adds a user and gives its id.
pub(super) async fn add_user(
    cx: &Context<'_>,
    settings: Map,
    Details(details): Details,
    _login_app: Value,
    hash_password: bool,
) -> Result<UserId> {
    let user = NewUser::read(cx, settings, details, hash_password).await?;
    let token = crypto::token()?;
    let added = cx
        .database()?
        .transaction(OnUnknown::Report, async |transaction| {
            user.store(cx, transaction, &token).await
        })
        .await;
    match added {
        Err(error) if error.database_number() == Some(DUPLICATE) => Err(Code::DuplicateEmail.into()),
        added => added,
    }
}

impl NewUser {
    async fn read(cx: &Context<'_>, mut settings: Map, details: Vec<Detail>, hash_password: bool) -> Result<Self> {
        let email = field::<String>(&mut settings, "email")?
            .map(|email| email.trim().to_owned())
            .filter(|email| !email.is_empty());
        let user_type = match field::<Option<String>>(&mut settings, "user_type")?.flatten() {
            None if email.is_some() => UserType::User,
            None => UserType::Visitor,
            Some(text) => text
                .parse()
                .ok()
                .filter(|user_type| *user_type != UserType::Bot)
                .ok_or(Code::InvalidUserType)?,
        };
        let password = match field::<Bytes>(&mut settings, "password")?.filter(|Bytes(password)| !password.is_empty()) {
            None => None,
            Some(Bytes(password)) if hash_password => Some(crypto::hash_password(&password)?),
            Some(Bytes(hash)) => Some(short(
                "password",
                String::from_utf8_lossy(&hash).into_owned(),
                NAME_LIMIT,
            )?),
        };
        let mut text = |name: &'static str, limit: usize| -> Result<String> {
            short(name, field::<String>(&mut settings, name)?.unwrap_or_default(), limit)
        };
        let (first_name, last_name) = (text("first_name", NAME_LIMIT)?, text("last_name", NAME_LIMIT)?);
        let profile_image = text("profile_image", TEXT_LIMIT)?;
        let (first_name, last_name) = if first_name.is_empty() {
            visitor_name(cx, last_name).await?
        } else {
            (first_name, last_name)
        };
        let department =
            field::<Department>(&mut settings, "department")?.and_then(|Department(department)| department);
        Ok(Self {
            first_name,
            last_name,
            password,
            email: email.map(|email| short("email", email, TEXT_LIMIT)).transpose()?,
            profile_image,
            user_type,
            department,
            details: storable(details)?,
        })
    }

    async fn store(&self, cx: &Context<'_>, transaction: &mut Transaction<'_>, token: &str) -> Result<UserId> {
        let now = cx.now();
        let added = transaction
            .execute(
                ADD_USER,
                params![
                    &self.first_name,
                    &self.last_name,
                    self.password.as_ref(),
                    self.email.as_ref(),
                    &self.profile_image,
                    self.user_type,
                    now,
                    token,
                    now,
                    self.department
                ],
            )
            .await?;
        let id = UserId::from(u32::try_from(added.insert_id).unwrap_or_default());
        for detail in &self.details {
            transaction
                .execute(ADD_DETAIL, params![id, &detail.slug, &detail.name, &detail.value])
                .await?;
        }
        Ok(id)
    }
}

/// The name of someone who gave none: the setting `visitor-default-name`, or User, and `#` with five digits.
async fn visitor_name(cx: &Context<'_>, last_name: String) -> Result<(String, String)> {
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

/// The details that hold something and fit their columns.
fn storable(details: Vec<Detail>) -> Result<Vec<Detail>> {
    details
        .into_iter()
        .filter(|detail| !detail.value.is_empty() && !detail.slug.is_empty())
        .map(|detail| {
            if detail.value.len() > VALUE_LIMIT {
                return Err(Error::too_long(&detail.slug, "65535 bytes"));
            }
            Ok(Detail {
                slug: short("the slug of a detail", detail.slug, TEXT_LIMIT)?,
                name: short("the name of a detail", detail.name, TEXT_LIMIT)?,
                value: detail.value,
            })
        })
        .collect()
}

/// A text that its column holds whole.
fn short(name: &str, text: String, limit: usize) -> Result<String> {
    if text.chars().nth(limit).is_some() {
        return Err(Error::too_long(name, &format!("{limit} characters")));
    }
    Ok(text)
}
