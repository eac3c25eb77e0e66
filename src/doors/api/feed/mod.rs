//! The feed of events, without a socket: what happened lately, who follows it, and how far each has come.
//!
//! Whoever finds out what happens [adds](Feed::add) it; each follower reads it from there.

mod follower;
mod keys;
mod log;

use std::sync::Arc;
use std::time::Duration;

pub use follower::{Follower, HEARTBEAT, Sign};
use keys::Keys;
pub use log::Entry;
use log::Log;

use tokio::time::timeout;

use super::answer::Answer;
use super::caller::Caller;
use super::failure::{Failure, Refusal};
use super::fields::{Fields, fields};
use super::incoming::Incoming;
use super::routes::{self, Call};
use super::{admit, shared};
use crate::contract::error::Result;
use crate::contract::ids::UserId;
use crate::functions::feed::Happened;
pub use crate::functions::feed::{Presence, Tail, touch};
use crate::platform::Context;
use crate::platform::context::{Process, Request};
use crate::platform::host::Host;

/// Where the feed is.
pub const PATH: &str = "/v1/events";

/// How long whoever comes while the server starts is kept waiting.
const BEGIN_LIMIT: Duration = Duration::from_secs(2);

fields! {
    /// Where the feed begins.
    Beginning {
        /// The id of the last event that was seen: those after it come first. The header Last-Event-ID says the same.
        last_event_id: Option<String>,
    }
}

/// The feed of one server.
pub struct Feed {
    log: Arc<Log>,
    keys: Keys,
}

/// A feed that is opened.
pub struct Opened {
    /// Who follows.
    pub follower: Follower,
    /// The headers of the answer.
    pub headers: Vec<(&'static str, String)>,
}

impl Feed {
    /// A feed in which nothing has happened.
    pub fn new() -> Result<Self> {
        Ok(Self {
            log: Arc::new(Log::new()?),
            keys: Keys::default(),
        })
    }

    /// Begins. Nobody follows before somebody looks for events, and would miss them.
    pub fn begin(&self) {
        self.log.begin();
    }

    /// Tells the followers what happened.
    pub fn add(&self, happened: Vec<Happened>) {
        self.log.add(happened);
    }

    /// Tells the followers that something may be missing from here on.
    pub fn interrupt(&self) {
        self.log.interrupt();
    }

    /// Notes whether an agent or admin is there.
    pub fn note_agents(&self, are_there: bool) {
        self.log.note_agents(are_there);
    }

    /// Ends the followers whose keys do not hold any more.
    pub async fn check_keys(&self, cx: &Context<'_>) -> Result<()> {
        self.keys.check(cx).await
    }

    /// The users who follow by keys of their own.
    pub fn users(&self) -> Vec<UserId> {
        self.keys.users()
    }

    /// How many follow.
    pub fn count(&self) -> usize {
        self.keys.count()
    }

    /// Opens the feed for a request; else gives the refusal.
    pub async fn open(&self, process: &Process, host: &dyn Host) -> Result<Opened, Answer> {
        let incoming = Incoming::read(host, b"");
        let caller = Caller::of(host);
        let request = Request::default();
        let cx = Context::new(&caller, process, &request);
        let mut headers = Vec::new();
        let admitted = self.follow(&cx, &caller, &incoming, &mut headers).await;
        headers.extend(shared::headers(&cx, &incoming).await);
        match admitted {
            Ok(follower) => Ok(Opened { follower, headers }),
            Err(failure) => {
                let mut answer = failure.answer(&incoming);
                answer.headers.extend(headers);
                Err(answer)
            }
        }
    }

    async fn follow(
        &self,
        cx: &Context<'_>,
        caller: &Caller<'_>,
        incoming: &Incoming<'_>,
        headers: &mut Vec<(&'static str, String)>,
    ) -> Result<Follower, Failure> {
        let routes::Found::Route(route, _) = routes::find(incoming) else {
            return Err(Failure::of(Refusal::NotFound));
        };
        let access = admit(cx, caller, incoming, route, headers).await?;
        let access = access.ok_or_else(|| Failure::of(Refusal::Unauthorized))?;
        let beginning = Beginning::read(incoming.parameters())?;
        let last_event = incoming.header("HTTP_LAST_EVENT_ID").or(beginning.last_event_id);
        let last_event = last_event.filter(|id| !id.is_empty());
        if timeout(BEGIN_LIMIT, self.log.begun()).await.is_err() {
            return Err(Failure::unavailable(
                "the feed has not begun; Retry-After says when to try again",
            ));
        }
        let ticket = self.keys.enter(access.key().clone());
        let log = Arc::clone(&self.log);
        Ok(Follower::new(log, ticket, access.customer(), last_event.as_deref()))
    }
}

/// Whether a request is for the feed.
pub fn is_asked(host: &dyn Host) -> bool {
    let incoming = Incoming::read(host, b"");
    incoming.method == "GET" && incoming.path == PATH
}

/// `GET /v1/events`, of a server that keeps no connections.
// Handlers are asynchronous, whether they wait or not.
#[allow(clippy::unused_async)]
pub async fn refuse(_: &Call<'_>) -> Result<Answer, Failure> {
    Err(Failure::of(Refusal::NotFound))
}
