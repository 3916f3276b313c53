//! Recorded runs: what a command read, in what order, by which of its processes; disclosed the next time the same command
//! is run in the same place.

mod format;
mod recorder;
mod store;

use std::ffi::OsString;
use std::path::PathBuf;

use foresee_manager::{Event, Want};

pub use recorder::Recorder;
pub use store::{Store, Stored};

/// Steps a profile holds at most: at some 10 bytes each before compression, what 4 GiB read in 4 KiB pieces needs.
pub const STEPS_MAX: usize = 1 << 20;

/// One thing that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Which file: an index into [`Profile::files`].
    pub file: u32,
    /// Which process, in the order they began.
    pub process: u32,
    /// What of it, in blocks of 4 KiB.
    pub want: Want,
    /// It was mapped, not read: no call will say that it is used.
    pub mapped: bool,
}

/// What a command read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Profile {
    /// The command and its arguments.
    pub command: Vec<OsString>,
    /// Where it was run.
    pub directory: PathBuf,
    /// The files, by absolute path.
    pub files: Vec<PathBuf>,
    /// What was read of them, in order.
    pub steps: Vec<Step>,
    /// More was read: there were more than [`STEPS_MAX`] steps, or programs read what was in memory and did not tell.
    pub truncated: bool,
    /// What the policy learned of call sites: what tells the next run's manager (004 section 4.3).
    pub learned: Vec<Event>,
}

impl Profile {
    /// Bytes its steps disclose, counting whole blocks.
    pub fn bytes(&self) -> u64 {
        let blocks = self.steps.iter().map(|step| match step.want {
            Want::Range { count, .. } => count,
            _ => 0,
        });
        blocks.fold(0, u64::saturating_add).saturating_mul(crate::host::BLOCK_BYTES)
    }
}
