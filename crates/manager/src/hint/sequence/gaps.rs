//! What a recording left out between neighbours.
//!
//! Of who reads blocks 4 and 6 nobody knows whether he needs 5. Where something else was recorded
//! between them, a part of the recording may be wrong, and 5 is read in its place; where one
//! followed the other, most readers pass over it. So each such gap waits among the disclosures, and
//! what becomes of it says how it is with others of its kind: they are brought, with their
//! neighbours, as long as more of them were read than not. Else each of those that are read is waited
//! for, behind all that is fetched ahead.
//!
//! ```text
//! recorded:  4 6    5 is skipped         recorded:  4 77 6    5 is replaced
//! ```
//!
//! A gap is no disclosure: it moves no cursor, and that it is read or not says nothing of how true its
//! source is.

use std::collections::VecDeque;
use std::ops::Range;

use super::{BLOCKS, Sequence};
use crate::event::{Source, Want};
use crate::files::Known;
use crate::hint::lane::Lane;
use crate::hint::{HINT_ENTRIES_MAX, Holdings, JUMP_BLOCKS_MAX, JUMP_ENTRIES_MAX, Passed};
use crate::ids::{Block, FileId};

/// Runs that may go on behind a gap, the latest that were disclosed.
const RUNS: usize = 8;
/// So many blocks' outcomes count; then each for half. What was long ago says little of what comes.
const MEMORY: u64 = 256;
/// Where so much is disclosed no gaps are looked for: they take the room of disclosures.
const ENTRIES_MAX: usize = HINT_ENTRIES_MAX / 4;
/// Who reads by several threads may come to a gap a little after what lies behind it.
const LATE_ENTRIES: u64 = 16;

/// What lies in the place of a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    /// Nothing.
    Skipped,
    /// Something else.
    Replaced,
}

/// How many blocks of a kind were read, and how many passed over.
#[derive(Debug, Clone, Copy, Default)]
struct Outcomes {
    read: u64,
    passed: u64,
}

/// What is known of all.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    /// The blocks behind the latest runs, the one that was disclosed last at the end.
    ends: VecDeque<Block>,
    outcomes: [Outcomes; 2],
    /// Of those that wait among the disclosures, how many are neither read nor passed over.
    open: usize,
}

impl Gaps {
    /// The gap before these blocks, which are disclosed after all others. What was left out is taken
    /// for one read, no longer than the next.
    fn before(&mut self, file: FileId, blocks: Range<u64>) -> Option<(Range<u64>, Gap)> {
        let longest = (blocks.end - blocks.start).min(JUMP_BLOCKS_MAX);
        let goes_on = |it: &Block| it.file == file && blocks.start <= it.index + longest && it.index <= blocks.end;
        let run = self.ends.iter().rposition(goes_on);
        let gap = if run.is_some_and(|at| at + 1 < self.ends.len()) { Gap::Replaced } else { Gap::Skipped };
        let end = run.and_then(|at| self.ends.remove(at));
        if end.is_none() && self.ends.len() == RUNS {
            self.ends.pop_front();
        }
        self.ends.push_back(Block { file, index: blocks.end });
        end.map(|end| (end.index..blocks.start, gap)).filter(|(blocks, _)| !blocks.is_empty())
    }

    /// What is disclosed next follows nothing.
    pub fn begin_anew(&mut self) {
        self.ends.clear();
    }

    /// All disclosures are forgotten, and those among them.
    pub fn clear(&mut self) {
        self.begin_anew();
        self.open = 0;
    }

    pub fn open(&self) -> usize {
        self.open
    }

    /// One that was open is read, or passed over.
    pub fn closed(&mut self) {
        self.open -= 1;
    }

    fn came_out(&mut self, gap: Gap, read: u64, passed: u64) {
        let outcomes = &mut self.outcomes[gap as usize];
        (outcomes.read, outcomes.passed) = (outcomes.read + read, outcomes.passed + passed);
        while outcomes.read + outcomes.passed > MEMORY {
            (outcomes.read, outcomes.passed) = (outcomes.read / 2, outcomes.passed / 2);
        }
    }

