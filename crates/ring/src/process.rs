//! Process slots: one program's counters, and what the supervisor wants to hear of each of its
//! descriptors.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::region::{Alone, Region};
use crate::sync::{AtomicU32, AtomicU64};
use crate::{ATTENTION_FDS, PROCESS_SLOTS};

/// How often reads of a descriptor are posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attention {
    /// Each one.
    Every = 0,
    /// One in 64, and where it began; the others are only counted, and not timed.
    Sampled = 1,
    /// None; they are only counted, and not timed.
    None = 2,
    /// Each one, and where those at the descriptor's own position began: it was not followed for a
    /// while.
    Located = 3,
}

/// What a program counts of its reads of regular files, posted or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Reads.
    pub reads: u64,
    /// Bytes they gave.
    pub bytes: u64,
    /// Ticks spent in those of them that were posted (only they are timed) and took at least
    /// [`Region::stall_ticks_min`].
    pub stall_ticks: u64,
}

/// One program's part of the region.
#[repr(C, align(64))]
#[cfg_attr(loom, derive(Default))]
pub struct Process {
    tallies: [Alone<Tally>; TALLIES],
    /// On other lines than the counters: those are written by the program at each read.
    attention: Alone<[AtomicU32; ATTENTION_FDS]>,
    /// The last answer: its ticket, an errno and a value, in 16, 16 and 32 bits.
    answer: AtomicU64,
    /// Why the last call that is not answered was refused: an errno, or 0.
    refusal: AtomicU32,
}

/// The counters of one thread in [`TALLIES`].
#[repr(C)]
#[cfg_attr(loom, derive(Default))]
struct Tally {
    reads: AtomicU64,
    bytes: AtomicU64,
    stall_ticks: AtomicU64,
}

/// A program's threads count apart, as far as these go: on one line, two threads that read from the
/// cache all the time cost each other 30 ns a read.
const TALLIES: usize = 8;

/// Generations count in the 30 bits that an attention word has left for them.
const GENERATION_MASK: u32 = u32::MAX >> 2;

impl Process {
    #[inline(always)]
    fn tally(&self, thread: Option<u32>) -> &Tally {
        &self.tallies[thread.unwrap_or(0) as usize % TALLIES].0
    }

    /// A thread of the program counts a read: the one of this number, or the only one there is,
    /// which saves two locked instructions of about 6 ns each.
    #[inline(always)]
    pub fn count_read(&self, thread: Option<u32>, bytes: u64) {
        let tally = self.tally(thread);
        if thread.is_none() {
            tally.reads.store(tally.reads.load(Relaxed).wrapping_add(1), Relaxed);
            tally.bytes.store(tally.bytes.load(Relaxed).wrapping_add(bytes), Relaxed);
        } else {
            tally.reads.fetch_add(1, Relaxed);
            tally.bytes.fetch_add(bytes, Relaxed);
        }
    }

    /// A thread of the program counts a read that stalled.
    pub fn count_stall(&self, thread: Option<u32>, ticks: u64) {
        self.tally(thread).stall_ticks.fetch_add(ticks, Relaxed);
    }

    /// The counters now (each for itself; they are not of one instant).
    pub fn counters(&self) -> Counters {
        let sum = |of: fn(&Tally) -> &AtomicU64| {
            self.tallies.iter().fold(0, |sum: u64, tally| sum.saturating_add(of(&tally.0).load(Relaxed)))
        };
        Counters {
            reads: sum(|tally| &tally.reads),
            bytes: sum(|tally| &tally.bytes),
            stall_ticks: sum(|tally| &tally.stall_ticks),
        }
    }

    /// The supervisor's wish for this use (`generation`) of this descriptor number. It is forgotten
    /// by itself when the number is used again. Descriptors of [`ATTENTION_FDS`] and beyond are
    /// always posted.
    pub fn set_attention(&self, fd: i32, generation: u32, attention: Attention) {
        if let Some(word) = self.attention.0.get(fd as usize) {
            word.store((generation & GENERATION_MASK) << 2 | attention as u32, Relaxed);
        }
    }

