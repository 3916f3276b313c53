//! What of its files a run has read so far.

use std::collections::BTreeMap;
use std::ops::Range;

use foldhash::HashMap;
use foresee_manager::{FileId, Want};

/// Blocks that were read, each once, however often that was. They are taken out one by one.
#[derive(Default)]
pub struct Done(HashMap<FileId, BTreeMap<u64, u64>>);

impl Done {
    /// These blocks were read.
    pub fn add(&mut self, file: FileId, blocks: Range<u64>) {
        let Range { mut start, mut end } = blocks;
        let read = self.0.entry(file).or_default();
        // With those that it overlaps or touches it is one.
        while let Some((from, until)) = last_before(read, end + 1).filter(|&(_, until)| until >= start) {
            read.remove(&from);
            (start, end) = (start.min(from), end.max(until));
        }
        read.insert(start, end);
    }

    /// What is left of something that was to be read. What of it was read is taken out: it is no read
    /// of the same blocks later on.
    pub fn take(&mut self, file: FileId, want: Want) -> Vec<Want> {
        let (Want::Range { first, count }, Some(read)) = (want, self.0.get_mut(&file)) else { return vec![want] };
        let (mut end, mut left) = (first.saturating_add(count), Vec::new());
        let mut keep = |blocks: Range<u64>| {
            if !blocks.is_empty() {
                left.push(Want::Range { first: blocks.start, count: blocks.end - blocks.start });
            }
        };
        // From the end on.
        while let Some((from, until)) = last_before(read, end).filter(|&(_, until)| until > first) {
            keep(until.min(end)..end);
            read.remove(&from);
            if until > end {
                read.insert(end, until);
            }
            if from < first {
                read.insert(from, first);
            }
            end = from.max(first);
        }
        keep(first..end);
        left.reverse();
        left
    }
}

/// The last of these that begins before a block.
fn last_before(read: &BTreeMap<u64, u64>, block: u64) -> Option<(u64, u64)> {
    read.range(..block).next_back().map(|(&from, &until)| (from, until))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId(3);

    fn left(done: &mut Done, blocks: Range<u64>) -> Vec<u64> {
        let want = Want::Range { first: blocks.start, count: blocks.end - blocks.start };
        let range = |want| match want {
            Want::Range { first, count } => first..first + count,
            _ => unreachable!("a range leaves ranges"),
        };
        done.take(FILE, want).into_iter().flat_map(range).collect()
    }

    #[test]
    fn what_was_read_is_left_out_once() {
        let mut done = Done::default();
        [20..30, 40..50, 30..32].into_iter().for_each(|blocks| done.add(FILE, blocks));
        assert_eq!(done.take(FileId(4), Want::Name), [Want::Name]);
        assert_eq!(done.take(FILE, Want::All), [Want::All]);
        let mut left = |blocks| left(&mut done, blocks);
        assert!(left(10..25).into_iter().eq(10..20));
        assert!(left(22..48).into_iter().eq((22..25).chain(32..40)));
        assert!(left(20..60).into_iter().eq((20..48).chain(50..60)));
        assert!(left(20..60).into_iter().eq(20..60));
    }

    /// The same, block by block.
    #[test]
    fn it_is_a_set_of_blocks() {
        let mut random = 7_u64;
        let mut range = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let start = (random >> 40) % 60;
            start..start + 1 + (random >> 33) % 12
        };
        for _ in 0..200 {
            let (mut done, mut blocks) = (Done::default(), std::collections::BTreeSet::new());
            for _ in 0..20 {
                let (read, wanted) = (range(), range());
                blocks.extend(read.clone());
                done.add(FILE, read);
                let expected: Vec<u64> = wanted.clone().filter(|block| !blocks.remove(block)).collect();
                assert_eq!(left(&mut done, wanted), expected);
            }
        }
    }
}
