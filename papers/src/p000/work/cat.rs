//! `cat`: files read in sequence with next to no computing, and no hints. Alone, a large one
//! (section 3.1); beside Davidson, one of 10 MB again and again (section 6.2).

use foresee_manager::ReaderId;

use super::{Load, Script, davidson, in_a_row};

/// The file beside Davidson: 10 MB.
pub const BLOCKS: u64 = 1280;
/// The part of the 1 GB file that is read here; the rest is like it.
const LARGE_BLOCKS: u64 = 16_384;

/// `cat 1GB_file > /dev/null`.
pub fn large() -> Load {
    let mut script = Script::new(false);
    (0..LARGE_BLOCKS).for_each(|block| script.read(0, block));
    Load::of(in_a_row([LARGE_BLOCKS]), script)
}

/// The bytes of [`large`].
pub fn large_mb() -> f64 {
    (LARGE_BLOCKS * super::super::machine::BLOCK_BYTES) as f64 / 1e6
}

/// `cat 10MB_file ... 10MB_file > /dev/null` as reader 1, beside Davidson with hints as reader 0,
/// which is not through before.
pub fn beside_davidson(passes: u64, davidson_passes: u64) -> Load {
    let mut script = Script::new(false);
    for _ in 0..passes {
        (0..BLOCKS).for_each(|block| script.read(1, block));
    }
    let readers = vec![davidson::script(davidson_passes, true).reader(ReaderId(0)), script.reader(ReaderId(1))];
    Load { files: in_a_row([davidson::BLOCKS, BLOCKS]), readers }
}
