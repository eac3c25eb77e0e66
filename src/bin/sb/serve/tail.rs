//! Looks for what is new in the database, and tells the followers of the feed.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use sb::contract::Result;
use sb::doors::api::feed::{Feed, Presence, Tail, touch};
use sb::platform::configuration::Configuration;
use sb::platform::context::{Process, Request};
use sb::platform::host::PlainHost;
use sb::platform::{Context, wake};
use tokio::net::UnixDatagram;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// How often the database is looked at when nobody wakes us.
const TURN: Duration = Duration::from_millis(200);

/// How long it is left in peace between two looks, however much is written: what came meanwhile is found by one.
const REST: Duration = Duration::from_millis(3);

/// How often it is asked whether the keys of the followers hold, and the tables too.
const CHECK: Duration = Duration::from_secs(1);

/// How often it is seen who is there, and noted that the followers are.
const PRESENCE: Duration = Duration::from_secs(5);

/// Of the time, that takes at most this part: without an index on the activity it reads all users.
const PART: u32 = 50;

/// What follows the database.
struct Watch {
    tail: Tail,
    presence: Presence,
    next_check: Instant,
    next_presence: Instant,
}

/// Follows the database until all is to end.
pub async fn run(constants: Arc<BTreeMap<String, String>>, feed: Arc<Feed>, mut stopped: watch::Receiver<bool>) {
    let host = PlainHost::new(constants.as_ref().clone());
    let socket = listen(&host);
    let process = Process::default();
    let mut watch = None;
    let mut is_failing = false;
    loop {
        let request = Request::default();
        let cx = Context::new(&host, &process, &request);
        let done = turn(&cx, &feed, &mut watch).await;
        if let Err(error) = &done
            && !is_failing
        {
            let _ = writeln!(io::stderr(), "sb: the feed waits: {error} ({})", error.code());
        }
        is_failing = done.is_err();
        tokio::select! {
            () = async { sleep(REST).await; woken(socket.as_ref()).await } => {}
            () = sleep(TURN) => {}
            _ = stopped.wait_for(|stopped| *stopped) => break,
        }
    }
    process.shut_down().await;
}

async fn turn(cx: &Context<'_>, feed: &Feed, watch: &mut Option<Watch>) -> Result<()> {
    let watch = if let Some(watch) = watch {
        watch
    } else {
        let begun = watch.insert(Watch::begin(cx, feed).await?);
        feed.begin();
        begun
    };
    feed.add(watch.tail.look(cx).await?);
    let now = Instant::now();
    if now >= watch.next_check {
        watch.next_check = now + CHECK;
        feed.check_keys(cx).await?;
        if !watch.tail.holds(cx).await? {
            watch.tail = Tail::begin(cx).await?;
            feed.interrupt();
        }
    }
    if now >= watch.next_presence {
        touch(cx, &feed.users()).await?;
        let presence = Presence::read(cx).await?;
        feed.note_agents(presence.has_agents());
        feed.add(presence.since(&watch.presence));
        watch.presence = presence;
        let end = Instant::now();
        watch.next_presence = end + PRESENCE.max((end - now) * PART);
    }
    Ok(())
}

impl Watch {
    async fn begin(cx: &Context<'_>, feed: &Feed) -> Result<Self> {
        let tail = Tail::begin(cx).await?;
        let presence = Presence::read(cx).await?;
        feed.note_agents(presence.has_agents());
        let now = Instant::now();
        Ok(Self {
            tail,
            presence,
            next_check: now + CHECK,
            next_presence: now + PRESENCE,
        })
    }
}

/// Where writers of this machine say that there is something new. Without it everything is found too, but later.
fn listen(host: &PlainHost) -> Option<UnixDatagram> {
    let configuration = Configuration::read(host).ok()?;
    let socket = wake::listen(&configuration.database).ok()?;
    UnixDatagram::from_std(socket).ok()
}

/// Comes back when a writer says so; however many said it meanwhile.
async fn woken(socket: Option<&UnixDatagram>) {
    let Some(socket) = socket else {
        return std::future::pending().await;
    };
    if socket.recv(&mut [0; 1]).await.is_ok() {
        while socket.try_recv(&mut [0; 1]).is_ok() {}
    }
}
