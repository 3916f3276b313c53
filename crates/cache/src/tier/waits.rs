//! How long blocks wait, on the disk or given up, until memory asks for them: so whether one would
//! be asked for more often than another.

/// Time, in blocks that memory had brought, from the disk or from stores. It begins again after a
/// while: what has waited so long is taken for a newer one, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tick(pub u32);

impl Tick {
    /// How long ago it was.
    pub fn until(self, now: Tick) -> u32 {
        now.0.wrapping_sub(self.0)
    }
}

/// A block gives way to another once it has waited so many times as long as that had to. Blocks of
/// one cycle wait equally long, but for the order in which reading ahead brings them: none of them
/// shall give way to another.
const TIMES: u32 = 2;

/// The time, and what is known of waits.
pub struct Waits {
    now: Tick,
    /// Of waits that ended lately: what is asked for often counts often.
    mean: f64,
    /// Of how many, about.
    weight: f64,
}

impl Waits {
    /// Beside a disk of so many slots, and while nothing is known: as long as it takes to fill it.
    pub fn new(slots: u32) -> Self {
        Waits { now: Tick(0), mean: f64::from(slots), weight: f64::from(slots.div_ceil(2)) }
    }

    /// What time it is.
    pub fn now(&self) -> Tick {
        self.now
    }

    /// A block was brought.
    pub fn brought(&mut self) {
        self.now.0 = self.now.0.wrapping_add(1);
    }

    /// A wait is over that was so long.
    pub fn learn(&mut self, ticks: u32) {
        self.mean += (f64::from(ticks) - self.mean) / self.weight;
    }

    /// What has waited longer than this gives way to a block that had to wait so long: if that is not
    /// known, to one of which there is more hope than of most, that waits half of the mean.
    pub fn longer_than(&self, waited: Option<u32>) -> u32 {
        waited.unwrap_or((self.mean / 2.0) as u32).saturating_mul(TIMES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_is_not_known_the_mean_is_expected() {
        let mut waits = Waits::new(100);
        assert_eq!((waits.longer_than(None), waits.longer_than(Some(7))), (100, 14));
        (0..1000).for_each(|_| waits.learn(40));
        assert_eq!(waits.longer_than(None), 40);
        assert_eq!(waits.longer_than(Some(u32::MAX)), u32::MAX);
    }

    #[test]
    fn time_may_begin_again() {
        let mut waits = Waits::new(100);
        waits.now = Tick(u32::MAX);
        let before = waits.now();
        (0..3).for_each(|_| waits.brought());
        assert_eq!(before.until(waits.now()), 3);
    }
}
