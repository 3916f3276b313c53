//! The ring's slots, and how a record lies in them.
//!
//! ```text
//! first slot    sequence | kind, span, path bytes, checksum | pid, tid | ticks | 4 words of fields
//! further ones  sequence | 7 words: the rest of the fields, then the path
//! ```
//!
//! Positions count slots since the beginning of time; position `p` lives in slot `p % SLOTS`, in
//! round `r = p - p % SLOTS`. The sequence word of that slot says (after Vyukov's bounded queue,
//! whose words count positions):
//!
//! ```text
//! r          free for position p, or reserved (the tail is beyond p) and not yet committed
//! r + 1      a record beginning at p is committed
//! r + SLOTS  consumed or skipped: free for the next round
//! ```
//!
//! By rounds, because then memory that is all zero is an empty ring: a run that posts little
//! touches little of it.
//!
//! Only the first slot of a record is committed; the others keep `r`, so a dead program's record of
//! any length is a run of uncommitted slots, skipped one by one without believing anything in them.
//!
//! A program that was stopped so long that its reservation was skipped and used again may still
//! write into the slots when it wakes. Its commit fails (the sequence has moved on), but its words
//! may lie among another's: therefore the checksum, over the position and every word.

use core::sync::atomic::Ordering::Relaxed;

use crate::SLOTS;
use crate::sync::AtomicU64;

/// The longest path that is posted: `PATH_MAX` without its end mark.
pub const PATH_BYTES_MAX: usize = 4095;

/// Words of fields in the first slot.
pub(crate) const WORDS_FIRST: usize = 4;
/// Words in each further slot.
pub(crate) const WORDS_MORE: usize = 7;

/// 64 bytes, one cache line.
#[repr(C, align(64))]
#[cfg_attr(loom, derive(Default))]
pub(crate) struct Slot {
    pub(crate) sequence: AtomicU64,
    pub(crate) words: [AtomicU64; 7],
}

const _: () = assert!(SLOTS.is_power_of_two());

/// The round of a position: what its slot says while it is free.
#[inline(always)]
pub(crate) fn round(position: u64) -> u64 {
    position & !(SLOTS as u64 - 1)
}

/// The second word of a record's first slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Head {
    pub(crate) kind: u8,
    pub(crate) span: u8,
    pub(crate) path_bytes: u16,
    pub(crate) check: u32,
}

impl Head {
    #[inline(always)]
    pub(crate) fn to_word(self) -> u64 {
        u64::from(self.kind)
            | u64::from(self.span) << 8
            | u64::from(self.path_bytes) << 16
            | u64::from(self.check) << 32
    }

    #[inline(always)]
    pub(crate) fn from_word(word: u64) -> Self {
        Head { kind: word as u8, span: (word >> 8) as u8, path_bytes: (word >> 16) as u16, check: (word >> 32) as u32 }
    }
}

/// Slots for so many words of fields and bytes of path.
#[inline(always)]
pub(crate) fn span(field_words: usize, path_bytes: usize) -> usize {
    let words = field_words + path_bytes.div_ceil(8);
    1 + words.saturating_sub(WORDS_FIRST).div_ceil(WORDS_MORE)
}

/// Sums words times distinct odd numbers: the products do not wait for each other, so a record of
/// one slot costs two or three nanoseconds. It is there against accidents, not against forgery: a
/// program may lie in its own name anyway.
pub(crate) struct Checksum {
    sum: u64,
    factor: u64,
}

impl Checksum {
    const STEP: u64 = 0x9E37_79B9_7F4A_7C16;

    #[inline(always)]
    pub(crate) fn new(position: u64) -> Self {
        let mut check = Checksum { sum: 0, factor: Self::STEP | 1 };
        check.add(position);
        check
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, word: u64) {
        self.sum = self.sum.wrapping_add(word.wrapping_mul(self.factor));
        self.factor = self.factor.wrapping_add(Self::STEP);
    }

    /// Takes the head word in without its own checksum, and ends.
    #[inline(always)]
    pub(crate) fn finish(mut self, head: Head) -> u32 {
        self.add(Head { check: 0, ..head }.to_word());
        (self.sum >> 32) as u32
    }
}

/// Where the words of one record's fields and path lie, given the slot of each position.
pub(crate) struct Words<F> {
    slot_at: F,
    position: u64,
    index: usize,
}

impl<'a, F: Fn(u64) -> &'a Slot> Words<F> {
    #[inline(always)]
    pub(crate) fn new(position: u64, slot_at: F) -> Self {
        Words { slot_at, position, index: 7 - WORDS_FIRST }
    }

    #[inline(always)]
    fn place(&mut self) -> &'a AtomicU64 {
        if self.index >= 7 {
            self.position = self.position.wrapping_add(1);
            self.index = 0;
        }
        let word = &(self.slot_at)(self.position).words[self.index];
        self.index += 1;
        word
    }

    #[inline(always)]
    pub(crate) fn store(&mut self, value: u64) {
        self.place().store(value, Relaxed);
    }

    #[inline(always)]
    pub(crate) fn load(&mut self) -> u64 {
        self.place().load(Relaxed)
    }
}
