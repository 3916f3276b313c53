//! What was here lately: blocks that were given up, oldest first. A ghost keeps what its policy
//! notes of it, as its place in the recency queue, and nothing else of its page (000 section 5.2;
//! the idea is Ebling's).
//!
//! A ghost costs 8 bytes and its tag's, in whole words, and 13 to 26 in the index, whose slots are at
//! most 5/8 full: it is asked when something is missed, and not by each hit as that of the pages.

use std::collections::VecDeque;

use crate::estimate::recency::Tag;
use crate::ids::{Block, NO_KEY};
use crate::index::Index;
use crate::policy::by_page::growth;

/// Ghosts of a queue are numbered in turn. The index holds the number and the queue, with a bit to
/// spare.
const NUMBERS: u32 = 1 << 28;
/// Queues there may be.
const QUEUES_MAX: usize = 1 << 3;
/// How much of the index is taken at most.
const FILLED_MAX: (u64, u64) = (5, 8);

#[derive(Clone, Copy)]
struct Ghost<T> {
    key: u64,
    tag: T,
}

impl<T> Ghost<T> {
    fn is_alive(&self) -> bool {
        self.key != NO_KEY
    }
}

/// Ghosts in the order in which they became ghosts, and gaps where some were taken: the first is none.
struct Queue<T> {
    ghosts: VecDeque<Ghost<T>>,
    /// The number of the first one.
    base: u32,
    alive: u64,
}

impl<T> Queue<T> {
    fn number(&self, at: usize) -> u32 {
        self.base.wrapping_add(at as u32) % NUMBERS
    }

    fn pop(&mut self) -> Option<Ghost<T>> {
        let first = self.ghosts.pop_front()?;
        self.base = self.number(1);
        Some(first)
    }

    /// Lets the first be none that was taken.
    fn trim(&mut self) {
        while self.ghosts.front().is_some_and(|ghost| !ghost.is_alive()) {
            self.pop();
        }
    }

    fn at(&self, number: u32) -> usize {
        (number.wrapping_sub(self.base) % NUMBERS) as usize
    }
}

/// Blocks given up. Where a policy keeps several kinds apart, each has its queue, and one look
/// finds a block in any of them.
pub struct Ghosts<T = Tag, const QUEUES: usize = 1> {
    queues: [Queue<T>; QUEUES],
    index: Index,
}

impl<T, const QUEUES: usize> Default for Ghosts<T, QUEUES> {
    fn default() -> Self {
        const { assert!(QUEUES <= QUEUES_MAX) };
        let queues = std::array::from_fn(|_| Queue { ghosts: VecDeque::new(), base: 0, alive: 0 });
        Ghosts { queues, index: Index::filled(FILLED_MAX) }
    }
}

fn pack(queue: usize, number: u32) -> u32 {
    number * QUEUES_MAX as u32 + queue as u32
}

impl<T: Copy, const QUEUES: usize> Ghosts<T, QUEUES> {
    /// How many there are, in all queues.
    pub fn len(&self) -> u64 {
        self.index.len() as u64
    }

    /// How many there are in this queue.
    pub fn len_of(&self, queue: usize) -> u64 {
        self.queues[queue].alive
    }

    /// Queue and place.
    fn unpack(&self, packed: u32) -> (usize, usize) {
        let queue = packed as usize % QUEUES_MAX;
        (queue, self.queues[queue].at(packed / QUEUES_MAX as u32))
    }

    fn locate(&self, key: u64) -> Option<u32> {
        self.index.find(key, |packed| {
            let (queue, at) = self.unpack(packed);
            self.queues[queue].ghosts[at].key == key
        })
    }

    /// The queue a block is in, if it is a ghost, and its tag.
    pub fn find(&self, block: Block) -> Option<(usize, T)> {
        let (queue, at) = self.unpack(self.locate(block.key())?);
        Some((queue, self.queues[queue].ghosts[at].tag))
    }

    /// Gives a block another tag, if it is a ghost.
    pub fn note(&mut self, block: Block, tag: T) {
        if let Some(packed) = self.locate(block.key()) {
            let (queue, at) = self.unpack(packed);
            self.queues[queue].ghosts[at].tag = tag;
        }
    }

