//! What was read of blocks that are given up soon after: a run goes on behind them.

use std::collections::VecDeque;

use super::amp::Carried;
use crate::ids::Block;

/// So many are remembered: as many as there may be references since, each by a run of its own.
pub const DEPARTED_MAX: usize = 64;

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

/// Blocks that were given up, the latest last.
#[derive(Default)]
pub struct Departed {
    blocks: VecDeque<(Block, Read)>,
}

impl Departed {
    /// A block is given up.
    pub fn push(&mut self, block: Block, read: Read) {
        if self.blocks.len() == DEPARTED_MAX {
            self.blocks.pop_front();
        }
        self.blocks.push_back((block, read));
    }

    /// What was read of this block, which is not here.
    pub fn find(&self, block: Block) -> Option<Read> {
        self.blocks.iter().rev().find(|&&(departed, _)| departed == block).map(|&(_, read)| read)
    }
}
