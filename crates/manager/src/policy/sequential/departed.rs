//! What was read of blocks that are given up soon after: a run goes on behind them.

use std::collections::VecDeque;

use super::amp::Carried;
use super::detect::RECENT_MIN;
use crate::ids::Block;

/// What is known of a block that was read.
#[derive(Clone, Copy)]
pub struct Read {
    /// Of its run, in half steps; 0: it was not read.
    pub counter: u16,
    /// How many references there had been.
    pub at: u32,
    /// Of its stream.
    pub carried: Carried,
}

impl Read {
    /// So many references ago, of which there have been so many by now.
    pub fn age(self, now: u32) -> u64 {
        u64::from(now.wrapping_sub(self.at))
    }
}

/// Blocks that were given up, the latest last: no more than were read lately.
#[derive(Default)]
pub struct Departed {
    blocks: VecDeque<(Block, Read)>,
}

impl Departed {
    /// A block is given up, after so many references.
    pub fn push(&mut self, block: Block, read: Read, now: u32) {
        if read.age(now) > RECENT_MIN {
            return;
        }
        // As each reference reads one.
        if self.blocks.len() as u64 > RECENT_MIN {
            self.blocks.pop_front();
        }
        self.blocks.push_back((block, read));
    }

    /// What was read lately of this block, which is not here.
    pub fn find(&self, block: Block, now: u32) -> Option<Read> {
        let found = self.blocks.iter().rev().find(|&&(departed, _)| departed == block)?;
        Some(found.1).filter(|read| read.age(now) <= RECENT_MIN)
    }
}
