//! The outbox: what must follow a write is recorded in the write's own transaction and delivered after its commit.
//!
//! In the table sb_outbox a delivery outlives the process that recorded it: it is tried again until it succeeds, or is
//! given up as dead and kept. On a database without that table a delivery is tried once, at the end of the request.

pub mod review;

use std::time::Duration;

use chrono::{NaiveDateTime, TimeDelta};

use super::crypto;
use super::db::{Database, Transaction};
use crate::contract::error::{Error, Outcome, Result};
use crate::contract::{Value, json};
use crate::params;

/// The table.
pub const TABLE: &str = "sb_outbox";

/// How long one delivery may take before it counts as abandoned.
const CLAIM: TimeDelta = TimeDelta::minutes(2);

/// Seconds before the next try, after the first, the second, … failure. After the last of these it is dead.
const PAUSES: [i64; 4] = [10, 60, 600, 3600];

/// How many deliveries one worker takes up at a time.
const BATCH: u32 = 100;

/// How long a row is kept that was delivered.
const KEPT: TimeDelta = TimeDelta::days(1);

/// How many of them are deleted at once: a cluster takes large writes at once, and lets everyone wait meanwhile.
const CHUNK: u32 = 5_000;

const RECORD: &str = "
    INSERT INTO sb_outbox (channel, event, target, payload, next_try, created)
    VALUES (?, ?, ?, ?, ?, ?)";

const DUE: &str = "
    SELECT id, channel, event, target, payload, attempts
    FROM sb_outbox
    WHERE state = 0 AND next_try <= ?
    ORDER BY next_try, id
    LIMIT ?";

/// One affected row: nobody else has it.
const CLAIM_ONE: &str = "
    UPDATE sb_outbox
    SET state = 1, attempts = attempts + 1, claim = ?, next_try = ?
    WHERE id = ? AND state = 0 AND next_try <= ?";

const DELIVERED: &str = "
    UPDATE sb_outbox
    SET state = 2, claim = NULL, failure = NULL
    WHERE id = ? AND claim = ?";

const FAILED: &str = "
    UPDATE sb_outbox
    SET state = ?, claim = NULL, failure = ?, next_try = ?
    WHERE id = ? AND claim = ?";

/// What a worker left behind that died. Who cannot tell a repetition gets none: the first try may have arrived.
const ABANDONED: &str = "
    UPDATE sb_outbox
    SET state = IF(channel IN ('webhook', 'realtime'), 0, 3), claim = NULL, failure = 'the worker ended'
    WHERE state = 1 AND next_try < ?";

/// In the order of an index, so that nothing else is looked at.
const FORGET: &str = "
    DELETE FROM sb_outbox
    WHERE state = 2 AND next_try < ?
    ORDER BY next_try
    LIMIT ?";

/// By state; those that are delivered are too many to be counted again and again.
const COUNT: &str = "
    SELECT state, COUNT(*)
    FROM sb_outbox
    WHERE state IN (0, 1, 3)
    GROUP BY state";

/// What has become of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// It waits for its first or its next try.
    Waiting = 0,
    /// Somebody has it.
    Claimed = 1,
    /// It arrived.
    Delivered = 2,
    /// It was given up.
    Dead = 3,
}

impl State {
    /// All states.
    pub const ALL: [Self; 4] = [Self::Waiting, Self::Claimed, Self::Delivered, Self::Dead];

    /// Its name.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Claimed => "claimed",
            Self::Delivered => "delivered",
            Self::Dead => "dead",
        }
    }
}

/// What delivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// The address of the setting `webhooks`.
    Webhook,
    /// The mail server of the setting `email-server`.
    Email,
    /// The service of the setting `sms`.
    Sms,
    /// The service of the setting `realtime`, whose clients hear of events.
    Realtime,
    /// The service of the setting `push-notifications`.
    Push,
}

impl Channel {
    const ALL: [Self; 5] = [Self::Webhook, Self::Email, Self::Sms, Self::Realtime, Self::Push];

    const fn text(self) -> &'static str {
        match self {
            Self::Webhook => "webhook",
            Self::Email => "email",
            Self::Sms => "sms",
            Self::Realtime => "realtime",
            Self::Push => "push",
        }
    }

    /// A delivery by it, in the words of the log.
    pub fn operation(self) -> String {
        format!("{} delivery", self.text())
    }

    /// Whether a delivery that failed so may be tried again. The receiver of a webhook knows a repetition by its id, and
    /// clients hear of an event what is so now; who gets an e-mail, a text or a notification twice has it twice, and what
    /// was refused for good will be refused again.
    fn may_repeat(self, failure: &Error) -> bool {
        match (self, failure) {
            (Self::Webhook | Self::Realtime, _) | (_, Error::Database(_)) => true,
            (Self::Email | Self::Sms | Self::Push, Error::Provider(error)) => error.outcome == Outcome::NotSent,
            (Self::Email | Self::Sms | Self::Push, _) => false,
        }
    }
}

/// Something to deliver.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// What delivers it.
    pub channel: Channel,
    /// The event's name: `message-sent`.
    pub event: String,
    /// For whom, where the channel has several receivers.
    pub target: Option<String>,
    /// What is delivered. No secret: keys and passwords are read at delivery.
    pub payload: Value,
}

/// A delivery that is recorded: in the table under its id, or else in memory only.
#[derive(Debug, Clone)]
pub struct Recorded {
    id: Option<u64>,
    delivery: Delivery,
    attempts: usize,
}

/// A delivery that this process alone has now.
pub struct Claimed {
    /// What to deliver.
    pub delivery: Delivery,
    stored: Option<Stored>,
}

