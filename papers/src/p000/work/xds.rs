//! XDataSlice (section 3.3): planes through a volume of 512^3 values of four bytes, in blocks of 16
//! x 16 x 8 that are stored with Z running fastest: block (x, y, z) is number (32 x + y) 64 + z.
//!
//! The file is laid out as FFS does: each cylinder group of 16 cylinders begins with 7 blocks of
//! its own (superblock, group, 312 inodes). These move the rows of the volume off each other's
//! disks; without them all of an X-Y slice would lie on one disk of two, of four or of eight. Here
//! each group's part is a file of its own.
//!
//! A slice is rendered in three steps: which blocks are needed (which are then disclosed), reading
//! them in ascending order, and colouring the pixels.

use super::{File, Load, Script};
use crate::Random;

/// Blocks along X and Y, and along Z.
const WIDE: u64 = 32;
const DEEP: u64 = 64;
/// Mapping the 512 x 512 pixels, and colouring them. Fitted to 'about two seconds' with hints.
const MAP_NS: u64 = 200_000_000;
const COLOUR_NS: u64 = 400_000_000;
/// Blocks of a cylinder group: its own, and the file's.
const GROUP_OWN_BLOCKS: u64 = 7;
const GROUP_FILE_BLOCKS: u64 = 1241;

/// The plane of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plane {
    /// Each block by itself.
    Xy,
    /// Rows of 64 blocks.
    Xz,
    /// All blocks in a row.
    Yz,
}

impl Plane {
    /// The three of Figure 1(c).
    pub const ALL: [Plane; 3] = [Plane::Xy, Plane::Xz, Plane::Yz];

    /// As in Figure 1(c).
    pub fn name(self) -> &'static str {
        match self {
            Plane::Xy => "X-Y",
            Plane::Xz => "X-Z",
            Plane::Yz => "Y-Z",
        }
    }

    /// The blocks of a slice at random, in ascending order.
    fn blocks(self) -> Vec<u64> {
        let mut random = Random::new(self as u64);
        let at = |x: u64, y: u64, z: u64| (x * WIDE + y) * DEEP + z;
        let pairs = |wide: u64, deep: u64| (0..wide).flat_map(move |a| (0..deep).map(move |b| (a, b)));
        match self {
            Plane::Xy => {
                let z = random.below(DEEP);
                pairs(WIDE, WIDE).map(|(x, y)| at(x, y, z)).collect()
            }
            Plane::Xz => {
                let y = random.below(WIDE);
                pairs(WIDE, DEEP).map(|(x, z)| at(x, y, z)).collect()
            }
            Plane::Yz => {
                let x = random.below(WIDE);
                pairs(WIDE, DEEP).map(|(y, z)| at(x, y, z)).collect()
            }
        }
    }
}

/// One slice.
pub fn load(plane: Plane, hints: bool) -> Load {
    let group = |block: u64| ((block / GROUP_FILE_BLOCKS) as u32, block % GROUP_FILE_BLOCKS);
    let blocks: Vec<(u32, u64)> = plane.blocks().into_iter().map(group).collect();
    let mut script = Script::new(hints);
    script.think(MAP_NS);
    blocks.iter().for_each(|&(file, block)| script.hint_block(file, block));
    blocks.iter().for_each(|&(file, block)| script.read(file, block));
    script.think(COLOUR_NS);
    Load::of(files(), script)
}

/// The volume, group by group.
fn files() -> Vec<File> {
    let groups = (WIDE * WIDE * DEEP).div_ceil(GROUP_FILE_BLOCKS);
    let place = |group| group * (GROUP_OWN_BLOCKS + GROUP_FILE_BLOCKS) + GROUP_OWN_BLOCKS;
    (0..groups).map(|group| File { place: place(group), blocks: GROUP_FILE_BLOCKS }).collect()
}
