//! New conversations.

use chrono::NaiveDateTime;

use crate::contract::args::{Department, StatusCode};
use crate::contract::error::{Code, Error, Result};
use crate::contract::ids::{ConversationId, UserId};
use crate::contract::status::ConversationStatus;
use crate::contract::value::Columns;
use crate::contract::{Records, Value, json};
use crate::functions::columns::{self, check_characters};
use crate::functions::events::{Event, Followers};
use crate::params;
use crate::platform::Context;
use crate::platform::db::{OnUnknown, Transaction};
use crate::platform::idempotency::Repeatable;
use crate::platform::outbox::Recorded;
use crate::platform::records::MESSAGE;

const OWNER: &str = "
    SELECT first_name, last_name, profile_image, user_type
    FROM sb_users
    WHERE id = ?";

const NEW_CONVERSATION: &str = "
    INSERT INTO sb_conversations (user_id, title, creation_time, status_code, department, agent_id, source, extra)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)";

/// The owner's row is the turnstile: of two who would both open the first conversation, the second waits and finds it.
const LOCK_OWNER: &str = "
    SELECT first_name, last_name, profile_image, user_type
    FROM sb_users
    WHERE id = ?
    FOR UPDATE";

const LAST: &str = "
    SELECT MAX(id)
    FROM sb_conversations
    WHERE user_id = ?";

/// Sees what is committed now, also within a transaction that the caller began earlier.
const LAST_NOW: &str = "
    SELECT MAX(id)
    FROM sb_conversations
    WHERE user_id = ?
    LOCK IN SHARE MODE";

/// A foreign key refused the row: the user or the agent does not exist.
const NO_SUCH_USER: u16 = 1452;

/// First name, last name, image and type.
type Owner = (String, String, Option<String>, String);

/// A conversation before it is stored.
pub(crate) struct NewConversation {
    /// Whose it is.
    pub(crate) user: UserId,
    /// Its status.
    pub(crate) status: ConversationStatus,
    /// Its title.
    pub(crate) title: String,
    /// From 1 to 127.
    pub(crate) department: Option<u8>,
    /// To whom it is assigned.
    pub(crate) agent: Option<UserId>,
    /// Where it comes from.
    pub(crate) source: Option<String>,
    /// A text of the source.
    pub(crate) extra: Option<String>,
}

/// Opens a conversation and gives it as `sb_get_conversation` would.
pub(super) async fn new_conversation(
    cx: &Context<'_>,
    user_id: UserId,
    status_code: StatusCode,
    title: String,
    department: Department,
    agent_id: Option<UserId>,
    source: Option<String>,
    extra: Option<String>,
) -> Result<Value> {
    let conversation = NewConversation {
        user: user_id,
        status: status(status_code)?,
        title,
        department: department.fitting()?,
        agent: agent_id,
        source,
        extra,
    };
    let details = open(cx, conversation, None).await?;
    Ok(Value::map([
        ("messages", Records::new(Columns::Static(MESSAGE)).into()),
        ("details", details),
    ]))
}

/// Opens a conversation and gives its details; as the answer with a status to a request that is carried out once.
pub(crate) async fn open(
    cx: &Context<'_>,
    conversation: NewConversation,
    once: Option<(Repeatable, u16)>,
) -> Result<Value> {
    check_characters("title", &conversation.title, columns::SHORT)?;
    check_characters("source", conversation.source.as_deref().unwrap_or_default(), 2)?;
    check_characters(
        "extra",
        conversation.extra.as_deref().unwrap_or_default(),
        columns::SHORT,
    )?;
    let followers = Followers::of(cx).await?;
    let now = cx.now();
    // One that names itself finds out when its answer is kept whether it was stored before.
    let on_unknown = if once.is_some() {
        OnUnknown::Repeat
    } else {
        OnUnknown::Report
    };
    let (details, recorded) = cx
        .database()?
        .transaction(on_unknown, async |transaction| {
            let owner: Option<Owner> = transaction.row(OWNER, params![conversation.user]).await?;
            let owner = owner.ok_or(Code::UserNotFound)?;
            let (id, recorded) = conversation.store(transaction, &followers, now).await?;
            let details = conversation.details(id, owner, now);
            if let Some((request, status)) = &once {
                let answer = json::encode(&details);
                request.keep(transaction, now, None, *status, &answer).await?;
            }
            Ok((details, recorded))
        })
        .await?;
    cx.after_commit(recorded);
    Ok(details)
}

