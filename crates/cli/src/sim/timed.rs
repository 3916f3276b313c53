//! With a clock: how long programs wait.

use std::fmt::Write;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use foresee_manager::policy::Choice;
use foresee_manager::{Config, Outcomes};
use foresee_run::supervisor::INITIAL_BLOCKS;
use foresee_sim::device::DeviceReport;
use foresee_sim::host::{Readahead, Report, Setup, least_elapsed_ns};
use foresee_sim::load::Trace;
use foresee_sim::size::Size;
use foresee_sim::timed::{Disclosure, Options, Think, readers, setup, sweep};
use foresee_sim::untimed::Cell;
use serde_json::{Value, json};

use super::notes::notes;
use super::{Results, cells, heading};
use crate::progress::Progress;
use crate::text::{bytes, count, time};

/// `traced`, `none`, or a time as `50us`.
pub fn think(text: &str) -> Result<Think, String> {
    let units = [("ns", 1), ("us", 1000), ("ms", 1_000_000), ("s", 1_000_000_000)];
    let fixed = || {
        let (number, unit) = units.iter().find_map(|(unit, ns)| Some((text.strip_suffix(unit)?, *ns)))?;
        number.parse::<u64>().ok()?.checked_mul(unit)
    };
    match text {
        "traced" => Ok(Think::Traced),
        "none" => Ok(Think::None),
        _ => fixed().map(Think::Fixed).ok_or_else(|| format!("'{text}' is no time to think: traced, none, or 50us")),
    }
}

/// `told`, `recorded`, or one of which a part is wrong, as `recorded:20%`.
pub fn disclosure(text: &str) -> Result<Disclosure, String> {
    let wrong = |text: &str| text.strip_suffix('%')?.parse().ok().filter(|percent| *percent <= 100);
    let found = match text.split_once(':') {
        None if text == "told" => Some(Disclosure::TOLD),
        None if text == "recorded" => Some(Disclosure::recorded(0, INITIAL_BLOCKS)),
        Some(("told", percent)) => wrong(percent).map(|wrong| Disclosure::told(wrong, INITIAL_BLOCKS)),
        Some(("recorded", percent)) => wrong(percent).map(|wrong| Disclosure::recorded(wrong, INITIAL_BLOCKS)),
        _ => None,
    };
    found.ok_or_else(|| format!("'{text}' is no way to know beforehand: told, recorded, or recorded:20%"))
}

/// What is known beforehand of all traces, or of each.
#[derive(Clone)]
pub struct Disclosures(pub Vec<Option<Disclosure>>);

/// The same of each trace, or `none`: `told,none`.
pub fn disclosures(text: &str) -> Result<Disclosures, String> {
    let one = |word| if word == "none" { Ok(None) } else { disclosure(word).map(Some) };
    text.split(',').map(one).collect::<Result<_, _>>().map(Disclosures)
}

/// A trace, and what is known of it beforehand.
pub struct Program<'a> {
    /// Where it lies.
    pub path: &'a Path,
    /// The trace.
    pub trace: Trace,
    /// What is known.
    pub disclose: Option<Disclosure>,
}

