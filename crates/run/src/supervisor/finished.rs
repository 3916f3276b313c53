//! What is left when a run has ended.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use foresee_manager::{Event, Statistics};

use super::quiet::Told;
use super::{FIRST_RUN, RUN, Supervisor};
use crate::account::{Account, ProgramAccount};
use crate::host::MountAccount;
use crate::names::Names;
use crate::profile::{Findings, Profile, Recorder};
use crate::programs::UnseenProgram;

/// What the end of a run waits at most for reads that are under way. On a network they are over by
/// then; nobody shall wait for a disk that has more to do.
const END_MAX: Duration = Duration::from_millis(20);

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
    pub profile_of: Option<&'static str>,
    pub profile_steps: Option<usize>,
    pub records_lost: u64,
    pub suspended: Duration,
    pub warnings: Vec<String>,
    pub mounts: Vec<MountAccount>,
}

/// What must have been brought from devices before a run says of its command that this does not pay:
/// what lies in memory may not, the next time.
const BROUGHT_MIN: u64 = 256;

/// All was in memory if less than such a part was not: what is slow by chance seems brought.
const ELSEWHERE_PART: u64 = 64;
/// Who waited for less than such a part of the time, where nothing came from a device, waited for no
/// mount either: locks and other programs take their time as well.
const WAITED_PART: u32 = 8;

/// What is left of a run.
pub struct Finished {
    /// What it came to.
    pub tally: Tally,
    /// The run as recorded.
    pub recorder: Recorder,
    pub(super) names: Names,
    pub(super) learned: Vec<Event>,
    /// What those before it found, and whether it found that reading ahead does not pay.
    pub(super) findings: Findings,
    pub(super) in_vain: Option<bool>,
    /// Blocks and names that had to be brought from devices, and what programs told.
    pub(super) brought: u64,
    pub(super) told: Told,
    /// Some of the run was not told of.
    pub(super) was_quiet: bool,
    /// How it began was not.
    pub(super) was_quiet_at_first: bool,
    /// What earlier runs of the command read, if that is known.
    pub(super) before: Option<Profile>,
}

impl Finished {
    /// Steps that earlier runs of the command are known to have taken.
    pub fn steps_before(&self) -> usize {
        self.before.as_ref().map_or(0, |before| before.steps.len())
    }

    /// What it found of itself, of which this is the account, with what those before it did.
    pub fn findings(&self, account: &Account) -> Findings {
        self.findings.after(self.in_vain, self.was_in_memory(account))
    }

    /// Whether all that programs read was in memory; None if none of what was told says otherwise, and
    /// the beginning was not. Who maps files does not say itself when it waits: to find out takes as
    /// long as what is then read.
    fn was_in_memory(&self, account: &Account) -> Option<bool> {
        let is_read = account.transfers.is_none_or(|it| it.from_devices * ELSEWHERE_PART > it.given);
        let is_brought = self.brought * ELSEWHERE_PART > self.told.calls;
        let is_elsewhere = self.told.maps || is_read || is_brought || self.told.waited * WAITED_PART > account.elapsed;
        if is_elsewhere { Some(false) } else { (!self.was_quiet_at_first).then_some(true) }
    }

    /// The run, with those before it, as a profile with these findings, and whether that says anything
    /// new. Of a run of which some was not told, and that told less than is known, nothing is kept; nor
    /// is anything of one of which the beginning was not.
    pub fn into_profile(
        self,
        command: Vec<OsString>,
        directory: PathBuf,
        program: PathBuf,
        findings: Findings,
    ) -> (Profile, bool) {
        let is_sample = self.recorder.is_sample;
        let run = self.recorder.finish(command, directory, program, &self.names);
        let truncated = run.truncated || self.was_quiet;
        let run = Profile { learned: self.learned, truncated, findings, ..run };
        match self.before {
            Some(before) if self.was_quiet_at_first => (before, false),
            Some(before) if self.was_quiet && before.steps.len() > run.steps.len() => (before, false),
            Some(before) if is_sample => (before, false),
            // Whether a run in the same order is long enough to say that there is one shows as they are united.
            Some(before) if !before.is_unordered && run.says_the_same_as(&before) => {
                let is_new = before.learned != run.learned;
                (Profile { learned: run.learned, ..before }, is_new)
            }
            Some(before) => (run.after(&before), true),
            None => (run, !is_sample),
        }
    }
}

impl Supervisor<'_> {
    /// What a run came to so far.
    pub(super) fn tally(&mut self, run: u32) -> Tally {
        let of_run = |warning: &&(u32, String)| warning.0 == run;
        let by_program = self.ring.processes.programs().of_run(run).into_iter().map(|program| ProgramAccount {
            name: program.name,
            executions: program.executions,
            reads: program.counters.reads,
            bytes: program.counters.bytes,
            stall: self.ring.duration(program.counters.stall_ticks),
            missed: program.missed,
        });
        let host = &self.driver.host;
        Tally {
            by_program: by_program.collect(),
            unseen: self.ring.processes.programs().unseen_of_run(run),
            statistics: self.driver.manager().statistics().clone(),
            programs: self.ring.processes.count(run),
            bytes_ahead: host.bytes_fetched(),
            method: host.method(),
            profile_of: self.recorded.word(),
            profile_steps: self.recorded.profile().map(|profile| profile.steps.len()),
            suspended: self.suspension.suspended,
            records_lost: self.ring.lost() + self.outside.lost(),
            warnings: self.warnings.iter().filter(of_run).map(|(_, warning)| warning.clone()).collect(),
            mounts: host.mount_accounts(),
        }
    }

    /// Ends the run: what is still disclosed will not be read.
    pub fn finish(mut self) -> Finished {
        // Programs that outlive the command go on posting unless told; what is in the ring by now is taken
        // in.
        self.ring.region.close();
        self.catch_up();
        self.driver.host.remember();
        for reader in self.library.readers().into_iter().chain([RUN]) {
            self.tell(Event::ReaderExited { reader });
        }
        self.driver.host.let_go(END_MAX);
        // A policy that does not learn leaves what another one did.
        let mut learned = self.driver.manager().learned();
        if learned.is_empty() {
            learned = self.recorded.profile().map(|profile| profile.learned.clone()).unwrap_or_default();
        }
        let tally = self.tally(FIRST_RUN);
        let was_quiet_at_first = self.quiet.was_quiet_at_first();
        let was_quiet = self.quiet.was_quiet() || self.outside.has_rested() || self.is_too_large();
        let (recorder, names) = (self.recorder, self.names);
        let host = &self.driver.host;
        let brought = host.brought() + host.names_brought();
        let was_brought = brought >= BROUGHT_MIN;
        let in_vain = self.suspension.was_found_in_vain().filter(|&in_vain| was_brought || !in_vain);
        Finished {
            tally,
            recorder,
            names,
            learned,
            findings: self.recorded.findings(),
            in_vain,
            brought,
            told: self.quiet.told(),
            was_quiet,
            was_quiet_at_first,
            before: self.recorded.into_own(),
        }
    }
}
