//! The link editor (section 5.1): a kernel from 25 MB of object files. It *almost never accesses the same data twice*, in many
//! small accesses, so a block is freed when all its data have been accessed.
//!
//! How it goes through an object file is not given. Here it makes two passes over all of them, as linkers do: the first reads
//! headers and symbols, at both ends of a file, the second what lies between. So two blocks of each file are read in both
//! passes, the one with the header and the one where the symbols begin; the others are freed at once.

use super::{Disk, File, MB, MS, Program, Script, small_files};
use crate::Random;

/// Object files, each of which ends in a block that is half full. Fitted, with what is written, to 5,201 block I/Os beside Read300.
const FILES: u64 = 800;
const OBJECT_BLOCKS: u64 = 25 * MB;
/// The part of a file that is symbols and strings, in percent. Assumed.
const SYMBOLS_PERCENT: u64 = 25;
/// The kernel that is written.
const KERNEL_BLOCKS: u64 = 4 * MB;
/// Linking a block. Assumed.
const THINK_NS: u64 = 2 * MS;

/// The link.
pub fn program() -> Program {
    let objects = small_files(FILES, OBJECT_BLOCKS, &mut Random::new(25));
    let mut script = Script::default();
    let read = |script: &mut Script, file: u32, block: u64, done: bool| {
        script.read(file, block);
        script.think(THINK_NS);
        if done {
            script.done_with(file, block);
        }
    };
    // Where the symbols begin.
    let symbols = |blocks: u64| (blocks - 1).saturating_sub(blocks * SYMBOLS_PERCENT / 100);
    for (File { blocks, .. }, file) in objects.iter().copied().zip(0..) {
        read(&mut script, file, 0, blocks == 1);
        for block in symbols(blocks).max(1)..blocks {
            read(&mut script, file, block, block > symbols(blocks));
        }
    }
    let (kernel, all) = (FILES as u32, objects.iter().map(|object| object.blocks).sum::<u64>());
    let (mut linked, mut written) = (0, 0);
    for (File { blocks, .. }, file) in objects.iter().copied().zip(0..) {
        for block in 0..=symbols(blocks) {
            read(&mut script, file, block, true);
        }
        linked += blocks;
        while written < KERNEL_BLOCKS * linked / all {
            script.write(kernel, written);
            script.done_with(kernel, written);
            written += 1;
        }
    }
    let files = objects.iter().copied().chain([File { place: all, blocks: KERNEL_BLOCKS }]).collect();
    script.program(Disk::Rz56, files)
}
