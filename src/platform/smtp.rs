//! The way to a mail server: the only room that knows the SMTP client (RFC 5321).
//!
//! One connection is held per [`Smtp`], for the next e-mail to the same server. What was not yet handed over when that
//! connection turns out to be dead goes by a new one; once the content is on its way nothing is sent again, since nobody
//! knows then whether the server has it.

use std::cell::{Cell, RefCell};
use std::error::Error as _;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
pub use lettre::Address;
use lettre::transport::smtp;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::{ClientId, Extension, MailBodyParameter, MailParameter};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::timeout;

use crate::contract::error::{Error, Outcome, ProviderError, Result};

/// How long a connection is kept for the next e-mail: less than servers keep theirs.
const IDLE_LIMIT: Duration = Duration::from_secs(20);

/// How long the end of the process waits for a good-bye.
const QUIT_LIMIT: Duration = Duration::from_secs(1);

/// The code of a server that closes the connection.
const GOING: &str = "421";

/// What is shown of a server's text, in characters.
const TEXT_LIMIT: usize = 500;

/// How long to wait for a mail server.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The limit of connecting: name and TCP.
    pub connect: Duration,
    /// The limit of one e-mail, from connecting to the server's last word.
    pub total: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            total: Duration::from_secs(30),
        }
    }
}

/// A mail server and how to get in.
#[derive(Debug, Clone)]
pub struct Server {
    /// Name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// When the connection becomes an encrypted one.
    pub encryption: Encryption,
    /// User and password.
    pub login: Option<(String, SecretString)>,
    /// The domain that the client introduces itself by.
    pub domain: String,
    /// Whether the certificate must be one that the system trusts.
    pub check_certificate: bool,
}

/// When a connection becomes an encrypted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encryption {
    /// From the first byte (RFC 8314).
    AtOnce,
    /// By STARTTLS (RFC 3207), before anything else is said.
    Required,
    /// By STARTTLS, when the server offers it.
    Offered,
}

/// The connection of a process.
#[derive(Default)]
pub struct Smtp {
    limits: Limits,
    held: RefCell<Option<Held>>,
}

struct Held {
    connection: AsyncSmtpConnection,
    server: Server,
    last_used: Instant,
}

/// Where in its talk with the server an e-mail failed.
enum Failure {
    /// Before the server was there to listen.
    Opening(smtp::Error),
    /// At the login.
    Login(smtp::Error),
    /// Before the content was on its way.
    Envelope(smtp::Error),
    /// With it.
    Content(smtp::Error),
    /// The server cannot take such an e-mail, or must not get it.
    Unfit(&'static str),
}

impl Smtp {
    /// A connection with other limits than the usual ones.
    pub fn with_limits(limits: Limits) -> Self {
        Self {
            limits,
            held: RefCell::default(),
        }
    }

    /// Hands an e-mail over: headers and body as they travel.
    pub async fn send(&self, server: &Server, from: &Address, to: &Address, content: &[u8]) -> Result<()> {
        let is_under_way = Cell::new(false);
        let sent = timeout(
            self.limits.total,
            self.try_send(server, from, to, content, &is_under_way),
        );
        match sent.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(failure)) => Err(server.failed(&failure)),
            Err(_) => {
                let outcome = if is_under_way.get() {
                    Outcome::Unknown
                } else {
                    Outcome::NotSent
                };
                let message = format!("{} did not answer within {:?}", server.place(), self.limits.total);
                Err(server.error(message, outcome))
            }
        }
    }

    /// Ends the connection, politely when the server answers soon.
    pub async fn disconnect(&self) {
        let held = self.held.take();
        if let Some(mut held) = held {
            // It ends either way.
            let _ = timeout(QUIT_LIMIT, held.connection.quit()).await;
        }
    }

    async fn try_send(
        &self,
        server: &Server,
        from: &Address,
        to: &Address,
        content: &[u8],
        is_under_way: &Cell<bool>,
    ) -> Result<(), Failure> {
        if let Some(mut connection) = self.take(server) {
            match hand_over(&mut connection, from, to, content, is_under_way).await {
                // The server has closed it meanwhile, or is about to.
                Err(Failure::Envelope(error)) if ends_connection(&error) => {}
                Err(failure) => return Err(failure),
                Ok(()) => {
                    self.keep(connection, server);
                    return Ok(());
                }
            }
        }
        let mut connection = self.open(server).await?;
        hand_over(&mut connection, from, to, content, is_under_way).await?;
        self.keep(connection, server);
        Ok(())
    }

    /// The held connection, when it leads to this server and is not too old.
    fn take(&self, server: &Server) -> Option<AsyncSmtpConnection> {
        let held = self.held.take()?;
        (held.server == *server && held.last_used.elapsed() < IDLE_LIMIT).then_some(held.connection)
    }

    fn keep(&self, connection: AsyncSmtpConnection, server: &Server) {
        self.held.replace(Some(Held {
            connection,
            server: server.clone(),
            last_used: Instant::now(),
        }));
    }

    async fn open(&self, server: &Server) -> Result<AsyncSmtpConnection, Failure> {
        let name = ClientId::Domain(server.domain.clone());
        let tls = |server: &Server| server.tls().map_err(Failure::Opening);
        let implicit = match server.encryption {
            Encryption::AtOnce => Some(tls(server)?),
            Encryption::Required | Encryption::Offered => None,
        };
        let place = (server.host.as_str(), server.port);
        let limit = Some(self.limits.connect);
        let mut connection = AsyncSmtpConnection::connect_tokio1(place, limit, &name, implicit, None)
            .await
            .map_err(Failure::Opening)?;
        if connection.can_starttls() {
            connection
                .starttls(tls(server)?, &name)
                .await
                .map_err(Failure::Opening)?;
        } else if server.encryption == Encryption::Required {
            return Err(Failure::Unfit("does not offer STARTTLS"));
        }
        if let Some((user, password)) = &server.login {
            let credentials = Credentials::new(user.clone(), password.expose_secret().to_owned());
            connection
                .auth(&[Mechanism::Plain, Mechanism::Login], &credentials)
                .await
                .map_err(Failure::Login)?;
        }
        Ok(connection)
    }
}

