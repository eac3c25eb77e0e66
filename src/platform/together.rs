//! Work that several tasks of a thread have at the same time, done by one of them for all.
//!
//! Nobody waits for others to come: who comes while little is done begins, and who comes meanwhile is done next, together
//! with all who came. This is how databases write their logs ("group commit"). What takes long holds nobody up: then the
//! next begins beside it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

/// How many have the turn at once: while the database does what one has asked for, another prepares the next.
const LEADERS: usize = 2;

/// How long others wait for what is going on.
const PATIENCE: Duration = Duration::from_millis(100);

/// Where items gather, and what becomes of each.
pub struct Together<T, R>(Rc<RefCell<State<T, R>>>);

struct State<T, R> {
    /// How many have the turn.
    leaders: usize,
    waiting: VecDeque<Waiting<T, R>>,
}

/// An item, and where it is told what has become of it.
type Waiting<T, R> = (T, oneshot::Sender<Answer<T, R>>);

/// What somebody who comes is told.
enum Word<T, R> {
    /// It is its turn.
    Lead(T, Lead<T, R>),
    /// Others have the turns.
    Wait(oneshot::Receiver<Answer<T, R>>),
}

/// What somebody who waits comes to hear.
enum Answer<T, R> {
    /// It has been done.
    Done(R),
    /// It is its turn, to do its own and what else waits.
    Lead(T, Lead<T, R>),
}

/// A turn. Whatever becomes of whoever has it, the next gets it.
struct Lead<T, R>(Rc<RefCell<State<T, R>>>);

impl<T, R> Default for Together<T, R> {
    fn default() -> Self {
        Self(Rc::new(RefCell::new(State {
            leaders: 0,
            waiting: VecDeque::new(),
        })))
    }
}

impl<T, R> Clone for Together<T, R> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<T, R> Together<T, R> {
    /// Has an item done, with at most `limit - 1` others. `work` gets them in the order in which they came, and gives what
    /// has become of each, in the same order. `None` when whoever had the item was broken off: nobody knows what has
    /// become of it.
    pub async fn run(&self, item: T, limit: usize, work: impl AsyncFnOnce(Vec<T>) -> Vec<R>) -> Option<R> {
        let (item, lead) = match self.enter(item) {
            Word::Lead(item, lead) => (item, lead),
            Word::Wait(answer) => match answer.await.ok()? {
                Answer::Done(result) => return Some(result),
                Answer::Lead(item, lead) => (item, lead),
            },
        };
        let others = lead.take(limit.saturating_sub(1));
        let (others, answers): (Vec<T>, Vec<_>) = others.into_iter().unzip();
        let items = [item].into_iter().chain(others).collect();
        let mut work = pin!(work(items));
        let in_time = timeout(PATIENCE, work.as_mut()).await;
        // Whoever is next begins before all others go on.
        drop(lead);
        let mut results = match in_time {
            Ok(results) => results,
            Err(_) => work.await,
        }
        .into_iter();
        let own = results.next();
        for (answer, result) in answers.into_iter().zip(results) {
            // Who has left meanwhile asks for nothing.
            let _ = answer.send(Answer::Done(result));
        }
        own
    }

    /// A turn, when one is free, or else a place among those who wait.
    fn enter(&self, item: T) -> Word<T, R> {
        let mut state = self.0.borrow_mut();
        if state.leaders == LEADERS {
            let (sender, answer) = oneshot::channel();
            state.waiting.push_back((item, sender));
            return Word::Wait(answer);
        }
        state.leaders += 1;
        Word::Lead(item, Lead(Rc::clone(&self.0)))
    }
}

impl<T, R> Lead<T, R> {
    /// Those who have waited longest.
    fn take(&self, limit: usize) -> Vec<Waiting<T, R>> {
        let waiting = &mut self.0.borrow_mut().waiting;
        let count = waiting.len().min(limit);
        waiting.drain(..count).collect()
    }
}

