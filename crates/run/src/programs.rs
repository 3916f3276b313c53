//! The programs of a run, as its user knows them: by name. What several processes of one program
//! did is told together, and to a policy that takes advice they are one reader.
//!
//! A process would be too little: a program that is started again and again (a compiler, `rg` in a
//! loop) leaves pages that are nobody's each time it ends, and its advice would say nothing of
//! them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use foldhash::HashMap;
use foresee_manager::ReaderId;
use foresee_ring::{Counters, Unseen};

/// Programs told apart; what comes after is told as the first one, whose name is not known.
const PROGRAMS_MAX: usize = 4096;
/// Programs that did not tell of themselves and are named; what comes after is not.
const UNSEEN_MAX: usize = 64;
/// Readers of programs are numbered from here; those below are processes, and the run.
const READERS_FROM: u32 = 1 << 30;

/// A program's number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct ProgramId(u32);

/// What became of a program's reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Of which of the runs that share the supervisor.
    pub run: u32,
    /// The last part of what was executed; "" where that is not known.
    pub name: String,
    /// How often it was executed.
    pub executions: u32,
    /// Reads of regular files, the bytes they gave, and ticks in those that waited.
    pub counters: Counters,
    /// Blocks that its reads found absent, of the reads that were posted.
    pub missed: u64,
    /// It did not tell of itself, and was seen from outside: so were its reads, as far as they are
    /// told.
    pub is_from_outside: bool,
}

impl Program {
    fn new(run: u32, name: &str) -> Self {
        Program {
            run,
            name: name.to_owned(),
            executions: 0,
            counters: Counters::default(),
            missed: 0,
            is_from_outside: false,
        }
    }
}

/// A program that did not tell of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnseenProgram {
    /// Of which of the runs that share the supervisor.
    pub run: u32,
    /// The last part of what was executed.
    pub name: String,
    /// Why.
    pub why: Unseen,
    /// How often it was executed.
    pub executions: u32,
    /// It was seen from outside.
    pub is_from_outside: bool,
}

/// All programs of a supervisor's runs.
pub struct Programs {
    /// The first is of processes of which nothing is known.
    programs: Vec<Program>,
    by_name: HashMap<(u32, String), ProgramId>,
    /// What of a process slot's counters is told already: exec keeps the slot.
    told: HashMap<u32, Counters>,
    unseen: Vec<UnseenProgram>,
}

impl Default for Programs {
    fn default() -> Self {
        Programs {
            programs: vec![Program::new(0, "")],
            by_name: HashMap::default(),
            told: HashMap::default(),
            unseen: Vec::new(),
        }
    }
}

impl Programs {
    /// A process of this run executes this.
    pub fn executed(&mut self, run: u32, path: &[u8]) -> ProgramId {
        let name = name_of(path);
        let program = match self.by_name.get(&(run, name.clone())) {
            Some(&program) => program,
            None if self.programs.len() >= PROGRAMS_MAX => ProgramId::default(),
            None => {
                let program = ProgramId(self.programs.len() as u32);
                self.programs.push(Program::new(run, &name));
                self.by_name.insert((run, name), program);
                program
            }
        };
        let executions = &mut self.programs[program.0 as usize].executions;
        *executions = executions.saturating_add(1);
        program
    }

    /// A process of this run executes this, which does not tell of itself.
    pub fn unseen(&mut self, run: u32, path: &[u8], why: Unseen) {
        let name = name_of(path);
        let same = |it: &&mut UnseenProgram| (it.run, &it.name, it.why) == (run, &name, why);
        if let Some(known) = self.unseen.iter_mut().find(same) {
            known.executions = known.executions.saturating_add(1);
        } else if self.unseen.len() < UNSEEN_MAX {
            self.unseen.push(UnseenProgram { run, name, why, executions: 1, is_from_outside: false });
        }
    }

    /// Those of this run, in the order in which they appeared.
    pub fn unseen_of_run(&self, run: u32) -> Vec<UnseenProgram> {
        let outside: Vec<&str> =
            self.programs.iter().filter(|it| it.run == run && it.is_from_outside).map(|it| &*it.name).collect();
        let mut unseen: Vec<_> = self.unseen.iter().filter(|it| it.run == run).cloned().collect();
        for program in &mut unseen {
            // Of those that are gone too soon it is not known which they were.
            program.is_from_outside = outside.iter().any(|name| *name == program.name || name.is_empty());
        }
        unseen
    }

