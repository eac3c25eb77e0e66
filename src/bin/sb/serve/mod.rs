//! `sb serve`: the HTTP API on a socket, and the feed of events.
//!
//! Each thread has a runtime, connections to the database, and its share of the clients; nothing is handed from thread to
//! thread but new clients, what is to be delivered, and what the feed tells. TLS is left to the proxy in front.

mod asked;
mod entrance;
mod feed;
mod metrics;
mod pool;
mod site;
mod tail;
mod worker;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::{self, available_parallelism};
use std::time::Duration;

use clap::Args;
use entrance::{Client, Entrance};
use metrics::Metrics;
use pool::Pool;
use rustix::process::{Resource, getrlimit, setrlimit};
use sb::doors::api::feed::Feed;
use sb::platform::configuration::Configuration;
use sb::platform::host::PlainHost;
use site::Site;
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::task::{JoinSet, LocalSet, spawn_local};
use tokio::time::timeout;
use worker::Worker;

use crate::failure::{Failure, Result};
use crate::installation::Installation;
use crate::progress::say;

/// What `sb serve` takes.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    installation: Installation,
    /// Where to listen: an address and a port; port 0 for any that is free.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Threads that serve; one for each processor when not given.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=64))]
    threads: Option<u16>,
    /// Connections to the database that each of them may have. Requests beyond them wait.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1000))]
    connections: u16,
}

/// How long requests that have begun are waited for at the end.
const END_LIMIT: Duration = Duration::from_secs(10);

/// How many clients may wait to be accepted.
const BACKLOG: u32 = 1024;

/// What all threads share.
pub struct Shared {
    constants: Arc<BTreeMap<String, String>>,
    connections: usize,
    metrics: Metrics,
    worker: Worker,
    feed: Arc<Feed>,
}

/// Runs `sb serve`.
pub fn run(options: &Options) -> Result<()> {
    let constants = options.installation.constants()?;
    // What is wrong with it is said now, not at the first request.
    Configuration::read(&PlainHost::new(constants.clone()))?;
    let runtime = runtime()?;
    let listener = runtime.block_on(async { listen(options.listen) });
    let listener =
        listener.map_err(|error| Failure::Failed(format!("{} cannot be listened on: {error}", options.listen)))?;
    open_files();
    let (stop, stopped) = watch::channel(false);
    let constants = Arc::new(constants);
    let (worker, jobs) = Worker::new(Arc::clone(&constants));
    let feed = Arc::new(Feed::new()?);
    let shared = Arc::new(Shared {
        constants: Arc::clone(&constants),
        connections: options.connections.into(),
        metrics: Metrics::default(),
        worker,
        feed: Arc::clone(&feed),
    });
    let address = listener.local_addr()?;
    let mut entrance = Entrance::new(listener);
    let count = options.threads.map_or_else(processors, usize::from);
    let mut threads = Vec::with_capacity(count);
    for _ in 0..count {
        let (clients, shared, stopped) = (entrance.add_thread(), Arc::clone(&shared), stopped.clone());
        threads.push(thread::Builder::new().spawn(move || serve(clients, shared, stopped))?);
    }
    say(&format!("Listening on http://{address}"))?;
    let background = LocalSet::new();
    background.block_on(&runtime, async {
        let entrance = spawn_local(entrance.open(stopped.clone()));
        let tail = spawn_local(tail::run(constants, feed, stopped.clone()));
        let jobs = spawn_local(jobs.run(stopped, END_LIMIT));
        let ended = end_asked_for().await;
        // The threads hear of it, and so do the jobs.
        let _ = stop.send(true);
        let _ = entrance.await;
        let _ = jobs.await;
        let _ = tail.await;
        ended
    })?;
    for thread in threads {
        thread
            .join()
            .unwrap_or_else(|_| Err(Failure::Failed("a thread ended early".into())))?;
    }
    Ok(())
}

/// Takes as many files as the system allows: each client is one, and followers of the feed stay.
fn open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Then there are as many as there were.
    let _ = setrlimit(Resource::Nofile, limit);
}

fn processors() -> usize {
    available_parallelism().map_or(1, usize::from)
}

fn runtime() -> Result<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv6() {
        TcpSocket::new_v6()?
    } else {
        TcpSocket::new_v4()?
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Comes back when the process is asked to end.
async fn end_asked_for() -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// One thread: serves clients until there are no more, and what they have begun to its end.
fn serve(clients: UnboundedReceiver<Client>, shared: Arc<Shared>, stopped: watch::Receiver<bool>) -> Result<()> {
    let runtime = runtime()?;
    let local = LocalSet::new();
    local.block_on(&runtime, async {
        let pool = Pool::of(shared.connections);
        let site = Rc::new(Site::new(shared, pool, stopped.clone()));
        serve_all(clients, &site, stopped).await;
        site.close().await;
    });
    // Tasks that are left over hold what belongs to the runtime.
    drop(local);
    Ok(())
}

async fn serve_all(mut clients: UnboundedReceiver<Client>, site: &Rc<Site>, stopped: watch::Receiver<bool>) {
    let mut served = JoinSet::new();
    loop {
        tokio::select! {
            client = clients.recv() => match client {
                Some(client) => {
                    served.spawn_local(site::serve(Rc::clone(site), client, stopped.clone()));
                }
                None => break,
            },
            Some(_) = served.join_next() => {}
        }
    }
    let rest = async { while served.join_next().await.is_some() {} };
    let _ = timeout(END_LIMIT, rest).await;
}
