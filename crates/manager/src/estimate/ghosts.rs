//! What was here lately: blocks that were given up, oldest first. A ghost keeps what its policy notes of it, as its place in the
//! recency queue, and nothing else of its page (000 section 5.2; the idea is Ebling's).
//!
//! A ghost costs 16 bytes, and 8 to 16 in the index.

use std::collections::VecDeque;

use crate::estimate::recency::Tag;
use crate::ids::Block;
use crate::index::Index;

/// Ghosts are numbered in turn; the number is what the index holds, and its highest bit is not used there.
const NUMBERS: u32 = 1 << 31;

#[derive(Clone, Copy)]
struct Ghost<T> {
    key: u64,
    tag: T,
    alive: bool,
}

/// Ghosts in the order in which they became ghosts.
pub struct Ghosts<T = Tag> {
    queue: VecDeque<Ghost<T>>,
    /// The number of the first one in the queue.
    base: u32,
    index: Index,
}

impl<T> Default for Ghosts<T> {
    fn default() -> Self {
        Ghosts { queue: VecDeque::new(), base: 0, index: Index::default() }
    }
}

impl<T: Copy> Ghosts<T> {
    /// How many there are.
    pub fn len(&self) -> u64 {
        self.index.len() as u64
    }

    fn number(&self, at: usize) -> u32 {
        self.base.wrapping_add(at as u32) % NUMBERS
    }

    fn at(&self, number: u32) -> usize {
        (number.wrapping_sub(self.base) % NUMBERS) as usize
    }

    /// A block that is no ghost becomes the newest.
    pub fn push(&mut self, block: Block, tag: T) {
        if self.queue.len() as u64 > 2 * self.len() + 64 {
            self.compact();
        }
        self.index.insert(block.key(), self.number(self.queue.len()));
        self.queue.push_back(Ghost { key: block.key(), tag, alive: true });
    }

    fn find(&self, key: u64) -> Option<u32> {
        self.index.find(key, |number| self.queue[self.at(number)].key == key)
    }

    /// The tag of a block, if it is a ghost.
    pub fn tag_mut(&mut self, block: Block) -> Option<&mut T> {
        let at = self.at(self.find(block.key())?);
        Some(&mut self.queue[at].tag)
    }

    /// The block is a ghost no longer. Returns its tag if it was one.
    pub fn take(&mut self, block: Block) -> Option<T> {
        let key = block.key();
        let number = self.find(key)?;
        let at = self.at(number);
        self.queue[at].alive = false;
        self.index.remove(key, number);
        Some(self.queue[at].tag)
    }

    /// The tag of the oldest ghost.
    pub fn oldest(&self) -> Option<T> {
        self.queue.iter().find(|ghost| ghost.alive).map(|ghost| ghost.tag)
    }

    /// The oldest ghost goes. Returns its tag.
    pub fn expire(&mut self) -> Option<T> {
        while let Some(ghost) = self.queue.pop_front() {
            let number = self.base;
            self.base = self.number(1);
            if ghost.alive {
                self.index.remove(ghost.key, number);
                return Some(ghost.tag);
            }
        }
        None
    }

    /// Closes the gaps that taken ghosts left.
    fn compact(&mut self) {
        self.queue.retain(|ghost| ghost.alive);
        self.index = Index::default();
        for at in 0..self.queue.len() {
            self.index.insert(self.queue[at].key, self.number(at));
        }
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
        let mut ghosts = Ghosts::default();
        (0..5).for_each(|index| ghosts.push(block(index), index as Tag));
        assert_eq!((ghosts.take(block(2)), ghosts.take(block(2)), ghosts.take(block(9))), (Some(2), None, None));
        ghosts.push(block(2), 7);
        let order: Vec<_> = std::iter::from_fn(|| ghosts.expire()).collect();
        assert_eq!(order, [0, 1, 3, 4, 7]);
        assert_eq!(ghosts.len(), 0);
    }

    /// One old ghost stays while many come and are taken: the gaps do not pile up.
    #[test]
    fn gaps_are_closed() {
        let mut ghosts = Ghosts { base: NUMBERS - 500, ..Ghosts::default() };
        ghosts.push(block(0), 0);
        for index in 1..10_000 {
            ghosts.push(block(index), index as Tag);
            assert_eq!(ghosts.take(block(index)), Some(index as Tag));
        }
        assert!(ghosts.queue.len() < 100 && ghosts.len() == 1);
        assert_eq!(ghosts.take(block(0)), Some(0));
    }
}
