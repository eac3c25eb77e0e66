//! Judging and running automations for the active user. Each runs once, or once in each of its periods, however many
//! servers come at the same time: row `automation-runs-{user id}` holds of each automation what it ran as last.

use std::collections::BTreeMap;

use super::Group;
use super::conditions::{Condition, Facts, User, Verdict};
use super::fields::Fields;
use super::stored::{ROWS, Set, id_of};
use crate::contract::args::{Items, StatusCode, time};
use crate::contract::error::{Error, Result};
use crate::contract::ids::UserId;
use crate::contract::status::ConversationStatus;
use crate::contract::value::at;
use crate::contract::{Argument, Key, Map, Value};
use crate::functions::conversations::{NewMessage, get_last_conversation_id_or_create, send};
use crate::functions::events::{Event, Followers};
use crate::functions::notify::{self, Email, on_one_line};
use crate::functions::sms;
use crate::functions::users::get_bot_id;
use crate::params;
use crate::platform::Context;
use crate::platform::db::OnUnknown;
use crate::platform::outbox::{self, Delivery, Recorded};

const USER: &str = "
    SELECT u.user_type, CAST(u.creation_time AS CHAR), u.first_name, u.last_name, u.email, d.slug, d.value
    FROM sb_users u
    LEFT JOIN sb_users_data d ON d.user_id = u.id
    WHERE u.id = ?";

/// Where a message is seen.
const NEWEST_CONVERSATION: &str = "
    SELECT MAX(id)
    FROM sb_conversations
    WHERE user_id = ? AND status_code <> ?";

