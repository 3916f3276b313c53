//! Who was told that a name leads to something else by now, and looks it up anew. The kernel does that once
//! for each open: where a file changes all the time, who comes again is to be helped by other means.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use foresee_run::pool::lock;

/// The kernel comes again at once; that this thread opens this path anew after that says nothing.
const LASTING: Duration = Duration::from_secs(5);
/// So often what is there is looked for then.
pub const TRIES: usize = 8;
/// With more than so many those are forgotten that never came.
const MANY: usize = 256;

/// By their threads.
#[derive(Default)]
pub struct Retries(Mutex<HashMap<u32, (Arc<Path>, Instant)>>);

impl Retries {
    /// Whether a thread comes again with a path, after it was [told](Self::told) to.
    pub fn comes_again(&self, thread: u32, path: &Path) -> bool {
        let told = lock(&self.0).remove(&thread);
        told.is_some_and(|(of, since)| *of == *path && since.elapsed() < LASTING)
    }

    /// A thread is told to look a path up anew.
    pub fn told(&self, thread: u32, path: Arc<Path>) {
        let mut told = lock(&self.0);
        if told.len() >= MANY {
            told.retain(|_, (_, since)| since.elapsed() < LASTING);
        }
        told.insert(thread, (path, Instant::now()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_comes_again_once_with_the_path_that_it_was_told_of() {
        let (retries, path) = (Retries::default(), Path::new("/a"));
        retries.told(1, path.into());
        assert!(!retries.comes_again(2, path));
        assert!(retries.comes_again(1, path) && !retries.comes_again(1, path));
        retries.told(1, path.into());
        assert!(!retries.comes_again(1, Path::new("/b")) && !retries.comes_again(1, path));
    }
}
