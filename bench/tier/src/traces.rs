//! Which blocks are read: drawn by a seed, the same for all.

use crate::draws::{self, Random};

/// All of them.
pub const NAMES: [&str; 6] = ["zipf", "cycle", "mix", "once", "once, then zipf", "zipf, then elsewhere"];

/// Blocks that a trace over so many blocks of data reads of at most: what is read once lies behind
/// the data.
pub fn blocks_max(blocks: u64, count: usize) -> u64 {
    blocks + count as u64
}

/// By Zipf's law (the n-th as likely as 1/n), the likely ones anywhere.
fn zipf(blocks: u64, count: usize, random: &mut Random) -> Vec<u64> {
    let mut places: Vec<u64> = (0..blocks).collect();
    for at in (1..places.len()).rev() {
        places.swap(at, (random.next() % (at as u64 + 1)) as usize);
    }
    draws::zipf(&places, count, random)
}

/// So many references to so many blocks.
pub fn trace(name: &str, blocks: u64, count: usize) -> Vec<u64> {
    let mut random = Random(1);
    match name {
        "zipf" => zipf(blocks, count, &mut random),
        "cycle" => (0..count as u64).map(|at| at % blocks).collect(),
        // Half of the data by Zipf's law, and between them a scan of the other half, over and over.
        "mix" => {
            let half = blocks / 2;
            let likely = zipf(half, count / 2, &mut random);
            let scanned = (0..).map(|at| half + at % half);
            likely.into_iter().zip(scanned).flat_map(|(one, other)| [one, other]).collect()
        }
        "once" => (blocks..).take(count).collect(),
        "once, then zipf" => (blocks..).take(count / 2).chain(zipf(blocks, count / 2, &mut random)).collect(),
        // A third of the time, then as long over other data, then over the first again.
        "zipf, then elsewhere" => {
            let third = |at| zipf(blocks, count / 3, &mut random).into_iter().map(move |block| block + at * blocks);
            [0, 1, 0].into_iter().flat_map(third).collect()
        }
        _ => unreachable!("{name}"),
    }
}