/// What is said of an automation that can run.
pub(super) struct Validation {
    /// The conditions that do not hold yet, and those of the browser.
    pub(super) conditions: Vec<Value>,
    /// Whether only the browser has to say something yet.
    is_up_to_browser: bool,
    /// What happens once.
    pub(super) repeat_id: String,
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

/// Runs what can run, and gives what the browser has to judge or to show.
pub(crate) async fn automations_run_all(cx: &Context<'_>) -> Result<Vec<Value>> {
    let (id, facts) = facts(cx).await?;
    let set = Set::of(cx.stored_rows_like(ROWS).await?);
    let runs = match id {
        Some(id) => Map::from_value(cx.stored(&runs_row(id)).await?.unwrap_or_default()).unwrap_or_default(),
        None => Map::new(),
    };
    let mut left = Vec::new();
    for (group, automation) in set.automations() {
        let Some(validation) = validated(automation, &facts) else {
            continue;
        };
        if has_run(&runs, automation, &validation.repeat_id) {
            continue;
        }
        let mut automation = set.translated(group, automation.clone(), facts.language.as_ref());
        automation.insert("type".into(), group.name().into());
        let is_shown = matches!(group, Group::Popups | Group::Design);
        match id {
            Some(id) if validation.conditions.is_empty() && !is_shown => {
                match run(cx, id, &facts, group, &automation, &validation.repeat_id).await {
                    Ok(run) => cx.after_commit(run.unwrap_or_default()),
                    // One that cannot run stops none of the others; a database that fails stops all.
                    Err(error @ Error::Database(_)) => return Err(error),
                    Err(_) => {}
                }
            }
            _ => {
                if let Some(user) = facts.user.as_ref().filter(|_| group == Group::Popups) {
                    Fields::of(user).fill_in(&mut automation, &["title", "message"]);
                }
                automation.insert("conditions".into(), validation.conditions.into());
                left.push(automation.into());
            }
        }
    }
    Ok(left)
}

/// Runs an automation for the active user; false when it has run already, or cannot.
pub(super) async fn automations_run(cx: &Context<'_>, automation: Map, validate: bool) -> Result<bool> {
    let group = group_of(cx, &automation).await?;
    let (Some(id), facts) = facts(cx).await? else {
        return Ok(false);
    };
    if validate && !validated(&automation, &facts).is_some_and(|validation| validation.is_up_to_browser) {
        return Ok(false);
    }
    let (_, conditions) = conditions_of(&automation).unwrap_or_default();
    let repeat_id = repeat_id(&automation, &conditions, &facts);
    let run = run(cx, id, &facts, group, &automation, &repeat_id).await?;
    let has_run = run.is_some();
    cx.after_commit(run.unwrap_or_default());
    Ok(has_run)
}

const MISSHAPEN: Error = Error::Argument {
    name: "automation",
    expected: "an automation with its id and type",
};

/// The group of an automation: its type, else that under which it is stored.
async fn group_of(cx: &Context<'_>, automation: &Map) -> Result<Group> {
    let id = id_of(automation).ok_or(MISSHAPEN)?;
    if let Some(name) = at(automation, "type").and_then(Value::as_str) {
        return Group::ALL
            .into_iter()
            .find(|group| group.name() == name)
            .ok_or(MISSHAPEN);
    }
    let set = Set::of(cx.stored_rows_like(ROWS).await?);
    let mut stored = set.automations();
    let stored = stored.find(|(_, stored)| id_of(stored).as_ref() == Some(&id));
    stored.map(|(group, _)| group).ok_or(MISSHAPEN)
}

/// By what an automation reaches the user beside the chat.
enum Way {
    None,
    Email(Email),
    Sms(Delivery),
}

/// Claims the run, and does it: what follows is to be handed to [`Context::after_commit`]. `None` when it was claimed
/// before, or nothing leads to the user.
pub(super) async fn run(
    cx: &Context<'_>,
    id: UserId,
    facts: &Facts,
    group: Group,
    automation: &Map,
    repeat_id: &str,
) -> Result<Option<Vec<Recorded>>> {
    let Some(user) = &facts.user else {
        return Ok(None);
    };
    let fields = Fields::of(user);
    let text = |name: &'static str| {
        let text = at(automation, name).cloned().and_then(String::from_value);
        text.unwrap_or_default()
    };
    let mail = notify::Outbox::of(cx).await?;
    let way = match group {
        // How the chat looks is not done once: it is so on every page.
        Group::Design => return Ok(Some(Vec::new())),
        Group::Messages | Group::Popups => Way::None,
        Group::Emails => match &user.email {
            Some(address) if mail.is_open() => Way::Email(Email {
                to: address.clone(),
                subject: on_one_line(&fields.fill(&text("subject"))),
                message: fields.fill_html(&text("message")),
                language: facts.language.clone(),
                is_automatic: true,
                ..Email::default()
            }),
            _ => return Ok(None),
        },
        Group::Sms => match user.detail("phone").and_then(sms::phone_of) {
            Some(phone) if sms::is_open(cx).await? => Way::Sms(sms::delivery(&phone, &fields.fill(&text("message")))),
            _ => return Ok(None),
        },
    };
    let key = Key::from(id_of(automation).ok_or(MISSHAPEN)?);
    let followers = Followers::of(cx).await?;
    let has_table = cx.database()?.has(outbox::TABLE).await?;
    let row = runs_row(id);
    let recorded = cx
        .database()?
        .transaction(OnUnknown::Report, async |transaction| {
            let mut runs = Map::from_value(transaction.locked_row(&row).await?).unwrap_or_default();
            if has_run(&runs, automation, repeat_id) {
                return Ok(None);
            }
            runs.insert(key.clone(), repeat_id.into());
            transaction
                .put_rows(&BTreeMap::from([(row.clone(), runs.into())]))
                .await?;
            let mut recorded = match &way {
                Way::None => Vec::new(),
                Way::Email(email) => mail.put(transaction, email.clone()).await?,
                Way::Sms(sms) => outbox::record(transaction, has_table, cx.now(), vec![sms.clone()]).await?,
            };
            let data = || {
                Value::map([
                    ("automation_id", key.to_text().as_ref().into()),
                    ("type", group.name().into()),
                    ("user_id", id.into()),
                ])
            };
            recorded.extend(followers.record(transaction, Event::AutomationRun, data).await?);
            Ok(Some(recorded))
        })
        .await?;
    if recorded.is_some()
        && group == Group::Messages
        && let Err(error) = write(cx, id, fields.fill(&text("message"))).await
    {
        // What may have been written is not written again.
        if !error.outcome_is_unknown() {
            release(cx, &row, &key).await?;
        }
        return Err(error);
    }
    Ok(recorded)
}

