//! The connection to a mailbox: encrypted as the port says, or as the server offers.

use std::sync::OnceLock;
use std::time::Duration;

use native_tls::TlsConnector;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{Account, Failure};
use crate::platform::reach::is_local;

/// The ports of IMAP and of POP3, encrypted from the first byte (RFC 8314) and not.
const IMAPS: u16 = 993;
const IMAP: u16 = 143;
const POPS: u16 = 995;
const POP: u16 = 110;

/// How long connecting may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// A server that speaks in clear greets at once; one that waits for us so long wants to be spoken to encrypted.
const GREETING_LIMIT: Duration = Duration::from_secs(2);

/// What a line may have, in bytes.
const LINE_LIMIT: usize = 64 << 10;

/// What a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Imap,
    Pop,
}

/// A stream of bytes, encrypted or not.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send + std::fmt::Debug {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send + std::fmt::Debug> Stream for T {}

/// A connection that is spoken on in lines.
pub(super) struct Wire {
    stream: Box<dyn Stream>,
    received: Vec<u8>,
}

impl Wire {
    /// Connects, encrypts where that can be, and hears the greeting, which says the protocol.
    pub(super) async fn open(account: &Account) -> Result<(Self, Protocol), Failure> {
        let port = account.port.unwrap_or(IMAPS);
        if matches!(port, IMAPS | POPS) {
            return Self::open_encrypted(account, port).await;
        }
        let mut wire = Self::new(Box::new(connected(account, port).await?));
        let greeted = timeout(GREETING_LIMIT, wire.greeting()).await;
        let protocol = match greeted {
            Ok(Ok(protocol)) => protocol,
            // It waits for us, or does not know what to say to a client that says nothing.
            _ if !matches!(port, IMAP | POP) => return Self::open_encrypted(account, port).await,
            Ok(Err(failure)) => return Err(failure),
            Err(_) => return Err(Failure::Broken("it does not greet".to_owned())),
        };
        let wire = match protocol {
            Protocol::Imap => wire.offered_by_imap(account).await?,
            Protocol::Pop => wire.offered_by_pop(account).await?,
        };
        Ok((wire, protocol))
    }

    async fn open_encrypted(account: &Account, port: u16) -> Result<(Self, Protocol), Failure> {
        let stream = connected(account, port).await?;
        let mut wire = Self::new(encrypted(Box::new(stream), account).await?);
        let protocol = wire.greeting().await?;
        Ok((wire, protocol))
    }

    fn new(stream: Box<dyn Stream>) -> Self {
        Self {
            stream,
            received: Vec::new(),
        }
    }

    async fn greeting(&mut self) -> Result<Protocol, Failure> {
        let line = self.line().await?;
        if line.starts_with(b"* OK") {
            Ok(Protocol::Imap)
        } else if line.starts_with(b"+OK") {
            Ok(Protocol::Pop)
        } else if line.starts_with(b"* BYE") || line.starts_with(b"-ERR") {
            Err(Failure::Refused(text(&line)))
        } else {
            Err(Failure::Broken("it speaks neither IMAP nor POP3".to_owned()))
        }
    }

    /// STARTTLS of IMAP, where the server offers it.
    async fn offered_by_imap(mut self, account: &Account) -> Result<Self, Failure> {
        self.say("c CAPABILITY").await?;
        let mut is_offered = false;
        loop {
            let line = text(&self.line().await?).to_ascii_uppercase();
            if line.starts_with("* CAPABILITY ") {
                is_offered |= line.split(' ').any(|word| word == "STARTTLS");
            } else if line.starts_with("C ") {
                break;
            }
        }
        if !is_offered {
            return Ok(self);
        }
        self.say("t STARTTLS").await?;
        let answer = text(&self.line().await?);
        if answer.starts_with("t OK") {
            self.encrypt(account).await
        } else {
            Err(Failure::Refused(answer))
        }
    }

