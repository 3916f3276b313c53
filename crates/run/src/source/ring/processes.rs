//! All processes: who began whom, of which run and program each is.

use std::path::{Path, PathBuf};
use std::time::Duration;

use foldhash::HashMap;
use foresee_manager::FileId;
use foresee_ring::{Counters, Entry, NO_PROCESS_SLOT, Record, Unseen};

use super::process::{Process, Reads};
use super::room::Room;
use super::seen::Seen;
use super::view;
use crate::host::Descriptor;
use crate::names::{Names, absolute};
use crate::process_stat::{has_library, state};
use crate::programs::{ProgramId, Programs, name_of};

/// Processes that are followed at one time, and how many there are before it is looked whether they
/// are there.
const PROCESSES_MAX: usize = 1 << 14;
const LOOKED_AT_MIN: usize = 2048;

/// Who has told of no read when it was asked so often, which is after a minute, is not looked at any
/// more.
const SILENT_MAX: u32 = 256;

/// What is about to end as the run does is not there any more after this.
const ENDING: Duration = Duration::from_millis(20);

/// Whether no such process is there; one we may not signal is.
pub fn is_dead(pid: u32) -> bool {
    // SAFETY: signal 0 only asks. A program may claim any number; asking about it does no harm.
    let asked = unsafe { libc::kill(pid as i32, 0) };
    asked != 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}

fn slot_of(slot: u32) -> Option<u32> {
    (slot != NO_PROCESS_SLOT).then_some(slot)
}

/// All processes of a supervisor's runs.
#[derive(Default)]
pub struct Processes {
    by_pid: HashMap<u32, Process>,
    /// When there are so many, it is looked which of them are there.
    looked_at: usize,
    started: u32,
    started_of: HashMap<u32, u32>,
    /// Who starts programs of runs other than the first: a `foresee run`, by process number.
    starters: HashMap<u32, u32>,
    programs: Programs,
    pub(super) room: Room,
    /// Who opened a file last, and as which descriptor.
    opened_as: HashMap<FileId, Descriptor>,
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

    /// How many are followed.
    #[cfg(test)]
    pub fn followed(&self) -> usize {
        self.by_pid.len()
    }

    /// What a process executes.
    pub fn program(&self, pid: u32) -> ProgramId {
        self.by_pid.get(&pid).map_or(ProgramId::default(), |process| process.program)
    }

    /// Whether it tells of itself, and of what it reads.
    pub fn is_seen(&self, pid: u32) -> bool {
        let is_seen = |process: &Process| process.unseen_as.is_none() && process.reads != Reads::Untold;
        self.by_pid.get(&pid).is_some_and(is_seen)
    }

    /// Whether it tells of itself, but not of what it reads.
    pub fn reads_untold(&self, pid: u32) -> bool {
        self.by_pid.get(&pid).is_some_and(|process| process.reads == Reads::Untold)
    }

    /// Those that have not told of a read since they opened a file, neither now nor when this was
    /// asked last. Some make their queue long after that: each is named again when it has been silent
    /// four times as long, for a minute.
    pub fn silent(&mut self) -> Vec<u32> {
        let mut silent = Vec::new();
        for (&pid, process) in &mut self.by_pid {
            if let Reads::Awaited(asked) = &mut process.reads {
                if *asked <= SILENT_MAX && asked.is_power_of_two() && asked.trailing_zeros() % 2 == 0 {
                    silent.push(pid);
                }
                *asked = asked.saturating_add(1);
            }
        }
        silent
    }

    /// It tells of itself, but for this reason not of what it reads.
    pub fn found_untold(&mut self, pid: u32, why: Unseen) {
        let Some(process) = self.by_pid.get_mut(&pid) else { return };
        process.reads = Reads::Untold;
        let (run, name) = (process.run, self.programs.get(process.program).name.clone());
        self.programs.unseen(run, name.as_bytes(), why);
    }

    /// Whether this process, of which nothing was told, is a child of this one, and tells as little of what it
    /// reads.
    pub fn reads_untold_as(&mut self, pid: u32, parent: u32) -> bool {
        if self.by_pid.contains_key(&pid) || !self.reads_untold(parent) {
            return false;
        }
        self.forked(pid, parent, NO_PROCESS_SLOT);
        self.by_pid.get_mut(&pid).map(|process| process.reads = Reads::Untold).is_some()
    }

    /// Whether it told that it would execute a program that does not tell of itself.
    pub fn went_unseen(&self, pid: u32) -> bool {
        self.by_pid.get(&pid).is_some_and(|process| process.unseen_as.is_some())
    }

    /// A process that does not tell of itself was found, and goes by this name if it did not say by
    /// which. Returns its number, and what it executes; None if there is no room for more.
    pub fn found(&mut self, pid: u32, name: &[u8]) -> Option<(u32, ProgramId)> {
        if !self.by_pid.contains_key(&pid) {
            if !self.make_room() {
                return None;
            }
            self.count_one(0);
            let process = Process::new(self.started, 0, ProgramId::default(), &self.room);
            self.by_pid.insert(pid, process);
        }
        let process = self.by_pid.get_mut(&pid)?;
        // Without the library it is another program by now; without a name it is gone.
        if process.reads == Reads::Untold && (name.is_empty() || has_library(pid)) {
            self.programs.seen_from_outside(process.program);
            return Some((process.ordinal, process.program));
        }
        process.reads = Reads::Told;
        let path = process.unseen_as.get_or_insert_with(|| name.into());
        process.program = self.programs.executed(process.run, path);
        self.programs.seen_from_outside(process.program);
        Some((process.ordinal, process.program))
    }

