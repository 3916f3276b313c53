//! Postgres (section 3.4): a join of 20,000 tuples in 3.2 MB with 200,000 in 32 MB that are indexed
//! in 5 MB.
//!
//! One tuple in five finds a match, in a leaf and a block of the inner relation at random. The keys
//! that match nothing lie beyond the inner relation's, as where both are drawn from ranges of
//! unlike length: their look-ups all end in the index's last leaf, which Postgres has in its own
//! buffers, as it has the index's root. The output is written behind the program's back.

use super::{Load, Script, in_a_row};
use crate::Random;

const OUTER: u32 = 0;
const INNER: u32 = 1;
const INDEX: u32 = 2;
/// Their blocks.
const OUTER_BLOCKS: u64 = 400;
const INNER_BLOCKS: u64 = 4096;
const INDEX_BLOCKS: u64 = 640;
const TUPLES_A_BLOCK: u64 = 50;
/// One in so many tuples finds a match.
const TUPLES_A_MATCH: u64 = 5;
/// Reading a tuple, looking it up and joining it. Fitted to Figure 3: 55 % less on an array.
const TUPLE_NS: u64 = 1_400_000;

/// How the join is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// Look up each outer tuple, and read its match.
    Standard,
    /// Look all up first, then read the matches.
    Precompute,
    /// The same, and both are disclosed.
    Hints,
}

impl Join {
    /// The three of Figure 2(a).
    pub const ALL: [Join; 3] = [Join::Standard, Join::Precompute, Join::Hints];

    /// As in Figure 2(a).
    pub fn name(self) -> &'static str {
        match self {
            Join::Standard => "standard",
            Join::Precompute => "precompute",
            Join::Hints => "precompute and hints",
        }
    }
}

/// An outer tuple: the leaf that it is found in and the block of its match, if it has one.
type Tuple = Option<(u64, u64)>;

/// The join.
pub fn load(join: Join) -> Load {
    let mut random = Random::new(4);
    let mut tuple = || -> Tuple {
        let matches = random.below(TUPLES_A_MATCH) == 0;
        matches.then(|| (random.below(INDEX_BLOCKS), random.below(INNER_BLOCKS)))
    };
    let mut block = || -> Vec<Tuple> { (0..TUPLES_A_BLOCK).map(|_| tuple()).collect() };
    let outer: Vec<Vec<Tuple>> = (0..OUTER_BLOCKS).map(|_| block()).collect();
    let mut script = Script::new(join == Join::Hints);
    if join == Join::Standard {
        scan(&outer, &mut script, TUPLE_NS, |script, (leaf, block)| {
            script.read(INDEX, leaf);
            script.read(INNER, block);
        });
    } else {
        script.hint_all(OUTER);
        scan(&outer, &mut script, TUPLE_NS / 2, |script, (leaf, _)| script.read(INDEX, leaf));
        for (tuples, at) in outer.iter().zip(0..) {
            script.hint_block(OUTER, at);
            tuples.iter().flatten().for_each(|&(_, block)| script.hint_block(INNER, block));
        }
        scan(&outer, &mut script, TUPLE_NS / 2, |script, (_, block)| script.read(INNER, block));
    }
    Load::of(in_a_row([OUTER_BLOCKS, INNER_BLOCKS, INDEX_BLOCKS]), script)
}

/// Reads the outer relation, and does something for each match.
fn scan(outer: &[Vec<Tuple>], script: &mut Script, tuple_ns: u64, matched: impl Fn(&mut Script, (u64, u64))) {
    for (tuples, at) in outer.iter().zip(0..) {
        script.read(OUTER, at);
        for tuple in tuples {
            script.think(tuple_ns);
            if let Some(found) = *tuple {
                matched(script, found);
            }
        }
    }
}
