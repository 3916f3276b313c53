//! Figure 1: agrep, FIFO against SCAN, and XDataSlice, on arrays of 1 to 15 disks; and the
//! sequential read of section 3.1.

use super::cells::{Cell, Results, Work, less};
use super::machine::{Machine, System, array};
use super::work::agrep::SEARCHES;
use super::work::cat;
use super::work::xds::Plane;
use crate::{Effort, Report};
use foresee_chart::{Plot, Shape};

/// The arrays that are run.
pub fn disks(effort: Effort) -> &'static [u16] {
    match effort {
        Effort::Quick => &[1, 4, 15],
        Effort::Full => &[1, 2, 3, 4, 6, 8, 10, 12, 15],
    }
}

/// agrep without hints, with a striper that does not sort, and with one that does.
fn schedules(disks: u16) -> [(&'static str, Machine); 3] {
    let tip1 = Machine::new(System::Tip1, disks);
    let osf1 = Machine::new(System::Osf1, disks);
    [("OSF/1", osf1), ("TIP-1; FIFO", Machine { sorts: false, ..tip1 }), ("TIP-1; SCAN", tip1)]
}

/// The four searches.
pub fn searches() -> [Work; 4] {
    SEARCHES.map(Work::Agrep)
}

/// The three slices.
pub fn slices() -> [Work; 3] {
    Plane::ALL.map(Work::Xds)
}

/// What is run.
pub fn cells(effort: Effort) -> Vec<Cell> {
    let mut cells = vec![sequential()];
    for &disks in disks(effort) {
        for (_, machine) in schedules(disks) {
            cells.extend(searches().map(|work| Cell { machine, work }));
        }
        for system in [System::Osf1, System::Tip1] {
            cells.extend(slices().map(|work| Cell { machine: Machine::new(system, disks), work }));
        }
    }
    cells
}

fn sequential() -> Cell {
    Cell { machine: Machine::new(System::Osf1, 15), work: Work::Cat }
}

/// Adds rows and plots.
///
/// # Errors
/// If a run was not made.
pub fn report(effort: Effort, results: &Results, report: &mut Report) -> Result<(), String> {
    let Cell { machine, work } = sequential();
    let mb_per_s = cat::large_mb() / results.get(machine, work)?.elapsed_s();
    report.row("Section 3.1: sequential read", "OSF/1; 15 disks", mb_per_s, "MB/s");
    agrep(effort, results, report)?;
    xds(effort, results, report)
}

fn agrep(effort: Effort, results: &Results, report: &mut Report) -> Result<(), String> {
    let mut plot = Plot::new("Figure 1(a; b): agrep, the four searches", "disks", "elapsed (s)");
    for (at, (name, _)) in schedules(1).into_iter().enumerate() {
        let mut points = Vec::new();
        for &disks in disks(effort) {
            let (elapsed, _) = results.sum(schedules(disks)[at].1, &searches())?;
            report.row("Figure 1: agrep", format!("{name}; {}", array(disks)), elapsed, "s");
            points.push((f64::from(disks), elapsed));
        }
        plot.add(name, Shape::Line, points, Vec::new());
    }
    report.plots.push(plot);
    let [osf1, fifo, scan] = schedules(1).map(|(_, machine)| results.sum(machine, &searches()).map(|sum| sum.0));
    let osf1 = osf1?;
    report.row("Figure 1(b): agrep on one disk", "FIFO; less elapsed", less(osf1, fifo?), "%");
    report.row("Figure 1(b): agrep on one disk", "SCAN; less elapsed", less(osf1, scan?), "%");
    let mut most = Vec::new();
    for work in searches() {
        let mut by_disks = Vec::new();
        for &disks in disks(effort) {
            let [osf1, tip1] = [System::Osf1, System::Tip1].map(|it| results.get(Machine::new(it, disks), work));
            by_disks.push(less(osf1?.elapsed_s(), tip1?.elapsed_s()));
        }
        most.push(by_disks.into_iter().fold(f64::MIN, f64::max));
    }
    let (least, most) = most.iter().fold((f64::MAX, f64::MIN), |(least, most), &it| (least.min(it), most.max(it)));
    report.row("Figure 1(a): agrep on arrays", "search with the least; less elapsed; up to", least, "%");
    report.row("Figure 1(a): agrep on arrays", "search with the most; less elapsed; up to", most, "%");
    Ok(())
}

fn xds(effort: Effort, results: &Results, report: &mut Report) -> Result<(), String> {
    let mut plot = Plot::new("Figure 1(c): XDataSlice", "disks", "elapsed (s)");
    for system in [System::Osf1, System::Tip1] {
        for plane in Plane::ALL {
            let mut points = Vec::new();
            for &disks in disks(effort) {
                let elapsed = results.get(Machine::new(system, disks), Work::Xds(plane))?.elapsed_s();
                points.push((f64::from(disks), elapsed));
            }
            let name = format!("{}; {}", plane.name(), system.name());
            let on_15 = points.last().map_or(0.0, |point| point.1);
            report.row("Figure 1(c): XDataSlice", format!("{name}; 1 disk"), points[0].1, "s");
            report.row("Figure 1(c): XDataSlice", format!("{name}; 15 disks"), on_15, "s");
            plot.add(name, Shape::Line, points, Vec::new());
        }
    }
    report.plots.push(plot);
    let (before, _) = results.sum(Machine::new(System::Osf1, 1), &slices())?;
    let (after, _) = results.sum(Machine::new(System::Tip1, 15), &slices())?;
    let cell = "three slices; OSF/1 on 1 disk to TIP-1 on 15";
    report.row("Figure 1(c): XDataSlice", cell, before / after, "times");
    Ok(())
}
