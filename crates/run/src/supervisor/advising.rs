//! Advice: what programs say through the hint library, what a file says for them, and what they are
//! told in return.

use foldhash::{HashMap, HashSet};
use foresee_manager::{
    Advice, AdviceFile, Demand, FILE_RECORDS_MAX, FileId, LEVELS_MAX, MANAGERS_MAX, ReaderId, Refusal, Reply,
};

use super::Supervisor;
use crate::programs::{Program, ProgramId};
use crate::source::ring::Advising;

/// Files of programs that were looked for in a file of advice: each once for each program.
const LOOKED_FOR_MAX: usize = 1 << 20;

/// What files of advice say for the programs of each run, and to whom it was said.
#[derive(Default)]
pub(super) struct FileAdvice {
    of_run: HashMap<u32, AdviceFile>,
    programs: HashSet<ProgramId>,
    files: HashSet<(ProgramId, FileId)>,
    /// Files of which what is read is done with.
    read_once: HashSet<(ProgramId, FileId)>,
}

impl FileAdvice {
    /// All programs of this run are advised so.
    pub fn set(&mut self, run: u32, advice: AdviceFile) {
        self.of_run.insert(run, advice);
    }

    /// Nothing is advised for this run's programs any more.
    pub fn forget(&mut self, run: u32) {
        self.of_run.remove(&run);
    }
}

/// Why advice was refused, as an errno of the hint library (`bindings/c/foresee.h`) and in words.
fn told(why: Refusal) -> (u16, String) {
    let (error, words) = match why {
        Refusal::Policy => (libc::ENOTSUP, "the policy takes none; --policy lru-sp does".to_owned()),
        Refusal::Managers => (libc::EUSERS, format!("as many programs advise as may ({MANAGERS_MAX})")),
        Refusal::Levels => (libc::ENOSPC, format!("as many priorities are in use as may be ({LEVELS_MAX})")),
        Refusal::Files => {
            (libc::EMFILE, format!("as many files have a priority of their own as may ({FILE_RECORDS_MAX})"))
        }
        Refusal::Range => (libc::ERANGE, "there is no such file to follow, or no such range".to_owned()),
        Refusal::Revoked => (libc::EPERM, "it lost control before".to_owned()),
    };
    (error as u16, words)
}

impl Supervisor<'_> {
    /// Whose a read or write of this program is, where that matters.
    pub(super) fn reader_of_program(&mut self, program: ProgramId, file: FileId) -> Option<ReaderId> {
        if !self.driver.manager().takes_advice() {
            return None;
        }
        let run = self.ring.processes.programs().get(program).run;
        if let Some(advice) = self.file_advice.of_run.get(&run) {
            let mut said: Vec<Advice> = Vec::new();
            if self.file_advice.programs.insert(program) {
                let policies = advice.levels.iter();
                said.extend(policies.map(|&(priority, order)| Advice::SetPolicy { priority, order }));
            }
            if self.file_advice.files.len() < LOOKED_FOR_MAX && self.file_advice.files.insert((program, file)) {
                let path = self.names.path(file).to_string_lossy();
                said.extend(advice.priority(&path).map(|priority| Advice::SetPriority { file, priority }));
                if advice.is_read_once(&path) {
                    self.file_advice.read_once.insert((program, file));
                }
            }
            for advice in said {
                let _ = self.advise(program, advice);
            }
        }
        Some(program.reader())
    }

    /// A program wrote these blocks. What is written is in the cache as what is read is, and its
    /// program's to advise on (002 section 4). The kernel takes it for used when it is read, and not
    /// before: what is written and never read leaves before what is read again. Who wants no other
    /// order than LRU is served best by that.
    pub(super) fn take_write(&mut self, program: ProgramId, file: FileId, (first, count): (u64, u64), site: u64) {
        let blocks = first..first + count;
        self.driver.host.was_used(file, &blocks);
        // What is advised of the file is told by this.
        let reader = self.reader_of_program(program, file);
        match reader.filter(|_| self.reordered.holds(program)) {
            Some(reader) => _ = self.reference(reader, file, (first, count), site, Demand::Observed),
            None => self.driver.host.keep(file, &blocks),
        }
    }

    /// A program has read these blocks: what is read once goes first from now on.
    pub(super) fn notice_done_with(&mut self, program: ProgramId, file: FileId, (first, count): (u64, u64)) {
        if self.file_advice.read_once.contains(&(program, file)) {
            let _ = self.advise(program, AdviceFile::done_with(file, first, count));
        }
    }

    /// Takes what a process says, and answers it.
    pub(super) fn take_advice(&mut self, program: ProgramId, Advising { advice, slot, ticket }: Advising) {
        let answer = match advice {
            Some(advice) => self.advise(program, advice),
            None => Err(Refusal::Range),
        }
        .map_err(|why| told(why).0);
        let Some(process) = slot.and_then(|slot| self.ring.region.process(slot)) else { return };
        match (ticket, answer) {
            (Some(ticket), answer) => process.answer(ticket, answer),
            (None, Err(error)) => process.refuse(error),
            (None, Ok(_)) => {}
        }
    }

    /// A program advises, or asks what it advised. Returns the answer.
    fn advise(&mut self, program: ProgramId, advice: Advice) -> Result<i32, Refusal> {
        self.tell(advice.event(program.reader()));
        let mut answer = Ok(0);
        for &reply in &self.replies {
            match reply {
                Reply::Refused { why, .. } => answer = Err(why),
                Reply::Priority { priority, .. } => answer = Ok(priority),
                Reply::LevelPolicy { order, .. } => answer = Ok(order as i32),
                // Programs read by themselves here, and say all at once what they will read: nobody waits, nobody is
                // asked.
                Reply::Wake { .. } | Reply::Pull { .. } | Reply::Revoked { .. } => {}
            }
        }
        if answer.is_ok() {
            self.reordered.advised(program, advice);
        }
        if let Err(why) = answer {
            let Program { run, name, .. } = self.ring.processes.programs().get(program);
            let (run, warning) = (*run, format!("advice of {name} was not taken: {}", told(why).1));
            self.warn(run, warning);
        }
        answer
    }

    /// Programs that just lost control are named.
    pub(super) fn notice_revoked(&mut self) {
        let revoked = self.replies.iter().filter_map(|reply| match *reply {
            Reply::Revoked { reader } => Some(reader),
            _ => None,
        });
        let programs = self.ring.processes.programs();
        let revoked: Vec<ProgramId> = revoked.filter_map(|reader| programs.of_reader(reader)).collect();
        revoked.iter().for_each(|&program| self.reordered.forget(program));
        let revoked: Vec<Program> = revoked.into_iter().map(|program| programs.get(program).clone()).collect();
        for Program { run, name, .. } in revoked {
            self.warn(
                run,
                format!(
                    "{name} lost control of its own pages: too many of its decisions proved wrong (policy parameter revoke_share)"
                ),
            );
        }
    }
}
