//! What goes wrong on purpose: fetches that fail, are delayed, or overtake one another. The same
//! seed does the same harm.

/// How much goes wrong. The shares are of all fetches, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Faults {
    /// What the choice of fetches depends on.
    pub seed: u64,
    /// Fetches that fail instead of bringing their blocks.
    pub fail_share: f64,
    /// Fetches that take longer.
    pub delay_share: f64,
    /// By how much at most.
    pub delay_ns_max: u64,
    /// Fetches that change places with another one on its way, of any device.
    pub swap_share: f64,
}

impl Faults {
    /// All goes well.
    pub const NONE: Faults = Faults { seed: 0, fail_share: 0.0, delay_share: 0.0, delay_ns_max: 0, swap_share: 0.0 };
}

/// Deals the faults out.
pub(crate) struct Dice {
    faults: Faults,
    state: u64,
}

impl Dice {
    pub(crate) fn new(faults: Faults) -> Self {
        Dice { faults, state: faults.seed }
    }

    /// splitmix64 (Steele, Lea and Flood, 2014): eight lines in place of a dependency.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// True once in 1/share calls. Draws nothing where nothing can happen, so that a plan without a
    /// kind of fault is not changed by its kind being there.
    fn happens(&mut self, share: f64) -> bool {
        share > 0.0 && (self.next() >> 11) as f64 / (1_u64 << 53) as f64 <= share
    }

    pub(crate) fn fails(&mut self) -> bool {
        self.happens(self.faults.fail_share)
    }

    pub(crate) fn delay_ns(&mut self) -> u64 {
        if self.happens(self.faults.delay_share) { self.next() % self.faults.delay_ns_max.max(1) } else { 0 }
    }

    /// Which of `others` fetches on their way to change places with, if any.
    pub(crate) fn swap(&mut self, others: usize) -> Option<usize> {
        let swaps = others > 0 && self.happens(self.faults.swap_share);
        swaps.then(|| (self.next() % others as u64) as usize)
    }
}
