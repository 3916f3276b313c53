//! Recording a run while it goes on.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::PathBuf;

use foresee_manager::{FileId, Want};

use super::{Profile, STEPS_MAX, Step};
use crate::host::{reopen, resident_runs};
use crate::names::Names;

/// Runs of resident pages kept of one mapped file.
const MAPPED_RUNS_MAX: usize = 64;
/// Gaps of so many pages inside a mapped file are read along: the kernel faults around in 64 KiB.
const MAPPED_GAP_PAGES: u64 = 16;

/// A run being recorded.
pub struct Recorder {
    files: Vec<FileId>,
    numbers: HashMap<FileId, u32>,
    steps: Vec<Step>,
    named: HashSet<FileId>,
    mapped: HashSet<FileId>,
    touched: HashSet<FileId>,
    truncated: bool,
    /// Of what was read from outside a part was seen: no run is to go by that.
    pub(crate) is_sample: bool,
}

impl Recorder {
    /// Nothing recorded yet.
    #[allow(clippy::new_without_default, reason = "a recorder is begun, not defaulted")]
    pub fn new() -> Self {
        Recorder {
            files: Vec::new(),
            numbers: HashMap::new(),
            steps: Vec::new(),
            named: HashSet::new(),
            mapped: HashSet::new(),
            touched: HashSet::new(),
            truncated: false,
            is_sample: false,
        }
    }

    /// Appends a step, as long as there is room. A file gets its number by its first step.
    fn push(&mut self, file: FileId, process: u32, want: Want, mapped: bool) {
        if self.steps.len() >= STEPS_MAX {
            self.truncated = true;
            return;
        }
        let file = *self.numbers.entry(file).or_insert_with(|| {
            self.files.push(file);
            (self.files.len() - 1) as u32
        });
        self.steps.push(Step { file, process, want, mapped, runs: 1 });
    }

    /// The last step, if it is one of this file.
    fn last_of(&mut self, file: FileId) -> Option<&mut Step> {
        let number = *self.numbers.get(&file)?;
        self.steps.last_mut().filter(|step| step.file == number && !step.mapped)
    }

    /// A name was looked up. Only the first time counts.
    pub fn named(&mut self, file: FileId, process: u32) {
        if self.named.insert(file) {
            self.push(file, process, Want::Name, false);
        }
    }

    /// A file was mapped. What of it was touched is asked at the end. Only the first time counts.
    pub fn mapped(&mut self, file: FileId, process: u32) {
        if self.mapped.insert(file) {
            self.push(file, process, Want::All, true);
        }
    }

    /// Blocks of a mapped file were touched that were not here by an earlier touch. Then no more is
    /// asked at the end.
    pub fn touched(&mut self, file: FileId, process: u32, first: u64, count: u64) {
        self.touched.insert(file);
        let number = self.numbers.get(&file).copied();
        match self.steps.last_mut().filter(|step| Some(step.file) == number && step.mapped).map(|step| &mut step.want) {
            Some(Want::Range { first: begun, count: so_far }) if *begun + *so_far == first => *so_far += count,
            _ => self.push(file, process, Want::Range { first, count }, true),
        }
    }

    /// The same of blocks that were seen from outside to be read. Of this file, too, no more is
    /// asked at the end. `is_sample`: there were others that were not seen.
    pub fn read_outside(&mut self, file: FileId, process: u32, (first, count): (u64, u64), is_sample: bool) {
        self.touched.insert(file);
        self.is_sample |= is_sample;
        self.read(file, process, first, count);
    }

    /// Blocks were read that were not here by an earlier read.
    pub fn read(&mut self, file: FileId, process: u32, first: u64, count: u64) {
        match self.last_of(file).map(|step| &mut step.want) {
            Some(Want::Range { first: begun, count: so_far }) if *begun + *so_far == first => *so_far += count,
            // To read it, it was opened; the one step says both.
            Some(want @ Want::Name) => *want = Want::Range { first, count },
            _ => self.push(file, process, Want::Range { first, count }, false),
        }
    }

    /// Ends the recording of this command in this directory, which executed this program.
    pub fn finish(self, command: Vec<OsString>, directory: PathBuf, program: PathBuf, names: &Names) -> Profile {
        let files: Vec<PathBuf> = self.files.iter().map(|&file| names.path(file).to_owned()).collect();
        let mut steps = Vec::with_capacity(self.steps.len());
        for step in self.steps {
            if !(step.mapped && step.want == Want::All) {
                steps.push(step);
                continue;
            }
            if self.touched.contains(&self.files[step.file as usize]) {
                continue;
            }
            let (path, identity) = (&files[step.file as usize], names.identity(self.files[step.file as usize]));
            let touched = reopen(path, identity).and_then(|file| resident_runs(&file, 0, 0));
            let runs = touched.unwrap_or_default();
            steps.extend(close_gaps(runs).into_iter().map(|(first, count)| {
                let want = Want::Range { first, count };
                Step { want, ..step }
            }));
        }
        let truncated = self.truncated || steps.len() > STEPS_MAX;
        steps.truncate(STEPS_MAX);
        Profile { command, directory, program, runs: 1, files, steps, truncated, learned: Vec::new() }
    }
}

fn close_gaps(runs: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    let mut closed: Vec<(u64, u64)> = Vec::new();
    for (first, count) in runs {
        match closed.last_mut() {
            Some((begun, so_far)) if first - (*begun + *so_far) <= MAPPED_GAP_PAGES => *so_far = first + count - *begun,
            _ => closed.push((first, count)),
        }
    }
    closed.truncate(MAPPED_RUNS_MAX);
    closed
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn neighbours_grow_together_and_an_opening_becomes_its_first_read() {
        let mut names = Names::default();
        let (a, b) = (names.of_path(Path::new("/a")).unwrap(), names.of_path(Path::new("/b")).unwrap());
        let mut recorder = Recorder::new();
        recorder.named(a, 1);
        recorder.read(a, 1, 0, 2);
        recorder.read(a, 1, 2, 2);
        recorder.named(b, 1);
        recorder.named(b, 1);
        recorder.read(a, 1, 9, 1);
        let profile = recorder.finish(vec![], PathBuf::new(), PathBuf::new(), &names);
        let wants: Vec<_> = profile.steps.iter().map(|step| (step.file, step.want.to_string())).collect();
        assert_eq!(wants, [(0, "0+4".into()), (1, "name".into()), (0, "9+1".into())]);
    }

    #[test]
    fn small_gaps_are_closed() {
        assert_eq!(close_gaps(vec![(0, 4), (10, 2), (100, 1)]), [(0, 12), (100, 1)]);
    }
}
