//! Who was told that a name leads to something else by now, and looks it up anew. The kernel does that once
//! for each open: where a file changes all the time, who comes again is to be helped by other means.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use foresee_run::pool::lock;

use crate::failure::Failure;

/// The kernel comes again at once; that this thread opens this path anew after that says nothing.
const LASTING: Duration = Duration::from_secs(5);
/// So often what is there is looked for then.
pub const TRIES: usize = 8;
/// With more than so many those are forgotten that never came.
const MANY: usize = 256;

/// By their threads, which are 0 for all of another namespace, and their paths.
#[derive(Default)]
pub struct Retries(Mutex<HashMap<(u32, Arc<Path>), Instant>>);

impl Retries {
    /// Whether a thread comes again with a path, after it was [told](Self::told) to.
    pub fn comes_again(&self, thread: u32, path: &Arc<Path>) -> bool {
        let told = lock(&self.0).remove(&(thread, Arc::clone(path)));
        told.is_some_and(|since| since.elapsed() < LASTING)
    }

    /// A thread is told to look a path up anew.
    pub fn told(&self, thread: u32, path: Arc<Path>) {
        let mut told = lock(&self.0);
        if told.len() >= MANY {
            told.retain(|_, since| since.elapsed() < LASTING);
        }
        told.insert((thread, path), Instant::now());
    }
}

/// Does it again as long as what it is about changes meanwhile.
pub fn again_while_it_changes<T>(act: impl Fn() -> Result<T, Failure>) -> Result<T, Failure> {
    let changed = |done: &Result<T, Failure>| done.as_ref().is_err_and(|failure| failure.errno == libc::ESTALE);
    let mut done = act();
    for _ in 1..TRIES {
        if !changed(&done) {
            break;
        }
        done = act();
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_comes_again_once_with_the_path_that_it_was_told_of() {
        let (retries, path) = (Retries::default(), Arc::from(Path::new("/a")));
        retries.told(1, Arc::clone(&path));
        assert!(!retries.comes_again(2, &path) && !retries.comes_again(1, &Arc::from(Path::new("/b"))));
        assert!(retries.comes_again(1, &path) && !retries.comes_again(1, &path));
    }
}
