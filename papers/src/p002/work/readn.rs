//! ReadN (section 6.1): the first N blocks of a file in sequence, five times over, then the next N,
//! and so on.

use super::{Disk, File, MS, Program, Script};

/// ReadN's file, and that of Read300 beside it: the block I/Os of the paper's tables are all
/// compulsory there.
pub const READN_BLOCKS: u64 = 1170;
/// Read300's file.
pub const READ300_BLOCKS: u64 = 1310;
const TIMES: u64 = 5;
/// What it does with a block. Assumed.
const THINK_NS: u64 = MS;

/// The blocks, in the order in which they are read. The last group is short.
pub fn sequence(blocks: u64, n: u64) -> Vec<u64> {
    let group = |first: u64| first..(first + n).min(blocks);
    let groups = (0..blocks).step_by(n as usize);
    groups.flat_map(|first| (0..TIMES).flat_map(move |_| group(first))).collect()
}

/// The program. Its advice is foolish: MRU.
pub fn readn(blocks: u64, n: u64) -> Program {
    let mut script = Script::default();
    script.mru(0);
    for block in sequence(blocks, n) {
        script.read(0, block);
        script.think(THINK_NS);
    }
    script.program(Disk::Rz56, vec![File { place: 0, blocks }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_read_five_times() {
        let twice = |blocks: &[u64]| blocks.repeat(5);
        assert_eq!(sequence(5, 2), [twice(&[0, 1]), twice(&[2, 3]), twice(&[4])].concat());
        assert_eq!(sequence(READN_BLOCKS, 400).len() as u64, 5 * READN_BLOCKS);
    }
}
