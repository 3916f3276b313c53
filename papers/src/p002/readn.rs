//! ReadN beside Read300 (section 6.1, Table *wkset-times*): what a foolish program costs its
//! neighbour, with placeholders and without. Read300 is oblivious or foolish (MRU), ReadN oblivious
//! always, the cache has 819 blocks.
//!
//! Block I/Os depend on how the two programs' reads lie between each other. Here that is given, not
//! the outcome of a clock: Read300 makes 0.64 reads for each of ReadN (only 0.64 to 0.67 fit the
//! table). Without placeholders everything depends on chance, in the paper too, whose variance is
//! 19 to 27 % there: so the pace is jittered, twenty times.

use foresee_manager::{Advice, Config, Demand, Event, FileId, LevelOrder, Manager, ReaderId, Site, Time};

use super::machine::{CACHES, Cache, System, run};
use super::points;
use super::work::{READ300_BLOCKS, READN_BLOCKS, readn, sequence};
use crate::{Progress, Random, Report, map};
use foresee_chart::{Plot, Shape};

const CACHE: Cache = CACHES[0];
/// The values of N.
pub const SIZES: [u64; 4] = [390, 400, 490, 500];
/// Reads of Read300 for each of ReadN.
const PACE: f64 = 0.64;
/// With jitter, the pace is drawn anew each so many reads, from nought to twice what it is on
/// average.
const JITTERED_READS: u64 = 1000;
const JITTERS: u64 = 20;
/// Runs by the clock of which an elapsed time is the mean, as in the paper.
const RUNS: u64 = 5;

/// The three settings: what is done about Read300.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setting {
    Oblivious,
    Unprotected,
    Protected,
}

impl Setting {
    const ALL: [Setting; 3] = [Setting::Oblivious, Setting::Unprotected, Setting::Protected];

    fn name(self) -> &'static str {
        match self {
            Setting::Oblivious => "oblivious",
            Setting::Unprotected => "unprotected",
            Setting::Protected => "protected",
        }
    }

    fn system(self) -> System {
        if self == Setting::Unprotected { System::LruS } else { System::LruSp }
    }

    fn is_foolish(self) -> bool {
        self != Setting::Oblivious
    }
}

const READN: ReaderId = ReaderId(0);
const READ300: ReaderId = ReaderId(1);

/// What ReadN reads from disk. With jitter if there is a seed.
fn block_ios(setting: Setting, n: u64, seed: Option<u64>) -> Result<u64, String> {
    let mut manager = Manager::new(&Config::new(CACHE.blocks, setting.system().policy().parse()?));
    let mut actions = Vec::new();
    if setting.is_foolish() {
        let advice = Advice::SetPolicy { priority: 0, order: LevelOrder::Mru };
        manager.handle(Time(0), advice.event(READ300), &mut actions);
    }
    // A program's file has its number.
    let mut read = |reader: ReaderId, first: u64| {
        let (file, site, demand) = (FileId(reader.0), Site(0), Demand::Observed);
        let missed = manager.statistics().misses;
        manager.handle(Time(0), Event::Reference { reader, site, file, first, count: 1, demand }, &mut actions);
        actions.clear();
        manager.statistics().misses - missed
    };
    let mut random = seed.map(Random::new);
    let mut others = sequence(READ300_BLOCKS, 300).into_iter();
    let (mut ios, mut due, mut pace) = (0, 0.0, PACE);
    for (block, at) in sequence(READN_BLOCKS, n).into_iter().zip(0_u64..) {
        if let Some(random) = random.as_mut().filter(|_| at.is_multiple_of(JITTERED_READS)) {
            pace = 2.0 * PACE * random.share();
        }
        ios += read(READN, block);
        due += pace;
        while due >= 1.0 {
            due -= 1.0;
            if let Some(block) = others.next() {
                read(READ300, block);
            }
        }
    }
    Ok(ios)
}

/// The mean of so many runs' elapsed times, in seconds.
fn elapsed(setting: Setting, n: u64) -> Result<f64, String> {
    let one = readn(READN_BLOCKS, n).oblivious();
    let other = readn(READ300_BLOCKS, 300);
    let other = if setting.is_foolish() { other } else { other.oblivious() };
    let mut sum = 0.0;
    for turned in 0..RUNS {
        sum += run(setting.system(), CACHE, &[&one, &other], turned * 100 / RUNS)?.0[0].elapsed_s;
    }
    Ok(sum / RUNS as f64)
}

/// Adds rows and a plot.
///
/// # Errors
/// If a run does not fit the machine.
pub fn report(progress: &Progress<'_>, report: &mut Report) -> Result<(), String> {
    const IOS: &str = "ReadN beside Read300: block I/Os";
    const ELAPSED: &str = "ReadN beside Read300: elapsed";
    let mut cells = Vec::new();
    for setting in Setting::ALL {
        cells.extend(SIZES.map(|n| (setting, n)));
    }
    let jitters = |setting| if setting == Setting::Unprotected { JITTERS } else { 0 };
    let made = map(&cells, progress, |&(setting, n)| {
        let steady = block_ios(setting, n, None)?;
        let jittered = (0..jitters(setting)).map(|seed| block_ios(setting, n, Some(seed)));
        Ok((steady, jittered.collect::<Result<Vec<u64>, String>>()?, elapsed(setting, n)?))
    });
    let made: Vec<_> = made.into_iter().collect::<Result<_, String>>()?;
    let cell = |setting: Setting, n: u64| format!("{}; Read{n}", setting.name());
    for (&(setting, n), (steady, jittered, _)) in cells.iter().zip(&made) {
        let cell = cell(setting, n);
        let (Some(least), Some(most)) = (jittered.iter().min(), jittered.iter().max()) else {
            report.row(IOS, cell, *steady as f64, "blocks");
            continue;
        };
        report.row(IOS, &cell, jittered.iter().sum::<u64>() as f64 / jittered.len() as f64, "blocks");
        report.row(IOS, format!("{cell}; least of {JITTERS}"), *least as f64, "blocks");
        report.row(IOS, format!("{cell}; most of {JITTERS}"), *most as f64, "blocks");
        report.row(IOS, format!("{cell}; steady"), *steady as f64, "blocks");
    }
    for (&(setting, n), (_, _, elapsed_s)) in cells.iter().zip(&made) {
        report.row(ELAPSED, cell(setting, n), *elapsed_s, "s");
    }
    for experiment in [IOS, ELAPSED] {
        let unit = if experiment == IOS { "block I/Os" } else { "elapsed (s)" };
        let mut plot = Plot { categories: SIZES.map(|n| format!("Read{n}")).into(), ..Plot::new(experiment, "", unit) };
        for setting in Setting::ALL {
            let (ours, published) = points(report, experiment, SIZES.map(|n| cell(setting, n)));
            plot.add(setting.name(), Shape::Bars, ours, published);
        }
        report.plots.push(plot);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In each interleaving, however jittered.
    #[test]
    fn who_is_protected_reads_no_more() {
        for n in SIZES {
            for seed in [None].into_iter().chain((0..JITTERS).map(Some)) {
                let [oblivious, unprotected, protected] = Setting::ALL.map(|it| block_ios(it, n, seed).unwrap());
                assert!(protected <= unprotected, "Read{n}, {seed:?}: {protected} and {unprotected}");
                assert!(protected <= oblivious, "Read{n}, {seed:?}: {protected} and {oblivious}");
            }
        }
    }
}
