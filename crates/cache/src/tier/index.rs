//! Which block lies in which slot, and which slot is given up: one that is asked for less often than
//! what would take its place.
//!
//! How often a block on the disk is asked for is seen from how long it waits there for it, counted
//! in [`Tick`]s. A hand goes round and looks at a few slots for each block that would be written,
//! and gives up the first that has waited longer than is said. So slots are written in the order of
//! their places, and blocks that memory gave up one after the other lie side by side, where one
//! request reads them. A read costs a number, where a list in the order of use would be changed.
//!
//! A clock that gives up whatever was not read since its hand came by would write each block of a
//! cycle over one that is read next; LIRS (Jiang and Zhang, SIGMETRICS 2002) compares intervals too.

use std::collections::HashMap;

use super::key::Key;
use super::layout::Entry;
use super::waits::Tick;
use crate::table::Table;

/// Bytes of memory that a slot takes: its entry, its way in the table.
pub const BYTES_EACH: usize = size_of::<Slot>() + Table::BYTES_EACH;

/// Slots that the hand looks at for each block that would be written.
const LOOKED_AT: usize = 8;

#[derive(Clone, Copy)]
struct Slot {
    entry: Option<Entry>,
    /// When it was read last, or given up by memory, whichever is later.
    waits_since: Tick,
}

/// The index.
pub struct Index {
    slots: Box<[Slot]>,
    table: Table,
    hand: u32,
    used: u32,
    /// Slots that are being read or written, and by how many.
    busy: HashMap<u32, u32>,
}

impl Index {
    /// Of slots that hold this.
    pub fn new(entries: Vec<Option<Entry>>) -> Self {
        let slots: Box<[Slot]> = entries.iter().map(|_| Slot { entry: None, waits_since: Tick(0) }).collect();
        let hand = entries.iter().position(Option::is_none).unwrap_or(0) as u32;
        let mut index = Index { table: Table::new(slots.len()), slots, hand, used: 0, busy: HashMap::new() };
        for (slot, entry) in (0..).zip(entries) {
            if let Some(entry) = entry {
                index.put(slot, entry, Tick(0));
            }
        }
        index
    }

    /// Slots that hold something.
    pub fn used(&self) -> u32 {
        self.used
    }

    /// Where a block lies.
    pub fn find(&self, key: Key) -> Option<(u32, Entry)> {
        self.table.candidates(key.short()).find_map(|slot| {
            let entry = self.slots[slot as usize].entry.filter(|entry| entry.key == key)?;
            Some((slot, entry))
        })
    }

    /// A slot is being read, or written; and is not any more.
    pub fn begin(&mut self, slot: u32) {
        *self.busy.entry(slot).or_default() += 1;
    }

    /// It is not any more.
    pub fn end(&mut self, slot: u32) {
        if let Some(count) = self.busy.get_mut(&slot) {
            *count -= 1;
            if *count == 0 {
                self.busy.remove(&slot);
            }
        }
    }

    /// A slot proved to hold what it should, or memory gives up what it holds: it waits anew. Returns
    /// how long it had waited.
    pub fn end_wait(&mut self, slot: u32, now: Tick) -> u32 {
        std::mem::replace(&mut self.slots[slot as usize].waits_since, now).until(now)
    }

    /// Puts a block into a slot that holds none, unless another slot has it.
    pub fn put(&mut self, slot: u32, entry: Entry, now: Tick) {
        if self.find(entry.key).is_none() {
            self.slots[slot as usize] = Slot { entry: Some(entry), waits_since: now };
            self.table.insert(entry.key.short(), slot);
            self.used += 1;
        }
    }

    /// Takes what a slot holds out of it, if it holds something.
    pub fn take(&mut self, slot: u32) -> Option<Entry> {
        let entry = self.slots[slot as usize].entry.take()?;
        self.table.remove(entry.key.short(), slot);
        self.used -= 1;
        Some(entry)
    }

    /// Another cache has put this into a slot, or nothing.
    pub fn replace(&mut self, slot: u32, entry: Option<Entry>, now: Tick) {
        if self.slots[slot as usize].entry != entry {
            self.take(slot);
            entry.into_iter().for_each(|entry| self.put(slot, entry, now));
        }
    }

    /// The slot that one more block is to be written to, and whether it is empty: else it has waited
    /// longer than this. None if there is none of either among those that are looked at.
    pub fn next(&mut self, longer_than: u32, now: Tick) -> Option<(u32, bool)> {
        for _ in 0..LOOKED_AT.min(self.slots.len()) {
            let at = self.hand;
            self.hand = (self.hand + 1) % self.slots.len() as u32;
            let slot = self.slots[at as usize];
            let is_empty = slot.entry.is_none();
            let is_given_up = is_empty || slot.waits_since.until(now) > longer_than;
            if is_given_up && !self.busy.contains_key(&at) {
                return Some((at, is_empty));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::ObjectKey;
    use super::*;

    fn entry(block: u64) -> Entry {
        Entry { key: Key { object: ObjectKey([1; 16]), block }, checksum: block }
    }

    #[test]
    fn what_has_waited_longer_than_is_said_is_given_up() {
        let mut index = Index::new((0..4).map(|block| Some(entry(block))).collect());
        assert_eq!(index.used(), 4);
        assert_eq!(index.end_wait(0, Tick(10)), 10);
        index.begin(1);
        assert_eq!(index.next(12, Tick(12)), None);
        assert_eq!(index.next(11, Tick(12)), Some((2, false)));
        assert_eq!(index.take(2), Some(entry(2)));
        index.put(2, entry(9), Tick(12));
        assert_eq!((index.find(entry(2).key), index.find(entry(9).key)), (None, Some((2, entry(9)))));
        assert_eq!((index.next(11, Tick(12)), index.next(11, Tick(12))), (Some((3, false)), Some((3, false))));
        index.end(1);
        assert_eq!((index.next(11, Tick(12)), index.used()), (Some((1, false)), 4));
        assert_eq!((index.next(1, Tick(12)), index.next(1, Tick(12))), (Some((3, false)), Some((0, false))));
    }

    #[test]
    fn of_many_slots_a_few_are_looked_at_and_then_the_next_ones() {
        let mut index = Index::new((0..20).map(|block| Some(entry(block))).collect());
        index.end_wait(10, Tick(u32::MAX - 5));
        for slot in (0..20).filter(|&slot| slot != 10) {
            index.end_wait(slot, Tick(2));
        }
        assert_eq!((index.next(9, Tick(5)), index.next(9, Tick(5))), (None, Some((10, false))));
        index.take(13);
        assert_eq!(index.next(9, Tick(5)), Some((13, true)));
        let index = Index::new(vec![Some(entry(5)), None]);
        assert_eq!(index.hand, 1, "the first that is empty");
    }

    #[test]
    fn a_block_lies_in_one_slot() {
        let mut index = Index::new(vec![Some(entry(5)), Some(entry(5)), None]);
        assert_eq!((index.used(), index.take(1), index.take(0)), (1, None, Some(entry(5))));
        assert_eq!(index.find(entry(5).key), None);
    }

    #[test]
    fn nothing_is_given_up_that_is_in_use() {
        let mut index = Index::new(vec![Some(entry(5)), None]);
        index.begin(0);
        index.begin(0);
        index.begin(1);
        assert_eq!(index.next(0, Tick(1)), None);
        index.end(0);
        assert_eq!(index.next(0, Tick(1)), None);
        index.end(0);
        assert_eq!(index.next(0, Tick(1)), Some((0, false)));
    }
}
