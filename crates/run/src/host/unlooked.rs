//! Names that are still to be looked up: one of a directory, then one of another. Those of one
//! directory lie together, and who looks one of them up waits for what brings the others: so
//! threads that look up neighbours ask a device for one place, not for many. Every other name is of
//! the directory that is needed first, the rest of any, for neighbouring directories wait for one
//! another as well: they share the way to them.
//!
//! Worked example: 7,000 files in 1,200 directories on the model of a disk, looked up by 64
//! threads: 1.9 s in the order of a walk, 0.5 s in a random one.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use foldhash::{HashMap, HashSet};
use foresee_manager::FileId;

/// An odd number whose multiples are spread evenly: 2^64 by the golden ratio.
const SCATTER: u64 = 0x9e37_79b9_7f4a_7c15;

/// The names.
#[derive(Debug, Default)]
pub struct Unlooked {
    /// A program may have been faster than we with some that wait.
    wanted: HashSet<FileId>,
    waiting: HashMap<PathBuf, VecDeque<(FileId, PathBuf)>>,
    /// Directories of which names wait: the first one's turn is next.
    turns: VecDeque<PathBuf>,
    /// Names that were taken.
    taken: u64,
}

impl Unlooked {
    /// A name is to be looked up.
    pub fn want(&mut self, file: FileId) {
        self.wanted.insert(file);
    }

    /// It need not be any more.
    pub fn need_not(&mut self, file: FileId) {
        self.wanted.remove(&file);
    }

    /// It waits from now on, if it is still wanted. Returns whether it does.
    pub fn wait(&mut self, file: FileId, path: &Path) -> bool {
        let waits = self.wanted.contains(&file);
        if waits {
            let directory = path.parent().unwrap_or(path);
            match self.waiting.get_mut(directory) {
                Some(names) => names.push_back((file, path.to_owned())),
                None => {
                    self.turns.push_back(directory.to_owned());
                    self.waiting.insert(directory.to_owned(), VecDeque::from([(file, path.to_owned())]));
                }
            }
        }
        waits
    }

    /// Takes the next one that is still wanted.
    pub fn next(&mut self) -> Option<(FileId, PathBuf)> {
        loop {
            self.taken += 1;
            if self.taken.is_multiple_of(2) && !self.turns.is_empty() {
                let anywhere = self.taken.wrapping_mul(SCATTER) >> 32;
                self.turns.swap(0, anywhere as usize % self.turns.len());
            }
            let directory = self.turns.pop_front()?;
            let Some(names) = self.waiting.get_mut(&directory) else { continue };
            let wanted = std::iter::from_fn(|| names.pop_front()).find(|(file, _)| self.wanted.remove(file));
            if names.is_empty() {
                self.waiting.remove(&directory);
            } else {
                self.turns.push_back(directory);
            }
            if wanted.is_some() {
                return wanted;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_taken_once_and_what_is_not_wanted_any_more_is_left_out() {
        let mut unlooked = Unlooked::default();
        for number in 0..300 {
            let file = FileId(number);
            unlooked.want(file);
            assert!(unlooked.wait(file, Path::new(&format!("/{}/{number}", number / 10))));
        }
        unlooked.need_not(FileId(3));
        assert!(!unlooked.wait(FileId(3), Path::new("/0/3")));
        let taken: Vec<_> = std::iter::from_fn(|| unlooked.next()).map(|(file, _)| file.0).collect();
        // Among the first thirty, few are of the same directory, and many of those that come first.
        let directories: HashSet<u32> = taken[..30].iter().map(|file| file / 10).collect();
        assert!(directories.len() >= 20, "{directories:?}");
        let mut sorted = taken;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..300).filter(|&file| file != 3).collect::<Vec<_>>());
        assert!(unlooked.waiting.is_empty() && unlooked.turns.is_empty() && unlooked.wanted.is_empty());
    }
}
