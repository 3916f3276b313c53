//! After a failure it is tried again later, and each time later: a disk that is full or broken
//! costs little.

/// Times it is left alone after so many failures in a row, at most: two to this power.
const FAILURES_MAX: u32 = 16;

/// What is known of how it went.
#[derive(Default)]
pub struct Caution {
    failures: u32,
    left_alone: u64,
}

impl Caution {
    /// Whether to try now.
    pub fn may_try(&mut self) -> bool {
        let is_time = self.left_alone == 0;
        self.left_alone = self.left_alone.saturating_sub(1);
        is_time
    }

    /// It went well.
    pub fn went_well(&mut self) {
        *self = Caution::default();
    }

    /// It failed.
    pub fn failed(&mut self) {
        self.failures = (self.failures + 1).min(FAILURES_MAX);
        self.left_alone = 1 << self.failures;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_tried_less_and_less_until_it_goes_well() {
        let mut caution = Caution::default();
        let tried = (0..1000).filter(|_| caution.may_try().then(|| caution.failed()).is_some()).count();
        assert!((8..=10).contains(&tried), "{tried}");
        caution.went_well();
        assert!(caution.may_try() && caution.may_try());
    }
}
