//! What is to be given up, and what of it stayed.
//!
//! The kernel passes over pages that are not on disk yet, whose writing it begins, over pages that
//! some program has mapped, and over pages of folios that reach beyond what is given up. As long as
//! such a page stays, something is held that nobody reckons with, and the kernel takes what is kept
//! for it. So what stayed is tried again: after a moment, and together with its neighbours' drop.
//! What is used again meanwhile need not go any more, and what was given up is not asked for again:
//! by now it may be what the kernel has read ahead, and no program has come to.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;
use std::time::{Duration, Instant};

use foldhash::HashMap;
use foresee_manager::{DeviceId, FetchId, FileId};

use super::stretches::Stretches;

/// What stayed is tried again after so long: what a device takes to write a few pages. Then after
/// twice as long, and so on.
const AGAIN_AFTER: Duration = Duration::from_millis(10);
/// So often: for five seconds in all, in which the kernel's own writing comes round. Then it is
/// left to the kernel.
const TRIES_MAX: u32 = 10;
/// Stretches of a file that are tried again at most: each takes some calls of the kernel each time,
/// and all of them some milliseconds of a thread. Of more, those tried most are left to the kernel.
const STAYED_MAX: usize = 1024;

/// A fetch of what is being given up: it comes after.
pub type HeldBack = (FetchId, DeviceId, Range<u64>);

/// What is to be given up of all files.
#[derive(Debug, Default)]
pub struct Drops {
    of: HashMap<FileId, OfFile>,
    /// Files of which something waits and nothing is under way, and maybe others.
    ready: BTreeSet<FileId>,
    /// When something that stayed is tried again, of each file that has such: the next.
    agenda: BTreeSet<(Instant, FileId)>,
}

/// The same of one file. How often each stretch was tried is known of it, also where it goes with
/// others.
#[derive(Debug, Default)]
struct OfFile {
    waiting: Stretches<u32>,
    /// What a thread gives up just now.
    under_way: Stretches<u32>,
    /// What of that is to go still: the rest was used again since, or is of an earlier file.
    to_go: Stretches<u32>,
    stayed: Stretches<Again>,
    /// When it is on the agenda.
    due: Option<Instant>,
    held_back: Vec<HeldBack>,
}

/// How often blocks whose pages did not go were tried, and when they are tried again.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Again {
    tries: u32,
    due: Instant,
}

impl OfFile {
    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.under_way.is_empty() && self.stayed.is_empty() && self.held_back.is_empty()
    }

    /// As many as may be are tried again: those tried most are not.
    fn leave_the_oldest(&mut self) {
        let Some(too_many) = self.stayed.len().checked_sub(STAYED_MAX) else { return };
        let mut oldest: Vec<_> = self.stayed.iter().collect();
        oldest.sort_by_key(|(_, it)| (Reverse(it.tries), it.due));
        oldest.into_iter().take(too_many).for_each(|(blocks, _)| self.stayed.cut(&blocks));
    }
}

impl Drops {
    /// These blocks are to go, together with what stayed beside them.
    pub fn add(&mut self, file: FileId, blocks: Range<u64>) {
        let OfFile { waiting, under_way, stayed, .. } = self.of.entry(file).or_default();
        for (beside, Again { tries, .. }) in stayed.take_meeting(&blocks) {
            waiting.put(beside, tries);
        }
        waiting.put(blocks, 0);
        if under_way.is_empty() {
            self.ready.insert(file);
        }
    }

    /// These blocks are used again: they stay, if they have not gone.
    pub fn keep(&mut self, file: FileId, blocks: &Range<u64>) {
        let Some(OfFile { waiting, to_go, stayed, .. }) = self.of.get_mut(&file) else { return };
        waiting.cut(blocks);
        to_go.cut(blocks);
        stayed.cut(blocks);
        if self.of.get(&file).is_some_and(OfFile::is_empty) {
            self.plan(file);
        }
    }

    /// Whether some of these blocks are to go, or may be going.
    pub fn is_to_go(&self, file: FileId, blocks: &Range<u64>) -> bool {
        self.of.get(&file).is_some_and(|OfFile { waiting, under_way, stayed, .. }| {
            waiting.overlaps(blocks) || under_way.overlaps(blocks) || stayed.overlaps(blocks)
        })
    }

    /// Holds a fetch back if some of it is being given up.
    pub fn hold_back(&mut self, file: FileId, fetch: FetchId, device: DeviceId, blocks: &Range<u64>) -> bool {
        let Some(of_file) = self.of.get_mut(&file) else { return false };
        let waits = of_file.under_way.overlaps(blocks);
        if waits {
            of_file.held_back.push((fetch, device, blocks.clone()));
        }
        waits
    }

    /// Files of which something is to go now. It is begun, or forgotten: they are named once.
    pub fn due(&mut self, now: Instant) -> Vec<FileId> {
        while self.agenda.first().is_some_and(|&(due, _)| due <= now) {
            let Some((_, file)) = self.agenda.pop_first() else { break };
            let Some(OfFile { waiting, stayed, due, .. }) = self.of.get_mut(&file) else { continue };
            *due = None;
            for (blocks, Again { tries, .. }) in stayed.take_if(|it| it.due <= now) {
                waiting.put(blocks, tries);
            }
            self.ready.insert(file);
            self.plan(file);
        }
        let of = &self.of;
        let is_due = |it: &OfFile| it.under_way.is_empty() && !it.waiting.is_empty();
        let ready = std::mem::take(&mut self.ready).into_iter();
        ready.filter(|file| of.get(file).is_some_and(is_due)).collect()
    }

