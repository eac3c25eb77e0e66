//! Who may subscribe to which channel of the push service.

use super::channels::Channel;
use super::telling::owner_of;
use crate::contract::error::{Code, Error, Result};
use crate::contract::ids::{ConversationId, UserId};
use crate::contract::status::UserType;
use crate::contract::{Value, json};
use crate::params;
use crate::platform::Context;
use crate::providers::realtime::Application;

const MEMBER: &str = "
    SELECT user_type, TRIM(CONCAT(first_name, ' ', last_name)), COALESCE(profile_image, '')
    FROM sb_users
    WHERE id = ?";

/// Someone who subscribes.
struct Member {
    id: UserId,
    user_type: UserType,
    name: String,
    image: String,
}

/// What lets a connection subscribe to a channel, for a user or for a server that is nobody: `{auth}`, and of a channel
/// with members `{auth, channel_data}`.
pub(crate) async fn subscribe(cx: &Context<'_>, socket: &str, channel: &str, user: Option<UserId>) -> Result<Value> {
    let application = Application::of(cx).await?;
    let name = channel;
    let channel = Channel::read(name).ok_or_else(|| Error::security("there is no such channel"))?;
    let member = match user {
        Some(user) => Some(member(cx, user).await?),
        None => None,
    };
    check(cx, channel, member.as_ref()).await?;
    let member = member.filter(|_| channel.has_members()).map(|member| member.seen());
    let signature = application.keys().subscription(socket, name, member.as_deref())?;
    let mut answer = vec![("auth", signature.into())];
    answer.extend(member.map(|member| ("channel_data", member.into())));
    Ok(Value::map(answer))
}

async fn member(cx: &Context<'_>, id: UserId) -> Result<Member> {
    let row: Option<(String, String, String)> = cx.database()?.row(MEMBER, params![id]).await?;
    let (user_type, name, image) = row.ok_or(Code::UserNotFound)?;
    let user_type = user_type.parse().ok().filter(|user_type| *user_type != UserType::Bot);
    Ok(Member {
        id,
        user_type: user_type.ok_or(Code::UserNotFound)?,
        name,
        image,
    })
}

/// Customers hear of their own conversations, agents of all.
async fn check(cx: &Context<'_>, channel: Channel, member: Option<&Member>) -> Result<()> {
    let customer = member.filter(|member| member.user_type.is_customer());
    let refused = |message| Err(Error::security(message));
    match channel {
        Channel::Conversation(id) => check_conversation(cx, id, customer).await,
        Channel::User(id) if customer.is_some_and(|customer| customer.id != id) => {
            refused("the channel is another user's")
        }
        Channel::Agents | Channel::Users if member.is_none() => refused("on this channel is only who is a user"),
        Channel::Agents if customer.is_some() => refused("the channel is for agents and admins"),
        Channel::User(_) | Channel::Agents | Channel::Users => Ok(()),
    }
}

/// A conversation of someone else is as if there were none.
async fn check_conversation(cx: &Context<'_>, id: ConversationId, customer: Option<&Member>) -> Result<()> {
    let owner = owner_of(cx, id).await?;
    let is_open = owner.is_some_and(|owner| customer.is_none_or(|customer| customer.id == owner));
    if is_open {
        Ok(())
    } else {
        Err(Code::ConversationNotFound.into())
    }
}

impl Member {
    /// What the others on a channel see of it. Of customers only the id: they need not know each other.
    fn seen(&self) -> String {
        let mut seen = vec![("user_id", self.id.into())];
        if self.user_type.is_staff() {
            let info = [
                ("name", self.name.as_str().into()),
                ("profile_image", self.image.as_str().into()),
                ("user_type", self.user_type.text().into()),
            ];
            seen.push(("user_info", Value::map(info)));
        }
        json::encode(&Value::map(seen))
    }
}
