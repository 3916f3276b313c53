//! Whether the disk is quicker than the store that it stands before, as measured.

use std::time::Duration;

/// Requests are compared with those of about as many blocks: up to 1, 2, 4, ... of them.
const SIZES: usize = 10;
/// Before so many requests it is not known.
const ENOUGH: u32 = 8;
/// Of how many requests the mean is, about.
const WEIGHT: f64 = 16.0;
/// One that takes longer than so many times the mean counts as that: a single slow answer says little
/// of the next ones, and who is taken for slower by one is hardly asked again. One that stays slower,
/// fifty times say, is known to be so after two dozen answers.
const TIMES_MAX: f64 = 4.0;
/// What a request takes at least, for that.
const SECONDS_MIN: f64 = 1e-6;
/// Where the disk is slower, one request in so many asks it all the same: it may be quicker again.
const PROBE: u64 = 64;

#[derive(Default, Clone, Copy)]
struct Mean {
    requests: u32,
    seconds: f64,
}

impl Mean {
    fn add(&mut self, took: Duration) {
        let most = match self.requests {
            0 => f64::INFINITY,
            _ => self.seconds.max(SECONDS_MIN) * TIMES_MAX,
        };
        if self.requests < ENOUGH {
            // The first one may be the slow one.
            self.seconds = self.seconds.min(took.as_secs_f64().max(SECONDS_MIN) * TIMES_MAX);
        }
        self.requests = self.requests.saturating_add(1);
        self.seconds += (took.as_secs_f64().min(most) - self.seconds) / f64::from(self.requests).min(WEIGHT);
    }
}

/// What requests of one device took.
#[derive(Default, Clone)]
pub struct Times([Mean; SIZES]);

fn size(blocks: usize) -> usize {
    (blocks.max(1).next_power_of_two().trailing_zeros() as usize).min(SIZES - 1)
}

impl Times {
    /// A request for so many blocks is done.
    pub fn took(&mut self, blocks: usize, took: Duration) {
        self.0[size(blocks)].add(took);
    }

    /// What one takes, if that is known.
    fn seconds(&self, blocks: usize) -> Option<f64> {
        let mean = self.0[size(blocks)];
        (mean.requests >= ENOUGH).then_some(mean.seconds)
    }
}

/// The disk's times, and each place's of the stores; nothing is known at first.
#[derive(Default)]
pub struct Pace {
    /// The disk's.
    pub disk: Times,
    stores: Vec<Times>,
    refused: u64,
}

impl Pace {
    /// A store's place.
    pub fn store(&mut self, at: usize) -> &mut Times {
        if self.stores.len() <= at {
            self.stores.resize(at + 1, Times::default());
        }
        &mut self.stores[at]
    }

    /// Whether so many blocks are to be asked of the disk, where this store has them too.
    pub fn is_worth_asking(&mut self, store: usize, blocks: usize) -> bool {
        let times = self.disk.seconds(blocks).zip(self.store(store).seconds(blocks));
        if times.is_none_or(|(disk, store)| disk <= store) {
            return true;
        }
        self.refused += 1;
        self.refused.is_multiple_of(PROBE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_slower_is_seldom_asked_and_found_quicker_again() {
        let mut pace = Pace::default();
        let time = Duration::from_millis;
        (0..20).for_each(|_| pace.disk.took(3, time(10)));
        assert!(pace.is_worth_asking(0, 3), "nothing is known of the store");
        (0..20).for_each(|_| pace.store(0).took(4, time(5)));
        (0..20).for_each(|_| pace.store(1).took(4, time(20)));
        let asked = |pace: &mut Pace| (0..640).filter(|_| pace.is_worth_asking(0, 4)).count();
        assert_eq!(asked(&mut pace), 10);
        assert!(pace.is_worth_asking(1, 4) && pace.is_worth_asking(0, 1));
        (0..100).for_each(|_| pace.disk.took(3, time(1)));
        assert_eq!(asked(&mut pace), 640);
    }

    #[test]
    fn one_slow_answer_is_no_slow_disk_and_several_are() {
        let mut pace = Pace::default();
        let time = Duration::from_millis;
        pace.disk.took(1, time(500));
        (0..20).for_each(|_| pace.disk.took(1, time(1)));
        (0..20).for_each(|_| pace.store(0).took(1, time(2)));
        assert!(pace.is_worth_asking(0, 1));
        pace.disk.took(1, time(500));
        assert!(pace.is_worth_asking(0, 1));
        (0..8).for_each(|_| pace.disk.took(1, time(500)));
        assert!(!pace.is_worth_asking(0, 1));
    }
}
