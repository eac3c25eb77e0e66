//! Lists of users.

use std::collections::HashMap;

use chrono::TimeDelta;

use crate::contract::args::{Extra, Page, People, Several, Since, Sorting, Texts};
use crate::contract::error::Result;
use crate::contract::ids::UserId;
use crate::contract::status::{UserColumn, UserType};
use crate::contract::value::{Columns, Key};
use crate::contract::{Map, Records, Value};
use crate::functions::realtime::present;
use crate::params;
use crate::platform::Context;
use crate::platform::db::{Builder, containing};
use crate::platform::records::{DETAIL, USER};

/// The columns of a basic user record. The bot is in no list of users.
///
/// Where there is an index on the type, the server would look nearly everyone up by it for `user_type <> 'bot'`, which
/// takes three times as long as reading the table.
const USERS: &str = "
    SELECT id, first_name, last_name, email, profile_image, user_type, creation_time, last_activity, department, token
    FROM sb_users
    WHERE (user_type = 'bot') IS NOT TRUE";

/// The newest of them, whose details are looked up user by user: what is common is found among them at once, while
/// looking for all who have it reads every detail of everyone.
const NEWEST_USERS: &str = "
    SELECT id, first_name, last_name, email, profile_image, user_type, creation_time, last_activity, department, token
    FROM sb_users
    WHERE id > (SELECT MAX(id) FROM sb_users) - 1000 AND (user_type = 'bot') IS NOT TRUE
        AND (CONCAT(first_name, ' ', last_name) LIKE ? OR email LIKE ?
            OR EXISTS (SELECT 1 FROM sb_users_data d WHERE d.user_id = sb_users.id AND d.value LIKE ?))
    ORDER BY id DESC
    LIMIT ?";

const DETAILS_OF_USERS: &str = "
    SELECT user_id, slug, name, value
    FROM sb_users_data
    WHERE user_id IN ";

const USERS_BELOW: &str = "
    SELECT id, first_name, last_name, email, profile_image, user_type, creation_time, last_activity, department, token
    FROM sb_users
    WHERE id < ? AND user_type <> 'bot'
    ORDER BY id DESC
    LIMIT 500";

