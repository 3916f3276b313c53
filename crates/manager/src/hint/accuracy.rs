//! How often what a source disclosed came true.

/// Blocks whose outcome weighs as much as what was believed before any was known.
const PRIOR_BLOCKS: f64 = 16.0;
/// Blocks beyond which both counts are halved: what was long ago counts for less.
const MEMORY_BLOCKS: f64 = 1024.0;

/// Disclosed blocks that were read, and that were passed over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Accuracy {
    pub consumed: u64,
    pub skipped: u64,
    /// The same of those that are telling: whose outcome says how true the source is.
    pub telling: (u64, u64),
    /// What is believed before any outcome is known.
    prior: f64,
    /// The same, decayed: those that came true, and all.
    recent: (f64, f64),
}

impl Default for Accuracy {
    fn default() -> Self {
        Accuracy::expecting(1.0)
    }
}

impl Accuracy {
    /// Of what comes true so often, as far as is believed beforehand.
    pub fn expecting(prior: f64) -> Self {
        Accuracy { consumed: 0, skipped: 0, telling: (0, 0), prior, recent: (0.0, 0.0) }
    }

    /// Blocks that came true, of which some are telling.
    pub fn came_true(&mut self, blocks: u64, telling: u64) {
        self.consumed += blocks;
        self.telling.0 += telling;
        self.count(telling as f64, telling as f64);
    }

    /// Blocks that were passed over, of which some are telling.
    pub fn proved_wrong(&mut self, blocks: u64, telling: u64) {
        self.skipped += blocks;
        self.telling.1 += telling;
        self.count(0.0, telling as f64);
    }

    /// A block that had been passed over is read after all.
    pub fn take_back(&mut self) {
        self.skipped = self.skipped.saturating_sub(1);
        self.telling.1 = self.telling.1.saturating_sub(1);
    }

    /// Whoever discloses says how sure it is.
    pub fn declare(&mut self, prior: f64) {
        self.prior = prior;
    }

    fn count(&mut self, came_true: f64, all: f64) {
        self.recent = (self.recent.0 + came_true, self.recent.1 + all);
        while self.recent.1 > MEMORY_BLOCKS {
            self.recent = (self.recent.0 / 2.0, self.recent.1 / 2.0);
        }
    }

    /// So many blocks later what was found counts for less.
    pub fn fade(&mut self, blocks: u64) {
        let kept = 0.5_f64.powf(blocks as f64 / MEMORY_BLOCKS);
        self.recent = (self.recent.0 * kept, self.recent.1 * kept);
    }

    /// How likely the next disclosed block is to be read, from 0 to 1.
    pub fn confidence(&self) -> f64 {
        (self.recent.0 + PRIOR_BLOCKS * self.prior) / (self.recent.1 + PRIOR_BLOCKS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_follows_what_is_recent() {
        let mut accuracy = Accuracy::default();
        assert_eq!(accuracy.confidence(), 1.0);
        accuracy.proved_wrong(48, 48);
        assert_eq!(accuracy.confidence(), 0.25);
        accuracy.came_true(5000, 5000);
        accuracy.came_true(1000, 1000);
        assert!(accuracy.confidence() > 0.97);
        accuracy.declare(0.5);
        assert!(accuracy.confidence() < 1.0);
    }
}
