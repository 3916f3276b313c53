//! Which block lies in which slot, and which slot is given up: a clock.
//!
//! A hand goes round. A slot that was read since the hand last came by is passed over once; the
//! next one that was not is given up. So slots are written in the order of their places, and blocks
//! that memory gave up one after the other lie side by side, where one request reads them. A read
//! costs a bit, where a list in the order of use would be changed.

use std::collections::HashMap;

use super::key::Key;
use super::layout::Entry;
use crate::table::Table;

/// Bytes of memory that a slot takes: its entry, its way in the table.
pub const BYTES_EACH: usize = size_of::<Slot>() + Table::BYTES_EACH;

#[derive(Clone, Copy)]
struct Slot {
    entry: Option<Entry>,
    /// Since the hand came by.
    read: bool,
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
        let slots: Box<[Slot]> = entries.iter().map(|_| Slot { entry: None, read: false }).collect();
        let mut index = Index { table: Table::new(slots.len()), slots, hand: 0, used: 0, busy: HashMap::new() };
        for (slot, entry) in (0..).zip(entries) {
            if let Some(entry) = entry {
                index.put(slot, entry);
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

    /// A slot proved to hold what it should.
    pub fn was_read(&mut self, slot: u32) {
        self.slots[slot as usize].read = true;
    }

    /// Puts a block into a slot that holds none, unless another slot has it.
    pub fn put(&mut self, slot: u32, entry: Entry) {
        if self.find(entry.key).is_none() {
            self.slots[slot as usize] = Slot { entry: Some(entry), read: false };
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
    pub fn replace(&mut self, slot: u32, entry: Option<Entry>) {
        if self.slots[slot as usize].entry != entry {
            self.take(slot);
            entry.into_iter().for_each(|entry| self.put(slot, entry));
        }
    }

    /// The slot that is to be written next. None if all are in use just now.
    pub fn next(&mut self) -> Option<u32> {
        // The second time round none has been read since.
        for _ in 0..2 * self.slots.len() {
            let slot = self.hand;
            self.hand = (self.hand + 1) % self.slots.len() as u32;
            let was_read = std::mem::take(&mut self.slots[slot as usize].read);
            if !was_read && !self.busy.contains_key(&slot) {
                return Some(slot);
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
    fn what_was_read_is_given_up_after_what_was_not() {
        let mut index = Index::new((0..4).map(|block| Some(entry(block))).collect());
        assert_eq!(index.used(), 4);
        index.was_read(0);
        index.begin(1);
        assert_eq!(index.next(), Some(2));
        assert_eq!(index.take(2), Some(entry(2)));
        index.put(2, entry(9));
        assert_eq!((index.find(entry(2).key), index.find(entry(9).key)), (None, Some((2, entry(9)))));
        assert_eq!((index.next(), index.next()), (Some(3), Some(0)));
        index.end(1);
        assert_eq!((index.next(), index.used()), (Some(1), 4));
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
        assert_eq!(index.next(), None);
        index.end(0);
        assert_eq!(index.next(), None);
        index.end(0);
        assert_eq!(index.next(), Some(0));
    }
}
