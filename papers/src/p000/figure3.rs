//! Figures 2 and 3: all five programs, elapsed and stall time with hints against without, on arrays
//! of 1 to 15 disks. *Up to* in the text is the array that shows most.

use super::cells::{Cell, Results, Work, less};
use super::figure1;
use super::machine::{Machine, System};
use super::work::postgres::Join;
use crate::{Effort, Report};
use foresee_chart::{Plot, Shape};

/// Davidson: its first iteration reads all in any case, so as many iterations that it weighs
/// little.
pub const DAVIDSON: Work = Work::Davidson { passes: 10 };

/// A program: what is run without hints, and with.
struct Program {
    name: &'static str,
    without: Vec<Work>,
    with: Vec<Work>,
}

fn programs() -> [Program; 5] {
    let same = |name, works: Vec<Work>| Program { name, without: works.clone(), with: works };
    let postgres = |join| vec![Work::Postgres(join)];
    [
        same("agrep", figure1::searches().into()),
        same("XDataSlice", figure1::slices().into()),
        Program { name: "Postgres", without: postgres(Join::Standard), with: postgres(Join::Hints) },
        same("Sphinx", vec![Work::Sphinx]),
        same("Davidson", vec![DAVIDSON]),
    ]
}

/// What is run.
pub fn cells(effort: Effort) -> Vec<Cell> {
    let mut cells = Vec::new();
    for &disks in figure1::disks(effort) {
        let [osf1, tip1] = [System::Osf1, System::Tip1].map(|system| Machine::new(system, disks));
        for Program { without, with, .. } in programs() {
            cells.extend(without.into_iter().map(|work| Cell { machine: osf1, work }));
            cells.extend(with.into_iter().map(|work| Cell { machine: tip1, work }));
        }
        cells.push(Cell { machine: osf1, work: Work::Postgres(Join::Precompute) });
    }
    cells
}

/// Adds rows and plots.
///
/// # Errors
/// If a run was not made.
pub fn report(effort: Effort, results: &Results, report: &mut Report) -> Result<(), String> {
    const STALL: &str = "Figure 3(b): stall time gone with hints";
    postgres(effort, results, report)?;
    let mut elapsed_plot = Plot::new("Figure 3(a): elapsed time with hints", "disks", "of that without");
    let most = |points: &[(f64, f64)]| 100.0 * (1.0 - points.iter().map(|point| point.1).fold(f64::MAX, f64::min));
    let mut gone = Vec::new();
    let mut stall_plot = Plot::new("Figure 3(b): stall time with hints", "disks", "of that without");
    for program in programs() {
        let (mut elapsed, mut stall) = (Vec::new(), Vec::new());
        for &disks in figure1::disks(effort) {
            let before = results.sum(Machine::new(System::Osf1, disks), &program.without)?;
            let after = results.sum(Machine::new(System::Tip1, disks), &program.with)?;
            elapsed.push((f64::from(disks), after.0 / before.0));
            stall.push((f64::from(disks), after.1 / before.1));
        }
        let cell = format!("{}; up to", program.name);
        report.row("Figure 3(a): less elapsed with hints", cell, most(&elapsed), "%");
        // What little Davidson stalls without hints says nothing.
        if program.name != "Davidson" {
            gone.push((program.name, most(&stall)));
            stall_plot.add(program.name, Shape::Line, stall, Vec::new());
        }
        elapsed_plot.add(program.name, Shape::Line, elapsed, Vec::new());
    }
    let (mut least, mut most) = (f64::MAX, f64::MIN);
    for (name, percent) in gone {
        report.row(STALL, format!("{name}; up to"), percent, "%");
        (least, most) = (least.min(percent), most.max(percent));
    }
    report.row(STALL, "least of the four", least, "%");
    report.row(STALL, "most of the four", most, "%");
    report.plots.extend([elapsed_plot, stall_plot]);
    Ok(())
}

/// Figure 2(a).
fn postgres(effort: Effort, results: &Results, report: &mut Report) -> Result<(), String> {
    let machine = |join, disks| Machine::new(if join == Join::Hints { System::Tip1 } else { System::Osf1 }, disks);
    let mut plot = Plot::new("Figure 2(a): Postgres", "disks", "elapsed (s)");
    let mut elapsed = Vec::new();
    for join in Join::ALL {
        let mut points = Vec::new();
        for &disks in figure1::disks(effort) {
            let outcome = results.get(machine(join, disks), Work::Postgres(join))?;
            points.push((f64::from(disks), outcome.elapsed_s()));
        }
        elapsed.push(points.iter().map(|point| point.1).collect::<Vec<_>>());
        plot.add(join.name(), Shape::Line, points, Vec::new());
    }
    report.plots.push(plot);
    let most = |before: usize, after: usize| {
        let pairs = elapsed[before].iter().zip(&elapsed[after]);
        pairs.map(|(before, after)| less(*before, *after)).fold(f64::MIN, f64::max)
    };
    let requests = |join| results.get(machine(join, 15), Work::Postgres(join)).map(|it| it.requests() as f64);
    let fewer = requests(Join::Standard)? - requests(Join::Precompute)?;
    report.row("Figure 2(a): Postgres", "precompute; less elapsed", most(0, 1), "%");
    report.row("Figure 2(a): Postgres", "precompute; fewer requests", fewer, "requests");
    report.row("Figure 2(a): Postgres", "hints; less elapsed than precompute", most(1, 2), "%");
    Ok(())
}
