//! Reads that come before what they belong to is disclosed.
//!
//! A generator is slower than its reader at times. What it discloses then was read already: kept
//! open, it would be read ahead for nobody, and where blocks belong to several disclosures, as of
//! records that begin and end within one, the reads that follow would be taken for later ones of
//! the same blocks. The cursor would be ahead of the reader from then on, and pass over what comes.

use std::collections::VecDeque;

use super::{JUMP_BLOCKS_MAX, MATCH_SCAN_MAX};
use crate::event::Want;
use crate::files::Known;
use crate::ids::{Block, FileId};

/// Reads that are remembered, 1.5 MiB of them. Whoever is further ahead, or reads on when all is
/// disclosed, is followed no more until there is more.
const OUTRUN_MAX: usize = 1 << 16;

/// The reads of one reader that came when all it had disclosed was read.
#[derive(Default)]
pub(super) struct Outrun {
    reads: VecDeque<(Block, u64)>,
    /// The generator was asked: what is disclosed now is what it gives. Whoever discloses by himself
    /// what he has read reads it again.
    is_asked: bool,
}

impl Outrun {
    /// A read that belongs to nothing disclosed so far. Returns whether it is remembered.
    pub fn note(&mut self, first: Block, count: u64) -> bool {
        self.reads.push_back((first, count));
        self.reads.len() <= OUTRUN_MAX
    }

    /// The generator is asked, or has answered.
    pub fn asked(&mut self, is_asked: bool) {
        self.is_asked = is_asked;
    }

    /// The reader reads what was disclosed before.
    pub fn clear(&mut self) {
        self.reads.clear();
    }

    /// Whether this was read before it is disclosed.
    pub fn was_read(&mut self, file: FileId, want: Want, known: Known) -> bool {
        if !self.is_asked {
            return false;
        }
        let (from, end) = match (want, known) {
            (Want::Name, _) => return false,
            (Want::Range { first, count }, _) => (first, first + count),
            (Want::All, Known::Here { blocks, .. }) => (0, blocks),
            (Want::All, _) => (0, u64::MAX),
        };
        let is_begin =
            |(first, count): &(Block, u64)| first.file == file && first.index <= from && from < first.index + count;
        let Some(at) = self.reads.iter().take(MATCH_SCAN_MAX).position(is_begin) else { return false };
        let mut left = end - from;
        while left > 0
            && let Some((first, count)) = self.reads.get_mut(at)
            && first.file == file
            && first.index < end
            && first.index + *count > from
        {
            let reached = first.index + *count;
            if reached > end {
                // The rest of the read belongs to what is disclosed next.
                (first.index, *count) = (end, reached - end);
            } else {
                self.reads.remove(at);
            }
            left = end.saturating_sub(reached);
        }
        // Who has read nothing after it is in the midst of it; and programs read the heads of files first, and
        // all of them then.
        let was_read = left == 0 || at < self.reads.len() && left <= JUMP_BLOCKS_MAX;
        // What came just before may be disclosed just after, if the program reads by several threads.
        self.reads.drain(..at.saturating_sub(MATCH_SCAN_MAX / 2));
        was_read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId(3);

    fn outrun(reads: &[(u64, u64)]) -> Outrun {
        let reads = reads.iter().map(|&(index, count)| (Block { file: FILE, index }, count)).collect();
        Outrun { reads, is_asked: true }
    }

    fn were_read(outrun: &mut Outrun, disclosed: &[(u64, u64)]) -> Vec<bool> {
        let was_read = |&(first, count)| outrun.was_read(FILE, Want::Range { first, count }, Known::Unknown);
        disclosed.iter().map(was_read).collect()
    }

    #[test]
    fn records_that_share_blocks_are_told_apart() {
        let mut outrun = outrun(&[(4, 2), (5, 2), (9, 2), (3, 2)]);
        let disclosed = [(4, 2), (5, 2), (9, 2), (3, 2), (4, 2)];
        assert_eq!(were_read(&mut outrun, &disclosed), [true, true, true, true, false]);
    }

    #[test]
    fn reads_may_be_longer_or_shorter_than_what_is_disclosed() {
        assert_eq!(
            were_read(&mut outrun(&[(0, 4), (7, 1)]), &[(0, 2), (2, 2), (4, 2), (7, 1)]),
            [true, true, false, true]
        );
        assert_eq!(were_read(&mut outrun(&[(0, 2), (2, 2), (9, 1)]), &[(0, 4), (9, 1)]), [true, true]);
        // Its end was passed over, or is still to be read.
        assert_eq!(were_read(&mut outrun(&[(0, 2), (9, 1)]), &[(0, 4), (9, 1)]), [true, true]);
        assert_eq!(were_read(&mut outrun(&[(0, 2)]), &[(0, 4), (0, 4)]), [false, false]);
    }

    #[test]
    fn what_came_long_before_is_forgotten() {
        let beside = (100, 1);
        assert_eq!(were_read(&mut outrun(&[beside, (0, 1), (1, 1)]), &[(1, 1), (0, 1), (100, 1)]), [true; 3]);
        let mut reads = vec![beside; MATCH_SCAN_MAX - 1];
        reads.push((0, 1));
        let mut outrun = outrun(&reads);
        assert_eq!(were_read(&mut outrun, &[(50, 1), (0, 1)]), [false, true]);
        assert_eq!(outrun.reads.len(), MATCH_SCAN_MAX / 2);
        assert!(!outrun.was_read(FILE, Want::Name, Known::Unknown));
    }

    #[test]
    fn whole_files_are_as_long_as_is_known() {
        let known = Known::Here { home: crate::layout::Home::default(), blocks: 4 };
        assert!(outrun(&[(0, 4)]).was_read(FILE, Want::All, known));
        assert!(!outrun(&[(0, 4)]).was_read(FILE, Want::All, Known::Unknown));
        assert!(outrun(&[(0, 2), (8, 1)]).was_read(FILE, Want::All, known));
        // A head, of what is long or may be.
        assert!(!outrun(&[(0, 4), (8, 1)]).was_read(FILE, Want::All, Known::Unknown));
        let long = Want::Range { first: 0, count: JUMP_BLOCKS_MAX + 5 };
        assert!(!outrun(&[(0, 4), (900, 1)]).was_read(FILE, long, known));
    }
}
