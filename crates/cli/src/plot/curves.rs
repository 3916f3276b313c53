//! Miss-ratio curves: what each policy misses at each size.

use foresee_chart::{Plot, Scale, Shape};
use foresee_manager::policy::Choice;
use foresee_sim::load::Trace;
use foresee_sim::untimed::{Cell, sweep};

use crate::progress::Progress;

/// Sizes, as shares of the trace's different blocks: about evenly on the logarithmic axis.
const SHARES: [f64; 12] = [0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.13, 0.2, 0.33, 0.5, 0.75, 1.0];

/// The curves; below them what no cache can save. None where that is all, to a thousandth.
pub fn miss_ratios(trace: &Trace, choices: &[Choice], progress: &Progress) -> Option<Plot> {
    let distinct = trace.distinct_blocks();
    let (_, references) = trace.whole();
    let least = 100.0 * distinct as f64 / references.max(1) as f64;
    if least > 99.9 {
        return None;
    }
    let mut sizes: Vec<u64> = SHARES.iter().map(|share| ((distinct as f64 * share).round() as u64).max(1)).collect();
    sizes.dedup();
    let cells: Vec<Cell> = choices
        .iter()
        .flat_map(|policy| sizes.iter().map(|&cache_blocks| Cell::new(policy.clone(), cache_blocks)))
        .collect();
    let outcomes = sweep(trace, &cells, &|done, total| progress.show(done, total));
    let mut plot = Plot::new("Miss ratios", "cache (blocks)", "misses (% of references)");
    plot.x_scale = Scale::Log;
    for curve in outcomes.chunks(sizes.len()) {
        let points = curve.iter().map(|outcome| (outcome.cache_blocks as f64, 100.0 * outcome.miss_ratio()));
        plot.add(&curve[0].policy, Shape::Line, points.collect(), Vec::new());
    }
    let ends = [sizes[0], sizes[sizes.len() - 1]];
    plot.add("unlimited", Shape::Line, ends.map(|size| (size as f64, least)).into(), Vec::new());
    Some(plot)
}
