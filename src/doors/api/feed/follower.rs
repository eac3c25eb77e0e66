//! One who follows the feed: what it gets next.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::keys::Ticket;
use super::log::{Entry, Log};
use crate::contract::ids::UserId;

/// How often something is sent, so that both sides see that the other is there.
pub const HEARTBEAT: Duration = Duration::from_secs(25);

/// How many events are looked at together.
const BATCH: usize = 200;

/// One who follows.
pub struct Follower {
    log: Arc<Log>,
    end: watch::Receiver<u64>,
    ticket: Ticket,
    customer: Option<UserId>,
    next: u64,
    pulse: Instant,
    is_lost: bool,
    waiting: VecDeque<Arc<Entry>>,
}

/// What one who follows gets.
#[derive(Debug)]
pub enum Sign {
    /// An event.
    Event(Arc<Entry>),
    /// Something was missed that is not kept any more. What follows comes after this id.
    Resync(String),
    /// Nothing happened.
    Heartbeat,
    /// The key does not hold any more.
    Ended,
}

impl Follower {
    /// Follows from the event of an id on, or from now.
    pub(super) fn new(log: Arc<Log>, ticket: Ticket, customer: Option<UserId>, last_event: Option<&str>) -> Self {
        let behind = last_event.map(|id| log.behind(id));
        Self {
            end: log.watch(),
            ticket,
            customer,
            next: behind.flatten().unwrap_or_else(|| log.end()),
            pulse: Instant::now() + HEARTBEAT,
            is_lost: behind == Some(None),
            waiting: VecDeque::new(),
            log,
        }
    }

    /// The id of the last event before those that come.
    pub fn place(&self) -> String {
        self.log.id(self.next - 1)
    }

    /// Whether an agent or admin is there.
    pub fn has_agents(&self) -> bool {
        self.log.has_agents()
    }

    /// What comes next, when it comes. Broken off, nothing is lost.
    pub async fn next(&mut self) -> Sign {
        loop {
            if std::mem::take(&mut self.is_lost) {
                return Sign::Resync(self.place());
            }
            if let Some(entry) = self.waiting.pop_front() {
                return Sign::Event(entry);
            }
            // Seen before it is read: what comes in between is news again.
            let end = *self.end.borrow_and_update();
            if self.next < end {
                self.read();
                continue;
            }
            tokio::select! {
                _ = self.end.changed() => {}
                () = self.ticket.ended() => return Sign::Ended,
                () = sleep_until(self.pulse) => {
                    self.pulse += HEARTBEAT;
                    return Sign::Heartbeat;
                }
            }
        }
    }

    fn read(&mut self) {
        match self.log.from(self.next, BATCH) {
            None => {
                self.next = self.log.end();
                self.is_lost = true;
            }
            Some(entries) => {
                self.next = entries.last().map_or(self.next, |last| last.number() + 1);
                let customer = self.customer;
                self.waiting
                    .extend(entries.into_iter().filter(|entry| entry.is_for(customer)));
            }
        }
    }
}
