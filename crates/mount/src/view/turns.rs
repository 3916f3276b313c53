//! Of those who begin to write a file that is there, one at a time: the others share what he has begun. Its
//! name stays what it is meanwhile.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};

use foresee_run::pool::lock;

/// The paths that somebody begins to write.
#[derive(Default)]
pub struct Turns {
    taken: Mutex<HashSet<PathBuf>>,
    given: Condvar,
}

/// A turn, until this is dropped.
pub struct Turn<'t> {
    turns: &'t Turns,
    paths: Vec<PathBuf>,
}

impl Turns {
    /// Waits for a path's turn.
    pub fn take(&self, path: &Path) -> Turn<'_> {
        self.take_all(&[path])
    }

    /// Waits for those of several paths.
    pub fn take_all(&self, paths: &[&Path]) -> Turn<'_> {
        let mut taken = lock(&self.taken);
        while paths.iter().any(|&path| taken.contains(path)) {
            taken = self.given.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        let paths: Vec<PathBuf> = paths.iter().map(|&path| path.to_owned()).collect();
        taken.extend(paths.iter().cloned());
        Turn { turns: self, paths }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut taken = lock(&self.turns.taken);
        self.paths.iter().for_each(|path| _ = taken.remove(path));
        drop(taken);
        self.turns.given.notify_all();
    }
}
