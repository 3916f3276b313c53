//! Paper 003: SARC, sequential prefetching in a cache that divides itself.
//!
//! ```text
//! figure1     one sequential stream: how its misses fall with memory, and the anomaly
//! machine     the storage controller: arrays, caches, striping
//! workload    SPC-1-like requests; hot_spot: where most of them go
//! spc1        what the controller does under them: Table II and Figures 6 to 8
//! sweep       its highest load, with other scales of a request
//! streams     many sequential streams, and how far to read ahead of them
//! currency    all these workloads under cost and benefit with an estimator of runs, beside SARC
//! ```

mod currency;
mod figure1;
mod hot_spot;
mod machine;
mod spc1;
mod streams;
mod sweep;
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
    sweep::report(effort, progress, &mut report)?;
    report.assumed.extend(ASSUMED.map(str::to_owned));
    Ok(report)
}

const ASSUMED: [&str; 17] = [
    "Figure 1: a stream of 3,000 blocks; other reads, ten for each of its own, age the memory and are never repeated.",
    "The machine is a quarter of the paper's: 4 of 16 arrays, and a quarter of both caches, of the footprint and of the load. Pages of \
     4 KiB; m, g, the trigger's offset and the threshold are the paper's in tracks, times eight.",
    "Fitted: a scaled request is one of ours, for both configurations, so that LRU-Top saturates at both highest loads. The figure of \
     other scales shows what depends on it.",
    "0.9 ms of electronics a disk request: fitted to the read responses at 10 % load, with an earlier, simpler workload.",
    "Shares, places, sizes and hot spots are those of the public SPC-1 specification and of its first generator: a hot spot is 5 % of \
     its unit, three of them have most random requests, so that the cache-sensitive ones (6.75 GB) are about what the read cache holds. \
     Each of a unit's eight streams has one request outstanding at most: an overloaded machine answers late, not never.",
    "Chosen after looking at results, with one seed, so that the order of the LRU variants is partly ours: the host's stripe unit \
     (128, 256 and 512 KiB tried), the scale of a request (0.6 to 1.25), first come, first served at the drives, the rate at which the \
     write cache is emptied, and that reads of old data found in the read cache are left out. Tried and left, for they bring LRU-Top \
     no nearer: a read cache of 8 GB, 24 or 8 destages at once instead of 64, full stripes first, random writes kept for reads.",
    "The host stripes by 512 KiB. By 128 KiB each array sees four times as many runs, each slower: cache-insensitive, reads at the \
     highest load then take 11, 20 and 11 ms (LRU-Top, LRU-Bottom, SARC), cache-sensitive 6, 19 and 13: LRU-Bottom and SARC fall behind \
     LRU-Top (one seed, 0.8 requests for a scaled one).",
    "What is written has a copy in the cluster's 8 GB until it is on disk (section IV-B): the read cache is 6 GB. It is emptied from half \
     full on, the more at once the fuller it is. A stripe that is not all dirty has old data and parity read first, but for data in \
     the read cache.",
    "Warm-up of 12 minutes and phases of one, not 120 and 30; a tenth of each does not count. Means of five seeds.",
    "Figures 6 to 8 have no numbers; the overall responses are from the text.",
    "Many streams: one disk of the testbed, a pace of its own for each reader, 0.4 ms a block in the mean; 200 to 20,000 blocks a stream.",
    "tip2-sarc beside sarc: misses are random reads that missed and runs that had to wait (SPC-1, at 80 % of the highest load, one \
     seed, measured for 6 minutes after 18), or all reads that missed (the others). SPC-1's differ by 1.2 % at most, but for 8 GB, \
     cache-sensitive, where tip2-sarc has 10 % less: nearly all that is hot fits. SARC cuts ratio - 1 off at 1, so that its border \
     rests where the ratio is 1.26 in the mean if the bottom's hits come by chance.",
    "Falls short of being the same within 2 %: where nothing is read again, no hit in RANDOM's bottom tells SARC's border to move, \
     until its ratio is 20. Figure 1's stream then misses 91 to 3,000 blocks in 30 to 120 pages, under tip2-sarc 4; 10 to 1,000 \
     streams with 8 pages each miss 79 to 88 % less under tip2-sarc. Once there are 7 % more (100 streams with 32 pages each, too \
     few for all): which streams are cut short depends on every arrival.",
    "Falls short: at the highest cache-sensitive load SARC's reads take 36 % less than LRU-Top's and 26 % less than LRU-Bottom's, not 84 \
     and 39 %. At 10 % load, where nobody queues and misses alone count, all three are within 3 % of the paper. At the same response \
     (6 ms) SARC sustains 21 % more load than LRU-Top (22 % published) and 2 % more than LRU-Bottom (7 %): what differs is how \
     full the disks are beyond that. No policy takes from ours what writes cost, two thirds of all that they do, and ours answer reads \
     late when full where the paper's make writes wait: none of ours ever does, at any scale tried.",
    "Falls short: with one scale for both, the cache-insensitive configuration is fuller than the paper's (LRU-Top's reads take 33 ms \
     instead of 14), and SARC 2 to 5 % behind LRU-Top at its three highest loads. With 0.8 and 0.9 of it, it is ahead by less than 1 %.",
    "Cache-sensitive, SARC's ratio is 0.8 to 1.5, LRU-Bottom's 0.6 to 2.5 (the higher the load, the higher), LRU-Top's below 0.01; \
     cache-insensitive 0.4 to 1.6, 2.9 to 4.5 and below 0.01. SARC gives sequential data 6 to 11 and 12 to 15 % of the read cache, as \
     it should between LRU-Bottom's 7 to 9 and LRU-Top's 63 to 70, except at low load, where little is needed.",
    "Falls short: sarc-amp with 1,000 streams of 200 blocks in ample memory (1.2 and 1.5 times the best fixed degree's time: degree 384 \
     reads each in one request, and sarc-amp knows of no stream that it is worth as much before any was read), with 10 streams in \
     80 pages (1.2: each has four blocks at once where a fixed degree takes five) and in 5,120 (1.1: degree 192 happens to fit, by 384 \
     it takes 1.3), and with 100 in 3,200 (1.05). Elsewhere it is as fast as the best fixed degree, or up to a quarter faster.",
];
