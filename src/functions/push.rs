//! Section "Realtime push integration": push notifications.

use crate::contract::args::{Argument, Items, OneOrSeveral};
use crate::contract::error::Result;
use crate::contract::ids::{ConversationId, UserId};
use crate::contract::status::UserType;
use crate::contract::value::{Map, at};
use crate::contract::{Error, Value};
use crate::functions;
use crate::functions::attachments::links;
use crate::functions::conversation_link::conversation_link;
use crate::functions::events::{Event, announce};
use crate::params;
use crate::platform::Context;
use crate::platform::db::Builder;
use crate::platform::outbox::{Channel, Delivery};
use crate::platform::settings::Settings;
use crate::providers::push::{INTERESTS, Instance, Notification, is_for_agents, is_for_users, is_interest};

functions! {
    /// Sends a push notification to the devices of users, agents or both.
    ///
    /// A device subscribes to interests: the id of its user, agents or users, and all. Agents and admins are notified while
    /// the setting push-notifications-active is on, visitors, leads and users while push-notifications-users-active is; an
    /// interest of one's own and all, while either is. A click opens the conversation: for agents the page admin.php, for
    /// one user the page that the user was on last.
    ///
    /// Limits: 200 characters of the title and 1,000 of the message are sent; a hundred interests go together, more in
    /// several requests. A notification of unknown fate is not sent again.
    ///
    /// @param $title the title
    /// @param $message the text; when there is none, the names of the attachments
    /// @param $icon the URL of a picture; not given: the setting notifications-icon
    /// @param $interest who gets it: the id of a user or agent, a list of ids, agents, users, all, or an interest of one's
    ///     own: 1 to 164 letters, digits and -_=@,.;
    /// @param $conversation_id the conversation that a click opens
    /// @param $user_id who wrote the message; the page's service worker is told, and of the conversation
    /// @param $attachments list of [name, http(s) link]; the service worker is told of the first picture
    /// @return the service's answer, of several requests the first one's; false when there is nobody to notify, or
    ///     notifications are off
    /// @errors invalid-attachment; SBError configuration; push-notifications-error with the service's text, or because it
    ///     cannot be reached
    async fn sb_push_notification(
        title: String,
        message: String,
        icon: String = "",
        interest: OneOrSeveral = false,
        conversation_id: Option<ConversationId> = false,
        user_id: Option<UserId> = false,
        attachments: Items = false,
    ) -> "array{publishId: string}|false|'invalid-attachment'|SBError" => push_notification;
}

/// With the page that each was on last.
const PEOPLE: &str = "
    SELECT u.id, u.user_type,
        (SELECT d.value FROM sb_users_data d WHERE d.user_id = u.id AND d.slug = 'current_url')
    FROM sb_users u
    WHERE u.id IN ";

const NAME: &str = "
    SELECT TRIM(CONCAT(first_name, ' ', last_name))
    FROM sb_users
    WHERE id = ?";

/// The title where nobody has a name.
const UNNAMED: &str = "New message";

/// The interests that groups subscribe to.
const AGENTS: &str = "agents";
const USERS: &str = "users";

/// How much of the texts is sent, in characters: no device shows more.
const TITLE_LIMIT: usize = 200;
const BODY_LIMIT: usize = 1_000;

/// The longest page of a user that is linked to.
const PAGE_LIMIT: usize = 1_000;

/// What a notification in the outbox is called there.
const EVENT: &str = "push";

/// What browsers show as a picture.
const PICTURES: [&str; 6] = [".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif"];

/// A notification as a function asks for it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Push {
    /// What is seen first.
    pub(crate) title: String,
    /// The text.
    pub(crate) message: String,
    /// The URL of a picture; empty for the service's.
    pub(crate) icon: String,
    /// Ids, `agents`, `users`, `all`, or interests of one's own.
    pub(crate) to: Vec<String>,
    /// What a click opens.
    pub(crate) conversation: Option<ConversationId>,
    /// Who wrote.
    pub(crate) sender: Option<UserId>,
    /// A picture to show with it.
    pub(crate) image: Option<String>,
}

/// Those who get the same notification.
#[derive(Debug, Default)]
struct Receivers {
    interests: Vec<String>,
    are_staff: bool,
    page: Option<String>,
}