    /// Whether those of a kind are brought.
    pub fn are_filled(&self, gap: Gap) -> bool {
        let Outcomes { read, passed } = self.outcomes[gap as usize];
        read > passed
    }
}

impl Sequence {
    /// A disclosure, and the gap before it.
    pub(super) fn push(&mut self, file: FileId, want: Want, orders: &mut u64, known: Known) {
        if self.entries.len() >= ENTRIES_MAX {
            self.gaps.begin_anew();
        } else if let Want::Range { first, count } = want
            && self.source == Source::Profile
            && let Some((blocks, gap)) = self.gaps.before(file, first..first.saturating_add(count))
        {
            let want = Want::Range { first: blocks.start, count: blocks.end - blocks.start };
            self.push_entry(file, want, orders, known, Some(gap));
            self.gaps.open += 1;
        }
        self.push_entry(file, want, orders, known, None);
    }

    /// Where the foremost reader is.
    fn place(&self) -> u64 {
        self.lanes.get(BLOCKS).and_then(Lane::foremost).map_or(self.base, |it| it.max(self.base))
    }

    /// A block was read that nobody disclosed for now: it may be of a gap, and says of others that they are
    /// read.
    pub(super) fn learn_of_gap(&mut self, block: Block, known: Known) {
        if let Some(gap) = self.fill_gap(block, known) {
            self.gaps.came_out(gap, 1, 0);
        }
    }

    /// The gap where the reader is that a block which was read is of.
    pub(super) fn fill_gap(&mut self, block: Block, known: Known) -> Option<Gap> {
        if self.gaps.open == 0 {
            return None;
        }
        let near = self.place() + JUMP_ENTRIES_MAX;
        let found = self.find(block, |entry| entry.gap.is_some() && entry.has_left(block.index, known));
        let position = found.filter(|&position| position <= near)?;
        let entry = self.entry_mut(position)?;
        let (gap, (first, count)) = (entry.gap?, entry.span(known)?);
        entry.read = (block.index + 1 - first) as u32;
        if u64::from(entry.read) == count {
            self.close(position);
            self.trim();
        }
        Some(gap)
    }

    /// A gap is passed over. Nobody said that it would be read.
    pub(super) fn pass_gap(
        &mut self,
        id: u16,
        gap: Gap,
        position: u64,
        holdings: Holdings<'_>,
        passed: &mut Vec<Passed>,
    ) {
        if let Some(entry) = self.entry(position)
            && let Some((first, count)) = entry.span(holdings.files.of(entry.file))
        {
            let (file, read, issued) = (entry.file, u64::from(entry.read), u64::from(entry.issued));
            let count_out = issued.saturating_sub(read);
            passed.push(Passed { sequence: id, file, first: first + read, count: count_out, is_gap: true });
            self.gaps.came_out(gap, 0, count.saturating_sub(read));
        }
        self.close(position);
    }

