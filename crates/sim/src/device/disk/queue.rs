//! What waits at a drive, and in which order it is served.
//!
//! Worked example: the head is behind sector 50; 10, 60 and 45 wait, in this order. `fifo` serves
//! 10, 60, 45. `sstf`, the nearest first, serves 45, 60, 10. `scan`, one way and back to the start,
//! serves 60, 10, 45.
//!
//! A drive does not know who waits for what: demand goes by the same order (000 section 3.1 bounds
//! what that costs by forwarding at most five prefetches). Under `sstf` a request may wait as long
//! as nearer ones keep coming.

use super::super::Request;

/// The order of service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// First come, first served.
    Fifo,
    /// The nearest to the head first.
    Sstf,
    /// Upwards from the head, then from the lowest again.
    Scan,
}

impl Order {
    /// Every order, with the name users write.
    pub const ALL: [(&'static str, Order); 3] = [("fifo", Order::Fifo), ("sstf", Order::Sstf), ("scan", Order::Scan)];

    /// The name users write.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }
}

/// What waits, in the order in which it came.
#[derive(Default)]
pub(super) struct Queue {
    waiting: Vec<Request>,
}

impl Queue {
    pub fn push(&mut self, request: Request) {
        self.waiting.push(request);
    }

    /// The next request to serve, with the head at this place. Of equals, the first to come.
    pub fn next(&mut self, order: Order, head: u64) -> Option<Request> {
        let rank = |place: u64| match order {
            Order::Fifo => (false, 0),
            Order::Sstf => (false, place.abs_diff(head)),
            Order::Scan => (place < head, place),
        };
        let next = (0..self.waiting.len()).min_by_key(|&at| rank(self.waiting[at].place))?;
        Some(self.waiting.remove(next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_example() {
        let expected = [[10, 60, 45], [45, 60, 10], [60, 10, 45]];
        for ((name, order), expected) in Order::ALL.into_iter().zip(expected) {
            let mut queue = Queue::default();
            for place in [10, 60, 45] {
                queue.push(Request { ticket: 0, place, bytes: 1, write: false });
            }
            let mut head = 50;
            let served = expected.map(|_| {
                head = queue.next(order, head).unwrap().place;
                head
            });
            assert_eq!((served, order.name()), (expected, name));
            assert!(queue.next(order, head).is_none());
        }
    }
}
