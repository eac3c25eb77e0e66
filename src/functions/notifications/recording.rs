//! Recording notifications: who is told of a message, and by what.
//!
//! What is recorded in the transaction of a message is who is told of it. The e-mail or text message is written when it
//! is delivered, so that the transaction reads nothing but who is away.

use crate::contract::args::{Argument, Items};
use crate::contract::error::Result;
use crate::contract::ids::{ConversationId, UserId};
use crate::contract::value::at;
use crate::contract::{Map, Value};
use crate::functions::attachments::links;
use crate::functions::formatting::to_plain;
use crate::functions::notify::{self, Author};
use crate::functions::push::{self, Push};
use crate::functions::realtime::present;
use crate::functions::sms;
use crate::functions::users::ONLINE_FOR;
use crate::params;
use crate::platform::Context;
use crate::platform::db::{Builder, Transaction};
use crate::platform::outbox::{self, Channel, Delivery, Recorded};

/// Those who are told, and what they can be reached by.
const REACHED: &str = "
    SELECT u.id, u.email, (SELECT d.value FROM sb_users_data d WHERE d.user_id = u.id AND d.slug = 'phone')
    FROM sb_users u
    WHERE ";

/// What [`REACHED`] gives.
type Reached = (u32, Option<String>, Option<String>);

/// What a notification is called in the outbox, on whatever channel.
const EVENT: &str = "notification";

/// What people are told of.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Notification {
    /// Who wrote the message.
    pub(crate) sender: Option<UserId>,
    /// By what name and image; not given: the sender's own.
    pub(crate) author: Option<Author>,
    /// Where.
    pub(crate) conversation: Option<ConversationId>,
    /// The message, with the marks of its formatting.
    pub(crate) message: String,
    /// Names and links.
    pub(crate) attachments: Vec<(String, String)>,
    /// What stands below the message in an e-mail.
    pub(crate) bottom: String,
    /// What an e-mail shows in place of the message.
    pub(crate) instead: Option<String>,
    /// By what an e-mail is known among those of its conversation: the message's id mostly.
    pub(crate) what: String,
    /// Whose language it is written in; not given: that of who is told.
    pub(crate) language_of: Option<UserId>,
}

/// Who is told.
pub(crate) enum Recipients {
    /// A customer, who is away.
    Customer(UserId),
    /// The agents who are away.
    Agents {
        /// The only one, when the conversation is assigned.
        agent: Option<UserId>,
        /// With those of this department those of none.
        department: Option<u8>,
        /// Whether those who are there are told too.
        present_too: bool,
        /// Who needs not be told.
        except: Option<UserId>,
    },
}

/// By what people are told.
#[derive(Debug, Clone, Copy)]
struct Ways {
    email: bool,
    sms: bool,
    push: bool,
}

impl Ways {
    const fn is_any(self) -> bool {
        self.email || self.sms || self.push
    }
}

/// What was recorded. To be handed to [`Context::after_commit`].
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) recorded: Vec<Recorded>,
    /// By what somebody is told: `email`, `sms`, `push`.
    pub(crate) ways: Vec<&'static str>,
}

/// Tells people as the settings want it. Asked for before a transaction begins, so that no setting is read within it.
#[derive(Clone)]
pub(crate) struct Notifier<'a> {
    cx: &'a Context<'a>,
    has_table: bool,
    agents: Ways,
    customers: Ways,
    spares_admins: bool,
    /// Who is there by the word of the push service.
    present: Vec<UserId>,
}

impl<'a> Notifier<'a> {
    /// Reads the settings; `None` when nobody is to be told of anything.
    pub(crate) async fn of(cx: &'a Context<'a>) -> Result<Option<Self>> {
        let settings = cx.settings().await?;
        let (has_mail, has_sms) = (notify::is_open(cx).await?, sms::is_open(cx).await?);
        let has_push = push::is_open(&settings);
        let ways = |email: &str, sms: &str, push: &str| Ways {
            email: has_mail && settings.is_on(email),
            sms: has_sms && settings.is_on(sms),
            push: has_push && settings.is_on(push),
        };
        let agents = ways("notify-agent-email", "sms-active-agents", "push-notifications-active");
        let customers = ways(
            "notify-user-email",
            "sms-active-users",
            "push-notifications-users-active",
        );
        if !agents.is_any() && !customers.is_any() {
            return Ok(None);
        }
        Ok(Some(Self {
            cx,
            has_table: cx.database()?.has(outbox::TABLE).await?,
            agents,
            customers,
            spares_admins: settings.is_on("stop-notify-admins"),
            present: present(cx, false).await?,
        }))
    }

