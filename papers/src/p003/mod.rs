//! Paper 003: SARC, sequential prefetching in a cache that divides itself.
//!
//! ```text
//! figure1     one sequential stream: how its misses fall with memory, and the anomaly
//! machine     the storage controller: arrays, caches, striping
//! workload    SPC-1-like requests
//! spc1        what the controller does under them: Table II and Figures 6 to 8
//! streams     many sequential streams, and how far to read ahead of them
//! currency    all these workloads under cost and benefit with an estimator of runs, beside SARC
//! ```

mod currency;
mod figure1;
mod machine;
mod spc1;
mod streams;
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
    streams::report(effort, progress, &mut report)?;
    currency::report(effort, progress, &mut report)?;
    spc1::report(effort, progress, &mut report)?;
    report.assumed.extend(ASSUMED.map(str::to_owned));
    Ok(report)
}

const ASSUMED: [&str; 16] = [
    "Figure 1: a stream of 3,000 blocks; other reads, ten for each of its own, age the memory and are never repeated.",
    "The machine is a quarter of the paper's: 4 of 16 arrays, and a quarter of both caches, of the footprint and of the load. Pages of \
     4 KiB; m, g, the trigger's offset and the threshold are the paper's in tracks, times eight.",
    "Fitted: a scaled request is 0.6 requests, for both configurations, so that LRU-Top saturates at the highest cache-sensitive load.",
    "Fitted to the read responses at 10 % load: 13 % of each unit are hot, the first x of all ranks have (x / 0.13)^0.62 of the hot \
     requests; 0.9 ms of electronics a disk request.",
    "Shares and sizes of requests are those of the public SPC-1 specification. Each of a unit's eight streams has one request outstanding \
     at most, so that an overloaded machine answers late, not never. Sequential runs are of 64 MB in the mean.",
    "Chosen after looking at results, with one seed, so that the order of the LRU variants is partly ours: the host's stripe unit (128 KiB \
     to 16 MiB tried), the scale of a request (0.25 to 0.7 tried), first come, first served at the drives, the rate at which the write \
     cache is emptied, and that reads of old data found in the read cache are left out.",
    "The host stripes by 512 KiB. By 128 KiB each array sees runs too slow for LRU-Bottom, which then falls behind LRU-Top; by 1 MiB \
     LRU-Bottom loses nothing, and is 7 % ahead of SARC at saturation: SARC weighs misses, and a sequential one costs seven disk \
     requests.",
    "What is written is in the write cache only, never in the read cache; it is emptied from half full on, the more at once the fuller \
     it is. A stripe that is not all dirty has old data and parity read first, but for data in the read cache.",
    "Warm-up of 20 minutes and phases of one, not 120 and 30; a tenth of each does not count. Means of five seeds.",
    "Figures 6 to 8 have no numbers; the overall responses are from the text.",
    "Many streams: one disk of the testbed, a pace of its own for each reader, 0.4 ms a block in the mean; 200 to 20,000 blocks a stream.",
    "tip2-sarc beside sarc: misses are random reads that missed and runs that had to wait (SPC-1, at 80 % of the highest load, one \
     seed, measured for 10 minutes after 30), or all reads that missed (the others). SPC-1's differ by 0.9 % at most. SARC's ratio \
     is 1.4 to 1.5 with 0.5 to 4 GB, cache-sensitive, that of tip2-sarc 1.0 to 1.1: SARC cuts ratio - 1 off at 1, so that its \
     border rests where the ratio is 1.26 in the mean if the bottom's hits come by chance.",
    "Falls short of being the same within 2 %: where nothing is read again, no hit in RANDOM's bottom tells SARC's border to move, \
     until its ratio is 20. Figure 1's stream then misses 91 to 3,000 blocks in 30 to 120 pages, under tip2-sarc 4; 10 to 1,000 \
     streams with 8 pages each miss 79 to 88 % less under tip2-sarc. Once there are 7 % more (100 streams with 32 pages each, too \
     few for all): which streams are cut short depends on every arrival.",
    "Falls short: at the highest cache-sensitive load SARC's reads take 42 % less than LRU-Top's and 9 % less than LRU-Bottom's, not 84 \
     and 39 %, and no write ever waits: random writes are most of what our disks do, under any policy, and full arrays answer late before \
     the write cache is full.",
    "Falls short: SARC's ratio is 0.9 to 1.5 and LRU-Bottom's 0.5 to 1.2 where that has what it needs (cache-sensitive); where \
     it has not, SARC's is 0.3 to 1.4 and LRU-Bottom's 1 to 10. At the three lower cache-sensitive loads SARC is 1 to 2.5 % \
     behind LRU-Bottom, about as far as runs are from each other; elsewhere it is ahead of both.",
    "Falls short: sarc-amp with 8 pages a stream (degree 6 is 2.6 to 4.7 times as fast: more than a twelfth of the memory is read \
     between two reads of a stream, and it is not found) and with 1,000 streams of 200 blocks in ample memory (1.3 and 1.5 times; \
     degree 384 reads each in one request). Elsewhere it is ahead of every fixed degree, or within a quarter of the best.",
];