    /// STLS of POP3, where the server offers it.
    async fn offered_by_pop(mut self, account: &Account) -> Result<Self, Failure> {
        self.say("CAPA").await?;
        let mut is_offered = false;
        // A server of before RFC 2449 knows no such command.
        if self.line().await?.starts_with(b"+OK") {
            loop {
                let line = self.line().await?;
                is_offered |= line.eq_ignore_ascii_case(b"STLS");
                if line == b"." {
                    break;
                }
            }
        }
        if !is_offered {
            return Ok(self);
        }
        self.say("STLS").await?;
        let answer = text(&self.line().await?);
        if answer.starts_with("+OK") {
            self.encrypt(account).await
        } else {
            Err(Failure::Refused(answer))
        }
    }

    /// What came in clear behind the answer is forgotten: somebody else may have said it.
    async fn encrypt(self, account: &Account) -> Result<Self, Failure> {
        Ok(Self::new(encrypted(self.stream, account).await?))
    }

    /// The bare stream, for who speaks on it in another way.
    pub(super) fn into_stream(self) -> Box<dyn Stream> {
        self.stream
    }

    /// Sends a line.
    pub(super) async fn say(&mut self, line: &str) -> Result<(), Failure> {
        if line.contains(char::is_control) {
            return Err(Failure::Broken("what would be said to it is not one line".to_owned()));
        }
        self.stream.write_all(format!("{line}\r\n").as_bytes()).await?;
        self.stream.flush().await?;
        Ok(())
    }

    /// The next line, without its end.
    pub(super) async fn line(&mut self) -> Result<Vec<u8>, Failure> {
        let mut searched = 0;
        loop {
            let found = self.received.iter().skip(searched).position(|byte| *byte == b'\n');
            if let Some(end) = found.map(|end| searched + end) {
                let mut line: Vec<u8> = self.received.drain(..=end).collect();
                line.pop();
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                return Ok(line);
            }
            searched = self.received.len();
            if searched > LINE_LIMIT {
                return Err(Failure::Broken("a line has no end".to_owned()));
            }
            self.receive().await?;
        }
    }

    /// Reads what has come.
    async fn receive(&mut self) -> Result<(), Failure> {
        self.received.reserve(32 << 10);
        if self.stream.read_buf(&mut self.received).await? == 0 {
            return Err(Failure::Broken("the connection was closed".to_owned()));
        }
        Ok(())
    }

    /// The lines up to one with a full stop alone, with their ends.
    pub(super) async fn lines(&mut self, limit: usize) -> Result<Vec<u8>, Failure> {
        let mut lines = Vec::new();
        loop {
            let line = self.line().await?;
            if line == b"." {
                return Ok(lines);
            }
            // A full stop at the beginning of a line has another before it.
            lines.extend_from_slice(line.strip_prefix(b".").unwrap_or(&line));
            lines.extend_from_slice(b"\r\n");
            if lines.len() > limit {
                return Err(Failure::Broken("an answer has no end".to_owned()));
            }
        }
    }
}

async fn connected(account: &Account, port: u16) -> Result<TcpStream, Failure> {
    let connecting = TcpStream::connect((account.host.trim_matches(['[', ']']), port));
    let connected = timeout(CONNECT_LIMIT, connecting).await;
    connected
        .map_err(|_| Failure::Broken("it cannot be reached in time".to_owned()))?
        .map_err(Failure::from)
}

/// The encryption for servers that have to prove who they are. The certificates of the system are read once, since that
/// takes longer than to fetch e-mails.
static CHECKED: OnceLock<TlsConnector> = OnceLock::new();

async fn encrypted(stream: Box<dyn Stream>, account: &Account) -> Result<Box<dyn Stream>, Failure> {
    let failed = |error: native_tls::Error| Failure::Broken(error.to_string());
    // Nobody stands between us and a server beside us, whose certificate is mostly one that it made for itself.
    let connector = if is_local(&account.host) {
        let unchecked = TlsConnector::builder()
            .danger_accept_invalid_certs(true)
            .danger_accept_invalid_hostnames(true)
            .disable_built_in_roots(true)
            .build();
        unchecked.map_err(failed)?
    } else if let Some(connector) = CHECKED.get() {
        connector.clone()
    } else {
        let connector = TlsConnector::new().map_err(failed)?;
        CHECKED.get_or_init(|| connector).clone()
    };
    let connector = tokio_native_tls::TlsConnector::from(connector);
    let stream = connector.connect(&account.host, stream).await.map_err(failed)?;
    Ok(Box::new(stream))
}

/// A line as text.
pub(super) fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).into_owned()
}