/// All of them in one memory, on one device.
fn side_by_side(programs: &[Program<'_>], options: &Options, config: Config) -> Setup {
    let setup = |it: &Program<'_>| setup(&it.trace, &Options { disclose: it.disclose, ..*options }, config.clone());
    let mut all = setup(&programs[0]);
    programs[1..].iter().for_each(|program| all.add(setup(program)));
    all
}

/// The size in blocks; a share is one of what all read.
fn blocks(size: Size, programs: &[Program<'_>]) -> u64 {
    match size {
        Size::Share(_) => programs.iter().map(|program| size.blocks(&program.trace)).sum(),
        _ => size.blocks(&programs[0].trace),
    }
}

/// Refuses policies that know the order of references beforehand.
pub fn refuse_offline<'a>(choices: impl IntoIterator<Item = &'a Choice>) -> Result<(), String> {
    match choices.into_iter().find(|choice| choice.is_offline()) {
        None => Ok(()),
        Some(offline) => {
            let name = offline.as_str();
            Err(format!("--policy {name}: {name} knows the order of references, which a clock changes; leave it out"))
        }
    }
}

/// Runs each policy at each size.
pub fn run(
    programs: &[Program<'_>],
    options: &Options,
    readahead: Readahead,
    choices: &[Choice],
    sizes: &[Size],
    before: Option<&Trace>,
    with_bound: bool,
) -> Results {
    refuse_offline(choices)?;
    let sizes: Vec<u64> = sizes.iter().map(|&size| blocks(size, programs)).collect();
    let cells = cells(choices, &sizes, before);
    let progress = Progress::new();
    let setup = |config| Setup { readahead, ..side_by_side(programs, options, config) };
    let reports = sweep(setup, &cells, &|done, total| progress.show(done, total));
    progress.clear();
    let reports: Vec<Report> =
        reports.into_iter().collect::<Result<_, _>>().map_err(|fault| format!("--device: {fault}"))?;
    let least = |&size: &u64| Some(least_elapsed_ns(&setup(Config::new(size, choices.first()?.clone()))));
    // It depends on the size alone.
    let bounds: Option<Vec<u64>> =
        with_bound.then(|| sizes.iter().filter_map(least).flat_map(|least| vec![least; choices.len()]).collect());
    let shares = Shares::of(programs);
    let row = |at: usize| row(programs, &shares, &cells[at], &reports[at], bounds.as_ref().map(|it| it[at]));
    let rows = (0..cells.len()).map(row).collect();
    let heading: String = programs.iter().map(|program| heading(program.path, &program.trace)).collect();
    let notes: String = programs.iter().map(|it| notes(&it.trace, choices.iter(), Some(options.think))).collect();
    Ok((rows, heading + &table(&shares, &cells, &reports, bounds.as_deref()) + &notes))
}

/// Which of a report's readers are which program's.
struct Shares(Vec<Range<usize>>);

impl Shares {
    fn of(programs: &[Program<'_>]) -> Self {
        let mut end = 0;
        let share = |program: &Program<'_>| {
            let begin = end;
            end += readers(&program.trace);
            begin..end
        };
        Shares(programs.iter().map(share).collect())
    }

    /// When each program was through; none if there is one.
    fn each_elapsed_ns<'a>(&'a self, report: &'a Report) -> impl Iterator<Item = u64> + use<'a> {
        let last = |readers: &Range<usize>| report.readers[readers.clone()].iter().map(|it| it.finished.0).max();
        let several = if self.0.len() > 1 { &self.0[..] } else { &[] };
        several.iter().map(move |readers| last(readers).unwrap_or(0))
    }
}

/// What was fetched ahead, whoever said so.
fn ahead(report: &Report) -> Outcomes {
    let mut sum = Outcomes::default();
    report.statistics.ahead.iter().for_each(|outcomes| sum += *outcomes);
    sum
}

fn row(programs: &[Program<'_>], shares: &Shares, cell: &Cell, report: &Report, least_ns: Option<u64>) -> Value {
    let statistics = &report.statistics;
    let Outcomes { fetched, timely, late, wasted, cancelled } = ahead(report);
    let think_ns: u64 = report.readers.iter().map(|reader| reader.think_ns).sum();
    let seconds = |ns: u64| ns as f64 / 1e9;
    let all_devices = |of: fn(&DeviceReport) -> u64| report.devices.iter().map(of).sum::<u64>();
    let mut row = json!({
        "policy": cell.policy.as_str(),
        "cache_blocks": cell.cache_blocks,
        "requests": programs.iter().map(|it| it.trace.len()).sum::<usize>(),
        "references": statistics.references,
        "hits": statistics.hits,
        "late_hits": statistics.late_hits,
        "misses": statistics.misses,
        "miss_ratio": statistics.misses as f64 / statistics.references.max(1) as f64,
        "elapsed_s": seconds(report.elapsed_ns),
        "stall_s": seconds(report.stall_ns()),
        "think_s": seconds(think_ns),
        "device_busy_s": seconds(all_devices(|it| it.busy_ns)),
        "device_requests": all_devices(|it| it.requests),
        "device_bytes": all_devices(|it| it.bytes),
        "ahead_fetched": fetched,
        "ahead_timely": timely,
        "ahead_late": late,
        "ahead_wasted": wasted,
        "ahead_cancelled": cancelled,
    });
    if let Some(least_ns) = least_ns {
        row["least_s"] = seconds(least_ns).into();
    }
    for (elapsed_ns, number) in shares.each_elapsed_ns(report).zip(1..) {
        row[format!("elapsed_s_{number}")] = seconds(elapsed_ns).into();
    }
    row
}

fn table(shares: &Shares, cells: &[Cell], reports: &[Report], bounds: Option<&[u64]>) -> String {
    let width = cells.iter().map(|cell| cell.policy.as_str().len()).max().unwrap_or(0).max(6);
    // A column more, if there are bounds.
    let least = |text: &str| if bounds.is_some() { format!("{text:>9}  ") } else { String::new() };
    let several = shares.0.len() > 1;
    let each: String =
        (1..=shares.0.len()).filter(|_| several).map(|number| format!("  {:>9}", format!("of {number}"))).collect();
    let mut text = format!(
        "{:>12}  {:<width$}  {:>9}  {}{:>9}  {:>9}  {:>9}  {:>11}  {:>9}{each}\n",
        "cache blocks",
        "policy",
        "elapsed",
        least("least"),
        "stalled",
        "hit ratio",
        "late",
        "from device",
        "wasted"
    );
    for (at, (cell, report)) in cells.iter().zip(reports).enumerate() {
        let statistics = &report.statistics;
        let of = statistics.references.max(1) as f64;
        let percent = |blocks: u64| format!("{:.2}%", 100.0 * blocks as f64 / of);
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{:>12}  {:<width$}  {:>9}  {}{:>9}  {:>9}  {:>9}  {:>11}  {:>9}{}",
            count(cell.cache_blocks),
            cell.policy.as_str(),
            time(Duration::from_nanos(report.elapsed_ns)),
            least(&bounds.map_or(String::new(), |bounds| time(Duration::from_nanos(bounds[at])))),
            time(Duration::from_nanos(report.stall_ns())),
            percent(statistics.hits + statistics.late_hits),
            percent(statistics.late_hits),
            bytes(report.devices.iter().map(|device| device.bytes).sum()),
            percent(ahead(report).wasted),
            shares
                .each_elapsed_ns(report)
                .map(|ns| format!("  {:>9}", time(Duration::from_nanos(ns))))
                .collect::<String>(),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_beforehand() {
        let recorded = |percent| Ok(Disclosure::recorded(percent, INITIAL_BLOCKS));
        assert_eq!(disclosure("told"), Ok(Disclosure::TOLD));
        assert_eq!((disclosure("recorded"), disclosure("recorded:20%")), (recorded(0), recorded(20)));
        assert_eq!(disclosure("told:20%"), Ok(Disclosure::told(20, INITIAL_BLOCKS)));
        for wrong in ["", "recorded:", "recorded:20", "recorded:101%", "said:20%", "none"] {
            assert!(disclosure(wrong).unwrap_err().contains("recorded:20%"), "{wrong}");
        }
        let each = |text| disclosures(text).map(|it| it.0);
        assert_eq!(each("told,none"), Ok(vec![Some(Disclosure::TOLD), None]));
        assert_eq!(each("none"), Ok(vec![None]));
        assert!(each("told,").is_err());
    }
}
