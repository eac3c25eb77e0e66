//! A mailbox by POP3.
//!
//! It knows of no numbers that grow and of no marks: which e-mails are new is told by the ids of all that are there.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, NaiveDateTime};
use mail_parser::MessageParser;
use secrecy::ExposeSecret;

use super::wire::{Wire, text};
use super::{Account, Failure, LOOK_LIMIT, Letter, Position, SIZE_LIMIT};

/// What the list of a mailbox may have, in bytes: some 200 000 e-mails.
const LIST_LIMIT: usize = 16 << 20;

/// Lines of an e-mail that is too long to be read whole.
const BEGINNING: u32 = 5000;

/// A mailbox that is logged in to.
pub(super) struct Pop {
    wire: Wire,
    /// Number and size of each e-mail, by its id.
    listed: HashMap<String, (u32, u64)>,
    /// The ids in the order of their numbers.
    ids: Vec<String>,
}

impl Pop {
    pub(super) async fn log_in(wire: Wire, account: &Account) -> Result<Self, Failure> {
        let mut pop = Self {
            wire,
            listed: HashMap::new(),
            ids: Vec::new(),
        };
        pop.ask(&format!("USER {}", account.user)).await?;
        pop.ask(&format!("PASS {}", account.password.expose_secret())).await?;
        pop.list().await?;
        Ok(pop)
    }

    async fn ask(&mut self, command: &str) -> Result<(), Failure> {
        self.wire.say(command).await?;
        let answer = text(&self.wire.line().await?);
        if answer.starts_with("+OK") {
            Ok(())
        } else {
            Err(Failure::Refused(answer))
        }
    }

    async fn list(&mut self) -> Result<(), Failure> {
        self.ask("LIST").await?;
        let sizes = text(&self.wire.lines(LIST_LIMIT).await?);
        let sizes: HashMap<u32, u64> = sizes.lines().filter_map(pair).collect();
        self.ask("UIDL").await?;
        let ids = text(&self.wire.lines(LIST_LIMIT).await?);
        for (number, id) in ids.lines().filter_map(pair::<u32, String>) {
            let size = sizes.get(&number).copied().unwrap_or_default();
            self.listed.insert(id.clone(), (number, size));
            self.ids.push(id);
        }
        Ok(())
    }

    pub(super) async fn look(
        &mut self,
        position: Option<&Position>,
        since: NaiveDateTime,
    ) -> Result<(Position, Vec<String>), Failure> {
        let Some(Position::Ids(known)) = position else {
            let found = self.written_since(since).await?;
            return Ok((Position::Ids(self.ids.clone()), found));
        };
        let known: HashSet<&String> = known.iter().collect();
        let mut found = Vec::new();
        let mut seen = Vec::with_capacity(self.ids.len());
        for id in &self.ids {
            let is_new = !known.contains(id);
            if is_new && found.len() == LOOK_LIMIT {
                continue;
            }
            if is_new {
                found.push(id.clone());
            }
            seen.push(id.clone());
        }
        Ok((Position::Ids(seen), found))
    }

    /// E-mails stand in the order in which they came: from the newest back to the first that is older.
    async fn written_since(&mut self, since: NaiveDateTime) -> Result<Vec<String>, Failure> {
        let mut found = Vec::new();
        for id in self.ids.clone().into_iter().rev() {
            let Some((number, _)) = self.listed.get(&id) else {
                continue;
            };
            self.ask(&format!("TOP {number} 0")).await?;
            let headers = self.wire.lines(LIST_LIMIT).await?;
            let message = MessageParser::default().parse_headers(&headers);
            let written = message.and_then(|message| DateTime::from_timestamp(message.date()?.to_timestamp(), 0));
            // One without a date is as new as its neighbours.
            if written.is_some_and(|written| written.naive_utc() < since) {
                break;
            }
            found.push(id);
        }
        found.reverse();
        Ok(found)
    }

    pub(super) async fn read(&mut self, id: &str) -> Result<Option<Letter>, Failure> {
        let Some((number, size)) = self.listed.get(id).copied() else {
            return Ok(None);
        };
        let is_cut = size > u64::from(SIZE_LIMIT);
        let command = if is_cut {
            format!("TOP {number} {BEGINNING}")
        } else {
            format!("RETR {number}")
        };
        self.ask(&command).await?;
        // Sizes are what servers reckon: twice as much is still an e-mail.
        let limit = usize::try_from(SIZE_LIMIT).unwrap_or(usize::MAX).saturating_mul(2);
        let content = self.wire.lines(limit).await?;
        Ok(Some(Letter { content, is_cut }))
    }

    pub(super) async fn close(mut self) {
        // The connection ends either way.
        let _ = self.ask("QUIT").await;
    }
}

/// The two words of a line.
fn pair<A: std::str::FromStr, B: std::str::FromStr>(line: &str) -> Option<(A, B)> {
    let (first, second) = line.trim_end().split_once(' ')?;
    Some((first.parse().ok()?, second.parse().ok()?))
}
