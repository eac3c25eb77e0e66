//! Exports: rows of a caller, all users, a conversation. Those of people have names that nobody guesses, since whoever
//! knows the address of an upload can read it.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};

use super::table::Table;
use crate::contract::args::{Argument, Bytes, Items};
use crate::contract::error::{Code, Error, Result};
use crate::contract::ids::ConversationId;
use crate::contract::{Key, Value, json};
use crate::params;
use crate::platform::uploads::{self, Upload, Uploads};
use crate::platform::{Context, crypto};

/// How many users are read at once, with details that can be long.
const USERS_AT_ONCE: usize = 500;

/// How many messages are: they can be long.
const MESSAGES_AT_ONCE: usize = 200;

/// How many ids are looked through at once for the details that there are.
const IDS_AT_ONCE: u32 = 50_000;

/// Never password or token.
const USER_COLUMNS: [&str; 9] = [
    "id",
    "first_name",
    "last_name",
    "email",
    "user_type",
    "creation_time",
    "last_activity",
    "department",
    "profile_image",
];

const USERS: &str = "
    SELECT id, first_name, last_name, email, user_type, creation_time, last_activity, department, profile_image
    FROM sb_users
    WHERE id > ? AND user_type <> 'bot'
    ORDER BY id
    LIMIT ?";

const DETAILS: &str = "
    SELECT user_id, CAST(slug AS BINARY), value
    FROM sb_users_data
    WHERE user_id > ? AND user_id <= ?
    ORDER BY user_id";

const LAST_ID: &str = "
    SELECT MAX(user_id)
    FROM sb_users_data";

/// As bytes: of two that the collation takes for one each is a column.
const SLUGS: &str = "
    SELECT DISTINCT CAST(slug AS BINARY)
    FROM sb_users_data
    WHERE user_id > ? AND user_id <= ?";

const CONVERSATION: &str = "
    SELECT COALESCE(title, '')
    FROM sb_conversations
    WHERE id = ?";

const MESSAGE_COLUMNS: [&str; 8] = [
    "id",
    "creation_time",
    "user_id",
    "first_name",
    "last_name",
    "user_type",
    "message",
    "attachments",
];

const MESSAGES: &str = "
    SELECT m.id, m.creation_time, m.user_id, u.first_name, u.last_name, u.user_type, m.message, m.attachments
    FROM sb_messages m
    JOIN sb_users u ON u.id = m.user_id
    WHERE m.conversation_id = ? AND m.id > ?
    ORDER BY m.id
    LIMIT ?";

/// Rows of the caller as a CSV file.
pub(super) async fn csv(
    cx: &Context<'_>,
    Items(items): Items,
    Items(header): Items,
    filename: String,
) -> Result<String> {
    let name = if filename.to_ascii_lowercase().ends_with(".csv") {
        filename
    } else {
        format!("{filename}.csv")
    };
    let header: Vec<Vec<u8>> = header.into_iter().map(text).collect();
    let mut table = Table::create(&cx.uploads()?, &name, &header)?;
    for row in items {
        let cells = match row {
            Value::List(cells) => cells,
            Value::Map(cells) => cells.into_values().collect(),
            cell => vec![cell],
        };
        for cell in cells {
            let is_number = matches!(cell, Value::Int(_) | Value::Float(_));
            let cell = text(cell);
            if is_number {
                table.number(&cell)?;
            } else {
                table.text(&cell)?;
            }
        }
        table.end_row()?;
    }
    table.keep()
}

/// All users with their details, as a file of the uploads.
pub(super) async fn csv_users(cx: &Context<'_>) -> Result<String> {
    let name = unguessable("users", "csv")?;
    let upload = cx.uploads()?.create(&name)?;
    write_users(cx, &uploads::place(&name), upload, |_| {}).await?.keep()
}

