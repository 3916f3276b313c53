//! Postgres (section 5.1): a join of 20,000 tuples in 3.2 MB with 200,000 in 32 MB, by an index of 5 MB that has priority 1; the
//! others have 0, and both levels are LRU.
//!
//! The outer relation's keys are random within 1 to 1,000,020 and the inner's within 1 to 200,000, so one tuple in five finds a
//! match, in a leaf and a block at random. The other keys lie beyond all the inner relation has: their look-ups end in the
//! last leaf, which Postgres has in its own buffers, as it has the index's root. The result is not written.

use super::{Disk, MB, MS, Program, Script, in_a_row};
use crate::Random;

const OUTER: u32 = 0;
const INNER: u32 = 1;
const INDEX: u32 = 2;
const OUTER_BLOCKS: u64 = 400;
const TUPLES_A_BLOCK: u64 = 50;
const INNER_BLOCKS: u64 = 32 * MB;
const INDEX_BLOCKS: u64 = 5 * MB;
/// One in so many tuples finds a match.
const TUPLES_A_MATCH: u64 = 5;
/// A tuple's part of the join. Assumed.
const TUPLE_NS: u64 = 2 * MS;

/// The join.
pub fn program() -> Program {
    let mut random = Random::new(4);
    let mut script = Script::default();
    script.priority(INDEX, 1);
    for block in 0..OUTER_BLOCKS {
        script.read(OUTER, block);
        for _ in 0..TUPLES_A_BLOCK {
            script.think(TUPLE_NS);
            if random.below(TUPLES_A_MATCH) == 0 {
                script.read(INDEX, random.below(INDEX_BLOCKS));
                script.read(INNER, random.below(INNER_BLOCKS));
            }
        }
    }
    script.program(Disk::Rz26, in_a_row([OUTER_BLOCKS, INNER_BLOCKS, INDEX_BLOCKS]))
}
