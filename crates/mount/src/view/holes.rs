//! What nobody has written yet of a file that is being written: threads that write at offsets of
//! their own come to it later, and it is not to be sent before.

use std::ops::Range;

/// So many are known; of more the first are taken for zeros.
const HOLES_MAX: usize = 1000;

/// From the first to the last.
#[derive(Default)]
pub struct Holes(Vec<Range<u64>>);

impl Holes {
    /// Where the first begins.
    pub fn first(&self) -> Option<u64> {
        self.0.first().map(|hole| hole.start)
    }

    /// This was passed over, behind all others.
    pub fn pass(&mut self, over: Range<u64>) {
        match self.0.last_mut() {
            Some(last) if last.end == over.start => last.end = over.end,
            _ => self.0.extend((!over.is_empty()).then_some(over)),
        }
        self.limit();
    }

    /// In this is none any more.
    pub fn fill(&mut self, with: &Range<u64>) {
        if self.0.iter().any(|hole| hole.start < with.end && with.start < hole.end) {
            let sides = |hole: Range<u64>| [hole.start..hole.end.min(with.start), hole.start.max(with.end)..hole.end];
            self.0 = self.0.drain(..).flat_map(sides).filter(|hole| !hole.is_empty()).collect();
            self.limit();
        }
    }

    fn limit(&mut self) {
        self.0.drain(..self.0.len().saturating_sub(HOLES_MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_no_hole() {
        let mut holes = Holes::default();
        holes.pass(3..3);
        assert_eq!(holes.first(), None);
        holes.pass(10..20);
        holes.pass(20..30);
        holes.pass(40..50);
        holes.fill(&(15..18));
        assert_eq!(holes.0, [10..15, 18..30, 40..50]);
        holes.fill(&(0..12));
        holes.fill(&(30..40));
        assert_eq!((holes.first(), holes.0.len()), (Some(12), 3));
        holes.fill(&(11..45));
        assert_eq!((holes.first(), holes.0.len()), (Some(45), 1));
        holes.fill(&(45..u64::MAX));
        assert_eq!(holes.first(), None);
    }

    #[test]
    fn of_too_many_the_last_are_known() {
        let mut holes = Holes::default();
        (0..2 * HOLES_MAX as u64).for_each(|at| holes.pass(2 * at..2 * at + 1));
        assert_eq!((holes.first(), holes.0.len()), (Some(2 * HOLES_MAX as u64), HOLES_MAX));
    }
}
