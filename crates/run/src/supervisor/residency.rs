//! What we believe to be in memory is checked against the kernel, a part of one file at a time:
//! what it gave up by itself must be fetched again if it is disclosed again.

use std::ops::Range;

use foldhash::HashMap;
use foresee_manager::{Block, FileId};

use super::{Met, Supervisor};
use crate::host::BLOCK_BYTES;

/// Blocks whose residency is checked at one time, and in one question: 128 system calls of a
/// microsecond at most. The kernel gives pages up in order of age, so that neighbours go together.
const CHECKED_AT_ONCE: u64 = 4096;
const CHECKED_TOGETHER: u64 = 32;

/// What was brought first of what is not read yet, of which so many are looked at when one of them
/// is gone: as many system calls at most.
const BROUGHT_FIRST: usize = 256;

/// Up to where each file's residency was checked last.
#[derive(Default)]
pub(super) struct Checked(HashMap<FileId, u64>);

impl Supervisor<'_> {
    pub(super) fn check_residency(&mut self) {
        if let Some(file) = self.driver.host.sample() {
            self.check_next_part(file);
        }
    }

    /// The kernel gave this block up by itself. What else of it is gone? It goes by age: of what was
    /// brought and not read, what came first goes first, wherever it lies, and that is read next.
    pub(super) fn check_beside(&mut self, block: Block) {
        let brought = self.driver.manager().brought_with(block).take(BROUGHT_FIRST);
        let mut runs: Vec<Range<u64>> = Vec::new();
        for Block { index, .. } in brought.filter(|it| it.file == block.file) {
            match runs.last_mut() {
                Some(run) if run.end == index && run.end - run.start < CHECKED_TOGETHER => run.end += 1,
                _ => runs.push(index..index + 1),
            }
        }
        self.driver.host.check(block.file, runs, &Met(&self.names, &self.ring));
        self.check_from(block.file, block.index);
    }

    /// Checks a file from this block on.
    fn check_from(&mut self, file: FileId, first: u64) {
        self.checked.0.insert(file, first);
        self.check_next_part(file);
    }

    /// Checks the part of a file that comes after what was checked of it last.
    fn check_next_part(&mut self, file: FileId) {
        let blocks = self.sizes.get(&file).map_or(0, |size| size.div_ceil(BLOCK_BYTES));
        let first = match self.checked.0.remove(&file) {
            Some(first) if first < blocks => first,
            _ => 0,
        };
        let end = blocks.min(first + CHECKED_AT_ONCE);
        self.checked.0.insert(file, end);
        let parts = (first..end).step_by(CHECKED_TOGETHER as usize);
        let parts = parts.map(|part| part..end.min(part + CHECKED_TOGETHER));
        let is_believed = |index| self.driver.manager().is_present(Block { file, index });
        let believed = parts.filter(|part| part.clone().any(is_believed)).collect();
        self.driver.host.check(file, believed, &Met(&self.names, &self.ring));
    }
}
