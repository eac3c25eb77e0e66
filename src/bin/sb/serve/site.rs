//! Requests of clients to the library, and its answers back.

use std::cell::RefCell;
use std::convert::Infallible;
use std::io::{self, Write};
use std::net::IpAddr;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::channel::Channel;
use http_body_util::{BodyExt, Either, Full};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use sb::doors::api::feed::Feed;
use sb::doors::api::{self, Answer};
use sb::platform::context::Request as Work;
use sb::platform::settings::Settings;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::{JoinSet, spawn_local};
use tokio::time::timeout;

use super::asked::Asked;
use super::entrance::Client;
use super::pool::Pool;
use super::{END_LIMIT, Shared, feed};

/// The body of an answer: whole, or as it comes.
pub type Body = Either<Full<Bytes>, Channel<Bytes>>;

/// How long a client may take for the head of a request, and how long a connection is kept for the next.
const HEAD_LIMIT: Duration = Duration::from_secs(30);

/// The longest head of a request; a longer one is answered by 431.
const HEAD_SIZE: usize = 64 << 10;

/// How long it may take for the body.
const BODY_TIME: Duration = Duration::from_secs(30);

/// How much of a body that is too large is read, so that the client comes to read the answer.
const DISCARDED: usize = 16 * api::BODY_LIMIT;

/// Serves a client for as long as it stays, or to the end of what it has asked when all is to end.
pub async fn serve(site: Rc<Site>, client: Client, mut stopped: watch::Receiver<bool>) {
    let Client {
        stream,
        address,
        place: _place,
    } = client;
    let Ok(stream) = TcpStream::from_std(stream) else {
        return;
    };
    // Answers are small, and go out whole.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let site = Rc::clone(&site);
        // Large, and gone with the answer: the connection would keep the room for it.
        Box::pin(async move { Ok::<_, Infallible>(site.respond(request, address.ip()).await) })
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_LIMIT)
        .max_header_size(HEAD_SIZE)
        // Who leaves after the last byte of a request has asked for it all the same.
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    // How a client leaves is its own affair.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stopped.wait_for(|stopped| *stopped) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// How long a thread believes what it has read of the settings: not every request asks for them anew.
const BELIEVED_FOR: Duration = Duration::from_secs(1);

/// What one thread serves.
pub struct Site {
    shared: Arc<Shared>,
    pool: Pool,
    stopped: watch::Receiver<bool>,
    /// Those who follow the feed.
    followers: RefCell<JoinSet<()>>,
    settings: RefCell<Option<(Instant, Rc<Settings>)>>,
}

impl Site {
    pub fn new(shared: Arc<Shared>, pool: Pool, stopped: watch::Receiver<bool>) -> Self {
        Self {
            shared,
            pool,
            stopped,
            followers: RefCell::default(),
            settings: RefCell::default(),
        }
    }

    async fn respond(self: Rc<Self>, request: Request<Incoming>, address: IpAddr) -> Response<Body> {
        let started = Instant::now();
        let (parts, body) = request.into_parts();
        if api::feed::is_asked(&Asked::new(&self.shared, &parts, address)) {
            let answer = feed::respond(Rc::clone(&self), Request::from_parts(parts, body), address).await;
            self.shared.metrics.note(answer.status().as_u16(), started.elapsed());
            return answer;
        }
        let Some(body) = read(body).await else {
            return carried(api::too_slow(&Asked::new(&self.shared, &parts, address)));
        };
        let site = Rc::clone(&self);
        // By itself: a client that leaves does not break off what was begun.
        let work = spawn_local(async move { site.answer(&parts, address, &body).await });
        let answer = work.await.unwrap_or_else(|_| Answer::empty(500));
        self.shared.metrics.note(answer.status, started.elapsed());
        carried(answer)
    }

    async fn answer(&self, parts: &Parts, address: IpAddr, body: &[u8]) -> Answer {
        let host = Asked::new(&self.shared, parts, address);
        let process = self.pool.lend().await;
        let started = Instant::now();
        let known = self.settings.borrow().clone();
        let known = known.filter(|(read, _)| read.elapsed() < BELIEVED_FOR);
        let work = known
            .as_ref()
            .map_or_else(Work::default, |(_, settings)| Work::with_settings(Rc::clone(settings)));
        let answer = api::answer(&process, &host, &work, body).await;
        process.give_back();
        if known.is_none()
            && let Some(settings) = work.known_settings()
        {
            self.settings.replace(Some((started, settings)));
        }
        self.shared.worker.deliver(work.take_deliveries());
        answer
    }

    /// What all threads share.
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// The connections to the database.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The feed of events.
    pub fn feed(&self) -> &Feed {
        &self.shared.feed
    }

    /// Tells when all is to end.
    pub fn stopped(&self) -> watch::Receiver<bool> {
        self.stopped.clone()
    }

    /// Lets somebody follow the feed.
    pub fn follow(&self, follower: impl Future<Output = ()> + 'static) {
        let mut followers = self.followers.borrow_mut();
        while followers.try_join_next().is_some() {}
        followers.spawn_local(follower);
    }

    /// Waits for those who follow the feed, and says goodbye to the database.
    pub async fn close(&self) {
        let mut followers = self.followers.take();
        let rest = async { while followers.join_next().await.is_some() {} };
        let _ = timeout(END_LIMIT, rest).await;
        self.pool.close().await;
    }
}

/// The body of a request, or enough of it to see that it is too long; `None` when it does not come.
async fn read(mut body: Incoming) -> Option<Vec<u8>> {
    let mut bytes =
        Vec::with_capacity(usize::try_from(body.size_hint().lower()).map_or(0, |size| size.min(api::BODY_LIMIT)));
    let mut length = 0;
    let all = async {
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.ok()?.into_data() else { continue };
            length += data.len();
            let room = (api::BODY_LIMIT + 1).saturating_sub(bytes.len());
            bytes.extend(data.iter().take(room));
            if length > DISCARDED {
                break;
            }
        }
        Some(())
    };
    timeout(BODY_TIME, all).await.ok()??;
    Some(bytes)
}

/// An answer as it is sent. What failed goes to the log.
pub fn carried(answer: Answer) -> Response<Body> {
    if let Some(failure) = &answer.failure {
        let _ = writeln!(io::stderr(), "sb: {failure}");
    }
    let mut builder = Response::builder().status(answer.status);
    for (name, value) in answer.headers {
        builder = builder.header(name, value);
    }
    // What cannot stand in a header came with the request.
    builder.body(Either::Left(Full::from(answer.body))).unwrap_or_else(|_| {
        let mut response = Response::new(Either::Left(Full::default()));
        *response.status_mut() = hyper::StatusCode::INTERNAL_SERVER_ERROR;
        response
    })
}
