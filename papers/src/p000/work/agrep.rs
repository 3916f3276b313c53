//! agrep (section 3.2): the files of a directory, one after the other in the order of their names,
//! each in sequence. Disclosed when the program begins.
//!
//! Where they lie follows from section 3.1: they were copied into a new file system, here in
//! another order than that of the arguments, as `cp -r` and `tar` go by the directory. One
//! directory's files lie one behind the other in its cylinder group. One inode for 32 KB makes 312
//! of them in a group of 16 cylinders; FFS puts further files 1, then 2, 4, 8, ... groups up.

use super::{File, Load, Script};
use crate::Random;

/// One of the four searches: its name, its files, their blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Search {
    /// As in Figure 1.
    pub name: &'static str,
    /// Files.
    pub files: u64,
    /// Blocks of all of them.
    pub blocks: u64,
}

/// The searches of section 3.2.
pub const SEARCHES: [Search; 4] = [
    Search { name: "wood", files: 224, blocks: 358 },
    Search { name: "man3", files: 1352, blocks: 1556 },
    Search { name: "incl", files: 193, blocks: 260 },
    Search { name: "kern", files: 107, blocks: 183 },
];

/// Searching a block, its file's opening counted in. Fitted to Figure 3: 84 % less on an array.
const THINK_NS: u64 = 900_000;
/// A cylinder group: 16 cylinders of the outermost zone, and one inode for each 32 KB.
const GROUP_BLOCKS: u64 = 1248;
const GROUP_FILES: usize = 312;

/// A search.
pub fn load(search: Search, hints: bool) -> Load {
    let mut random = Random::new(search.blocks);
    let files = files(search, &mut random);
    let mut script = Script::new(hints);
    let numbers = 0..search.files as u32;
    numbers.clone().for_each(|file| script.hint_all(file));
    for file in numbers {
        for block in 0..files[file as usize].blocks {
            script.read(file, block);
            script.think(THINK_NS);
        }
    }
    Load::of(files, script)
}

/// Each file has a block, and what is left over falls on files at random.
fn files(Search { files, blocks, .. }: Search, random: &mut Random) -> Vec<File> {
    let mut lengths = vec![1; files as usize];
    for _ in files..blocks {
        lengths[random.below(files) as usize] += 1;
    }
    let mut on_disk: Vec<usize> = (0..lengths.len()).collect();
    random.shuffle(&mut on_disk);
    let mut places = vec![0; lengths.len()];
    for (in_group, nth) in on_disk.chunks(GROUP_FILES).zip(0..) {
        let mut end = ((1 << nth) - 1) * GROUP_BLOCKS;
        for &file in in_group {
            places[file] = end;
            end += lengths[file];
        }
    }
    places.into_iter().zip(lengths).map(|(place, blocks)| File { place, blocks }).collect()
}
