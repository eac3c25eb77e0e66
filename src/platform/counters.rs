//! What a process has done since it began, in numbers.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows.
pub struct Counter {
    /// Its name, in the way of Prometheus: `sb_calls_total`.
    pub name: &'static str,
    /// What is counted, in two words or three.
    pub about: &'static str,
    count: AtomicU64,
}

impl Counter {
    const fn new(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            about,
            count: AtomicU64::new(0),
        }
    }

    /// Counts one more.
    pub fn add(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

/// Calls of functions that may have to wait for something, and requests of the HTTP API.
pub static CALLS: Counter = Counter::new("sb_calls_total", "Calls");
/// Failures of the database, of an outside service, or of the library: in calls, and in deliveries.
pub static FAILURES: Counter = Counter::new("sb_failures_total", "Failures");
/// Statements that were sent.
pub static STATEMENTS: Counter = Counter::new("sb_statements_total", "Statements");
/// Those that took as long as the log asks to hear of.
pub static SLOW_STATEMENTS: Counter = Counter::new("sb_slow_statements_total", "Slow statements");
/// Connections to a database that were made.
pub static CONNECTIONS: Counter = Counter::new("sb_connections_total", "Connections made");

/// All of them.
pub fn all() -> [&'static Counter; 5] {
    [&CALLS, &FAILURES, &STATEMENTS, &SLOW_STATEMENTS, &CONNECTIONS]
}
