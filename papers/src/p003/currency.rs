//! SARC's rule is the arbitrator's with two estimators: misses of all these workloads under
//! `tip2-sarc`, whose list of runs quotes 2 s / L times what a miss costs, beside those under
//! `sarc`, which moves a border until 2 s / L is what a page more is worth to the rest.

use super::machine::run;
use super::spc1::{CONFIGURATIONS, machine, phase};
use super::{figure1, streams};
use crate::{Effort, Progress, Report, map};

/// The same readahead under both, with the paper's parameters in tracks (Figure 1, many streams)
/// and in pages (SPC-1).
const BLOCKS: [&str; 2] = ["sarc", "tip2-sarc"];
const TRACKS: [&str; 2] = [
    "sarc:degree=192,group=48,trigger_offset=24,threshold=24",
    "tip2-sarc:degree=192,group=48,trigger_offset=24,threshold=24",
];
/// Memory for Figure 1's stream.
const FIGURE_1_PAGES: [u64; 8] = [20, 30, 60, 90, 120, 180, 240, 600];
/// Read caches, in gigabytes of the paper's, of which all are full well before the measurement
/// begins.
const CACHES: [f64; 5] = [0.5, 1.0, 2.0, 4.0, 8.0];
/// Of the highest load, in percent.
const LOAD: u64 = 80;

/// Adds rows.
///
/// # Errors
/// If a policy or the machine is not what it was.
pub fn report(effort: Effort, progress: &Progress<'_>, report: &mut Report) -> Result<(), String> {
    let pages: Vec<_> = FIGURE_1_PAGES.iter().map(|&pages| (format!("{pages} pages"), pages)).collect();
    compare("Figure 1's stream", &pages, progress, report, |policy, &pages| figure1::misses(BLOCKS[policy], pages))?;

    let mut cells = Vec::new();
    for (count, blocks) in streams::STREAMS {
        let blocks = if effort == Effort::Quick { blocks / 20 } else { blocks };
        cells.extend(
            streams::PAGES.map(|pages| (format!("{count} streams; {pages} pages each"), ((count, blocks), pages))),
        );
    }
    compare("Many streams", &cells, progress, report, |policy, &(streams, pages)| {
        streams::run(BLOCKS[policy], streams, pages).map(|report| report.statistics.misses)
    })?;

    let (caches, settles, seconds) = match effort {
        Effort::Quick => (&CACHES[..1], 60, 60),
        Effort::Full => (&CACHES[..], 1080, 360),
    };
    let mut cells = Vec::new();
    for configuration in &CONFIGURATIONS {
        cells.extend(
            caches.iter().map(|&cache| (format!("{}; {cache} GB", configuration.name), (configuration, cache))),
        );
    }
    compare("SPC-1", &cells, progress, report, |policy, &(configuration, cache)| {
        let phases = [phase(configuration, LOAD, settles + seconds, settles)];
        Ok(run(&machine(configuration, TRACKS[policy], cache), &phases, 1)?.iter().map(|it| it.misses).sum())
    })
}

/// Adds the misses of both policies in each cell, and how many more they are under the second.
fn compare<C: Sync>(
    workload: &str,
    cells: &[(String, C)],
    progress: &Progress<'_>,
    report: &mut Report,
    misses: impl Fn(usize, &C) -> Result<u64, String> + Sync,
) -> Result<(), String> {
    let both: Vec<(usize, &C)> = cells.iter().flat_map(|(_, cell)| [(0, cell), (1, cell)]).collect();
    let made: Vec<u64> =
        map(&both, progress, |(policy, cell)| misses(*policy, cell)).into_iter().collect::<Result<_, _>>()?;
    let experiment = format!("{workload}: misses under sarc and under tip2-sarc");
    for ((name, _), both) in cells.iter().zip(made.chunks(2)) {
        for (policy, misses) in BLOCKS.iter().zip(both) {
            report.row(&experiment, format!("{name}; {policy}"), *misses as f64, "misses");
        }
        let more = 100.0 * (both[1] as f64 / both[0].max(1) as f64 - 1.0);
        report.row(&experiment, format!("{name}; more under tip2-sarc"), more, "%");
    }
    Ok(())
}
