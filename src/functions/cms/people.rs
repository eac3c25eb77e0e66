//! The users of the content-management system, and how they become users of the service.

use chrono::DateTime;

use crate::contract::args::time;
use crate::contract::error::Result;
use crate::contract::ids::{CmsId, UserId};
use crate::contract::value::at;
use crate::contract::{Records, Value, json};
use crate::functions::users::{self, Imported, Taken};
use crate::params;
use crate::platform::Context;
use crate::platform::cms::Cms;
use crate::platform::db::Builder;

const USER: &str = "
    SELECT u.ID,
        COALESCE((
            SELECT f.meta_value
            FROM {usermeta} f
            WHERE f.user_id = u.ID AND f.meta_key = 'first_name'
            ORDER BY f.umeta_id
            LIMIT 1), ''),
        COALESCE((
            SELECT l.meta_value
            FROM {usermeta} l
            WHERE l.user_id = u.ID AND l.meta_key = 'last_name'
            ORDER BY l.umeta_id
            LIMIT 1), ''),
        u.user_email, u.user_pass
    FROM {users} u
    WHERE u.ID = ?";

const COLUMNS: &[&str] = &["id", "first_name", "last_name", "email", "password"];

const BY_EMAIL: &str = "
    SELECT ID, user_email
    FROM {users}
    WHERE user_email = ?
    ORDER BY ID";

const HOW_MANY: &str = "
    SELECT COUNT(*)
    FROM {users} u
    WHERE u.ID > ? AND ";

/// The next users, by their ids.
const CHUNK: &str = "
    SELECT u.ID,
        COALESCE((
            SELECT f.meta_value
            FROM {usermeta} f
            WHERE f.user_id = u.ID AND f.meta_key = 'first_name'
            ORDER BY f.umeta_id
            LIMIT 1), ''),
        COALESCE((
            SELECT l.meta_value
            FROM {usermeta} l
            WHERE l.user_id = u.ID AND l.meta_key = 'last_name'
            ORDER BY l.umeta_id
            LIMIT 1), ''),
        u.user_email, u.user_pass, CAST(u.user_registered AS CHAR)
    FROM {users} u
    WHERE u.ID > ? AND ";

const BY_ID: &str = "
    ORDER BY u.ID
    LIMIT ?";

/// Of the users whom the sites of a network share, those of one site have a role there.
const OF_SITE: &str = "
    EXISTS (
        SELECT 1
        FROM {usermeta} c
        WHERE c.user_id = u.ID AND c.meta_key = ?)";

/// How many users are taken over together.
const CHUNK_SIZE: u32 = 200;

/// The settings row of the id up to which a synchronisation has come.
const PROGRESS: &str = "cms-synch";

/// The key of a user's roles on a site, behind the prefix of its tables.
const ROLES: &str = "capabilities";

const SET_PROGRESS: &str = "
    INSERT INTO sb_settings (name, value)
    VALUES (?, ?)
    ON DUPLICATE KEY UPDATE value = ?";

const FORGET_PROGRESS: &str = "
    DELETE FROM sb_settings
    WHERE name = ?";

/// What [`CHUNK`] gives.
type Row = (u64, String, String, String, String, Option<String>);

/// The id of the user of an e-mail address. The column's collation would also pass over accents.
pub(super) async fn id_by_email(cms: &Cms<'_>, email: &str) -> Result<Option<CmsId>> {
    let email = email.trim();
    if email.is_empty() {
        return Ok(None);
    }
    let shared = cms.shared_users().await?;
    let same: Vec<(u32, String)> = shared.as_ref().unwrap_or(cms).rows(BY_EMAIL, params![email]).await?;
    let is_same = |own: &str| own.to_lowercase() == email.to_lowercase();
    let found = same.into_iter().find(|(_, own)| is_same(own));
    Ok(found.map(|(id, _)| id.into()))
}

/// The id of the user who has the e-mail address of a user of the service.
pub(crate) async fn id_of(cx: &Context<'_>, cms: &Cms<'_>, user: UserId) -> Result<Option<CmsId>> {
    match email_of(cx, user).await? {
        Some(email) => id_by_email(cms, &email).await,
        None => Ok(None),
    }
}

/// The e-mail address of a user of the service.
pub(crate) async fn email_of(cx: &Context<'_>, user: UserId) -> Result<Option<String>> {
    let record = users::record_by_id(cx, user).await?;
    let email = record
        .as_ref()
        .and_then(|record| at(record, "email"))
        .and_then(Value::as_str);
    Ok(email.filter(|email| !email.is_empty()).map(str::to_owned))
}

/// A user's record.
pub(super) async fn get_user(cx: &Context<'_>, user_id: CmsId) -> Result<Option<Value>> {
    let records = records(&super::open(cx).await?, user_id).await?;
    Ok((!records.is_empty()).then_some(Value::Record(records)))
}

