//! Reports that an e-mail of ours was not delivered: marks of the message that it told of.

use std::collections::BTreeMap;

use super::super::thread::{Named, row_of};
use crate::contract::Value;
use crate::contract::args::{Argument, Items};
use crate::contract::error::Result;
use crate::contract::ids::MessageId;
use crate::contract::value::{Key, Map};
use crate::functions::conversations;
use crate::functions::events::Followers;
use crate::platform::Context;
use crate::platform::db::Transaction;
use crate::platform::outbox::Recorded;
use crate::providers::email::Report;

/// The mark in the payload of a message.
const MARK: &str = "email-failure";

/// In the row of a conversation's e-mails: failures of those that told of no message.
const FAILURES: &str = "failures";

/// How many of them are kept.
const KEPT: usize = 20;

/// Marks what a report is about; says whether it is about anything of ours, and gives what is to be delivered.
pub(super) async fn note(
    cx: &Context<'_>,
    transaction: &mut Transaction<'_>,
    followers: &Followers<'_>,
    report: &Report,
    named: &[Named],
    rows: &mut BTreeMap<String, Value>,
) -> Result<Option<Vec<Recorded>>> {
    // An e-mail names its conversation, its own id what it told of.
    let of_one = named.iter().find(|named| named.what.is_some());
    let Some(named) = of_one.or(named.first()).filter(|_| report.is_failure) else {
        return Ok(None);
    };
    let mark = Value::map([
        ("recipient", report.recipient.as_str().into()),
        ("status", report.status.as_str().into()),
        ("text", report.text.as_str().into()),
        ("time", cx.now().format("%Y-%m-%d %H:%M:%S").to_string().into()),
    ]);
    let message = named.what.as_deref().and_then(|what| what.parse::<u32>().ok());
    if let Some(message) = message {
        let place = (named.conversation, MessageId::from(message));
        let marked = conversations::mark(transaction, followers, place, MARK, mark.clone()).await?;
        if marked.is_some() {
            return Ok(marked);
        }
    }
    let name = row_of(named.conversation);
    let mut row = Map::from_value(transaction.locked_row(&name).await?).unwrap_or_default();
    let failures = row.get(&Key::from(FAILURES)).cloned().and_then(Items::from_value);
    let mut failures = failures.map_or_else(Vec::new, |Items(failures)| failures);
    failures.push(mark);
    let failures = failures.split_off(failures.len().saturating_sub(KEPT));
    row.insert(FAILURES.into(), failures.into());
    rows.insert(name, row.into());
    Ok(Some(Vec::new()))
}
