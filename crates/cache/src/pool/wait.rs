//! A reader that waits for blocks.
//!
//! Each block is handed over as it comes, pinned, and its reader copies it and lets go at once: it holds nothing while it waits for the
//! rest, so that no two readers can wait for frames that the other has.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use foresee_manager::Outcome;
use foresee_store::Error;

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
    arrived: Vec<Arrived>,
    outcome: Option<Outcome>,
    error: Option<Error>,
}

/// What the reader waits on.
pub struct Wait {
    /// What the blocks are pinned for.
    pub pin: Pin,
    state: Mutex<State>,
    changed: Condvar,
}

impl Wait {
    /// Nothing came yet.
    pub fn new(pin: Pin) -> Self {
        Wait { pin, state: Mutex::default(), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a block over.
    pub fn hand(&self, arrived: Arrived) {
        self.lock().arrived.push(arrived);
        self.changed.notify_one();
    }

    /// One of the blocks could not be read; it may be tried again.
    pub fn went_wrong(&self, error: Error) {
        self.lock().error = Some(error);
    }

    /// No more will come.
    pub fn end(&self, outcome: Outcome) {
        self.lock().outcome = Some(outcome);
        self.changed.notify_one();
    }

    /// Waits until something came or it is over, and takes what came. Once it is over: how, with what went wrong.
    pub fn next(&self, arrived: &mut Vec<Arrived>) -> Option<Result<(), Error>> {
        let is_same = |state: &mut State| state.arrived.is_empty() && state.outcome.is_none();
        let mut state = self.changed.wait_while(self.lock(), is_same).unwrap_or_else(PoisonError::into_inner);
        arrived.append(&mut state.arrived);
        Some(match state.outcome? {
            Outcome::Ready => Ok(()),
            // A request that lies beyond all limits is refused without an error of its own.
            Outcome::Failed => Err(state.error.take().unwrap_or(Error::NotFound)),
        })
    }
}