/// The id of the user of an e-mail address.
pub(super) async fn get_user_id(cx: &Context<'_>, email: String) -> Result<Option<CmsId>> {
    id_by_email(&super::open(cx).await?, &email).await
}

/// Logs the user of the service in who is that user; without one, says who is active.
pub(super) async fn get_active_user(cx: &Context<'_>, user_id: Option<CmsId>) -> Result<Option<Value>> {
    let cms = super::open(cx).await?;
    let Some(user_id) = user_id else {
        return users::get_active_user(cx, false, None).await;
    };
    let records = records(&cms, user_id).await?;
    let Some(user) = records.rows().next() else {
        return Ok(None);
    };
    let text = |name| at(&user, name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let account = Imported {
        first_name: text("first_name"),
        last_name: text("last_name"),
        email: text("email"),
        password: text("password"),
        created: None,
    };
    users::sign_in(cx, account).await
}

/// Takes all users over.
pub(super) async fn synch(cx: &Context<'_>) -> Result<bool> {
    synchronise(cx, |_| {}).await.map(|_| true)
}

/// How far a synchronisation has come.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Synchronisation {
    /// Whether it goes on where an earlier one was broken off.
    pub goes_on: bool,
    /// How many users there are to look at.
    pub total: u64,
    /// How many it has looked at.
    pub seen: u64,
    /// How many of them were new to the service.
    pub added: u64,
    /// How many customers it has brought up to date.
    pub changed: u64,
}

/// Takes all users over, a chunk at a time. What an earlier call had done when it was broken off is not done again.
/// `noted` is told after each chunk, and before the first, how far it is.
pub async fn synchronise(cx: &Context<'_>, mut noted: impl FnMut(&Synchronisation)) -> Result<Synchronisation> {
    let users = Users::open(super::open(cx).await?).await?;
    let mut done = match cx.stored(PROGRESS).await? {
        Some(Value::Int(id)) => u64::try_from(id).unwrap_or(0),
        _ => 0,
    };
    let mut state = Synchronisation {
        goes_on: done > 0,
        total: users.number_behind(done).await?,
        ..Synchronisation::default()
    };
    noted(&state);
    loop {
        let rows = users.behind(done).await?;
        let Some(last) = rows.last().map(|row| row.0) else {
            break;
        };
        state.seen += u64::try_from(rows.len()).unwrap_or(0);
        let Taken { added, changed } = users::import(cx, rows.into_iter().map(account).collect()).await?;
        state.added += added;
        state.changed += changed;
        done = last;
        let progress = json::encode(&Value::Int(i64::try_from(done).unwrap_or(i64::MAX)));
        let params = params![PROGRESS, &progress, &progress];
        cx.database()?.execute(SET_PROGRESS, params).await?;
        noted(&state);
    }
    cx.database()?.execute(FORGET_PROGRESS, params![PROGRESS]).await?;
    Ok(state)
}

/// The users of a site, in their order.
struct Users<'a> {
    cms: Cms<'a>,
    /// The key that tells the site's users from the others, where it shares the tables.
    roles: Option<String>,
}

impl<'a> Users<'a> {
    async fn open(cms: Cms<'a>) -> Result<Self> {
        Ok(match cms.shared_users().await? {
            None => Self { cms, roles: None },
            Some(shared) => Self {
                roles: Some(cms.prefixed(ROLES)),
                cms: shared,
            },
        })
    }

    /// How many there are behind an id.
    async fn number_behind(&self, id: u64) -> Result<u64> {
        let (sql, params) = self.query(HOW_MANY, id).finish();
        let count: Option<(u64,)> = self.cms.row(sql, params).await?;
        Ok(count.map_or(0, |(count,)| count))
    }

    /// The next ones behind an id.
    async fn behind(&self, id: u64) -> Result<Vec<Row>> {
        let mut statement = self.query(CHUNK, id);
        statement.add(BY_ID, params![CHUNK_SIZE]);
        let (sql, params) = statement.finish();
        self.cms.rows(sql, params).await
    }

    fn query(&self, begin: &'static str, behind: u64) -> Builder {
        let mut statement = Builder::new(begin, params![behind]);
        match &self.roles {
            None => statement.add("TRUE", params![]),
            Some(roles) => statement.add(OF_SITE, params![roles]),
        };
        statement
    }
}

fn account((_, first_name, last_name, email, password, registered): Row) -> Imported {
    // Old imports have users without a date.
    let registered = registered.as_deref().and_then(time);
    Imported {
        first_name,
        last_name,
        email,
        password,
        created: registered.filter(|time| *time > DateTime::UNIX_EPOCH.naive_utc()),
    }
}

async fn records(cms: &Cms<'_>, user: CmsId) -> Result<Records> {
    let shared = cms.shared_users().await?;
    let users = shared.as_ref().unwrap_or(cms);
    users.records(USER, params![user], COLUMNS).await
}
