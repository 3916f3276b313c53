//! What reads of each file came to, for who looks at a run while it goes on.

use std::time::Duration;

use foldhash::HashMap;
use foresee_manager::{Counted, FileId};

use super::{FIRST_RUN, Supervisor, Tally};
use crate::account::FileAccount;

/// Files that are told apart; of a run that reads more, those it met first.
const FILES_MAX: usize = 65_536;
/// Files that are told of at one time.
const TOLD_MAX: usize = 32;

/// By file: its reads that were told, time in those that waited, blocks that were on their way, and
/// blocks that were neither here nor on their way.
#[derive(Default)]
pub(super) struct ByFile(HashMap<FileId, Reads>);

#[derive(Default, Clone, Copy)]
struct Reads {
    reads: u64,
    stall: Duration,
    late: u64,
    missed: u64,
}

impl ByFile {
    /// A read of this file took so long, if it waited, and came to this.
    pub fn read(&mut self, file: FileId, waited: Option<Duration>, counted: Counted) {
        if self.0.len() >= FILES_MAX && !self.0.contains_key(&file) {
            return;
        }
        let reads = self.0.entry(file).or_default();
        reads.reads += 1;
        reads.stall += waited.unwrap_or_default();
        reads.late += counted.late_hits;
        reads.missed += counted.misses;
    }
}

impl Supervisor<'_> {
    /// What the run came to so far, and the files that it waited for most.
    pub fn so_far(&mut self) -> (Tally, Vec<FileAccount>) {
        self.ring.count_all_in();
        let mut files: Vec<(FileId, Reads)> = self.by_file.0.iter().map(|(&file, &reads)| (file, reads)).collect();
        files.sort_unstable_by_key(|(_, reads)| std::cmp::Reverse((reads.stall, reads.reads)));
        files.truncate(TOLD_MAX);
        let told = files.into_iter().map(|(file, Reads { reads, stall, late, missed })| {
            let path = self.names.path(file).to_owned();
            FileAccount { path, reads, stall, late, missed }
        });
        let told = told.collect();
        (self.tally(FIRST_RUN), told)
    }
}
