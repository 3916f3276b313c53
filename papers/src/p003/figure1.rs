//! Figure 1: one sequential stream of 3,000 blocks, and other traffic that ages the memory, ten
//! reads of it for each of the stream's. Left: synchronous readahead alone, of several degrees.
//! Right: with triggers as well, and the anomaly (section II-C).
//!
//! The figure has no numbers on its axes. What it shows, and what ours is compared by: the
//! hyperbola all degrees follow first; then a floor of 1 / degree, or of nothing with triggers; the
//! bump, and that it is gone with the remedy.

use foresee_manager::{Action, Config, Demand, DeviceId, Event, FileId, Manager, Order, ReaderId, Site, Time};

use crate::{Effort, Progress, Report, map};
use foresee_chart::{Plot, Shape};

const STREAM_BLOCKS: u64 = 3000;
/// Reads of others for each of the stream's: each block once, no two of them neighbours.
const OTHERS: u64 = 10;
const DEGREES: [u64; 4] = [6, 12, 24, 48];

/// Misses of the stream.
///
/// # Errors
/// If the policy is not what it was.
pub fn misses(policy: &str, pages: u64) -> Result<u64, String> {
    let mut manager = Manager::new(&Config::new(pages, policy.parse()?));
    let mut actions = Vec::new();
    for file in [FileId(0), FileId(1)] {
        let known = Event::FileKnown { file, device: DeviceId(0), blocks: 1 << 30, place: 0 };
        manager.handle(Time(0), known, &mut actions);
    }
    let mut read = |file: FileId, first: u64| {
        let before = manager.statistics().misses;
        let (reader, site, demand) = (ReaderId(0), Site(0), Demand::Observed);
        manager.handle(Time(0), Event::Reference { reader, site, file, first, count: 1, demand }, &mut actions);
        // Every fetch arrives at once.
        let mut at = 0;
        while let Some(&action) = actions.get(at) {
            at += 1;
            if let Action::Order(Order::Fetch { fetch, .. }) = action {
                manager.handle(Time(0), Event::FetchDone { fetch }, &mut actions);
            }
        }
        actions.clear();
        manager.statistics().misses - before
    };
    let mut missed = 0;
    for block in 0..STREAM_BLOCKS {
        missed += read(FileId(0), block);
        for other in 0..OTHERS {
            read(FileId(1), 2 * (block * OTHERS + other));
        }
    }
    Ok(missed)
}

/// Adds rows and plots.
///
/// # Errors
/// If a policy is not what it was.
pub fn report(effort: Effort, progress: &Progress<'_>, report: &mut Report) -> Result<(), String> {
    const SYNCHRONOUS: &str = "Figure 1: misses of 3000 blocks; synchronous readahead";
    const BOTH: &str = "Figure 1: misses of 3000 blocks; synchronous and asynchronous readahead";
    let step = if effort == Effort::Quick { 12 } else { 3 };
    let sizes: Vec<u64> = (30..=600).step_by(step).collect();
    let curve = |policy: &str| -> Result<Vec<(f64, f64)>, String> {
        let made = map(&sizes, progress, |&pages| Ok::<_, String>((pages as f64, misses(policy, pages)? as f64)));
        made.into_iter().collect()
    };
    let last = |curve: &[(f64, f64)]| curve.last().map_or(0.0, |point| point.1);

    let mut plot = Plot::new(SYNCHRONOUS, "pages", "sequential misses");
    for degree in DEGREES {
        // A stretch ends at a multiple of the group: of the degree itself, so that stretches are as long as
        // it says.
        let made = curve(&format!("lru-top:degree={degree},group=1,trigger_offset={degree}"))?;
        report.row(SYNCHRONOUS, format!("degree {degree}; floor"), last(&made), "misses");
        // Where a stretch does not last until it is read, misses times memory (but for what one step ages)
        // is the same everywhere, but for whole numbers: below 180 pages, a few blocks of a stretch
        // last.
        let ages = |point: &&(f64, f64)| (180.0..(degree * OTHERS) as f64).contains(&point.0);
        let products: Vec<f64> = made.iter().filter(ages).map(|point| (point.0 - OTHERS as f64) * point.1).collect();
        if degree == DEGREES[3] {
            let mean = products.iter().sum::<f64>() / products.len() as f64;
            let worst = products.iter().map(|product| (product / mean - 1.0).abs()).fold(0.0, f64::max);
            report.row(
                SYNCHRONOUS,
                format!("degree {degree}; farthest from a hyperbola before it"),
                100.0 * worst,
                "%",
            );
        }
        plot.add(format!("degree {degree}"), Shape::Line, made, Vec::new());
    }
    report.plots.push(plot);

    let mut plot = Plot::new(BOTH, "pages", "sequential misses");
    for (name, anomaly) in [("with the anomaly", 1), ("without", 0)] {
        let made = curve(&format!("lru-top:anomaly={anomaly}"))?;
        let bump = made.windows(2).map(|pair| pair[1].1 - pair[0].1).fold(0.0, f64::max);
        report.row(BOTH, format!("{name}; floor"), last(&made), "misses");
        report.row(BOTH, format!("{name}; most that a little more memory adds"), bump, "misses");
        plot.add(name, Shape::Line, made, Vec::new());
    }
    report.plots.push(plot);
    Ok(())
}