async fn hand_over(
    connection: &mut AsyncSmtpConnection,
    from: &Address,
    to: &Address,
    content: &[u8],
    is_under_way: &Cell<bool>,
) -> Result<(), Failure> {
    let mut parameters = Vec::new();
    let is_ascii = |address: &Address| AsRef::<str>::as_ref(address).is_ascii();
    if !is_ascii(from) || !is_ascii(to) {
        if !connection.server_info().supports_feature(Extension::SmtpUtfEight) {
            return Err(Failure::Unfit("takes only addresses of ASCII letters"));
        }
        parameters.push(MailParameter::SmtpUtfEight);
    }
    if !content.is_ascii() {
        parameters.push(MailParameter::Body(MailBodyParameter::EightBitMime));
    }
    let envelope = async {
        connection.command(Mail::new(Some(from.clone()), parameters)).await?;
        connection.command(Rcpt::new(to.clone(), Vec::new())).await?;
        connection.command(Data).await
    };
    envelope.await.map_err(Failure::Envelope)?;
    is_under_way.set(true);
    // The client ends the last line itself.
    let content = content.strip_suffix(b"\r\n").unwrap_or(content);
    connection.message(content).await.map_err(Failure::Content)?;
    is_under_way.set(false);
    Ok(())
}

impl Server {
    fn tls(&self) -> Result<TlsParameters, smtp::Error> {
        TlsParameters::builder(self.host.clone())
            .dangerous_accept_invalid_certs(!self.check_certificate)
            .dangerous_accept_invalid_hostnames(!self.check_certificate)
            .build()
    }

    /// Host and port.
    fn place(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    fn failed(&self, failure: &Failure) -> Error {
        let place = self.place();
        let (error, what) = match failure {
            Failure::Unfit(why) => return self.error(format!("{place} {why}"), Outcome::NotDone),
            Failure::Opening(error) if error.is_timeout() => {
                return self.error(format!("{place} cannot be reached in time"), Outcome::NotSent);
            }
            Failure::Opening(error) if error.status().is_some() => (error, "refused the connection"),
            Failure::Opening(error) => (error, "cannot be reached"),
            Failure::Login(error) => (error, "refused the login"),
            Failure::Envelope(error) | Failure::Content(error) if error.status().is_some() => {
                (error, "refused the e-mail")
            }
            Failure::Envelope(error) | Failure::Content(error) => (error, "broke off"),
        };
        let outcome = match failure {
            // The server has said that it does not have it.
            _ if error.is_permanent() => Outcome::NotDone,
            _ if error.is_transient() => Outcome::NotSent,
            Failure::Content(_) => Outcome::Unknown,
            _ => Outcome::NotSent,
        };
        self.error(format!("{place} {what}: {}", text_of(error)), outcome)
    }

    fn error(&self, message: String, outcome: Outcome) -> Error {
        Error::Provider(Box::new(ProviderError {
            service: "email",
            message: self.without_credentials(message),
            outcome,
            response: None,
        }))
    }

    /// A text of the server, unless it repeats what it was told at the login.
    fn without_credentials(&self, text: String) -> String {
        let Some((user, password)) = &self.login else {
            return text;
        };
        if shows_credentials(&text, user, password.expose_secret()) {
            format!("{} answered with the credentials", self.place())
        } else {
            text
        }
    }
}

/// Whether a server's text repeats what it is told at a login.
pub fn shows_credentials(text: &str, user: &str, password: &str) -> bool {
    let told = [
        password.to_owned(),
        STANDARD.encode(password),
        STANDARD.encode(format!("\0{user}\0{password}")),
    ];
    told.iter().any(|told| !told.is_empty() && text.contains(told.as_str()))
}

/// Two servers are the same when a connection to one serves the other.
impl PartialEq for Server {
    fn eq(&self, other: &Self) -> bool {
        let login = |server: &Self| {
            let (user, password) = server.login.as_ref()?;
            Some((user.clone(), password.expose_secret().to_owned()))
        };
        self.host == other.host
            && self.port == other.port
            && self.encryption == other.encryption
            && self.domain == other.domain
            && self.check_certificate == other.check_certificate
            && login(self) == login(other)
    }
}

/// Whether the connection is gone, or the server's last word was that it goes.
fn ends_connection(error: &smtp::Error) -> bool {
    error.status().is_none_or(|code| code.to_string() == GOING)
}

/// The code and the text of an answer; of anything else the deepest cause.
fn text_of(error: &smtp::Error) -> String {
    let mut cause = error.source();
    while let Some(deeper) = cause.and_then(std::error::Error::source) {
        cause = Some(deeper);
    }
    let text = cause.map_or_else(|| error.to_string(), ToString::to_string);
    let text = error.status().map_or(text.clone(), |code| format!("{code} {text}"));
    let on_one_line = text
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter });
    on_one_line.take(TEXT_LIMIT).collect()
}
