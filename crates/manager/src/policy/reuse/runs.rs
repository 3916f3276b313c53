//! How long the runs are in which blocks are read: what is read ahead in a run costs its reader no
//! wait of its own.

use crate::ids::{Block, FileId, ReaderId};

/// Readers remembered, by their number; with more of them some share a place, and their runs are
/// taken to be short.
const READERS: usize = 16;
/// Runs of `2^GRADE_MAX` blocks and more are alike.
const GRADE_MAX: u32 = 5;
/// How many grades there are.
pub const GRADES: usize = GRADE_MAX as usize + 1;

/// Where a reader is.
#[derive(Debug, Clone, Copy)]
struct Head {
    last: Block,
    /// Blocks of the run so far.
    len: u32,
    /// Blocks of the run before it.
    before: u32,
}

/// The runs of all readers.
pub struct Runs([Head; READERS]);

impl Default for Runs {
    fn default() -> Self {
        let nowhere = Block { file: FileId(u32::MAX), index: 0 };
        Runs([Head { last: nowhere, len: 0, before: 0 }; READERS])
    }
}

impl Runs {
    /// A reference. The power of two of how long its run will be: as long as the reader's last one,
    /// or as it is by now.
    pub fn refer(&mut self, reader: ReaderId, block: Block) -> u8 {
        let head = &mut self.0[reader.0 as usize % READERS];
        let goes_on = head.last.file == block.file && head.last.index + 1 == block.index;
        *head = match goes_on {
            true => Head { last: block, len: head.len.saturating_add(1), before: head.before },
            false => Head { last: block, len: 1, before: head.len },
        };
        head.len.max(head.before).ilog2().min(GRADE_MAX) as u8
    }
}

/// What a miss in a run costs, as a part of one by itself: a run is read ahead in stretches that
/// double, so that one of n blocks costs about ln n waits.
pub fn cost(grade: u8) -> f64 {
    1.0 / f64::from(1_u32 << grade)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_as_long_as_it_is_or_as_the_last_one_was() {
        let mut runs = Runs::default();
        let mut grades = |reader, from, count| -> Vec<u8> {
            let block = |index| Block { file: FileId(3), index };
            (from..from + count).map(|index| runs.refer(ReaderId(reader), block(index))).collect()
        };
        assert_eq!(grades(0, 10, 9), [0, 1, 1, 2, 2, 2, 2, 3, 3]);
        assert_eq!(grades(1, 500, 1), [0]);
        assert_eq!(grades(0, 700, 2), [3, 3]);
        assert_eq!(grades(0, 900, 2), [1, 1]);
        assert_eq!(grades(0, 2_000, 100)[99], GRADE_MAX as u8);
    }
}
