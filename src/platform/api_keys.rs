//! Keys of the HTTP API: what each may do, for whom, until when and how often.
//!
//! A key is shown once. The table holds its SHA-256, by which it is found; a key has 256 random bits, so that nobody
//! finds it by its hash.

use std::cell::RefCell;
use std::collections::HashMap;
use std::str::FromStr;
use std::time::{Duration, Instant};

use chrono::NaiveDateTime;
use secrecy::{ExposeSecret, SecretString};

use super::crypto;
use super::db::{Builder, Database, FromRow};
use crate::contract::error::{Error, Result};
use crate::contract::ids::UserId;
use crate::contract::status::UserType;
use crate::params;

/// What every key begins with.
const PREFIX: &str = "sb_live_";

/// How long a process believes what it has read of a key: a key that is revoked ends within this time.
const BELIEVED_FOR: Duration = Duration::from_secs(2);

/// How many keys a process remembers. Past it all are forgotten, which costs a query each.
const REMEMBERED: usize = 1_000;

/// Of a high limit a process takes this part at once, so that not every request writes. What it has taken and does not
/// use is lost to the others until the next minute.
const PART: u32 = 1_000;

/// No limit is higher: a count has six digits.
const HIGHEST: u32 = 999_999;

/// What the columns hold.
const NAME_LIMIT: usize = 191;

const ADD: &str = "
    INSERT INTO sb_api_keys (name, key_hash, scopes, user_id, created, expires)
    VALUES (?, ?, ?, ?, ?, ?)";

const FIND: &str = "
    SELECT k.id, k.key_hash, k.scopes, k.user_id, u.user_type, CAST(UNIX_TIMESTAMP(k.expires) AS SIGNED)
    FROM sb_api_keys k
    LEFT JOIN sb_users u ON u.id = k.user_id
    WHERE k.key_hash = ? AND k.revoked IS NULL";

/// Keys that were found before, as they are now.
const HOLD: &str = "
    SELECT k.id, k.key_hash, k.scopes, k.user_id, u.user_type, CAST(UNIX_TIMESTAMP(k.expires) AS SIGNED)
    FROM sb_api_keys k
    LEFT JOIN sb_users u ON u.id = k.user_id
    WHERE k.revoked IS NULL AND k.id IN ";

const STILL_ADMINS: &str = "
    SELECT id
    FROM sb_users
    WHERE user_type = 'admin' AND id IN ";

/// The tokens of users are compared without regard to case by their column, and byte by byte here.
const ADMIN: &str = "
    SELECT id, token
    FROM sb_users
    WHERE token = ? AND user_type = 'admin'";

const LIST: &str = "
    SELECT name, scopes, user_id, DATE_FORMAT(created, '%Y-%m-%d %H:%i'), DATE_FORMAT(expires, '%Y-%m-%d %H:%i'),
        DATE_FORMAT(last_used, '%Y-%m-%d %H:%i'), DATE_FORMAT(revoked, '%Y-%m-%d %H:%i')
    FROM sb_api_keys
    ORDER BY id";

const REVOKE: &str = "
    UPDATE sb_api_keys
    SET revoked = ?
    WHERE name = ? AND revoked IS NULL";

/// Takes uses of the present minute, if so many are left. The new count comes back with the statement.
const TAKE: &str = "
    UPDATE sb_api_keys
    SET counted = LAST_INSERT_ID(IF(counted_minute = ?, counted, 0) + ?), counted_minute = ?, last_used = ?
    WHERE id = ? AND (counted_minute IS NULL OR counted_minute <> ? OR counted + ? <= ?)";

/// The same for an admin, whose token has no such row: minute and count are one number.
const TAKE_OF_ADMIN: &str = "
    UPDATE sb_settings
    SET value = LAST_INSERT_ID(IF(value DIV 1000000 = ?, value, ? * 1000000) + ?)
    WHERE name = ? AND (value DIV 1000000 <> ? OR value MOD 1000000 + ? <= ?)";

const MAKE_ROW_OF_ADMIN: &str = "
    INSERT IGNORE INTO sb_settings (name, value)
    VALUES (?, '0')";

/// The names of keys are unique.
const DUPLICATE: u16 = 1062;
/// A foreign key refused the row.
const NO_SUCH_USER: u16 = 1452;

/// What a key may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Sending messages, opening conversations.
    MessagesWrite,
    /// Reading messages and conversations.
    MessagesRead,
    /// Following events.
    EventsRead,
    /// Everything.
    Admin,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 4] = [Self::MessagesWrite, Self::MessagesRead, Self::EventsRead, Self::Admin];

    /// Its name.
    pub const fn text(self) -> &'static str {
        match self {
            Self::MessagesWrite => "messages:write",
            Self::MessagesRead => "messages:read",
            Self::EventsRead => "events:read",
            Self::Admin => "admin",
        }
    }
}

impl FromStr for Scope {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|scope| scope.text() == text).ok_or(())
    }
}

