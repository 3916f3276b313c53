//! What the cursor passed over of late.
//!
//! A program that reads by several threads reads what it disclosed nearly in that order: some of it
//! just after what follows. Where blocks belong to several disclosures, as of records that begin and
//! end within one, such a read would be taken for a later one of the same block, the cursor would be
//! ahead of the readers, and pass over what comes. So the first such read says that there are
//! several.

use std::collections::VecDeque;

use super::{JUMP_BLOCKS_MAX, JUMP_ENTRIES_MAX};
use crate::ids::Block;

/// The rest of a disclosure that was passed over, or as much of it as a jump passes over.
struct Left {
    position: u64,
    first: Block,
    count: u64,
}

/// What was passed over of the last [`JUMP_ENTRIES_MAX`] disclosures, and not read since.
#[derive(Default)]
pub(super) struct Behind(VecDeque<Left>);

impl Behind {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// These blocks were passed over, disclosed at `position`.
    pub fn passed(&mut self, position: u64, first: Block, count: u64) {
        if count > 0 {
            self.0.push_back(Left { position, first, count: count.min(JUMP_BLOCKS_MAX) });
        }
    }

    /// Whether this block was passed over; the cursor is at `base`.
    pub fn holds(&mut self, base: u64, block: Block) -> bool {
        while self.0.front().is_some_and(|left| left.position + JUMP_ENTRIES_MAX < base) {
            self.0.pop_front();
        }
        let holds = |left: &Left| {
            left.first.file == block.file && (left.first.index..left.first.index + left.count).contains(&block.index)
        };
        self.0.iter().any(holds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::FileId;

    #[test]
    fn what_was_passed_over_of_late() {
        let block = |index| Block { file: FileId(1), index };
        let mut behind = Behind::default();
        behind.passed(3, block(10), 4);
        behind.passed(4, block(20), 0);
        behind.passed(5, block(30), 500);
        assert_eq!([9, 10, 13, 14, 20].map(|at| behind.holds(6, block(at))), [false, true, true, false, false]);
        assert!(!behind.holds(6, Block { file: FileId(2), index: 10 }));
        assert_eq!([0, 1].map(|more| behind.holds(3 + JUMP_ENTRIES_MAX + more, block(10))), [true, false]);
        assert_eq!([0, 1].map(|more| behind.holds(6, block(29 + JUMP_BLOCKS_MAX + more))), [true, false]);
    }
}
