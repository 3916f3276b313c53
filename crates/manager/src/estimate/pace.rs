//! How fast a reader consumes what it disclosed: the time between two of its reads that found their blocks here.
//!
//! The prefetch horizon of 000 assumes that readers do nothing but read, T_hit each (equation 6), lest a burst find its blocks
//! missing. T_hit is 0.4 us on a machine of today and the horizon of a disk of 5 ms 12,500 references: no bound at all where a
//! reader computes for a millisecond over each block. The measured pace, with a margin for bursts, is one.

use crate::ids::Time;

/// The time between reads, averaged: the latest weighs a sixteenth.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pace {
    last: Option<Time>,
    between_ns: Option<f64>,
}

impl Pace {
    /// A read that found its block here. What it waits for is not in the time until the next one.
    pub fn hit(&mut self, now: Time) {
        if let Some(last) = self.last {
            let between = now.0.saturating_sub(last.0) as f64;
            let before = self.between_ns.unwrap_or(between);
            self.between_ns = Some(before + (between - before) / 16.0);
        }
        self.last = Some(now);
    }

    /// A read that had to wait: the time since the last one says nothing of the reader.
    pub fn stalled(&mut self) {
        self.last = None;
    }

    /// Nanoseconds from one read to the next, without waiting; None if that was not seen yet.
    pub fn between_ns(&self) -> Option<f64> {
        self.between_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_do_not_count() {
        let mut pace = Pace::default();
        pace.hit(Time(1000));
        assert_eq!(pace.between_ns(), None);
        pace.hit(Time(1500));
        pace.stalled();
        pace.hit(Time(9_000_000));
        pace.hit(Time(9_000_500));
        assert_eq!(pace.between_ns(), Some(500.0));
        (1..100).for_each(|at| pace.hit(Time(9_000_500 + at * 900)));
        assert!(pace.between_ns().is_some_and(|ns| (ns - 900.0).abs() < 10.0));
    }
}
