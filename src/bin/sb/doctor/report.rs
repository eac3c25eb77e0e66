//! What was looked at, line by line.

use std::io::{self, Stdout, Write};

/// The lines so far.
pub struct Report {
    to: Stdout,
    findings: usize,
}

impl Report {
    /// One without lines.
    pub fn begin() -> Self {
        Self {
            to: io::stdout(),
            findings: 0,
        }
    }

    /// Something is as it should be.
    pub fn fine(&mut self, subject: &str, sentence: &str) -> io::Result<()> {
        self.line("ok", subject, sentence)
    }

    /// Something could be better; all works as it is.
    pub fn advise(&mut self, subject: &str, sentence: &str, remedy: &str) -> io::Result<()> {
        self.line("note", subject, sentence)?;
        self.line("", "", &format!("-> {remedy}"))
    }

    /// Something is wrong.
    pub fn find(&mut self, subject: &str, sentence: &str, remedy: &str) -> io::Result<()> {
        self.findings += 1;
        self.line("FAIL", subject, sentence)?;
        self.line("", "", &format!("-> {remedy}"))
    }

    /// One of the things that the last line stands for.
    pub fn detail(&mut self, sentence: &str) -> io::Result<()> {
        self.line("", "", &format!("   {sentence}"))
    }

    /// How much is wrong.
    pub fn findings(&self) -> usize {
        self.findings
    }

    fn line(&mut self, state: &str, subject: &str, sentence: &str) -> io::Result<()> {
        writeln!(self.to, "{state:<5}{subject:<15}{sentence}")
    }
}
