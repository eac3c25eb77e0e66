//! Subscriptions to channels of the push service.

use serde_json::{Value as Json, json};

use super::access::Access;
use super::answer::Answer;
use super::failure::Failure;
use super::fields::{Field, Fields, fields};
use super::routes::Call;
use crate::contract::Value;
use crate::contract::error::Error;
use crate::contract::ids::UserId;
use crate::functions::realtime;

fields! {
    /// A subscription that a client asks for.
    Subscription {
        /// The client's connection, as the push service has named it.
        socket_id: SocketId,
        /// The channel: private-user-ID, private-conversation-ID, presence-agents or presence-users.
        channel_name: String,
        /// Whose subscription it is. A key that is bound to a user subscribes for that one; one that is not, without
        /// this, for a server, which is on no presence channel.
        user_id: Option<UserId>,
    }
}

/// The name of a connection: two numbers. Anything else in its place could make the signature that of another text.
pub struct SocketId(String);

/// The longest part of one.
const DIGITS: usize = 20;

impl Field for SocketId {
    fn schema() -> Json {
        json!({"type": "string", "pattern": format!("^[0-9]{{1,{DIGITS}}}\\.[0-9]{{1,{DIGITS}}}$")})
    }

    fn read(value: Value) -> Result<Self, (&'static str, String)> {
        let is_number =
            |part: &str| (1..=DIGITS).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        let text = String::read(value)?;
        match text.split_once('.') {
            Some((first, second)) if is_number(first) && is_number(second) => Ok(Self(text)),
            _ => Err((
                "argument-error",
                "must be two numbers with a full stop between".to_owned(),
            )),
        }
    }
}

/// `POST /v1/realtime/auth`
pub async fn authorize(call: &Call<'_>) -> Result<Answer, Failure> {
    let fields = Subscription::read(call.incoming.object_or_form()?)?;
    if let (Some(access), Some(user)) = (call.access, fields.user_id) {
        access.check_user(user, "user_id")?;
    }
    let user = fields.user_id.or_else(|| call.access.and_then(Access::user));
    let granted = realtime::subscribe(call.cx, &fields.socket_id.0, &fields.channel_name, user).await;
    match granted {
        Ok(grant) => Ok(Answer::json(200, &grant)),
        Err(Error::Refused {
            code: "security-error",
            message,
        }) => Err(Failure::forbidden(&message, Some("channel_name"))),
        Err(error) => Err(Failure::from_function(error, |code| match code {
            "conversation-not-found" => Some("channel_name"),
            "user-not-found" => Some("user_id"),
            _ => None,
        })),
    }
}
