//! What is to be given up, and what of it stayed.
//!
//! The kernel passes over pages that are not on disk yet, whose writing it begins, and over pages
//! of folios that reach beyond what is given up. As long as such a page stays, something is held
//! that nobody reckons with, and the kernel takes what is kept for it. So what stayed is tried
//! again: after a moment, and together with its neighbours' drop. What is used again meanwhile
//! need not go any more, and what was given up is not asked for again: by now it may be what the
//! kernel has read ahead, and no program has come to.

use std::ops::Range;
use std::time::{Duration, Instant};

use foldhash::HashMap;
use foresee_manager::{DeviceId, FetchId, FileId};

/// What stayed is tried again after so long: what a device takes to write a few pages. Then after
/// twice as long, and so on.
const AGAIN_AFTER: Duration = Duration::from_millis(10);
/// So often: for five seconds in all, in which the kernel's own writing comes round. Then it is
/// left to the kernel.
const TRIES_MAX: u32 = 9;

/// A fetch of what is being given up: it comes after.
pub type HeldBack = (FetchId, DeviceId, Range<u64>);

/// What is to be given up of all files.
#[derive(Debug, Default)]
pub struct Drops {
    of: HashMap<FileId, OfFile>,
}

/// The same of one file.
#[derive(Debug, Default)]
struct OfFile {
    waiting: Vec<Going>,
    /// What a thread gives up just now.
    under_way: Vec<Going>,
    /// Blocks of it that were used again since.
    used: Vec<Range<u64>>,
    stayed: Vec<Stayed>,
    held_back: Vec<HeldBack>,
}

/// Blocks that are to go, which were tried so often.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Going {
    blocks: Range<u64>,
    tries: u32,
}

/// Blocks whose pages did not go, and when they are tried again.
#[derive(Debug, Clone)]
struct Stayed {
    it: Going,
    due: Instant,
}

