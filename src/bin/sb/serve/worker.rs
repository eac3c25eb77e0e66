//! What is done beside the requests: deliveries of the outbox, and the jobs of each hour.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use sb::contract::{Arguments, Result};
use sb::functions::{self, deliver_all, deliver_due};
use sb::platform::Context;
use sb::platform::context::Request;
use sb::platform::host::PlainHost;
use sb::platform::outbox::Recorded;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet, spawn_local};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::pool::Pool;

/// How many receivers are waited for at a time.
const PLACES: usize = 4;

/// How often the outbox is looked through for what is to be tried again, and the jobs are asked whether they are due.
const TURN: Duration = Duration::from_secs(5);

/// The entrance, for all threads.
pub struct Worker(UnboundedSender<Vec<Recorded>>);

/// The work.
pub struct Jobs {
    incoming: UnboundedReceiver<Vec<Recorded>>,
    constants: Arc<BTreeMap<String, String>>,
    pool: Rc<Pool>,
}

impl Worker {
    /// Both ends.
    pub fn new(constants: Arc<BTreeMap<String, String>>) -> (Self, Jobs) {
        let (sender, incoming) = unbounded_channel();
        let jobs = Jobs {
            incoming,
            constants,
            pool: Rc::new(Pool::of(PLACES)),
        };
        (Self(sender), jobs)
    }

    /// Takes over what follows the writes of a request.
    pub fn deliver(&self, recorded: Vec<Recorded>) {
        if !recorded.is_empty() {
            // At the end of the process they stay in the outbox.
            let _ = self.0.send(recorded);
        }
    }
}

impl Jobs {
    /// Works until it is stopped, and then for `end_limit` on what it has begun.
    pub async fn run(mut self, mut stopped: watch::Receiver<bool>, end_limit: Duration) {
        let mut deliveries = JoinSet::new();
        let mut turn: Option<JoinHandle<()>> = None;
        let mut turns = interval(TURN);
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                Some(recorded) = self.incoming.recv() => {
                    deliveries.spawn_local(self.work(async |cx| {
                        cx.after_commit(recorded);
                        Ok(())
                    }));
                }
                _ = turns.tick() => {
                    if turn.as_ref().is_none_or(JoinHandle::is_finished) {
                        turn = Some(spawn_local(self.work(take_turn)));
                    }
                }
                Some(_) = deliveries.join_next() => {}
                _ = stopped.wait_for(|stopped| *stopped) => break,
            }
        }
        let rest = async {
            while deliveries.join_next().await.is_some() {}
            if let Some(turn) = turn {
                let _ = turn.await;
            }
        };
        let _ = timeout(end_limit, rest).await;
        self.pool.close().await;
    }

    /// Does something with a process of its own. What fails is told, and comes again.
    fn work(&self, work: impl AsyncFnOnce(&Context<'_>) -> Result<()> + 'static) -> impl Future<Output = ()> + 'static {
        let (pool, constants) = (Rc::clone(&self.pool), Arc::clone(&self.constants));
        async move {
            let host = PlainHost::new(constants.as_ref().clone());
            let process = pool.lend().await;
            let request = Request::default();
            let cx = Context::new(&host, &process, &request);
            let mut done = work(&cx).await;
            if done.is_ok() {
                done = deliver_all(&cx).await;
            }
            if let Err(error) = done {
                let _ = writeln!(io::stderr(), "sb: in the background: {error} ({})", error.code());
            }
            process.give_back();
        }
    }
}

async fn take_turn(cx: &Context<'_>) -> Result<()> {
    while deliver_due(cx).await? > 0 {}
    if let Some(jobs) = functions::find("sb_cron_jobs") {
        jobs.call(cx, Arguments::of_values([])).await?;
    }
    Ok(())
}
