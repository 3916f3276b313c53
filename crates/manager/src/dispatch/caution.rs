//! A device on which reading ahead may cost more than it gains, as some mounts are.

use super::depth::Depth;
use crate::ids::{FileId, Time};
use crate::table::FastMap;

/// What a device gets on which reading ahead may cost more than it gains: requests that are not
/// merged beyond what one round trip brings, in the order of disclosure, and no more at once than a
/// program with some threads would send.
pub(super) const CAUTIOUS_CLUSTER_BLOCKS: u64 = 32;
pub(super) const CAUTIOUS_OUTSTANDING_MAX: u32 = 64;
/// Blocks of files that have as many requests as they may, passed over to find another file's:
/// sixteen small files' worth.
pub(super) const CAUTIOUS_PASSED_OVER_MAX: usize = 1024;

/// A device on which reading ahead may cost more than it gains.
#[derive(Debug, Clone, Default)]
pub(super) struct Caution {
    /// Blocks of the longest file that is fetched ahead though its reader said nothing of it.
    pub file_blocks_max: u64,
    /// Requests at once to one file, and what each file has.
    depth: Depth,
    outstanding: FastMap<u32, u32>,
}

impl Caution {
    /// Whether the file has as many requests as it may.
    pub fn is_full(&self, file: FileId) -> bool {
        self.outstanding.get(&file.0).is_some_and(|&requests| requests >= self.depth.requests())
    }

    /// A request for the file is sent.
    pub fn sent(&mut self, file: FileId) {
        *self.outstanding.entry(file.0).or_default() += 1;
    }

    /// It came to its end, with so many blocks.
    pub fn finished(&mut self, now: Time, file: FileId, blocks: u64) {
        let is_full = self.is_full(file);
        self.depth.finished(now, blocks, is_full);
        if let Some(requests) = self.outstanding.get_mut(&file.0) {
            *requests -= 1;
            if *requests == 0 {
                self.outstanding.remove(&file.0);
            }
        }
    }
}
