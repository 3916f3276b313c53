//! Tables 1 and 2, and Figure 10: how many references are sequential, looping and other, by files
//! and by call sites.

use std::collections::HashSet;

use foresee_manager::policy::Patterns;

use super::{Application, BLOCK_BYTES, PCC, Ran, UBM};
use crate::Report;
use foresee_chart::{Plot, Shape};

const EXPERIMENT: &str = "Figure 10: shares of references";
const PATTERNS: [&str; 3] = ["sequential", "looping", "other"];
const POLICIES: [(&str, &str); 2] = [("UBM", UBM), ("PCC", PCC)];

/// What one application is.
pub(super) struct Shares {
    /// References, MB, files, call sites.
    table: [f64; 4],
    /// Percents of [`PATTERNS`] by each of [`POLICIES`].
    shares: [[f64; 3]; 2],
}

pub(super) fn measure(application: &Application) -> Result<Shares, String> {
    let trace = &application.trace;
    let sites: HashSet<u64> = (0..trace.len()).map(|at| trace.entry(at).site.0).collect();
    let megabytes = (trace.distinct_blocks() * BLOCK_BYTES) as f64 / 1e6;
    let table = [trace.references as f64, megabytes, trace.files.len() as f64, sites.len() as f64];
    // How a reference is classified does not depend on the cache's size.
    let outcomes = application.run(&POLICIES.map(|(_, policy)| policy.to_owned()), &[25])?;
    let mut shares = [[0.0; 3]; 2];
    for (shares, outcome) in shares.iter_mut().zip(&outcomes) {
        let Patterns { sequential, looping, other } = outcome.patterns.unwrap_or_default();
        *shares = [sequential, looping, other].map(|count| 100.0 * count as f64 / outcome.references as f64);
    }
    Ok(Shares { table, shares })
}

pub(super) fn report(all: &Ran<Shares>, report: &mut Report) {
    for (what, (column, unit)) in
        ["references", "data", "files", "call sites"].iter().zip([(0, ""), (1, "MB"), (2, ""), (3, "")])
    {
        for (name, shares) in all {
            report.row(format!("Table 1: {what}"), *name, shares.table[column], unit);
        }
    }
    let mut plot = Plot::new(format!("{EXPERIMENT}, looping"), "application", "%");
    plot.categories = all.iter().map(|(name, _)| (*name).to_owned()).collect();
    for (policy, (label, _)) in POLICIES.iter().enumerate() {
        for (pattern, word) in PATTERNS.iter().enumerate() {
            let of = |shares: &Shares| shares.shares[policy][pattern];
            for (name, shares) in all {
                report.row(EXPERIMENT, format!("{name}; {word}; {label}"), of(shares), "%");
            }
            let mean = all.iter().map(|(_, shares)| of(shares)).sum::<f64>() / all.len() as f64;
            report.row(EXPERIMENT, format!("mean; {word}; {label}"), mean, "%");
        }
        let looping = all.iter().zip(0_u32..).map(|((_, shares), at)| (f64::from(at), shares.shares[policy][1]));
        plot.add(*label, Shape::Bars, looping.collect(), Vec::new());
    }
    report.plots.push(plot);
}
