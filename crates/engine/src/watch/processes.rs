//! All processes: who began whom, of which run and program each is.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use foresee_ring::{Counters, Entry, Record};

use super::process::Process;
use super::seen::Seen;
use crate::names::{Names, absolute};
use crate::programs::{ProgramId, Programs};

/// All processes of a supervisor's runs.
#[derive(Default)]
pub struct Processes {
    by_pid: HashMap<u32, Process>,
    started: u32,
    started_of: HashMap<u32, u32>,
    /// Who starts programs of runs other than the first: a `foresee run`, by process number.
    starters: HashMap<u32, u32>,
    programs: Programs,
}

impl Processes {
    /// How many processes of a run were seen so far.
    pub fn count(&self, run: u32) -> u32 {
        self.started_of.get(&run).copied().unwrap_or(0)
    }

    /// The number of a process in the order of their beginnings.
    pub fn ordinal(&self, pid: u32) -> u32 {
        self.by_pid.get(&pid).map_or(0, |process| process.ordinal)
    }

    /// What a process executes.
    pub fn program(&self, pid: u32) -> ProgramId {
        self.by_pid.get(&pid).map_or(ProgramId::default(), |process| process.program)
    }

    /// The programs.
    pub fn programs(&mut self) -> &mut Programs {
        &mut self.programs
    }

    /// What this process starts is of this run, from now on.
    pub fn starts(&mut self, pid: u32, run: u32) {
        self.starters.insert(pid, run);
    }

    /// It starts nothing any more.
    pub fn starts_no_more(&mut self, pid: u32) {
        self.starters.remove(&pid);
    }

    /// A process is gone. Returns the number it had in the order of their beginnings.
    pub fn forget(&mut self, pid: u32) -> Option<u32> {
        self.by_pid.remove(&pid).map(|process| process.ordinal)
    }

    /// Takes one record in. Returns what it means, if it means anything outside this model.
    pub fn learn(&mut self, entry: &Entry, names: &mut Names) -> Option<Seen> {
        let pid = entry.stamp.pid;
        match entry.record {
            Record::ProcessStarted { ppid, slot } => {
                self.started(pid, ppid, slot, absolute(Path::new("/"), entry.path));
            }
            Record::Executed { reads, bytes, stall_ticks } => {
                let process = self.by_pid.get_mut(&pid)?;
                let program = self.programs.executed(process.run, entry.path);
                let before = std::mem::replace(&mut process.program, program);
                if let Some(slot) = process.slot {
                    self.programs.count(slot, before, Counters { reads, bytes, stall_ticks });
                }
                return None;
            }
            Record::ExecutesUnseen { why } => {
                let run = self.by_pid.get(&pid).map(|process| process.run);
                let run = run.or_else(|| self.starters.get(&pid).copied()).unwrap_or(0);
                self.programs.unseen(run, entry.path, why);
            }
            Record::Forked { parent, slot } => self.forked(pid, parent, slot),
            Record::Exited {} => return Some(Seen::Ended { ordinal: self.exited(pid)? }),
            _ => return self.by_pid.get_mut(&pid)?.learn(entry, names),
        }
        None
    }

    /// One with a slot is remembered until the slot is given back: what it counted is its program's.
    fn exited(&mut self, pid: u32) -> Option<u32> {
        match self.by_pid.get(&pid)?.slot {
            Some(_) => Some(self.ordinal(pid)),
            None => self.forget(pid),
        }
    }

    fn started(&mut self, pid: u32, ppid: u32, slot: u32, directory: PathBuf) {
        let (run, program) = match (self.starters.get(&ppid), self.by_pid.get(&ppid)) {
            (Some(&run), _) => (run, ProgramId::default()),
            (None, Some(parent)) => (parent.run, parent.program),
            (None, None) => (0, ProgramId::default()),
        };
        if !self.by_pid.contains_key(&pid) {
            self.started += 1;
            *self.started_of.entry(run).or_default() += 1;
        }
        let ordinal = self.started;
        let process = self.by_pid.entry(pid).or_insert_with(|| Process::new(ordinal, run, program));
        // After exec, what was not close-on-exec is still open; what was is overwritten by the next use of its number.
        process.mappings.clear();
        process.directory = directory;
        process.slot = (slot != foresee_ring::NO_PROCESS_SLOT).then_some(slot);
    }

    fn forked(&mut self, pid: u32, parent: u32, slot: u32) {
        self.started += 1;
        let mut child = self.by_pid.get(&parent).cloned().unwrap_or_default();
        child.slot = (slot != foresee_ring::NO_PROCESS_SLOT).then_some(slot);
        child.ordinal = self.started;
        *self.started_of.entry(child.run).or_default() += 1;
        self.by_pid.insert(pid, child);
    }
}
