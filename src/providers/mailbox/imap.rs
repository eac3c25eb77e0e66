//! A mailbox by IMAP.

use async_imap::types::{Fetch, Mailbox};
use async_imap::{Authenticator, Client};
use chrono::{Datelike, NaiveDateTime};
use futures_util::TryStreamExt;
use secrecy::ExposeSecret;

use super::wire::{Stream, Wire};
use super::{Account, Failure, LOOK_LIMIT, Letter, Position, SIZE_LIMIT};

/// The folder that new e-mails come to.
const INBOX: &str = "INBOX";

/// English, in every language.
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// A mailbox that is logged in to, with its folder.
pub(super) struct Imap {
    session: async_imap::Session<Box<dyn Stream>>,
    folder: Mailbox,
}

impl From<async_imap::error::Error> for Failure {
    fn from(error: async_imap::error::Error) -> Self {
        use async_imap::error::Error::{Bad, ConnectionLost, No, Validate};
        match error {
            No(text) | Bad(text) => Self::Refused(text),
            // It would show what was to be sent.
            Validate(_) => Self::Broken("the user or the password holds what IMAP cannot send".to_owned()),
            ConnectionLost => Self::Broken("the connection was closed".to_owned()),
            other => Self::Broken(other.to_string()),
        }
    }
}

/// User and password in one (RFC 4616): in any script, which LOGIN cannot send.
struct Plain<'a>(&'a Account);

impl Authenticator for Plain<'_> {
    type Response = Vec<u8>;

    fn process(&mut self, _: &[u8]) -> Vec<u8> {
        let Account { user, password, .. } = self.0;
        [b"\0", user.as_bytes(), b"\0", password.expose_secret().as_bytes()].concat()
    }
}

impl Imap {
    pub(super) async fn log_in(wire: Wire, account: &Account) -> Result<Self, Failure> {
        let client = Client::new(wire.into_stream());
        let password = account.password.expose_secret();
        let session = if account.user.is_ascii() && password.is_ascii() {
            client.login(&account.user, password).await
        } else {
            client.authenticate("PLAIN", Plain(account)).await
        };
        let mut session = session.map_err(|(error, _)| Failure::from(error))?;
        let folder = session.select(INBOX).await?;
        Ok(Self { session, folder })
    }

    pub(super) async fn look(
        &mut self,
        position: Option<&Position>,
        since: NaiveDateTime,
    ) -> Result<(Position, Vec<String>), Failure> {
        let validity = self.folder.uid_validity.unwrap_or_default();
        let newest = match self.folder.uid_next {
            Some(next) => next.saturating_sub(1),
            None => self.search("UID *").await?.last().copied().unwrap_or_default(),
        };
        let known = match position {
            Some(Position::Numbers {
                validity: known, last, ..
            }) if *known == validity => Some(*last),
            _ => None,
        };
        let (last, found) = match known {
            Some(last) if newest <= last => (last, Vec::new()),
            Some(last) => {
                let next = last.saturating_add(1);
                let mut found = self.search(&format!("UID {next}:*")).await?;
                // Where nothing is so new, the star stands for the newest of the others.
                found.retain(|number| *number > last);
                found.truncate(LOOK_LIMIT);
                let last = if found.len() == LOOK_LIMIT {
                    found.last().copied().unwrap_or(last)
                } else {
                    found.last().copied().unwrap_or(last).max(newest)
                };
                (last, found)
            }
            None => {
                let month = usize::try_from(since.month0()).ok().and_then(|month| MONTHS.get(month));
                let date = format!("{}-{}-{:04}", since.day(), month.unwrap_or(&"Jan"), since.year());
                let found = self.search(&format!("UNSEEN SINCE {date}")).await?;
                (found.last().copied().unwrap_or_default().max(newest), found)
            }
        };
        let ids = found.iter().map(ToString::to_string).collect();
        Ok((Position::Numbers { validity, last }, ids))
    }

    async fn search(&mut self, query: &str) -> Result<Vec<u32>, Failure> {
        let mut found: Vec<u32> = self.session.uid_search(query).await?.into_iter().collect();
        found.sort_unstable();
        Ok(found)
    }

    /// Reads without marking as read.
    pub(super) async fn read(&mut self, id: &str) -> Result<Option<Letter>, Failure> {
        let query = format!("(UID RFC822.SIZE BODY.PEEK[]<0.{SIZE_LIMIT}>)");
        let fetched: Vec<Fetch> = self.session.uid_fetch(id, query).await?.try_collect().await?;
        let number = id.parse().ok();
        let fetch = fetched
            .iter()
            .find(|fetch| fetch.uid == number && fetch.body().is_some());
        Ok(fetch.map(|fetch| Letter {
            content: fetch.body().unwrap_or_default().to_vec(),
            is_cut: fetch.size.is_some_and(|size| size > SIZE_LIMIT),
        }))
    }

    pub(super) async fn mark_read(&mut self, ids: &[String]) -> Result<(), Failure> {
        if !ids.is_empty() {
            let answers = self.session.uid_store(ids.join(","), "+FLAGS.SILENT (\\Seen)").await?;
            let _: Vec<Fetch> = answers.try_collect().await?;
        }
        Ok(())
    }

    pub(super) async fn close(mut self) {
        // The connection ends either way.
        let _ = self.session.logout().await;
    }
}
