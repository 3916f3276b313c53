//! What was put lately: who looked a name up meanwhile may have been told what was there before.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};

use foresee_run::pool::lock;

/// So many are remembered; who looks a name up while more are put asks again.
const LATEST_MAX: usize = 256;

#[derive(Default)]
struct State {
    count: u64,
    latest: VecDeque<Arc<Path>>,
}

/// The paths, in turn.
#[derive(Default)]
pub struct Puts(Mutex<State>);

impl Puts {
    /// One more, or it may have been.
    pub fn add(&self, path: Arc<Path>) {
        let mut state = lock(&self.0);
        state.count += 1;
        state.latest.push_front(path);
        state.latest.truncate(LATEST_MAX);
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        lock(&self.0).count
    }

    /// Whether a path may have been put since there were so many.
    pub fn has_since(&self, count: u64, path: &Path) -> bool {
        let state = lock(&self.0);
        let since = (state.count - count) as usize;
        since > LATEST_MAX || state.latest.iter().take(since).any(|it| **it == *path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_since_is_told() {
        let (puts, a, b) = (Puts::default(), Path::new("/a"), Path::new("/b"));
        puts.add(a.into());
        let before = puts.count();
        assert!(!puts.has_since(before, a));
        puts.add(b.into());
        assert!(puts.has_since(before, b) && !puts.has_since(before, a) && puts.has_since(0, a));
        (0..LATEST_MAX).for_each(|_| puts.add(b.into()));
        assert!(puts.has_since(before, a), "it is not known any more");
    }
}
