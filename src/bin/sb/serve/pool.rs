//! What a thread keeps from request to request: so many connections to the database, each for one request at a time.

use std::cell::RefCell;
use std::ops::Deref;

use sb::platform::context::Process;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Processes, as the library calls them, that wait for work. The last used is used next, so that few stay busy.
pub struct Pool {
    idle: RefCell<Vec<Process>>,
    places: Semaphore,
}

/// A process of a request. Given back when the request has ended, thrown away when it was broken off.
pub struct Lent<'a> {
    pool: &'a Pool,
    process: Process,
    _place: Option<SemaphorePermit<'a>>,
}

impl Pool {
    /// A pool of so many.
    pub fn of(count: usize) -> Self {
        Self {
            idle: RefCell::default(),
            places: Semaphore::new(count),
        }
    }

    /// A process, as soon as one is free.
    pub async fn lend(&self) -> Lent<'_> {
        // It is never closed.
        let place = self.places.acquire().await.ok();
        Lent {
            pool: self,
            process: self.idle.borrow_mut().pop().unwrap_or_default(),
            _place: place,
        }
    }

    /// Says goodbye to the database.
    pub async fn close(&self) {
        let idle = self.idle.take();
        for process in idle {
            process.shut_down().await;
        }
    }
}

impl Lent<'_> {
    /// Gives it back.
    pub fn give_back(self) {
        self.pool.idle.borrow_mut().push(self.process);
    }
}

impl Deref for Lent<'_> {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.process
    }
}
