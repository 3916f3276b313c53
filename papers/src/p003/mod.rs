//! Paper 003: SARC, sequential prefetching in a cache that divides itself.
//!
//! ```text
//! figure1     one sequential stream: how its misses fall with memory, and the anomaly
//! machine     the storage controller: arrays, caches, striping
//! workload    SPC-1-like requests
//! spc1        what the controller does under them: Table II and Figures 6 to 8
//! ```

mod figure1;
mod machine;
mod spc1;
mod workload;
mod write_cache;

use crate::{Effort, Paper, Progress, Published, Report};

/// The paper.
pub static PAPER: Paper = Paper {
    number: 3,
    title: "Gill, Modha: SARC: Sequential Prefetching in Adaptive Replacement Cache, USENIX 2005",
    run,
};

fn run(effort: Effort, progress: &Progress<'_>) -> Result<Report, String> {
    let mut report = Report::new(Published::parse(include_str!("published.csv"))?);
    figure1::report(effort, progress, &mut report)?;
    spc1::report(effort, progress, &mut report)?;
    report.assumed.extend(ASSUMED.map(str::to_owned));
    Ok(report)
}

const ASSUMED: [&str; 9] = [
    "Figure 1: a stream of 3,000 blocks; other reads, ten for each of its own, age the memory and are never repeated.",
    "The machine is a quarter of the paper's: 4 of 16 arrays, and a quarter of both caches, of the footprint and of the load. Pages of \
     4 KiB; m, g, the trigger's offset and the threshold are the paper's in tracks, times eight.",
    "Fitted: a scaled request is 0.6 requests, for both configurations, so that LRU-Top saturates at the highest cache-sensitive load.",
    "Fitted to the read responses at 10 % load: 13 % of each unit are hot, the first x of all ranks have (x / 0.13)^0.62 of the hot \
     requests; 0.9 ms of electronics a disk request.",
    "Shares and sizes of requests are those of the public SPC-1 specification. Each of a unit's eight streams has one request outstanding \
     at most, so that an overloaded machine answers late, not never. Sequential runs are of 64 MB in the mean.",
    "The host stripes by 512 KiB. By 128 KiB each array sees runs too slow for LRU-Bottom, which then falls behind LRU-Top; by 1 MiB \
     LRU-Bottom loses nothing, and is 7 % ahead of SARC at saturation: SARC weighs misses, and a sequential one costs seven disk \
     requests.",
    "What is written is in the write cache only, never in the read cache; it is emptied from half full on, the more at once the fuller \
     it is. A stripe that is not all dirty has old data and parity read first, but for data in the read cache.",
    "Warm-up of 20 minutes and phases of one, not 120 and 30; a tenth of each does not count. Means of five seeds.",
    "Figures 6 to 8 have no numbers; the overall responses are from the text.",
];