    /// A process slot's counters stand so, and all that is new in them was this program's doing.
    pub fn count(&mut self, slot: u32, program: ProgramId, now: Counters) {
        let before = self.told.insert(slot, now).unwrap_or_default();
        let counters = &mut self.programs[program.0 as usize].counters;
        counters.reads = counters.reads.saturating_add(now.reads.wrapping_sub(before.reads));
        counters.bytes = counters.bytes.saturating_add(now.bytes.wrapping_sub(before.bytes));
        counters.stall_ticks = counters.stall_ticks.saturating_add(now.stall_ticks.wrapping_sub(before.stall_ticks));
    }

    /// The slot is another process's from now on, and counts from 0.
    pub fn release(&mut self, slot: u32) {
        self.told.remove(&slot);
    }

    /// A read of this program found so many blocks absent.
    pub fn missed(&mut self, program: ProgramId, blocks: u64) {
        let missed = &mut self.programs[program.0 as usize].missed;
        *missed = missed.saturating_add(blocks);
    }

    /// This program was found not to tell of itself.
    pub fn seen_from_outside(&mut self, program: ProgramId) {
        self.programs[program.0 as usize].is_from_outside = true;
    }

    /// A read of this program was seen from outside.
    pub fn read_outside(&mut self, program: ProgramId, bytes: u64) {
        let program = &mut self.programs[program.0 as usize];
        program.is_from_outside = true;
        let counters = &mut program.counters;
        counters.reads = counters.reads.saturating_add(1);
        counters.bytes = counters.bytes.saturating_add(bytes);
    }

    /// It waited so long, in ticks, other than in a read.
    pub fn stalled(&mut self, program: ProgramId, ticks: u64) {
        let counters = &mut self.programs[program.0 as usize].counters;
        counters.stall_ticks = counters.stall_ticks.saturating_add(ticks);
    }

    /// One program.
    pub fn get(&self, program: ProgramId) -> &Program {
        &self.programs[program.0 as usize]
    }

    /// The program of this reader, if it is one's.
    pub fn of_reader(&self, reader: ReaderId) -> Option<ProgramId> {
        let program = reader.0.checked_sub(READERS_FROM)?;
        ((program as usize) < self.programs.len()).then_some(ProgramId(program))
    }

    /// The readers that programs of this run are.
    pub fn readers_of(&self, run: u32) -> Vec<ReaderId> {
        let numbered = self.programs.iter().zip(0..);
        numbered.filter(|(it, _)| it.run == run).map(|(_, number)| ProgramId(number).reader()).collect()
    }

    /// Those of this run, in the order in which they appeared.
    pub fn of_run(&self, run: u32) -> Vec<Program> {
        self.programs
            .iter()
            .filter(|it| it.run == run && (it.executions > 0 || it.counters.reads > 0))
            .cloned()
            .collect()
    }
}

/// The name of the program of this path.
pub(crate) fn name_of(path: &[u8]) -> String {
    Path::new(OsStr::from_bytes(path)).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

impl ProgramId {
    /// The reader that it is to a policy that takes advice.
    pub fn reader(self) -> ReaderId {
        ReaderId(READERS_FROM + self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(reads: u64) -> Counters {
        Counters { reads, bytes: 10 * reads, stall_ticks: 100 * reads }
    }

    #[test]
    fn a_program_is_told_by_its_name_within_its_run() {
        let mut programs = Programs::default();
        let grep = programs.executed(0, b"/usr/bin/grep");
        assert_eq!((programs.executed(0, b"grep"), programs.get(grep).executions), (grep, 2));
        assert_ne!(programs.executed(1, b"grep"), grep);
        assert_eq!(programs.of_reader(grep.reader()), Some(grep));
        assert_eq!(programs.of_reader(ReaderId(3)), None);
        assert_eq!(programs.of_run(1).iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["grep"]);
    }

    #[test]
    fn what_a_slot_counts_is_whose_turn_it_was() {
        let mut programs = Programs::default();
        let (sh, sort) = (programs.executed(0, b"sh"), programs.executed(0, b"sort"));
        programs.count(5, sh, counted(3));
        programs.count(5, sort, counted(10));
        programs.count(5, sort, counted(12));
        programs.release(5);
        programs.count(5, sh, counted(1));
        assert_eq!((programs.get(sh).counters, programs.get(sort).counters), (counted(4), counted(9)));
    }
}