    /// The programs.
    pub fn programs(&mut self) -> &mut Programs {
        &mut self.programs
    }

    /// A descriptor that a program opened the file as. It may have closed it since.
    pub fn descriptor(&self, file: FileId) -> Option<Descriptor> {
        self.opened_as.get(&file).copied()
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

    /// Programs of this run of which a process is still there, in the order in which they began.
    pub fn going_on(&self, run: u32) -> Vec<String> {
        let is_there = |pid: u32| !is_dead(pid) && !matches!(state(pid), None | Some(b'Z' | b'X'));
        let mut those: Vec<_> = self.by_pid.iter().filter(|(pid, it)| it.run == run && is_there(**pid)).collect();
        if !those.is_empty() {
            std::thread::sleep(ENDING);
            those.retain(|(pid, _)| is_there(**pid));
        }
        those.sort_unstable_by_key(|(_, process)| process.ordinal);
        let mut names: Vec<String> = Vec::new();
        for (_, process) in those {
            let name = match &process.unseen_as {
                Some(path) => name_of(path),
                None => self.programs.get(process.program).name.clone(),
            };
            if !name.is_empty() && !names.contains(&name) {
                names.push(name);
            }
        }
        names
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
            Record::ExecutesUnseen { why: why @ Unseen::OwnCalls } => {
                self.found_untold(pid, why);
                return Some(Seen::Unseen);
            }
            Record::ExecutesUnseen { why } => {
                let run = self.by_pid.get(&pid).map(|process| process.run);
                let run = run.or_else(|| self.starters.get(&pid).copied()).unwrap_or(0);
                self.programs.unseen(run, entry.path, why);
                if let Some(process) = self.by_pid.get_mut(&pid) {
                    process.goes_unseen(entry.path);
                }
                return Some(Seen::Unseen);
            }
            Record::Forked { parent, slot } => self.forked(pid, parent, slot),
            Record::Exited {} => return Some(Seen::Ended { ordinal: self.exited(pid)? }),
            Record::Opened { fd, .. } => {
                let seen = self.by_pid.get_mut(&pid)?.learn(entry, names);
                if let Some(Seen::Opened { file, .. }) = seen {
                    self.opened_as.insert(file, Descriptor { pid, fd });
                }
                return seen;
            }
            _ => return self.by_pid.get_mut(&pid)?.learn(entry, names),
        }
        None
    }

    /// One with a slot is remembered until the slot is given back: what it counted is its
    /// program's.
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
            if !self.make_room() {
                return;
            }
            self.count_one(run);
        }
        let (ordinal, room) = (self.started, &self.room);
        let inherits = self.by_pid.get(&ppid).map(|parent| parent.is_elsewhere);
        let process = self.by_pid.entry(pid).or_insert_with(|| Process::new(ordinal, run, program, room));
        process.exec(directory, slot_of(slot));
        // Where it cannot be told, it sees what its parent sees.
        let is_elsewhere = view::is_elsewhere(pid).or(inherits);
        process.is_elsewhere = is_elsewhere.unwrap_or(process.is_elsewhere);
    }

    fn forked(&mut self, pid: u32, parent: u32, slot: u32) {
        let run = self.by_pid.get(&parent).map_or(0, |parent| parent.run);
        let (slot, known) = (slot_of(slot), self.by_pid.get(&pid));
        // A child of vfork's says so again when it executes again, as what it tried first failed.
        let is_again = known.is_some_and(|it| it.slot.is_none() && it.unseen_as.is_some() && it.run == run);
        if slot.is_none() && is_again || !self.make_room() {
            return;
        }
        self.count_one(run);
        let ordinal = self.started;
        let child = match self.by_pid.get(&parent) {
            Some(parent) => parent.fork(ordinal, slot),
            None => Process::new(ordinal, run, ProgramId::default(), &self.room).fork(ordinal, slot),
        };
        self.by_pid.insert(pid, child);
    }

    fn count_one(&mut self, run: u32) {
        self.started = self.started.saturating_add(1);
        let of_run = self.started_of.entry(run).or_default();
        *of_run = of_run.saturating_add(1);
    }

    /// Whether one more can be followed. Those that ended without a word, and have no slot whose
    /// giving back tells of it, are looked for when there are many.
    fn make_room(&mut self) -> bool {
        if self.by_pid.len() >= self.looked_at {
            self.by_pid.retain(|&pid, _| !is_dead(pid));
            self.looked_at = (2 * self.by_pid.len()).clamp(LOOKED_AT_MIN, PROCESSES_MAX);
        }
        self.by_pid.len() < PROCESSES_MAX
    }
}