    /// A thread gives up what is to go of a file.
    pub fn begin(&mut self, file: FileId) -> Vec<Range<u64>> {
        let Some(OfFile { waiting, under_way, to_go, .. }) = self.of.get_mut(&file) else { return Vec::new() };
        *under_way = std::mem::take(waiting);
        to_go.clone_from(under_way);
        under_way.merged()
    }

    /// It did, but for these. Returns what was held back.
    pub fn done(&mut self, file: FileId, left: Vec<Range<u64>>, now: Instant) -> Vec<HeldBack> {
        let Some(of_file) = self.of.get_mut(&file) else { return Vec::new() };
        of_file.under_way.clear();
        let tried = std::mem::take(&mut of_file.to_go);
        for (blocks, tries) in left.iter().flat_map(|blocks| tried.within(blocks)) {
            let tries = tries + 1;
            if tries < TRIES_MAX {
                let due = now + AGAIN_AFTER * 2_u32.pow(tries - 1);
                of_file.stayed.put(blocks, Again { tries, due });
            }
        }
        of_file.leave_the_oldest();
        let held_back = std::mem::take(&mut of_file.held_back);
        if !of_file.waiting.is_empty() {
            self.ready.insert(file);
        }
        self.plan(file);
        held_back
    }

    /// Nothing of this file is to go any more.
    pub fn forget(&mut self, file: FileId) {
        if let Some(of_file) = self.of.get_mut(&file) {
            of_file.waiting.clear();
            of_file.to_go.clear();
            of_file.stayed.clear();
            self.plan(file);
        }
    }

    /// Puts what stayed of a file on the agenda, and lets go of a file of which there is nothing.
    fn plan(&mut self, file: FileId) {
        let Some(of_file) = self.of.get_mut(&file) else { return };
        let next = of_file.stayed.iter().map(|(_, it)| it.due).min();
        if let Some(due) = std::mem::replace(&mut of_file.due, next) {
            self.agenda.remove(&(due, file));
        }
        self.agenda.extend(next.map(|due| (due, file)));
        if of_file.is_empty() {
            self.of.remove(&file);
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
        assert_eq!(tried, [0, 10, 30, 70, 150, 310, 630, 1270, 2550, 5110]);
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

    #[test]
    fn each_stretch_is_tried_as_often_also_where_it_goes_with_others() {
        let (mut drops, mut now) = (Drops::default(), Instant::now());
        drops.add(FILE, 0..4);
        let mut tries = 0;
        while !drops.of.is_empty() {
            // What lies beside it is given up again and again, and goes.
            drops.add(FILE, 4..8);
            let going = goes(&mut drops, now);
            if going == [(4, 8)] {
                done(&mut drops, &[], now);
                break;
            }
            assert_eq!(going, [(0, 8)]);
            tries += 1;
            done(&mut drops, &[(0, 4)], now);
            now += Duration::from_millis(1);
        }
        assert_eq!(tries, TRIES_MAX);
    }

    #[test]
    fn what_is_under_way_of_a_forgotten_file_is_not_tried_on_another() {
        let (mut drops, now) = (Drops::default(), Instant::now());
        drops.add(FILE, 0..16);
        goes(&mut drops, now);
        drops.forget(FILE);
        drops.add(FILE, 20..24);
        assert!(goes(&mut drops, now).is_empty(), "one at a time");
        done(&mut drops, &[(0, 16)], now);
        assert_eq!(goes(&mut drops, now + AGAIN_AFTER), [(20, 24)]);
        done(&mut drops, &[], now);
        assert!(drops.of.is_empty() && drops.agenda.is_empty());
    }

    #[test]
    fn of_too_much_that_stayed_the_oldest_is_left_to_the_kernel() {
        let (mut drops, begun) = (Drops::default(), Instant::now());
        let half = STAYED_MAX as u64 / 2;
        let every_other = |from: u64| (from..from + 2 * half).step_by(2).map(|first| (first, first + 1));
        drops.add(FILE, 0..2 * half);
        goes(&mut drops, begun);
        let left: Vec<(u64, u64)> = every_other(0).collect();
        done(&mut drops, &left, begun);
        let now = begun + AGAIN_AFTER;
        goes(&mut drops, now);
        done(&mut drops, &left, now);
        // As much again, and two more.
        drops.add(FILE, 4 * half..6 * half + 4);
        goes(&mut drops, now);
        let left: Vec<(u64, u64)> =
            every_other(4 * half).chain([6 * half, 6 * half + 2].map(|it| (it, it + 1))).collect();
        done(&mut drops, &left, now);
        let stayed = &drops.of[&FILE].stayed;
        assert_eq!(stayed.len(), STAYED_MAX);
        assert_eq!(stayed.within(&(4 * half..8 * half)).count() as u64, half + 2, "what was tried once is tried again");
        assert_eq!(drops.agenda.len(), 1);
    }

    #[test]
    fn what_is_used_while_a_drop_hangs_takes_no_more_room_than_its_blocks() {
        let (mut drops, now) = (Drops::default(), Instant::now());
        drops.add(FILE, 0..16);
        goes(&mut drops, now);
        (0..1000).for_each(|_| drops.keep(FILE, &(4..8)));
        assert_eq!(drops.of[&FILE].to_go.len(), 2);
        done(&mut drops, &[(0, 16)], now);
        assert_eq!(goes(&mut drops, now + AGAIN_AFTER), [(0, 4), (8, 16)]);
    }
}