/// The user's newest conversation, which is opened when there is none.
pub(crate) async fn get_last_conversation_id_or_create(
    cx: &Context<'_>,
    user_id: UserId,
    conversation_status_code: StatusCode,
) -> Result<ConversationId> {
    let conversation = NewConversation {
        user: user_id,
        status: status(conversation_status_code)?,
        title: String::new(),
        department: None,
        agent: None,
        source: None,
        extra: None,
    };
    let database = cx.database()?;
    let last: Option<(Option<u32>,)> = database.row(LAST, params![user_id]).await?;
    if let Some((Some(id),)) = last {
        return Ok(id.into());
    }
    let followers = Followers::of(cx).await?;
    let (id, recorded) = database
        .transaction(OnUnknown::Repeat, async |transaction| {
            let owner: Option<Owner> = transaction.row(LOCK_OWNER, params![user_id]).await?;
            owner.ok_or(Code::UserNotFound)?;
            let last: Option<(Option<u32>,)> = transaction.row(LAST_NOW, params![user_id]).await?;
            match last {
                Some((Some(id),)) => Ok((id.into(), Vec::new())),
                _ => conversation.store(transaction, &followers, cx.now()).await,
            }
        })
        .await?;
    cx.after_commit(recorded);
    Ok(id)
}

/// The status of a new conversation: live, when none is asked for.
fn status(code: StatusCode) -> Result<ConversationStatus> {
    match code {
        StatusCode::Code(status) => Ok(status),
        StatusCode::NotGiven => Ok(ConversationStatus::Live),
        StatusCode::Skip | StatusCode::Invalid => Err(Code::InvalidStatusCode.into()),
    }
}

impl NewConversation {
    /// The fields of a conversation's details.
    fn details(&self, id: ConversationId, owner: Owner, now: NaiveDateTime) -> Value {
        let (first_name, last_name, profile_image, user_type) = owner;
        Value::map([
            ("id", id.into()),
            ("user_id", self.user.into()),
            ("first_name", first_name.into()),
            ("last_name", last_name.into()),
            ("profile_image", profile_image.map_or(Value::Null, Value::from)),
            ("user_type", user_type.into()),
            ("title", self.title.as_str().into()),
            ("conversation_time", now.format("%Y-%m-%d %H:%M:%S").to_string().into()),
            ("conversation_status_code", self.status.code().to_string().into()),
            ("department", self.department_text()),
        ])
    }

    fn department_text(&self) -> Value {
        self.department
            .map_or(Value::Null, |department| department.to_string().into())
    }

    /// Stores it in a transaction of the caller, which has to know that it fits.
    pub(crate) async fn store(
        &self,
        transaction: &mut Transaction<'_>,
        followers: &Followers<'_>,
        now: NaiveDateTime,
    ) -> Result<(ConversationId, Vec<Recorded>)> {
        let params = params![
            self.user,
            &self.title,
            now,
            self.status,
            self.department,
            self.agent,
            self.source.as_ref(),
            self.extra.as_ref()
        ];
        let added = transaction.execute(NEW_CONVERSATION, params).await.map_err(|error| {
            if error.database_number() == Some(NO_SUCH_USER) {
                Error::from(Code::UserNotFound)
            } else {
                error
            }
        })?;
        let id = ConversationId::from(u32::try_from(added.insert_id).unwrap_or_default());
        let data = || {
            Value::map([
                ("conversation_id", id.into()),
                ("user_id", self.user.into()),
                ("conversation_status_code", self.status.code().to_string().into()),
                ("department", self.department_text()),
                ("source", self.source.clone().map_or(Value::Null, Value::from)),
            ])
        };
        let recorded = followers.record(transaction, Event::NewConversation, data).await?;
        Ok((id, recorded))
    }
}
