//! dinero (section 5.1): a cache simulator reads a trace of 8 MB once for each of several caches: lines of 32, 64 and 128 bytes,
//! associativities of 1, 2 and 4. It advises MRU.

use super::{Disk, MS, Program, Script, in_a_row};

/// About 8 MB.
const TRACE_BLOCKS: u64 = 1000;
const SIMULATIONS: u64 = 9;
/// Simulating a block of the trace. Fitted to 155 s beside Read300, most of them the processor's.
const THINK_NS: u64 = 9 * MS;

/// The simulations.
pub fn program() -> Program {
    let mut script = Script::default();
    script.priority(0, 0);
    script.mru(0);
    for _ in 0..SIMULATIONS {
        for block in 0..TRACE_BLOCKS {
            script.read(0, block);
            script.think(THINK_NS);
        }
    }
    script.program(Disk::Rz56, in_a_row([TRACE_BLOCKS]))
}
