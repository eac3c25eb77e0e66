//! Judging automations for the active user.

use super::conditions::{Condition, Facts, User, Verdict};
use super::stored::id_of;
use crate::contract::args::{Items, time};
use crate::contract::error::Result;
use crate::contract::ids::UserId;
use crate::contract::language::Language;
use crate::contract::value::at;
use crate::contract::{Argument, Map, Value};
use crate::params;
use crate::platform::Context;

const USER: &str = "
    SELECT u.user_type, CAST(u.creation_time AS CHAR), u.email, d.slug, d.value
    FROM sb_users u
    LEFT JOIN sb_users_data d ON d.user_id = u.id
    WHERE u.id = ?";

/// What is said of an automation that can run.
struct Validation {
    /// The conditions that do not hold yet, and those of the browser.
    conditions: Vec<Value>,
    /// What happens once.
    repeat_id: String,
}

/// Judges an automation.
pub(super) async fn automations_validate(cx: &Context<'_>, automation: Map) -> Result<Option<Value>> {
    let (_, facts) = facts(cx).await?;
    let validation = validated(&automation, &facts);
    Ok(validation.map(|validation| {
        Value::map([
            ("conditions", validation.conditions.into()),
            ("repeat_id", validation.repeat_id.into()),
        ])
    }))
}

/// What conditions are judged by, and of whom.
async fn facts(cx: &Context<'_>) -> Result<(Option<UserId>, Facts)> {
    let id = cx.active_user().await?.map(|user| user.id);
    let user = match id {
        Some(id) => user(cx, id).await?,
        None => None,
    };
    let own_language = user.as_ref().and_then(|user| {
        let known = user.detail("language").or_else(|| user.detail("browser_language"));
        known.and_then(Language::read)
    });
    let facts = Facts {
        now: cx.now(),
        language: own_language.or_else(|| cx.browser_language()),
        user,
    };
    Ok((id.filter(|_| facts.user.is_some()), facts))
}

async fn user(cx: &Context<'_>, id: UserId) -> Result<Option<User>> {
    type Row = (String, String, Option<String>, Option<String>, Option<String>);
    let rows: Vec<Row> = cx.database()?.rows(USER, params![id]).await?;
    let Some((user_type, created, email, ..)) = rows.first().cloned() else {
        return Ok(None);
    };
    Ok(Some(User {
        user_type: user_type.parse().ok(),
        created: time(&created).unwrap_or_default(),
        email: email.filter(|email| !email.is_empty()),
        details: rows
            .into_iter()
            .filter_map(|(.., slug, value)| slug.zip(value))
            .collect(),
    }))
}

/// Judges every condition; `None` when one of them can never hold.
fn validated(automation: &Map, facts: &Facts) -> Option<Validation> {
    let stored = at(automation, "conditions").cloned().unwrap_or_default();
    let Items(stored) = Items::from_value(stored)?;
    let read = stored.iter().map(|condition| Condition::read(condition.clone()));
    let conditions: Vec<Condition> = read.collect::<Option<_>>()?;
    let repeat = conditions.iter().find_map(Condition::period);
    let mut left = Vec::new();
    for (condition, stored) in conditions.iter().zip(stored) {
        match condition.judge(facts, repeat) {
            Verdict::Holds => {}
            Verdict::NotYet | Verdict::OfBrowser => left.push(stored),
            Verdict::Never => return None,
        }
    }
    let id = id_of(automation).unwrap_or_default();
    let repeat_id = match repeat {
        None => id,
        Some(period) => {
            // What lasts past midnight is still the occurrence of the day before.
            let mut ranges = conditions.iter().filter_map(Condition::range);
            let start = ranges.find_map(|range| range.occurrence(facts.now, repeat));
            format!("{id}-{}", period.name(start.unwrap_or(facts.now).date()))
        }
    };
    Some(Validation {
        conditions: left,
        repeat_id,
    })
}