const ONLINE: &str = "
    SELECT id, first_name, last_name, email, profile_image, user_type, creation_time, last_activity, department, token
    FROM sb_users
    WHERE user_type <> 'bot' AND (last_activity > ?";

const ONLINE_IDS: &str = "
    SELECT id
    FROM sb_users
    WHERE user_type <> 'bot' AND (last_activity > ?";

const AGENT_IDS: &str = "
    SELECT id
    FROM sb_users
    WHERE user_type = 'agent' OR (? = 1 AND user_type = 'admin')
    ORDER BY id";

/// One pass over the table, without a temporary one.
const COUNTS: &str = "
    SELECT COUNT(IF(user_type = 'lead', 1, NULL)), COUNT(IF(user_type = 'user', 1, NULL)),
        COUNT(IF(user_type = 'visitor', 1, NULL))
    FROM sb_users";

/// One pass over the optional index alone, whose order is that of the groups.
const COUNTS_BY_TYPE: &str = "
    SELECT user_type, COUNT(*)
    FROM sb_users
    GROUP BY user_type";

const DETAILS_BY_SLUG: &str = "
    SELECT d.slug, u.id, d.value
    FROM sb_users_data d
    JOIN sb_users u ON u.id = d.user_id
    WHERE u.user_type <> 'bot' AND d.slug IN ";

/// Someone counts as online for this long after the last sign of life.
pub(crate) const ONLINE_FOR: TimeDelta = TimeDelta::seconds(30);

/// Longer texts are not searched for: nothing that is stored in a name or address matches them.
const SEARCH_LIMIT: usize = 200;

const CREATION_TIME: usize = 6;

/// A page of the newest users, found without sorting everyone: a union of the newest of each type, in the order of the
/// optional index and read from it alone.
const NEWEST_PAGE: &str = "
    SELECT u.id, u.first_name, u.last_name, u.email, u.profile_image, u.user_type, u.creation_time, u.last_activity,
        u.department, u.token
    FROM (SELECT id FROM (";

const NEWEST_OF_TYPE: &str = "
        (SELECT id, creation_time
        FROM sb_users FORCE INDEX (x_type)
        WHERE user_type = ?
        ORDER BY creation_time DESC, id DESC
        LIMIT ?)";

const NEWEST_OF_ALL: &str = "
        ) newest ORDER BY creation_time DESC, id DESC LIMIT ? OFFSET ?) page
    JOIN sb_users u ON u.id = page.id
    ORDER BY u.creation_time DESC, u.id DESC";

/// A page of users.
pub(super) async fn get_users(
    cx: &Context<'_>,
    sorting: Sorting,
    Texts(user_types): Texts,
    search: String,
    page: Page,
    extra: Extra,
    user_ids: Option<Several<UserId>>,
) -> Result<Value> {
    let newest_first = sorting
        == Sorting {
            column: UserColumn::CreationTime,
            ascending: false,
        };
    let plain = newest_first && search.trim().is_empty() && user_ids.is_none();
    if plain && cx.database()?.has("x_type").await? {
        let users = newest_users(cx, &user_types, page).await?;
        return with_details(cx, users, &extra).await;
    }
    let mut statement = Builder::new(USERS, params![]);
    if !user_types.is_empty() {
        statement.add(" AND user_type IN ", params![]).list(user_types);
    }
    if let Some(Several(user_ids)) = user_ids {
        statement.add(" AND id IN ", params![]).list(user_ids);
    }
    matching(&mut statement, &search);
    order(&mut statement, sorting);
    statement.add(" LIMIT ? OFFSET ?", params![Page::SIZE, page.offset()]);
    let (sql, params) = statement.finish();
    let users = cx.database()?.records(sql, params, USER).await?;
    with_details(cx, users, &extra).await
}

/// A page of the newest users, by the optional index on their type and time of creation.
async fn newest_users(cx: &Context<'_>, user_types: &[String], page: Page) -> Result<Records> {
    let all = [
        UserType::Visitor,
        UserType::Lead,
        UserType::User,
        UserType::Agent,
        UserType::Admin,
    ]
    .map(UserType::text);
    let types = all
        .into_iter()
        .filter(|own| user_types.is_empty() || user_types.iter().any(|asked| asked == own));
    let mut statement = Builder::new(NEWEST_PAGE, params![]);
    for (position, user_type) in types.enumerate() {
        statement.add(if position == 0 { "" } else { " UNION ALL " }, params![]);
        statement.add(NEWEST_OF_TYPE, params![user_type, page.offset() + Page::SIZE]);
    }
    if statement.has_no_params() {
        return Ok(Records::new(Columns::Static(USER)));
    }
    statement.add(NEWEST_OF_ALL, params![Page::SIZE, page.offset()]);
    let (sql, params) = statement.finish();
    cx.database()?.records(sql, params, USER).await
}

/// The users created after a point, newest first.
///
/// Ids follow the time of creation closely, on one server; so the newest ids are read first, 500 at a time, until a
/// batch holds nobody new. What was imported with an older date is skipped on the way.
pub(super) async fn get_new_users(cx: &Context<'_>, since: Since) -> Result<Records> {
    let after = match since {
        Since::Id(id) => return created_after_id(cx, id).await,
        Since::Time(time) => Value::from(time.format("%Y-%m-%d %H:%M:%S").to_string()),
    };
    let mut found = Records::new(Columns::Static(USER));
    let mut below = u32::MAX;
    loop {
        let batch = cx.database()?.records(USERS_BELOW, params![below], USER).await?;
        let is_new = |cells: &&[Value]| cells.get(CREATION_TIME).and_then(Value::as_bytes) > after.as_bytes();
        let before = found.len();
        for cells in batch.cells().chunks_exact(USER.len()).filter(is_new) {
            found.push(cells.iter().cloned());
        }
        let last = batch
            .cells()
            .chunks_exact(USER.len())
            .next_back()
            .and_then(|cells| cells.first())
            .and_then(id_of);
        match last {
            Some(last) if found.len() > before => below = last.number(),
            _ => return Ok(found),
        }
    }
}

async fn created_after_id(cx: &Context<'_>, id: u32) -> Result<Records> {
    let mut statement = Builder::new(USERS, params![]);
    statement.add(" AND id > ? ORDER BY id DESC", params![id]);
    let (sql, params) = statement.finish();
    cx.database()?.records(sql, params, USER).await
}

/// The users who were active within the last half minute, or are connected to the push service.
pub(super) async fn get_online_users(cx: &Context<'_>, sorting: Sorting, agents: bool) -> Result<Records> {
    let mut statement = online(cx, ONLINE, agents).await?;
    order(&mut statement, sorting);
    let (sql, params) = statement.finish();
    cx.database()?.records(sql, params, USER).await
}

/// Their ids, as the contract has them: integers.
pub(super) async fn get_online_user_ids(cx: &Context<'_>, agents: bool) -> Result<Vec<Value>> {
    let mut statement = online(cx, ONLINE_IDS, agents).await?;
    statement.add(" ORDER BY id", params![]);
    let (sql, params) = statement.finish();
    let ids: Vec<(u32,)> = cx.database()?.rows(sql, params).await?;
    Ok(ids.into_iter().map(|(id,)| Value::Int(id.into())).collect())
}

/// A statement on those who are online, up to its order.
async fn online(cx: &Context<'_>, begun: &'static str, agents: bool) -> Result<Builder> {
    let mut statement = Builder::new(begun, params![cx.now() - ONLINE_FOR]);
    let present = present(cx, agents).await?;
    if !present.is_empty() {
        statement.add(" OR id IN ", params![]).list(present);
    }
    statement.add(")", params![]);
    if agents {
        statement.add(" AND user_type IN ('agent', 'admin')", params![]);
    }
    Ok(statement)
}

/// Slug to the users who have it and their values. Slugs of the user record are read from it.
pub(super) async fn get_users_with_details(cx: &Context<'_>, Texts(details): Texts, people: People) -> Result<Map> {
    let mut found: Map = details
        .iter()
        .map(|slug| (Key::from(slug.clone()), Value::List(Vec::new())))
        .collect();
    let database = cx.database()?;
    let mut statement = Builder::new(DETAILS_BY_SLUG, params![]);
    statement.list(details.iter());
    of_people(&mut statement, &people);
    let (sql, params) = statement.finish();
    let mut rows: Vec<(String, u32, String)> = database.rows(sql, params).await?;
    let columns: Vec<_> = found.keys().filter_map(|slug| column_of(&slug.to_text())).collect();
    for (slug, values_of) in columns {
        let mut statement = Builder::new(values_of, params![]);
        of_people(&mut statement, &people);
        let (sql, params) = statement.finish();
        let values: Vec<(u32, String)> = database.rows(sql, params).await?;
        rows.extend(values.into_iter().map(|(id, value)| (slug.to_owned(), id, value)));
    }
    for (slug, id, value) in rows {
        if let Some(Value::List(users)) = found.get_mut(&Key::from(slug)) {
            users.push(Value::map([("id", UserId::from(id).into()), ("value", value.into())]));
        }
    }
    Ok(found)
}

/// The ids of agents.
pub(super) async fn get_agents_ids(cx: &Context<'_>, admins: bool) -> Result<Vec<Value>> {
    let ids: Vec<(u32,)> = cx.database()?.rows(AGENT_IDS, params![admins]).await?;
    Ok(ids.into_iter().map(|(id,)| UserId::from(id).into()).collect())
}

/// The newest users whose name, address or details hold a text.
pub(super) async fn search_users(cx: &Context<'_>, search: String) -> Result<Records> {
    if is_searched_for(&search) {
        let pattern = containing(search.trim());
        let params = params![&pattern, &pattern, &pattern, Page::SIZE];
        let newest = cx.database()?.records(NEWEST_USERS, params, USER).await?;
        if newest.len() == usize::try_from(Page::SIZE).unwrap_or_default() {
            return Ok(newest);
        }
    }
    let mut statement = Builder::new(USERS, params![]);
    matching(&mut statement, &search);
    statement.add(" ORDER BY id DESC LIMIT ?", params![Page::SIZE]);
    let (sql, params) = statement.finish();
    cx.database()?.records(sql, params, USER).await
}

/// How many users there are of each type.
pub(super) async fn count_users(cx: &Context<'_>) -> Result<Value> {
    let database = cx.database()?;
    let (lead, user, visitor) = if database.has("x_type").await? {
        let counts: Vec<(String, u64)> = database.rows(COUNTS_BY_TYPE, params![]).await?;
        let of = |user_type: UserType| {
            let own = counts.iter().find(|(own, _)| own == user_type.text());
            own.map_or(0, |(_, count)| *count)
        };
        (of(UserType::Lead), of(UserType::User), of(UserType::Visitor))
    } else {
        database.row(COUNTS, params![]).await?.unwrap_or_default()
    };
    let text = |count: u64| Value::from(count.to_string());
    Ok(Value::map([
        ("all", text(lead + user + visitor)),
        ("lead", text(lead)),
        ("user", text(user)),
        ("visitor", text(visitor)),
    ]))
}

/// Columns of the user record that may be asked for as if they were details.
fn column_of(slug: &str) -> Option<(&'static str, &'static str)> {
    [
        (
            "first_name",
            "SELECT u.id, u.first_name FROM sb_users u WHERE u.first_name <> '' AND u.user_type <> 'bot'",
        ),
        (
            "last_name",
            "SELECT u.id, u.last_name FROM sb_users u WHERE u.last_name <> '' AND u.user_type <> 'bot'",
        ),
        (
            "email",
            "SELECT u.id, u.email FROM sb_users u WHERE u.email <> '' AND u.user_type <> 'bot'",
        ),
        (
            "profile_image",
            "SELECT u.id, u.profile_image FROM sb_users u WHERE u.profile_image <> '' AND u.user_type <> 'bot'",
        ),
    ]
    .into_iter()
    .find(|(column, _)| *column == slug)
}

/// Narrows a query of users `u` down to the people who are asked for, in the order of their ids.
fn of_people(statement: &mut Builder, people: &People) {
    match people {
        People::All => {}
        People::Agents => {
            statement.add(" AND u.user_type IN ('agent', 'admin')", params![]);
        }
        People::Users(ids) => {
            statement.add(" AND u.id IN ", params![]).list(ids.iter().copied());
        }
    }
    statement.add(" ORDER BY u.id", params![]);
}

/// Whether a text is one that anything stored can match.
fn is_searched_for(search: &str) -> bool {
    let search = search.trim();
    !search.is_empty() && search.chars().nth(SEARCH_LIMIT).is_none()
}

/// Who matches a search. The collation of the columns ignores case and accents.
fn matching(statement: &mut Builder, search: &str) {
    let search = search.trim();
    if search.is_empty() {
        return;
    }
    if !is_searched_for(search) {
        statement.add(" AND FALSE", params![]);
        return;
    }
    let pattern = containing(search);
    statement.add(
        " AND (CONCAT(first_name, ' ', last_name) LIKE ? OR email LIKE ?
            OR id IN (SELECT d.user_id FROM sb_users_data d WHERE d.value LIKE ?))",
        params![&pattern, &pattern, &pattern],
    );
}

/// The order, made stable by the id, so that no user is on two pages.
fn order(statement: &mut Builder, sorting: Sorting) {
    statement
        .add(" ORDER BY ", params![])
        .add(sorting.column.name(), params![]);
    statement.add(
        if sorting.ascending {
            " ASC, id ASC"
        } else {
            " DESC, id DESC"
        },
        params![],
    );
}

/// Adds the details of a page of users, all by one query, as the field `extra`.
async fn with_details(cx: &Context<'_>, users: Records, extra: &Extra) -> Result<Value> {
    if *extra == Extra::None || users.is_empty() {
        return Ok(users.into());
    }
    let ids: Vec<UserId> = users
        .cells()
        .chunks_exact(USER.len())
        .filter_map(|cells| cells.first().and_then(id_of))
        .collect();
    let mut statement = Builder::new(DETAILS_OF_USERS, params![]);
    statement.list(ids);
    if let Extra::Slugs(slugs) = extra {
        statement.add(" AND slug IN ", params![]).list(slugs.iter());
    }
    statement.add(" ORDER BY id", params![]);
    let (sql, params) = statement.finish();
    let rows: Vec<(u32, String, String, String)> = cx.database()?.rows(sql, params).await?;
    let mut details: HashMap<String, Records> = HashMap::new();
    for (id, slug, name, value) in rows {
        let of_user = details
            .entry(id.to_string())
            .or_insert_with(|| Records::new(Columns::Static(DETAIL)));
        of_user.push([slug.into(), name.into(), value.into()]);
    }
    let users = users.rows().map(|mut user| {
        let id = user.first().and_then(|(_, id)| id.as_str()).unwrap_or_default();
        let own = details
            .remove(id)
            .unwrap_or_else(|| Records::new(Columns::Static(DETAIL)));
        user.insert("extra".into(), own.into());
        Value::Map(user)
    });
    Ok(Value::List(users.collect()))
}

/// The id in a cell of a record.
pub(super) fn id_of(cell: &Value) -> Option<UserId> {
    cell.as_str()
        .and_then(|text| text.parse::<u32>().ok())
        .map(UserId::from)
}
