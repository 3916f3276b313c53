//! Parts of an open file that could not be read a moment ago. The kernel asks for what it reads ahead
//! at once, and if that fails, for each page by itself: who reads would wait the store's deadline
//! out again and again, in one call.

use std::ops::Range;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use foresee_run::pool::lock;

use crate::failure::Failure;

/// So long it is not asked for again.
const LASTS: Duration = Duration::from_millis(250);
/// Of so many parts at most, which is more than there are requests at once.
const PARTS_MAX: usize = 256;

/// Those of one file.
#[derive(Default)]
pub struct Failures(Mutex<Vec<(Instant, Range<u64>, Failure)>>);

impl Failures {
    /// This was asked for, and failed after so long: what fails soon may be asked for again and again.
    pub fn add(&self, part: Range<u64>, failure: &Failure, took: Duration) {
        if took < LASTS {
            return;
        }
        let mut all = lock(&self.0);
        all.retain(|(when, ..)| when.elapsed() < LASTS);
        if all.len() < PARTS_MAX {
            all.push((Instant::now(), part, failure.clone()));
        }
    }

    /// Why some of this could not be read, if that is not long ago.
    pub fn lately(&self, part: &Range<u64>) -> Option<Failure> {
        let overlaps = |other: &Range<u64>| other.start < part.end && part.start < other.end;
        let all = lock(&self.0);
        let failed = all.iter().find(|(when, other, _)| when.elapsed() < LASTS && overlaps(other));
        failed.map(|(.., failure)| failure.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_not_asked_for_again_at_once_and_all_else_is() {
        let failures = Failures::default();
        assert!(failures.lately(&(0..100)).is_none());
        failures.add(100..200, &Failure::of(libc::EIO), Duration::ZERO);
        assert!(failures.lately(&(0..1000)).is_none());
        failures.add(100..200, &Failure::of(libc::EIO), LASTS);
        for (part, expected) in [(0..100, false), (0..101, true), (150..160, true), (199..300, true), (200..300, false)]
        {
            assert_eq!(failures.lately(&part).is_some_and(|it| it.errno == libc::EIO), expected, "{part:?}");
        }
        let long_ago = Instant::now().checked_sub(LASTS).unwrap();
        lock(&failures.0)[0].0 = long_ago;
        assert!(failures.lately(&(150..160)).is_none());
        failures.add(0..1, &Failure::of(libc::EIO), LASTS);
        assert_eq!(lock(&failures.0).len(), 1);
    }
}