/// Sends a notification.
async fn push_notification(
    cx: &Context<'_>,
    title: String,
    message: String,
    icon: String,
    interest: OneOrSeveral,
    conversation_id: Option<ConversationId>,
    user_id: Option<UserId>,
    attachments: Items,
) -> Result<Option<Value>> {
    let attachments = links(attachments)?;
    let push = Push {
        title,
        icon,
        to: interest.into_texts(),
        conversation: conversation_id.filter(|id| id.is_some()),
        sender: user_id.filter(|id| id.is_some()),
        ..Push::of_message(message, &attachments)
    };
    send(cx, &push).await
}

/// Whether the service is set.
pub(super) fn is_open(settings: &Settings) -> bool {
    let is_set = |name: &&str| settings.text(name).is_some();
    ["push-notifications-id", "push-notifications-key"].iter().all(is_set)
}

/// Sends a notification now: the service's answer, or `None` when there is nobody to notify.
pub(crate) async fn send(cx: &Context<'_>, push: &Push) -> Result<Option<Value>> {
    let settings = cx.settings().await?;
    if !is_for_agents(&settings) && !is_for_users(&settings) {
        return Ok(None);
    }
    let groups = receivers(cx, &settings, &push.to).await?;
    let mut first = None;
    if groups.is_empty() {
        return Ok(first);
    }
    let instance = Instance::of(cx).await?;
    for group in groups {
        let notification = push.notification(cx, &settings, &group);
        for interests in group.interests.chunks(INTERESTS) {
            let answer = instance.publish(interests, &notification).await?;
            first.get_or_insert(answer);
        }
    }
    let data = || {
        Value::map([
            ("to", Value::List(push.to.iter().map(|to| to.as_str().into()).collect())),
            ("title", push.title.as_str().into()),
            ("message", push.message.as_str().into()),
        ])
    };
    // It is sent, and a failure of this would be answered by sending it again.
    let _ = announce(cx, Event::PushSent, data).await;
    Ok(first)
}

/// Who is notified, by what a click opens. An id that nobody has and what is no interest are nobody.
async fn receivers(cx: &Context<'_>, settings: &Settings, to: &[String]) -> Result<Vec<Receivers>> {
    let (agents, users) = (is_for_agents(settings), is_for_users(settings));
    let mut staff = Receivers {
        are_staff: true,
        ..Receivers::default()
    };
    let mut customers = Receivers::default();
    let mut ids = Vec::new();
    for interest in to {
        match interest.as_str() {
            AGENTS if agents => staff.interests.push(interest.clone()),
            USERS if users => customers.interests.push(interest.clone()),
            AGENTS | USERS => {}
            id if id.bytes().all(|byte| byte.is_ascii_digit()) => ids.extend(UserId::from_value(Value::from(id))),
            name if is_interest(name) => customers.interests.push(interest.clone()),
            _ => {}
        }
    }
    if !ids.is_empty() {
        let mut query = Builder::new(PEOPLE, params![]);
        query.list(ids);
        let (sql, params) = query.finish();
        let people: Vec<(u32, String, Option<String>)> = cx.database()?.rows(sql, params).await?;
        let is_alone = people.len() == 1 && customers.interests.is_empty();
        for (id, user_type, page) in people {
            match user_type.parse::<UserType>() {
                Ok(user_type) if user_type.is_staff() && agents => staff.interests.push(id.to_string()),
                Ok(user_type) if user_type.is_customer() && users => {
                    customers.interests.push(id.to_string());
                    customers.page = page.filter(|page| is_alone && page.len() <= PAGE_LIMIT);
                }
                _ => {}
            }
        }
    }
    let groups = [staff, customers].into_iter();
    Ok(groups.filter(|group| !group.interests.is_empty()).collect())
}

impl Push {
    /// What shows a message: its text, or else the names of its attachments, with the first picture of them.
    pub(super) fn of_message(message: String, attachments: &[(String, String)]) -> Self {
        let names: Vec<&str> = attachments.iter().map(|(name, _)| name.as_str()).collect();
        let is_picture = |link: &&String| {
            let path = link.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
            PICTURES.iter().any(|ending| path.ends_with(ending))
        };
        Self {
            message: if message.is_empty() { names.join(", ") } else { message },
            image: attachments.iter().map(|(_, link)| link).find(is_picture).cloned(),
            ..Self::default()
        }
    }

