//! Shows how far a command is: a bar on a terminal, else a line per step.

use std::io::{self, IsTerminal, Write};

use indicatif::{ProgressBar, ProgressStyle};

/// The progress of a known number of steps.
pub struct Progress {
    bar: Option<ProgressBar>,
    total: usize,
    begun: usize,
}

impl Progress {
    /// Nothing is done yet.
    pub fn of(total: usize) -> Self {
        let is_shown = io::stdout().is_terminal() && io::stderr().is_terminal();
        let bar = is_shown.then(|| {
            let bar = ProgressBar::new(u64::try_from(total).unwrap_or_default());
            let style = ProgressStyle::with_template("{wide_msg}\n{bar:40} {pos}/{len} {elapsed}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.enable_steady_tick(std::time::Duration::from_millis(200));
            bar
        });
        Self { bar, total, begun: 0 }
    }

    /// A step begins.
    pub fn begin(&mut self, sentence: &str) -> io::Result<()> {
        self.begun += 1;
        match &self.bar {
            Some(bar) => {
                bar.set_position(u64::try_from(self.begun - 1).unwrap_or_default());
                bar.set_message(sentence.to_owned());
                Ok(())
            }
            None => say(&format!("{}/{} {sentence}", self.begun, self.total)),
        }
    }

    /// All is done.
    pub fn end(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The progress of an amount that is worked off in small pieces: a bar on a terminal, else nothing.
pub struct Amount(ProgressBar);

impl Amount {
    /// Of so many bytes of a file.
    pub fn of_bytes(total: u64) -> Self {
        Self::shown(
            ProgressBar::new(total),
            "{bar:40} {bytes}/{total_bytes} {elapsed}, {eta} left, {msg}",
        )
    }

    /// Of so many of something, whose total nobody knows.
    pub fn of_unknown() -> Self {
        Self::shown(ProgressBar::new_spinner(), "{spinner} {pos} {elapsed}")
    }

    /// Of so many of something.
    pub fn of(total: u64) -> Self {
        Self::shown(
            ProgressBar::new(total),
            "{bar:40} {pos}/{len} {elapsed}, {eta} left, {msg}",
        )
    }

    /// The bar draws itself on stderr, and nothing where that is no terminal.
    fn shown(bar: ProgressBar, template: &str) -> Self {
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// So much is done.
    pub fn done(&self, amount: u64) {
        self.0.set_position(amount);
    }

    /// What else there is to say of it.
    pub fn say(&self, words: String) {
        self.0.set_message(words);
    }

    /// All is done.
    pub fn end(self) {
        self.0.finish_and_clear();
    }
}

/// Writes a line.
pub fn say(line: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{line}")
}
