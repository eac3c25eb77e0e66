//! Taking over the accounts of another system, by their e-mail addresses. An agent or admin is never touched.

use chrono::NaiveDateTime;

use super::accounts::{NAME_LIMIT, add_user, update_user, visitor_name};
use super::login::{is_email_of, record_by_email, record_by_id, session};
use crate::contract::args::Details;
use crate::contract::error::{Code, Error, Result};
use crate::contract::ids::UserId;
use crate::contract::status::UserType;
use crate::contract::value::at;
use crate::contract::{Map, Value};
use crate::functions::columns;
use crate::params;
use crate::platform::Context;
use crate::platform::crypto;
use crate::platform::db::{Builder, OnUnknown, Transaction};

const KNOWN: &str = "
    SELECT id, email, user_type, first_name, last_name, COALESCE(password, '')
    FROM sb_users
    WHERE email IN ";

const ADD: &str = "
    INSERT INTO sb_users (first_name, last_name, password, email, profile_image, user_type, creation_time, token,
        last_activity)
    VALUES ";

/// An address that differs from a known one by accents only collides with it: the known one stays.
const UNLESS_KNOWN: &str = "
    ON DUPLICATE KEY UPDATE id = id";

const UPDATE: &str = "
    UPDATE sb_users
    SET first_name = ?, last_name = ?, password = NULLIF(?, ''), user_type = 'user'
    WHERE id = ? AND user_type IN ('visitor', 'lead', 'user')";

/// What the password column holds.
const HASH_LIMIT: usize = 100;

/// An account of another system.
#[derive(Debug, Clone)]
pub(crate) struct Imported {
    pub(crate) first_name: String,
    pub(crate) last_name: String,
    pub(crate) email: String,
    /// The hash of its password.
    pub(crate) password: String,
    /// When it was made there, in UTC.
    pub(crate) created: Option<NaiveDateTime>,
}

/// How many accounts were taken over.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Taken {
    /// Those who are new.
    pub(crate) added: u64,
    /// Customers who were brought up to date.
    pub(crate) changed: u64,
}

/// What [`KNOWN`] gives.
type Known = (u32, String, String, String, String, String);

/// Takes over accounts: those whose address is new are added as users, customers of that address become users with the
/// names and the password of the account.
pub(crate) async fn import(cx: &Context<'_>, accounts: Vec<Imported>) -> Result<Taken> {
    let mut fitting: Vec<Imported> = Vec::with_capacity(accounts.len());
    for account in accounts.into_iter().filter_map(Imported::fitting) {
        let repeats = |other: &Imported| other.email.to_lowercase() == account.email.to_lowercase();
        if !fitting.iter().any(repeats) {
            fitting.push(account);
        }
    }
    // Names for those who have none come from the settings, which cannot be read within a transaction.
    cx.settings().await?;
    cx.database()?
        .transaction(OnUnknown::Repeat, async |transaction| {
            store(cx, transaction, &fitting).await
        })
        .await
}

/// Makes the account the active user: the user of its address, else the active visitor who has none yet, else a new
/// one. `None` when the address is an agent's or admin's, or missing.
pub(crate) async fn sign_in(cx: &Context<'_>, account: Imported) -> Result<Option<Value>> {
    let Some(account) = account.fitting() else {
        return Ok(None);
    };
    let known = match record_by_email(cx, &account.email).await? {
        Some(known) => Some(known),
        None => nameless_visitor(cx).await?,
    };
    let id = match known {
        Some(known) => change(cx, &account, &known).await?,
        None => match add(cx, &account).await {
            // Somebody was faster: the same account, in another request.
            Err(Error::Code(Code::DuplicateEmail)) => match record_by_email(cx, &account.email).await? {
                Some(known) => change(cx, &account, &known).await?,
                None => None,
            },
            added => Some(added?),
        },
    };
    let Some(id) = id else { return Ok(None) };
    match record_by_id(cx, id).await? {
        Some(record) => session(cx, record).await.map(Some),
        None => Ok(None),
    }
}

/// The active user, when it is a visitor or lead without an address.
async fn nameless_visitor(cx: &Context<'_>) -> Result<Option<Map>> {
    let Some(active) = cx.active_user().await? else {
        return Ok(None);
    };
    let record = record_by_id(cx, active.id).await?;
    Ok(record.filter(|record| {
        let has_email = at(record, "email").is_some_and(Value::is_truthy);
        matches!(type_of(record), Some(UserType::Visitor | UserType::Lead)) && !has_email
    }))
}

fn type_of(record: &Map) -> Option<UserType> {
    at(record, "user_type")?.as_str()?.parse().ok()
}

