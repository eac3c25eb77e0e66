//! Requests that are carried out once, however often they come: the answer is kept in the transaction of what the
//! request does, and given again.

use chrono::{NaiveDateTime, TimeDelta};

use super::crypto;
use super::db::{Database, Transaction};
use crate::contract::error::{Error, Result};
use crate::contract::{Value, json};
use crate::params;

/// The table.
pub const TABLE: &str = "sb_idempotency";

/// How long an answer is kept.
const KEPT_FOR: TimeDelta = TimeDelta::hours(24);

/// How many rows are forgotten by one statement: a cluster lets no one write while it repeats a large one.
const CHUNK: u32 = 5_000;

/// What is refused because somebody else has done the same in the meantime.
const REPEATED: &str = "idempotency-repeated";

const FIND: &str = "
    SELECT body_hash, status, answer, created <= ?
    FROM sb_idempotency
    WHERE k = ?";

const FORGET: &str = "
    DELETE FROM sb_idempotency
    WHERE k = ? AND created <= ?";

const KEEP: &str = "
    INSERT INTO sb_idempotency (k, message_id, body_hash, status, answer, created)
    VALUES (?, ?, ?, ?, ?, ?)";

const FORGET_OLD: &str = "
    DELETE FROM sb_idempotency
    WHERE created <= ?
    LIMIT ?";

const DUPLICATE: u16 = 1062;

/// A request that names itself.
pub struct Repeatable {
    key: Vec<u8>,
    body: Vec<u8>,
    has_expired_answer: bool,
}

/// What is known of a request before it is carried out.
pub enum Known {
    /// Nothing.
    New(Repeatable),
    /// It was carried out, with this status and answer.
    Done(u16, String),
    /// Another request had the same name.
    Other,
}

/// A row, and whether it has expired.
type Row = (Option<Vec<u8>>, Option<u16>, Option<String>, bool);

/// Looks a request up: by whom it is made, the name that it was given, what it is for, and its parsed body.
pub async fn look_up(
    database: &Database,
    now: NaiveDateTime,
    requester: &str,
    name: &str,
    target: &str,
    body: &Value,
) -> Result<Known> {
    if !database.has(TABLE).await? {
        return Err(Error::Refused {
            code: "upgrade-needed",
            message: "Idempotency-Key needs the table sb_idempotency: run `sb upgrade`".into(),
        });
    }
    // What a requester is called has no NUL byte.
    let key = crypto::sha256_digest(format!("{requester}\0{name}").as_bytes()).to_vec();
    let text = format!("{target}\0{}", json::encode(&sorted(body)));
    let body = crypto::sha256_digest(text.as_bytes()).to_vec();
    let row: Option<Row> = database.row(FIND, params![now - KEPT_FOR, key.clone()]).await?;
    Ok(match row {
        Some((Some(of), Some(status), Some(answer), false)) if crypto::equal(&of, &body) => Known::Done(status, answer),
        Some((.., false)) => Known::Other,
        row => Known::New(Repeatable {
            key,
            body,
            has_expired_answer: row.is_some(),
        }),
    })
}

impl Repeatable {
    /// By which its row is found.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Keeps the answer, in the transaction of what was done. Refused when somebody else was faster: then nothing may be
    /// done, and the request is to be looked up again.
    pub async fn keep(
        &self,
        transaction: &mut Transaction<'_>,
        now: NaiveDateTime,
        message: Option<u32>,
        status: u16,
        answer: &str,
    ) -> Result<()> {
        if self.has_expired_answer {
            transaction
                .execute(FORGET, params![self.key.clone(), now - KEPT_FOR])
                .await?;
        }
        let params = params![
            self.key.clone(),
            message,
            self.body.clone(),
            u32::from(status),
            answer,
            now
        ];
        let kept = transaction.execute(KEEP, params).await;
        kept.map(|_| ()).map_err(|error| {
            if error.database_number() == Some(DUPLICATE) {
                Error::Refused {
                    code: REPEATED,
                    message: "the same request was carried out in the meantime".into(),
                }
            } else {
                error
            }
        })
    }
}

/// Whether a request was refused because it was carried out in the meantime.
pub fn is_repeated(error: &Error) -> bool {
    matches!(error, Error::Refused { code: REPEATED, .. })
}

/// Forgets old answers, and says how many.
pub async fn forget_old(database: &Database, now: NaiveDateTime) -> Result<u64> {
    if !database.has(TABLE).await? {
        return Ok(0);
    }
    let mut forgotten = 0;
    loop {
        let chunk = database
            .execute(FORGET_OLD, params![now - KEPT_FOR, CHUNK])
            .await?
            .affected;
        forgotten += chunk;
        if chunk < u64::from(CHUNK) {
            return Ok(forgotten);
        }
    }
}

/// A value whose maps are in the order of their keys: the order in which a client writes them does not count.
fn sorted(value: &Value) -> Value {
    match value {
        Value::List(items) => Value::List(items.iter().map(sorted).collect()),
        Value::Map(map) => {
            let mut entries: Vec<_> = map.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            entries.sort_by(|(a, _), (b, _)| a.to_text().cmp(&b.to_text()));
            Value::Map(entries.into_iter().collect())
        }
        value => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_keys_does_not_count_and_the_order_of_lists_does() {
        let same = |a: &str, b: &str| {
            let read = |text: &str| sorted(&json::decode(text.as_bytes()).unwrap());
            json::encode(&read(a)) == json::encode(&read(b))
        };
        assert!(same(
            r#"{"a":1,"b":{"d":[1],"c":null}}"#,
            r#"{"b":{"c":null,"d":[1]},"a":1}"#
        ));
        assert!(!same("[1,2]", "[2,1]"));
        assert!(!same(r#"{"a":1}"#, r#"{"a":"1"}"#));
    }
}