    /// Records in the transaction of a message who is told of it. Asks who is away only when somebody is to be told.
    pub(crate) async fn tell(
        &self,
        transaction: &mut Transaction<'_>,
        recipients: &Recipients,
        notification: impl FnOnce() -> Notification,
    ) -> Result<Told> {
        let (ways, is_present) = match recipients {
            Recipients::Customer(id) => (self.customers, self.present.contains(id)),
            Recipients::Agents { .. } => (self.agents, false),
        };
        if !ways.is_any() || is_present {
            return Ok(Told::default());
        }
        let (sql, params) = self.query(recipients).finish();
        let reached: Vec<Reached> = transaction.rows(sql, params).await?;
        if reached.is_empty() {
            return Ok(Told::default());
        }
        let deliveries = deliveries(ways, reached, notification());
        let is_told_by = |channel| deliveries.iter().any(|delivery| delivery.channel == channel);
        let by = [
            (Channel::Email, "email"),
            (Channel::Sms, "sms"),
            (Channel::Push, "push"),
        ];
        let by = by.into_iter().filter(|(channel, _)| is_told_by(*channel));
        Ok(Told {
            ways: by.map(|(_, name)| name).collect(),
            recorded: outbox::record(transaction, self.has_table, self.cx.now(), deliveries).await?,
        })
    }

    fn query(&self, recipients: &Recipients) -> Builder {
        let mut query = Builder::new(REACHED, params![]);
        match *recipients {
            Recipients::Customer(id) => {
                query.add("u.id = ? AND u.user_type IN ('visitor', 'lead', 'user')", params![id]);
            }
            Recipients::Agents {
                agent,
                department,
                present_too,
                except,
            } => {
                let staff = if self.spares_admins {
                    "u.user_type = 'agent'"
                } else {
                    "u.user_type IN ('agent', 'admin')"
                };
                query.add(staff, params![]);
                if let Some(agent) = agent {
                    query.add(" AND u.id = ?", params![agent]);
                } else if let Some(department) = department {
                    query.add(" AND COALESCE(u.department = ?, TRUE)", params![department]);
                }
                if let Some(except) = except {
                    query.add(" AND u.id <> ?", params![except]);
                }
                if !present_too {
                    let since = self.cx.now() - ONLINE_FOR;
                    query.add(" AND COALESCE(u.last_activity <= ?, TRUE)", params![since]);
                    if !self.present.is_empty() {
                        query
                            .add(" AND u.id NOT IN ", params![])
                            .list(self.present.iter().copied());
                    }
                }
                query.add(" ORDER BY u.id", params![]);
            }
        }
        query
    }
}

/// One for each who is told and each way, where two have the same phone, one for both; and one for all devices.
fn deliveries(ways: Ways, reached: Vec<Reached>, notification: Notification) -> Vec<Delivery> {
    let everyone: Vec<String> = reached.iter().map(|(id, ..)| id.to_string()).collect();
    let push = ways.push.then(|| notification.push(everyone).into_delivery());
    let payload = notification.into_map();
    let mut deliveries = Vec::<Delivery>::new();
    for (recipient, email, phone) in reached {
        let mut add = |channel, target: String| {
            let is_same = |own: &Delivery| own.channel == channel && own.target.as_ref() == Some(&target);
            if deliveries.iter().any(is_same) {
                return;
            }
            let mut payload = payload.clone();
            payload.insert("recipient".into(), UserId::from(recipient).into());
            deliveries.push(Delivery {
                channel,
                event: EVENT.to_owned(),
                target: Some(target),
                payload: payload.into(),
            });
        };
        if let Some(email) = email.filter(|email| ways.email && !email.trim().is_empty()) {
            add(Channel::Email, email);
        }
        if let Some(phone) = phone.filter(|_| ways.sms).as_deref().and_then(sms::phone_of) {
            add(Channel::Sms, phone);
        }
    }
    deliveries.extend(push);
    deliveries
}

/// Whether a delivery is a notification.
pub(crate) fn is_one(delivery: &Delivery) -> bool {
    delivery.event == EVENT
}