async fn add(cx: &Context<'_>, account: &Imported) -> Result<UserId> {
    add_user(cx, account.settings(), Details(Vec::new()), Value::Null, false).await
}

/// Brings a customer up to date; nothing happens to anyone else.
async fn change(cx: &Context<'_>, account: &Imported, known: &Map) -> Result<Option<UserId>> {
    if !type_of(known).is_some_and(UserType::is_customer) {
        return Ok(None);
    }
    let id = at(known, "id")
        .and_then(Value::as_str)
        .and_then(|id| id.parse::<u32>().ok());
    let Some(id) = id.map(UserId::from) else {
        return Ok(None);
    };
    let mut settings = account.settings();
    settings.retain(|_, value| value.is_truthy());
    update_user(cx, id, settings, Details(Vec::new()), false).await?;
    Ok(Some(id))
}

async fn store(cx: &Context<'_>, transaction: &mut Transaction<'_>, accounts: &[Imported]) -> Result<Taken> {
    let mut taken = Taken::default();
    let mut statement = Builder::new(KNOWN, params![]);
    statement.list(accounts.iter().map(|account| &account.email));
    statement.add(" FOR UPDATE", params![]);
    let (sql, params) = statement.finish();
    let known: Vec<Known> = transaction.rows(sql, params).await?;
    let mut new = Vec::new();
    for account in accounts {
        match known.iter().find(|(_, email, ..)| is_email(email, &account.email)) {
            Some(user) => taken.changed += u64::from(account.update(transaction, user).await?),
            None => new.push(account),
        }
    }
    if new.is_empty() {
        return Ok(taken);
    }
    let mut statement = Builder::new(ADD, params![]);
    for (at, account) in new.iter().enumerate() {
        let (first_name, last_name) = if account.first_name.is_empty() {
            visitor_name(cx, account.last_name.clone()).await?
        } else {
            (account.first_name.clone(), account.last_name.clone())
        };
        let created = account.created.unwrap_or_else(|| cx.now());
        let row = params![
            first_name,
            last_name,
            &account.password,
            &account.email,
            "",
            UserType::User,
            created,
            crypto::token()?,
            created
        ];
        let part = if at == 0 {
            "(?, ?, NULLIF(?, ''), ?, ?, ?, ?, ?, ?)"
        } else {
            ", (?, ?, NULLIF(?, ''), ?, ?, ?, ?, ?, ?)"
        };
        statement.add(part, row);
    }
    statement.add(UNLESS_KNOWN, params![]);
    let (sql, params) = statement.finish();
    taken.added = transaction.execute(sql, params).await?.affected;
    Ok(taken)
}

/// Whether two addresses differ in case at most.
fn is_email(own: &str, email: &str) -> bool {
    is_email_of(&Map::from_iter([("email".into(), own.into())]), email)
}

impl Imported {
    /// The account as the columns hold it; `None` without an address that could be one.
    fn fitting(mut self) -> Option<Self> {
        let cut = |text: &str| text.chars().take(NAME_LIMIT).collect();
        self.email = self.email.trim().into();
        self.first_name = cut(self.first_name.trim());
        self.last_name = cut(self.last_name.trim());
        if self.password.len() > HASH_LIMIT {
            self.password.clear();
        }
        let is_address = self.email.contains('@')
            && !self.email.contains(char::is_control)
            && self.email.chars().count() <= columns::SHORT;
        is_address.then_some(self)
    }

    fn settings(&self) -> Map {
        [
            ("first_name", self.first_name.as_str()),
            ("last_name", &self.last_name),
            ("email", &self.email),
            ("password", &self.password),
            ("user_type", UserType::User.text()),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .into()
    }

    /// Brings a user up to date, unless it is one already; says whether it was changed.
    async fn update(&self, transaction: &mut Transaction<'_>, known: &Known) -> Result<bool> {
        let (id, _, user_type, first_name, last_name, password) = known;
        let given = |given: &str, known: &str| {
            if given.is_empty() {
                known.to_owned()
            } else {
                given.to_owned()
            }
        };
        let wanted = (
            given(&self.first_name, first_name),
            given(&self.last_name, last_name),
            given(&self.password, password),
        );
        let is_current = user_type == UserType::User.text()
            && (&wanted.0, &wanted.1, &wanted.2) == (first_name, last_name, password);
        if is_current {
            return Ok(false);
        }
        let params = params![wanted.0, wanted.1, wanted.2, *id];
        Ok(transaction.execute(UPDATE, params).await?.affected > 0)
    }
}
