//! The keys that follow the feed: whether they still hold is asked for all of them at once.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::watch;

use crate::contract::error::Result;
use crate::contract::ids::UserId;
use crate::platform::Context;
use crate::platform::api_keys::{self, ApiKey};

/// The keys of all who follow.
#[derive(Default)]
pub struct Keys(Mutex<Vec<Weak<Entered>>>);

/// A key that follows, however often.
struct Entered {
    key: ApiKey,
    ended: watch::Sender<bool>,
}

/// A place among them, for as long as somebody follows.
pub struct Ticket {
    _entered: Arc<Entered>,
    ended: watch::Receiver<bool>,
}

impl Keys {
    /// Enters a key.
    pub fn enter(&self, key: ApiKey) -> Ticket {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = all.iter().filter_map(Weak::upgrade);
        let known = known.find(|entered| entered.key == key && !*entered.ended.borrow());
        let entered = known.unwrap_or_else(|| {
            let entered = Arc::new(Entered {
                key,
                ended: watch::Sender::new(false),
            });
            all.push(Arc::downgrade(&entered));
            entered
        });
        Ticket {
            ended: entered.ended.subscribe(),
            _entered: entered,
        }
    }

    /// How many follow.
    pub fn count(&self) -> usize {
        self.entered()
            .iter()
            .map(|entered| entered.ended.receiver_count())
            .sum()
    }

    /// Ends all who follow with a key that does not hold any more, or not as it did.
    pub async fn check(&self, cx: &Context<'_>) -> Result<()> {
        let all = self.entered();
        let keys: Vec<ApiKey> = all.iter().map(|entered| entered.key.clone()).collect();
        let hold = api_keys::that_hold(cx.database()?, cx.now(), &keys).await?;
        for entered in all.iter().filter(|entered| !hold.contains(&entered.key)) {
            entered.ended.send_replace(true);
        }
        Ok(())
    }

    /// The users who follow by keys of their own.
    pub fn users(&self) -> Vec<UserId> {
        let all = self.entered();
        let bound = all.iter().filter_map(|entered| entered.key.user);
        let mut users: Vec<UserId> = bound.map(|bound| bound.id).collect();
        users.sort_unstable();
        users.dedup();
        users
    }

    fn entered(&self) -> Vec<Arc<Entered>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|entered| entered.strong_count() > 0);
        all.iter().filter_map(Weak::upgrade).collect()
    }
}

impl Ticket {
    /// Comes back when the key does not hold any more.
    pub async fn ended(&mut self) {
        // The sender lives as long as this ticket.
        let _ = self.ended.wait_for(|ended| *ended).await;
    }
}
