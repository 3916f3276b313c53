//! What we believe to be in memory is checked against the kernel, a part of one file at a time:
//! what it gave up by itself must be fetched again if it is disclosed again. What a program
//! discloses of it is checked at once: of many small files none would be looked at before it is
//! read.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::{Duration, Instant};

use foldhash::HashMap;
use foresee_manager::{Block, FileId, Want};

use super::{Met, Supervisor};
use crate::host::BLOCK_BYTES;

/// Blocks whose residency is checked at one time, and in one question: 128 system calls of a
/// microsecond at most. The kernel gives pages up in order of age, so that neighbours go together.
const CHECKED_AT_ONCE: u64 = 4096;
const CHECKED_TOGETHER: u64 = 32;

/// What was brought first of what is not read yet, of which so many are looked at when one of them
/// is gone, in so many files; but not twice in so long: each file is opened for that, and each wait
/// asks until the answer is here.
const BROUGHT_FIRST: usize = 256;
const FILES_BESIDE: usize = 32;
const BESIDE_AFTER: Duration = Duration::from_millis(5);

/// Parts that wait to be checked: of 8 GiB. What is disclosed beyond is checked as it was before, a
/// part of a file at a time.
const PARTS_MAX: usize = 1 << 16;

/// What was checked, and what is to be.
#[derive(Default)]
pub(super) struct Checked {
    /// Up to where each file's residency was checked last.
    up_to: HashMap<FileId, u64>,
    /// What was disclosed, or disclosed and given up: parts of [`CHECKED_TOGETHER`] blocks by their
    /// number in the file.
    disclosed: BTreeSet<(FileId, u64)>,
    /// When it was asked last what else is gone.
    beside: Option<Instant>,
}

impl Supervisor<'_> {
    pub(super) fn check_residency(&mut self) {
        if let Some(file) = self.driver.host.sample() {
            self.check_next_part(file);
        }
    }

    /// The kernel gave this block up by itself. What else of it is gone? It goes by age: of what was
    /// brought and not read, what came first goes first, wherever it lies, and that is read next.
    pub(super) fn check_beside(&mut self, block: Block) {
        let now = Instant::now();
        if self.checked.beside.is_none_or(|at| now - at >= BESIDE_AFTER) {
            self.checked.beside = Some(now);
            let mut files = BTreeSet::new();
            let is_near = |it: &Block| files.contains(&it.file) || files.len() < FILES_BESIDE && files.insert(it.file);
            let brought = self.driver.manager().brought_with(block).take(BROUGHT_FIRST);
            let mut near: Vec<Block> = brought.take_while(is_near).collect();
            near.sort_unstable();
            self.check(by_file(near));
        }
        self.check_from(block.file, block.index);
    }

    /// A program disclosed this, or had the kernel give it up: if it is disclosed, what of it is
    /// believed to be in memory is to be checked.
    pub(super) fn check_again(&mut self, file: FileId, want: Want) {
        let manager = self.driver.manager();
        if manager.sources_of(file).next().is_none() {
            return;
        }
        let blocks = manager.blocks_of(file);
        let (first, end) = match want {
            Want::All => (0, blocks),
            Want::Range { first, count } => (first, first.saturating_add(count).min(blocks)),
            Want::Name => return,
        };
        let parts = first / CHECKED_TOGETHER..end.div_ceil(CHECKED_TOGETHER);
        let room = PARTS_MAX.saturating_sub(self.checked.disclosed.len());
        self.checked.disclosed.extend(parts.take(room).map(|part| (file, part)));
    }

    /// Checks what is to be, as far as that takes no longer than a part of a file does.
    pub(super) fn check_disclosed(&mut self) {
        let manager = self.driver.manager();
        let mut believed = Vec::new();
        for _ in 0..CHECKED_AT_ONCE / CHECKED_TOGETHER {
            let Some((file, part)) = self.checked.disclosed.pop_first() else { break };
            let blocks = (part * CHECKED_TOGETHER..(part + 1) * CHECKED_TOGETHER).map(|index| Block { file, index });
            believed.extend(blocks.filter(|&block| manager.is_present(block)));
        }
        self.check(by_file(believed));
    }

    fn check(&mut self, files: BTreeMap<FileId, Vec<Range<u64>>>) {
        for (file, runs) in files {
            self.driver.host.check(file, runs, &Met(&self.names, &self.ring));
        }
    }

    /// Checks a file from this block on.
    fn check_from(&mut self, file: FileId, first: u64) {
        self.checked.up_to.insert(file, first);
        self.check_next_part(file);
    }

    /// Checks the part of a file that comes after what was checked of it last.
    fn check_next_part(&mut self, file: FileId) {
        let blocks = self.sizes.get(&file).map_or(0, |size| size.div_ceil(BLOCK_BYTES));
        let first = match self.checked.up_to.remove(&file) {
            Some(first) if first < blocks => first,
            _ => 0,
        };
        let end = blocks.min(first + CHECKED_AT_ONCE);
        self.checked.up_to.insert(file, end);
        let parts = (first..end).step_by(CHECKED_TOGETHER as usize);
        let parts = parts.map(|part| part..end.min(part + CHECKED_TOGETHER));
        let is_believed = |index| self.driver.manager().is_present(Block { file, index });
        let believed = parts.filter(|part| part.clone().any(is_believed)).collect();
        self.driver.host.check(file, believed, &Met(&self.names, &self.ring));
    }
}

/// The runs in which these blocks are asked about, by their files.
fn by_file(blocks: impl IntoIterator<Item = Block>) -> BTreeMap<FileId, Vec<Range<u64>>> {
    let mut files: BTreeMap<FileId, Vec<Range<u64>>> = BTreeMap::new();
    for Block { file, index } in blocks {
        let runs = files.entry(file).or_default();
        match runs.last_mut() {
            Some(run) if run.end == index && run.end - run.start < CHECKED_TOGETHER => run.end += 1,
            _ => runs.push(index..index + 1),
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_asked_about_together() {
        let block = |(file, index)| Block { file: FileId(file), index };
        let blocks = [(1, 7), (1, 8), (1, 10), (2, 11), (2, 12), (2, 14)].map(block);
        let long = (100..140).map(|index| block((3, index)));
        let runs = |file, runs: &[Range<u64>]| (FileId(file), runs.to_vec());
        let expected = [runs(1, &[7..9, 10..11]), runs(2, &[11..13, 14..15]), runs(3, &[100..132, 132..140])];
        assert_eq!(by_file(blocks.into_iter().chain(long)), BTreeMap::from(expected));
    }
}