    /// What the supervisor wants to hear of reads of this use of this descriptor number.
    #[inline(always)]
    pub fn attention(&self, fd: i32, generation: u32) -> Attention {
        let word = self.attention.0.get(fd as usize).map_or(0, |word| word.load(Relaxed));
        match word & 3 {
            _ if word >> 2 != generation & GENERATION_MASK => Attention::Every,
            1 => Attention::Sampled,
            2 => Attention::None,
            3 => Attention::Located,
            _ => Attention::Every,
        }
    }

    /// The supervisor answers what the program asked under this ticket: a value, or an errno.
    pub fn answer(&self, ticket: u32, result: Result<i32, u16>) {
        let (error, value) = match result {
            Ok(value) => (0, value),
            Err(error) => (error, 0),
        };
        let word = u64::from(ticket as u16) << 48 | u64::from(error) << 32 | u64::from(value as u32);
        self.answer.store(word, Release);
    }

    /// The answer to what was asked under this ticket, if it is the last one given. Of a ticket
    /// count 16 bits, which are never all 0.
    pub fn answer_to(&self, ticket: u32) -> Option<Result<i32, u16>> {
        let word = self.answer.load(Acquire);
        (word >> 48 == u64::from(ticket as u16)).then_some(match (word >> 32) as u16 {
            0 => Ok(word as u32 as i32),
            error => Err(error),
        })
    }

    /// A ticket that no question asked in this slot before can have: half of all tickets away from
    /// the last answer. What a program asked last before it became another one by exec may
    /// still be answered.
    pub fn unasked_ticket(&self) -> u32 {
        (self.answer.load(Acquire) >> 48) as u32 + (1 << 15)
    }

    /// The supervisor did not take what nobody waits for the answer of.
    pub fn refuse(&self, error: u16) {
        self.refusal.store(u32::from(error), Relaxed);
    }

    /// Why such a call was refused since this was last asked: an errno.
    pub fn take_refusal(&self) -> Option<u16> {
        match self.refusal.load(Relaxed) {
            0 => None,
            error => {
                self.refusal.store(0, Relaxed);
                Some(error as u16)
            }
        }
    }

    fn clear(&self) {
        self.answer.store(0, Relaxed);
        self.refusal.store(0, Relaxed);
        for Alone(tally) in &self.tallies {
            tally.reads.store(0, Relaxed);
            tally.bytes.store(0, Relaxed);
            tally.stall_ticks.store(0, Relaxed);
        }
        for word in &self.attention.0 {
            word.store(0, Relaxed);
        }
    }
}

impl Region {
    /// A program takes a process slot. One that exec'ed finds the slot it had, with its counters.
    pub fn claim(&self, pid: u32) -> Option<u32> {
        let claims = &self.claims.0;
        if let Some(own) = claims.iter().position(|owner| owner.load(Relaxed) == pid) {
            return Some(own as u32);
        }
        let from = pid as usize % PROCESS_SLOTS;
        (from..from + PROCESS_SLOTS)
            .map(|slot| slot % PROCESS_SLOTS)
            .find(|&slot| claims[slot].compare_exchange(0, pid, AcqRel, Relaxed).is_ok())
            .map(|slot| slot as u32)
    }

    /// The supervisor gives back the slot of a process that is dead.
    pub fn release(&self, slot: u32) {
        if let Some(process) = self.process(slot) {
            process.clear();
            self.claims.0[slot as usize].store(0, Release);
        }
    }

    /// The process that owns a slot.
    pub fn owner(&self, slot: u32) -> Option<u32> {
        let owner = self.claims.0.get(slot as usize)?.load(Acquire);
        (owner != 0).then_some(owner)
    }

    /// A process slot, if there is one of that number.
    #[inline(always)]
    pub fn process(&self, slot: u32) -> Option<&Process> {
        self.processes.get(slot as usize)
    }
}
