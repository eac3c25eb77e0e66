//! Conversations: opening and listing them.

use super::access::Access;
use super::answer::Answer;
use super::failure::Failure;
use super::fields::{Department, Fields, Limit, Text, fields};
use super::messages::page;
use super::repeats::{Turn, turn};
use super::routes::Call;
use crate::contract::error::Error;
use crate::contract::ids::{MessageId, UserId};
use crate::contract::json;
use crate::contract::status::ConversationStatus;
use crate::functions::conversations::{self, Filter, Statuses};
use crate::platform::idempotency;

fields! {
    /// A conversation to open.
    NewConversation {
        /// The user it belongs to.
        user_id: UserId,
        /// The title, up to 191 characters.
        title: Option<Text<191>>,
        /// The department.
        department: Option<Department>,
        /// The status: 0 live, which it is when not given, 1 waiting for the user, 2 waiting for an agent, 3 archive,
        /// 4 trash. Not for keys of visitors, leads and users, and neither is any of the next.
        status_code: Option<ConversationStatus>,
        /// The agent it is assigned to.
        agent_id: Option<UserId>,
        /// A code of up to 2 letters: em, tk, wa, fb, ig, tw, wc, tx, gb; none for the chat.
        source: Option<Text<2>>,
        /// A text of the source, up to 191 characters.
        extra: Option<Text<191>>,
    }
}

fields! {
    /// Which conversations are listed.
    ConversationList {
        /// The conversations after these: next_cursor of the page before.
        after: Option<MessageId>,
        /// How many.
        limit: Limit,
        /// Those of this user only. A key of a visitor, lead or user lists its own.
        user_id: Option<UserId>,
        /// Those of this status only: 0 live, 1 waiting for the user, 2 waiting for an agent, 3 archive, 4 trash.
        status_code: Option<ConversationStatus>,
        /// Those of this department only.
        department: Option<Department>,
        /// Those from this source only.
        source: Option<String>,
    }
}

/// `POST /v1/conversations`
pub async fn open(call: &Call<'_>) -> Result<Answer, Failure> {
    const CREATED: u16 = 201;
    let body = call.incoming.object()?;
    let once = match turn(call, "POST /v1/conversations", &body).await? {
        Turn::First(once) => once,
        Turn::Again(answer) => return Ok(answer),
    };
    let fields = NewConversation::read(body.clone())?;
    if let Some(access) = call.access {
        access.check_user(fields.user_id, "user_id")?;
        check_staff(access, &fields)?;
    }
    let conversation = conversations::NewConversation {
        user: fields.user_id,
        status: fields.status_code.unwrap_or(ConversationStatus::Live),
        title: fields.title.map_or_else(String::new, |title| title.0),
        department: fields.department.map(|department| department.0),
        agent: fields.agent_id,
        source: unless_empty(fields.source),
        extra: unless_empty(fields.extra),
    };
    match conversations::open(call.cx, conversation, once.map(|request| (request, CREATED))).await {
        Ok(details) => Ok(Answer::text(CREATED, "application/json", json::encode(&details))),
        Err(error) if idempotency::is_repeated(&error) => match turn(call, "POST /v1/conversations", &body).await? {
            Turn::Again(answer) => Ok(answer),
            Turn::First(_) => Err(error.into()),
        },
        Err(error) => Err(refused(error)),
    }
}

fn unless_empty<const LIMIT: usize>(text: Option<Text<LIMIT>>) -> Option<String> {
    text.map(|text| text.0).filter(|text| !text.is_empty())
}

/// Refuses what is the agents' to say to keys of those who ask.
fn check_staff(access: &Access, fields: &NewConversation) -> Result<(), Failure> {
    if access.customer().is_none() {
        return Ok(());
    }
    let given = [
        ("status_code", fields.status_code.is_some()),
        ("agent_id", fields.agent_id.is_some()),
        ("source", fields.source.is_some()),
        ("extra", fields.extra.is_some()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) => Err(Failure::forbidden(
            &format!("{name} is not for keys of visitors, leads and users"),
            Some(name),
        )),
        None => Ok(()),
    }
}

fn refused(error: Error) -> Failure {
    Failure::from_function(error, |code| (code == "user-not-found").then_some("user_id"))
}

/// `GET /v1/conversations`
pub async fn list(call: &Call<'_>) -> Result<Answer, Failure> {
    let fields = ConversationList::read(call.incoming.parameters())?;
    let own = call.access.and_then(Access::customer);
    if let (Some(access), Some(_), Some(user)) = (call.access, own, fields.user_id) {
        access.check_user(user, "user_id")?;
    }
    let user = own.or(fields.user_id);
    let filter = Filter {
        user,
        statuses: match (fields.status_code, user) {
            (Some(status), _) => Statuses::Only(status),
            (None, Some(_)) => Statuses::All,
            (None, None) => Statuses::Inbox,
        },
        department: fields.department.map(|department| department.0),
        source: fields.source,
    };
    let listed = conversations::conversations_before(call.cx, &filter, fields.after, fields.limit.0).await;
    let (conversations, is_last) = listed.map_err(refused)?;
    Ok(page(conversations, is_last))
}
