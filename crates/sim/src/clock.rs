//! The virtual clock: what is to happen, in the order of (time, when it was put down). Nothing else
//! moves time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use foresee_manager::Time;

/// What is to happen, and the time it is now.
pub(crate) struct Clock<T> {
    now: Time,
    /// (time, sequence) of all that is to happen. The sequence settles ties, so that a run is the
    /// same every time.
    heap: BinaryHeap<Reverse<(Time, u64)>>,
    ahead: BTreeMap<u64, T>,
    sequence: u64,
}

impl<T> Clock<T> {
    pub(crate) fn new() -> Self {
        Clock { now: Time(0), heap: BinaryHeap::new(), ahead: BTreeMap::new(), sequence: 0 }
    }

    pub(crate) fn now(&self) -> Time {
        self.now
    }

    /// Puts down what is to happen at a time; a time that is over means now.
    pub(crate) fn schedule(&mut self, at: Time, what: T) {
        self.heap.push(Reverse((at.max(self.now), self.sequence)));
        self.ahead.insert(self.sequence, what);
        self.sequence += 1;
    }

    /// Moves on to what happens next.
    pub(crate) fn advance(&mut self) -> Option<T> {
        let Reverse((at, sequence)) = self.heap.pop()?;
        self.now = at;
        self.ahead.remove(&sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_time_then_by_order() {
        let mut clock = Clock::new();
        clock.schedule(Time(20), 'c');
        clock.schedule(Time(10), 'a');
        clock.schedule(Time(10), 'b');
        assert_eq!((clock.advance(), clock.now()), (Some('a'), Time(10)));
        clock.schedule(Time(5), 'l');
        let rest: Vec<char> = std::iter::from_fn(|| clock.advance()).collect();
        assert_eq!((rest, clock.now()), (vec!['b', 'l', 'c'], Time(20)));
    }
}
