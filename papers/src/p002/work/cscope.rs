//! cscope (section 5.1). A search for symbols reads its database, 9 MB for 18 MB of source, from end to end; one for text reads
//! all source files in the same order. Both advise MRU.
//!
//! The paper gives 18 MB and 10 MB of source, not how many files that is. cs2 beside Read300 makes 9,760 block I/Os with some
//! 700 blocks kept in each of three further searches: some 2,930 blocks, so 1,250 files, each ending in a block that is half
//! full. The other package must fit in 12 MB, or it would save more time there than anything does in the paper: 400 files.

use super::{Disk, File, MB, MS, Program, Script, in_a_row, small_files};
use crate::Random;

const SYMBOLS: u64 = 8;
const TEXTS: u64 = 4;
/// `cscope.out` for 18 MB of source: 9 MB (section 5.2), and so much less that over 80 % are saved where the cache has 8 MB.
const DATABASE_BLOCKS: u64 = 1110;
/// Searching a block of the database. Fitted: over 45 % of the time is saved at best.
const SYMBOL_NS: u64 = 45 * MS / 10;
/// Searching a block of source. Assumed.
const TEXT_NS: u64 = 3 * MS;

/// A package of source: its megabytes and its files (fitted, see above).
#[derive(Debug, Clone, Copy)]
pub struct Package {
    mb: u64,
    files: u64,
}

/// The larger package.
pub const LARGE: Package = Package { mb: 18, files: 1250 };
/// The smaller one.
pub const SMALL: Package = Package { mb: 10, files: 400 };

/// Searches for symbols.
pub fn symbols() -> Program {
    let mut script = Script::default();
    script.priority(0, 0);
    script.mru(0);
    search(&mut script, SYMBOLS, &in_a_row([DATABASE_BLOCKS]), SYMBOL_NS);
    script.program(Disk::Rz56, in_a_row([DATABASE_BLOCKS]))
}

/// Searches for texts in a package.
pub fn texts(Package { mb, files }: Package) -> Program {
    let files = small_files(files, mb * MB, &mut Random::new(mb));
    let mut script = Script::default();
    script.mru(0);
    search(&mut script, TEXTS, &files, TEXT_NS);
    script.program(Disk::Rz56, files)
}

fn search(script: &mut Script, times: u64, files: &[File], think_ns: u64) {
    for _ in 0..times {
        for (file, number) in files.iter().zip(0..) {
            for block in 0..file.blocks {
                script.read(number, block);
                script.think(think_ns);
            }
        }
    }
}
