//! Answers that were found before, for any number of threads and signal handlers, none of whom
//! waits.
//!
//! A place holds one answer in two words, which two threads may write at once: the answer, and the
//! question exclusive-or the answer (Hyatt and Mann, A Lock-less Transposition Table Implementation
//! for Parallel Search, 2002). Words of different writers do not give the question that is asked,
//! and it is asked anew.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// As many as a power of two.
pub(super) struct Known<const PLACES: usize>([[AtomicU64; 2]; PLACES]);

impl<const PLACES: usize> Known<PLACES> {
    pub(super) const fn new() -> Self {
        Known([const { [AtomicU64::new(0), AtomicU64::new(0)] }; PLACES])
    }

    #[inline(always)]
    fn place(&self, question: u64) -> &[AtomicU64; 2] {
        let spread = question.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.0[(spread >> (64 - PLACES.trailing_zeros())) as usize % PLACES]
    }

    /// The answer to a question, which is not 0.
    #[inline(always)]
    pub(super) fn get(&self, question: u64) -> Option<u64> {
        let [mixed, answer] = self.place(question);
        let answer = answer.load(Relaxed);
        (mixed.load(Relaxed) ^ answer == question).then_some(answer)
    }

    pub(super) fn set(&self, question: u64, answer: u64) {
        let [mixed, place] = self.place(question);
        mixed.store(question ^ answer, Relaxed);
        place.store(answer, Relaxed);
    }
}