    /// The cursor rests on no gap that its readers have left behind, nor on one with nothing behind it.
    pub(super) fn pass_gaps(&mut self, id: u16, holdings: Holdings<'_>, passed: &mut Vec<Passed>) {
        while let Some(gap) = self.entries.front().and_then(|entry| entry.gap)
            && (self.base + LATE_ENTRIES <= self.place() || self.distance.before_chunk(u64::MAX) == 0)
        {
            self.pass_gap(id, gap, self.base, holdings, passed);
            self.trim();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Files;
    use crate::hint::{Holdings, Step, Trust};
    use crate::layout::Home;
    use crate::table::Table;

    const FILE: FileId = FileId(1);

    #[test]
    fn a_gap_is_what_was_left_out_between_neighbours() {
        let mut gaps = Gaps::default();
        let mut before = |blocks: Range<u64>| gaps.before(FILE, blocks);
        // Onward, the same once more, one block further, two further, and back.
        assert_eq!([0..4, 4..5, 4..5, 3..6].map(&mut before), [None, None, None, None]);
        assert_eq!([7..8, 10..11, 2..3].map(&mut before), [Some((6..7, Gap::Skipped)), None, None]);
        // What was last recorded but one goes on, and so does what was before that.
        assert_eq!(
            [12..13, 77..78, 4..6].map(&mut before),
            [Some((11..12, Gap::Replaced)), None, Some((3..4, Gap::Replaced))]
        );
        // No longer than what comes next.
        assert_eq!(
            [20..21, 24..26, 28..30, 34..36, 40..46].map(&mut before),
            [None, None, Some((26..28, Gap::Skipped)), None, Some((36..40, Gap::Skipped))]
        );
        (0..RUNS as u64).for_each(|run| _ = before(1000 * (run + 1)..1000 * (run + 1) + 1));
        assert_eq!(before(14..15), None, "long ago");
        assert_eq!(gaps.before(FileId(2), 15..16), None);
    }

    /// The blocks that are brought of a recording of 1,000 blocks, of which `recorded` tells as what each was
    /// recorded, if it was, for a reader of those that `reads` tells.
    fn brought(recorded: impl Fn(u64) -> Option<u64>, reads: impl Fn(u64) -> bool) -> Vec<u64> {
        let (mut files, table, mut orders) = (Files::default(), Table::default(), 0);
        files.set(FILE, Known::Here { home: Home::default(), blocks: 10_000 });
        let mut sequence = Sequence::new(Source::Profile, Trust::Earned { initial_blocks: 16 });
        for index in (0..1000).filter_map(recorded) {
            sequence.disclose(FILE, Want::Range { first: index, count: 1 }, &mut orders, files.of(FILE));
        }
        let mut brought = Vec::new();
        for index in (0..1000).filter(|&index| reads(index)) {
            let mut steps = Vec::new();
            while sequence.peek(0, 16, &files, &mut steps) || !steps.is_empty() {
                for step in steps.drain(..) {
                    sequence.taken(step.1, true);
                    brought.extend(if let Step::Block { block, .. } = step.1 { Some(block.index) } else { None });
                }
            }
            if brought.contains(&index) {
                sequence.window.page_read(false);
            }
            let holdings = Holdings { files: &files, table: &table };
            sequence.read(0, Block { file: FILE, index }, 1, holdings, &mut Vec::new());
        }
        brought
    }

    fn tenths(brought: &[u64]) -> usize {
        brought.iter().filter(|&index| index % 20 == 10).count()
    }

    #[test]
    fn what_is_read_in_the_place_of_what_was_recorded_is_brought() {
        let others = |index| Some(if index % 20 == 10 { 5003 + index } else { index });
        let found = tenths(&brought(others, |_| true));
        assert!((30..50).contains(&found), "{found} of 50");
        assert_eq!(tenths(&brought(others, |index| index % 20 != 10)), 0, "nobody reads them");
    }

    #[test]
    fn no_gap_is_left_that_its_reader_has_passed() {
        let (mut files, table, mut orders) = (Files::default(), Table::default(), 0);
        files.set(FILE, Known::Here { home: Home::default(), blocks: 10_000 });
        let mut sequence = Sequence::new(Source::Profile, Trust::Earned { initial_blocks: 16 });
        let every_other = || (0..400).step_by(2);
        for first in every_other() {
            sequence.disclose(FILE, Want::Range { first, count: 1 }, &mut orders, files.of(FILE));
        }
        let holdings = Holdings { files: &files, table: &table };
        let mut passed = Vec::new();
        for index in every_other() {
            let foremost = sequence.place();
            sequence.read(0, Block { file: FILE, index }, 1, holdings, &mut passed);
            assert!(sequence.base + LATE_ENTRIES + 2 > foremost, "{index}: {} of {foremost}", sequence.base);
        }
        assert!(!sequence.is_followed() && passed.len() == 199, "{} of {}", sequence.len(), passed.len());
        assert_eq!(sequence.window.accuracy.skipped, 0);
    }

    #[test]
    fn what_is_skipped_is_brought_where_it_is_read() {
        let holes = |index| (index % 20 != 10).then_some(index);
        let found = tenths(&brought(holes, |_| true));
        assert!((30..50).contains(&found), "{found} of 50");
        let (every_other, read) = (|index| (index % 2 == 0).then_some(index), |index| index % 2 == 0);
        assert_eq!(brought(every_other, read).len(), 500);
    }
}
