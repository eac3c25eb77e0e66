//! Messages to many: one to each user, in the chat, by the platform of the conversation, or as an e-mail.

use super::opening::{NewConversation, open};
use super::platforms::{self, Platform};
use super::sending::send;
use super::storing::NewMessage;
use crate::contract::args::{Argument, Items, Recipients, StatusCode};
use crate::contract::error::{Code, Error, Result};
use crate::contract::ids::{ConversationId, UserId};
use crate::contract::language::Language;
use crate::contract::status::{ConversationStatus, UserType};
use crate::contract::value::{Key, Map};
use crate::functions::columns::{self, check_bytes};
use crate::functions::deliveries;
use crate::functions::formatting::escaped;
use crate::functions::notify::{Answering, Email, Outbox, Side, Thread, as_html, people};
use crate::functions::templates::filled;
use crate::functions::users::get_bot_id;
use crate::params;
use crate::platform::db::{Builder, OnUnknown};
use crate::platform::{Context, crypto};

/// How many users are read, and written to, at a time: so many are held in memory, however many there are.
const PAGE: u32 = 200;

/// With the newest conversation of each that is not in the trash.
const USERS: &str = "
    SELECT u.id, TRIM(CONCAT(u.first_name, ' ', u.last_name)), COALESCE(u.email, ''),
        (SELECT d.value FROM sb_users_data d WHERE d.user_id = u.id AND d.slug = 'language'),
        (SELECT d.value FROM sb_users_data d WHERE d.user_id = u.id AND d.slug = 'browser_language'),
        c.id, c.source, c.department
    FROM sb_users u
    LEFT JOIN sb_conversations c ON c.id = (
        SELECT MAX(n.id)
        FROM sb_conversations n
        WHERE n.user_id = u.id AND (n.status_code IS NULL OR n.status_code <> 4))
    WHERE ";

const CUSTOMERS: &str = "u.user_type IN ('visitor', 'lead', 'user') AND u.id > ? ORDER BY u.id LIMIT ?";

const THESE: &str = "u.user_type <> 'bot' AND u.id IN ";

/// What [`USERS`] gives.
type Row = (
    u32,
    String,
    String,
    Option<String>,
    Option<String>,
    Option<u32>,
    Option<String>,
    Option<u8>,
);

/// How long a subject may be: a line of an e-mail.
const SUBJECT_LIMIT: usize = 998;

/// Who has not got the message yet.
enum Rest {
    /// All above an id.
    All(u32),
    These(std::vec::IntoIter<UserId>),
    Nobody,
}

/// One who gets the message.
struct Recipient {
    id: UserId,
    name: String,
    email: String,
    language: Option<Language>,
    conversation: Option<Conversation>,
}

/// Where it is written to.
struct Conversation {
    id: ConversationId,
    platform: Option<Platform>,
    department: Option<u8>,
}

/// Who writes.
#[derive(Default)]
struct Author {
    name: String,
    email: String,
}

/// What everybody gets.
struct Direct<'a> {
    cx: &'a Context<'a>,
    message: String,
    sender: UserId,
    author: Author,
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
    check_bytes("message", &message, columns::TEXT)?;
    let direct = Direct::of(cx, message).await?;
    let letter = match subject {
        Some(subject) => Some(Letter::of(cx, &direct, subject).await?),
        None => None,
    };
    let mut rest = match user_ids {
        Recipients::All => Rest::All(0),
        Recipients::Users(ids) if ids.is_empty() => Rest::Nobody,
        Recipients::Users(mut ids) => {
            ids.sort_unstable();
            ids.dedup();
            Rest::These(ids.into_iter())
        }
    };
    let mut refusal = None;
    while !rest.is_nobody() {
        let users = rest.page(cx).await?;
        match &letter {
            Some(letter) => letter.send(&users).await?,
            None => direct.write_to(&users, &mut refusal).await?,
        }
        if !rest.is_nobody() {
            deliveries::make_room(cx).await?;
        }
    }
    refusal.map_or(Ok(true), Err)
}

impl Rest {
    /// The next who get it.
    async fn page(&mut self, cx: &Context<'_>) -> Result<Vec<Recipient>> {
        let mut statement = Builder::new(USERS, params![]);
        match self {
            Self::All(last) => {
                statement.add(CUSTOMERS, params![*last, PAGE]);
            }
            Self::These(ids) => {
                statement.add(THESE, params![]).list(ids.take(PAGE as usize));
            }
            Self::Nobody => return Ok(Vec::new()),
        }
        let (sql, params) = statement.finish();
        let rows: Vec<Row> = cx.database()?.rows(sql, params).await?;
        let users: Vec<Recipient> = rows.into_iter().map(Recipient::from).collect();
        let is_last = match self {
            Self::All(_) => users.len() < PAGE as usize,
            Self::These(ids) => ids.len() == 0,
            Self::Nobody => true,
        };
        if is_last {
            *self = Self::Nobody;
        } else if let (Self::All(last), Some(user)) = (self, users.last()) {
            *last = user.id.number();
        }
        Ok(users)
    }

    const fn is_nobody(&self) -> bool {
        matches!(self, Self::Nobody)
    }
}

