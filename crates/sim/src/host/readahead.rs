//! What the file system reads ahead by itself: what 'no hints' means in 000, 001 and 002.
//!
//! It looks at each reader's reads of each file, and knows one thing: whether a read begins where
//! the one before ended. What a reader disclosed of a file it need not guess: it leaves that
//! reader's reads of that file alone from then on.
//!
//! - **one_block** (4.3BSD FFS of 001, Ultrix of 002): on a sequential read, the next block.
//! - **osf1** (000 section 3.1): clusters of eight blocks; the longer the run of sequential reads,
//!   the more clusters ahead, up to eight. The paper gives the bounds, not the steps between them;
//!   here the cluster being read and one more for each cluster already read in this run.
//!
//! Worked example, osf1, a file read block by block from its beginning:
//!
//! ```text
//! read of block 0            nothing is known yet
//! read of block 1            2..8, the rest of the cluster
//! reads of blocks 2 to 6     nothing new
//! read of block 7            a cluster is through: 8..24, the next two
//! read of block 15           24..40: now three are ahead
//! ```

use std::collections::{HashMap, HashSet};
use std::str::FromStr;

use foresee_manager::{FileId, ReaderId};

/// Blocks in one of OSF/1's clusters.
const CLUSTER_BLOCKS: u64 = 8;
/// How far ahead OSF/1 goes.
const CLUSTERS_MAX: u64 = 8;

/// A file system's way of reading ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readahead {
    /// None.
    None,
    /// One block: 4.3BSD FFS, Ultrix.
    OneBlock,
    /// Clusters: OSF/1.
    Osf1,
}

impl Readahead {
    /// Every way, with the name users write.
    pub const ALL: [(&'static str, Readahead); 3] =
        [("none", Readahead::None), ("one_block", Readahead::OneBlock), ("osf1", Readahead::Osf1)];
}

impl FromStr for Readahead {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text);
        found.map(|&(_, readahead)| readahead).ok_or_else(|| {
            let names = Self::ALL.map(|(name, _)| name).join(", ");
            format!("there is no readahead '{text}'; there are: {names}")
        })
    }
}

/// A reader in a file.
#[derive(Default)]
struct Run {
    /// Where the last read ended.
    end: u64,
    /// How many blocks were read one after the other.
    blocks: u64,
    /// Up to where was read ahead.
    ahead: u64,
}

/// All readers in all files.
pub(super) struct Runs {
    readahead: Readahead,
    runs: HashMap<(ReaderId, FileId), Run>,
    disclosed: HashSet<(ReaderId, FileId)>,
}

impl Runs {
    pub fn new(readahead: Readahead) -> Self {
        Runs { readahead, runs: HashMap::new(), disclosed: HashSet::new() }
    }

    /// The reader discloses what it will read of the file.
    pub fn disclosed(&mut self, who: (ReaderId, FileId)) {
        self.disclosed.insert(who);
    }

    /// What is to be read ahead because of a read of `count` blocks, at least one, from `first` on,
    /// of a file of so many `blocks`: first block and count.
    pub fn read(&mut self, who: (ReaderId, FileId), first: u64, count: u64, blocks: u64) -> Option<(u64, u64)> {
        if self.readahead == Readahead::None || self.disclosed.contains(&who) {
            return None;
        }
        let run = self.runs.entry(who).or_default();
        let end = first + count;
        *run = match run.blocks > 0 && first == run.end {
            true => Run { end, blocks: run.blocks + count, ahead: run.ahead.max(end) },
            false => Run { end, blocks: count, ahead: end },
        };
        if run.blocks < 2 {
            return None;
        }
        let until = match self.readahead {
            Readahead::Osf1 => {
                (end / CLUSTER_BLOCKS + CLUSTERS_MAX.min(1 + run.blocks / CLUSTER_BLOCKS)) * CLUSTER_BLOCKS
            }
            _ => end + 1,
        };
        let (begin, until) = (run.ahead, until.min(blocks));
        run.ahead = begin.max(until);
        (begin < until).then(|| (begin, until - begin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ahead(readahead: &str, reads: &[(u64, u64)], blocks: u64) -> Vec<Option<(u64, u64)>> {
        let mut runs = Runs::new(readahead.parse().unwrap());
        reads.iter().map(|&(first, count)| runs.read((ReaderId(1), FileId(0)), first, count, blocks)).collect()
    }

    fn one_by_one(readahead: &str, until: u64) -> Vec<(u64, u64, u64)> {
        let reads: Vec<_> = (0..until).map(|block| (block, 1)).collect();
        let asked = ahead(readahead, &reads, 1000).into_iter().zip(0..);
        asked.filter_map(|(range, at)| range.map(|(first, count)| (at, first, first + count))).collect()
    }

    #[test]
    fn the_worked_example() {
        assert_eq!(one_by_one("osf1", 24), [(1, 2, 8), (7, 8, 24), (15, 24, 40), (23, 40, 56)]);
        let (at, first, end) = *one_by_one("osf1", 400).last().unwrap();
        assert_eq!((end - first, end - at - 1), (8, 64), "never more than eight clusters ahead");
    }

    #[test]
    fn one_block_is_one_block() {
        assert_eq!(one_by_one("one_block", 4), [(1, 2, 3), (2, 3, 4), (3, 4, 5)]);
        assert_eq!(ahead("one_block", &[(5, 1), (6, 1), (8, 1), (3, 2)], 9), [None, Some((7, 1)), None, Some((5, 1))]);
        assert_eq!(one_by_one("none", 9), []);
    }

    #[test]
    fn nothing_is_read_beyond_the_end_and_readers_are_told_apart() {
        assert_eq!(ahead("osf1", &[(0, 2), (2, 2)], 3), [Some((2, 1)), None]);
        let mut runs = Runs::new(Readahead::OneBlock);
        assert_eq!(runs.read((ReaderId(1), FileId(0)), 0, 1, 9), None);
        assert_eq!(runs.read((ReaderId(2), FileId(0)), 1, 1, 9), None);
        assert_eq!(runs.read((ReaderId(1), FileId(0)), 1, 1, 9), Some((2, 1)));
    }

    #[test]
    fn what_is_disclosed_is_left_alone() {
        let mut runs = Runs::new(Readahead::OneBlock);
        runs.disclosed((ReaderId(1), FileId(0)));
        let mut second = |reader, file| {
            runs.read((reader, file), 0, 1, 9);
            runs.read((reader, file), 1, 1, 9)
        };
        assert_eq!(second(ReaderId(1), FileId(0)), None);
        assert_eq!(second(ReaderId(1), FileId(1)), Some((2, 1)));
        assert_eq!(second(ReaderId(2), FileId(0)), Some((2, 1)));
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known() {
        assert!("linux".parse::<Readahead>().unwrap_err().contains("'linux'; there are: none, one_block, osf1"));
    }
}
