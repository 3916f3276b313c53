//! Smart applications beside Read300: what it costs them when Read300 is foolish (section 6.2,
//! Table *foolish-time*), and what it costs Read300 that they are smart (Tables *obli-times*). The
//! cache has 819 blocks.

use super::machine::{CACHES, Cache, Fared, System, run};
use super::points;
use super::single::less;
use super::work::{Application, Disk, Program, READ300_BLOCKS, readn};
use crate::{Progress, Report, map};
use foresee_chart::{Plot, Shape};

const CACHE: Cache = CACHES[0];
const APPLICATIONS: [Application; 4] = [Application::Din, Application::Cs2, Application::Gli, Application::Ldk];
/// Runs of which each number is the mean, as in the paper.
const RUNS: u64 = 3;

/// Who is what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cell {
    application: Application,
    smart: bool,
    foolish: bool,
    two_disks: bool,
}

impl Cell {
    /// The application and Read300, the mean of all runs.
    fn run(&self) -> Result<[Fared; 2], String> {
        let advising = |program: Program, advises: bool| if advises { program } else { program.oblivious() };
        let application = advising(self.application.program()?, self.smart);
        let mut read300 = advising(readn(READ300_BLOCKS, 300), self.foolish);
        if self.two_disks {
            read300.disk = Disk::Rz26;
        }
        let mut mean = [Fared::default(); 2];
        for turned in 0..RUNS {
            let outcome = run(System::LruSp, CACHE, &[&application, &read300], 100 * turned / RUNS)?;
            for (mean, fared) in mean.iter_mut().zip(outcome.0) {
                mean.ios += fared.ios;
                mean.elapsed_s += fared.elapsed_s / RUNS as f64;
            }
        }
        mean.iter_mut().for_each(|mean| mean.ios /= RUNS);
        Ok(mean)
    }
}

/// Adds rows and plots.
///
/// # Errors
/// If a program does not fit the machine.
pub fn report(progress: &Progress<'_>, report: &mut Report) -> Result<(), String> {
    let cells: Vec<Cell> = APPLICATIONS
        .iter()
        .flat_map(|&application| {
            [
                (true, false, false),
                (true, true, false),
                (false, false, false),
                (true, false, true),
                (false, false, true),
            ]
            .map(|(smart, foolish, two_disks)| Cell { application, smart, foolish, two_disks })
        })
        .collect();
    let made = map(&cells, progress, Cell::run).into_iter().collect::<Result<Vec<_>, String>>()?;
    let (mut ios, mut elapsed, mut read300) = (Vec::new(), Vec::new(), Vec::new());
    for (cell, [application, other]) in cells.iter().zip(&made) {
        let name = cell.application.name();
        if !cell.two_disks && cell.smart {
            let neighbour = if cell.foolish { "foolish" } else { "oblivious" };
            ios.push((format!("{name}; {neighbour}"), application.ios as f64));
            elapsed.push((format!("{name}; {neighbour}"), application.elapsed_s));
        }
        if !cell.foolish {
            let smart = if cell.smart { "smart" } else { "oblivious" };
            let disks = if cell.two_disks { "two disks" } else { "one disk" };
            read300.push((format!("{name}; {smart}; {disks}"), other.elapsed_s));
        }
    }
    const IOS: &str = "Beside Read300: block I/Os";
    for pair in ios.chunks(2) {
        pair.iter().for_each(|(cell, ios)| report.row(IOS, cell, *ios, "blocks"));
    }
    for (application, pair) in APPLICATIONS.iter().zip(ios.chunks(2)) {
        report.row(IOS, format!("{}; growth", application.name()), -less(pair[0].1, pair[1].1), "%");
    }
    elapsed.iter().for_each(|(cell, s)| report.row("Beside Read300: elapsed", cell, *s, "s"));
    read300.iter().for_each(|(cell, s)| report.row("Read300 beside others: elapsed", cell, *s, "s"));
    let mut plot = Plot::new(IOS, "", "block I/Os");
    plot.categories = APPLICATIONS.map(|application| application.name().to_owned()).into();
    for neighbour in ["oblivious", "foolish"] {
        let cells = APPLICATIONS.map(|application| format!("{}; {neighbour}", application.name()));
        let (ours, published) = points(report, IOS, cells);
        plot.add(format!("Read300 {neighbour}"), Shape::Bars, ours, published);
    }
    report.plots.push(plot);
    Ok(())
}
