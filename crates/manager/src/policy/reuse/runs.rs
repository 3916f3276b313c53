//! How long the runs are in which blocks are read, and what that tells of what it costs to miss
//! them: what is read ahead in a run costs its reader no wait of its own.
//!
//! What counts is how a block is read when it is missed, not how it was read before. What is
//! written or loaded in order is often looked up by chance afterwards: a table that is built and
//! then probed, a log and its readers. So it is learned of blocks that are read again, found here or
//! not, by the runs in which they had been read, of each file that is told apart; as long as little
//! was seen, it is taken that they are read as before.
//!
//! On an arm a run goes on from one file to the next one if that lies just behind it. What is missed
//! there of many short files is read in one way, and what of them stays costs a turn to pass over.

use super::sources::Source;
use crate::ids::{Block, NO_KEY};

/// Runs followed at once. With more of them going on, they seem short.
const HEADS: usize = 16;
/// Runs of `2^GRADE_MAX` blocks and more are alike.
const GRADE_MAX: u32 = 5;
/// How many grades there are.
pub const GRADES: usize = GRADE_MAX as usize + 1;

/// How long a run is.
#[derive(Debug, Clone, Copy, Default)]
struct Length {
    /// Blocks of it so far.
    len: u32,
    /// Blocks that the run read last had when it began.
    before: u32,
}

/// Runs that go on, whoever reads them.
///
/// They stay where they are, and the order in which they were read is a number's digits: to move them,
/// as many bytes at once as a processor can, waited for what had just been written of them to reach the
/// cache, behind all that each reference writes elsewhere; a hit took 50 ns more.
pub struct Runs {
    /// The keys of the blocks where they have come to.
    last: [u64; HEADS],
    lengths: [Length; HEADS],
    /// Their numbers, one in four bits, the one read last in the lowest.
    order: u64,
}

impl Default for Runs {
    fn default() -> Self {
        Runs { last: [NO_KEY; HEADS], lengths: [Length::default(); HEADS], order: 0xfedc_ba98_7654_3210 }
    }
}

impl Runs {
    /// Of the runs, in the order in which they were read.
    fn number(&self, at: usize) -> usize {
        (self.order >> (4 * at)) as usize % HEADS
    }

    /// The one that was read so many others ago is read now.
    fn renew(&mut self, at: usize) -> usize {
        let (number, later) = (self.number(at), self.order & !(u64::MAX << (4 * at)));
        let earlier = self.order & (u64::MAX << (4 * at) << 4);
        self.order = earlier | later << 4 | number as u64;
        number
    }

    /// Whether the block is the one read last: reading goes on inside of it.
    pub fn is_at(&self, block: Block) -> bool {
        self.last[self.number(0)] == block.key()
    }

    /// The run that goes on with this block; of several the one read last. With a file's first one goes
    /// on what `goes_on` says of a run's last block.
    fn of(&self, block: Block, goes_on: impl Fn(Block) -> bool) -> Option<usize> {
        let Some(index) = block.index.checked_sub(1) else {
            // What is read again is not behind itself.
            let is_before = |last: Block| last.file != block.file && goes_on(last);
            let last = |at: usize| Some(self.last[self.number(at)]).filter(|&key| key != NO_KEY);
            return (0..HEADS).find(|&at| last(at).is_some_and(|key| is_before(Block::from_key(key))));
        };
        let before = Block { index, ..block }.key();
        let numbers = (0..HEADS).fold(0, |numbers: u32, number| numbers | u32::from(self.last[number] == before) << number);
        if numbers == 0 { None } else { (0..HEADS).find(|&at| numbers & 1 << self.number(at) != 0) }
    }

    /// A reference, and whether a file's first block goes on from the last one of a run in another file.
    /// The power of two of how long its run will be: as long as the run read last is, or as it is by now.
    /// (As long as the last one in its file: a link takes 0.99 of the time, but an arm 1.03.)
    pub fn refer(&mut self, block: Block, goes_on: impl Fn(Block) -> bool) -> u8 {
        let latest = self.lengths[self.number(0)].len;
        let (number, length) = match self.of(block, goes_on).map(|at| self.renew(at)) {
            Some(number) => {
                let Length { len, before } = self.lengths[number];
                (number, Length { len: len.saturating_add(1), before })
            }
            None => (self.renew(HEADS - 1), Length { len: 1, before: latest }),
        };
        (self.last[number], self.lengths[number]) = (block.key(), length);
        length.len.max(length.before).ilog2().min(GRADE_MAX) as u8
    }
}

/// What a miss in a run costs, as a part of one by itself: what is read ahead in a run shares the
/// wait for its first block.
pub fn cost(grade: u8) -> f64 {
    1.0 / f64::from(1_u32 << grade)
}

/// What was believed before counts as so many blocks that were seen.
const BELIEVED: f32 = 8.0;
/// Of so many that were seen half are forgotten.
const SEEN_MAX: f32 = 1024.0;

/// What blocks cost that were seen.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    cost: f32,
    count: f32,
}

