//! Whether programs do little but wait, while nothing is read ahead for them.
//!
//! A disk that answers in some microseconds at most times has its moments, as have programs that
//! begin and wait for what they consist of themselves: 10 to 17 ms in one go, of runs in which nothing
//! is gained. So it takes more than that.

use std::time::{Duration, Instant};

use foresee_ring::COUNTED_STALLS_MAX;

use super::STALL_MIN;

/// Who waits for so long, in two calls at least, and in so much of the time, wants more read ahead.
const MIN: Duration = Duration::from_millis(25);
const PART: u32 = 4;
/// The time that is looked at is so long at most: what was before it is forgotten.
const LATELY: Duration = Duration::from_millis(200);
/// As a program begins it waits for what itself consists of, whatever comes then.
const BEGINNING: Duration = Duration::from_millis(50);

/// What was waited of late.
#[derive(Debug)]
pub(super) struct Waits {
    begun: Instant,
    since: Instant,
    waited: Duration,
}

impl Waits {
    /// All begins now.
    pub fn new() -> Self {
        let now = Instant::now();
        Waits { begun: now, since: now, waited: Duration::ZERO }
    }

    /// A program waited for so long, in one call.
    pub fn add(&mut self, took: Duration) {
        self.add_counted(took.min(STALL_MIN * COUNTED_STALLS_MAX));
    }

    /// Programs waited for so long, in calls each of which counts for no longer than it may.
    pub fn add_counted(&mut self, took: Duration) {
        self.waited += took;
    }

    /// What was waited until now is not looked at.
    pub fn pass(&mut self) {
        (self.since, self.waited) = (Instant::now(), Duration::ZERO);
    }

    /// Whether programs wait, by now; some time without is forgotten.
    pub fn are_long(&mut self, now: Instant) -> bool {
        let within = now - self.since;
        let are_long = self.waited >= MIN && self.waited * PART >= within;
        if within >= LATELY || now - self.begun < BEGINNING {
            (self.since, self.waited) = (now, Duration::ZERO);
        }
        are_long
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether they are long, looked at each millisecond, for so many of which so much is waited of each
    /// so many; after so many without.
    fn are_long(without: u64, millis: u64, micros: u64) -> bool {
        let mut waits = Waits::new();
        let mut at = |milli: u64, micros: u64| {
            waits.add(Duration::from_micros(micros));
            waits.are_long(waits.begun + Duration::from_millis(milli))
        };
        let before = (0..without).any(|milli| at(milli, 0));
        let then = (without..without + millis).any(|milli| at(milli, micros));
        assert!(!before);
        then
    }

    #[test]
    fn a_moment_is_not_much() {
        assert!(!are_long(100, 24, 1000));
        assert!(are_long(100, 80, 1000));
    }

    #[test]
    fn programs_that_wait_for_a_quarter_of_the_time_do() {
        assert!(are_long(1000, 500, 260));
        assert!(!are_long(1000, 500, 240));
        assert!(are_long(30, 1000, 1000));
    }

    #[test]
    fn one_call_says_little() {
        let mut waits = Waits::new();
        waits.add(Duration::from_millis(60));
        assert!(!waits.are_long(waits.since + Duration::from_millis(60)));
        waits.add(Duration::from_millis(60));
        assert!(waits.are_long(waits.since + Duration::from_millis(60)));
    }

    #[test]
    fn what_a_program_consists_of_is_waited_for_anyway() {
        assert!(!are_long(0, 50, 1000));
        assert!(are_long(0, 80, 1000));
    }
}
