//! How fast a reader consumes what it disclosed: the time between two of its reads that found their
//! blocks here.
//!
//! The prefetch horizon of 000 assumes that readers do nothing but read, T_hit each (equation 6),
//! lest a burst find its blocks missing. T_hit is 0.4 us on a machine of today and the horizon of a
//! disk of 5 ms 12,500 references: no bound at all where a reader computes for a millisecond over
//! each block. The measured pace, with a margin for bursts, is one.

use crate::ids::Time;

/// Reads after which what was before weighs half as much.
const HALVED_AFTER: f64 = 4096.0;

/// The time between reads, averaged; what was long ago weighs less.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pace {
    /// The time of the last reads, and how many there were at that time.
    last: Option<(Time, u32)>,
    /// When the last read began that had to wait; when it was over is not known.
    stalled: Option<Time>,
    /// Nanoseconds, and reads they were spent on.
    spent: (f64, f64),
}

impl Pace {
    /// A read that found its block here. A read of many blocks comes as many reads at one time, and
    /// the reader goes to work on all of them. Where it waited nevertheless, the time since the
    /// last one says nothing of it; and where other blocks of the same read are waited for, `now`
    /// is not when its work began.
    pub fn hit(&mut self, now: Time, waited: bool) {
        if !waited && self.stalled == Some(now) {
            return;
        }
        match &mut self.last {
            Some((last, reads)) if *last == now => *reads += 1,
            Some((last, reads)) => {
                if !waited {
                    let keep = 0.5_f64.powf(f64::from(*reads) / HALVED_AFTER);
                    let between = now.0.saturating_sub(last.0) as f64;
                    self.spent = (self.spent.0 * keep + between, self.spent.1 * keep + f64::from(*reads));
                }
                (*last, *reads) = (now, 1);
            }
            None => self.last = Some((now, 1)),
        }
    }

    /// A read that has to wait from now on: the time since the last one says nothing of the reader.
    pub fn stalled(&mut self, now: Time) {
        self.last = None;
        self.stalled = Some(now);
    }

    /// Nanoseconds from one read to the next, without waiting; None if that was not seen yet.
    pub fn between_ns(&self) -> Option<f64> {
        (self.spent.1 > 0.0).then(|| self.spent.0 / self.spent.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_do_not_count() {
        let mut pace = Pace::default();
        pace.hit(Time(1000), false);
        assert_eq!(pace.between_ns(), None);
        pace.hit(Time(1500), false);
        pace.stalled(Time(2500));
        pace.hit(Time(9_000_000), false);
        pace.hit(Time(9_000_500), false);
        pace.hit(Time(19_000_500), true);
        assert!(pace.between_ns().is_some_and(|ns| (ns - 500.0).abs() < 0.001));
        (1..50_000).for_each(|at| pace.hit(Time(19_000_500 + at * 900), false));
        assert!(pace.between_ns().is_some_and(|ns| (ns - 900.0).abs() < 10.0));
    }

    #[test]
    fn a_read_that_waits_for_its_first_block_did_not_think_until_the_next() {
        let mut pace = Pace::default();
        for read in 0..100 {
            let now = Time(read * 20_000_000);
            pace.stalled(now);
            (1..4).for_each(|_| pace.hit(now, false));
        }
        assert_eq!(pace.between_ns(), None);
    }

    #[test]
    fn blocks_read_at_once_share_the_time() {
        let mut pace = Pace::default();
        (0..10 * 256).for_each(|block| pace.hit(Time(block / 256 * 512_000), false));
        assert!(pace.between_ns().is_some_and(|ns| (ns - 2000.0).abs() < 0.001));
    }
}
