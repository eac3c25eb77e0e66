//! Proving who one is.

use std::time::{Duration, Instant};

use crate::contract::args::Bytes;
use crate::contract::error::Result;
use crate::contract::ids::UserId;
use crate::contract::value::at;
use crate::contract::{Key, Map, Value};
use crate::functions::events::{Event, announce};
use crate::params;
use crate::platform::Context;
use crate::platform::crypto;
use crate::platform::records::LOGIN;

const BY_EMAIL: &str = "
    SELECT id, profile_image, first_name, last_name, email, user_type, token, password
    FROM sb_users
    WHERE email = ? AND user_type <> 'bot'";

const WITH_PASSWORD: &[&str] = &[
    "id",
    "profile_image",
    "first_name",
    "last_name",
    "email",
    "user_type",
    "token",
    "password",
];

const BY_ID: &str = "
    SELECT id, profile_image, first_name, last_name, email, user_type, token
    FROM sb_users
    WHERE id = ? AND user_type <> 'bot'";

const STORE_HASH: &str = "
    UPDATE sb_users
    SET password = ?
    WHERE id = ? AND password = ?";

/// Attempts are counted in rows of the settings table, which every generation of the schema has and every server
/// shares. A row's value is `[attempts, beginning of the window as a unix time]`.
const ATTEMPTS: &str = "
    SELECT name, CAST(JSON_EXTRACT(value, '$[0]') AS UNSIGNED)
    FROM sb_settings
    WHERE name IN (?, ?) AND CAST(JSON_EXTRACT(value, '$[1]') AS UNSIGNED) > ?";

const COUNT_ATTEMPT: &str = "
    INSERT INTO sb_settings (name, value)
    VALUES (?, ?)
    ON DUPLICATE KEY UPDATE value = IF(
        CAST(JSON_EXTRACT(value, '$[1]') AS UNSIGNED) > ?,
        CONCAT('[', CAST(JSON_EXTRACT(value, '$[0]') AS UNSIGNED) + 1, ',', JSON_EXTRACT(value, '$[1]'), ']'),
        ?)";

const FORGET_ATTEMPTS: &str = "
    DELETE FROM sb_settings
    WHERE name = ?";

/// Rows of windows that have passed, a few at a time.
const FORGET_OLD_ATTEMPTS: &str = "
    DELETE FROM sb_settings
    WHERE name LIKE 'login-attempts-%' AND CAST(JSON_EXTRACT(value, '$[1]') AS UNSIGNED) <= ?
    LIMIT 100";

/// How long wrong passwords are remembered, in seconds.
const WINDOW: i64 = 15 * 60;
const LIMIT_OF_ACCOUNT: u64 = 10;
const LIMIT_OF_ADDRESS: u64 = 100;
/// A try that fails ends on a whole one of these after it began.
const STEP: Duration = Duration::from_secs(1);