impl<T, R> Drop for Lead<T, R> {
    fn drop(&mut self) {
        let next = {
            let mut state = self.0.borrow_mut();
            let next = state.waiting.pop_front();
            state.leaders -= usize::from(next.is_none());
            next
        };
        if let Some((item, answer)) = next {
            // Of who has left the turn comes back here, when what it was told is dropped.
            let _ = answer.send(Answer::Lead(item, Self(Rc::clone(&self.0))));
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::{JoinHandle, LocalSet, spawn_local};
    use tokio::time::sleep;

    use super::*;

    type Numbers = Together<u32, (u32, usize)>;

    /// Doubles numbers, and says how many were done at once.
    async fn double(together: Numbers, number: u32) -> Option<(u32, usize)> {
        let work = async |numbers: Vec<u32>| {
            sleep(Duration::from_millis(5)).await;
            numbers.iter().map(|number| (number * 2, numbers.len())).collect()
        };
        together.run(number, 4, work).await
    }

    /// Has something done that takes for ever.
    async fn stick(together: Numbers) -> Option<(u32, usize)> {
        together.run(0, 1, async |_| std::future::pending().await).await
    }

    #[tokio::test]
    async fn what_comes_meanwhile_is_done_next_and_together() {
        let together = Numbers::default();
        let all = async {
            // All the time somebody else has one of the turns.
            let stuck = spawn_local(stick(together.clone()));
            let tasks: Vec<_> = (0..7)
                .map(|number| spawn_local(double(together.clone(), number)))
                .collect();
            let mut results = Vec::new();
            for task in tasks {
                results.push(task.await.unwrap().unwrap());
            }
            stuck.abort();
            results
        };
        let results = LocalSet::new().run_until(all).await;
        assert_eq!(results, [(0, 1), (2, 4), (4, 4), (6, 4), (8, 4), (10, 2), (12, 2)]);
    }

    #[tokio::test]
    async fn what_takes_long_holds_nobody_up() {
        let together = Numbers::default();
        let all = async {
            let stuck: Vec<_> = (0..LEADERS).map(|_| spawn_local(stick(together.clone()))).collect();
            tokio::task::yield_now().await;
            let others: Vec<_> = (2..4)
                .map(|number| spawn_local(double(together.clone(), number)))
                .collect();
            for (other, result) in others.into_iter().zip([(4, 1), (6, 1)]) {
                assert_eq!(other.await.unwrap(), Some(result));
            }
            assert!(!stuck.iter().any(JoinHandle::is_finished));
            assert_eq!(double(together, 4).await, Some((8, 1)));
        };
        LocalSet::new().run_until(all).await;
    }

    #[tokio::test]
    async fn who_is_broken_off_leaves_the_turn_to_others() {
        let together = Numbers::default();
        let all = async {
            let first = spawn_local(double(together.clone(), 1));
            let second = spawn_local(double(together.clone(), 2));
            let third = spawn_local(double(together.clone(), 3));
            tokio::task::yield_now().await;
            // The turn goes to the second, which does not come to use it.
            first.abort();
            second.abort();
            let third = third.await.unwrap();
            assert_eq!(third, Some((6, 1)));
            assert_eq!(double(together.clone(), 4).await, Some((8, 1)));
            // Those whose items were taken up never hear what has become of them.
            let stuck = spawn_local(stick(together.clone()));
            let leader = spawn_local(double(together.clone(), 5));
            tokio::task::yield_now().await;
            let others: Vec<_> = (6..8)
                .map(|number| spawn_local(double(together.clone(), number)))
                .collect();
            sleep(Duration::from_millis(7)).await;
            assert!(leader.await.unwrap().is_some());
            let [next, taken] = <[_; 2]>::try_from(others).unwrap();
            next.abort();
            assert_eq!(taken.await.unwrap(), None);
            stuck.abort();
            assert_eq!(double(together, 9).await, Some((18, 1)));
        };
        LocalSet::new().run_until(all).await;
    }
}
