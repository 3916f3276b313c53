//! Davidson (section 3.6): a matrix of 17 MB, read in sequence once an iteration. At the start of
//! each iteration the program discloses the whole-file read of the next one; the first one is
//! disclosed as well.

use super::{Load, Script, in_a_row};

/// The matrix: 17 MB.
pub const BLOCKS: u64 = 2176;
/// Computing on a block. Fitted to Figure 10(a): more than 30 % less on one disk, more than 15 % on
/// many.
const THINK_NS: u64 = 850_000;

/// So many iterations.
pub fn load(passes: u64, hints: bool) -> Load {
    Load::of(in_a_row([BLOCKS]), script(passes, hints))
}

/// The program; the matrix is file 0.
pub(super) fn script(passes: u64, hints: bool) -> Script {
    let mut script = Script::new(hints);
    script.hint_all(0);
    for pass in 1..=passes {
        if pass < passes {
            script.hint_all(0);
        }
        for block in 0..BLOCKS {
            script.read(0, block);
            script.think(THINK_NS);
        }
    }
    script
}
