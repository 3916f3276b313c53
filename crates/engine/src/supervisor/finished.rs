//! What is left when a run has ended.

use std::ffi::OsString;
use std::path::PathBuf;

use foresee_manager::{Event, Statistics};

use crate::account::ProgramAccount;
use crate::host::MountAccount;
use crate::names::Names;
use crate::profile::{Profile, Recorder};
use crate::programs::UnseenProgram;

/// What a run came to: see [`crate::account::Account`] for these.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "documented there")]
pub struct Tally {
    pub by_program: Vec<ProgramAccount>,
    pub unseen: Vec<UnseenProgram>,
    pub statistics: Statistics,
    pub programs: u32,
    pub bytes_ahead: u64,
    pub method: &'static str,
    pub profile_steps: Option<usize>,
    pub records_lost: u64,
    pub warnings: Vec<String>,
    pub mounts: Vec<MountAccount>,
}

/// What is left of a run.
pub struct Finished {
    /// What it came to.
    pub tally: Tally,
    /// The run as recorded.
    pub recorder: Recorder,
    pub(super) names: Names,
    pub(super) learned: Vec<Event>,
    /// Some of the run was not told of.
    pub(super) was_quiet: bool,
    /// What the run went by.
    pub(super) before: Option<Profile>,
}

impl Finished {
    /// The run as a profile, and whether that is another than the one it went by. It is that one if some of this run was not told
    /// and that one holds more.
    pub fn into_profile(self, command: Vec<OsString>, directory: PathBuf) -> (Profile, bool) {
        let profile = self.recorder.finish(command, directory, &self.names);
        match self.before {
            Some(before) if self.was_quiet && before.steps.len() > profile.steps.len() => (before, false),
            before => {
                let truncated = profile.truncated || self.was_quiet;
                let profile = Profile { learned: self.learned, truncated, ..profile };
                let is_new = before.as_ref() != Some(&profile);
                (profile, is_new)
            }
        }
    }
}
