//! sort (section 5.1): 200,000 lines, 17 MB. It writes sorted runs to temporary files, then merges eight of them at a time, in
//! the order in which they were made, until one is left. The input has priority -1, what is temporary 0, both are MRU, and a
//! block that was read is done with.
//!
//! How long a run is depends on the memory sort takes, which is not given: a megabyte here, so seventeen runs. Two merges of
//! eight leave three files, and the last merge writes the output.

use std::collections::VecDeque;

use super::{Disk, File, MB, MS, Program, Script, in_a_row};

const INPUT: u32 = 0;
const INPUT_BLOCKS: u64 = 17 * MB;
const RUN_BLOCKS: u64 = MB;
const WAYS: usize = 8;
/// Sorting a block, and merging one. Assumed.
const SORT_NS: u64 = 10 * MS;
const MERGE_NS: u64 = 5 * MS;

/// The sort.
pub fn program() -> Program {
    let mut script = Script::default();
    script.mru(-1);
    script.mru(0);
    script.priority(INPUT, -1);
    let mut lengths = vec![INPUT_BLOCKS];
    let mut runs: VecDeque<u32> = VecDeque::new();
    for first in (0..INPUT_BLOCKS).step_by(RUN_BLOCKS as usize) {
        let blocks = RUN_BLOCKS.min(INPUT_BLOCKS - first);
        for block in first..first + blocks {
            consume(&mut script, INPUT, block);
            script.think(SORT_NS);
        }
        runs.push_back(lengths.len() as u32);
        (0..blocks).for_each(|block| script.write(lengths.len() as u32, block));
        lengths.push(blocks);
    }
    while runs.len() > 1 {
        let merged: Vec<u32> = runs.drain(..WAYS.min(runs.len())).collect();
        let output = lengths.len() as u32;
        lengths.push(merge(&mut script, &merged, &lengths, output));
        runs.push_back(output);
    }
    let files: Vec<File> = in_a_row(lengths);
    script.program(Disk::Rz26, files)
}

/// Reads a block to its end.
fn consume(script: &mut Script, file: u32, block: u64) {
    script.read(file, block);
    script.done_with(file, block);
}

/// Merges files into one: keys are random, so all are through at the same time. Returns its length.
fn merge(script: &mut Script, merged: &[u32], lengths: &[u64], output: u32) -> u64 {
    let blocks: u64 = merged.iter().map(|&file| lengths[file as usize]).sum();
    let mut read = vec![0; merged.len()];
    for block in 0..blocks {
        for (&file, read) in merged.iter().zip(&mut read) {
            // As far as the output is, and one block ahead.
            while *read < lengths[file as usize] && *read * blocks <= block * lengths[file as usize] {
                consume(script, file, *read);
                *read += 1;
            }
        }
        script.think(MERGE_NS);
        script.write(output, block);
    }
    merged.iter().for_each(|&file| script.remove(file));
    blocks
}
