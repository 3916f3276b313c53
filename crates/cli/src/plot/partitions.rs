//! The partitions of a cache over time, under each policy that divides it.

use foresee_chart::{Plot, Shape};
use foresee_manager::policy::{Choice, Partition};
use foresee_sim::cells;
use foresee_sim::load::Trace;
use foresee_sim::untimed::{Cell, run_watched};

use crate::progress::Progress;
use crate::text::count;

/// Moments at which the partitions are looked at.
const MOMENTS: usize = 400;
/// Less than this share of the pages is not seen.
const SEEN_LEAST: f64 = 0.01;

/// One picture for each of these policies that divides a cache of so many blocks.
pub fn partitions(trace: &Trace, choices: &[Choice], cache_blocks: u64, progress: &Progress) -> Vec<Plot> {
    let pictures = cells::map(choices, &|done, total| progress.show(done, total), |policy| {
        picture(trace, &Cell::new(policy.clone(), cache_blocks))
    });
    pictures.into_iter().flatten().collect()
}

/// None where it is never divided, or one partition holds nearly all of it all the time.
fn picture(trace: &Trace, cell: &Cell) -> Option<Plot> {
    let every = trace.len().div_ceil(MOMENTS).max(1);
    let (mut references, mut moments) = (0, Vec::new());
    run_watched(trace, cell, &|_| {}, |at, _, manager| {
        references += trace.entry(at).count;
        if at % every == 0 || at + 1 == trace.len() {
            moments.push((references as f64, manager.partitions()));
        }
    });
    // Those that ever hold a page. They come and go: programs begin to manage their pages.
    let mut names: Vec<&str> = Vec::new();
    for Partition { name, pages } in moments.iter().flat_map(|(_, parts)| parts) {
        if *pages > 0 && !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let some = moments.iter().filter(|(_, parts)| parts.iter().any(|part| part.pages > 0));
    let mut holders = some.map(|(_, parts)| holder(parts));
    let first = holders.next()?;
    if first.is_some() && holders.all(|it| it == first) {
        return None;
    }
    let (cache, policy) = (count(cell.cache_blocks), cell.policy.as_str());
    let mut plot = Plot::new(format!("A cache of {cache} blocks under {policy}: its partitions"), "reference", "pages");
    for name in names {
        let pages = |parts: &[Partition]| parts.iter().find(|part| part.name == name).map_or(0, |part| part.pages);
        let points = moments.iter().map(|(after, parts)| (*after, pages(parts) as f64));
        plot.add(name, Shape::Area, points.collect(), Vec::new());
    }
    Some(plot)
}

/// The partition that holds all pages, or nearly all, if there is one.
fn holder(parts: &[Partition]) -> Option<&str> {
    let all: u64 = parts.iter().map(|part| part.pages).sum();
    let most = parts.iter().max_by_key(|part| part.pages)?;
    ((all - most.pages) as f64 <= all as f64 * SEEN_LEAST).then_some(most.name.as_str())
}