/// Writes all users with their details as a table, which errors call `place`, and gives back what it was written to.
/// `noted` gets the number of users written so far.
pub async fn write_users<W: Write>(cx: &Context<'_>, place: &str, to: W, mut noted: impl FnMut(u64)) -> Result<W> {
    let slugs = slugs(cx).await?;
    let names = USER_COLUMNS.iter().map(|name| name.as_bytes());
    let header: Vec<&[u8]> = names.chain(slugs.keys().map(Vec::as_slice)).collect();
    let mut table = Table::new(place, to, &header)?;
    let (mut last, mut written) = (0, 0);
    loop {
        let users = cx.database()?.cells(USERS, params![last, USERS_AT_ONCE as u64]).await?;
        let Some(end) = users.last().and_then(|user| id(user.first()?)) else {
            return table.end();
        };
        let details: Vec<(u32, Vec<u8>, Vec<u8>)> = cx.database()?.rows(DETAILS, params![last, end]).await?;
        // Both lists are in the order of the users' ids.
        let mut details = details.into_iter().peekable();
        let is_last = users.len() < USERS_AT_ONCE;
        written += users.len() as u64;
        for user in users {
            let user_id = user.first().and_then(id);
            let mut own = vec![Vec::new(); slugs.len()];
            while let Some((of, slug, value)) = details.next_if(|(of, ..)| Some(*of) <= user_id) {
                // The bot's are passed over, and one that came after the header has no column.
                let column = slugs.get(&slug).filter(|_| Some(of) == user_id);
                if let Some(cell) = column.and_then(|column| own.get_mut(*column)) {
                    *cell = value;
                }
            }
            table.row(user.into_iter().map(text).chain(own))?;
        }
        noted(written);
        if is_last {
            return table.end();
        }
        last = end;
    }
}

/// The slugs of all details, in order, and their places in it.
async fn slugs(cx: &Context<'_>) -> Result<BTreeMap<Vec<u8>, usize>> {
    let last: Option<(Option<u32>,)> = cx.database()?.row(LAST_ID, params![]).await?;
    let last = last.and_then(|(id,)| id).unwrap_or_default();
    let mut slugs = BTreeMap::new();
    for begin in (0..last).step_by(IDS_AT_ONCE as usize) {
        let found: Vec<(Vec<u8>,)> = cx.database()?.rows(SLUGS, params![begin, begin + IDS_AT_ONCE]).await?;
        slugs.extend(found.into_iter().map(|(slug,)| (slug, 0)));
    }
    for (at, place) in slugs.values_mut().enumerate() {
        *place = at;
    }
    Ok(slugs)
}

/// The messages of a conversation.
pub(super) async fn transcript(
    cx: &Context<'_>,
    conversation_id: ConversationId,
    kind: Option<String>,
) -> Result<String> {
    cx.check_conversation(conversation_id).await?;
    let format = if let Some(kind) = kind {
        Format::of(&kind).ok_or(Error::NotFound)?
    } else {
        let chosen = cx.settings().await?.text("transcript-type");
        chosen.as_deref().and_then(Format::of).unwrap_or(Format::Csv)
    };
    let conversation: Option<(String,)> = cx.database()?.row(CONVERSATION, params![conversation_id]).await?;
    let (title,) = conversation.ok_or(Code::ConversationNotFound)?;
    let mut transcript = Transcript::create(&cx.uploads()?, conversation_id, &title, format)?;
    let mut last = 0;
    loop {
        let messages = cx
            .database()?
            .cells(MESSAGES, params![conversation_id, last, MESSAGES_AT_ONCE as u64])
            .await?;
        let is_last = messages.len() < MESSAGES_AT_ONCE;
        last = messages.last().and_then(|message| id(message.first()?)).unwrap_or(last);
        for message in messages {
            transcript.add(message)?;
        }
        if is_last {
            return transcript.keep();
        }
    }
}

#[derive(Clone, Copy)]
enum Format {
    Csv,
    Text,
}

impl Format {
    fn of(kind: &str) -> Option<Self> {
        match kind.to_ascii_lowercase().as_str() {
            "csv" => Some(Self::Csv),
            "txt" => Some(Self::Text),
            _ => None,
        }
    }
}

/// A transcript that is written message by message.
enum Transcript {
    Csv(Box<Table<Upload>>),
    Text(String, BufWriter<Upload>),
}

