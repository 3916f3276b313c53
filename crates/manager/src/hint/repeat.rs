//! Passes over the same disclosures: `k` passes are disclosed two at a time, the one that is read
//! and the next, so that what was read in this pass is known to be wanted in the next, and a loop
//! of a million passes takes no more room than two.

use std::collections::VecDeque;

use crate::event::Want;
use crate::ids::FileId;

/// What is to be disclosed once the passes are through.
#[derive(Debug, Clone, Copy)]
pub enum Later {
    /// A disclosure.
    Hint(FileId, Want),
    /// The last so many are read so many times in all.
    Repeat(u64, u64),
}

/// A loop that is being read.
pub struct Repeat {
    /// What one pass discloses.
    pub pass: Vec<(FileId, Want)>,
    /// Passes that are not disclosed yet.
    pub left: u64,
    /// Where the last disclosed pass begins: when the cursor comes there, the next one is
    /// disclosed.
    pub last_begins: u64,
    /// Disclosures made since, which come after all passes.
    pub later: VecDeque<Later>,
}
