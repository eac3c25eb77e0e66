//! Mailboxes that e-mails are read from, by IMAP (RFC 9051) or POP3 (RFC 1939).
//!
//! Nothing is taken out of a mailbox. Which e-mails are new is known by the numbers that the server gives them, not by
//! whether somebody has read them.

mod imap;
mod pop;
mod wire;

use std::time::Duration;

use chrono::NaiveDateTime;
use imap::Imap;
use pop::Pop;
use secrecy::{ExposeSecret, SecretString};
use tokio::time::timeout;
use wire::{Protocol, Wire};

use crate::contract::error::{Error, Outcome, ProviderError, Result};
use crate::platform::smtp::shows_credentials;

/// How long a server is waited for, from connecting to being logged in.
const OPEN_LIMIT: Duration = Duration::from_secs(15);

/// How long one answer is waited for: an e-mail of 20 MiB among them.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// What of an e-mail is read, in bytes; of a longer one its beginning.
pub const SIZE_LIMIT: u32 = 20 << 20;

/// Of more e-mails than this, the rest comes with the next look.
const LOOK_LIMIT: usize = 1000;

/// Where a mailbox is, and how to get in.
#[derive(Debug, Clone)]
pub struct Account {
    /// Name or address of the server.
    pub host: String,
    /// TCP port; the usual one of IMAP when there is none.
    pub port: Option<u16>,
    /// Who logs in.
    pub user: String,
    /// By which password.
    pub password: SecretString,
}

/// How far a mailbox was looked through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Position {
    /// By IMAP: numbers grow while the validity is the same.
    Numbers {
        /// The validity of the numbers.
        validity: u32,
        /// The last number that was seen.
        last: u32,
    },
    /// By POP3: the ids of all e-mails that are there.
    Ids(Vec<String>),
}

impl Position {
    /// Whether e-mails that were found at an earlier position are still known by the same numbers.
    pub fn continues(&self, earlier: &Self) -> bool {
        match (self, earlier) {
            (Self::Numbers { validity, .. }, Self::Numbers { validity: earlier, .. }) => validity == earlier,
            (Self::Ids(_), Self::Ids(_)) => true,
            _ => false,
        }
    }
}

/// An e-mail as it lies in the mailbox.
pub struct Letter {
    /// Headers and body.
    pub content: Vec<u8>,
    /// Whether that is only its beginning.
    pub is_cut: bool,
}

/// A mailbox that is open.
pub struct Mailbox {
    account: Account,
    session: Session,
}

enum Session {
    Imap(Imap),
    Pop(Pop),
}

/// What went wrong with a server.
enum Failure {
    /// The way to it, or its way to speak.
    Broken(String),
    /// It refused.
    Refused(String),
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Broken(error.to_string())
    }
}

impl Mailbox {
    /// Connects and logs in.
    pub async fn open(account: Account) -> Result<Self> {
        let opened = timeout(OPEN_LIMIT, Session::open(&account)).await;
        match opened.unwrap_or_else(|_| Err(silence())) {
            Ok(session) => Ok(Self { account, session }),
            Err(failure) => Err(account.error(failure)),
        }
    }

    /// What is new since a position, the oldest first, and the position that this leads to. Without a position, and after
    /// the server has numbered its e-mails anew: what nobody has read that came since a time.
    pub async fn look(&mut self, position: Option<&Position>, since: NaiveDateTime) -> Result<(Position, Vec<String>)> {
        let found = async {
            match &mut self.session {
                Session::Imap(imap) => imap.look(position, since).await,
                Session::Pop(pop) => pop.look(position, since).await,
            }
        };
        let found = timeout(ANSWER_LIMIT, found).await.unwrap_or_else(|_| Err(silence()));
        found.map_err(|failure| self.account.error(failure))
    }

    /// An e-mail; `None` when it is gone.
    pub async fn read(&mut self, id: &str) -> Result<Option<Letter>> {
        let read = async {
            match &mut self.session {
                Session::Imap(imap) => imap.read(id).await,
                Session::Pop(pop) => pop.read(id).await,
            }
        };
        let read = timeout(ANSWER_LIMIT, read).await.unwrap_or_else(|_| Err(silence()));
        read.map_err(|failure| self.account.error(failure))
    }

    /// Marks e-mails as read, where the protocol knows of that.
    pub async fn mark_read(&mut self, ids: &[String]) -> Result<()> {
        let Session::Imap(imap) = &mut self.session else {
            return Ok(());
        };
        let marked = timeout(ANSWER_LIMIT, imap.mark_read(ids)).await;
        let marked = marked.unwrap_or_else(|_| Err(silence()));
        marked.map_err(|failure| self.account.error(failure))
    }

    /// Says good-bye.
    pub async fn close(self) {
        let good_bye = async {
            match self.session {
                Session::Imap(imap) => imap.close().await,
                Session::Pop(pop) => pop.close().await,
            }
        };
        // The connection ends either way.
        let _ = timeout(Duration::from_secs(2), good_bye).await;
    }
}

impl Session {
    async fn open(account: &Account) -> Result<Self, Failure> {
        let (wire, protocol) = Wire::open(account).await?;
        Ok(match protocol {
            Protocol::Imap => Self::Imap(Imap::log_in(wire, account).await?),
            Protocol::Pop => Self::Pop(Pop::log_in(wire, account).await?),
        })
    }
}

impl Account {
    /// Host and port.
    fn place(&self) -> String {
        let port = self.port.map_or_else(String::new, |port| format!(":{port}"));
        format!("{}{port}", self.host)
    }

    fn error(&self, failure: Failure) -> Error {
        let (outcome, what, text) = match failure {
            Failure::Broken(text) => (Outcome::NotSent, "cannot be read", text),
            Failure::Refused(text) => (Outcome::NotDone, "refused", text),
        };
        let text = if shows_credentials(&text, &self.user, self.password.expose_secret()) {
            "it answered with the credentials".to_owned()
        } else {
            let letters = text
                .chars()
                .map(|letter| if letter.is_control() { ' ' } else { letter });
            letters.take(500).collect()
        };
        Error::Provider(Box::new(ProviderError {
            service: "email",
            message: format!("the mailbox at {} {what}: {text}", self.place()),
            outcome,
            response: None,
        }))
    }
}

fn silence() -> Failure {
    Failure::Broken("no answer in time".to_owned())
}
