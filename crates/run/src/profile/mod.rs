//! Recorded runs: what a command read, in what order, by which of its processes; disclosed the next
//! time the same command is run in the same place. Where it never was, what the runs most like it
//! read is disclosed ([`related`]).

mod done;
mod findings;
mod format;
mod moves;
mod order;
mod recorder;
mod related;
mod store;
mod union;

use std::ffi::OsString;
use std::path::PathBuf;

use foresee_manager::{Event, Want};

pub use done::Done;
pub use findings::Findings;
pub use recorder::Recorder;
pub use related::{is_alike, related, together};
pub use store::{Store, Stored, export, import};
use union::Union;

pub use crate::paths::Paths;

/// Steps a profile holds at most: at some 10 bytes each before compression, what 4 GiB read in 4
/// KiB pieces needs.
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
    /// Which of the profile's runs read it, a bit each: the lowest is the last run.
    pub runs: u8,
}

/// Runs of which a profile says what each read.
pub const RUNS_MAX: u32 = u8::BITS;

/// What a command read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Profile {
    /// The command and its arguments.
    pub command: Vec<OsString>,
    /// Where it was run.
    pub directory: PathBuf,
    /// The file that was executed: of a script its interpreter. Empty where that is not known.
    pub program: PathBuf,
    /// Runs that the profile is of, the last [`RUNS_MAX`] at most.
    pub runs: u32,
    /// The files, by absolute path.
    pub files: Paths,
    /// What was read of them, in order.
    pub steps: Vec<Step>,
    /// More was read: there were more than [`STEPS_MAX`] steps, or programs read what was in memory
    /// and did not tell.
    pub truncated: bool,
    /// Its runs read the same in another order each.
    pub is_unordered: bool,
    /// What the policy learned: what tells the next run's manager (004 section 4.3).
    pub learned: Vec<Event>,
    /// What its runs found of themselves.
    pub findings: Findings,
}

/// What is known of earlier runs.
#[derive(Debug, Default)]
pub enum Earlier {
    /// Nothing.
    #[default]
    Nothing,
    /// What the same command read in the same place.
    Own(Profile),
    /// What a run read that was nearly the same: of the same words elsewhere, or of a word more or
    /// less.
    Alike(Profile),
    /// What the runs most like it read.
    Related(Profile),
}

impl Earlier {
    /// What there is.
    pub fn profile(&self) -> Option<&Profile> {
        match self {
            Earlier::Own(profile) | Earlier::Alike(profile) | Earlier::Related(profile) => Some(profile),
            Earlier::Nothing => None,
        }
    }

    /// Whose it is, in a word for programs.
    pub fn word(&self) -> Option<&'static str> {
        match self {
            Earlier::Own(_) => Some("own"),
            Earlier::Alike(_) => Some("alike"),
            Earlier::Related(_) => Some("related"),
            Earlier::Nothing => None,
        }
    }
}

impl Profile {
    /// Whether most of its runs read this.
    pub fn is_common(&self, step: &Step) -> bool {
        2 * step.runs.count_ones() > self.runs
    }

    /// This run, the last one, together with what is known of those before. What one of them alone
    /// read is forgotten: it was not read again.
    #[must_use]
    pub fn after(self, before: &Profile) -> Profile {
        let mut union = Union::of(&self);
        union.add(before, |runs| runs << 1, |path, add| add(path));
        let (files, mut steps, is_another_order) = union.into_steps();
        let is_unordered = is_another_order.unwrap_or(before.is_unordered);
        steps.retain(|step| step.runs & 1 != 0 || step.runs.count_ones() > 1);
        let runs = (before.runs + 1).min(RUNS_MAX);
        let truncated = self.truncated || steps.len() > STEPS_MAX;
        steps.truncate(STEPS_MAX);
        Profile { files, steps, runs, truncated, is_unordered, ..self }
    }

    /// Whether both say that the same was read in the same order.
    pub fn says_the_same_as(&self, other: &Profile) -> bool {
        let last = |profile: &Profile| profile.steps.iter().filter(|step| step.runs & 1 != 0).count();
        let both = || self.steps.iter().filter(|step| step.runs & 1 != 0);
        let others = other.steps.iter().filter(|step| step.runs & 1 != 0);
        let is_same = |(a, b): (&Step, &Step)| {
            (a.want, a.mapped) == (b.want, b.mapped)
                && self.files[a.file].as_os_str() == other.files[b.file].as_os_str()
        };
        last(self) == last(other) && both().zip(others).all(is_same)
    }

    /// Bytes its steps disclose, counting whole blocks.
    pub fn bytes(&self) -> u64 {
        let blocks = self.steps.iter().map(|step| match step.want {
            Want::Range { count, .. } => count,
            _ => 0,
        });
        blocks.fold(0, u64::saturating_add).saturating_mul(crate::host::BLOCK_BYTES)
    }
}
