//! Paper 002: application-controlled file caching (LRU-SP), on the authors' testbed, with what
//! today's programs do at their work.
//!
//! ```text
//! machine     the testbed, and what a run on it gave
//! work        the programs: files, reads, writes and advice
//! traces      what 'foresee record' saw of eight applications (papers/record makes them again)
//! readn       ReadN beside a foolish program: placeholders
//! beside      smart applications beside a foolish program, and an oblivious one beside them
//! single      each application alone
//! mixes       several at once: against LRU, and against ALLOC-LRU
//! ```
//!
//! Where today's programs do otherwise than the paper's is listed with the numbers. Nothing beyond
//! `work` knows where a program's steps came from.

mod beside;
mod machine;
mod mixes;
mod readn;
mod single;
mod work;

use crate::{Effort, Paper, Progress, Published, Report};

/// The paper.
pub static PAPER: Paper = Paper {
    number: 2,
    title: "Cao, Felten, Li: Implementation and Performance of Application-Controlled File Caching (LRU-SP), OSDI 1994",
    run,
};

fn run(effort: Effort, progress: &Progress<'_>) -> Result<Report, String> {
    let mut report = Report::new(Published::parse(include_str!("published.csv"))?);
    readn::report(progress, &mut report)?;
    beside::report(progress, &mut report)?;
    single::report(progress, &mut report)?;
    mixes::report(effort, progress, &mut report)?;
    report.assumed.extend(ASSUMED.into_iter().chain(SHORT).map(str::to_owned));
    Ok(report)
}

/// What the text does not give. Fitted numbers are one a disk or a program, never one a cell.
const ASSUMED: [&str; 15] = [
    "The eight applications are recordings of today's programs (cscope 15.9, glimpse 4.18, GNU ld 2.40, PostgreSQL 15, \
     GNU sort 9.1; of dinero, which is not to be had, a cache simulator of ours) on Linux 6.1 in the place of Ultrix \
     and of news: which bytes are asked for, in which order. How they advise is the paper's. A MB of data is 10^6 \
     bytes, which fits din's 3,067 block I/Os better.",
    "Bytes become blocks of 8 KB; one that is asked for again at once is asked for once. One processor: 0.5 ms a block \
     read or written, 1 ms a request; running programs share it evenly. No readahead; a block goes to disk when the \
     first of it is written, behind the program's back.",
    "Computing for each block asked for, one number a program: cs1 5 ms, fitted to 45 % less elapsed; cs2, cs3 8 ms \
     and din 9 ms, fitted to 225 and 155 s beside Read300; gli 2, ldk 0.5, pjn 5, sort 8 ms, assumed.",
    "A folder's files lie together on disk, and else in no order; each program's 2,000 blocks from the next one's.",
    "Fitted to all elapsed times of programs on the RZ56: its buffer of 64 KB reads on. The paper speaks of its \
     buffering.",
    "Placeholders belong to places in the list, not to pages (see policy lru-sp). Nobody's control is revoked.",
    "Block I/Os of ReadN: ReadN reads 1,170 blocks in all, Read300 1,310, and Read300 makes 0.64 reads for each of \
     ReadN. Unprotected cells are means of twenty interleavings whose pace is drawn anew each 1,000 reads, from 0 to \
     1.28.",
    "Elapsed times of ReadN are by the clock: one RZ56, 1 ms of computing a block; means over where in its turn the \
     disk begins.",
    "cs1: a database of 9 MB, as in the paper, which is of 12 MB of source: today's cscope makes 14 MB of 18. cs2, \
     cs3: 768 files of 17.8 MB, 459 of 10 MB.",
    "gli: an index of 1.9 MB and 0.5 MB of names of 39 MB in 8,579 files, of which the five searches open 3,888; each \
     takes a block at least.",
    "ldk: 525 modules of Debian's kernel, 24.9 MB, linked into one file of 12.8 MB. A block is freed when each of its \
     sectors was read or written, and each time again.",
    "pjn: 3,960 of 20,000 look-ups find a match, in a leaf and a block; other look-ups, and the root, are Postgres's \
     own 16 buffers'. The result is not written.",
    "sort: 1 MB of memory makes 26 runs of 0.67 MB, merged by eights and then by five. Temporary files that were \
     merged are removed. Writes count as block I/Os.",
    "Beside Read300: 6.4 MB, one RZ56, means of three runs that differ in where in its turn the disk begins.",
    "Single applications: least and most are of those cells where anything is saved; where all data fit, nothing is.",
];

/// Which numbers fall short, and why.
const SHORT: [&str; 8] = [
    "Falls short: ReadN unprotected, whose published means lie within what twenty interleavings give; but ours rise \
     with N, there Read400 is above Read490. By the clock Read490 and Read500 take two to three times as long as \
     there.",
    "Falls short: ldk makes 47 % more block I/Os than published, and takes 63 % longer. GNU ld goes through its \
     objects three times (symbols, relocations, contents): 4,842 blocks are asked for 24,650 times, and LRU with 6.4 \
     MB reads 1,921 of them more than once. The paper's ld almost never accesses data twice.",
    "Falls short, for the same reason: ldk saves 7 and 8 % of its block I/Os with 12 and 16 MB, not 9 % at least, and \
     5 % of its time: it comes back to blocks that were freed.",
    "Falls short: pjn saves 7 and 3 % of its block I/Os with 12 and 16 MB, 5 and 2 % of its time. A match in 3,960 of \
     20,000 look-ups is so few that LRU keeps most of an index of 5 MB by itself.",
    "Falls short: a foolish Read300 costs cs2 4 % of its block I/Os, not 8, and ldk nothing, not 3 %. Ours makes some \
     4,500 block I/Os itself and is gone before cs2 reads its files for the last time. cs2 and gli make a fifth fewer \
     than published: which packages, articles and partitions the paper's were is not known.",
    "Falls short: mixes save up to 39 % of their time (cs1, gli and ldk with 16 MB, where all of cscope.out stays), \
     not 30 %.",
    "Falls short: Read300 is quicker beside smart programs only where that is dinero; the others' first pass is all \
     misses in any case, and Read300 is through when they are.",
    "Falls short: beside LRU-SP, ALLOC-LRU is better in 3 of 20 mixes (12 and 16 MB). It is worse than LRU for single \
     programs, and by elapsed time for one whole mix (din, cs3, gli and ldk with 6.4 MB), by block I/Os for none.",
];

/// A series of a plot.
type Points = Vec<(f64, f64)>;

/// Ours and what was published of these cells of an experiment, at x = 0, 1, 2, ...
fn points(report: &Report, experiment: &str, cells: impl IntoIterator<Item = String>) -> (Points, Points) {
    let (mut ours, mut published) = (Vec::new(), Vec::new());
    for (cell, at) in cells.into_iter().zip(0_u32..) {
        let row = report.rows.iter().find(|row| row.experiment == experiment && row.cell == cell);
        let x = f64::from(at);
        ours.extend(row.map(|row| (x, row.ours)));
        published.extend(row.and_then(|row| row.published).map(|number| (x, number)));
    }
    (ours, published)
}
