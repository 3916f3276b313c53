//! One disclosure.

use crate::event::Want;
use crate::files::Known;
use crate::ids::{Block, FileId};

use super::JUMP_BLOCKS_MAX;
use super::sequence::Gap;

/// What is read of a file before all of it: no more than the longest request brings.
const HEAD_BLOCKS_MAX: u64 = 256;

/// One disclosure. 56 bytes.
pub(super) struct Entry {
    pub file: FileId,
    pub want: Want,
    /// Disclosures are numbered over all sequences: the oldest is served first.
    pub order: u64,
    /// Blocks from the entry's start that were looked at for fetching.
    pub issued: u32,
    /// Blocks from the entry's start that were read.
    pub read: u32,
    /// Blocks of it still to be read, as counted in the distances: a guess until the file's size is
    /// known.
    pub ahead: u32,
    pub done: bool,
    /// The rest of it is left to the reader's own system.
    pub left: bool,
    /// Several read together, and nothing was disclosed before that begins where it does.
    pub is_first: bool,
    /// Nobody disclosed it, but what is before and behind it.
    pub gap: Option<Gap>,
}

impl Entry {
    /// First block and number of blocks, where the file's size is needed and known; at most 2^32 -
    /// 1 blocks are followed.
    pub fn span(&self, known: Known) -> Option<(u64, u64)> {
        let (first, count) = match (self.want, known) {
            (Want::Name, _) | (_, Known::Missing) => (0, 0),
            (Want::All, Known::Here { blocks, .. }) => (0, blocks),
            (Want::Range { first, count }, Known::Here { blocks, .. }) => {
                (first, count.min(blocks.saturating_sub(first)))
            }
            // It may be read before its name is looked up.
            (Want::Range { first, count }, Known::Unknown | Known::LookingUp) => (first, count),
            (Want::All, Known::Unknown | Known::LookingUp) => return None,
        };
        Some((first, count.min(u64::from(u32::MAX))))
    }

    /// Whether somebody disclosed it, there is something to read, and nothing of it was read or passed over.
    pub fn is_untouched(&self) -> bool {
        self.read == 0 && self.ahead > 0 && self.gap.is_none()
    }

    /// Whether this block is still to be read here. Of a gap it is if it was looked at for fetching.
    pub fn holds(&self, index: u64, known: Known) -> bool {
        (self.gap.is_none() || self.issued > self.read) && self.has_left(index, known)
    }

    /// Whether this block is part of it, and was not read here.
    pub fn has_left(&self, index: u64, known: Known) -> bool {
        let Some((from, len)) = self.span(known) else { return false };
        index >= from + u64::from(self.read) && index < from + len
    }

    /// Whether a read of this block now belongs here.
    pub fn fits(&self, index: u64, known: Known) -> bool {
        let near = |(from, _)| index <= from + u64::from(self.issued.max(self.read)) + JUMP_BLOCKS_MAX;
        self.gap.is_none() && self.holds(index, known) && self.span(known).is_some_and(near)
    }

    /// Whether no more than a head was read here, this block within it, and more follows than a jump
    /// passes over.
    pub fn has_as_head(&self, index: u64, known: Known) -> bool {
        let Some((from, len)) = self.span(known) else { return false };
        let read = u64::from(self.read);
        read <= HEAD_BLOCKS_MAX && (from..from + read).contains(&index) && len - read.min(len) > JUMP_BLOCKS_MAX
    }

    /// Nothing of it can ever be read: its name leads nowhere, or its file ends before it.
    pub fn is_void(&self, known: Known) -> bool {
        self.want != Want::Name && self.span(known).is_some_and(|(_, len)| len == 0)
    }

    /// Where the index by place has this entry: its class, and the place's key. A range of up to
    /// 2^class blocks lies at `first >> class`, so that a read looks at two places in each
    /// class in use.
    pub fn place(&self) -> (u8, u64) {
        let (class, place) = match self.want {
            Want::Name => (NAME, 0),
            Want::All => (WHOLE, 0),
            Want::Range { first, count } => {
                let class = (u64::BITS - count.saturating_sub(1).leading_zeros()) as u8;
                (class, first >> class)
            }
        };
        (class, place_key(self.file, place))
    }
}

/// The least class of ranges of which more may be left than a jump passes over.
pub(super) const LONG: u8 = JUMP_BLOCKS_MAX.ilog2() as u8 + 1;
/// The class of whole files; ranges have 0 to 40.
pub(super) const WHOLE: u8 = 41;
/// The class of names.
pub(super) const NAME: u8 = 42;

pub(super) fn place_key(file: FileId, place: u64) -> u64 {
    Block { file, index: place }.key()
}