impl Notification {
    /// As devices show it. Without a name of the author, its title is the sender's when it is delivered.
    fn push(&self, to: Vec<String>) -> Push {
        Push {
            title: self
                .author
                .as_ref()
                .map(|author| author.name.clone())
                .unwrap_or_default(),
            to,
            conversation: self.conversation,
            sender: self.sender,
            ..Push::of_message(to_plain(&self.message), &self.attachments)
        }
    }

    fn into_map(self) -> Map {
        let optional = |text: Option<String>| text.map_or(Value::Null, Value::from);
        let user = |id: Option<UserId>| id.map_or(Value::Null, Value::from);
        let attachments = self.attachments.into_iter();
        let attachments = attachments.map(|(name, link)| Value::List(vec![name.into(), link.into()]));
        let (name, image) = self
            .author
            .map_or((None, None), |author| (Some(author.name), Some(author.image)));
        Map::from_iter([
            ("sender".into(), user(self.sender)),
            ("sender_name".into(), optional(name)),
            ("sender_image".into(), optional(image)),
            (
                "conversation_id".into(),
                self.conversation.map_or(Value::Null, Value::from),
            ),
            ("message".into(), self.message.into()),
            ("attachments".into(), Value::List(attachments.collect())),
            ("bottom".into(), self.bottom.into()),
            ("email".into(), optional(self.instead)),
            ("what".into(), self.what.into()),
            ("language_of".into(), user(self.language_of)),
        ])
    }

    /// Who is told, and of what; `None` when it is no notification.
    pub(super) fn read(payload: &Value) -> Option<(UserId, Self)> {
        let payload = Map::from_value(payload.clone())?;
        let value = |name| at(&payload, name).cloned();
        let text = |name| value(name).and_then(Option::<String>::from_value).flatten();
        let user = |name| value(name).and_then(Option::<UserId>::from_value).flatten();
        let attachments = value("attachments").and_then(Items::from_value)?;
        let notification = Self {
            sender: user("sender"),
            author: text("sender_name").map(|name| Author {
                name,
                image: text("sender_image").unwrap_or_default(),
            }),
            conversation: value("conversation_id")
                .and_then(Option::<ConversationId>::from_value)
                .flatten(),
            message: text("message").unwrap_or_default(),
            attachments: links(attachments).ok()?,
            bottom: text("bottom").unwrap_or_default(),
            instead: text("email"),
            what: text("what").unwrap_or_default(),
            language_of: user("language_of"),
        };
        Some((user("recipient")?, notification))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::json;

    #[test]
    fn a_notification_comes_out_of_the_outbox_as_it_was_put_in() {
        for notification in [
            Notification::default(),
            Notification {
                sender: Some(3.into()),
                author: Some(Author {
                    name: "Carla \"C\"".into(),
                    image: "https://a.example/c.png".into(),
                }),
                conversation: Some(1.into()),
                message: "*Hello* 0\n".into(),
                attachments: vec![("a.pdf".into(), "https://a.example/a.pdf".into())],
                bottom: "<p>b</p>".into(),
                instead: Some("<b>c</b>".into()),
                what: "12".into(),
                language_of: Some(4.into()),
            },
        ] {
            let reached = vec![(2, Some("ben@support.example".to_owned()), None)];
            let ways = Ways {
                email: true,
                sms: true,
                push: false,
            };
            let [delivery] = &deliveries(ways, reached, notification.clone())[..] else {
                panic!("not one")
            };
            assert!(is_one(delivery));
            let stored = json::decode(json::encode(&delivery.payload).as_bytes()).unwrap();
            assert_eq!(Notification::read(&stored), Some((UserId::from(2), notification)));
        }
    }

    #[test]
    fn nobody_is_told_twice_by_the_same_way() {
        let person = |id, phone: &str| (id, Some(format!("{id}@a.example")), Some(phone.to_owned()));
        let long = "1".repeat(500);
        let reached = || {
            vec![
                person(1, "+39 06 1"),
                person(2, "+39 (06) 1"),
                person(3, &long),
                (4, Some(" ".into()), None),
            ]
        };
        let targets = |email, sms| {
            let ways = Ways {
                email,
                sms,
                push: false,
            };
            let deliveries = deliveries(ways, reached(), Notification::default());
            deliveries
                .into_iter()
                .filter_map(|delivery| delivery.target)
                .collect::<Vec<_>>()
        };
        assert_eq!(targets(false, true), ["+39061"]);
        assert_eq!(
            targets(true, true),
            ["1@a.example", "+39061", "2@a.example", "3@a.example"]
        );
    }
}
