//! Directories whose files are read in no order, as a loader reads its samples: all of them come,
//! and nobody knows which comes next.
//!
//! What was read so says how much of the rest may be brought: as many files as were read, and the
//! more the greater a part of all they are; a tenth, twice as many, a quarter, all. A program that
//! stops has brought no more in vain. They are told of [`BATCH`] at a time, by their inodes, for a
//! disk's arm to sweep over them.
//!
//! Directories beside each other (a folder for each class) are one *group*: what is read in any of
//! them counts, and those from which something was read are brought from. In no order means that of
//! the steps from file to file within a directory enough lead back, as it is listed and by name:
//! who reads every tenth file in order goes on so, and needs none of the others.

use std::path::{Path, PathBuf};

use foldhash::HashMap;

/// Files read before any is told of, and files told of at once.
const READ_MIN: usize = 32;
const BATCH: usize = 64;
/// For each file read one may be told of, and so many times the part of all files that were read.
const TOLD_BY_PART: usize = 8;
/// One step in so many must lead back in each order: one in two does by chance, and fewer than 8 of
/// 32 once in 1,000 times.
const BACK_PART: usize = 4;
/// Groups watched at one time: those visited last.
const GROUPS_MAX: usize = 16;
/// Visits elsewhere after which a program is taken to be through with a group: as many as there are
/// in a small epoch of another one.
const LEFT_AFTER: u64 = 512;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Mark {
    #[default]
    Unread,
    Told,
    Read,
}

/// What of a directory's files is left to be read.
#[derive(Default)]
pub struct Rest {
    /// What became of each, as they are listed.
    marks: Vec<Mark>,
    /// Their places there by their inodes, and up to where none of these is unread and not told of.
    by_inode: Vec<u32>,
    next: usize,
}

impl Rest {
    /// All of the files that have these inodes.
    pub fn new(inodes: &[u64]) -> Self {
        let mut by_inode: Vec<u32> = (0..inodes.len() as u32).collect();
        by_inode.sort_unstable_by_key(|&at| inodes[at as usize]);
        Rest { marks: vec![Mark::default(); inodes.len()], by_inode, next: 0 }
    }

    /// How many files there are.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// The file at this place is read. Returns whether it had been told of, and was unread.
    pub fn read(&mut self, at: usize) -> bool {
        let mark = self.marks.get_mut(at).map(|mark| std::mem::replace(mark, Mark::Read));
        mark == Some(Mark::Told)
    }

    /// Tells of the next unread file that `wanted` finds something for by its place.
    pub fn tell<T>(&mut self, wanted: impl Fn(usize) -> Option<T>) -> Option<T> {
        while let Some(&at) = self.by_inode.get(self.next) {
            self.next += 1;
            let mark = &mut self.marks[at as usize];
            if *mark == Mark::Unread
                && let Some(file) = wanted(at as usize)
            {
                *mark = Mark::Told;
                return Some(file);
            }
        }
        None
    }
}

/// A file was read in a directory whose names are known.
pub struct Step {
    /// The program had to wait for it, or would have if it had not been told of.
    pub counts: bool,
    /// The file before it comes after it: as they are listed, and by name.
    pub back: [bool; 2],
}

#[derive(Default)]
struct Group {
    /// Files that were found in it; more than there are where a directory was forgotten and found
    /// again.
    files: usize,
    read: usize,
    back: [usize; 2],
    told: usize,
    visited: u64,
}

impl Group {
    fn is_unordered(&self) -> bool {
        self.read >= READ_MIN && self.back.iter().all(|back| back * BACK_PART >= self.read)
    }

    /// Files that may be told of by now.
    fn allowed(&self) -> usize {
        let earned = self.read + TOLD_BY_PART * self.read * self.read / self.files.max(1);
        earned.saturating_sub(self.told)
    }
}

/// The groups, by the directory that theirs are in.
#[derive(Default)]
pub struct Unordered {
    groups: HashMap<PathBuf, Group>,
    visits: u64,
}

impl Unordered {
    /// A file of this group was read. Returns how many of its others may be told of by now.
    pub fn visited(&mut self, group: &Path, step: &Step) -> usize {
        let group = self.group(group);
        if !step.counts {
            return 0;
        }
        group.read += 1;
        group.back.iter_mut().zip(step.back).for_each(|(count, back)| *count += usize::from(back));
        if group.is_unordered() { Some(group.allowed()).filter(|&allowed| allowed >= BATCH).unwrap_or(0) } else { 0 }
    }

    /// So many files were found in a directory of this group.
    pub fn listed(&mut self, group: &Path, files: usize) {
        self.group(group).files += files;
    }

    fn group(&mut self, path: &Path) -> &mut Group {
        if !self.groups.contains_key(path) {
            self.groups.insert(path.to_owned(), Group::default());
        }
        let group = self.groups.get_mut(path).unwrap_or_else(|| unreachable!("it was just put there"));
        group.visited = self.visits;
        group
    }

    /// So many of its files were told of.
    pub fn told(&mut self, group: &Path, files: usize) {
        if let Some(group) = self.groups.get_mut(group) {
            group.told += files;
        }
    }

    /// Whether files of this group were told of.
    pub fn tells(&self, group: &Path) -> bool {
        self.groups.get(group).is_some_and(|group| group.told > 0)
    }

    /// A file was read, wherever. Forgets groups that are read from no more; returns whether any of
    /// their files were told of.
    pub fn leave(&mut self) -> bool {
        self.visits += 1;
        let visits = self.visits;
        let oldest = self.groups.values().map(|group| group.visited).min().filter(|_| self.groups.len() > GROUPS_MAX);
        let mut any_told = false;
        self.groups.retain(|_, group| {
            let is_left = visits - group.visited > LEFT_AFTER || Some(group.visited) == oldest;
            any_told |= is_left && group.told > 0;
            !is_left
        });
        any_told
    }
}
