//! Runs functions in a program that is not asynchronous: PHP, C.

use std::cell::RefCell;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use super::context::Process;
use crate::contract::error::{Error, Result};

/// How long the end waits for threads that still look a name up: PHP may unload their code right after.
const END_LIMIT: Duration = Duration::from_secs(1);

/// A thread's runtime and what its process keeps, made on first use.
///
/// A forked child makes its own: the parent's connection and event queue are forgotten there, never closed, since
/// closing them would end the parent's.
#[derive(Default)]
pub struct Engine(RefCell<Option<State>>);

struct State {
    pid: u32,
    runtime: Runtime,
    process: Process,
}

impl Engine {
    /// Runs `work` to its end.
    pub fn run<T>(&self, work: impl AsyncFnOnce(&Process) -> Result<T>) -> Result<T> {
        let Ok(mut slot) = self.0.try_borrow_mut() else {
            return Err(Error::Internal("a function was called from within another".into()));
        };
        let pid = std::process::id();
        if slot.as_ref().is_some_and(|state| state.pid != pid) {
            std::mem::forget(slot.take());
        }
        let state = match slot.take() {
            Some(state) => slot.insert(state),
            None => slot.insert(State {
                pid,
                runtime: runtime()?,
                process: Process::alone(),
            }),
        };
        state.runtime.block_on(work(&state.process))
    }

    /// Ends what a request may have left open.
    pub fn end_request(&self) {
        if self.is_of_this_process() {
            // What cannot be ended now is thrown away with the connection at its next failure.
            let _ = self.run(async |process| {
                process.end_request().await;
                Ok(())
            });
        }
    }

    /// Closes the connection and ends the runtime; a later call makes both anew.
    pub fn shut_down(&self) {
        let Ok(mut slot) = self.0.try_borrow_mut() else { return };
        let Some(state) = slot.take() else { return };
        if state.pid == std::process::id() {
            state.runtime.block_on(state.process.shut_down());
            state.runtime.shutdown_timeout(END_LIMIT);
        } else {
            std::mem::forget(state);
        }
    }

    fn is_of_this_process(&self) -> bool {
        self.0
            .try_borrow()
            .is_ok_and(|slot| slot.as_ref().is_some_and(|state| state.pid == std::process::id()))
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.shut_down();
    }
}

fn runtime() -> Result<Runtime> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::Internal(format!("no runtime: {error}")))
}