    /// A block that is no ghost becomes the newest of this queue.
    pub fn push_to(&mut self, queue: usize, block: Block, tag: T) {
        if self.queues[queue].ghosts.len() as u64 > 2 * self.queues[queue].alive + 64 {
            self.compact();
        }
        let to = &mut self.queues[queue];
        self.index.insert(block.key(), pack(queue, to.number(to.ghosts.len())));
        if to.ghosts.len() == to.ghosts.capacity() {
            to.ghosts.reserve_exact(growth(to.ghosts.len()));
        }
        to.ghosts.push_back(Ghost { key: block.key(), tag });
        to.alive += 1;
    }

    /// The block is a ghost no longer. Returns its tag if it was one.
    pub fn take(&mut self, block: Block) -> Option<T> {
        let packed = self.locate(block.key())?;
        let (queue, at) = self.unpack(packed);
        self.index.remove(block.key(), packed);
        let from = &mut self.queues[queue];
        let tag = from.ghosts[at].tag;
        from.ghosts[at].key = NO_KEY;
        from.alive -= 1;
        from.trim();
        Some(tag)
    }

    /// The oldest ghost of this queue goes. Returns its tag.
    pub fn expire_from(&mut self, queue: usize) -> Option<T> {
        let from = &mut self.queues[queue];
        let (number, ghost) = (from.base, from.pop()?);
        from.alive -= 1;
        from.trim();
        self.index.remove(ghost.key, pack(queue, number));
        Some(ghost.tag)
    }

    /// Closes the gaps that taken ghosts left.
    fn compact(&mut self) {
        self.index = Index::filled(FILLED_MAX);
        for (nth, queue) in self.queues.iter_mut().enumerate() {
            queue.ghosts.retain(Ghost::is_alive);
            for at in 0..queue.ghosts.len() {
                self.index.insert(queue.ghosts[at].key, pack(nth, queue.number(at)));
            }
        }
    }
}

impl<T: Copy> Ghosts<T> {
    /// A block that is no ghost becomes the newest.
    pub fn push(&mut self, block: Block, tag: T) {
        self.push_to(0, block, tag);
    }

    /// The tag of the oldest ghost.
    pub fn oldest(&self) -> Option<T> {
        self.queues[0].ghosts.front().map(|ghost| ghost.tag)
    }

    /// The oldest ghost goes. Returns its tag.
    pub fn expire(&mut self) -> Option<T> {
        self.expire_from(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::FileId;

    fn block(index: u64) -> Block {
        Block { file: FileId(3), index }
    }

    #[test]
    fn first_in_first_out_but_for_those_taken() {
        let mut ghosts = Ghosts::<Tag>::default();
        (0..5).for_each(|index| ghosts.push(block(index), index as Tag));
        assert_eq!((ghosts.take(block(2)), ghosts.take(block(2)), ghosts.take(block(9))), (Some(2), None, None));
        ghosts.push(block(2), 7);
        let order: Vec<_> = std::iter::from_fn(|| ghosts.expire()).collect();
        assert_eq!(order, [0, 1, 3, 4, 7]);
        assert_eq!(ghosts.len(), 0);
    }

    #[test]
    fn each_queue_has_its_order() {
        let mut ghosts = Ghosts::<(), 2>::default();
        (0..6).for_each(|index| ghosts.push_to(index as usize % 2, block(index), ()));
        assert_eq!(ghosts.find(block(3)).map(|(queue, ())| queue), Some(1));
        ghosts.take(block(1));
        assert_eq!((ghosts.len_of(0), ghosts.len_of(1), ghosts.len()), (3, 2, 5));
        ghosts.expire_from(1);
        assert!(ghosts.find(block(3)).is_none() && ghosts.find(block(0)).is_some());
    }

    /// One old ghost stays while many come and are taken: the gaps do not pile up.
    #[test]
    fn gaps_are_closed() {
        let mut ghosts = Ghosts::<Tag>::default();
        ghosts.queues[0].base = NUMBERS - 500;
        ghosts.push(block(0), 0);
        for index in 1..10_000 {
            ghosts.push(block(index), index as Tag);
            assert_eq!(ghosts.take(block(index)), Some(index as Tag));
        }
        assert!(ghosts.queues[0].ghosts.len() < 100 && ghosts.len() == 1);
        assert_eq!(ghosts.take(block(0)), Some(0));
    }
}
