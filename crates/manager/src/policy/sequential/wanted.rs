//! A stretch of a file that is to be read ahead, and which of its blocks has the next one follow.

use super::amp::Carried;
use crate::ids::{Block, FileId};
use crate::policy::Stretch;

/// A stretch that is wanted.
#[derive(Clone, Copy)]
pub struct Wanted {
    pub file: FileId,
    /// From this block up to before `end`.
    pub first: u64,
    pub end: u64,
    /// The block that is to carry the trigger.
    pub trigger: Option<u64>,
    pub misses: u64,
    /// What its blocks carry.
    pub stream: Carried,
}

impl Wanted {
    pub fn holds(&self, block: Block) -> bool {
        block.file == self.file && (self.first..self.end).contains(&block.index)
    }

    pub fn triggers_at(&self, block: Block) -> bool {
        block.file == self.file && Some(block.index) == self.trigger
    }

    /// After this block, by 003's rule: the same degree for all, ends at multiples of the group.
    pub fn fixed(Block { file, index }: Block, degree: u64, group: u64, trigger_offset: u64) -> Self {
        let last = (index + degree).saturating_sub(index % group).max(index);
        let trigger = last.checked_sub(trigger_offset).filter(|&trigger| trigger > index);
        Wanted { file, first: index + 1, end: last + 1, trigger, misses: 0, stream: Carried::default() }
    }

    /// A request of a strided run, which is to be read ahead.
    pub fn strided(Stretch { first, count, misses }: Stretch) -> Self {
        let (end, stream) = (first.index + count, Carried::strided());
        Wanted { file: first.file, first: first.index, end, trigger: None, misses, stream }
    }

    /// After this block, as far as its stream is wanted.
    pub fn adapted(Block { file, index }: Block, (stream, blocks): (Carried, u64)) -> Self {
        let last = index + blocks;
        let trigger = last.checked_sub(stream.distance()).filter(|&trigger| trigger > index);
        Wanted { file, first: index + 1, end: last + 1, trigger, misses: 0, stream }
    }

    pub fn stretch(&self) -> Stretch {
        let first = Block { file: self.file, index: self.first };
        Stretch { first, count: self.end - self.first, misses: self.misses }
    }
}
