//! Figure 10: Davidson under TIP-2, TIP-1 and OSF/1, by disks and by memory.

use super::cells::{Cell, Results, less};
use super::figure3::DAVIDSON;
use super::machine::{Machine, System, array};
use crate::{Effort, Report};
use foresee_chart::{Plot, Shape};

const SYSTEMS: [System; 3] = [System::Osf1, System::Tip1, System::Tip2];
const BLOCKS_A_MB: u64 = 128;
/// The array on which the memory varies: large enough that no disk is waited for.
const DISKS: u16 = 10;

fn disks(effort: Effort) -> &'static [u16] {
    match effort {
        Effort::Quick => &[1, 10],
        Effort::Full => &[1, 2, 3, 4, 6, 8, 10],
    }
}

fn memories_mb(effort: Effort) -> Vec<u64> {
    match effort {
        Effort::Quick => vec![8, 12, 16, 17],
        Effort::Full => (8..=20).collect(),
    }
}

fn with_memory(system: System, mb: u64) -> Machine {
    Machine { cache_blocks: mb * BLOCKS_A_MB, ..Machine::new(system, DISKS) }
}

/// What is run.
pub fn cells(effort: Effort) -> Vec<Cell> {
    let by_disks = |system| disks(effort).iter().map(move |&disks| Machine::new(system, disks));
    let by_memory = |system| memories_mb(effort).into_iter().map(move |mb| with_memory(system, mb));
    let machines = SYSTEMS.into_iter().flat_map(|system| by_disks(system).chain(by_memory(system)));
    machines.map(|machine| Cell { machine, work: DAVIDSON }).collect()
}

/// Adds rows and plots.
///
/// # Errors
/// If a run was not made.
pub fn report(effort: Effort, results: &Results, report: &mut Report) -> Result<(), String> {
    by_disks(effort, results, report)?;
    by_memory(effort, results, report)
}

fn by_disks(effort: Effort, results: &Results, report: &mut Report) -> Result<(), String> {
    const EXPERIMENT: &str = "Figure 10(a): Davidson";
    let elapsed = |machine| results.get(machine, DAVIDSON).map(|it| it.elapsed_s());
    let mut plot = Plot::new("Figure 10(a): Davidson with 12 MB", "disks", "elapsed (s)");
    for system in SYSTEMS {
        let mut points = Vec::new();
        for &disks in disks(effort) {
            let elapsed = elapsed(Machine::new(system, disks))?;
            report.row(EXPERIMENT, format!("{}; {}", system.name(), array(disks)), elapsed, "s");
            points.push((f64::from(disks), elapsed));
        }
        plot.add(system.name(), Shape::Line, points, Vec::new());
    }
    report.plots.push(plot);
    for disks in [1, 10] {
        let [osf1, tip2] = [System::Osf1, System::Tip2].map(|system| elapsed(Machine::new(system, disks)));
        let cell = format!("TIP-2 against OSF/1; {}; less elapsed", array(disks));
        report.row(EXPERIMENT, cell, less(osf1?, tip2?), "%");
    }
    Ok(())
}

fn by_memory(effort: Effort, results: &Results, report: &mut Report) -> Result<(), String> {
    const EXPERIMENT: &str = "Figure 10(b): Davidson";
    let mut plot = Plot::new("Figure 10(b): Davidson on 10 disks", "cache (MB)", "elapsed (s)");
    for system in SYSTEMS {
        let mut points = Vec::new();
        for mb in memories_mb(effort) {
            let outcome = results.get(with_memory(system, mb), DAVIDSON)?;
            let cell = format!("{}; {mb} MB", system.name());
            report.row(EXPERIMENT, cell.clone(), outcome.elapsed_s(), "s");
            report.row(EXPERIMENT, cell + "; from disk", outcome.blocks() as f64, "blocks");
            points.push((mb as f64, outcome.elapsed_s()));
        }
        if system == System::Osf1 {
            report.row(EXPERIMENT, "OSF/1; memory helps from", step(&points), "MB");
        }
        plot.add(system.name(), Shape::Line, points, Vec::new());
    }
    report.plots.push(plot);
    Ok(())
}

/// The first memory with which it takes at least a twentieth less than with the least.
fn step(points: &[(f64, f64)]) -> f64 {
    let first = points.first().map_or(0.0, |point| point.1);
    points.iter().find(|point| less(first, point.1) > 5.0).map_or(f64::INFINITY, |point| point.0)
}