/// Logs a user in.
pub(super) async fn login(
    cx: &Context<'_>,
    email: String,
    Bytes(password): Bytes,
    user_id: UserId,
    Bytes(token): Bytes,
) -> Result<Option<Value>> {
    let record = if !email.trim().is_empty() && !password.is_empty() {
        by_password(cx, email.trim(), &password).await
    } else if user_id.is_some() && !token.is_empty() {
        by_token(cx, user_id, &token).await
    } else {
        return Ok(None);
    };
    match record {
        Ok(Some(record)) => session(cx, record).await.map(Some),
        Ok(None) => Ok(None),
        // The contract knows no other failure of this function than false.
        Err(error) if error.database_number().is_some() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether the password is the one of the hash.
pub(super) fn password_verify(Bytes(password): Bytes, hash: String) -> Result<bool> {
    Ok(crypto::verify_password(&password, &hash))
}

/// Makes the user of a login record the active one: the pair that sb_login gives.
pub(super) async fn session(cx: &Context<'_>, record: Map) -> Result<Value> {
    let id = at(&record, "id").cloned().unwrap_or_default();
    announce(cx, Event::Login, || Value::map([("user_id", id.clone())])).await?;
    let data = cx.log_in(&record).await?;
    Ok(Value::List(vec![Value::Map(record), data.into()]))
}

/// The login record of a user.
pub(crate) async fn record_by_id(cx: &Context<'_>, id: UserId) -> Result<Option<Map>> {
    Ok(cx.database()?.records(BY_ID, params![id], &LOGIN).await?.rows().next())
}

/// The login record of the user of an e-mail address.
pub(super) async fn record_by_email(cx: &Context<'_>, email: &str) -> Result<Option<Map>> {
    Ok(cx
        .database()?
        .records(BY_EMAIL, params![email], &LOGIN)
        .await?
        .rows()
        .find(|user| is_email_of(user, email)))
}

async fn by_token(cx: &Context<'_>, id: UserId, token: &[u8]) -> Result<Option<Map>> {
    let record = record_by_id(cx, id).await?;
    // The column's collation would take a token of other case for the same.
    Ok(record.filter(|record| {
        let own = at(record, "token").and_then(Value::as_bytes).unwrap_or_default();
        !own.is_empty() && crypto::equal(own, token)
    }))
}

/// The login record of the account of an address, when the password is its own.
///
/// Who fails learns nothing from the time that it took: wrong passwords cost the same work for every account, known or
/// not, and what is left of a difference (a hash of another kind, a try that was refused without a look at the password,
/// a machine that is busy) is hidden by the wait for the next whole second.
async fn by_password(cx: &Context<'_>, email: &str, password: &[u8]) -> Result<Option<Map>> {
    let began = Instant::now();
    let record = look(cx, email, password).await?;
    if record.is_none() {
        let passed = Duration::from_nanos(began.elapsed().subsec_nanos().into());
        tokio::time::sleep(STEP.saturating_sub(passed)).await;
    }
    Ok(record)
}

async fn look(cx: &Context<'_>, email: &str, password: &[u8]) -> Result<Option<Map>> {
    let guard = Guard::new(cx, email).await?;
    let attempts = guard.attempts(cx).await?;
    if attempts.of_account >= LIMIT_OF_ACCOUNT || attempts.of_address >= LIMIT_OF_ADDRESS {
        return Ok(None);
    }
    let user = cx
        .database()?
        .records(BY_EMAIL, params![email], WITH_PASSWORD)
        .await?
        .rows()
        .find(|user| is_email_of(user, email));
    let hash = user
        .as_ref()
        .and_then(|user| at(user, "password"))
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let matches = crypto::is_password_of(password, user.is_some().then_some(&hash));
    let Some(mut user) = user.filter(|_| matches) else {
        guard.count(cx).await?;
        return Ok(None);
    };
    user.shift_remove(&Key::from("password"));
    if attempts.of_account > 0 {
        guard.forget(cx).await?;
    }
    if crypto::is_weak_hash(&hash)
        && let Ok(stronger) = crypto::hash_password(password)
    {
        let id = at(&user, "id").and_then(Value::as_str).unwrap_or_default().to_owned();
        cx.database()?.execute(STORE_HASH, params![stronger, id, hash]).await?;
    }
    Ok(Some(user))
}

/// Whether the address is the user's but for case. The column's collation also passes over accents and controls.
pub(super) fn is_email_of(user: &Map, email: &str) -> bool {
    let own = at(user, "email").and_then(Value::as_str).unwrap_or_default();
    own.to_lowercase() == email.to_lowercase()
}

/// Slows a spray of wrong passwords, against one account and from one address.
struct Guard {
    account: String,
    address: Option<String>,
    now: i64,
}

/// Wrong passwords within the window.
struct Attempts {
    of_account: u64,
    of_address: u64,
}

impl Guard {
    async fn new(cx: &Context<'_>, email: &str) -> Result<Self> {
        let row = |kind: &str, of: &str| -> Result<String> {
            let digest = crypto::sha256(format!("{kind}:{of}").as_bytes())?;
            Ok(format!("login-attempts-{}", digest.get(..32).unwrap_or_default()))
        };
        Ok(Self {
            account: row("account", &email.to_lowercase())?,
            address: cx
                .client_address()
                .await?
                .map(|address| row("address", &address.to_string()))
                .transpose()?,
            now: cx.now().and_utc().timestamp(),
        })
    }

    async fn attempts(&self, cx: &Context<'_>) -> Result<Attempts> {
        let counted: Vec<(String, u64)> = cx
            .database()?
            .rows(
                ATTEMPTS,
                params![&self.account, self.address.as_ref(), self.now - WINDOW],
            )
            .await?;
        let of = |row: Option<&String>| {
            counted
                .iter()
                .find(|(name, _)| Some(name) == row)
                .map_or(0, |(_, attempts)| *attempts)
        };
        Ok(Attempts {
            of_account: of(Some(&self.account)),
            of_address: of(self.address.as_ref()),
        })
    }

    async fn count(&self, cx: &Context<'_>) -> Result<()> {
        let first = format!("[1,{}]", self.now);
        for row in std::iter::once(&self.account).chain(&self.address) {
            cx.database()?
                .execute(COUNT_ATTEMPT, params![row, &first, self.now - WINDOW, &first])
                .await?;
        }
        cx.database()?
            .execute(FORGET_OLD_ATTEMPTS, params![self.now - WINDOW])
            .await?;
        Ok(())
    }

    async fn forget(&self, cx: &Context<'_>) -> Result<()> {
        cx.database()?.execute(FORGET_ATTEMPTS, params![&self.account]).await?;
        Ok(())
    }
}