/// A key that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    place: Place,
    scopes: Vec<Scope>,
    /// Whose it is; without it everyone's conversations are open to it.
    pub user: Option<Bound>,
    expires: Option<i64>,
}

/// Where a key stands, and its uses are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    /// In the table of the keys, under this id.
    Row(u32),
    /// It is the token of this admin.
    Admin(u32),
}

/// The user that a key is bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// Its id.
    pub id: UserId,
    /// Its type. One of an unknown type counts as one who asks.
    pub user_type: Option<UserType>,
}

/// A key before it is made.
pub struct NewKey {
    /// By which people tell keys apart.
    pub name: String,
    /// What it may be used for.
    pub scopes: Vec<Scope>,
    /// The user whose conversations alone it opens.
    pub user: Option<UserId>,
    /// When it ends, in UTC.
    pub expires: Option<NaiveDateTime>,
}

/// What may be shown of a key: name, scopes, user, and when it was made, ends, was used last and was revoked.
pub type Shown = (
    String,
    String,
    Option<u32>,
    String,
    Option<String>,
    Option<String>,
    Option<String>,
);

/// How much of a key's limit is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// Uses in a minute.
    pub limit: u32,
    /// Those left of the present minute.
    pub remaining: u32,
    /// When the minute ends, in seconds since 1970.
    pub reset: i64,
    /// Whether this use is within the limit.
    pub is_granted: bool,
}

/// What a process knows of keys for a moment.
#[derive(Default)]
pub struct Cache {
    keys: RefCell<HashMap<[u8; 32], (Instant, ApiKey)>>,
    leases: RefCell<HashMap<Place, Lease>>,
}

/// Uses of a minute that this process has taken, and those that nobody had taken then.
#[derive(Clone, Copy)]
struct Lease {
    minute: i64,
    own: u32,
    others: u32,
}

/// A row of [`FIND`].
type Row = (u32, Vec<u8>, String, Option<u32>, Option<String>, Option<i64>);

impl ApiKey {
    fn of((id, _, scopes, user, user_type, expires): Row) -> Self {
        Self {
            place: Place::Row(id),
            scopes: scopes.split(',').filter_map(|scope| scope.parse().ok()).collect(),
            user: user.map(|id| Bound {
                id: id.into(),
                user_type: user_type.and_then(|text| text.parse().ok()),
            }),
            expires,
        }
    }

    fn of_admin(id: u32) -> Self {
        Self {
            place: Place::Admin(id),
            scopes: vec![Scope::Admin],
            user: None,
            expires: None,
        }
    }

    /// Whether it may be used for something.
    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.iter().any(|own| [scope, Scope::Admin].contains(own))
    }

    /// Whose request it is, in a text of its own kind: no two keys share one.
    pub fn requester(&self) -> String {
        match self.place {
            Place::Row(id) => format!("key {id}"),
            Place::Admin(id) => format!("admin {id}"),
        }
    }

    /// Whether it has ended.
    pub fn has_ended(&self, now: NaiveDateTime) -> bool {
        self.expires.is_some_and(|end| end <= now.and_utc().timestamp())
    }
}

/// Makes a key. It is given here and nowhere else.
pub async fn create(database: &Database, now: NaiveDateTime, new: NewKey) -> Result<SecretString> {
    if new.name.is_empty() || new.name.chars().nth(NAME_LIMIT).is_some() {
        return Err(refused("invalid-name", "the name of a key has 1 to 191 characters"));
    }
    let key = SecretString::from(format!("{PREFIX}{}", crypto::secret()?));
    let scopes: Vec<&str> = new.scopes.iter().map(|scope| scope.text()).collect();
    let params = params![
        &new.name,
        hash(&key).to_vec(),
        scopes.join(","),
        new.user,
        now,
        new.expires
    ];
    database
        .execute(ADD, params)
        .await
        .map_err(|error| match error.database_number() {
            Some(DUPLICATE) => refused("duplicate-name", "there is, or was, a key of that name"),
            Some(NO_SUCH_USER) => refused("user-not-found", "there is no such user"),
            _ => error,
        })?;
    Ok(key)
}

/// All keys, in the order in which they were made.
pub async fn list(database: &Database) -> Result<Vec<Shown>> {
    database.rows(LIST, params![]).await
}

/// Ends a key, and says whether there was one that was not ended yet.
pub async fn revoke(database: &Database, now: NaiveDateTime, name: &str) -> Result<bool> {
    Ok(database.execute(REVOKE, params![now, name]).await?.affected == 1)
}

impl Cache {
    /// The key, if it holds.
    pub async fn find(&self, database: &Database, now: NaiveDateTime, key: &SecretString) -> Result<Option<ApiKey>> {
        if !key.expose_secret().starts_with(PREFIX) {
            return Ok(None);
        }
        let hash = hash(key);
        let known = self.keys.borrow().get(&hash).cloned();
        let found = match known {
            Some((read, key)) if read.elapsed() < BELIEVED_FOR => Some(key),
            _ => self.read(database, hash).await?,
        };
        Ok(found.filter(|key| !key.has_ended(now)))
    }

