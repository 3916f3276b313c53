//! What requests take by their blocks: a straight line through those of late.

/// What a block takes is known if the requests' blocks deviate so far from their mean, as a part of
/// it.
const DEVIATION: f64 = 0.25;

/// Means of times and blocks, and how they go together; the latest weigh most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    pub ns: f64,
    pub blocks: f64,
    covariance: f64,
    variance: f64,
}

impl Line {
    /// A request of so many blocks took so long, and has this weight; the first has all.
    pub fn add(line: &mut Option<Line>, ns: u64, blocks: u64, weight: f64) {
        let (ns, blocks) = (ns as f64, blocks as f64);
        let line = line.get_or_insert(Line { ns, blocks, covariance: 0.0, variance: 0.0 });
        // Welford's steps, with weights that fade.
        let (ns_off, blocks_off) = (ns - line.ns, blocks - line.blocks);
        line.ns += ns_off * weight;
        line.blocks += blocks_off * weight;
        line.covariance = (1.0 - weight) * (line.covariance + weight * ns_off * blocks_off);
        line.variance = (1.0 - weight) * (line.variance + weight * blocks_off * blocks_off);
    }

    /// What a block takes, if there were shorter and longer requests.
    pub fn block_ns(&self) -> Option<f64> {
        let is_known = self.variance.sqrt() > DEVIATION * self.blocks;
        is_known.then(|| self.covariance / self.variance).filter(|&it| it > 0.0)
    }
}
