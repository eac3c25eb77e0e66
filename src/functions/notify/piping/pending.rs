//! Which e-mails of a mailbox are to be taken in: two rows of the settings, where the mailbox was looked at last, and what
//! was found there and is not taken in yet.

use std::collections::BTreeMap;

use crate::contract::Value;
use crate::contract::args::{Argument, Texts};
use crate::contract::error::Result;
use crate::contract::value::Key;
use crate::platform::Context;
use crate::platform::crypto;
use crate::platform::db::{OnUnknown, Transaction};
use crate::providers::mailbox::{Account, Position};

/// What the rows are called, before the mailbox's key.
const POSITION: &str = "email-mailbox-position-";
const PENDING: &str = "email-mailbox-pending-";

/// The pending e-mails of one mailbox.
pub(super) struct Pending {
    position_row: String,
    row: String,
}

impl Pending {
    /// Those of an account, whatever password and port it has.
    pub(super) fn of(account: &Account) -> Result<Self> {
        let key = format!("{}\n{}", account.host.to_lowercase(), account.user.to_lowercase());
        let key = crypto::sha256(key.as_bytes())?;
        let key = key.get(..32).unwrap_or(&key);
        Ok(Self {
            position_row: format!("{POSITION}{key}"),
            row: format!("{PENDING}{key}"),
        })
    }

    /// Where the mailbox was looked at last.
    pub(super) async fn position(&self, cx: &Context<'_>) -> Result<Option<Position>> {
        Ok(cx.stored(&self.position_row).await?.as_ref().and_then(position))
    }

    /// Adds what a look has found, and gives all that is pending. When somebody else has looked meanwhile, what they found
    /// counts.
    pub(super) async fn add(
        &self,
        cx: &Context<'_>,
        before: Option<Position>,
        next: Position,
        found: Vec<String>,
    ) -> Result<Vec<String>> {
        if before.as_ref() == Some(&next) {
            let stored = cx.stored(&self.row).await?;
            return Ok(stored.map_or_else(Vec::new, |stored| ids(&stored)));
        }
        cx.database()?
            .transaction(OnUnknown::Repeat, async |transaction| {
                let now = position(&transaction.locked_row(&self.position_row).await?);
                let mut pending = ids(&transaction.locked_row(&self.row).await?);
                if now != before {
                    return Ok(pending);
                }
                if !before.as_ref().is_some_and(|before| next.continues(before)) {
                    pending.clear();
                }
                pending.extend(found.iter().cloned());
                let rows = [(&self.position_row, stored(&next)), (&self.row, list(&pending))];
                let rows = rows.map(|(name, value)| (name.clone(), value));
                transaction.put_rows(&BTreeMap::from(rows)).await?;
                Ok(pending)
            })
            .await
    }

    /// Takes an e-mail out of what is pending, in the transaction that takes it in: the row is to be written there. `None`
    /// when somebody else has taken it in.
    pub(super) async fn without(&self, transaction: &mut Transaction<'_>, id: &str) -> Result<Option<(String, Value)>> {
        let stored = transaction.existing_row(&self.row).await?.unwrap_or_default();
        let mut pending = ids(&stored);
        let Some(place) = pending.iter().position(|own| own == id) else {
            return Ok(None);
        };
        pending.remove(place);
        Ok(Some((self.row.clone(), list(&pending))))
    }
}

fn ids(stored: &Value) -> Vec<String> {
    let ids = Texts::from_value(stored.clone());
    ids.map_or_else(Vec::new, |Texts(ids)| ids)
}

fn list(ids: &[String]) -> Value {
    ids.iter().map(|id| Value::from(id.as_str())).collect::<Vec<_>>().into()
}

fn stored(position: &Position) -> Value {
    match position {
        Position::Numbers { validity, last } => Value::map([
            ("validity", i64::from(*validity).into()),
            ("last", i64::from(*last).into()),
        ]),
        Position::Ids(ids) => Value::map([("ids", list(ids))]),
    }
}

fn position(stored: &Value) -> Option<Position> {
    let number = |name: &'static str| {
        let number = stored.get(&Key::from(name)).cloned().and_then(i64::from_value)?;
        u32::try_from(number).ok()
    };
    match stored.get(&Key::from("ids")) {
        Some(known) => Some(Position::Ids(ids(known))),
        None => Some(Position::Numbers {
            validity: number("validity")?,
            last: number("last")?,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::json;

    #[test]
    fn a_position_is_read_as_it_was_stored() {
        for own in [
            Position::Numbers {
                validity: u32::MAX,
                last: 0,
            },
            Position::Ids(vec![]),
            Position::Ids(vec!["0000001a".into(), "7".into()]),
        ] {
            let text = json::encode(&stored(&own));
            assert_eq!(position(&json::decode(text.as_bytes()).unwrap()), Some(own));
        }
        assert_eq!(position(&Value::Null), None);
    }
}
