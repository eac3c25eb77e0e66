//! The feed of events on a socket: as a WebSocket, or as server-sent events.

use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use http_body_util::Either;
use http_body_util::channel::{Channel, Sender};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    AUTHORIZATION, CONNECTION, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use hyper::http::request::Parts;
use hyper::upgrade::Upgraded;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use sb::contract::{Key, Value, json};
use sb::doors::api::Answer;
use sb::doors::api::feed::{Follower, HEARTBEAT, Opened, Sign};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use super::asked::Asked;
use super::site::{Body, Site, carried};

/// How long a client may take to send its key.
const KEY_LIMIT: Duration = Duration::from_secs(10);

/// How long it may take to read what is sent.
const SEND_LIMIT: Duration = Duration::from_secs(30);

/// A client that answers to no heartbeat for so long is gone.
const SILENCE_LIMIT: Duration = Duration::from_secs(65);

/// The longest frame that a client may send.
const FRAME_LIMIT: usize = 64 << 10;

/// What a connection reads at once. There may be thousands, and hardly any sends anything.
const READ_SIZE: usize = 1 << 10;

/// After how many milliseconds a client of server-sent events comes back.
const RETRY: u32 = 1_000;

type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// Why a WebSocket is closed.
type Reason = (CloseCode, String);

/// Answers a request for the feed.
pub async fn respond(site: Rc<Site>, mut request: Request<Incoming>, address: IpAddr) -> Response<Body> {
    let Some(accept) = accepted(request.headers()) else {
        let (parts, _) = request.into_parts();
        return match open(&site, &parts, address).await {
            Ok(opened) => events(&site, opened),
            Err(answer) => carried(answer),
        };
    };
    let upgrade = hyper::upgrade::on(&mut request);
    let (parts, _) = request.into_parts();
    let follower = if parts.headers.contains_key(AUTHORIZATION) {
        match open(&site, &parts, address).await {
            Ok(opened) => Some(opened.follower),
            Err(answer) => return carried(answer),
        }
    } else {
        None
    };
    let own = Rc::clone(&site);
    site.follow(async move {
        if let Ok(upgraded) = upgrade.await {
            serve(&own, upgraded, parts, address, follower).await;
        }
    });
    carried(
        Answer::empty(101)
            .with("Connection", "Upgrade")
            .with("Upgrade", "websocket")
            .with("Sec-WebSocket-Accept", accept),
    )
}

async fn open(site: &Site, parts: &Parts, address: IpAddr) -> Result<Opened, Answer> {
    let host = Asked::new(site.shared(), parts, address);
    let process = site.pool().lend().await;
    // Its state is large, and ends before that of the connection, which would have room for it for as long as it lasts.
    let opened = Box::pin(site.feed().open(&process, &host)).await;
    process.give_back();
    opened
}

/// What a request for a WebSocket (RFC 6455) is answered; `None` when it is none.
fn accepted(headers: &HeaderMap) -> Option<String> {
    let has = |name: HeaderName, word: &str| {
        let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        let mut words = values.flat_map(|value| value.split(','));
        words.any(|own| own.trim().eq_ignore_ascii_case(word))
    };
    let is_asked = has(UPGRADE, "websocket") && has(CONNECTION, "upgrade") && has(SEC_WEBSOCKET_VERSION, "13");
    let key = headers.get(SEC_WEBSOCKET_KEY).filter(|_| is_asked)?;
    Some(derive_accept_key(key.as_bytes()))
}

/// Serves a WebSocket until one side ends it.
async fn serve(site: &Site, upgraded: Upgraded, mut parts: Parts, address: IpAddr, follower: Option<Follower>) {
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_SIZE)
        .write_buffer_size(0)
        .max_message_size(Some(FRAME_LIMIT))
        .max_frame_size(Some(FRAME_LIMIT));
    let mut socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await;
    let follower = match follower {
        Some(follower) => Ok(follower),
        None => admitted(site, &mut socket, &mut parts, address).await,
    };
    drop(parts);
    let reason = match follower {
        Ok(follower) => exchange(&mut socket, follower, site.stopped()).await,
        Err(reason) => Some(reason),
    };
    if let Some((code, reason)) = reason {
        let reason = reason.into();
        let _ = timeout(SEND_LIMIT, socket.close(Some(CloseFrame { code, reason }))).await;
    }
}

/// The follower, by the first frame: `{"type": "auth", "api_key": …, "last_event_id": …}`. What it says is what the request
/// would have said in its headers, if scripts could send them.
async fn admitted(site: &Site, socket: &mut Socket, parts: &mut Parts, address: IpAddr) -> Result<Follower, Reason> {
    let refused = |reason: &str| (CloseCode::Policy, reason.to_owned());
    let frame = timeout(KEY_LIMIT, first_frame(socket)).await;
    // A slow one may come again.
    let frame = frame.map_err(|_| (CloseCode::Again, "no API key was sent".to_owned()))?;
    let frame = frame.ok_or_else(|| refused("no API key was sent"))?;
    let frame = json::decode(frame.as_bytes()).unwrap_or_default();
    let text = |name: &'static str| frame.get(&Key::from(name)).and_then(Value::as_str);
    let key = text("api_key").filter(|_| text("type") == Some("auth"));
    let key = key.and_then(|key| HeaderValue::try_from(format!("Bearer {key}")).ok());
    let key = key.ok_or_else(|| refused("the first frame must be of the type auth, with an api_key"))?;
    parts.headers.insert(AUTHORIZATION, key);
    if let Some(last) = text("last_event_id").and_then(|id| HeaderValue::try_from(id).ok()) {
        parts.headers.insert("last-event-id", last);
    }
    match open(site, parts, address).await {
        Ok(opened) => Ok(opened.follower),
        Err(answer) if answer.status >= 500 => Err((CloseCode::Again, "unavailable".to_owned())),
        Err(answer) => Err(refused(code_of(&answer).as_deref().unwrap_or("refused"))),
    }
}

