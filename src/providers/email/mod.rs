//! E-mail: its form (RFC 5322, MIME), and the sender of the settings.

mod charset;
mod html;
mod incoming;
mod mime;
mod quotation;
mod report;
mod winmail;

use std::time::{Duration, UNIX_EPOCH};

use chrono::NaiveDateTime;
pub use html::plain_text;
pub use incoming::{Attachment, Incoming, Kind};
use lettre::Message;
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};
pub use quotation::{above, without_quotation, without_signature};
pub use report::Report;

use crate::contract::args::Argument;
use crate::contract::error::{Error, Result};
use crate::platform::Context;
use crate::platform::crypto;
use crate::platform::reach::{is_local, reach};
use crate::platform::smtp::{Address, Encryption, Server};

/// The port of mail servers that are encrypted from the first byte (RFC 8314).
const TLS_PORT: u16 = 465;

/// The port for handing e-mail in (RFC 6409).
const SUBMISSION_PORT: u16 = 587;

/// How long a server is awaited that is only looked for.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// What a subject may have, in characters: a line of an e-mail.
const SUBJECT_LIMIT: usize = 998;

/// What the two forms of a text may have, in bytes each.
const BODY_LIMIT: usize = 10 << 20;

/// An e-mail before it is written.
#[derive(Debug, Clone, Default)]
pub struct Letter {
    /// The address of the one who gets it.
    pub to: String,
    /// The subject.
    pub subject: String,
    /// The text as HTML, a whole document.
    pub html: String,
    /// The same as plain text.
    pub text: String,
    /// What is appended to the sender's name.
    pub sender_suffix: String,
    /// Its own id, without brackets; one is made when there is none.
    pub id: Option<String>,
    /// The ids of the e-mails before it in its conversation, the oldest first.
    pub references: Vec<String>,
    /// Name and address of whom answers go to.
    pub reply_to: Option<(String, String)>,
    /// Whether a program wrote it: then no other program should answer.
    pub is_automatic: bool,
}

/// Who sends, and by which server.
pub struct Sender {
    server: Server,
    name: Option<String>,
    address: Address,
}

impl Sender {
    /// The sender of the settings.
    pub async fn of(cx: &Context<'_>) -> Result<Self> {
        let settings = cx.settings().await?;
        let missing = |name| refused(format!("{name} is not set"));
        let host = settings.text("email-server-host").map(|host| host.trim().to_owned());
        let host = host.ok_or_else(|| missing("email-server-host"))?;
        let port = settings.value("email-server-port").and_then(Option::<i64>::from_value);
        let port = match port.flatten() {
            Some(port) => u16::try_from(port).map_err(|_| refused("email-server-port is no port".to_owned()))?,
            None => SUBMISSION_PORT,
        };
        let user = settings.text("email-server-user");
        let login = user.clone().zip(settings.secret("email-server-password"));
        let from = settings.text("email-server-from").or(user);
        let from = from.ok_or_else(|| missing("email-server-from"))?;
        let address = address("email-server-from", &from)?;
        // Nobody stands between us and a server beside us, whose certificate is mostly one that it made for itself.
        let is_local = is_local(&host);
        let server = Server {
            encryption: match port {
                TLS_PORT => Encryption::AtOnce,
                SUBMISSION_PORT if !is_local => Encryption::Required,
                _ => Encryption::Offered,
            },
            host,
            port,
            login,
            domain: address.domain().to_owned(),
            check_certificate: !is_local,
        };
        Ok(Self {
            server,
            name: settings.text("email-sender-name"),
            address,
        })
    }

    /// Whether the settings name a server at all.
    pub async fn is_set(cx: &Context<'_>) -> Result<bool> {
        Ok(cx.settings().await?.text("email-server-host").is_some())
    }

    /// Whether anybody listens at the server's address. Nothing is sent.
    pub async fn reach(&self) -> Result<()> {
        let Server { host, port, .. } = &self.server;
        let reached = reach(host, *port, CONNECT_LIMIT).await;
        reached.map_err(|failure| refused(format!("cannot connect to {host}:{port}: {failure}")))
    }

