//! Figures of this process, in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper ends of the classes of durations, in microseconds.
const CLASSES: [u64; 9] = [500, 1_000, 2_500, 5_000, 10_000, 50_000, 250_000, 1_000_000, 5_000_000];

/// The figures.
#[derive(Default)]
pub struct Metrics {
    answers: Mutex<BTreeMap<u16, u64>>,
    durations: [AtomicU64; CLASSES.len()],
    microseconds: AtomicU64,
    count: AtomicU64,
}

impl Metrics {
    /// Counts an answer.
    pub fn note(&self, status: u16, duration: Duration) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        *answers.entry(status).or_default() += 1;
        drop(answers);
        let microseconds = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        for (class, counter) in CLASSES.iter().zip(&self.durations) {
            if microseconds <= *class {
                counter.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.microseconds.fetch_add(microseconds, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// The figures as text, with how many follow the feed.
    pub fn text(&self, followers: usize) -> String {
        let mut text = String::new();
        // Writing to a text does not fail.
        let _ = self.write(&mut text, followers);
        text
    }

    fn write(&self, text: &mut String, followers: usize) -> std::fmt::Result {
        begin(
            text,
            "sb_feed_followers",
            "gauge",
            "Connections that follow the feed of events.",
        )?;
        writeln!(text, "sb_feed_followers {followers}")?;
        begin(text, "sb_http_answers_total", "counter", "Answers by status.")?;
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        for (status, count) in answers.iter() {
            writeln!(text, "sb_http_answers_total{{status=\"{status}\"}} {count}")?;
        }
        drop(answers);
        let name = "sb_http_duration_seconds";
        begin(text, name, "histogram", "Time from a request to its answer.")?;
        let count = self.count.load(Ordering::Relaxed);
        for (class, counter) in CLASSES.iter().zip(&self.durations) {
            let seconds = seconds(*class);
            writeln!(
                text,
                "{name}_bucket{{le=\"{seconds}\"}} {}",
                counter.load(Ordering::Relaxed)
            )?;
        }
        writeln!(text, "{name}_bucket{{le=\"+Inf\"}} {count}")?;
        writeln!(
            text,
            "{name}_sum {}",
            seconds(self.microseconds.load(Ordering::Relaxed))
        )?;
        writeln!(text, "{name}_count {count}")
    }
}

fn begin(text: &mut String, name: &str, kind: &str, about: &str) -> std::fmt::Result {
    writeln!(text, "# HELP {name} {about}\n# TYPE {name} {kind}")
}

#[allow(clippy::cast_precision_loss)]
fn seconds(microseconds: u64) -> f64 {
    microseconds as f64 / 1e6
}