impl Transcript {
    fn create(uploads: &Uploads, conversation_id: ConversationId, title: &str, format: Format) -> Result<Self> {
        let stem = format!("conversation-{}", conversation_id.number());
        match format {
            Format::Csv => Ok(Self::Csv(Box::new(Table::create(
                uploads,
                &unguessable(&stem, "csv")?,
                &MESSAGE_COLUMNS,
            )?))),
            Format::Text => {
                let name = unguessable(&stem, "txt")?;
                let upload = BufWriter::new(uploads.create(&name)?);
                let mut transcript = Self::Text(name, upload);
                transcript.write(&format!("Conversation {}\r\n", conversation_id.number()))?;
                if !title.is_empty() {
                    transcript.write(&format!("{}\r\n", one_line(title)))?;
                }
                Ok(transcript)
            }
        }
    }

    /// Adds a message, unless it is empty: such a one was deleted, or only carries a payload.
    fn add(&mut self, message: Vec<Value>) -> Result<()> {
        let cells: Vec<Vec<u8>> = message.into_iter().map(text).collect();
        let [
            id,
            time,
            user_id,
            first_name,
            last_name,
            user_type,
            message,
            attachments,
        ] = &cells[..]
        else {
            return Err(Error::Internal("a message of an unexpected shape".into()));
        };
        let attachments = attachments_of(attachments);
        if message.is_empty() && attachments.is_empty() {
            return Ok(());
        }
        if let Self::Csv(table) = self {
            let links = attachments.iter().map(|(_, link)| link.as_str()).collect::<Vec<_>>();
            let links = links.join("\n").into_bytes();
            return table.row([id, time, user_id, first_name, last_name, user_type, message, &links]);
        }
        let shown = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
        let name = one_line(&format!("{} {}", shown(first_name), shown(last_name)));
        self.write(&format!("\r\n{} UTC, {}\r\n", shown(time), name.trim()))?;
        // What is indented cannot be taken for another message.
        for line in shown(message).lines() {
            self.write(&format!("    {}\r\n", one_line(line)))?;
        }
        for (name, link) in attachments {
            self.write(&format!("    {}: {}\r\n", one_line(&name), one_line(&link)))?;
        }
        Ok(())
    }

    fn write(&mut self, text: &str) -> Result<()> {
        match self {
            Self::Csv(_) => Ok(()),
            Self::Text(name, writer) => writer
                .write_all(text.as_bytes())
                .map_err(|error| uploads::failed(name, &error)),
        }
    }

    fn keep(self) -> Result<String> {
        match self {
            Self::Csv(table) => table.keep(),
            Self::Text(name, writer) => {
                let upload = writer.into_inner();
                upload.map_err(|error| uploads::failed(&name, error.error()))?.keep()
            }
        }
    }
}

/// Names and links of stored attachments.
fn attachments_of(stored: &[u8]) -> Vec<(String, String)> {
    let Some(Value::List(attachments)) = json::decode(stored) else {
        return Vec::new();
    };
    let item = |attachment: &Value, at| String::from_value(attachment.get(&Key::Int(at))?.clone());
    attachments
        .iter()
        .filter_map(|attachment| Some((item(attachment, 0)?, item(attachment, 1)?)))
        .collect()
}

/// A text without characters that begin another line.
fn one_line(text: &str) -> String {
    let is_plain = |character: &char| !character.is_control() && !matches!(character, '\u{2028}' | '\u{2029}');
    text.chars()
        .map(|character| if is_plain(&character) { character } else { ' ' })
        .collect()
}

/// A name of a file that nobody guesses.
fn unguessable(stem: &str, extension: &str) -> Result<String> {
    Ok(format!("{stem}-{}.{extension}", crypto::token()?))
}

/// A cell as text; what has no text of its own, as JSON.
fn text(cell: Value) -> Vec<u8> {
    match cell {
        cell @ (Value::List(_)
        | Value::Map(_)
        | Value::Record(_)
        | Value::Records(_)
        | Value::Error(_)
        | Value::File(_)) => json::encode(&cell).into_bytes(),
        cell => Bytes::from_value(cell).map(|Bytes(text)| text).unwrap_or_default(),
    }
}

/// The id in a cell.
fn id(cell: &Value) -> Option<u32> {
    cell.as_str()?.parse().ok()
}
