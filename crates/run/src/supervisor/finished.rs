//! What is left when a run has ended.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use foresee_manager::{Event, Statistics};

use super::quiet::Heard;
use super::{FIRST_RUN, RUN, Supervisor};
use crate::account::{Account, Ending, ProgramAccount};
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
    pub going_on: Vec<String>,
}

/// What must have been brought from devices before a run says of its command that this does not pay:
/// what lies in memory may not, the next time.
const BROUGHT_MIN: u64 = 256;

/// All was in memory if no more than so many names, or a part of them, were not: what is slow by chance
/// seems brought. And no more than a part of the bytes.
const NAMES_MIN: u64 = 4;
const ELSEWHERE_PART: u64 = 64;
/// Nothing came from a device or a mount for which programs waited for less than such a part of the
/// time, and less than this: locks and other programs take their time as well.
const WAITED_PART: u32 = 8;
const WAITED_MAX: Duration = Duration::from_millis(50);

/// What is left of a run.
pub struct Finished {
    /// What it came to.
    pub tally: Tally,
    /// The run as recorded.
    pub recorder: Recorder,
    pub(super) names: Names,
    pub(super) learned: Vec<Event>,
    /// Whether it found that reading ahead does not pay, or that it does.
    pub(super) in_vain: Option<bool>,
    /// Fetches of what had to be brought from devices, and names.
    pub(super) brought: u64,
    pub(super) names_brought: u64,
    pub(super) heard: Heard,
    /// Of such runs programs need not tell all: neither is what they read wanted, nor does it decide
    /// which page goes.
    pub(super) may_be_quiet: bool,
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
        let before = self.before.as_ref().map(|before| before.findings).unwrap_or_default();
        before.after(self.in_vain, self.was_in_memory(account))
    }

    /// Whether all that programs read was in memory; None if nothing says otherwise, but too little was
    /// told. Who discloses what it reads, or does not tell of it, is to be heard.
    fn was_in_memory(&self, account: &Account) -> Option<bool> {
        let Heard { calls, waited, otherwise } = self.heard;
        let is_untold = otherwise || !self.tally.unseen.is_empty();
        let is_read = account.transfers.is_none_or(|it| it.from_devices * ELSEWHERE_PART > it.given);
        let is_named = self.names_brought > NAMES_MIN && self.names_brought * ELSEWHERE_PART > calls;
        let has_waited = waited * WAITED_PART > account.elapsed || waited > WAITED_MAX;
        if is_untold || is_read || self.brought > 0 || is_named || has_waited {
            return Some(false);
        }
        (self.may_be_quiet && !self.was_quiet_at_first && self.is_whole(account)).then_some(true)
    }

    /// Whether it read what others did, as far as can be told: it ended well, and told of half as much at
    /// least, or of no more as programs no longer waited.
    fn is_whole(&self, account: &Account) -> bool {
        let is_as_long = 2 * self.recorder.count() >= self.steps_before();
        match account.ending {
            Ending::Status(0) => is_as_long || self.was_quiet,
            Ending::Status(_) => is_as_long && self.steps_before() > 0,
            Ending::Signal(_) => false,
        }
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
                match before.learned == run.learned {
                    true => (before, false),
                    false => (Profile { learned: run.learned, findings, ..before }, true),
                }
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
            going_on: Vec::new(),
        }
    }

    /// Ends the run: what is still disclosed will not be read.
    pub fn finish(mut self) -> Finished {
        // Programs that outlive the command go on posting unless told; what is in the ring by now is taken
        // in.
        self.ring.region.close();
        self.catch_up();
        let going_on = self.ring.processes.going_on(FIRST_RUN);
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
        let tally = Tally { going_on, ..self.tally(FIRST_RUN) };
        let was_quiet_at_first = self.quiet.was_quiet_at_first();
        let was_quiet = self.quiet.was_quiet() || self.outside.has_rested() || self.is_too_large();
        let may_be_quiet = self.may_be_quiet();
        let (recorder, names) = (self.recorder, self.names);
        let host = &self.driver.host;
        let (brought, names_brought) = (host.brought(), host.names_brought());
        let was_brought = brought + names_brought >= BROUGHT_MIN;
        let in_vain = self.suspension.was_found_in_vain().filter(|&in_vain| was_brought || !in_vain);
        Finished {
            tally,
            recorder,
            names,
            learned,
            in_vain,
            brought,
            names_brought,
            heard: self.quiet.heard(),
            may_be_quiet,
            was_quiet,
            was_quiet_at_first,
            before: self.recorded.into_own(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Transfers;
    use crate::profile::Step;
    use foresee_manager::Want;

    /// A run of a second that told of 1,000 calls, and found all in memory.
    fn warm() -> Finished {
        Finished {
            tally: Tally::default(),
            recorder: Recorder::new(),
            names: Names::default(),
            learned: Vec::new(),
            in_vain: None,
            brought: 0,
            names_brought: 0,
            heard: Heard { calls: 1000, ..Heard::default() },
            may_be_quiet: true,
            was_quiet: false,
            was_quiet_at_first: false,
            before: None,
        }
    }

    fn account(from_devices: u64, ending: Ending) -> Account {
        let transfers = Some(Transfers { given: 1 << 20, from_devices });
        Account { transfers, ..Account::new(Tally::default(), Duration::from_secs(1), ending, Duration::ZERO) }
    }

    fn long() -> Option<Profile> {
        let step = Step { file: 0, process: 1, want: Want::Name, mapped: false, runs: 1 };
        Some(Profile { steps: vec![step; 100], ..Profile::default() })
    }

    #[test]
    fn all_was_in_memory_if_nothing_says_otherwise() {
        let well = account(0, Ending::Status(0));
        assert_eq!(warm().was_in_memory(&well), Some(true));
        let heard = |waited_ms| Heard { waited: Duration::from_millis(waited_ms), ..warm().heard };
        let otherwise = [
            Finished { brought: 1, ..warm() },
            Finished { names_brought: 20, ..warm() },
            Finished { heard: heard(60), ..warm() },
            Finished { heard: Heard { otherwise: true, ..warm().heard }, ..warm() },
        ];
        for (at, it) in otherwise.into_iter().enumerate() {
            assert_eq!(it.was_in_memory(&well), Some(false), "{at}");
            // Also of a run that did not tell how it began.
            assert_eq!(Finished { was_quiet_at_first: true, ..it }.was_in_memory(&well), Some(false), "{at}");
        }
        assert_eq!(warm().was_in_memory(&account(1 << 19, Ending::Status(0))), Some(false));
        assert_eq!(warm().was_in_memory(&Account { transfers: None, ..well.clone() }), Some(false));
        let by_chance = Finished { names_brought: 4, heard: heard(5), ..warm() };
        assert_eq!(by_chance.was_in_memory(&account(100, Ending::Status(0))), Some(true));
    }

    #[test]
    fn what_was_cut_short_or_not_told_says_nothing() {
        let well = account(0, Ending::Status(0));
        assert_eq!(warm().was_in_memory(&account(0, Ending::Signal(2))), None);
        assert_eq!(Finished { may_be_quiet: false, ..warm() }.was_in_memory(&well), None, "all was wanted");
        assert_eq!(warm().was_in_memory(&account(0, Ending::Status(1))), None, "it failed, and nothing is known");
        assert_eq!(Finished { before: long(), ..warm() }.was_in_memory(&well), None, "less than half");
        let rest_untold = || Finished { before: long(), was_quiet: true, ..warm() };
        assert_eq!(rest_untold().was_in_memory(&well), Some(true));
        assert_eq!(rest_untold().was_in_memory(&account(0, Ending::Status(1))), None);
        assert_eq!(Finished { was_quiet_at_first: true, ..warm() }.was_in_memory(&well), None);
        let before = Findings::default().after(None, Some(true));
        let known = Some(Profile { findings: before, ..Profile::default() });
        let quiet = Finished { was_quiet_at_first: true, before: known, ..warm() };
        assert_eq!(quiet.findings(&well), before);
    }

    #[test]
    fn findings_go_with_what_was_learned() {
        let findings = Findings { in_vain: None, in_memory: Some(7) };
        let learned = vec![Event::ReuseLearned { interval: 64, age: 80, used: 3, open: 5 }];
        let kept = |learned: Vec<Event>| {
            let before = Some(Profile { runs: 1, ..Profile::default() });
            let run = Finished { learned, before, ..warm() };
            run.into_profile(Vec::new(), PathBuf::new(), PathBuf::new(), findings)
        };
        let (profile, is_new) = kept(learned);
        assert_eq!((profile.findings, is_new), (findings, true));
        // They are noted with what there is.
        let (profile, is_new) = kept(Vec::new());
        assert_eq!((profile.findings, is_new), (Findings::default(), false));
    }
}
