//! The least time that a run can take on its device, whatever decides what is fetched, kept and
//! fetched ahead.
//!
//! For each read r of each reader, and for the processor alone (r before all reads):
//!
//! ```text
//! elapsed >= least(fetches(r)) + think(r)
//!
//! think(r)    what the reader still thinks after r
//! fetches(r)  the fewest blocks that can have been fetched when r is over: Belady's count for the reader's reads up to r
//! least(n)    the least time in which the device delivers n blocks, from rest ([`Choice::least_ns`])
//! ```
//!
//! and elapsed >= the least time for all different blocks of all readers, in the fewest requests
//! that cover them.
//!
//! **Why Belady's count holds although blocks are fetched ahead and several at once.** Leave out
//! what was never read of a block that was fetched, and put each fetch off until its read: as many
//! blocks are fetched, no more pages are held, and nothing is fetched ahead (Belady 1966). Other
//! readers' reads in between can only add fetches. A read of c blocks may take its blocks in any
//! order: it is granted c - 1 pages more, to hold those that others would have had to make room
//! for. Belady's choices for all of a reader's reads are his choices for each beginning of them,
//! since what is used after it is used last, so that one pass counts all of them.
//!
//! **Why the requests hold.** No request is longer than the longest that the manager merges, or the
//! longest read.
//!
//! Worked example: five blocks, two thirds of a second of thought before each read, a device of 1 s
//! that takes any number of requests. The first block comes at 1 s; the reader thinks for 2.67 s
//! after its read: 3.67 s. Told all, nobody waits again: it is reached.
//!
//! What is written is not counted, for it is here without a fetch.
//!
//! **Several devices.** Each is bounded by itself, as if its blocks were all that is read and had
//! all of the memory: the others' only take pages. That loses sight of how small the memory is for
//! all of them together. So what all of them fetch counts too: one of n devices fetches an nth of
//! it at least, whichever that is.

use std::collections::{BinaryHeap, HashSet};

use foresee_manager::{Block, DeviceId, Event, Future};

use super::setup::{Reader, Setup, Step};
use crate::device::Work;

/// See above.
pub fn least_elapsed_ns(setup: &Setup) -> u64 {
    let devices = setup.devices.len() as u64;
    let written = written(setup);
    let alone = setup.devices.iter().zip(0..).map(|(device, at)| {
        let counts = |block: &Block| !written.contains(block) && setup.device_of(block) == Some(DeviceId(at));
        least_of(setup, counts, |work| device.least_ns(work))
    });
    let an_nth = |work: &Work| {
        let blocks = work.blocks.div_ceil(devices);
        let requests = blocks.div_ceil(setup.request_blocks_max());
        // Which of them fetches the same blocks again is not known.
        let nth = Work { blocks, different: 1, requests, ..*work };
        setup.devices.iter().map(|device| device.least_ns(&nth)).min().unwrap_or(0)
    };
    // Of one device that is less than of itself alone.
    let together = (devices > 1).then(|| least_of(setup, |block| !written.contains(block), an_nth));
    alone.chain(together).max().unwrap_or(0)
}

/// The least time for those blocks that count, on what takes so long for some work.
fn least_of(setup: &Setup, counts: impl Fn(&Block) -> bool, least_ns: impl Fn(&Work) -> u64) -> u64 {
    let longest = setup.request_blocks_max();
    let least = |blocks: u64, different: u64, requests: u64| match blocks {
        0 => 0,
        _ => least_ns(&Work { blocks, different, requests, block_bytes: setup.block_bytes }),
    };
    let mut blocks = Vec::new();
    let mut bound = 0;
    for reader in &setup.readers {
        let own = Reads::of(reader, &counts);
        let fetches = fewest_fetches(&own.blocks, setup.pages_max() + own.longest.max(1) - 1);
        let mut left_ns = own.think_ns;
        bound = bound.max(left_ns);
        let mut seen: HashSet<Block> = HashSet::new();
        let mut at = 0;
        for &(think_ns, end) in &own.reads {
            left_ns -= think_ns;
            seen.extend(&own.blocks[at..end]);
            at = end;
            let fetches = if end > 0 { fetches[end - 1] } else { 0 };
            bound = bound.max(least(fetches, seen.len() as u64, fetches.div_ceil(longest)) + left_ns);
        }
        blocks.extend(seen);
    }
    blocks.sort_unstable();
    blocks.dedup();
    bound.max(least(blocks.len() as u64, blocks.len() as u64, fewest_requests(&blocks, longest)))
}

impl Setup {
    /// The most memory there is at any time.
    fn pages_max(&self) -> u64 {
        let later = self.besides.iter().filter_map(|(_, event)| match event {
            Event::Capacity { pages } => Some(*pages),
            _ => None,
        });
        later.chain([self.config.capacity]).max().unwrap_or(1).max(1)
    }

