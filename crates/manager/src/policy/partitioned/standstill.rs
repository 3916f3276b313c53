//! How long loops have stood still, counted in references.
//!
//! When a loop is over, a page of it is overdue after so many references (`looping.rs`), and
//! whoever is left must make them. Its own data are not here, because the loop's pages hold the
//! memory: it waits for a device at each read, and what the loop did in a second takes it minutes.
//! So time counts as well, at the pace of references while there were loops.
//!
//! ```text
//! reference n at t, looping:   pace = references / time of about the last `window` of them, up to here;  last = (n, t)
//! now(n, t):                   n, or if that is later last.n + (t - last.t) * pace
//! ```
//!
//! Pauses within a loop are a part of its pace: who reads all again each minute has minutes until
//! it is over. Without a clock, n.

use crate::ids::Time;

/// The pace, and the clock by it.
#[derive(Debug, Default)]
pub(super) struct Standstill {
    /// References, and the nanoseconds they took, between looping ones; halved as they grow.
    references: u64,
    ns: u64,
    /// The last looping reference.
    last: Option<(u64, Time)>,
    /// The last reference.
    time: Time,
}

impl Standstill {
    /// Reference number `now`; `window` references are a fair measure of the pace.
    pub fn refer(&mut self, now: u64, time: Time, is_looping: bool, window: u64) {
        self.time = time;
        if !is_looping {
            return;
        }
        if let Some((number, at)) = self.last {
            self.references += now - number;
            self.ns += time.0.saturating_sub(at.0);
        }
        if self.references > 2 * window {
            (self.references, self.ns) = (self.references / 2, self.ns / 2);
        }
        self.last = Some((now, time));
    }

    /// The reference it would be now if all had gone on at the loops' pace; `now` until that was
    /// measured over `window` references.
    pub fn now(&self, now: u64, window: u64) -> u64 {
        match self.last {
            Some((number, at)) if self.references >= window && self.ns > 0 => {
                let stood = self.time.0.saturating_sub(at.0) as f64;
                now.max(number.saturating_add((stood * self.references as f64 / self.ns as f64) as u64))
            }
            _ => now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loop of a reference a microsecond and a pause of 50 us each 100: 1.5 us a reference. It
    /// stands still for 300 us.
    #[test]
    fn time_counts_at_the_pace_of_the_loop() {
        let (mut it, mut time) = (Standstill::default(), 0);
        for now in 1..=1000 {
            time += if now % 100 == 0 { 51_000 } else { 1000 };
            it.refer(now, Time(time), true, 200);
        }
        assert_eq!(it.now(1000, 200), 1000);
        it.refer(1001, Time(time + 300_000), false, 200);
        assert!((1195..=1205).contains(&it.now(1001, 200)), "{}", it.now(1001, 200));
        // References that come faster than the loop's count by themselves.
        assert_eq!(it.now(1500, 200), 1500);
    }

    /// A few references say little of the pace, and a trace without a clock nothing.
    #[test]
    fn what_was_not_measured_does_not_count() {
        let mut it = Standstill::default();
        (1..100).for_each(|now| it.refer(now, Time(1000 * now), true, 200));
        it.refer(100, Time(10_000_000), false, 200);
        assert_eq!(it.now(100, 200), 100);
        let mut it = Standstill::default();
        (1..1000).for_each(|now| it.refer(now, Time(0), true, 200));
        assert_eq!(it.now(1000, 200), 1000);
    }
}
