//! The second tier: what memory gave up and will be wanted again, in a file on a local disk.
//!
//! ```text
//! Index  Waits  Ghosts  Wear  Pace  Caution        decide, without I/O, under the pool's lock
//! SlotFile                                        reads and writes slots, in threads of its own
//! ```
//!
//! What is read from it is checked against its checksum, always: a slot that was torn, flipped, cut
//! off or that belongs to another block is a miss. So nothing is ever synchronised, nothing is
//! repaired when it is opened, and other caches may read what one of them writes.

mod caution;
mod file;
mod ghosts;
mod guest;
mod index;
mod key;
mod layout;
mod pace;
#[cfg(test)]
pub mod staged;
mod waits;
mod wear;

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use caution::Caution;
use ghosts::Ghosts;
use guest::Guest;
use index::Index;
use pace::Pace;
use waits::Waits;
use wear::Wear;

use crate::error::Error;
use crate::statistics::DiskStatistics;

pub use file::SlotFile;
pub use guest::LOOKED_AT_ONCE;
pub use key::{Key, ObjectKey};
pub use layout::{Entry, Layout};

/// A block that lies on the disk.
#[derive(Debug, Clone, Copy)]
pub struct Found {
    /// Which of the blocks that were asked for.
    pub at: usize,
    /// Where it lies.
    pub slot: u32,
    /// What should lie there.
    pub entry: Entry,
}

/// The tier, but for its I/O.
pub struct Tier {
    /// What does it.
    pub file: Arc<SlotFile>,
    index: Index,
    /// If the file is another cache's.
    guest: Option<Guest>,
    ghosts: Ghosts,
    waits: Waits,
    wear: Wear,
    /// What requests took.
    pub pace: Pace,
    reading: Caution,
    writing: Caution,
    statistics: DiskStatistics,
    slot_bytes: u64,
}

impl Tier {
    /// Bytes of memory that it takes beside so many frames.
    pub fn memory_of(layout: Layout, frames: usize) -> usize {
        layout.slots as usize * (index::BYTES_EACH + ghosts::BYTES_EACH) + frames * ghosts::BYTES_EACH
    }

    /// The tier in this file, beside so many frames.
    ///
    /// # Errors
    /// If the file cannot be had.
    pub fn open(path: &Path, layout: Layout, frames: usize) -> Result<Self, Error> {
        let failed = |error| Error::Disk { path: path.into(), error: Arc::new(error) };
        let (file, entries, is_ours) = SlotFile::open(path, layout).map_err(failed)?;
        let index = Index::new(entries);
        let (slots, used) = (u64::from(layout.slots), u64::from(index.used()));
        Ok(Tier {
            file: Arc::new(file),
            index,
            guest: (!is_ours).then(|| Guest::new(layout.slots, Instant::now())),
            ghosts: Ghosts::new(layout.slots as usize + frames),
            waits: Waits::new(layout.slots),
            wear: Wear::new(slots, used),
            pace: Pace::default(),
            reading: Caution::default(),
            writing: Caution::default(),
            statistics: DiskStatistics { blocks: slots as usize, ..DiskStatistics::default() },
            slot_bytes: layout.slot_bytes,
        })
    }

    /// What came of it.
    pub fn statistics(&self) -> DiskStatistics {
        DiskStatistics { blocks_used: self.index.used() as usize, ..self.statistics }
    }

    /// Which blocks of a run are to be read from the disk. Until [`Tier::recalled`] says otherwise
    /// they stay there.
    pub fn recall(&mut self, store: usize, object: ObjectKey, first: u64, count: usize) -> Vec<Found> {
        let find = |at| {
            let (slot, entry) = self.index.find(Key { object, block: first + at as u64 })?;
            Some(Found { at, slot, entry })
        };
        let found: Vec<Found> = (0..count).filter_map(find).collect();
        let is_asked = !found.is_empty() && self.pace.is_worth_asking(store, found.len()) && self.reading.may_try();
        if !is_asked {
            return Vec::new();
        }
        found.iter().for_each(|it| self.index.begin(it.slot));
        found
    }

