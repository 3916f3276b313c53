//! Reads that come before what they belong to is disclosed.
//!
//! A generator is slower than its reader at times. What it discloses then was read already: kept
//! open, it would be read ahead for nobody, and where blocks belong to several disclosures, as of
//! records that begin and end within one, the reads that follow would be taken for later ones of
//! the same blocks. The cursor would be ahead of the reader from then on, and pass over what comes.

use std::collections::VecDeque;

use super::MATCH_SCAN_MAX;
use crate::event::Want;
use crate::files::Known;
use crate::ids::{Block, FileId};

/// Reads that are remembered, 1.5 MiB of them. Whoever is further ahead, or reads on when all is
/// disclosed, is followed no more until there is more.
const OUTRUN_MAX: usize = 1 << 16;

/// The reads of one reader that nothing was disclosed for, since the last that something was.
#[derive(Default)]
pub(super) struct Outrun(VecDeque<(Block, u64)>);

impl Outrun {
    /// A read that belongs to nothing disclosed so far. Returns whether it is remembered.
    pub fn note(&mut self, first: Block, count: u64) -> bool {
        self.0.push_back((first, count));
        self.0.len() <= OUTRUN_MAX
    }

    /// The reader reads what was disclosed before.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether this was read before it is disclosed.
    pub fn was_read(&mut self, file: FileId, want: Want, known: Known) -> bool {
        let (from, end) = match (want, known) {
            (Want::Name, _) => return false,
            (Want::Range { first, count }, _) => (first, first + count),
            (Want::All, Known::Here { blocks, .. }) => (0, blocks),
            (Want::All, _) => (0, u64::MAX),
        };
        let is_begin =
            |(first, count): &(Block, u64)| first.file == file && first.index <= from && from < first.index + count;
        let Some(at) = self.0.iter().take(MATCH_SCAN_MAX).position(is_begin) else { return false };
        let mut was_read = false;
        while !was_read
            && let Some((first, count)) = self.0.get_mut(at)
            && first.file == file
            && first.index < end
            && first.index + *count > from
        {
            let reached = first.index + *count;
            if reached > end {
                // The rest of the read belongs to what is disclosed next.
                (first.index, *count) = (end, reached - end);
            } else {
                self.0.remove(at);
            }
            was_read = reached >= end;
        }
        // Who has read nothing after it is in the midst of it.
        was_read |= at < self.0.len();
        // What came just before may be disclosed just after, if the program reads by several threads.
        self.0.drain(..at.saturating_sub(MATCH_SCAN_MAX / 2));
        was_read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId(3);

    fn outrun(reads: &[(u64, u64)]) -> Outrun {
        Outrun(reads.iter().map(|&(index, count)| (Block { file: FILE, index }, count)).collect())
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
        assert_eq!(outrun.0.len(), MATCH_SCAN_MAX / 2);
        assert!(!outrun.was_read(FILE, Want::Name, Known::Unknown));
    }

    #[test]
    fn whole_files_are_as_long_as_is_known() {
        let known = Known::Here { home: crate::layout::Home::default(), blocks: 4 };
        assert!(outrun(&[(0, 4)]).was_read(FILE, Want::All, known));
        assert!(!outrun(&[(0, 4)]).was_read(FILE, Want::All, Known::Unknown));
        assert!(outrun(&[(0, 4), (8, 1)]).was_read(FILE, Want::All, known));
    }
}
