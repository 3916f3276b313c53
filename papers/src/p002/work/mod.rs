//! What the programs of 002 read and write, and how they advise.
//!
//! A [`Program`] is files and steps, wherever they come from: those of the eight applications were
//! recorded (`papers/record`), ReadN is the paper's own description. Files are numbered by their
//! place in the program's own list.

mod applications;
mod readn;
mod recorded;

use foresee_manager::{Advice, FileId, LevelOrder, Site};
use foresee_sim::host::Step;

pub use readn::{READ300_BLOCKS, READN_BLOCKS, readn, sequence};

const MS: u64 = 1_000_000;

/// On which disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disk {
    /// The slower one.
    Rz56,
    /// The other.
    Rz26,
}

/// A file: where it begins among the program's, and how long it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File {
    /// Where.
    pub place: u64,
    /// How long.
    pub blocks: u64,
}

/// A program.
#[derive(Debug, Clone)]
pub struct Program {
    /// Where all its files lie.
    pub disk: Disk,
    /// Its files.
    pub files: Vec<File>,
    /// What it does, and how it advises.
    script: Vec<Step>,
    /// Whether it advises: if not, that is left out, and it is as the program was before.
    advises: bool,
}

impl Program {
    /// The steps, where the program's files are numbered from here on.
    pub fn steps(&self, first_file: u32) -> Vec<Step> {
        let left_out = |step: &&Step| !self.advises && matches!(step, Step::Advise { .. });
        self.script.iter().filter(|step| !left_out(step)).map(|step| step.numbered(first_file)).collect()
    }

    /// The same program, which advises nothing.
    pub fn oblivious(&self) -> Program {
        Program { advises: false, ..self.clone() }
    }

    /// Blocks it asks for, each as often as it does, and blocks it writes.
    #[cfg(test)]
    pub fn traffic(&self) -> (u64, u64) {
        let reads = self.script.iter().filter(|step| matches!(step, Step::Read { .. })).count();
        let writes = self.script.iter().filter(|step| matches!(step, Step::Write { .. })).count();
        (reads as u64, writes as u64)
    }
}

/// The eight applications of section 5.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Application {
    /// cscope: eight symbols in 18 MB of source.
    Cs1,
    /// cscope: four texts in the same.
    Cs2,
    /// cscope: four texts in 10 MB.
    Cs3,
    /// dinero: one trace of 8 MB through several caches.
    Din,
    /// glimpse: five searches in 40 MB.
    Gli,
    /// The link editor: 25 MB of object files.
    Ldk,
    /// Postgres: a join by an index.
    Pjn,
    /// sort: 17 MB.
    Sort,
}

impl Application {
    /// All, as the paper's tables name them.
    pub const ALL: [(Application, &'static str); 8] = [
        (Application::Cs1, "cs1"),
        (Application::Cs2, "cs2"),
        (Application::Cs3, "cs3"),
        (Application::Din, "din"),
        (Application::Gli, "gli"),
        (Application::Ldk, "ldk"),
        (Application::Pjn, "pjn"),
        (Application::Sort, "sort"),
    ];

    /// Its short name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(application, _)| *application == self).map_or("", |(_, name)| name)
    }

    /// What it does.
    ///
    /// # Errors
    /// If its trace cannot be read.
    pub fn program(self) -> Result<Program, String> {
        let recorded = match self {
            Application::Cs1 => &applications::CS1,
            Application::Cs2 => &applications::CS2,
            Application::Cs3 => &applications::CS3,
            Application::Din => &applications::DIN,
            Application::Gli => &applications::GLI,
            Application::Ldk => &applications::LDK,
            Application::Pjn => &applications::PJN,
            Application::Sort => &applications::SORT,
        };
        recorded.program(self.name())
    }
}

/// A program as it is written down.
#[derive(Debug, Default)]
struct Script {
    steps: Vec<Step>,
}

impl Script {
    fn program(self, disk: Disk, files: Vec<File>) -> Program {
        Program { disk, files, script: self.steps, advises: true }
    }

    /// Computes for so long.
    fn think(&mut self, ns: u64) {
        self.steps.push(Step::Think { ns });
    }

    /// Reads one block.
    fn read(&mut self, file: u32, first: u64) {
        self.steps.push(Step::Read { file: FileId(file), first, count: 1, site: Site(0) });
    }

    /// Writes one block.
    fn write(&mut self, file: u32, index: u64) {
        self.steps.push(Step::Write { file: FileId(file), index });
    }

    /// Removes a file.
    fn remove(&mut self, file: u32) {
        self.steps.push(Step::Remove { file: FileId(file) });
    }

    /// set_policy(priority, MRU).
    fn mru(&mut self, priority: i32) {
        self.steps.push(Step::Advise { advice: Advice::SetPolicy { priority, order: LevelOrder::Mru } });
    }

    /// set_priority(file, priority).
    fn priority(&mut self, file: u32, priority: i32) {
        self.steps.push(Step::Advise { advice: Advice::SetPriority { file: FileId(file), priority } });
    }

    /// set_temppri(file, block, block, -1).
    fn done_with(&mut self, file: u32, first: u64) {
        let advice = Advice::SetTemporaryPriority { file: FileId(file), first, count: 1, priority: -1 };
        self.steps.push(Step::Advise { advice });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every step speaks of blocks and files that are there, and no two files overlap.
    #[test]
    fn programs_stay_within_their_files() {
        let programs = Application::ALL.map(|(application, _)| application.program().unwrap());
        for (program, (_, name)) in programs.iter().zip(Application::ALL) {
            for step in program.steps(0) {
                let (FileId(file), last) = match step {
                    Step::Read { file, first, count, .. } => (file, first + count - 1),
                    Step::Write { file, index } => (file, index),
                    Step::Remove { file } => (file, 0),
                    _ => continue,
                };
                assert!(last < program.files[file as usize].blocks, "{name}: {step:?}");
            }
            let mut ranges: Vec<_> = program.files.iter().map(|file| (file.place, file.place + file.blocks)).collect();
            ranges.sort_unstable();
            assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{name}");
        }
    }

    #[test]
    fn the_oblivious_advise_nothing() {
        let program = Application::Sort.program().unwrap();
        let advises = |program: &Program| program.steps(3).iter().any(|step| matches!(step, Step::Advise { .. }));
        assert!(advises(&program) && !advises(&program.oblivious()));
        assert_eq!(program.traffic(), program.oblivious().traffic());
    }
}
