//! Messages to many: one to each user, in the chat, by the platform of the conversation, or as an e-mail.

use super::opening::{NewConversation, open};
use super::platforms;
use super::sending::{NewMessage, TEXT_LIMIT, send};
use crate::contract::args::{Argument, Items, Recipients, StatusCode};
use crate::contract::error::{Code, Error, Result};
use crate::contract::ids::{ConversationId, UserId};
use crate::contract::status::{ConversationStatus, UserType};
use crate::contract::value::{Key, Map};
use crate::functions::notify::{Email, Outbox};
use crate::functions::users::get_bot_id;
use crate::params;
use crate::platform::Context;
use crate::platform::db::{Builder, OnUnknown};

/// How many users are read at a time.
const PAGE: u32 = 200;

const CUSTOMERS: &str = "
    SELECT id, COALESCE(email, '')
    FROM sb_users
    WHERE id > ? AND user_type IN ('visitor', 'lead', 'user')
    ORDER BY id
    LIMIT ?";

const THESE: &str = "
    SELECT id, COALESCE(email, '')
    FROM sb_users
    WHERE user_type <> 'bot' AND id IN ";

/// The user's newest conversation that is not in the trash.
const NEWEST: &str = "
    SELECT id, COALESCE(source, '')
    FROM sb_conversations
    WHERE user_id = ? AND (status_code IS NULL OR status_code <> 4)
    ORDER BY id DESC
    LIMIT 1";

/// What everybody gets.
struct Direct<'a> {
    cx: &'a Context<'a>,
    message: String,
    subject: Option<String>,
    sender: UserId,
}

/// Sends a message to each user. One whom a platform refuses does not keep the others from theirs: the first refusal is
/// given when everybody had their turn.
pub(super) async fn direct_message(
    cx: &Context<'_>,
    user_ids: Recipients,
    message: String,
    subject: Option<String>,
) -> Result<bool> {
    if message.trim().is_empty() {
        return Err(Code::EmptyMessage.into());
    }
    if message.len() > TEXT_LIMIT {
        return Err(Error::too_long("message", "65535 bytes"));
    }
    let active = cx.active_user().await?;
    let staff = active.filter(|user| user.user_type.is_some_and(UserType::is_staff));
    let direct = Direct {
        cx,
        message,
        subject,
        sender: match staff {
            Some(user) => user.id,
            None => get_bot_id(cx).await?,
        },
    };
    let database = cx.database()?;
    let mut refusal = None;
    match user_ids {
        Recipients::All => {
            let mut last = 0_u32;
            loop {
                let page: Vec<(u32, String)> = database.rows(CUSTOMERS, params![last, PAGE]).await?;
                let Some((end, _)) = page.last() else { break };
                last = *end;
                direct.send_to(page, &mut refusal).await?;
            }
        }
        Recipients::Users(mut ids) => {
            ids.sort_unstable();
            ids.dedup();
            for ids in ids.chunks(PAGE as usize) {
                let mut statement = Builder::new(THESE, params![]);
                statement.list(ids.iter().copied());
                let (sql, params) = statement.finish();
                direct.send_to(database.rows(sql, params).await?, &mut refusal).await?;
            }
        }
    }
    refusal.map_or(Ok(true), Err)
}

impl Direct<'_> {
    async fn send_to(&self, users: Vec<(u32, String)>, refusal: &mut Option<Error>) -> Result<()> {
        if let Some(subject) = &self.subject {
            return self.email(users, subject).await;
        }
        for (user, _) in users {
            match self.write(user.into()).await {
                Err(error @ (Error::Provider(_) | Error::Refused { .. })) => {
                    refusal.get_or_insert(error);
                }
                outcome => outcome?,
            }
        }
        Ok(())
    }

    /// Writes into the user's newest conversation, or a new one.
    async fn write(&self, user: UserId) -> Result<()> {
        let newest: Option<(u32, String)> = self.cx.database()?.row(NEWEST, params![user]).await?;
        let (conversation, source) = match newest {
            Some((id, source)) => (id.into(), source),
            None => (self.new_conversation(user).await?, String::new()),
        };
        let message = NewMessage {
            sender: self.sender,
            conversation,
            text: self.message.clone(),
            attachments: Items(Vec::new()),
            payload: Map::new(),
            status: StatusCode::Code(ConversationStatus::WaitingForUser),
            queue: false,
        };
        let sent = send(self.cx, message).await?;
        if platforms::leaves(&source) {
            platforms::send_message(self.cx, self.message.clone(), conversation, Some(sent.id)).await?;
        }
        Ok(())
    }

    async fn new_conversation(&self, user: UserId) -> Result<ConversationId> {
        let conversation = NewConversation {
            user,
            status: ConversationStatus::WaitingForUser,
            title: String::new(),
            department: None,
            agent: None,
            source: None,
            extra: None,
        };
        let details = open(self.cx, conversation, None).await?;
        let id = details
            .get(&Key::from("id"))
            .cloned()
            .and_then(ConversationId::from_value);
        id.ok_or_else(|| Error::Internal("a new conversation without an id".into()))
    }

    /// Puts an e-mail to everybody who has an address into the outbox, all of a page in one transaction.
    async fn email(&self, users: Vec<(u32, String)>, subject: &str) -> Result<()> {
        let outbox = Outbox::of(self.cx).await?;
        if !outbox.is_open() {
            return Err(Error::configuration("email-server is not set"));
        }
        let recorded = self
            .cx
            .database()?
            .transaction(OnUnknown::Report, async |transaction| {
                let mut recorded = Vec::new();
                for (_, address) in users.iter().filter(|(_, address)| !address.is_empty()) {
                    let email = Email {
                        to: address.clone(),
                        subject: subject.to_owned(),
                        message: self.message.clone(),
                        ..Email::default()
                    };
                    recorded.extend(outbox.put(transaction, email).await?);
                }
                Ok(recorded)
            })
            .await?;
        self.cx.after_commit(recorded);
        Ok(())
    }
}