/// Writes a message of the bot into the user's newest conversation, which is opened when there is none.
async fn write(cx: &Context<'_>, user: UserId, text: String) -> Result<()> {
    let params = params![user, ConversationStatus::Trash];
    let newest: Option<(Option<u32>,)> = cx.database()?.row(NEWEST_CONVERSATION, params).await?;
    let conversation = match newest {
        Some((Some(id),)) => id.into(),
        _ => get_last_conversation_id_or_create(cx, user, StatusCode::NotGiven).await?,
    };
    let message = NewMessage {
        sender: get_bot_id(cx).await?,
        conversation,
        text,
        attachments: Items(Vec::new()),
        payload: Map::new(),
        status: StatusCode::NotGiven,
        queue: false,
    };
    send(cx, message).await.map(drop)
}

/// Lets an automation that did not run be run again.
async fn release(cx: &Context<'_>, row: &str, key: &Key) -> Result<()> {
    cx.rewrite(row, |runs| {
        let mut runs = Map::from_value(runs).unwrap_or_default();
        let was_there = runs.shift_remove(key).is_some();
        Ok((was_there.then(|| runs.into()), ()))
    })
    .await
}

pub(super) fn runs_row(user: UserId) -> String {
    format!("automation-runs-{}", user.number())
}

/// Whether the automation has run as that already.
pub(super) fn has_run(runs: &Map, automation: &Map, repeat_id: &str) -> bool {
    let last = id_of(automation).and_then(|id| runs.get(&Key::from(id)));
    last.and_then(Value::as_str) == Some(repeat_id)
}

/// What conditions are judged by, and of whom.
async fn facts(cx: &Context<'_>) -> Result<(Option<UserId>, Facts)> {
    let id = cx.active_user().await?.map(|user| user.id);
    let user = match id {
        Some(id) => user(cx, id).await?,
        None => None,
    };
    let own_language = user.as_ref().and_then(User::language);
    let facts = Facts {
        now: cx.now(),
        language: own_language.or_else(|| cx.browser_language()),
        user,
    };
    Ok((id.filter(|_| facts.user.is_some()), facts))
}

async fn user(cx: &Context<'_>, id: UserId) -> Result<Option<User>> {
    type Row = (
        String,
        String,
        String,
        String,
        Option<String>,
        Option<String>,
        Option<String>,
    );
    let rows: Vec<Row> = cx.database()?.rows(USER, params![id]).await?;
    let Some((user_type, created, first_name, last_name, email, ..)) = rows.first().cloned() else {
        return Ok(None);
    };
    Ok(Some(User {
        kind: user_type.parse().ok(),
        created: time(&created).unwrap_or_default(),
        first_name,
        last_name,
        email: email.filter(|email| !email.is_empty()),
        details: rows
            .into_iter()
            .filter_map(|(.., slug, value)| slug.zip(value))
            .collect(),
    }))
}

/// The conditions of an automation, as they are stored and as they are read; `None` when one of them is none.
pub(super) fn conditions_of(automation: &Map) -> Option<(Vec<Value>, Vec<Condition>)> {
    let Items(stored) = Items::from_value(at(automation, "conditions").cloned().unwrap_or_default())?;
    let read = stored.iter().map(|condition| Condition::read(condition.clone()));
    let read = read.collect::<Option<_>>()?;
    Some((stored, read))
}

/// Judges every condition; `None` when one of them can never hold.
pub(super) fn validated(automation: &Map, facts: &Facts) -> Option<Validation> {
    let (stored, conditions) = conditions_of(automation)?;
    let repeat = conditions.iter().find_map(Condition::period);
    let mut left = Vec::new();
    let mut is_up_to_browser = true;
    for (condition, stored) in conditions.iter().zip(stored) {
        match condition.judge(facts, repeat) {
            Verdict::Holds => continue,
            Verdict::NotYet => is_up_to_browser = false,
            Verdict::OfBrowser => {}
            Verdict::Never => return None,
        }
        left.push(stored);
    }
    Some(Validation {
        conditions: left,
        is_up_to_browser,
        repeat_id: repeat_id(automation, &conditions, facts),
    })
}

/// What happens once: the automation, and the period when it comes again.
fn repeat_id(automation: &Map, conditions: &[Condition], facts: &Facts) -> String {
    let id = id_of(automation).unwrap_or_default();
    let repeat = conditions.iter().find_map(Condition::period);
    let Some(period) = repeat else {
        return id;
    };
    // What lasts past midnight is still the occurrence of the day before.
    let mut ranges = conditions.iter().filter_map(Condition::range);
    let start = ranges.find_map(|range| range.occurrence(facts.now, repeat));
    format!("{id}-{}", period.name(start.unwrap_or(facts.now).date()))
}
