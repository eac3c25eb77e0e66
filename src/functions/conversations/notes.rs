//! Internal notes: row `notes-<conversation id>` of the settings, a list of {id, user_id, name, message}.

use std::collections::BTreeMap;

use super::access;
use super::changing::lock;
use crate::contract::args::{Argument, Items};
use crate::contract::error::{Code, Result};
use crate::contract::ids::{ConversationId, UserId};
use crate::contract::{Key, Value};
use crate::functions::columns::{self, check_bytes, check_characters};
use crate::functions::events::{Event, Followers};
use crate::params;
use crate::platform::Context;
use crate::platform::db::OnUnknown;

const AUTHOR: &str = "
    SELECT 1
    FROM sb_users
    WHERE id = ?";

/// A first and a last name, with a blank between them.
const NAME_LIMIT: usize = 201;

/// The notes of a conversation, oldest first.
pub(super) async fn get_notes(cx: &Context<'_>, conversation_id: ConversationId) -> Result<Value> {
    let stored = access::stored(cx, conversation_id, &row_of(conversation_id)).await?;
    let text = |note: &Value, key: &'static str| {
        let text = note.get(&key.into()).cloned().and_then(String::from_value);
        Value::from(text.unwrap_or_default())
    };
    let note = |note: Value| {
        Value::map([
            ("id", Value::Int(id_of(&note).unwrap_or_default())),
            ("user_id", text(&note, "user_id")),
            ("name", text(&note, "name")),
            ("message", text(&note, "message")),
        ])
    };
    Ok(Value::List(notes_in(stored).into_iter().map(note).collect()))
}

/// Adds a note, and gives its id.
pub(super) async fn add_note(
    cx: &Context<'_>,
    conversation_id: ConversationId,
    user_id: UserId,
    name: String,
    message: String,
) -> Result<Value> {
    if message.is_empty() {
        return Err(Code::EmptyMessage.into());
    }
    check_bytes("message", &message, columns::TEXT)?;
    check_characters("name", &name, NAME_LIMIT)?;
    let row = row_of(conversation_id);
    let restricted_to = cx.restricted_user().await?;
    let followers = Followers::of(cx).await?;
    let (id, recorded) = cx
        .database()?
        .transaction(OnUnknown::Report, async |transaction| {
            lock(transaction, conversation_id, restricted_to).await?;
            let author: Option<(i64,)> = transaction.row(AUTHOR, params![user_id]).await?;
            author.ok_or(Code::UserNotFound)?;
            let mut notes = notes_in(transaction.locked_row(&row).await?);
            let id = next_id(&notes, cx.now().and_utc().timestamp());
            let note = [
                ("id", Value::Int(id)),
                ("user_id", user_id.into()),
                ("name", name.as_str().into()),
                ("message", message.as_str().into()),
            ];
            notes.push(Value::map(note.clone()));
            transaction
                .put_rows(&BTreeMap::from([(row.clone(), Value::List(notes))]))
                .await?;
            let data = || Value::map([("conversation_id", conversation_id.into())].into_iter().chain(note));
            Ok((id, followers.record(transaction, Event::NoteAdded, data).await?))
        })
        .await?;
    cx.after_commit(recorded);
    Ok(Value::Int(id))
}

/// Deletes a note, if there is one of that id.
pub(super) async fn delete_note(cx: &Context<'_>, conversation_id: ConversationId, note_id: i64) -> Result<bool> {
    let row = row_of(conversation_id);
    let restricted_to = cx.restricted_user().await?;
    cx.database()?
        .transaction(OnUnknown::Repeat, async |transaction| {
            lock(transaction, conversation_id, restricted_to).await?;
            let Some(stored) = transaction.existing_row(&row).await? else {
                return Ok(());
            };
            let (deleted, kept): (Vec<Value>, Vec<Value>) = notes_in(stored)
                .into_iter()
                .partition(|note| id_of(note) == Some(note_id));
            match (deleted.is_empty(), kept.is_empty()) {
                (true, _) => Ok(()),
                (false, true) => transaction.remove_row(&row).await,
                (false, false) => {
                    let rows = BTreeMap::from([(row.clone(), Value::List(kept))]);
                    transaction.put_rows(&rows).await
                }
            }
        })
        .await?;
    Ok(true)
}

fn row_of(conversation: ConversationId) -> String {
    format!("notes-{}", conversation.number())
}

fn notes_in(stored: Value) -> Vec<Value> {
    Items::from_value(stored).map_or_else(Vec::new, |Items(notes)| notes)
}

fn id_of(note: &Value) -> Option<i64> {
    note.get(&Key::from("id")).cloned().and_then(i64::from_value)
}

/// An id that no note of the conversation had before, even when the last one was deleted: the time, or one more than the
/// highest.
fn next_id(notes: &[Value], time: i64) -> i64 {
    let highest = notes.iter().filter_map(id_of).max();
    highest.map_or(time, |highest| time.max(highest.saturating_add(1)))
}