    /// Forgets everything.
    pub fn forget(&self) {
        self.keys.take();
        self.leases.take();
    }

    /// The key as it is now.
    async fn read(&self, database: &Database, hash: [u8; 32]) -> Result<Option<ApiKey>> {
        let row: Option<Row> = match database.row(FIND, params![hash.to_vec()]).await {
            // Where there is no table there are no keys.
            Err(error) if error.code() == "upgrade-needed" => None,
            row => row?,
        };
        let key = row
            .filter(|(_, stored, ..)| crypto::equal(stored, &hash))
            .map(ApiKey::of);
        let mut keys = self.keys.borrow_mut();
        match &key {
            Some(key) => {
                if keys.len() >= REMEMBERED {
                    keys.clear();
                }
                keys.insert(hash, (Instant::now(), key.clone()));
            }
            None => {
                keys.remove(&hash);
            }
        }
        Ok(key)
    }

    /// Counts a use of a key.
    pub async fn count(&self, database: &Database, now: NaiveDateTime, key: &ApiKey, limit: u32) -> Result<Allowance> {
        let limit = limit.min(HIGHEST);
        let seconds = now.and_utc().timestamp();
        let minute = seconds.div_euclid(60);
        let lease = self.leases.borrow().get(&key.place).copied();
        let lease = match lease.filter(|lease| lease.minute == minute && lease.own > 0) {
            Some(lease) => lease,
            None => take(database, now, minute, key.place, limit).await?,
        };
        let is_granted = lease.own > 0;
        let lease = Lease {
            own: lease.own.saturating_sub(1),
            ..lease
        };
        self.leases.borrow_mut().insert(key.place, lease);
        Ok(Allowance {
            limit,
            remaining: lease.own + lease.others,
            reset: (minute + 1) * 60,
            is_granted,
        })
    }
}

/// Takes a part of what is left of the minute; nothing, when less is left.
async fn take(database: &Database, now: NaiveDateTime, minute: i64, place: Place, limit: u32) -> Result<Lease> {
    let part = (limit / PART).max(1);
    let taken = match place {
        Place::Row(id) => {
            let params = params![minute, part, minute, now, id, minute, part, limit];
            database.execute(TAKE, params).await?
        }
        Place::Admin(id) => {
            let name = format!("api-uses-{id}");
            database.execute(MAKE_ROW_OF_ADMIN, params![&name]).await?;
            let params = params![minute, minute, part, name, minute, part, limit];
            database.execute(TAKE_OF_ADMIN, params).await?
        }
    };
    let counted = u32::try_from(taken.insert_id % 1_000_000).unwrap_or(u32::MAX);
    let (own, others) = if taken.affected == 1 {
        (part, limit.saturating_sub(counted))
    } else {
        (0, 0)
    };
    Ok(Lease { minute, own, others })
}

/// The key that an admin's own token is, where the setting `api-admin-token` allows it.
pub async fn of_admin(database: &Database, token: &SecretString) -> Result<Option<ApiKey>> {
    let row: Option<(u32, Vec<u8>)> = database.row(ADMIN, params![token.expose_secret()]).await?;
    let same = row.filter(|(_, stored)| crypto::equal(stored, token.expose_secret().as_bytes()));
    Ok(same.map(|(id, _)| ApiKey::of_admin(id)))
}

/// Those of some keys that still hold, and are as they were.
pub async fn that_hold(database: &Database, now: NaiveDateTime, keys: &[ApiKey]) -> Result<Vec<ApiKey>> {
    let ids = keys.iter().filter_map(|key| match key.place {
        Place::Row(id) => Some(id),
        Place::Admin(_) => None,
    });
    let admins = keys.iter().filter_map(|key| match key.place {
        Place::Row(_) => None,
        Place::Admin(id) => Some(id),
    });
    let rows: Vec<Row> = rows_of(database, HOLD, ids.collect()).await?;
    let admins: Vec<(u32,)> = rows_of(database, STILL_ADMINS, admins.collect()).await?;
    let found = rows.into_iter().map(ApiKey::of);
    let found = found.chain(admins.into_iter().map(|(id,)| ApiKey::of_admin(id)));
    Ok(found.filter(|key| !key.has_ended(now) && keys.contains(key)).collect())
}

async fn rows_of<T: FromRow>(database: &Database, select: &'static str, ids: Vec<u32>) -> Result<Vec<T>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut statement = Builder::new(select, params![]);
    statement.list(ids);
    let (sql, params) = statement.finish();
    database.rows(sql, params).await
}

fn hash(key: &SecretString) -> [u8; 32] {
    crypto::sha256_digest(key.expose_secret().as_bytes())
}

fn refused(code: &'static str, message: &str) -> Error {
    Error::Refused {
        code,
        message: message.to_owned(),
    }
}