    fn notification(&self, cx: &Context<'_>, settings: &Settings, receivers: &Receivers) -> Notification {
        let installation = cx.host().configured("SB_URL").unwrap_or_default();
        let link = |conversation: ConversationId| {
            let parameters = format!("?conversation={}", conversation.number());
            conversation_link(
                &installation,
                receivers.are_staff,
                receivers.page.as_deref(),
                &parameters,
            )
        };
        let data = [
            ("conversation_id", self.conversation.map(Value::from)),
            ("user_id", self.sender.map(Value::from)),
            ("image", self.image.clone().map(Value::from)),
        ];
        let icon = Some(self.icon.clone()).filter(|icon| !icon.is_empty());
        Notification {
            title: cut(&self.title, TITLE_LIMIT),
            body: cut(&self.message, BODY_LIMIT),
            icon: icon.or_else(|| settings.text("notifications-icon")).unwrap_or_default(),
            link: self.conversation.map(link),
            data: data
                .into_iter()
                .filter_map(|(name, value)| Some((name.into(), value?)))
                .collect(),
        }
    }

    /// As the outbox keeps it.
    pub(crate) fn into_delivery(self) -> Delivery {
        let to = self.to.into_iter().map(Value::from).collect();
        let payload = [
            ("to", Value::List(to)),
            ("title", self.title.into()),
            ("message", self.message.into()),
            ("icon", self.icon.into()),
            ("conversation_id", self.conversation.into()),
            ("user_id", self.sender.into()),
            ("image", self.image.into()),
        ];
        Delivery {
            channel: Channel::Push,
            event: EVENT.to_owned(),
            target: None,
            payload: Value::map(payload),
        }
    }

    fn of_delivery(delivery: &Delivery) -> Option<Self> {
        let payload = Map::from_value(delivery.payload.clone())?;
        let given = |name: &'static str| at(&payload, name).cloned();
        let text = |name| given(name).and_then(String::from_value).unwrap_or_default();
        Some(Self {
            title: text("title"),
            message: text("message"),
            icon: text("icon"),
            to: OneOrSeveral::from_value(at(&payload, "to")?.clone())?.into_texts(),
            conversation: given("conversation_id")
                .and_then(ConversationId::from_value)
                .filter(|id| id.is_some()),
            sender: given("user_id").and_then(UserId::from_value).filter(|id| id.is_some()),
            image: Some(text("image")).filter(|image| !image.is_empty()),
        })
    }
}

/// Sends what waits in the outbox.
pub(super) async fn deliver(cx: &Context<'_>, delivery: &Delivery) -> Result<()> {
    let push = Push::of_delivery(delivery);
    let mut push = push.ok_or_else(|| Error::Internal("a notification of the outbox cannot be read".into()))?;
    if push.title.is_empty() {
        push.title = name_of_sender(cx, push.sender).await?;
    }
    send(cx, &push).await.map(drop)
}

/// The name of who wrote; of nobody that of the setting email-sender-name.
async fn name_of_sender(cx: &Context<'_>, sender: Option<UserId>) -> Result<String> {
    let row: Option<(String,)> = match sender {
        Some(sender) => cx.database()?.row(NAME, params![sender]).await?,
        None => None,
    };
    let name = row.map(|(name,)| name).filter(|name| !name.is_empty());
    let settings = cx.settings().await?;
    Ok(name
        .or_else(|| settings.text("email-sender-name"))
        .unwrap_or_else(|| UNNAMED.to_owned()))
}

/// The beginning of a text, with a sign that there is more.
fn cut(text: &str, limit: usize) -> String {
    if text.chars().nth(limit).is_none() {
        return text.to_owned();
    }
    text.chars().take(limit - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::json;

    #[test]
    fn a_notification_comes_out_of_the_outbox_as_it_was_put_in() {
        let push = Push {
            title: "Ann \"A\"".into(),
            message: "Hello\n👋".into(),
            icon: "https://a.example/i.png".into(),
            to: vec!["3".into(), "agents".into()],
            conversation: Some(7.into()),
            sender: Some(2.into()),
            image: Some("https://a.example/p.png".into()),
        };
        for push in [push, Push::default()] {
            let delivery = push.clone().into_delivery();
            let payload = json::decode(json::encode(&delivery.payload).as_bytes()).unwrap();
            assert_eq!(Push::of_delivery(&Delivery { payload, ..delivery }), Some(push));
        }
    }

    #[test]
    fn long_texts_are_cut_between_letters() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüß", 3), "äö…");
        assert_eq!(cut("", 3), "");
    }
}
