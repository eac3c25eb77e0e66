//! A small HTTP/1.1 server on the loopback that stands in for an outside service: a test says what it answers, and
//! reads what it was sent.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A running server. It listens as long as the test program lives.
pub struct StandIn {
    address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
}

/// A request that it was sent.
#[derive(Debug, Clone)]
pub struct Received {
    /// The number of the connection that it came by.
    pub connection: usize,
    pub method: String,
    /// As it was sent, without parameters.
    pub path: String,
    /// The parameters of the address, decoded.
    pub query: Vec<(String, String)>,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// As text, U+FFFD for what is none.
    pub body: String,
    pub bytes: Vec<u8>,
}

/// What it does.
pub enum Reply {
    Answer(Answer),
    /// It answers, and closes the connection without having said so.
    AnswerAndHangUp(Answer),
    HangUp,
    Silence,
}

pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl StandIn {
    /// Starts one.
    pub fn start(reply: impl FnMut(&Received) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let received = Arc::<Mutex<Vec<Received>>>::default();
        let reply = Arc::new(Mutex::new(reply));
        let log = Arc::clone(&received);
        thread::spawn(move || {
            for (connection, stream) in listener.incoming().enumerate() {
                let (stream, reply, log) = (stream.unwrap(), Arc::clone(&reply), Arc::clone(&log));
                thread::spawn(move || {
                    serve(connection, &stream, |request| {
                        log.lock().unwrap().push(request.clone());
                        (reply.lock().unwrap())(request)
                    });
                });
            }
        });
        Self { address, received }
    }

    /// Its address, with a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What it was sent so far.
    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

impl Received {
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(header, _)| header == name)?;
        Some(value)
    }
}

impl Reply {
    /// An answer in JSON, of status 200.
    pub fn json(body: impl Into<Vec<u8>>) -> Self {
        Self::of(200, &[("content-type", "application/json; charset=utf-8")], body)
    }

    pub fn of(status: u16, headers: &[(&'static str, &str)], body: impl Into<Vec<u8>>) -> Self {
        Self::Answer(Answer {
            status,
            headers: headers
                .iter()
                .map(|(name, value)| (*name, (*value).to_owned()))
                .collect(),
            body: body.into(),
        })
    }

    pub fn and_hang_up(self) -> Self {
        match self {
            Self::Answer(answer) => Self::AnswerAndHangUp(answer),
            other => other,
        }
    }
}

/// An address where nobody listens.
pub fn nowhere() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// The fields of a form, or the parameters of an address.
pub fn fields(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        })
        .collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next().unwrap(), rest.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).unwrap()
}

/// Serves one connection, until either side closes it.
pub fn serve(connection: usize, stream: impl Read + Write, mut reply: impl FnMut(&Received) -> Reply) {
    let mut stream = BufReader::new(stream);
    while let Some(request) = read(connection, &mut stream) {
        let closes = request.header("connection") == Some("close");
        match reply(&request) {
            Reply::Answer(answer) => write(stream.get_mut(), &answer),
            Reply::AnswerAndHangUp(answer) => return write(stream.get_mut(), &answer),
            Reply::HangUp => return,
            Reply::Silence => thread::sleep(Duration::from_mins(1)),
        }
        if closes {
            return;
        }
    }
}

/// The next request; `None` when there is none any more.
fn read(connection: usize, stream: &mut impl BufRead) -> Option<Received> {
    let mut line = || {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        Some(line.trim_end().to_owned())
    };
    let start = line()?;
    let [method, target, "HTTP/1.1"] = start.split(' ').collect::<Vec<_>>()[..] else {
        return None;
    };
    let mut headers = Vec::new();
    loop {
        let header = line()?;
        let Some((name, value)) = header.split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request = Received {
        connection,
        method: method.to_owned(),
        path: path.to_owned(),
        query: fields(query),
        headers,
        body: String::new(),
        bytes: Vec::new(),
    };
    let length = request
        .header("content-length")
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    request.body = String::from_utf8_lossy(&body).into_owned();
    request.bytes = body;
    Some(request)
}

/// An error of writing is not one of ours: a client may have seen enough.
fn write(stream: &mut impl Write, answer: &Answer) {
    let headers = answer
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"));
    let head = format!(
        "HTTP/1.1 {} Status\r\n{}content-length: {}\r\n\r\n",
        answer.status,
        headers.collect::<String>(),
        answer.body.len(),
    );
    let text = [head.as_bytes(), &answer.body].concat();
    let _ = stream.write_all(&text).and_then(|()| stream.flush());
}