impl Recorded {
    /// What is delivered once at the end of the request, or never: it is soon forgotten.
    pub const fn passing(delivery: Delivery) -> Self {
        Self {
            id: None,
            delivery,
            attempts: 0,
        }
    }
}

/// A row of [`DUE`].
type Due = (u64, String, String, Option<String>, Vec<u8>, u8);

/// Where the outcome of a delivery is noted.
struct Stored {
    id: u64,
    claim: Vec<u8>,
    attempts: usize,
}

/// Records deliveries in the transaction of what they follow; without the table, in memory.
pub async fn record(
    transaction: &mut Transaction<'_>,
    has_table: bool,
    now: NaiveDateTime,
    deliveries: Vec<Delivery>,
) -> Result<Vec<Recorded>> {
    let mut recorded = Vec::with_capacity(deliveries.len());
    for delivery in deliveries {
        let id = if has_table {
            let Delivery {
                channel,
                event,
                target,
                payload,
            } = &delivery;
            let params = params![channel.text(), event, target.clone(), json::encode(payload), now, now];
            Some(transaction.execute(RECORD, params).await?.insert_id)
        } else {
            None
        };
        recorded.push(Recorded {
            id,
            ..Recorded::passing(delivery)
        });
    }
    Ok(recorded)
}

/// What is due: new, or to be tried again. Each is to be [claimed](claim) when its turn comes, so that no claim ends while
/// others are delivered.
pub async fn due(database: &Database, now: NaiveDateTime) -> Result<Vec<Recorded>> {
    database.execute(ABANDONED, params![now]).await?;
    let rows: Vec<Due> = database.rows(DUE, params![now, BATCH]).await?;
    let recorded = rows
        .into_iter()
        .filter_map(|(id, channel, event, target, payload, attempts)| {
            // A channel of a newer version is left to it.
            let channel = Channel::ALL.into_iter().find(|own| own.text() == channel)?;
            Some(Recorded {
                id: Some(id),
                delivery: Delivery {
                    channel,
                    event,
                    target,
                    payload: json::decode(&payload).unwrap_or_default(),
                },
                attempts: attempts.into(),
            })
        });
    Ok(recorded.collect())
}

/// Forgets what was delivered long ago.
pub async fn forget_delivered(database: &Database, now: NaiveDateTime) -> Result<()> {
    if !database.has(TABLE).await? {
        return Ok(());
    }
    while database.execute(FORGET, params![now - KEPT, CHUNK]).await?.affected == u64::from(CHUNK) {}
    Ok(())
}

/// How many deliveries wait, are claimed and are dead.
pub async fn count(database: &Database) -> Result<Vec<(State, i64)>> {
    if !database.has(TABLE).await? {
        return Ok(Vec::new());
    }
    let counts: Vec<(u8, i64)> = database.rows(COUNT, params![]).await?;
    let of = |state: State| {
        counts
            .iter()
            .find(|(own, _)| *own == state as u8)
            .map_or(0, |(_, count)| *count)
    };
    Ok([State::Waiting, State::Claimed, State::Dead]
        .map(|state| (state, of(state)))
        .to_vec())
}

/// Takes up a recorded delivery; `None` when another worker has it.
pub async fn claim(database: &Database, now: NaiveDateTime, recorded: Recorded) -> Result<Option<Claimed>> {
    let Recorded { id, delivery, attempts } = recorded;
    let Some(id) = id else {
        return Ok(Some(Claimed { delivery, stored: None }));
    };
    let mut claim = vec![0; 16];
    crypto::random(&mut claim)?;
    let params = params![claim.clone(), now + CLAIM, id, now];
    let claimed = database.execute(CLAIM_ONE, params).await?.affected == 1;
    let stored = Stored {
        id,
        claim,
        attempts: attempts + 1,
    };
    Ok(claimed.then_some(Claimed {
        delivery,
        stored: Some(stored),
    }))
}

impl Claimed {
    /// The number by which a receiver knows a repetition.
    pub fn id(&self) -> Option<u64> {
        self.stored.as_ref().map(|stored| stored.id)
    }

    /// Notes how the delivery went: what failed is tried again later, with growing pauses, and given up at last; at once
    /// where a repetition would do harm.
    pub async fn note(self, database: &Database, now: NaiveDateTime, outcome: Result<()>) -> Result<()> {
        let Some(Stored { id, claim, attempts }) = self.stored else {
            return Ok(());
        };
        match outcome {
            Ok(()) => database.execute(DELIVERED, params![id, claim]).await?,
            Err(error) => {
                let failure: String = error.to_string().chars().take(191).collect();
                let pause = PAUSES
                    .get(attempts - 1)
                    .filter(|_| self.delivery.channel.may_repeat(&error))
                    .map(|&seconds| spread(Duration::from_secs(seconds.unsigned_abs())));
                let (state, next_try) = match pause.transpose()? {
                    Some(pause) => (0_u8, now + pause),
                    None => (3, now),
                };
                database
                    .execute(FAILED, params![state, failure, next_try, id, claim])
                    .await?
            }
        };
        Ok(())
    }
}

/// Between half and one and a half times as long, so that what failed together is not tried again together.
fn spread(pause: Duration) -> Result<TimeDelta> {
    let mut random = [0];
    crypto::random(&mut random)?;
    let [random] = random;
    let milliseconds = pause.as_millis() * (128 + u128::from(random)) / 256;
    Ok(TimeDelta::milliseconds(i64::try_from(milliseconds).unwrap_or(i64::MAX)))
}
