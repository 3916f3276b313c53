//! 001: the TIP prototype. Its three tables: searches of small files, what they take of the
//! processor, slices of a cube.

mod search;
mod slices;
mod testbed;

use foresee_sim::host;

use crate::{Effort, Paper, Progress, Published, Report, Row, map};
use foresee_chart::{Plot, Shape};
use search::{SETS, Set};
use slices::Plane;

/// The paper.
pub static PAPER: Paper = Paper {
    number: 1,
    title: "Patterson, Gibson: Exposing I/O Concurrency with Informed Prefetching (the TIP prototype), PDIS 1994",
    run,
};

/// Runs of which each number is the mean: layouts of a set of files, slices of the cube.
const RUNS: u64 = 30;
const RUNS_QUICK: u64 = 5;
/// Arrays have one disk to so many.
const DISKS: u16 = 4;
/// The experiment of Table 2: one search of Table 1.
const CPU: &str = "CPU of the search of bboard and mail; 2 disks";

/// What the paper does not say.
const ASSUMED: [&str; 9] = [
    "Processor, from the paper's own times bound by it: 5.7 ms a block, 0.76 ms a file opened, 6 us for each directory entry \
     looked at, 1 ms a hint and 1.63 ms to resolve it, 160 ms to draw a slice.",
    "Fitted to two cells of Table 3: 2.5 of a block's 5.7 ms go into asking the disk, which rests meanwhile; the bus moves \
     1.9 MB/s.",
    "Fitted to Table 1, no TIP: 0.6 of the files of a directory lie right behind the one before, the others anywhere in its \
     cylinder group of 16 cylinders; a search of 834 man pages has three directories.",
    "The drive's buffer of 128 KB reads ahead, and takes the bus when half of a block is in it.",
    "Spindles are not in step: each run begins with each disk at a random angle.",
    "The cube's file is in pieces of 38 blocks, with up to a track between them. Each slice begins with a cold cache. The \
     skew of the drive's cylinders, not published, is taken as 9 sectors; X-Y on one disk depends on it (0 to 17 sectors: 1.1 \
     to 1.3).",
    "Block counts are the tables'; which files are the long ones is random. Block fragments are read as whole blocks.",
    "Metadata: one directory block a directory, one inode block for 64 files, read by demand, and once more when files are \
     opened if they left the cache. The cube's indirect blocks are in memory.",
    "Requests wait in the Striper, one at a time being at each disk: prefetches in the order of hints, one block each, demand \
     before them. TIP's own look-up of a name is charged when a file is opened.",
];

