//! One who follows the feed of a running server: by a WebSocket, or by server-sent events.

use std::io::{BufReader, ErrorKind, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use sb::contract::{Key, Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message, WebSocket, client};

use super::api::Answer;
use super::client::{connect, head, line, read, request};

/// Longer than anything should take.
const LIMIT: Duration = Duration::from_secs(10);

/// What the feed tells.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub id: Option<String>,
    pub name: String,
    pub data: Value,
}

impl Event {
    /// A text in its data.
    pub fn text(&self, name: &'static str) -> &str {
        let value = self.data.get(&Key::from(name));
        value
            .and_then(Value::as_str)
            .unwrap_or_else(|| panic!("{self:?} has no text {name}"))
    }
}

/// One who follows by a WebSocket.
pub struct Following {
    socket: WebSocket<TcpStream>,
}

impl Following {
    /// Follows with a key, from an event on, or from now. The key goes in the first frame, as browsers send it.
    pub fn open(address: &str, key: &str, last_event_id: Option<&str>) -> Self {
        let mut following = Self::knock(address);
        let last = last_event_id.map_or(Value::Null, Value::from);
        let frame = Value::map([
            ("type", "auth".into()),
            ("api_key", format!("sb_live_{key}").into()),
            ("last_event_id", last),
        ]);
        following.say(&json::encode(&frame));
        following
    }

    /// A WebSocket that has said nothing yet.
    pub fn knock(address: &str) -> Self {
        Self::upgrade(address, &[]).unwrap()
    }

    /// A WebSocket whose request has these headers; or the status of the refusal.
    pub fn upgrade(address: &str, headers: &[(&'static str, String)]) -> Result<Self, u16> {
        let mut request: Request = format!("ws://{address}/v1/events").into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        match client(request, connect(address).unwrap()) {
            Ok((socket, _)) => Ok(Self { socket }),
            Err(error) => match error {
                tokio_tungstenite::tungstenite::HandshakeError::Failure(Error::Http(answer)) => {
                    Err(answer.status().as_u16())
                }
                error => panic!("{error}"),
            },
        }
    }

    /// Sends a frame.
    pub fn say(&mut self, text: &str) {
        self.socket.send(Message::text(text)).unwrap();
    }

    /// Sends a frame to a server that may have closed before it is whole.
    pub fn say_anything(&mut self, text: &str) {
        let _ = self.socket.send(Message::text(text));
    }

    /// What it is greeted with.
    pub fn greeted(&mut self) -> Event {
        let hello = self.next();
        assert_eq!(hello.name, "hello");
        hello
    }

    /// The next event, which comes. Who comes and goes meanwhile is of no interest.
    pub fn next(&mut self) -> Event {
        self.within(LIMIT).expect("no event came")
    }

    /// The next event, which comes, or nothing when the connection has ended.
    pub fn next_or_end(&mut self) -> Option<Event> {
        let frame = self.frame(Instant::now() + LIMIT).expect("it stays open");
        frame.ok().map(|text| read_event(&text))
    }

    /// The next event of a name.
    pub fn next_of(&mut self, name: &str) -> Event {
        let end = Instant::now() + LIMIT;
        loop {
            let event = self.any(end).unwrap_or_else(|| panic!("no {name} came"));
            if event.name == name {
                return event;
            }
        }
    }

    /// The next event, if one comes in time, but for who comes and goes.
    pub fn within(&mut self, limit: Duration) -> Option<Event> {
        let end = Instant::now() + limit;
        loop {
            let event = self.any(end)?;
            if event.name != "presence" {
                return Some(event);
            }
        }
    }

    fn any(&mut self, end: Instant) -> Option<Event> {
        match self.frame(end)? {
            Ok(text) => Some(read_event(&text)),
            Err(reason) => panic!("closed: {reason:?}"),
        }
    }

    /// So many events, and no more for a moment.
    pub fn exactly(&mut self, count: usize) -> Vec<Event> {
        let events = (0..count).map(|_| self.next()).collect();
        assert_eq!(self.within(Duration::from_millis(500)), None);
        events
    }

    /// Why the server closes it, after whatever it tells before.
    pub fn closed(&mut self) -> Option<CloseFrame> {
        let end = Instant::now() + LIMIT;
        loop {
            match self.frame(end).expect("it stays open") {
                Ok(_) => {}
                Err(reason) => return reason,
            }
        }
    }

    /// The next frame, or how it ended; nothing, when neither comes in time.
    fn frame(&mut self, end: Instant) -> Option<Result<String, Option<CloseFrame>>> {
        loop {
            let rest = end.checked_duration_since(Instant::now())?;
            self.socket
                .get_ref()
                .set_read_timeout(Some(rest.max(Duration::from_millis(1))))
                .unwrap();
            match self.socket.read() {
                Ok(Message::Text(text)) => return Some(Ok(text.to_string())),
                Ok(Message::Close(reason)) => return Some(Err(reason)),
                Ok(_) => {}
                Err(Error::Io(error)) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => return Some(Err(None)),
            }
        }
    }
}

fn read_event(text: &str) -> Event {
    let frame = json::decode(text.as_bytes()).unwrap();
    let text = |name: &'static str| Some(frame.get(&Key::from(name))?.as_str()?.to_owned());
    Event {
        id: text("id"),
        name: text("event").unwrap(),
        data: frame.get(&Key::from("data")).unwrap().clone(),
    }
}

/// One who follows by server-sent events.
pub struct Listening {
    reader: BufReader<TcpStream>,
    pub headers: Vec<(String, String)>,
    rest: Vec<u8>,
}

impl Listening {
    /// Asks for the feed; or gets a refusal.
    pub fn open(address: &str, target: &str, headers: &[(String, String)]) -> Result<Self, Answer> {
        let mut stream = connect(address).unwrap();
        stream.write_all(&request("GET", target, headers, b"")).unwrap();
        let mut peek = BufReader::new(stream.try_clone().unwrap());
        let mut first = [0; 12];
        stream.peek(&mut first).unwrap();
        if &first[9..] != b"200" {
            return Err(read(&mut peek, "GET").unwrap());
        }
        let (_, headers) = head(&mut peek).unwrap();
        Ok(Self {
            reader: peek,
            headers,
            rest: Vec::new(),
        })
    }

    /// The next event as it stands in the stream: its lines, without the empty one that ends it.
    pub fn next(&mut self) -> Option<Vec<String>> {
        loop {
            if let Some(end) = self.rest.windows(2).position(|pair| pair == b"\n\n") {
                let event: Vec<u8> = self.rest.drain(..end + 2).collect();
                let text = String::from_utf8(event).unwrap();
                return Some(text.trim_end().lines().map(str::to_owned).collect());
            }
            let size = usize::from_str_radix(&line(&mut self.reader)?, 16).unwrap();
            if size == 0 {
                return None;
            }
            let mut chunk = vec![0; size];
            std::io::Read::read_exact(&mut self.reader, &mut chunk).unwrap();
            self.rest.extend(chunk);
            line(&mut self.reader)?;
        }
    }
}