    /// The longest request there is. None goes beyond a unit of an array.
    fn request_blocks_max(&self) -> u64 {
        let counts = self.readers.iter().flat_map(|reader| &reader.steps).filter_map(|step| match step {
            Step::Read { count, .. } => Some(*count),
            _ => None,
        });
        let longest = counts.max().unwrap_or(0).max(self.config.device.cluster_blocks_max);
        let unit = if self.config.stripe.disks > 1 { self.config.stripe.unit_blocks } else { u64::MAX };
        longest.min(unit).max(1)
    }

    fn device_of(&self, block: &Block) -> Option<DeviceId> {
        let file = self.files.get(block.file.0 as usize)?;
        Some(self.config.stripe.device(file.device, file.place.saturating_add(block.index)))
    }
}

/// What a reader reads.
struct Reads {
    blocks: Vec<Block>,
    /// Of each read, the time it thinks before it, and the number of blocks up to its end.
    reads: Vec<(u64, usize)>,
    /// Blocks of the longest read.
    longest: u64,
    /// What it thinks in all.
    think_ns: u64,
}

impl Reads {
    fn of(reader: &Reader, counts: impl Fn(&Block) -> bool) -> Self {
        let mut own = Reads { blocks: Vec::new(), reads: Vec::new(), longest: 0, think_ns: 0 };
        let mut think_ns = 0;
        for step in &reader.steps {
            match *step {
                Step::Think { ns } => {
                    own.think_ns += ns;
                    think_ns += ns;
                }
                Step::Read { file, first, count, .. } => {
                    let blocks = (first..first + count).map(|index| Block { file, index });
                    own.blocks.extend(blocks.filter(&counts));
                    own.reads.push((std::mem::take(&mut think_ns), own.blocks.len()));
                    own.longest = own.longest.max(count);
                }
                _ => {}
            }
        }
        own
    }
}

fn written(setup: &Setup) -> HashSet<Block> {
    let steps = setup.readers.iter().flat_map(|reader| &reader.steps);
    let written = steps.filter_map(|step| match *step {
        Step::Write { file, index } => Some(Block { file, index }),
        _ => None,
    });
    written.collect()
}

/// The fewest fetches, in so many pages, up to and with each of these references.
fn fewest_fetches(blocks: &[Block], pages: u64) -> Vec<u64> {
    let future = Future::of_reversed(blocks.iter().rev().copied(), blocks.len() as u64);
    let mut here = HashSet::new();
    // What is here, by its next use, the last on top; and uses that are over.
    let mut coming = BinaryHeap::new();
    let mut fetches = 0;
    let count = |(at, &block): (usize, &Block)| {
        if !here.contains(&block) {
            fetches += 1;
            while here.len() as u64 >= pages
                && let Some((next, last)) = coming.pop()
            {
                if next > at as u64 {
                    here.remove(&last);
                }
            }
            here.insert(block);
        }
        coming.push((future.next(at as u64).unwrap_or(u64::MAX), block));
        fetches
    };
    blocks.iter().enumerate().map(count).collect()
}

/// The fewest requests of so many blocks at most in which these, which are sorted, can be asked
/// for.
fn fewest_requests(blocks: &[Block], longest: u64) -> u64 {
    let (mut requests, mut covered) = (0, None);
    for block in blocks {
        if covered.is_none_or(|(file, end)| block.file != file || block.index >= end) {
            requests += 1;
            covered = Some((block.file, block.index.saturating_add(longest)));
        }
    }
    requests
}

#[cfg(test)]
mod tests {
    use foresee_manager::FileId;

    use super::*;

    fn blocks(numbers: &[u64]) -> Vec<Block> {
        numbers.iter().map(|&index| Block { file: FileId(0), index }).collect()
    }

    #[test]
    fn fetches_are_counted_as_belady_does() {
        assert_eq!(fewest_fetches(&blocks(&[0, 1, 2, 0, 1, 2]), 2), [1, 2, 3, 3, 4, 4]);
        assert_eq!(fewest_fetches(&blocks(&[5, 5, 6, 5]), 1), [1, 1, 2, 3]);
        assert_eq!(fewest_fetches(&blocks(&[0, 1, 2, 0, 1, 2]), 3), [1, 2, 3, 3, 3, 3]);
        assert!(fewest_fetches(&[], 1).is_empty());
    }

    #[test]
    fn requests_may_bridge_gaps() {
        assert_eq!(fewest_requests(&blocks(&[0, 9, 10, 30]), 10), 3);
        assert_eq!(fewest_requests(&blocks(&[0, 9, 10, 30]), 31), 1);
        assert_eq!(fewest_requests(&[], 8), 0);
    }
}
