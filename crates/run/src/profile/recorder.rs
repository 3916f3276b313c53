//! Recording a run while it goes on.

use std::ffi::OsString;
use std::mem;
use std::path::PathBuf;

use foresee_manager::{FileId, Want};

use super::{Done, Paths, Profile, STEPS_MAX, Step};
use crate::host::{reopen, resident_runs};
use crate::names::Names;

/// Runs of resident pages kept of one mapped file.
const MAPPED_RUNS_MAX: usize = 64;
/// Gaps of so many pages inside a mapped file are read along: the kernel faults around in 64 KiB.
const MAPPED_GAP_PAGES: u64 = 16;

/// What is known of a file: of hundreds of thousands, where somebody walks a tree.
#[derive(Clone, Copy, Default)]
struct Noted {
    /// Its number in the record, and one more; 0 before its first step.
    numbered: u32,
    was_named: bool,
    was_mapped: bool,
    was_touched: bool,
}

/// A run being recorded.
pub struct Recorder {
    files: Vec<FileId>,
    /// By the files' numbers, which are given one after the other.
    noted: Vec<Noted>,
    steps: Vec<Step>,
    truncated: bool,
    /// Of what was read from outside a part was seen: no run is to go by that.
    pub(crate) is_sample: bool,
}

impl Recorder {
    /// Nothing recorded yet.
    #[allow(clippy::new_without_default, reason = "a recorder is begun, not defaulted")]
    pub fn new() -> Self {
        Recorder { files: Vec::new(), noted: Vec::new(), steps: Vec::new(), truncated: false, is_sample: false }
    }

    fn note(&mut self, file: FileId) -> &mut Noted {
        let at = file.0 as usize;
        if at >= self.noted.len() {
            self.noted.resize(at + 1, Noted::default());
        }
        &mut self.noted[at]
    }

    /// The number of a file that has one.
    fn number(&self, file: FileId) -> Option<u32> {
        self.noted.get(file.0 as usize)?.numbered.checked_sub(1)
    }

    /// Whether anything of this file was noted.
    pub fn knows(&self, file: FileId) -> bool {
        self.number(file).is_some()
    }

    /// Steps so far.
    pub fn count(&self) -> usize {
        self.steps.len()
    }

    /// Appends a step, as long as there is room. A file gets its number by its first step.
    fn push(&mut self, file: FileId, process: u32, want: Want, mapped: bool) {
        if self.steps.len() >= STEPS_MAX {
            self.truncated = true;
            return;
        }
        let number = self.number(file).unwrap_or_else(|| {
            self.files.push(file);
            let count = self.files.len() as u32;
            self.note(file).numbered = count;
            count - 1
        });
        self.steps.push(Step { file: number, process, want, mapped, runs: 1 });
    }

    /// The last step, if it is one of this file.
    fn last_of(&mut self, file: FileId) -> Option<&mut Step> {
        let number = self.number(file)?;
        self.steps.last_mut().filter(|step| step.file == number && !step.mapped)
    }

    /// A name was looked up. Only the first time counts.
    pub fn named(&mut self, file: FileId, process: u32) {
        if !mem::replace(&mut self.note(file).was_named, true) {
            self.push(file, process, Want::Name, false);
        }
    }

    /// A file was mapped. What of it was touched is asked at the end. Only the first time counts.
    pub fn mapped(&mut self, file: FileId, process: u32) {
        if !mem::replace(&mut self.note(file).was_mapped, true) {
            self.push(file, process, Want::All, true);
        }
    }

    /// Blocks of a mapped file were touched that were not here by an earlier touch. Then no more is
    /// asked at the end.
    pub fn touched(&mut self, file: FileId, process: u32, first: u64, count: u64) {
        self.note(file).was_touched = true;
        let number = self.number(file);
        match self.steps.last_mut().filter(|step| Some(step.file) == number && step.mapped).map(|step| &mut step.want) {
            Some(Want::Range { first: begun, count: so_far }) if *begun + *so_far == first => *so_far += count,
            _ => self.push(file, process, Want::Range { first, count }, true),
        }
    }

    /// The same of blocks that were seen from outside to be read. Of this file, too, no more is
    /// asked at the end. `is_sample`: there were others that were not seen.
    pub fn read_outside(&mut self, file: FileId, process: u32, (first, count): (u64, u64), is_sample: bool) {
        self.note(file).was_touched = true;
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

    /// What was read so far.
    pub fn done(&self) -> Done {
        let mut done = Done::default();
        for step in &self.steps {
            if let Want::Range { first, count } = step.want {
                done.add(self.files[step.file as usize], first..first.saturating_add(count));
            }
        }
        done
    }

    /// Ends the recording of this command in this directory, which executed this program.
    pub fn finish(self, command: Vec<OsString>, directory: PathBuf, program: PathBuf, names: &Names) -> Profile {
        let files: Paths = self.files.iter().map(|&file| names.path(file)).collect();
        let mut steps = Vec::with_capacity(self.steps.len());
        for step in self.steps {
            if !(step.mapped && step.want == Want::All) {
                steps.push(step);
                continue;
            }
            let file = self.files[step.file as usize];
            if self.noted[file.0 as usize].was_touched {
                continue;
            }
            let (path, identity) = (&files[step.file], names.identity(file));
            let touched = reopen(path, identity).and_then(|file| resident_runs(&file, 0, 0));
            let runs = touched.unwrap_or_default();
            steps.extend(close_gaps(runs).into_iter().map(|(first, count)| {
                let want = Want::Range { first, count };
                Step { want, ..step }
            }));
        }
        let truncated = self.truncated || steps.len() > STEPS_MAX;
        steps.truncate(STEPS_MAX);
        Profile { command, directory, program, runs: 1, files, steps, truncated, ..Profile::default() }
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
