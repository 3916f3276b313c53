//! A reader that waits for blocks.
//!
//! Each block is handed over as it comes, pinned, and is copied and let go at once, by the thread
//! that waits or, for a future, by the one that brought it: nobody holds anything while waiting for
//! the rest, so that no two readers can wait for frames that the other has.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use foresee_manager::Outcome;
use foresee_store::Error;

use super::awaited::Taker;
use super::frame::Pin;

/// A block that came.
#[derive(Debug, Clone, Copy)]
pub struct Arrived {
    /// Which of the blocks of the request it is.
    pub at: u32,
    /// The frame that it is in: pinned.
    pub frame: u32,
}

#[derive(Default)]
struct State {
    /// A thread sleeps until something changes: to wake none is a system call as well.
    sleeps: bool,
    arrived: Vec<Arrived>,
    outcome: Option<Outcome>,
    error: Option<Error>,
}

impl State {
    /// Takes what came. Once it is over: how, with what went wrong.
    fn take(&mut self, arrived: &mut Vec<Arrived>) -> Option<Result<(), Error>> {
        arrived.append(&mut self.arrived);
        Some(match self.outcome? {
            Outcome::Ready => Ok(()),
            // A request that lies beyond all limits is refused without an error of its own.
            Outcome::Failed => Err(self.error.take().unwrap_or(Error::NotFound)),
        })
    }
}

/// What the reader waits on.
pub struct Wait {
    /// What the blocks are pinned for.
    pub pin: Pin,
    /// Takes what comes where no thread waits for it.
    pub taker: Option<Taker>,
    state: Mutex<State>,
    changed: Condvar,
}

impl Wait {
    /// Nothing came yet.
    pub fn new(pin: Pin, taker: Option<Taker>) -> Self {
        Wait { pin, taker, state: Mutex::default(), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what the reader waits on.
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        let sleeps = std::mem::take(&mut state.sleeps);
        drop(state);
        if sleeps {
            self.changed.notify_one();
        }
    }

    /// Hands a block over.
    pub fn hand(&self, arrived: Arrived) {
        self.change(|state| state.arrived.push(arrived));
    }

    /// One of the blocks could not be read; it may be tried again.
    pub fn went_wrong(&self, error: Error) {
        self.lock().error = Some(error);
    }

    /// No more will come.
    pub fn end(&self, outcome: Outcome) {
        self.change(|state| state.outcome = Some(outcome));
    }

    /// Whether not all will come.
    pub fn has_failed(&self) -> bool {
        self.lock().outcome == Some(Outcome::Failed)
    }

    /// Waits until something came or it is over, and takes what came. Once it is over: how, with
    /// what went wrong.
    pub fn next(&self, arrived: &mut Vec<Arrived>) -> Option<Result<(), Error>> {
        let is_same = |state: &mut State| {
            state.sleeps = state.arrived.is_empty() && state.outcome.is_none();
            state.sleeps
        };
        let mut state = self.changed.wait_while(self.lock(), is_same).unwrap_or_else(PoisonError::into_inner);
        state.take(arrived)
    }

    /// As [`Wait::next`], without waiting.
    pub fn take(&self, arrived: &mut Vec<Arrived>) -> Option<Result<(), Error>> {
        self.lock().take(arrived)
    }
}
