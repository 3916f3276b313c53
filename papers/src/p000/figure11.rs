//! Figure 11: Davidson under TIP-2 beside a reader of 10 MB in a cycle that discloses nothing, by
//! memory. The miss ratio is Davidson's until the other is through: blocks that came from disk,
//! prefetched ones too, of blocks read.
//!
//! Until the cycle fits, the LRU queue is worth nothing and Davidson has the memory. Once it fits,
//! it is worth more than anything else, and what is left to Davidson gives a ratio of (N - C +
//! 1,280) / N, and the wave of prefetches.

use super::cells::{Cell, Results, Work};
use super::machine::{Machine, System};
use super::work::{cat, davidson};
use crate::{Effort, Report};
use foresee_chart::{Plot, Shape};

const READINGS: [System; 2] = [System::Tip2, System::Tip2Point];
const BLOCKS_A_MB: u64 = 128;
const DISKS: u16 = 10;

fn memories_mb(effort: Effort) -> Vec<u64> {
    match effort {
        Effort::Quick => vec![8, 9, 10, 11, 12, 16],
        Effort::Full => (8..=19).collect(),
    }
}

/// The cyclic reader is through first.
const WORK: Work = Work::Contention { passes: 40, davidson_passes: 20 };

fn machine(system: System, mb: u64) -> Machine {
    Machine { cache_blocks: mb * BLOCKS_A_MB, ..Machine::new(system, DISKS) }
}

/// What is run.
pub fn cells(effort: Effort) -> Vec<Cell> {
    let by_memory = |system| memories_mb(effort).into_iter().map(move |mb| machine(system, mb));
    let machines = READINGS.into_iter().flat_map(by_memory);
    machines.map(|machine| Cell { machine, work: WORK }).collect()
}

/// Adds rows and the plot.
///
/// # Errors
/// If a run was not made.
pub fn report(effort: Effort, results: &Results, report: &mut Report) -> Result<(), String> {
    const EXPERIMENT: &str = "Figure 11: Davidson beside a cyclic reader";
    let mut plot = Plot::new(EXPERIMENT, "cache (MB)", "Davidson's miss ratio");
    for system in READINGS {
        let mut points = Vec::new();
        for mb in memories_mb(effort) {
            let ratio = results.get(machine(system, mb), WORK)?.miss_ratio();
            report.row(EXPERIMENT, format!("{}; {mb} MB", system.name()), ratio, "miss ratio");
            points.push((mb as f64, ratio));
        }
        let (at, ratio) = jump(&points);
        report.row(EXPERIMENT, format!("{}; jumps at", system.name()), at, "MB");
        report.row(EXPERIMENT, format!("{}; and then is", system.name()), ratio, "miss ratio");
        plot.add(system.name(), Shape::Line, points, Vec::new());
    }
    let left_over = |mb: u64| {
        let needed = davidson::BLOCKS + cat::BLOCKS;
        let missing = needed.saturating_sub(mb * BLOCKS_A_MB) as f64;
        (mb as f64, missing / davidson::BLOCKS as f64)
    };
    plot.add("(N - C + 1280) / N", Shape::Line, (12..=19).map(left_over).collect(), Vec::new());
    report.plots.push(plot);
    Ok(())
}

/// Where the ratio rises most from one memory to the next, and to what.
fn jump(points: &[(f64, f64)]) -> (f64, f64) {
    let rises = points.windows(2).map(|pair| (pair[1].1 - pair[0].1, pair[1]));
    rises.max_by(|one, other| one.0.total_cmp(&other.0)).map_or((0.0, 0.0), |(_, point)| point)
}
