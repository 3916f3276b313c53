//! Of those who begin to write a file that is there, one at a time: the others share what he has begun.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use foresee_run::pool::lock;

/// The paths that somebody begins to write.
#[derive(Default)]
pub struct Turns {
    taken: Mutex<HashSet<Arc<Path>>>,
    given: Condvar,
}

/// A turn, until this is dropped.
pub struct Turn<'t> {
    turns: &'t Turns,
    path: Arc<Path>,
}

impl Turns {
    /// Waits for a path's turn.
    pub fn take(&self, path: &Arc<Path>) -> Turn<'_> {
        let mut taken = lock(&self.taken);
        while !taken.insert(Arc::clone(path)) {
            taken = self.given.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        Turn { turns: self, path: Arc::clone(path) }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        lock(&self.turns.taken).remove(&self.path);
        self.turns.given.notify_all();
    }
}
