//! Whether asking for names and directories ahead of who looks them up gains anything. Where all of
//! them are in memory already it takes processor time, to list twice as much as the walk.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

use crate::pool::waited;

/// What took so long, and waited, waited for a device; what is shorter waited for another thread.
const WAIT_MIN: Duration = Duration::from_micros(25);
/// After so many directories in a row that were in memory, one in so many is listed.
const IN_A_ROW: u32 = 64;
const ONE_IN: u32 = 16;

/// What was found in memory, and what was not.
#[derive(Default)]
pub struct Warm {
    /// Directories that were found in memory, or not looked at, since one was not.
    in_a_row: AtomicU32,
    /// What was not.
    brought: AtomicU64,
}

impl Warm {
    /// What was asked for and had to be brought.
    pub fn brought(&self) -> u64 {
        self.brought.load(Relaxed)
    }

    /// Asks for something.
    pub fn look<T>(&self, look: impl FnOnce() -> T) -> T {
        self.ask(look).0
    }

    /// Lists the next directory, if that is worth it.
    pub fn list<T>(&self, list: impl FnOnce() -> T) -> Option<T> {
        self.is_worth_it().then(|| {
            let (listed, waited) = self.ask(list);
            self.listed(waited);
            listed
        })
    }

    fn ask<T>(&self, ask: impl FnOnce() -> T) -> (T, bool) {
        let (answer, waited) = waited(WAIT_MIN, ask);
        self.brought.fetch_add(u64::from(waited), Relaxed);
        (answer, waited)
    }

    fn is_worth_it(&self) -> bool {
        let pass_by = |count: u32| (count >= IN_A_ROW && !count.is_multiple_of(ONE_IN)).then_some(count + 1);
        self.in_a_row.fetch_update(Relaxed, Relaxed, pass_by).is_err()
    }

    fn listed(&self, waited: bool) {
        if waited {
            self.in_a_row.store(0, Relaxed);
        } else {
            self.in_a_row.fetch_add(1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(warm: &Warm, directories: usize, waited: bool) -> usize {
        (0..directories).filter(|_| warm.is_worth_it()).inspect(|_| warm.listed(waited)).count()
    }

    #[test]
    fn what_is_in_memory_is_soon_listed_now_and_then_only() {
        let warm = Warm::default();
        assert_eq!(listed(&warm, 64, false), 64);
        assert_eq!(listed(&warm, 1600, false), 100);
    }

    #[test]
    fn one_that_is_not_has_all_listed() {
        let warm = Warm::default();
        listed(&warm, 1000, false);
        assert!(listed(&warm, 1016, true) >= 1000);
        assert_eq!(listed(&warm, 64, false), 64, "it is to be proven again");
    }

    #[test]
    fn who_waits_brings_something() {
        let warm = Warm::default();
        assert_eq!((warm.look(|| 7), warm.brought()), (7, 0));
        warm.look(|| std::thread::sleep(WAIT_MIN));
        warm.list(|| std::thread::sleep(WAIT_MIN));
        assert_eq!(warm.brought(), 2);
    }
}
