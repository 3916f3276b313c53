//! Pages that were brought for a disclosed use and are not read, though it should have come by now.
//!
//! What several processes read was recorded in the order in which they came; in another run one is
//! ahead and another behind, and what waits for the hindmost is the next use of all for ever. By
//! that price such pages took all memory from who was reading.
//!
//! ```text
//! due:            when the use was to come when the page was brought, in reads of what its sequence disclosed
//! overdue by x:   it is worth what a page is that is used in x reads, if that is less
//! ```
//!
//! Who waits for his own reads is not late: a reader that stops keeps what was brought for him. Of a time that is
//! longer than x, of which nothing else is known, as much is longer than 2x as is not, so that no constant is chosen.
//!
//! Worked example: a page was brought for a use in 20 reads, and 120 have passed. It is worth what
//! one is that is used in 100.

use std::collections::BTreeSet;

use crate::hint::Use;
use crate::ids::Page;
use crate::policy::by_page;

/// What a page waits for.
#[derive(Debug, Clone, Copy)]
struct Wait {
    next: Use,
    due: u64,
    /// Pages that came before it.
    came: u64,
}

/// When uses were to come, of pages that nobody has read yet.
#[derive(Default)]
pub struct Overdue {
    waits: Vec<Option<Wait>>,
    sequences: Vec<OfSequence>,
}

/// Of one sequence.
#[derive(Default)]
struct OfSequence {
    /// Reads of what it disclosed.
    reads: u64,
    /// Its pages, by when they were due.
    due: BTreeSet<(u64, Page)>,
}

impl Overdue {
    fn of(&mut self, sequence: u16) -> &mut OfSequence {
        let at = usize::from(sequence);
        if at >= self.sequences.len() {
            self.sequences.resize_with(at + 1, OfSequence::default);
        }
        &mut self.sequences[at]
    }

    /// A read of what a sequence disclosed.
    pub fn read(&mut self, sequence: u16) {
        self.of(sequence).reads += 1;
    }

    /// A page came after so many others, for a use in so many reads. What was said first counts.
    pub fn brought(&mut self, page: Page, came: u64, next: Use, reads: u64) {
        by_page::reach(&mut self.waits, page, None);
        if self.waits[page as usize].is_none() {
            let of = self.of(next.sequence);
            let due = of.reads.saturating_add(reads);
            of.due.insert((due, page));
            self.waits[page as usize] = Some(Wait { next, due, came });
        }
    }

    /// A page is read, or goes.
    pub fn ended(&mut self, page: Page) {
        if let Some(wait) = self.waits.get_mut(page as usize).and_then(Option::take) {
            self.of(wait.next.sequence).due.remove(&(wait.due, page));
        }
    }

    /// By how many reads this use of a page is overdue; nought if it is not, or the page was brought for another.
    pub fn by(&self, page: Page, next: Use) -> u64 {
        let wait = self.waits.get(page as usize).copied().flatten().filter(|wait| wait.next == next);
        let of = self.sequences.get(usize::from(next.sequence));
        wait.zip(of).map_or(0, |(wait, of)| of.reads.saturating_sub(wait.due))
    }

    /// The sequences that were read, by number.
    pub fn sequences(&self) -> impl Iterator<Item = u16> + use<> {
        0..self.sequences.len() as u16
    }

    /// The pages of a sequence that are overdue, the longest first, each with how many came before it.
    pub fn pages(&self, sequence: u16) -> impl Iterator<Item = (Page, u64)> + '_ {
        let of = self.sequences.get(usize::from(sequence)).into_iter();
        let late = of.flat_map(|of| of.due.iter().take_while(|&&(due, _)| due < of.reads));
        late.filter_map(|&(_, page)| Some((page, self.waits[page as usize]?.came)))
    }

    /// Forgets the pages due first that no longer wait.
    pub fn settle(&mut self, waits: impl Fn(Page) -> bool) {
        for sequence in self.sequences() {
            while let Some(&(_, page)) = self.of(sequence).due.first().filter(|it| !waits(it.1)) {
                self.ended(page);
            }
        }
    }

    /// A sequence is no more; the next one of its number is another.
    pub fn forget(&mut self, sequence: u16) {
        for (_, page) in std::mem::take(self.of(sequence)).due {
            self.waits[page as usize] = None;
        }
    }

    /// For tests.
    pub fn check(&self) {
        let due: usize = self.sequences.iter().map(|of| of.due.len()).sum();
        assert_eq!(self.waits.iter().flatten().count(), due, "I1: pages whose use is awaited");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(sequence: u16, when: u64) -> Use {
        Use { sequence, when }
    }

    #[test]
    fn what_was_to_come_first_is_overdue_the_longest() {
        let mut overdue = Overdue::default();
        overdue.brought(3, 0, next(0, 70), 20);
        overdue.brought(5, 1, next(0, 60), 7);
        overdue.brought(5, 2, next(0, 90), 0);
        (0..7).for_each(|_| overdue.read(0));
        assert_eq!((overdue.pages(0).count(), overdue.by(5, next(0, 60))), (0, 0));
        (0..14).for_each(|_| overdue.read(0));
        assert_eq!(overdue.pages(0).collect::<Vec<_>>(), [(5, 1), (3, 0)]);
        assert_eq!([next(0, 60), next(0, 90), next(1, 60)].map(|next| overdue.by(5, next)), [14, 0, 0]);
        overdue.ended(5);
        overdue.ended(5);
        overdue.check();
        assert_eq!(overdue.pages(0).collect::<Vec<_>>(), [(3, 0)]);
        overdue.settle(|_| false);
        overdue.check();
        assert_eq!(overdue.pages(0).count(), 0);
    }

    #[test]
    fn who_stops_reading_is_not_late() {
        let mut overdue = Overdue::default();
        overdue.brought(3, 0, next(1, 70), 2);
        (0..100).for_each(|_| overdue.read(0));
        assert_eq!(overdue.by(3, next(1, 70)), 0);
        (0..100).for_each(|_| overdue.read(1));
        assert_eq!(overdue.by(3, next(1, 70)), 98);
        overdue.forget(1);
        overdue.check();
        (0..100).for_each(|_| overdue.read(1));
        assert_eq!(overdue.by(3, next(1, 70)), 0);
    }
}
