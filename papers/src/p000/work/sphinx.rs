//! Sphinx (section 3.5): 18 seconds of speech in frames of 10 ms. At the end of each, some 100 byte
//! ranges of a language model of several hundred megabytes are consulted, of which all but a few
//! are in the program's own cache; how many has a large variance. They are disclosed together, and
//! read one after the other.

use super::{Load, Script, in_a_row};
use crate::Random;

const FRAMES: u64 = 1800;
/// The language model: 320 MB.
const BLOCKS: u64 = 40_960;
/// The frames that read anything at all, in percent, and the most that one reads. Assumed.
const BUSY_PERCENT: u64 = 20;
const RANGES_MAX: u64 = 25;
/// Recognising a frame. Fitted to Figure 3: 20 % less on an array.
const FRAME_NS: u64 = 100_000_000;

/// The recording.
pub fn load(hints: bool) -> Load {
    let mut random = Random::new(5);
    let mut script = Script::new(hints);
    for _ in 0..FRAMES {
        script.think(FRAME_NS);
        let ranges = if random.below(100) < BUSY_PERCENT { 1 + random.below(RANGES_MAX) } else { 0 };
        let blocks: Vec<u64> = (0..ranges).map(|_| random.below(BLOCKS)).collect();
        blocks.iter().for_each(|&block| script.hint_block(0, block));
        blocks.iter().for_each(|&block| script.read(0, block));
    }
    Load::of(in_a_row([BLOCKS]), script)
}