    /// Some of them were read: of each, how long it had waited there, if it was what it should be.
    /// Once all were, [`Tier::has_answered`] follows.
    pub fn recalled(&mut self, found: &[Found], good: &[bool]) -> Vec<Option<u32>> {
        let mut waited = Vec::with_capacity(found.len());
        for (it, &good) in found.iter().zip(good) {
            self.index.end(it.slot);
            if good {
                self.brought();
                let ticks = self.index.end_wait(it.slot, self.waits.now());
                self.waits.learn(ticks);
                self.wear.read(1);
                self.statistics.bytes_read += self.slot_bytes;
                waited.push(Some(ticks));
            } else {
                self.index.take(it.slot);
                self.statistics.damaged += u64::from(self.guest.is_none());
                waited.push(None);
            }
        }
        waited
    }

    /// All that was asked for a run was read, and whether all of it was what it should be.
    pub fn has_answered(&mut self, well: bool) {
        match (well, &mut self.guest) {
            (true, _) => self.reading.went_well(),
            (false, None) => self.reading.failed(),
            // It has something else by now.
            (false, Some(guest)) => guest.was_wrong(Instant::now()),
        }
    }

    /// Something is not here: the first of the entries of another cache's file that are to be
    /// looked at now, if any are.
    pub fn look(&mut self) -> Option<u32> {
        self.guest.as_mut()?.look(Instant::now())
    }

    /// Some entries were looked at, and whether the file is this cache's by now. The first of those
    /// to be looked at next.
    pub fn looked(&mut self, first: u32, looked: io::Result<(Vec<Option<Entry>>, bool)>) -> Option<u32> {
        let guest = self.guest.as_mut()?;
        let (entries, is_ours) = looked.unwrap_or_default();
        let next = guest.looked(entries.len() as u32, is_ours, Instant::now());
        let now = self.waits.now();
        (first..).zip(entries).for_each(|(slot, entry)| self.index.replace(slot, entry, now));
        if guest.is_heir() {
            self.guest = None;
            self.wear = Wear::new(self.statistics.blocks as u64, u64::from(self.index.used()));
        }
        next
    }

    /// A block came from its store. How long it had been given up for, if that was lately: then it
    /// is worth a place here.
    pub fn missed(&mut self, key: Key) -> Option<u32> {
        self.wear.missed(1);
        self.brought();
        let waited = self.ghosts.take(key.short(), self.waits.now());
        waited.into_iter().for_each(|ticks| self.waits.learn(ticks));
        waited
    }

    fn brought(&mut self) {
        self.waits.brought();
        self.ghosts.sweep(self.waits.now());
    }

    /// Memory gives a block up. Whether it lies here: then it waits from now on.
    pub fn has(&mut self, key: Key) -> bool {
        let slot = self.index.find(key).map(|(slot, _)| slot);
        if let Some(slot) = slot {
            self.index.end_wait(slot, self.waits.now());
        }
        slot.is_some()
    }

    /// Whether there is room that nothing was written to yet, beyond so many blocks: then whatever
    /// memory gives up may have it.
    pub fn has_free_room(&self, beyond: usize) -> bool {
        self.wear.free() > beyond as u64
    }

    /// Whether anything more than so many blocks may be kept just now.
    pub fn may_keep(&self, beyond: usize) -> bool {
        self.guest.is_none() && self.wear.affords() > beyond as u64
    }

    /// A block is to be kept that had to wait so long, if that is known, or only if a slot is empty.
    /// The slot to write it to, unless that is not worth it; [`Tier::kept`] follows.
    pub fn keep(&mut self, waited: Option<u32>, only_if_empty: bool) -> Option<u32> {
        if !self.may_keep(0) || !self.writing.may_try() {
            return None;
        }
        let (slot, is_empty) = self.index.next(self.waits.longer_than(waited), self.waits.now())?;
        if only_if_empty && !is_empty || !self.wear.pay(is_empty) {
            return None;
        }
        if let Some(before) = self.index.take(slot) {
            self.ghosts.add(before.key.short(), self.waits.now());
        }
        self.index.begin(slot);
        Some(slot)
    }

