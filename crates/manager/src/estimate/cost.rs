//! What requests cost, and what follows for a disclosed block: 000 sections 4.2 to 4.6. Times in
//! nanoseconds.
//!
//! Worked example, the testbed of 000: T_hit 243 us, T_driver 580 us, T_disk 15 ms. The prefetch
//! horizon is 61.7 references. A block read in 100 references costs 580 us / 38.3 a reference to be
//! given up now and fetched again in time: 15 us. A block read in 10 costs 580 us + 15 ms - 2.4 ms
//! = 13.2 ms.

/// The times a request is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Times {
    /// T_hit: to read a block that is here.
    pub hit: f64,
    /// T_driver: the processor's part of a request to a device.
    pub driver: f64,
    /// T_disk: the device's part.
    pub disk: f64,
}

impl Times {
    /// References beyond which it is too early to fetch ahead (equation 7).
    pub fn horizon(&self) -> f64 {
        self.disk / self.hit
    }

    /// What a miss costs more than a hit (equation 2).
    pub fn miss(&self) -> f64 {
        self.driver + self.disk
    }

    /// What it saves to begin now with the fetch of a block that is read in so many references
    /// (equation 6).
    pub fn benefit(&self, references: u64) -> f64 {
        self.disk - references as f64 * self.hit
    }

    /// That, for each reference for which the block then holds its page (equation 8). Not positive
    /// beyond the horizon.
    pub fn benefit_a_reference(&self, references: u64) -> f64 {
        self.benefit(references) / references.max(1) as f64
    }

    /// What it costs, for each reference for which the page is free, to give up a block that is
    /// read in so many references and to fetch it again (equation 9). Just beyond the horizon
    /// the page is free for at least one reference.
    pub fn flush_a_reference(&self, references: u64) -> f64 {
        let beyond = references as f64 - self.horizon();
        if beyond > 0.0 { self.driver / beyond.max(1.0) } else { self.driver + self.benefit(references) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TESTBED: Times = Times { hit: 243e3, driver: 580e3, disk: 15e6 };

    #[test]
    fn the_papers_numbers() {
        assert!((TESTBED.horizon() - 61.7).abs() < 0.1);
        assert!((TESTBED.flush_a_reference(100) - 580e3 / 38.27).abs() < 10.0);
        assert!((TESTBED.flush_a_reference(10) - 13.15e6).abs() < 1.0);
        assert!(TESTBED.benefit_a_reference(62) < 0.0 && TESTBED.benefit_a_reference(61) > 0.0);
    }

    /// What is given up is not fetched again at once (000 section 4.6), and of two blocks the one
    /// read later is worth less.
    #[test]
    fn values_fall_with_distance_and_flushing_costs_more_than_fetching_gains() {
        for references in 1..2000 {
            assert!(TESTBED.flush_a_reference(references) > TESTBED.benefit_a_reference(references));
            assert!(TESTBED.flush_a_reference(references) >= TESTBED.flush_a_reference(references + 1));
        }
    }
}