    /// The domain that ids of e-mails end with.
    pub fn domain(&self) -> &str {
        self.address.domain()
    }

    /// The address that it sends from.
    pub fn address(&self) -> &str {
        self.address.as_ref()
    }

    /// Writes an e-mail and hands it over.
    pub async fn send(&self, cx: &Context<'_>, letter: &Letter) -> Result<()> {
        let to = address("the recipient", &letter.to)?;
        let content = self.write(cx.now(), letter, &to)?;
        cx.smtp().send(&self.server, &self.address, &to, &content).await
    }

    fn write(&self, now: NaiveDateTime, letter: &Letter, to: &Address) -> Result<Vec<u8>> {
        let name = format!("{}{}", self.name.as_deref().unwrap_or_default(), letter.sender_suffix);
        let name = plain("the sender's name", &name)?.trim();
        let name = Some(name.to_owned()).filter(|name| !name.is_empty());
        let subject = plain("the subject", &letter.subject)?;
        if subject.chars().nth(SUBJECT_LIMIT).is_some() {
            return Err(refused("the subject is longer than 998 characters".to_owned()));
        }
        if letter.html.len() > BODY_LIMIT || letter.text.len() > BODY_LIMIT {
            return Err(refused("the message is longer than 10 MiB".to_owned()));
        }
        let id = match &letter.id {
            Some(id) => id.clone(),
            None => format!("{}@{}", crypto::token()?, self.domain()),
        };
        let seconds = u64::try_from(now.and_utc().timestamp()).unwrap_or_default();
        let mut builder = Message::builder()
            .from(Mailbox::new(name, self.address.clone()))
            .to(Mailbox::new(None, to.clone()))
            .subject(subject)
            .date(UNIX_EPOCH + Duration::from_secs(seconds))
            .message_id(Some(format!("<{}>", plain("the id", &id)?)));
        if let Some((name, reply_to)) = &letter.reply_to {
            let name = plain("the name for answers", name)?.to_owned();
            let reply_to = address("the address for answers", reply_to)?;
            builder = builder.reply_to(Mailbox::new(Some(name).filter(|name| !name.is_empty()), reply_to));
        }
        if let Some(last) = letter.references.last() {
            let references = letter.references.iter().map(|id| format!("<{id}>"));
            let references = references.collect::<Vec<_>>().join(" ");
            builder = builder
                .in_reply_to(format!("<{}>", plain("an id", last)?))
                .references(plain("the ids", &references)?.to_owned());
        }
        if letter.is_automatic {
            builder = builder
                .raw_header(header("Auto-Submitted", "auto-generated"))
                .raw_header(header("X-Auto-Response-Suppress", "All"));
        }
        let body = MultiPart::alternative_plain_html(letter.text.clone(), letter.html.clone());
        let message = builder
            .multipart(body)
            .map_err(|error| refused(format!("the e-mail cannot be written: {error}")))?;
        Ok(message.formatted())
    }
}

/// An address, its domain as the name system knows it.
pub fn address(what: &str, text: &str) -> Result<Address> {
    let text = plain(what, text)?.trim();
    let invalid = || refused(format!("{what} is no e-mail address"));
    let (user, domain) = text.rsplit_once('@').ok_or_else(invalid)?;
    let domain = if domain.starts_with('[') {
        domain.to_owned()
    } else {
        idna::domain_to_ascii(domain).map_err(|_| invalid())?
    };
    Address::new(user, domain).map_err(|_| invalid())
}

/// A text without line breaks and other control characters: with them one header could become two.
fn plain<'a>(what: &str, text: &'a str) -> Result<&'a str> {
    if text.contains(char::is_control) {
        Err(refused(format!(
            "{what} holds a line break or another control character"
        )))
    } else {
        Ok(text)
    }
}

fn header(name: &'static str, value: &str) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_owned())
}

fn refused(message: String) -> Error {
    Error::Refused {
        code: "email-error",
        message,
    }
}
