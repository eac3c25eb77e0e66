//! Ids that are missing between those that were seen: they may still come.
//!
//! An id is handed out before its row is committed, and on a cluster each node hands out ids of its own. A row may
//! therefore become visible after one with a higher id. Each id between is waited for, for a while.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long a missing id is waited for: longer than any write may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// No more missing ids are waited for, of all the newest: on a cluster the farthest that came late was 83 ids behind.
const MOST: u64 = 2_000;

/// The ids of a table, as far as they were seen.
#[derive(Debug, Clone)]
pub(super) struct Gaps {
    highest: u64,
    missing: BTreeMap<u64, Instant>,
}

impl Gaps {
    /// A table of which the newest ids are known, and nothing of those before.
    pub(super) fn behind(mut known: Vec<u64>, now: Instant) -> Self {
        known.sort_unstable();
        let mut gaps = Self {
            highest: known.last().copied().unwrap_or_default().saturating_sub(MOST / 2),
            missing: BTreeMap::new(),
        };
        for id in known {
            gaps.note(id, now);
        }
        gaps
    }

    /// The highest id that was seen.
    pub(super) fn highest(&self) -> u64 {
        self.highest
    }

    /// The missing ids that are waited for.
    pub(super) fn missing(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.missing.keys().copied()
    }

    /// Notes an id that was seen, and says whether that is new.
    pub(super) fn note(&mut self, id: u64, now: Instant) -> bool {
        if id <= self.highest {
            return self.missing.remove(&id).is_some();
        }
        let first = (self.highest + 1).max(id.saturating_sub(MOST));
        self.missing.extend((first..id).map(|missing| (missing, now)));
        while self.missing.len() as u64 > MOST {
            self.missing.pop_first();
        }
        self.highest = id;
        true
    }

    /// Gives up what was waited for long enough.
    pub(super) fn give_up(&mut self, now: Instant) {
        self.missing.retain(|_, since| now.duration_since(*since) < PATIENCE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_late_is_new_once() {
        let now = Instant::now();
        let mut gaps = Gaps::behind(Vec::new(), now);
        assert!(gaps.note(1, now) && gaps.note(4, now));
        assert_eq!(gaps.missing().collect::<Vec<_>>(), [2, 3]);
        assert!(gaps.note(3, now) && !gaps.note(3, now) && !gaps.note(4, now) && !gaps.note(1, now));
        assert_eq!((gaps.missing().collect::<Vec<_>>(), gaps.highest()), (vec![2], 4));
    }

    #[test]
    fn what_does_not_come_is_given_up() {
        let now = Instant::now();
        let mut gaps = Gaps::behind(Vec::new(), now);
        gaps.note(3, now);
        let later = now + PATIENCE;
        gaps.note(5, later);
        gaps.give_up(later);
        assert_eq!(gaps.missing().collect::<Vec<_>>(), [4]);
        assert!(!gaps.note(2, later));
    }

    #[test]
    fn what_was_under_way_at_the_beginning_still_comes() {
        let now = Instant::now();
        let mut gaps = Gaps::behind(vec![5_000, 4_998, 4_997], now);
        assert_eq!(gaps.highest(), 5_000);
        assert!(gaps.note(4_999, now) && gaps.note(4_001, now) && !gaps.note(4_998, now) && !gaps.note(4_000, now));
        // A jump of the counter is no gap of a million ids.
        gaps.note(1_000_000, now);
        assert_eq!(gaps.missing().len() as u64, MOST);
    }

    proptest::proptest! {
        #[test]
        fn in_whatever_order_ids_come_each_is_new_exactly_once(
            ids in proptest::collection::vec(1_u64..300, 0..200)
        ) {
            let now = Instant::now();
            let mut gaps = Gaps::behind(Vec::new(), now);
            let mut seen = std::collections::HashSet::new();
            for id in ids {
                proptest::prop_assert_eq!(gaps.note(id, now), seen.insert(id), "{}", id);
            }
        }
    }
}