async fn first_frame(socket: &mut Socket) -> Option<Utf8Bytes> {
    loop {
        match socket.next().await?.ok()? {
            Message::Text(text) => return Some(text),
            Message::Ping(_) | Message::Pong(_) => {}
            _ => return None,
        }
    }
}

/// The code of a refusal.
fn code_of(answer: &Answer) -> Option<String> {
    let body = json::decode(&answer.body)?;
    let first = body.get(&"errors".into())?.get(&Key::Int(0))?;
    first.get(&"code".into())?.as_str().map(str::to_owned)
}

/// Sends what happens, until one side ends it: then why, unless the client has left.
async fn exchange(socket: &mut Socket, mut follower: Follower, mut stopped: watch::Receiver<bool>) -> Option<Reason> {
    send(socket, frame(None, "hello", &hello(&follower))).await?;
    let mut heard = Instant::now();
    loop {
        tokio::select! {
            sign = follower.next() => match sign {
                Sign::Event(entry) => send(socket, frame(Some(&entry.id), entry.name, &entry.data)).await?,
                Sign::Resync(id) => send(socket, frame(Some(&id), "resync", &place(&id))).await?,
                Sign::Heartbeat if heard.elapsed() > SILENCE_LIMIT => return None,
                Sign::Heartbeat => {
                    send(socket, frame(None, "heartbeat", "{}")).await?;
                    // It shows whether the client is there still: scripts do not see it, browsers answer it.
                    timeout(SEND_LIMIT, socket.send(Message::Ping(Bytes::new()))).await.ok()?.ok()?;
                }
                Sign::Ended => return Some((CloseCode::Policy, "unauthorized".to_owned())),
            },
            message = socket.next() => match message {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(_)) => heard = Instant::now(),
            },
            _ = stopped.wait_for(|stopped| *stopped) => {
                return Some((CloseCode::Away, "the server ends".to_owned()));
            }
        }
    }
}

/// Sends a frame; `None` when the client does not take it.
async fn send(socket: &mut Socket, frame: String) -> Option<()> {
    timeout(SEND_LIMIT, socket.send(Message::text(frame))).await.ok()?.ok()
}

fn frame(id: Option<&str>, name: &str, data: &str) -> String {
    match id {
        // Ids are hexadecimal digits, a dash and a number.
        Some(id) => format!(r#"{{"id":"{id}","event":"{name}","data":{data}}}"#),
        None => format!(r#"{{"event":"{name}","data":{data}}}"#),
    }
}

fn hello(follower: &Follower) -> String {
    let (heartbeat, place, agents) = (HEARTBEAT.as_secs(), follower.place(), follower.has_agents());
    format!(r#"{{"heartbeat":{heartbeat},"last_event_id":"{place}","agents_online":{agents}}}"#)
}

fn place(id: &str) -> String {
    format!(r#"{{"last_event_id":"{id}"}}"#)
}

/// The answer that is a stream of server-sent events.
fn events(site: &Site, opened: Opened) -> Response<Body> {
    let (sender, body) = Channel::new(1);
    site.follow(stream(opened.follower, sender, site.stopped()));
    let mut answer = Answer::empty(200)
        .with("Content-Type", "text/event-stream")
        // A proxy is not to wait for more.
        .with("X-Accel-Buffering", "no");
    answer.headers.extend(opened.headers);
    carried(answer).map(|_| Either::Right(body))
}

/// Sends server-sent events, until one side ends it.
async fn stream(mut follower: Follower, mut sender: Sender<Bytes>, mut stopped: watch::Receiver<bool>) {
    let id = follower.place();
    let mut text = format!("retry: {RETRY}\n{}", event(Some(&id), "hello", &hello(&follower)));
    loop {
        match timeout(SEND_LIMIT, sender.send_data(text.into())).await {
            Ok(Ok(())) => {}
            _ => return,
        }
        text = tokio::select! {
            sign = follower.next() => match sign {
                Sign::Event(entry) => event(Some(&entry.id), entry.name, &entry.data),
                Sign::Resync(id) => event(Some(&id), "resync", &place(&id)),
                Sign::Heartbeat => event(None, "heartbeat", "{}"),
                Sign::Ended => return,
            },
            _ = stopped.wait_for(|stopped| *stopped) => return,
        };
    }
}

/// An event as the HTML standard has it. JSON has no line break.
fn event(id: Option<&str>, name: &str, data: &str) -> String {
    let id = id.map_or_else(String::new, |id| format!("id: {id}\n"));
    format!("{id}event: {name}\ndata: {data}\n\n")
}