#[derive(Clone, Copy)]
enum Load {
    Search(&'static Set),
    Slice(&'static str, Plane),
}

impl Load {
    fn name(self) -> &'static str {
        match self {
            Load::Search(set) => set.name,
            Load::Slice(name, _) => name,
        }
    }
}

type Point = (f64, f64);

/// One number of a table.
struct Cell {
    load: Load,
    with_tip: bool,
    disks: u16,
}

/// What came of it, the mean over all runs.
#[derive(Clone, Copy, Default)]
struct Mean {
    elapsed_s: f64,
    idle_s: f64,
}

fn run(effort: Effort, progress: &Progress<'_>) -> Result<Report, String> {
    let runs = if effort == Effort::Quick { RUNS_QUICK } else { RUNS };
    let loads: Vec<Load> =
        SETS.iter().map(Load::Search).chain(Plane::ALL.iter().map(|&(name, plane)| Load::Slice(name, plane))).collect();
    let mut cells = Vec::new();
    for &load in &loads {
        for with_tip in [false, true] {
            cells.extend((1..=DISKS).map(|disks| Cell { load, with_tip, disks }));
        }
    }
    let means = map(&cells, progress, |cell| mean(cell, runs)).into_iter().collect::<Result<Vec<Mean>, String>>()?;
    let mut report = Report::new(Published::parse(include_str!("published.csv"))?);
    for (load, means) in loads.iter().zip(means.chunks(2 * usize::from(DISKS))) {
        let (without, with) = means.split_at(usize::from(DISKS));
        table(&mut report, load.name(), without, with);
    }
    let searches = SETS.map(|set| set.name);
    let slices = Plane::ALL.map(|(name, _)| name);
    for (title, names) in [("Table 1", &searches[..]), ("Table 3", &slices[..])] {
        let series: Vec<_> = names.iter().map(|&name| (name, name, "speed-up")).collect();
        plot(&mut report, &format!("{title}: speed-up by TIP"), "time without TIP / time with it", &series);
        for name in names {
            let series = [("no TIP", *name, "no TIP"), ("with TIP", *name, "with TIP")];
            plot(&mut report, &format!("{title}: {name}"), "elapsed (s)", &series);
        }
    }
    plot_cpu(&mut report);
    report.assumed = ASSUMED.map(str::to_owned).to_vec();
    Ok(report)
}

fn mean(cell: &Cell, runs: u64) -> Result<Mean, String> {
    let mut mean = Mean::default();
    for seed in 0..runs {
        let program = match cell.load {
            Load::Search(set) => search::program(set, cell.with_tip, seed),
            Load::Slice(_, plane) => slices::program(plane, cell.with_tip, seed),
        };
        let host::Report { elapsed_ns, processor, .. } = testbed::execute(cell.disks, program, seed)?;
        let idle_ns = processor.map_or(0, |spent| spent.idle_ns);
        mean.elapsed_s += elapsed_ns as f64 / 1e9 / runs as f64;
        mean.idle_s += idle_ns as f64 / 1e9 / runs as f64;
    }
    Ok(mean)
}

fn table(report: &mut Report, name: &str, without: &[Mean], with: &[Mean]) {
    let cell = |row: &str, disks: usize| format!("{row}; {disks} disk{}", if disks == 1 { "" } else { "s" });
    for (row, means) in [("no TIP", without), ("with TIP", with)] {
        for (mean, disks) in means.iter().zip(1..) {
            report.row(name, cell(row, disks), mean.elapsed_s, "s");
        }
    }
    for ((without, with), disks) in without.iter().zip(with).zip(1..) {
        report.row(name, cell("speed-up", disks), without.elapsed_s / with.elapsed_s, "x");
    }
    if name == SETS[1].name {
        for (row, Mean { elapsed_s, idle_s }) in [("no TIP", without[1]), ("with TIP", with[1])] {
            let busy_s = elapsed_s - idle_s;
            report.row(CPU, format!("{row}; busy"), busy_s, "s");
            report.row(CPU, format!("{row}; idle"), idle_s, "s");
            report.row(CPU, format!("{row}; total"), elapsed_s, "s");
            report.row(CPU, format!("{row}; utilisation"), 100.0 * busy_s / elapsed_s, "%");
        }
    }
}

/// A table's numbers as a plot over the disks: these rows of these experiments, a series each.
fn plot(report: &mut Report, title: &str, y: &str, series: &[(&str, &str, &str)]) {
    let mut plot = Plot::new(title, "disks", y);
    for &(name, experiment, row) in series {
        let (ours, published) = points(report, 1, |it| it.experiment == experiment && it.cell.starts_with(row));
        plot.add(name, Shape::Line, ours, published);
    }
    report.plots.push(plot);
}

/// Table 2 as a plot: what the processor did in the time a search took.
fn plot_cpu(report: &mut Report) {
    let mut plot = Plot::new(format!("Table 2: {CPU}"), "", "time (s)");
    plot.categories = ["no TIP", "with TIP"].map(str::to_owned).into();
    for name in ["busy", "idle"] {
        let (ours, published) = points(report, 0, |it| it.experiment == CPU && it.cell.ends_with(name));
        plot.add(name, Shape::Bars, ours, published);
    }
    report.plots.push(plot);
}

/// Points of some rows, ours and published, at x from `first` on.
fn points(report: &Report, first: u16, is_one: impl Fn(&Row) -> bool) -> (Vec<Point>, Vec<Point>) {
    let rows = || report.rows.iter().filter(|row| is_one(row)).zip(first..).map(|(row, x)| (row, f64::from(x)));
    let published = rows().filter_map(|(row, x)| Some((x, row.published?)));
    (rows().map(|(row, x)| (x, row.ours)).collect(), published.collect())
}