fn overlaps(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

/// Whether they overlap, or one begins where the other ends.
fn touches(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start <= other.end && other.start <= one.end
}

fn union(one: &Range<u64>, other: &Range<u64>) -> Range<u64> {
    one.start.min(other.start)..one.end.max(other.end)
}

/// What is left of some blocks without others.
fn without(blocks: &Range<u64>, others: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
    let before = blocks.start..blocks.end.min(others.start);
    let after = blocks.start.max(others.end)..blocks.end;
    [before, after].into_iter().filter(|it| !it.is_empty())
}

impl Drops {
    /// These blocks are to go, together with what stayed beside them.
    pub fn add(&mut self, file: FileId, blocks: Range<u64>) {
        let OfFile { waiting, stayed, .. } = self.of.entry(file).or_default();
        let mut blocks = blocks;
        stayed.retain(|Stayed { it, .. }| {
            let beside = touches(&it.blocks, &blocks);
            if beside {
                blocks = union(&blocks, &it.blocks);
            }
            !beside
        });
        match waiting.last_mut() {
            Some(last) if touches(&last.blocks, &blocks) => last.blocks = union(&last.blocks, &blocks),
            _ => waiting.push(Going { blocks, tries: 0 }),
        }
    }

    /// These blocks are used again: they stay, if they have not gone.
    pub fn keep(&mut self, file: FileId, blocks: &Range<u64>) {
        let Some(OfFile { waiting, under_way, used, stayed, .. }) = self.of.get_mut(&file) else { return };
        if under_way.iter().any(|it| overlaps(&it.blocks, blocks)) {
            used.push(blocks.clone());
        }
        if waiting.iter().any(|it| overlaps(&it.blocks, blocks)) {
            let rest = |it: Going| without(&it.blocks, blocks).map(move |blocks| Going { blocks, ..it });
            *waiting = std::mem::take(waiting).into_iter().flat_map(rest).collect();
        }
        if stayed.iter().any(|it| overlaps(&it.it.blocks, blocks)) {
            let rest = |Stayed { it, due }| {
                without(&it.blocks, blocks).map(move |blocks| Stayed { it: Going { blocks, ..it }, due })
            };
            *stayed = std::mem::take(stayed).into_iter().flat_map(rest).collect();
        }
    }

    /// Holds a fetch back if some of it is being given up.
    pub fn hold_back(&mut self, file: FileId, fetch: FetchId, device: DeviceId, blocks: &Range<u64>) -> bool {
        let Some(of_file) = self.of.get_mut(&file) else { return false };
        let waits = of_file.under_way.iter().any(|it| overlaps(&it.blocks, blocks));
        if waits {
            of_file.held_back.push((fetch, device, blocks.clone()));
        }
        waits
    }

    /// Files of which something is to go now.
    pub fn due(&mut self, now: Instant) -> Vec<FileId> {
        for OfFile { waiting, stayed, .. } in self.of.values_mut() {
            waiting.extend(stayed.extract_if(.., |it| it.due <= now).map(|it| it.it));
        }
        self.of.retain(|_, OfFile { waiting, under_way, stayed, held_back, .. }| {
            !(waiting.is_empty() && under_way.is_empty() && stayed.is_empty() && held_back.is_empty())
        });
        let is_due = |it: &OfFile| it.under_way.is_empty() && !it.waiting.is_empty();
        self.of.iter().filter(|(_, it)| is_due(it)).map(|(&file, _)| file).collect()
    }

    /// A thread gives up what is to go of a file.
    pub fn begin(&mut self, file: FileId) -> Vec<Range<u64>> {
        let Some(OfFile { waiting, under_way, .. }) = self.of.get_mut(&file) else { return Vec::new() };
        *under_way = std::mem::take(waiting);
        under_way.iter().map(|it| it.blocks.clone()).collect()
    }

    /// It did, but for these. Returns what was held back.
    pub fn done(&mut self, file: FileId, left: Vec<Range<u64>>, now: Instant) -> Vec<HeldBack> {
        let Some(OfFile { under_way, used, stayed, held_back, .. }) = self.of.get_mut(&file) else {
            return Vec::new();
        };
        let tried = std::mem::take(under_way);
        let unused =
            |left: Vec<Range<u64>>, used: Range<u64>| left.iter().flat_map(|blocks| without(blocks, &used)).collect();
        let left = used.drain(..).fold(left, unused);
        for blocks in left {
            let of = tried.iter().find(|it| overlaps(&it.blocks, &blocks));
            let tries = of.map_or(0, |it| it.tries) + 1;
            if tries < TRIES_MAX {
                let due = now + AGAIN_AFTER * 2_u32.pow(tries - 1);
                stayed.push(Stayed { it: Going { blocks, tries }, due });
            }
        }
        std::mem::take(held_back)
    }

    /// Nothing of this file is to go any more.
    pub fn forget(&mut self, file: FileId) {
        if let Some(of_file) = self.of.get_mut(&file) {
            of_file.waiting.clear();
            of_file.stayed.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId(3);

    /// What is given up of the file now: the first block of each stretch, and the one after it.
    fn goes(drops: &mut Drops, now: Instant) -> Vec<(u64, u64)> {
        let files = drops.due(now);
        files.into_iter().flat_map(|file| drops.begin(file)).map(|it| (it.start, it.end)).collect()
    }

    /// It was, but for these.
    fn done(drops: &mut Drops, left: &[(u64, u64)], now: Instant) -> Vec<HeldBack> {
        drops.done(FILE, left.iter().map(|&(first, end)| first..end).collect(), now)
    }

    #[test]
    fn what_stayed_is_tried_again_less_and_less_often_and_then_left_to_the_kernel() {
        let (mut drops, begun) = (Drops::default(), Instant::now());
        drops.add(FILE, 0..4);
        drops.add(FILE, 4..8);
        let mut now = begun;
        let mut tried = Vec::new();
        while now < begun + Duration::from_secs(60) {
            let going = goes(&mut drops, now);
            if !going.is_empty() {
                assert_eq!(going, if tried.is_empty() { [(0, 8)] } else { [(2, 6)] });
                tried.push((now - begun).as_millis());
                // The others have gone, and are not asked for again.
                done(&mut drops, &[(2, 6)], now);
            }
            now += Duration::from_millis(1);
        }
        assert_eq!(tried, [0, 10, 30, 70, 150, 310, 630, 1270, 2550]);
        assert!(drops.of.is_empty());
    }

    #[test]
    fn what_stayed_goes_with_its_neighbours_and_that_alone() {
        let (mut drops, now) = (Drops::default(), Instant::now());
        drops.add(FILE, 0..16);
        goes(&mut drops, now);
        done(&mut drops, &[(2, 4), (8, 12)], now);
        drops.add(FILE, 13..14);
        assert_eq!(goes(&mut drops, now), [(13, 14)]);
        done(&mut drops, &[], now);
        drops.add(FILE, 4..8);
        assert_eq!(goes(&mut drops, now), [(2, 12)]);
    }

    #[test]
    fn what_is_used_again_stays() {
        let (mut drops, now) = (Drops::default(), Instant::now());
        drops.add(FILE, 0..16);
        drops.keep(FILE, &(3..5));
        assert_eq!(goes(&mut drops, now), [(0, 3), (5, 16)]);
        assert!(drops.hold_back(FILE, FetchId(1), DeviceId(0), &(2..4)), "some of it is under way");
        assert!(!drops.hold_back(FILE, FetchId(2), DeviceId(0), &(3..5)));
        drops.keep(FILE, &(10..12));
        assert_eq!(done(&mut drops, &[(5, 16)], now), [(FetchId(1), DeviceId(0), 2..4)]);
        drops.keep(FILE, &(0..8));
        assert_eq!(goes(&mut drops, now + AGAIN_AFTER), [(8, 10), (12, 16)]);
    }
}
