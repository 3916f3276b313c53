//! Reads that come before what they belong to is disclosed.
//!
//! A generator is slower than its reader at times. What it discloses then was read already: kept
//! open, it would be read ahead for nobody, and where blocks belong to several disclosures, as of
//! records that begin and end within one, the reads that follow would be taken for later ones of
//! the same blocks. The cursor would be ahead of the reader from then on, and pass over what comes.

use std::collections::VecDeque;

use super::lane::NEAR;
use super::{JUMP_BLOCKS_MAX, MATCH_SCAN_MAX};
use crate::event::Want;
use crate::files::Known;
use crate::ids::{Block, FileId};

/// Reads that are remembered, 1.5 MiB of them. Whoever is further ahead, or reads on when all is
/// disclosed, is followed no more until there is more.
const OUTRUN_MAX: usize = 1 << 16;

/// What comes just before may be disclosed just after, if the program reads by several threads: up to
/// so many disclosures later,
const PASSED_MAX: u32 = MATCH_SCAN_MAX as u32 / 2;
/// and if so many reads are kept for that, up to the first eight. Few may be taken for reads of
/// something else.
const BEFORE_MAX: usize = MATCH_SCAN_MAX / 2;
const PASSED_MIN: u32 = 8;

/// A read, or what is left of it.
struct Read {
    first: Block,
    count: u32,
    /// Disclosures of what was read after it.
    passed: u32,
}

impl Read {
    fn end(&self) -> u64 {
        self.first.index + u64::from(self.count)
    }
}

/// The reads of one reader that came when all it had disclosed was read.
#[derive(Default)]
pub(super) struct Outrun {
    reads: VecDeque<Read>,
    /// Reads in a row of what was disclosed before.
    in_a_row: usize,
    /// The generator was asked: what is disclosed now is what it gives. Whoever discloses by himself
    /// what he has read reads it again.
    is_asked: bool,
}

impl Outrun {
    /// A read that belongs to nothing disclosed so far. Returns whether it is remembered.
    pub fn note(&mut self, first: Block, count: u64) -> bool {
        self.in_a_row = 0;
        self.reads.push_back(Read { first, count: u32::try_from(count).unwrap_or(u32::MAX), passed: 0 });
        self.reads.len() <= OUTRUN_MAX
    }

    /// The generator is asked, or has answered.
    pub fn asked(&mut self, is_asked: bool) {
        self.is_asked = is_asked;
    }

    /// A read of what was disclosed before. One by itself may be so by chance: where several read
    /// together, something that one of them left out is still open.
    pub fn came_true(&mut self) {
        self.in_a_row += 1;
        if self.in_a_row >= NEAR {
            self.reads.clear();
        }
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
        let Some(mut at) = self.find(Block { file, index: from }) else {
            // Nothing that is looked at is of the plan, perhaps.
            if self.reads.len() >= MATCH_SCAN_MAX {
                self.pass(MATCH_SCAN_MAX);
            }
            return false;
        };
        let mut left = end - from;
        while left > 0
            && let Some(read) = self.reads.get_mut(at)
            && read.first.file == file
            && read.first.index < end
            && read.end() > from
        {
            let reached = read.end();
            if reached > end {
                // The rest of the read belongs to what is disclosed next.
                read.count = (reached - end) as u32;
                read.first.index = end;
            } else {
                self.reads.remove(at);
            }
            left = end.saturating_sub(reached);
        }
        // Who has read nothing after it is in the midst of it; and programs read the heads of files first, and
        // all of them then.
        let was_read = left == 0 || at < self.reads.len() && left <= JUMP_BLOCKS_MAX;
        at -= self.pass(at);
        while at > BEFORE_MAX && self.reads.front().is_some_and(|read| read.passed >= PASSED_MIN) {
            self.reads.pop_front();
            at -= 1;
        }
        was_read
    }

    /// What is disclosed was read after the first so many. Returns how many of them are forgotten.
    fn pass(&mut self, before: usize) -> usize {
        self.reads.iter_mut().take(before).for_each(|read| read.passed += 1);
        let kept = self.reads.iter().position(|read| read.passed < PASSED_MAX).unwrap_or(self.reads.len());
        self.reads.drain(..kept);
        kept
    }

    /// The first of the reads that may belong to what is disclosed now that begins with this block,
    /// or else the first that has it.
    fn find(&self, block: Block) -> Option<usize> {
        let near = || self.reads.iter().take(MATCH_SCAN_MAX);
        let has = |read: &Read| read.first.file == block.file && (read.first.index..read.end()).contains(&block.index);
        near().position(|read| read.first == block).or_else(|| near().position(has))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId(3);

    fn outrun(reads: &[(u64, u64)]) -> Outrun {
        let mut outrun = Outrun::default();
        for &(index, count) in reads {
            outrun.note(Block { file: FILE, index }, count);
        }
        outrun.asked(true);
        outrun
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
        assert!(!outrun.was_read(FILE, Want::Name, Known::Unknown));
        // One read, and as many others that are disclosed before it as it is remembered for, or one less.
        for (others, is_remembered) in [(PASSED_MAX - 1, true), (PASSED_MAX, false)] {
            let others: Vec<_> = (0..u64::from(others)).map(|index| (index, 1)).collect();
            let mut outrun = Outrun::default();
            [beside]
                .iter()
                .chain(&others)
                .for_each(|&(index, count)| _ = outrun.note(Block { file: FILE, index }, count));
            outrun.asked(true);
            assert_eq!(were_read(&mut outrun, &others), vec![true; others.len()]);
            assert_eq!(were_read(&mut outrun, &[beside]), [is_remembered]);
        }
    }

    /// A program that reads something else beside, which no plan names, is followed all the same.
    #[test]
    fn what_is_in_no_plan_does_not_hide_what_is() {
        let beside = |at: u64| [(10_000 + at, 1), (20_000 + at, 1), (at, 1)];
        let reads: Vec<_> = (0..500).flat_map(beside).collect();
        let records: Vec<_> = (0..500).map(|at| (at, 1)).collect();
        assert_eq!(were_read(&mut outrun(&reads), &records), vec![true; 500]);
        // Also if it read much of that before.
        let reads: Vec<_> = (10_000..10_100).map(|at| (at, 1)).chain(records.clone()).collect();
        let taken = were_read(&mut outrun(&reads), &records).iter().filter(|was_read| **was_read).count();
        assert!(taken >= 400, "{taken}");
    }

    #[test]
    fn what_some_threads_left_out_does_not_hide_what_the_others_read() {
        // Records of 4,000 bytes in blocks of 4,096, in an order of no pattern; of the first 300 one in 20 is
        // still to be read.
        let record = |at: u64| (at * 37 % 400 * 4000 / 4096, 2);
        let is_left_out = |at: &u64| at % 20 == 10;
        let reads: Vec<_> = (0..300).filter(|at| !is_left_out(at)).map(record).collect();
        let disclosed: Vec<_> = (0..400).map(record).collect();
        let were_read = were_read(&mut outrun(&reads), &disclosed);
        let taken = were_read[..300].iter().filter(|was_read| **was_read).count();
        assert!((285..=300).contains(&taken), "{taken}");
        let beyond = were_read[320..].iter().filter(|was_read| **was_read).count();
        assert!(beyond <= 15, "{beyond} that nobody has read");
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
