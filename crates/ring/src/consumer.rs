//! The supervisor's side of the ring. It believes nothing: any bytes may stand in any word at any
//! time.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::SLOTS;
use crate::record::{Record, Stamp};
use crate::region::Region;
use crate::slot::{Checksum, Head, PATH_BYTES_MAX, Words, round, span};
use crate::wire::{FIELD_WORDS_MAX, Unpacker};

/// A record as it was posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Who and when.
    pub stamp: Stamp,
    /// What.
    pub record: Record,
    /// The path that goes with it; empty if none does. Bytes, not necessarily UTF-8.
    pub path: &'a [u8],
}

/// What the ring has next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<'a> {
    /// A record.
    Record(Entry<'a>),
    /// Nothing at present.
    Empty,
    /// A program reserved the slot at this position and has not committed it: it is about to, or is
    /// stopped, or dead.
    Stalled {
        /// The same as last time: nothing moved.
        at: u64,
    },
}

/// The one reader of a region's ring.
pub struct Consumer<'r> {
    region: &'r Region,
    /// The next position to read.
    head: u64,
    /// The tail when the present stall was first seen: whatever is uncommitted below it is as old
    /// as the stall.
    stall_tail: u64,
    stalled_at: Option<u64>,
    /// Uncommitted slots below this position have had their time.
    skip_below: u64,
    corrupt: u64,
    skipped: u64,
}

impl<'r> Consumer<'r> {
    /// Reads from the beginning. A region has one consumer in its life.
    pub fn new(region: &'r Region) -> Self {
        Consumer { region, head: 0, stall_tail: 0, stalled_at: None, skip_below: 0, corrupt: 0, skipped: 0 }
    }

    /// Records and slots that made no sense and were thrown away.
    pub fn corrupt(&self) -> u64 {
        self.corrupt
    }

    /// Slots that were reserved and never committed, and were skipped.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The next record, if there is one. Its path is copied to `path`.
    pub fn next<'b>(&mut self, path: &'b mut [u8; PATH_BYTES_MAX]) -> Next<'b> {
        loop {
            let sequence = self.region.slot(self.head).sequence.load(Acquire);
            if sequence == round(self.head).wrapping_add(1) {
                if let Some((stamp, record, path_bytes)) = self.take(path) {
                    return Next::Record(Entry { stamp, record, path: &path[..path_bytes] });
                }
                continue;
            }
            let tail = self.region.tail.0.load(Acquire);
            let pending = tail.wrapping_sub(self.head);
            if pending > SLOTS as u64 {
                self.rebuild();
            } else if sequence != round(self.head) {
                self.mend(pending);
            } else if pending == 0 {
                self.stalled_at = None;
                return Next::Empty;
            } else if self.head < self.skip_below {
                self.skip();
            } else {
                if self.stalled_at != Some(self.head) {
                    self.stalled_at = Some(self.head);
                    self.stall_tail = tail;
                }
                return Next::Stalled { at: self.head };
            }
        }
    }

    /// Gives up on what stalls the ring, and on everything that is uncommitted and as old. To be
    /// called when [`Next::Stalled`] has said the same position for a grace period. A late
    /// commit then fails harmlessly.
    pub fn skip_hole(&mut self) {
        if self.stalled_at == Some(self.head) {
            self.skip_below = self.stall_tail;
        }
    }

    /// Skips the slot at the head, unless it is committed at this moment.
    fn skip(&mut self) {
        let (this_round, next_round) = (round(self.head), round(self.head).wrapping_add(SLOTS as u64));
        let slot = self.region.slot(self.head);
        if slot.sequence.compare_exchange(this_round, next_round, AcqRel, Relaxed).is_ok() {
            self.head = self.head.wrapping_add(1);
            self.skipped += 1;
        }
    }

    /// Reads the committed record at the head, and frees its slots.
    fn take(&mut self, path: &mut [u8; PATH_BYTES_MAX]) -> Option<(Stamp, Record, usize)> {
        match self.decode(path) {
            Some((found, span)) => {
                self.free(span);
                Some(found)
            }
            None => {
                // Its length is not to be trusted: free the first slot only, and meet the rest as uncommitted.
                self.corrupt += 1;
                self.free(1);
                None
            }
        }
    }

    /// In order, as `reserve` relies on it.
    fn free(&mut self, span: u64) {
        for _ in 0..span {
            let next_round = round(self.head).wrapping_add(SLOTS as u64);
            self.region.slot(self.head).sequence.store(next_round, Release);
            self.head = self.head.wrapping_add(1);
        }
    }

    fn decode(&self, path: &mut [u8; PATH_BYTES_MAX]) -> Option<((Stamp, Record, usize), u64)> {
        let region = self.region;
        let first = region.slot(self.head);
        let head = Head::from_word(first.words[0].load(Relaxed));
        let (who, ticks) = (first.words[1].load(Relaxed), first.words[2].load(Relaxed));
        let path_bytes = usize::from(head.path_bytes);
        let field_words = Record::field_words_of(head.kind)?;
        if path_bytes > PATH_BYTES_MAX || span(field_words, path_bytes) != usize::from(head.span) {
            return None;
        }
        let mut words = Words::new(self.head, |position| region.slot(position));
        let mut check = Checksum::new(self.head);
        check.add(who);
        check.add(ticks);
        // Each word is read once, so that what is checked is what is used.
        let mut fields = [0; FIELD_WORDS_MAX];
        for field in &mut fields[..field_words] {
            *field = words.load();
            check.add(*field);
        }
        for part in path[..path_bytes].chunks_mut(8) {
            let word = words.load();
            check.add(word);
            part.copy_from_slice(&word.to_le_bytes()[..part.len()]);
        }
        if check.finish(head) != head.check {
            return None;
        }
        let record = Record::decode(head.kind, &mut Unpacker::new(&fields[..field_words]))?;
        let stamp = Stamp { pid: who as u32, tid: (who >> 32) as u32, ticks };
        Some(((stamp, record, path_bytes), u64::from(head.span)))
    }

    /// The slot at the head has a sequence that no program of ours writes.
    fn mend(&mut self, pending: u64) {
        self.corrupt += 1;
        if pending == 0 {
            self.region.slot(self.head).sequence.store(round(self.head), Release);
        } else {
            self.free(1);
        }
    }

    /// The tail is nowhere near: begin anew from the head. What programs are just writing is lost.
    fn rebuild(&mut self) {
        self.corrupt += 1;
        for ahead in 0..SLOTS as u64 {
            let position = self.head.wrapping_add(ahead);
            self.region.slot(position).sequence.store(round(position), Relaxed);
        }
        self.region.tail.0.store(self.head, Release);
    }
}