impl From<Row> for Recipient {
    fn from((id, name, email, language, browser_language, conversation, source, department): Row) -> Self {
        Self {
            id: id.into(),
            name,
            email: email.trim().to_owned(),
            language: [language, browser_language]
                .iter()
                .flatten()
                .find_map(|code| Language::read(code)),
            conversation: conversation.map(|id| Conversation {
                id: id.into(),
                platform: source.as_deref().and_then(Platform::of),
                department,
            }),
        }
    }
}

impl<'a> Direct<'a> {
    async fn of(cx: &'a Context<'a>, message: String) -> Result<Self> {
        let active = cx.active_user().await?;
        let staff = active.filter(|user| user.user_type.is_some_and(UserType::is_staff));
        let sender = match staff {
            Some(user) => user.id,
            None => get_bot_id(cx).await?,
        };
        let author = people(cx, [sender]).await?.pop();
        let author = author.map(|author| Author {
            name: author.name,
            email: author.email.unwrap_or_default(),
        });
        Ok(Self {
            cx,
            message,
            sender,
            author: author.unwrap_or_default(),
        })
    }

    /// A text with its merge fields, in each the value as `written` writes it.
    fn filled(&self, text: &str, user: &Recipient, written: fn(&str) -> String) -> String {
        let fields = [
            ("{user_name}", &user.name),
            ("{user_email}", &user.email),
            ("{recipient_name}", &user.name),
            ("{agent_name}", &self.author.name),
            ("{agent_email}", &self.author.email),
            ("{sender_name}", &self.author.name),
        ]
        .map(|(field, value)| (field, written(value)));
        let fields: Vec<(&str, &str)> = fields.iter().map(|(field, value)| (*field, value.as_str())).collect();
        filled(text, &fields)
    }

    async fn write_to(&self, users: &[Recipient], refusal: &mut Option<Error>) -> Result<()> {
        for user in users {
            match self.write(user).await {
                Ok(()) => {}
                Err(error @ (Error::Database(_) | Error::Internal(_))) => return Err(error),
                Err(error) => {
                    refusal.get_or_insert(error);
                }
            }
        }
        Ok(())
    }

    /// Writes into the user's newest conversation, or a new one.
    async fn write(&self, user: &Recipient) -> Result<()> {
        let (conversation, platform) = match &user.conversation {
            Some(conversation) => (conversation.id, conversation.platform),
            None => (self.new_conversation(user.id).await?, None),
        };
        let text = self.filled(&self.message, user, str::to_owned);
        let message = NewMessage {
            sender: self.sender,
            conversation,
            text: text.clone(),
            attachments: Items(Vec::new()),
            payload: Map::new(),
            status: StatusCode::Code(ConversationStatus::WaitingForUser),
            queue: false,
        };
        let sent = send(self.cx, message).await?;
        if platform.is_some() {
            platforms::send_message(self.cx, text, conversation, Some(sent.id)).await?;
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
}

/// The same as an e-mail.
struct Letter<'a> {
    direct: &'a Direct<'a>,
    subject: String,
    /// The message in HTML.
    html: String,
    outbox: Outbox<'a>,
    answering: Answering,
}

impl<'a> Letter<'a> {
    async fn of(cx: &'a Context<'a>, direct: &'a Direct<'a>, subject: String) -> Result<Self> {
        if subject.contains(char::is_control) {
            return Err(Error::Refused {
                code: "email-error",
                message: "the subject holds a line break".into(),
            });
        }
        if subject.chars().nth(SUBJECT_LIMIT).is_some() {
            return Err(Error::too_long("subject", "998 characters"));
        }
        let outbox = Outbox::of(cx).await?;
        if !outbox.is_open() {
            return Err(Error::configuration("email-server is not set"));
        }
        Ok(Self {
            direct,
            subject,
            html: as_html(&direct.message),
            outbox,
            answering: Answering::of(cx).await?,
        })
    }

    /// Puts an e-mail to each user who has an address into the outbox, in one transaction.
    async fn send(&self, users: &[Recipient]) -> Result<()> {
        let mut emails = Vec::new();
        for user in users.iter().filter(|user| !user.email.is_empty()) {
            emails.push(self.to(user).await?);
        }
        let cx = self.direct.cx;
        let recorded = cx
            .database()?
            .transaction(OnUnknown::Report, async |transaction| {
                let mut recorded = Vec::new();
                for email in &emails {
                    recorded.extend(self.outbox.put(transaction, email.clone()).await?);
                }
                Ok(recorded)
            })
            .await?;
        cx.after_commit(recorded);
        Ok(())
    }

    /// The e-mail to a user. It begins a thread of its own; an answer comes into the user's newest conversation.
    async fn to(&self, user: &Recipient) -> Result<Email> {
        let on_one_line = |value: &str| value.replace(char::is_control, " ");
        let email = Email {
            to: user.email.clone(),
            subject: self.direct.filled(&self.subject, user, on_one_line),
            message: self.direct.filled(&self.html, user, escaped),
            language: user.language.clone(),
            is_automatic: true,
            ..Email::default()
        };
        let Some(conversation) = &user.conversation else {
            return Ok(email);
        };
        let thread = Thread::begin(self.direct.cx, conversation.id, conversation.department).await?;
        let what: String = crypto::token()?.chars().take(16).collect();
        Ok(Email {
            references: Vec::new(),
            ..self.answering.addressed(email, &thread, Side::Customer, &what)
        })
    }
}
