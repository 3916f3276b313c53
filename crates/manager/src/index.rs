//! The way from a block to its page: an open hash table of 8 bytes a slot, made for one access to
//! memory a look-up.
//!
//! A slot holds a page and a 32-bit tag, the hash of its block. The tag alone gives the slot where
//! it belongs; what finds that taken goes into the next free one. A look-up compares tags, and asks
//! the caller about the few pages whose tag agrees.
//!
//! Tried instead: neighbours of one file side by side, eight to a cache line. A file read in order
//! costs less then (on a quiet machine 27 ns a block for 32, on a busy one 29 for 52), but
//! collisions come in runs of eight, and a Zipf-like order costs more (95 for 75, 122 for 88).

use crate::ids::Page;

#[derive(Clone, Copy)]
struct Slot {
    tag: u32,
    page: Page,
}

const EMPTY: Page = Page::MAX;
/// The least and the greatest number of slots, as powers of two: a slot's number is a part of the
/// tag.
const BITS_MIN: u32 = 6;
const BITS_MAX: u32 = u32::BITS;
/// How much of the slots is taken at most. What goes past its slot costs branches that no processor
/// foresees: with 2/3 in place of 3/8, 1,000 pages under LRU took 64 ns a reference, not 53, and
/// 35,000 under ARC 175, not 140.
const FILLED_MAX: (u64, u64) = (3, 8);
/// Pages the index leads to at most.
pub(crate) const PAGES_MAX: u64 = (1 << BITS_MAX) / FILLED_MAX.1 * FILLED_MAX.0;
const _: () = assert!(PAGES_MAX <= EMPTY as u64);

pub(crate) struct Index {
    slots: Vec<Slot>,
    bits: u32,
    len: usize,
    /// How much of the slots is taken at most.
    filled_max: (u64, u64),
}

impl Default for Index {
    fn default() -> Self {
        Index::filled(FILLED_MAX)
    }
}

/// Multiplies and folds: keys are dense small integers, and every reference goes through here.
fn tag_of(key: u64) -> u32 {
    let mixed = u128::from(key ^ 0x9e37_79b9_7f4a_7c15) * 0xa076_1d64_78bd_642f;
    (((mixed as u64) ^ ((mixed >> 64) as u64)) >> 32) as u32
}

/// Whether a key more needs more slots than there are with so many bits.
fn is_full(len: u64, bits: u32, filled_max: (u64, u64)) -> bool {
    (len + 1) * filled_max.1 > filled_max.0 << bits
}

impl Index {
    /// One of which so much is taken at most.
    pub fn filled(filled_max: (u64, u64)) -> Self {
        Index::with_bits(BITS_MIN, filled_max)
    }

    fn with_bits(bits: u32, filled_max: (u64, u64)) -> Self {
        Index { slots: vec![Slot { tag: 0, page: EMPTY }; 1 << bits], bits, len: 0, filled_max }
    }

    /// Where a tag belongs.
    fn home(&self, tag: u32) -> usize {
        (tag >> (u32::BITS - self.bits)) as usize
    }

    fn next(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// The page with this key, of which `holds` says whether a page has it.
    #[inline]
    pub fn find(&self, key: u64, holds: impl Fn(Page) -> bool) -> Option<Page> {
        let tag = tag_of(key);
        let mut at = self.home(tag);
        loop {
            let slot = self.slots[at];
            if slot.page == EMPTY {
                return None;
            }
            if slot.tag == tag && holds(slot.page) {
                return Some(slot.page);
            }
            at = self.next(at);
        }
    }

    /// Adds a key that is not there.
    pub fn insert(&mut self, key: u64, page: Page) {
        if is_full(self.len as u64, self.bits, self.filled_max) {
            self.grow();
        }
        self.put(Slot { tag: tag_of(key), page });
    }

    #[cold]
    fn grow(&mut self) {
        let mut larger = Index::with_bits(self.bits + 1, self.filled_max);
        self.slots.iter().filter(|slot| slot.page != EMPTY).for_each(|&slot| larger.put(slot));
        *self = larger;
    }

    fn put(&mut self, slot: Slot) {
        let mut at = self.home(slot.tag);
        while self.slots[at].page != EMPTY {
            at = self.next(at);
        }
        self.slots[at] = slot;
        self.len += 1;
    }

    /// Takes the key of this page, which is there, out; what went past its slot for want of place
    /// moves back.
    pub fn remove(&mut self, key: u64, page: Page) {
        let mut hole = self.home(tag_of(key));
        while self.slots[hole].page != page {
            hole = self.next(hole);
        }
        let mut at = hole;
        loop {
            at = self.next(at);
            let slot = self.slots[at];
            if slot.page == EMPTY {
                break;
            }
            // How far it lies from where it belongs, and how far from the hole: it may move if the hole is not
            // before home.
            let mask = self.slots.len() - 1;
            if (at.wrapping_sub(self.home(slot.tag)) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.slots[hole] = slot;
                hole = at;
            }
        }
        self.slots[hole].page = EMPTY;
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Beyond that, a slot's number would have more bits than a tag.
    #[test]
    fn there_are_slots_for_as_many_pages_as_there_may_be() {
        assert!(!is_full(crate::PAGES_MAX - 1, BITS_MAX, FILLED_MAX));
        assert!(is_full(crate::PAGES_MAX, BITS_MAX, FILLED_MAX));
    }

    /// Random insertions and removals against a map of the standard library, with keys that lie
    /// close and far.
    #[test]
    fn as_a_map() {
        let (mut index, mut keys) = (Index::default(), BTreeMap::new());
        let mut at = BTreeMap::new();
        let mut random = 88_172_645_463_325_252_u64;
        for page in 0..60_000u32 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let key = if random & 1 == 0 { random % 3000 } else { (random % 50) << 35 };
            let remove = if page < 30_000 { random >> 60 < 4 } else { random >> 60 < 11 };
            match (keys.get(&key).copied(), remove) {
                (Some(page), true) => {
                    index.remove(key, page);
                    keys.remove(&key);
                    at.remove(&page);
                }
                (None, false) => {
                    index.insert(key, page);
                    keys.insert(key, page);
                    at.insert(page, key);
                }
                _ => {}
            }
            assert_eq!(index.len(), keys.len());
            assert_eq!(index.find(key, |page| at.get(&page) == Some(&key)), keys.get(&key).copied());
        }
        for (&key, &page) in &keys {
            assert_eq!(index.find(key, |page| at[&page] == key), Some(page));
        }
    }
}
