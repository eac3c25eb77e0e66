//! Automations for users who are not there: those that are due at a time, once an hour.
//!
//! All other automations wait for the user's visit. Users are gone through in batches, by their ids; where the time does
//! not suffice, the next turn goes on from there.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::Group;
use super::conditions::{Condition, Facts, User, Verdict};
use super::running::{conditions_of, has_run, run, runs_row, validated};
use super::stored::{ROWS, Set};
use crate::contract::args::time;
use crate::contract::error::{Error, Result};
use crate::contract::ids::UserId;
use crate::contract::{Argument, Map, Value};
use crate::functions::{notify, sms};
use crate::params;
use crate::platform::Context;
use crate::platform::db::Builder;
use crate::platform::outbox;

/// The settings row of the user up to whom a turn came whose time did not suffice.
const POSITION: &str = "cron-automations";

const USERS: &str = "
    SELECT id, user_type, CAST(creation_time AS CHAR), first_name, last_name, email
    FROM sb_users
    WHERE id > ? AND user_type IN ('visitor', 'lead', 'user')
    ORDER BY id
    LIMIT ?";

const DETAILS: &str = "
    SELECT user_id, slug, value
    FROM sb_users_data
    WHERE user_id IN ";

/// How many users are looked at together.
const BATCH: u32 = 500;

/// How long users are gone through.
const LIMIT: Duration = Duration::from_secs(20);

/// How many run in one turn where nothing keeps what is to be sent beyond the request.
const RUNS_WITHOUT_TABLE: usize = 100;

/// What [`USERS`] gives.
type Row = (u32, String, String, String, String, Option<String>);

/// Sends the e-mails and text messages that are due now.
pub(crate) async fn automations_run_for_absent(cx: &Context<'_>) -> Result<()> {
    let set = Set::of(cx.stored_rows_like(ROWS).await?);
    let due = due(cx, &set).await?;
    if due.is_empty() {
        return Ok(());
    }
    let started = Instant::now();
    let has_table = cx.database()?.has(outbox::TABLE).await?;
    let before = cx.stored(POSITION).await?.and_then(i64::from_value).unwrap_or_default();
    let mut position = u32::try_from(before).unwrap_or_default();
    let mut runs = 0;
    loop {
        let users = users(cx, position).await?;
        let Some((last, _)) = users.last() else {
            position = 0;
            break;
        };
        position = last.number();
        runs += run_for(cx, &set, &due, users, has_table).await?;
        if started.elapsed() > LIMIT || (!has_table && runs >= RUNS_WITHOUT_TABLE) {
            break;
        }
    }
    if i64::from(position) != before {
        cx.store([(POSITION.to_owned(), Value::Int(position.into()))].into())
            .await?;
    }
    Ok(())
}

/// The automations that may be due now, for somebody.
async fn due<'a>(cx: &Context<'_>, set: &'a Set) -> Result<Vec<(Group, &'a Map)>> {
    let (has_mail, has_sms) = (notify::is_open(cx).await?, sms::is_open(cx).await?);
    let is_open = |group| match group {
        Group::Emails => has_mail,
        Group::Sms => has_sms,
        _ => false,
    };
    let nobody = Facts {
        now: cx.now(),
        user: None,
        language: None,
    };
    let may_be_due = |automation: &Map| {
        let Some((_, conditions)) = conditions_of(automation) else {
            return false;
        };
        let repeat = conditions.iter().find_map(Condition::period);
        let is_now = |condition: &Condition| {
            // A birthday is somebody's.
            condition.range().is_none() || condition.judge(&nobody, repeat) == Verdict::Holds
        };
        conditions.iter().any(Condition::is_of_time)
            && !conditions.iter().any(Condition::is_of_visit)
            && conditions.iter().all(is_now)
    };
    let automations = set.automations();
    Ok(automations
        .filter(|(group, automation)| is_open(*group) && may_be_due(automation))
        .collect())
}

/// Runs what is due for some users, and says how many that were.
async fn run_for(
    cx: &Context<'_>,
    set: &Set,
    due: &[(Group, &Map)],
    users: Vec<(UserId, User)>,
    has_table: bool,
) -> Result<usize> {
    let mut found = Vec::new();
    for (id, user) in users {
        let facts = Facts {
            now: cx.now(),
            language: user.language(),
            user: Some(user),
        };
        let validated = due.iter().filter_map(|&(group, automation)| {
            let validation = validated(automation, &facts).filter(|validation| validation.conditions.is_empty())?;
            Some((group, automation, validation.repeat_id))
        });
        let validated: Vec<_> = validated.collect();
        if !validated.is_empty() {
            found.push((id, facts, validated));
        }
    }
    let names: Vec<String> = found.iter().map(|(id, ..)| runs_row(*id)).collect();
    let mut rows = cx.stored_rows(&names).await?;
    let mut count = 0;
    for (id, facts, validated) in found {
        let runs = rows.remove(&runs_row(id)).and_then(Map::from_value).unwrap_or_default();
        for (group, automation, repeat_id) in validated {
            if has_run(&runs, automation, &repeat_id) {
                continue;
            }
            let automation = set.translated(group, automation.clone(), facts.language.as_ref());
            match run(cx, id, &facts, group, &automation, &repeat_id).await {
                Ok(Some(recorded)) => {
                    count += 1;
                    // What the table keeps is sent by whoever goes through the outbox.
                    if !has_table {
                        cx.after_commit(recorded);
                    }
                }
                // One that cannot run stops none of the others; a database that fails stops all.
                Err(error @ Error::Database(_)) => return Err(error),
                Ok(None) | Err(_) => {}
            }
        }
    }
    Ok(count)
}

/// The users behind an id, with their details.
async fn users(cx: &Context<'_>, behind: u32) -> Result<Vec<(UserId, User)>> {
    let database = cx.database()?;
    let rows: Vec<Row> = database.rows(USERS, params![behind, BATCH]).await?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let mut query = Builder::new(DETAILS, params![]);
    query.list(rows.iter().map(|(id, ..)| *id));
    let (sql, params) = query.finish();
    let mut details = HashMap::<u32, HashMap<String, String>>::new();
    for (user, slug, value) in database.rows::<(u32, String, String)>(sql, params).await? {
        details.entry(user).or_default().insert(slug, value);
    }
    let users = rows
        .into_iter()
        .map(|(id, user_type, created, first_name, last_name, email)| {
            let user = User {
                kind: user_type.parse().ok(),
                created: time(&created).unwrap_or_default(),
                first_name,
                last_name,
                email: email.filter(|email| !email.is_empty()),
                details: details.remove(&id).unwrap_or_default(),
            };
            (UserId::from(id), user)
        });
    Ok(users.collect())
}
