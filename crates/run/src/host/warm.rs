//! Whether listing directories ahead of who walks them gains anything. Where all of them are in
//! memory already it takes processor time, twice as much as the walk.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// To list a directory that is in memory takes no longer than this, and this for each entry.
const CACHED: Duration = Duration::from_micros(30);
const CACHED_EACH: Duration = Duration::from_nanos(500);
/// After so many in a row that were in memory, one in so many is listed.
const IN_A_ROW: u32 = 64;
const ONE_IN: u32 = 16;

/// Directories that were found in memory, or not looked at, since one was not.
#[derive(Default)]
pub struct Warm(AtomicU32);

impl Warm {
    /// Whether the next one is to be listed.
    pub fn is_worth_it(&self) -> bool {
        let pass_by = |count: u32| (count >= IN_A_ROW && !count.is_multiple_of(ONE_IN)).then_some(count + 1);
        self.0.fetch_update(Relaxed, Relaxed, pass_by).is_err()
    }

    /// One was listed, of so many entries.
    pub fn took(&self, entries: usize, time: Duration) {
        let was_cached = time <= CACHED + CACHED_EACH * u32::try_from(entries).unwrap_or(u32::MAX);
        if was_cached {
            self.0.fetch_add(1, Relaxed);
        } else {
            self.0.store(0, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(warm: &Warm, directories: usize, time: Duration) -> usize {
        (0..directories).filter(|_| warm.is_worth_it()).inspect(|_| warm.took(10, time)).count()
    }

    #[test]
    fn what_is_in_memory_is_soon_listed_now_and_then_only() {
        let (warm, quick) = (Warm::default(), Duration::from_micros(35));
        assert_eq!(listed(&warm, 64, quick), 64);
        assert_eq!(listed(&warm, 1600, quick), 100);
    }

    #[test]
    fn one_that_is_not_has_all_listed() {
        let (warm, quick, slow) = (Warm::default(), Duration::from_micros(10), Duration::from_micros(36));
        listed(&warm, 1000, quick);
        assert!(listed(&warm, 1016, slow) >= 1000);
        assert_eq!(listed(&warm, 64, quick), 64, "it is to be proven again");
    }
}
