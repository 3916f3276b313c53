//! Readahead across files: a program that says nothing often reads the files of a directory one after the other, as the
//! directory lists them (`find`, `os.listdir`) or by their names (a shell's `*`). Then the files that come next are the sequence.
//!
//! A *visit* is a read of a file's beginning, whichever process reads. [`NEIGHBOURS_MIN`] visits to neighbours, in one of the
//! two orders, are a *run*. It tells of the files that come next, twice as many as were read: six at first, eighteen when
//! those were read. With a visit elsewhere, or too many files passed over, it ends, and what it told is withdrawn. Where all
//! visits are to names of one kind (`*.c`), those of other kinds are not passed over: they are not in its way.
//!
//! The directory is listed once it has had visits enough, by a thread, and only where one waited for its device: a program
//! that finds all in memory has nothing to gain. All this is a guess, and has the window of one.

mod names;
mod run;

use std::collections::{HashMap, VecDeque};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use names::Names;
use run::{Run, Visit};

use crate::host::Listed;

/// Visits to neighbours that are a run: of three files read in a random order of a thousand, one in 170,000 is one by chance.
const NEIGHBOURS_MIN: usize = 3;
/// Files that a run may pass over: threads that share the work are some files out of order.
const HOLES_MAX: usize = 8;
/// Files told of and not yet come to: twice as many as the manager looks up at once.
const AHEAD_MAX: usize = 512;
/// Directories watched at one time: those visited last.
const DIRECTORIES_MAX: usize = 64;

enum Listing {
    Unasked,
    Asked,
    Known(Names),
    /// It cannot be listed, or is too large.
    Refused,
}

struct Directory {
    listing: Listing,
    /// The last visits.
    recent: VecDeque<Box<OsStr>>,
    run: Option<Run>,
    visited: u64,
}

/// What is known of the directories that are read from.
#[derive(Default)]
pub struct Listings {
    directories: HashMap<PathBuf, Directory>,
    visits: u64,
    unlisted: Vec<PathBuf>,
    found: VecDeque<PathBuf>,
    is_withdrawn: bool,
}

impl Listings {
    /// A file was read from its beginning; `waited` says whether the program had to wait for that.
    pub fn visited(&mut self, file: &Path, waited: bool) {
        let (Some(path), Some(name)) = (file.parent(), file.file_name()) else { return };
        let directory = self.directory(path);
        if directory.recent.back().is_some_and(|last| **last == *name) {
            return;
        }
        directory.recent.push_back(name.into());
        if directory.recent.len() > NEIGHBOURS_MIN {
            directory.recent.pop_front();
        }
        match &directory.listing {
            Listing::Unasked if waited && directory.recent.len() == NEIGHBOURS_MIN => {
                directory.listing = Listing::Asked;
                self.unlisted.push(path.to_owned());
            }
            Listing::Known(names) => {
                let visit = directory.run.as_mut().map(|run| run.visit(names, name));
                let found = || if waited { Run::find(names, &directory.recent) } else { None };
                let left = match visit {
                    Some(Visit::InOrder) => None,
                    Some(Visit::Aside) => found().and_then(|run| directory.run.replace(run)),
                    Some(Visit::OutOfOrder) | None => std::mem::replace(&mut directory.run, found()),
                };
                if left.is_some_and(|run| run.has_unread()) {
                    self.withdraw();
                }
                self.tell(path);
            }
            _ => {}
        }
    }

    fn directory(&mut self, path: &Path) -> &mut Directory {
        self.visits += 1;
        if !self.directories.contains_key(path) {
            if self.directories.len() >= DIRECTORIES_MAX {
                let oldest = self.directories.iter().min_by_key(|(_, it)| it.visited).map(|(path, _)| path.clone());
                oldest.map(|path| self.directories.remove(&path));
            }
            let new = Directory { listing: Listing::Unasked, recent: VecDeque::new(), run: None, visited: 0 };
            self.directories.insert(path.to_owned(), new);
        }
        let directory = self.directories.get_mut(path).unwrap_or_else(|| unreachable!("it was just put there"));
        directory.visited = self.visits;
        directory
    }

    /// The next directory to list.
    pub fn next_listing(&mut self) -> Option<PathBuf> {
        self.unlisted.pop()
    }

    /// A directory was listed, or cannot be, or is too large.
    pub fn listed(&mut self, path: &Path, entries: io::Result<Vec<Listed>>) {
        let Some(directory) = self.directories.get_mut(path) else { return };
        directory.listing = match entries {
            Ok(entries) => {
                let files = entries.iter().filter(|entry| entry.is_file);
                let names = Names::new(files.filter_map(|file| Some(file.path.file_name()?.into())).collect());
                directory.run = Run::find(&names, &directory.recent);
                Listing::Known(names)
            }
            Err(_) => Listing::Refused,
        };
        self.tell(path);
    }

    fn tell(&mut self, path: &Path) {
        if let Some(Directory { listing: Listing::Known(names), run: Some(run), .. }) = self.directories.get_mut(path) {
            while let Some(name) = run.tell(names) {
                self.found.push_back(path.join(name));
            }
        }
    }

    /// What was told is one sequence, whatever directories it is of.
    fn withdraw(&mut self) {
        self.is_withdrawn = true;
        self.found.clear();
        self.directories.values_mut().filter_map(|it| it.run.as_mut()).for_each(Run::withdrawn);
    }

    /// Whether all that was told before is to be withdrawn: asked before [`Listings::next_found`].
    pub fn take_withdrawn(&mut self) -> bool {
        std::mem::take(&mut self.is_withdrawn)
    }

    /// The next file that comes to be read, if the order holds.
    pub fn next_found(&mut self) -> Option<PathBuf> {
        self.found.pop_front()
    }
}

#[cfg(test)]
mod tests;