impl Seen {
    fn add(&mut self, cost: f64) {
        self.cost += cost as f32;
        self.count += 1.0;
        if self.count >= SEEN_MAX {
            (self.cost, self.count) = (self.cost / 2.0, self.count / 2.0);
        }
    }

    /// What is to be expected after that.
    fn after(self, believed: f64) -> f64 {
        f64::from((self.cost + BELIEVED * believed as f32) / (self.count + BELIEVED))
    }
}

/// What it costs to miss blocks that were read in runs of each grade, of each file that is told
/// apart and of all.
#[derive(Default)]
pub struct Costs {
    of_files: Vec<[Seen; GRADES]>,
    of_all: [Seen; GRADES],
}

impl Costs {
    /// A block of such a file, read in a run of one grade, was read again in one of another.
    pub fn read_again(&mut self, source: Source, before: u8, now: u8) {
        let (source, before) = (usize::from(source), usize::from(before));
        if source >= self.of_files.len() {
            self.of_files.resize(source + 1, Default::default());
        }
        for seen in [&mut self.of_files[source][before], &mut self.of_all[before]] {
            seen.add(cost(now));
        }
    }

    /// The number is another file's from now on.
    pub fn forget(&mut self, source: Source) {
        self.of_files.get_mut(usize::from(source)).into_iter().for_each(|it| *it = Default::default());
    }

    /// What it costs to miss a block of such a file that was read in a run of this grade.
    pub fn expected(&self, source: Source, grade: u8) -> f64 {
        let of_all = self.of_all[usize::from(grade)].after(cost(grade));
        self.of_files.get(usize::from(source)).map_or(of_all, |it| it[usize::from(grade)].after(of_all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::FileId;

    fn block(file: u32, index: u64) -> Block {
        Block { file: FileId(file), index }
    }

    #[test]
    fn a_run_is_as_long_as_it_is_or_as_the_last_one_was() {
        let mut runs = Runs::default();
        let mut grades = |file, from, count| -> Vec<u8> {
            (from..from + count).map(|index| runs.refer(block(file, index), |_| false)).collect()
        };
        assert_eq!(grades(3, 10, 9), [0, 1, 1, 2, 2, 2, 2, 3, 3]);
        assert_eq!(grades(3, 700, 2), [3, 3]);
        assert_eq!(grades(4, 900, 2), [1, 1]);
        assert_eq!(grades(3, 2_000, 100)[99], GRADE_MAX as u8);
    }

    #[test]
    fn a_run_goes_on_into_the_file_behind_it() {
        let mut runs = Runs::default();
        // Files of three blocks, which lie in the order of their numbers.
        let mut grades = |file, count| -> Vec<u8> {
            let goes_on = |last: Block| last == block(file - 1, 2);
            (0..count).map(|index| runs.refer(block(file, index), goes_on)).collect()
        };
        assert_eq!(grades(3, 3), [0, 1, 1]);
        assert_eq!(grades(4, 3), [2, 2, 2]);
        assert_eq!(grades(5, 2), [2, 3]);
        assert_eq!(grades(9, 1), [3], "a run of its own, taken to be as long as the one before");
        assert_eq!(grades(10, 3), [0, 1, 1], "the file before was not read to its end");
        let again = |runs: &mut Runs, file| runs.refer(block(file, 0), |last| last.file == FileId(file));
        let grades: Vec<u8> = (0..9).flat_map(|_| [again(&mut runs, 20), again(&mut runs, 30)]).collect();
        assert_eq!(grades[1..], [0; 17], "a block read again is not behind itself");
    }

    #[test]
    fn what_is_read_again_by_chance_is_dear_though_it_was_read_in_order() {
        let mut costs = Costs::default();
        assert_eq!(costs.expected(1, 5), cost(5));
        (0..100).for_each(|_| costs.read_again(1, 5, 0));
        assert!(costs.expected(1, 5) > 0.9);
        assert!(costs.expected(2, 5) > 0.9, "files of which nothing was seen are as all are");
        assert_eq!(costs.expected(1, 4), cost(4));
        (0..100).for_each(|_| costs.read_again(2, 5, 5));
        assert!(costs.expected(2, 5) < 0.1 && costs.expected(1, 5) > 0.9);
        costs.forget(1);
        assert!(costs.expected(1, 5) < 0.7, "another file's");
        (0..100).for_each(|_| costs.read_again(1, 5, 0));
        (0..100_000).for_each(|_| costs.read_again(1, 5, 5));
        assert!(costs.expected(1, 5) < 0.04, "what is no longer so is forgotten");
    }

    /// Readers in turns, and each block in pieces.
    #[test]
    fn runs_side_by_side_are_told_apart() {
        let mut runs = Runs::default();
        for index in 0..8 {
            for file in 0..4 {
                assert!(!runs.is_at(block(file, index)));
                assert_eq!(u32::from(runs.refer(block(file, index), |_| false)), (index as u32 + 1).ilog2());
                assert!(runs.is_at(block(file, index)));
            }
        }
    }
}
