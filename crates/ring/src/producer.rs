//! A program's side of the ring: reserve, fill, commit. Lock-free, and safe in signal handlers.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::SLOTS;
use crate::record::{Record, Stamp};
use crate::region::Region;
use crate::slot::{Checksum, Head, PATH_BYTES_MAX, Words, round, span};
use crate::wire::Packer;

/// How far beyond its own record a program asks for the slot's cache line: far enough that the line
/// has come over from the consumer's processor, which touched it last, when it is needed.
#[cfg(all(target_arch = "x86_64", not(any(loom, miri))))]
const PREFETCH_SLOTS: u64 = 4;

impl Region {
    /// Posts one record. Where it cannot, it counts the record as lost and says `false`; it never
    /// waits.
    #[inline]
    pub fn post(&self, stamp: Stamp, record: &Record, path: &[u8]) -> bool {
        let mut fields = Packer::new();
        record.encode(&mut fields);
        // Asked of the table and not of the packer: so the compiler knows it where the kind of record is
        // known.
        let field_words = record.field_words();
        let span = span(field_words, path.len());
        let reserved = if path.len() <= PATH_BYTES_MAX { self.reserve(span) } else { None };
        let Some(position) = reserved else {
            self.lost.0.fetch_add(1, Relaxed);
            return false;
        };
        let head = Head { kind: record.kind(), span: span as u8, path_bytes: path.len() as u16, check: 0 };
        self.fill(position, head, stamp, &fields.words()[..field_words], path);
        self.commit(position)
    }

    /// Whether half of the ring is free. Who can wait posts only then, and so takes no room from
    /// who cannot.
    pub fn is_half_free(&self) -> bool {
        let ahead = self.tail.0.load(Relaxed).wrapping_add(SLOTS as u64 / 2);
        // Slots are freed in order: if this one is, so are those before it.
        self.slot(ahead).sequence.load(Acquire) == round(ahead)
    }

    /// Takes `span` slots in a row, if the last of them is free: as they are freed in order, so are
    /// the others then.
    #[inline]
    pub(crate) fn reserve(&self, span: usize) -> Option<u64> {
        let tail = &self.tail.0;
        let mut position = tail.load(Relaxed);
        loop {
            let last = position.wrapping_add(span as u64 - 1);
            let sequence = self.slot(last).sequence.load(Acquire);
            if sequence == round(last) {
                match tail.compare_exchange_weak(position, position.wrapping_add(span as u64), Relaxed, Relaxed) {
                    Ok(_) => return Some(position),
                    Err(now) => position = now,
                }
            } else {
                // Full; or another took the slot since the tail was read, and then the tail has moved.
                let now = tail.load(Relaxed);
                if now == position {
                    return None;
                }
                position = now;
            }
        }
    }

    #[inline]
    pub(crate) fn fill(&self, position: u64, head: Head, stamp: Stamp, fields: &[u64], path: &[u8]) {
        let who = u64::from(stamp.pid) | u64::from(stamp.tid) << 32;
        let mut check = Checksum::new(position);
        check.add(who);
        check.add(stamp.ticks);
        let mut words = Words::new(position, |position| self.slot(position));
        let mut put = |word: u64| {
            check.add(word);
            words.store(word);
        };
        for word in fields {
            put(*word);
        }
        for part in path.chunks(8) {
            let mut bytes = [0; 8];
            bytes[..part.len()].copy_from_slice(part);
            put(u64::from_le_bytes(bytes));
        }
        let first = self.slot(position);
        first.words[0].store(Head { check: check.finish(head), ..head }.to_word(), Relaxed);
        first.words[1].store(who, Relaxed);
        first.words[2].store(stamp.ticks, Relaxed);
    }

    /// Hands the record over, unless the consumer lost patience and skipped it.
    #[inline]
    pub(crate) fn commit(&self, position: u64) -> bool {
        let slot = self.slot(position);
        let free = round(position);
        let done = slot.sequence.compare_exchange(free, free.wrapping_add(1), Release, Relaxed).is_ok();
        #[cfg(all(target_arch = "x86_64", not(any(loom, miri))))]
        // SAFETY: a prefetch has no effect but on caches; the address is that of a slot.
        unsafe {
            let ahead: *const _ = self.slot(position.wrapping_add(PREFETCH_SLOTS));
            core::arch::asm!("prefetchw [{}]", in(reg) ahead, options(nostack, preserves_flags));
        }
        done
    }
}
