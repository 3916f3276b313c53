//! Who refers how often: each estimator's share of the recent references (000 equation 8), decayed
//! over about one cache-full of them.
//!
//! Instead of letting every share decay at every reference, the weight of a reference grows: each
//! counts a little more than the one before, and what is long ago counts for less by that.

/// Weights beyond this are scaled back to 1, and all counts with them.
const WEIGHT_MAX: f64 = 1e100;

/// Shares of recent references.
pub struct Rates {
    weight: f64,
    growth: f64,
    total: f64,
    counts: Vec<f64>,
}

impl Rates {
    /// Shares that forget over about so many references.
    pub fn over(references: u64) -> Self {
        Rates { weight: 1.0, growth: 1.0 + 1.0 / references.max(1) as f64, total: 0.0, counts: Vec::new() }
    }

    /// From now on they forget over so many.
    pub fn spread_over(&mut self, references: u64) {
        self.growth = Rates::over(references).growth;
    }

    /// One reference of this estimator.
    pub fn refer(&mut self, estimator: usize) {
        if estimator >= self.counts.len() {
            self.counts.resize(estimator + 1, 0.0);
        }
        self.counts[estimator] += self.weight;
        self.total += self.weight;
        self.weight *= self.growth;
        if self.weight > WEIGHT_MAX {
            let scale = 1.0 / self.weight;
            self.counts.iter_mut().for_each(|count| *count *= scale);
            self.total *= scale;
            self.weight = 1.0;
        }
    }

    /// The estimator is another's now.
    pub fn forget(&mut self, estimator: usize) {
        if let Some(count) = self.counts.get_mut(estimator) {
            self.total -= *count;
            *count = 0.0;
        }
    }

    /// Whether it had any reference.
    pub fn is_known(&self, estimator: usize) -> bool {
        self.counts.get(estimator).is_some_and(|&count| count > 0.0)
    }

    /// Whether one of the recent references was this estimator's: of as many as shares forget over.
    pub fn is_recent(&self, estimator: usize) -> bool {
        self.counts.get(estimator).is_some_and(|&count| count * std::f64::consts::E >= self.weight)
    }

    /// How many estimators had one of them.
    pub fn recent(&self) -> usize {
        (0..self.counts.len()).filter(|&estimator| self.is_recent(estimator)).count()
    }

    /// The estimator's share. Never zero: one that has just begun counts as if the next reference
    /// were its own.
    pub fn share(&self, estimator: usize) -> f64 {
        (self.counts.get(estimator).copied().unwrap_or(0.0) + self.weight) / (self.total + self.weight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_follow_what_is_recent() {
        let mut rates = Rates::over(100);
        (0..1000).for_each(|_| rates.refer(0));
        assert!(rates.share(0) > 0.99 && rates.share(1) < 0.02 && rates.share(1) > 0.0);
        (0..2000).for_each(|at| rates.refer(1 + at % 2));
        assert!(rates.share(0) < 0.02);
        assert!((rates.share(1) - 0.5).abs() < 0.02, "{}", rates.share(1));
    }

    #[test]
    fn who_was_not_heard_of_for_as_many_is_not_recent() {
        let mut rates = Rates::over(100);
        rates.refer(1);
        (0..90).for_each(|_| rates.refer(0));
        assert!(rates.is_recent(1) && rates.recent() == 2);
        (0..20).for_each(|_| rates.refer(0));
        assert!(!rates.is_recent(1) && rates.recent() == 1);
        assert!(rates.is_known(1) && !rates.is_known(2));
    }

    #[test]
    fn weights_are_scaled_back() {
        let mut rates = Rates::over(1);
        (0..10_000).for_each(|at| rates.refer(at % 2));
        assert!(rates.weight < WEIGHT_MAX && rates.share(1) > rates.share(0));
        rates.forget(1);
        assert!(rates.share(0) > 0.6);
    }
}
