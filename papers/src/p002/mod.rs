//! Paper 002: application-controlled file caching (LRU-SP), on the authors' testbed, with programs as the paper describes them.
//!
//! ```text
//! machine     the testbed, and what a run on it gave
//! work        the programs: files, reads, writes and advice
//! readn       ReadN beside a foolish program: placeholders
//! beside      smart applications beside a foolish program, and an oblivious one beside them
//! single      each application alone
//! mixes       several at once: against LRU, and against ALLOC-LRU
//! ```
//!
//! The programs are written after the paper's descriptions, not recorded; what these leave open is listed with the numbers.
//! Nothing beyond `work` knows where a program's steps came from.

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
    "Programs are written after the paper's descriptions, not recorded. One processor: 0.5 ms a block read or written, 1 ms a \
     request; running programs share it evenly. No readahead; what is written goes to disk at once, behind the program's back.",
    "Fitted to all elapsed times of programs on the RZ56: its buffer of 64 KB reads on. The paper speaks of its buffering.",
    "Placeholders belong to places in the list, not to pages (see policy lru-sp). Nobody's control is revoked.",
    "Block I/Os of ReadN: ReadN reads 1,170 blocks in all, Read300 1,310, and Read300 makes 0.64 reads for each of ReadN. \
     Unprotected cells are means of twenty interleavings whose pace is drawn anew each 1,000 reads, from 0 to 1.28.",
    "Elapsed times of ReadN are by the clock: one RZ56, 1 ms of computing a block; means over where in its turn the disk begins.",
    "cs1: cscope.out has 1,110 blocks, fitted to 80 % less; 4.5 ms a block, fitted to 45 % less elapsed.",
    "cs2, cs3: 1,250 and 400 files of lengths distributed exponentially, in another order on disk than they are read in; 1,250 \
     fitted to 9,760 block I/Os beside Read300, 400 so that 12 MB hold them; 3 ms a block.",
    "din: nine simulations of a trace of 1,000 blocks; 9 ms a block, fitted to 155 s beside Read300.",
    "gli: 256 partitions of 40 blocks, of which the searches read 31, 26, 21, 11 and 5 % or so, rare words mostly where common ones \
     are; fitted to 9,086 block I/Os beside Read300; 2 ms a block.",
    "ldk: 800 object files, a quarter of each is symbols; two passes, the first over headers and symbols; a kernel of 4 MB is \
     written. Fitted to 5,201 block I/Os beside Read300; 2 ms a block.",
    "pjn: one tuple in five finds a match, in a leaf and a block at random; other look-ups, and the root, read nothing. 2 ms a tuple. \
     The result is not written.",
    "sort: runs of 1 MB, so 17; merges of 8, 8 and the last 3; 10 ms to sort a block and 5 ms to merge one. Temporary files that \
     were merged are removed. Writes count as block I/Os.",
    "Each program's files lie one behind the other, 2,000 blocks from the next program's.",
    "Beside Read300: 6.4 MB, one RZ56, means of three runs that differ in where in its turn the disk begins.",
    "Single applications: least and most are of those cells where anything is saved; where all data fit, nothing is.",
];

/// Which numbers fall short, and why.
const SHORT: [&str; 6] = [
    "Falls short: ReadN unprotected, whose published means lie within what twenty interleavings give; but ours rise with N, there Read400 \
     is above Read490. By the clock Read490 and Read500 take two to three times as long as there.",
    "Falls short: pjn saves 8 and 4 % of its block I/Os with 12 and 16 MB, not 9 % at least. A match in 4,000 of 20,000 look-ups is so \
     few that LRU keeps most of an index of 5 MB by itself.",
    "Falls short: a foolish Read300 costs cs2 3 % of its block I/Os, not 8, and ldk nothing, not 3 %. Ours makes some 4,500 block I/Os \
     itself and is gone before cs2 reads its files for the last time.",
    "Falls short: mixes save up to 46 % of their time (cs1, gli and ldk with 16 MB, where all of cscope.out stays), not 30 %.",
    "Falls short: Read300 is quicker beside smart programs only where that is dinero; the others' first pass is all misses in any case, \
     and Read300 is through when they are.",
    "Falls short: beside LRU-SP, ALLOC-LRU is better in 2 of 20 mixes (12 MB), and worse than LRU for single programs only, not for a \
     whole mix.",
];

/// A series of a plot.
type Points = Vec<(f64, f64)>;

/// Ours and what was published of these cells of an experiment, at x = 0, 1, 2, ...
fn points(
    report: &Report,
    experiment: &str,
    cells: impl IntoIterator<Item = String>,
) -> (Points, Points) {
    let (mut ours, mut published) = (Vec::new(), Vec::new());
    for (cell, at) in cells.into_iter().zip(0_u32..) {
        let row = report.rows.iter().find(|row| row.experiment == experiment && row.cell == cell);
        let x = f64::from(at);
        ours.extend(row.map(|row| (x, row.ours)));
        published.extend(row.and_then(|row| row.published).map(|number| (x, number)));
    }
    (ours, published)
}
