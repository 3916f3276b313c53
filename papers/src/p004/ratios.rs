//! Figure 11: hit ratios by cache size.

use super::{Application, PCC, Ran, UBM, hit_ratio};
use crate::{Effort, Report};
use foresee_chart::{Plot, Shape};

const EXPERIMENT: &str = "Figure 11: hit ratio";
const POLICIES: [(&str, &str); 7] = [
    ("OPT", "opt"),
    ("PCC", PCC),
    ("UBM", UBM),
    ("ARC", "arc"),
    ("LRU", "lru"),
    ("LIRS", "lirs"),
    ("ours", "pcc:other=arc"),
];
/// Who gains over whom: places in [`POLICIES`].
const GAINS: [(usize, usize); 6] = [(1, 2), (1, 3), (1, 4), (2, 4), (6, 2), (6, 3)];

fn percents(effort: Effort) -> &'static [u64] {
    match effort {
        Effort::Quick => &[10, 25, 50],
        Effort::Full => &[2, 5, 10, 25, 50, 75, 90],
    }
}

/// Hit ratios in percent, of each of [`POLICIES`] at each size.
pub(super) type Ratios = Vec<Vec<f64>>;

pub(super) fn measure(effort: Effort, application: &Application) -> Result<Ratios, String> {
    let percents = percents(effort);
    let outcomes = application.run(&POLICIES.map(|(_, policy)| policy.to_owned()), percents)?;
    Ok(outcomes.chunks(percents.len()).map(|sizes| sizes.iter().map(hit_ratio).collect()).collect())
}

pub(super) fn report(effort: Effort, all: &Ran<Ratios>, report: &mut Report) {
    let percents = percents(effort);
    for (name, ratios) in all {
        let title = format!("{EXPERIMENT}: {name}");
        let mut plot = Plot::new(title, "cache (% of the application's data)", "hit ratio (%)");
        for ((label, _), ratios) in POLICIES.iter().zip(ratios) {
            for (percent, ratio) in percents.iter().zip(ratios) {
                report.row(EXPERIMENT, format!("{name}; {percent} %; {label}"), *ratio, "%");
            }
            let points = percents.iter().zip(ratios).map(|(&percent, &ratio)| (percent as f64, ratio));
            plot.add(*label, Shape::Line, points.collect(), Vec::new());
        }
        report.plots.push(plot);
    }
    for (one, other) in GAINS {
        let label = format!("{} over {}", POLICIES[one].0, POLICIES[other].0);
        let experiment = format!("{EXPERIMENT} gained at most");
        let gains: Vec<f64> = all.iter().map(|(_, ratios)| most(&ratios[one], &ratios[other])).collect();
        for ((name, _), gain) in all.iter().zip(&gains) {
            report.row(&experiment, format!("{label}; {name}"), *gain, "points");
        }
        report.row(&experiment, format!("{label}; mean"), gains.iter().sum::<f64>() / gains.len() as f64, "points");
        let maximum = gains.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        report.row(&experiment, format!("{label}; maximum"), maximum, "points");
    }
}

/// The largest difference over the sizes.
fn most(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one - other).fold(f64::NEG_INFINITY, f64::max)
}
