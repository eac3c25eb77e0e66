//! What happened lately, in the order in which it was found. One writes, all followers read.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::watch;

use crate::contract::error::Result;
use crate::contract::ids::UserId;
use crate::contract::json;
use crate::functions::feed::{Audience, Happened};
use crate::platform::crypto;

/// How much is kept for those who come back: so many events, and so many bytes of them.
const EVENTS: usize = 20_000;
const BYTES: usize = 16 << 20;

/// An event as it is sent.
#[derive(Debug)]
pub struct Entry {
    number: u64,
    /// By which whoever comes back says how far it had come.
    pub id: String,
    /// Its name.
    pub name: &'static str,
    /// What there is to know of it, as JSON.
    pub data: String,
    audience: Audience,
}

/// The events that are kept.
pub struct Log {
    /// Tells the numbers of one process from those of another.
    epoch: String,
    kept: RwLock<Kept>,
    /// The number that the next event will have; 0, as long as nobody looks for events.
    end: watch::Sender<u64>,
    has_agents: AtomicBool,
}

#[derive(Default)]
struct Kept {
    events: VecDeque<Arc<Entry>>,
    bytes: usize,
}

impl Entry {
    /// Whether it is for someone: a customer, or `None` for anyone else.
    pub fn is_for(&self, customer: Option<UserId>) -> bool {
        self.audience.includes(customer)
    }

    /// Its place among all.
    pub fn number(&self) -> u64 {
        self.number
    }
}

impl Log {
    /// An empty log.
    pub fn new() -> Result<Self> {
        Ok(Self {
            epoch: crypto::token()?.chars().take(12).collect(),
            kept: RwLock::default(),
            end: watch::Sender::new(0),
            has_agents: AtomicBool::new(false),
        })
    }

    /// Begins: from here on nothing is missed.
    pub fn begin(&self) {
        self.end.send_replace(1);
    }

    /// Comes back when it has begun.
    pub async fn begun(&self) {
        // The sender is our own.
        let _ = self.end.subscribe().wait_for(|end| *end > 0).await;
    }

    /// Adds what happened, and wakes the followers.
    pub fn add(&self, happened: Vec<Happened>) {
        if happened.is_empty() {
            return;
        }
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        let mut number = *self.end.borrow();
        for Happened { name, data, audience } in happened {
            let entry = Entry {
                number,
                id: self.id(number),
                name,
                data: json::encode(&data),
                audience,
            };
            number += 1;
            kept.bytes += entry.data.len();
            kept.events.push_back(Arc::new(entry));
        }
        while kept.events.len() > EVENTS || kept.bytes > BYTES {
            let Some(oldest) = kept.events.pop_front() else { break };
            kept.bytes -= oldest.data.len();
        }
        drop(kept);
        self.end.send_replace(number);
    }

    /// Forgets what is kept, so that all who follow, and all who come back, hear that they may have missed something.
    pub fn interrupt(&self) {
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        *kept = Kept::default();
        // The event of this number is missing.
        self.end.send_modify(|end| *end += 1);
    }

    /// Notes whether an agent or admin is there.
    pub fn note_agents(&self, are_there: bool) {
        self.has_agents.store(are_there, Ordering::Relaxed);
    }

    /// Whether an agent or admin is there.
    pub fn has_agents(&self) -> bool {
        self.has_agents.load(Ordering::Relaxed)
    }

    /// The number that the next event will have.
    pub fn end(&self) -> u64 {
        *self.end.borrow()
    }

    /// The id of a number.
    pub fn id(&self, number: u64) -> String {
        format!("{}-{number}", self.epoch)
    }

    /// The number behind the event of an id; `None` when it is none of this process.
    pub fn behind(&self, id: &str) -> Option<u64> {
        let (epoch, number) = id.rsplit_once('-')?;
        let number: u64 = number.parse().ok()?;
        (epoch == self.epoch && number < self.end()).then_some(number + 1)
    }

    /// Up to so many events from a number on; `None` when some of them are not kept any more.
    pub fn from(&self, number: u64, count: usize) -> Option<Vec<Arc<Entry>>> {
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        let first = kept.events.front().map_or_else(|| self.end(), |entry| entry.number);
        let skipped = usize::try_from(number.checked_sub(first)?).ok()?;
        Some(kept.events.iter().skip(skipped).take(count).cloned().collect())
    }

    /// Tells when there is more.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.end.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Value;

    fn happened(text: &str) -> Happened {
        Happened {
            name: "message",
            data: Value::from(text),
            audience: Audience::Everyone,
        }
    }

    fn begun() -> Log {
        let log = Log::new().unwrap();
        log.begin();
        log
    }

    #[test]
    fn whoever_comes_back_gets_what_it_missed() {
        let log = begun();
        assert_eq!(log.from(1, 10).unwrap().len(), 0);
        log.add(vec![happened("a"), happened("b")]);
        log.add(vec![happened("c")]);
        let all = log.from(1, 10).unwrap();
        let texts: Vec<_> = all.iter().map(|entry| entry.data.as_str()).collect();
        assert_eq!(texts, ["\"a\"", "\"b\"", "\"c\""]);
        let behind = log.behind(&all[0].id).unwrap();
        assert_eq!(log.from(behind, 1).unwrap()[0].data, "\"b\"");
        assert_eq!(log.from(log.behind(&all[2].id).unwrap(), 10).unwrap().len(), 0);
        // Before the first event there is a place too: that of whoever came before it.
        assert_eq!(log.behind(&log.id(0)), Some(1));
    }

    #[test]
    fn ids_of_others_and_of_the_future_are_unknown() {
        let (log, other) = (begun(), begun());
        other.add(vec![happened("a")]);
        log.add(vec![happened("a")]);
        let broken = format!("{}-x", log.epoch);
        for id in [other.id(1), log.id(2), "1".into(), String::new(), "-".into(), broken] {
            assert_eq!(log.behind(&id), None, "{id}");
        }
    }

    #[test]
    fn whoever_follows_hears_of_an_interruption() {
        let log = begun();
        log.add(vec![happened("a"), happened("b")]);
        let (first, last, end) = (
            log.behind(&log.id(1)).unwrap(),
            log.behind(&log.id(2)).unwrap(),
            log.end(),
        );
        log.interrupt();
        assert!(log.from(first, 1).is_none() && log.from(last, 1).is_none() && log.from(end, 1).is_none());
        log.add(vec![happened("c")]);
        assert!(log.from(end, 1).is_none());
        assert_eq!(log.from(end + 1, 10).unwrap()[0].data, "\"c\"");
    }

    #[test]
    fn what_is_too_old_is_not_kept() {
        let log = begun();
        log.add((0..=EVENTS).map(|_| happened("a")).collect());
        assert!(log.from(1, 1).is_none());
        assert_eq!(log.from(2, usize::MAX).unwrap().len(), EVENTS);
        let half = "x".repeat(BYTES / 2);
        log.add(vec![happened(&half), happened(&half)]);
        assert_eq!(log.from(log.end() - 1, 10).unwrap().len(), 1);
        assert!(log.from(log.end() - 2, 10).is_none());
    }
}