    /// A block is given up that is not kept: if it is missed soon, it will be.
    pub fn forgo(&mut self, key: Key) {
        self.ghosts.add(key.short(), self.waits.now());
    }

    /// Slots that lie in a row were written: the first of them, as many as there are entries.
    pub fn kept(&mut self, slots: Range<u32>, written: io::Result<Vec<Entry>>) {
        slots.clone().for_each(|slot| self.index.end(slot));
        let entries = written.unwrap_or_default();
        let failed = (slots.len() - entries.len()) as u64;
        if failed == 0 {
            self.writing.went_well();
        } else {
            self.writing.failed();
        }
        self.wear.not_written(failed);
        self.statistics.failed_writes += failed;
        self.statistics.bytes_written += self.slot_bytes * entries.len() as u64;
        let now = self.waits.now();
        slots.zip(entries).for_each(|(slot, entry)| self.index.put(slot, entry, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOTS: u64 = 60;
    const BLOCKS: u64 = 80;

    /// Memory has these brought, one by one, and gives each up at once. How many of them lay on the
    /// disk, and how many were written to it.
    fn bring(tier: &mut Tier, blocks: impl Iterator<Item = u64>) -> (usize, usize) {
        let (mut found, mut written) = (0, 0);
        for block in blocks {
            let object = ObjectKey([1; 16]);
            let key = Key { object, block };
            let here = tier.recall(0, object, block, 1);
            found += here.len();
            let waited = match here[..] {
                [] => tier.missed(key),
                _ => tier.recalled(&here, &[true])[0],
            };
            if tier.has(key) {
                continue;
            }
            let is_wanted = waited.is_some() || tier.has_free_room(0);
            match is_wanted.then(|| tier.keep(waited, waited.is_none())).flatten() {
                Some(slot) => {
                    tier.kept(slot..slot + 1, Ok(vec![Entry { key, checksum: 0 }]));
                    written += 1;
                }
                None => tier.forgo(key),
            }
        }
        (found, written)
    }

    fn tier(name: &str) -> Tier {
        let path = std::env::temp_dir().join(format!("foresee-{name}-{}", std::process::id()));
        let tier = Tier::open(&path, Layout::new(SLOTS * (4096 + 40) + 8192, 4096), BLOCKS as usize).unwrap();
        std::fs::remove_file(path).unwrap();
        assert_eq!(tier.statistics().blocks as u64, SLOTS);
        tier
    }

    #[test]
    fn of_a_cycle_it_keeps_what_it_has_room_for_and_writes_nothing_more() {
        let mut tier = tier("cycle");
        assert_eq!(bring(&mut tier, 0..BLOCKS), (0, SLOTS as usize));
        for _ in 0..20 {
            assert_eq!(bring(&mut tier, 0..BLOCKS), (SLOTS as usize, 0));
        }
    }

    #[test]
    fn what_is_not_asked_for_any_more_gives_way_to_what_is() {
        let mut tier = tier("elsewhere");
        for first in std::iter::repeat_n(0, 20).chain([1000; 4]) {
            bring(&mut tier, first..first + BLOCKS);
        }
        let (found, _) = bring(&mut tier, 1000..1000 + BLOCKS);
        assert!(found > SLOTS as usize / 2, "{found}");
    }

    #[test]
    fn room_that_a_failed_write_left_is_filled_and_nothing_else_for_it() {
        let mut tier = tier("failed");
        bring(&mut tier, 0..BLOCKS);
        bring(&mut tier, 0..BLOCKS);
        // A write fails of what has been away for long, over something of the cycle.
        (0..400).for_each(|_| tier.brought());
        let slot = tier.keep(Some(1), false).unwrap();
        tier.kept(slot..slot + 1, Err(io::ErrorKind::StorageFull.into()));
        (0..4).for_each(|_| assert_eq!(tier.keep(None, true), None, "left alone after a failure, or not empty"));
        let filled = (0..SLOTS).find_map(|_| tier.keep(None, true));
        assert_eq!(filled, Some(slot));
    }
}
