//! Readahead across files: a program that says nothing often reads the files of a directory one
//! after the other, as the directory lists them (`find`, `os.listdir`) or by their names (a shell's
//! `*`). Then the files that come next are the sequence.
//!
//! A *visit* is a read of a file's beginning, whichever process reads. [`NEIGHBOURS_MIN`] visits to
//! neighbours, in one of the two orders, are a *run*. It tells of the files that come next, twice
//! as many as were read: six at first, eighteen when those were read. With a visit elsewhere, or
//! too many files passed over, it ends, and what it told is withdrawn. Where all visits so far are
//! to names of one kind (`*.c`), those of other kinds do not count as passed over, until one is
//! read.
//!
//! A run that came to the end of its directory goes on in the next one whose first file is read,
//! whichever that is: so much is known of a walk. One that ended before says how far the next one
//! may look: no further than that, until it is well past it.
//!
//! The directory is listed once it has had visits enough, by a thread, and only where [`WAITS_MIN`]
//! waited for their device: a program that finds all in memory has nothing to gain. All this is a
//! guess, and has the window of one.
//!
//! Visits that are in no run are counted by [`unordered`]: where there are many, all files come
//! some time.

mod names;
mod run;
mod unordered;

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use foldhash::HashMap;
use foresee_manager::Source;

use names::{Kind, Names, Order};
use run::{Habit, Run, Visit};
use unordered::{Rest, Step, Unordered};

use crate::host::Listed;

/// Visits to neighbours that are a run: of three files read in a random order of a thousand, one in
/// 170,000 is one by chance.
const NEIGHBOURS_MIN: usize = 3;
/// Of these visits, those that waited for their device: one alone may have waited for a processor.
const WAITS_MIN: usize = 2;
/// Files that a run may pass over: threads that share the work are some files out of order.
const HOLES_MAX: usize = 8;
/// Files between two samples that are a run's: of three in a random order of a thousand, one in
/// 1,800 is one by chance.
const BETWEEN_SAMPLES_MAX: usize = 32;
/// Files told of and not yet come to: twice as many as the manager looks up at once.
const AHEAD_MAX: usize = 512;
/// Directories watched at one time, and the names in them: those visited last. Some 100 MB of
/// names.
const DIRECTORIES_MAX: usize = 1024;
const NAMES_MAX: usize = 1 << 21;

enum Listing {
    Unasked,
    Asked,
    Known(Names),
    /// It cannot be listed, or is too large.
    Refused,
}

struct Directory {
    listing: Listing,
    /// The last visits, and whether each waited.
    recent: VecDeque<(Box<OsStr>, bool)>,
    /// They are samples: others may lie between them.
    are_samples: bool,
    /// The kind of all visits, as long as they are of one.
    kind: Option<Kind>,
    run: Option<Run>,
    /// How the directory before was read to its end, as this one was begun.
    habit: Option<Habit>,
    rest: Rest,
    visited: u64,
}

/// What is known of the directories that are read from.
#[derive(Default)]
pub struct Listings {
    directories: HashMap<PathBuf, Directory>,
    visits: u64,
    /// Where a run last began or went on.
    current: PathBuf,
    /// How the last run was read, if it came to its end.
    habit: Option<Habit>,
    /// How many files the last run read, if it did not.
    last_read: Option<usize>,
    unordered: Unordered,
    unlisted: Vec<PathBuf>,
    found: VecDeque<(Source, PathBuf)>,
    withdrawn: Vec<Source>,
}

impl Listings {
    /// A file was read from its beginning; `waited` says whether the program had to wait for that.
    pub fn visited(&mut self, file: &Path, waited: bool) {
        self.visit(file, waited, false);
    }

    /// The same of one that was met by chance, for the program has had to wait for it: others may
    /// have been read before it.
    pub fn met(&mut self, file: &Path) {
        self.visit(file, true, true);
    }

    fn visit(&mut self, file: &Path, waited: bool, is_sample: bool) {
        let (Some(path), Some(name)) = (file.parent(), file.file_name()) else { return };
        if self.unordered.leave() {
            self.withdrawn.push(Source::Unordered);
        }
        let (habit, is_wanted) = (self.habit.clone(), path.parent().is_some_and(|group| self.unordered.tells(group)));
        let directory = self.directory(path);
        if directory.recent.back().is_some_and(|(last, _)| **last == *name) {
            return;
        }
        if directory.recent.is_empty() {
            (directory.habit, directory.kind) = (habit, Some(Kind::of(name)));
        }
        directory.kind = directory.kind.take().filter(|kind| kind.has(name));
        let step = directory.step(name, waited);
        directory.recent.push_back((name.into(), waited));
        directory.are_samples = is_sample;
        if directory.recent.len() > NEIGHBOURS_MIN {
            directory.recent.pop_front();
        }
        let waits = directory.recent.iter().filter(|(_, waited)| *waited).count();
        let waits_enough = waits >= WAITS_MIN.min(directory.recent.len());
        match &directory.listing {
            Listing::Unasked
                if waits_enough
                    && (directory.habit.is_some() || is_wanted || directory.recent.len() == NEIGHBOURS_MIN) =>
            {
                directory.listing = Listing::Asked;
                self.unlisted.push(path.to_owned());
            }
            Listing::Known(names) => {
                let visit = directory.run.as_mut().map(|run| run.visit(names, name, is_sample));
                let found = || {
                    if waits_enough {
                        Run::find(names, &directory.recent, directory.kind.clone(), is_sample)
                    } else {
                        None
                    }
                };
                let left = match visit {
                    Some(Visit::InOrder) => return self.go_on(path),
                    Some(Visit::Aside) => match found() {
                        Some(run) => directory.run.replace(run),
                        None => return,
                    },
                    Some(Visit::OutOfOrder) | None => std::mem::replace(&mut directory.run, found()),
                };
                if let Some(run) = left {
                    self.gave_out(run.read());
                    if run.has_unread() {
                        self.withdraw();
                    }
                }
                self.begin(path);
                self.stepped(path, step);
            }
            _ => {}
        }
    }

    /// A file was read that goes on no run.
    fn stepped(&mut self, path: &Path, step: Option<Step>) {
        let (Some(group), Some(step)) = (path.parent(), step) else { return };
        let allowed = self.unordered.visited(group, &step);
        if allowed > 0 {
            let siblings = self.directories.iter_mut().filter(|(path, _)| path.parent() == Some(group));
            let unread = siblings.flat_map(|(path, directory)| {
                std::iter::from_fn(move || directory.next_unread().map(|name| path.join(name)))
            });
            let before = self.found.len();
            self.found.extend(unread.take(allowed).map(|path| (Source::Unordered, path)));
            self.unordered.told(group, self.found.len() - before);
        }
    }

    /// A run may have begun in this directory. One that was elsewhere, and not at its end, is taken
    /// to be over.
    fn begin(&mut self, path: &Path) {
        let Some(Directory { run: Some(_), .. }) = self.directories.get(path) else { return };
        if self.current != path {
            let left = self.directories.get(&self.current).and_then(|directory| directory.run.as_ref());
            if let Some(read) = left.map(Run::read) {
                self.gave_out(read);
            }
        }
        self.go_on(path);
    }

    /// A run did not come to its directory's end: the next one may be as short.
    fn gave_out(&mut self, read: usize) {
        (self.habit, self.last_read) = (None, Some(read));
    }

    /// The run in this directory has begun or gone on.
    fn go_on(&mut self, path: &Path) {
        if self.current != path {
            self.current = path.to_owned();
        }
        let Some(directory) = self.directories.get_mut(path) else { return };
        let (Listing::Known(names), Some(run)) = (&directory.listing, &mut directory.run) else { return };
        while let Some(name) = run.tell(names, self.last_read) {
            self.found.push_back((Source::Listing, path.join(name)));
        }
        if let Some(habit) = run.ended(names) {
            (self.habit, self.last_read) = (Some(habit), None);
            directory.run = None;
        }
    }

    fn directory(&mut self, path: &Path) -> &mut Directory {
        self.visits += 1;
        if !self.directories.contains_key(path) {
            if self.directories.len() >= DIRECTORIES_MAX {
                self.forget_oldest();
            }
            let (listing, recent) = (Listing::Unasked, VecDeque::new());
            let new = Directory {
                listing,
                recent,
                are_samples: false,
                kind: None,
                run: None,
                habit: None,
                rest: Rest::default(),
                visited: 0,
            };
            self.directories.insert(path.to_owned(), new);
        }
        let directory = self.directories.get_mut(path).unwrap_or_else(|| unreachable!("it was just put there"));
        directory.visited = self.visits;
        directory
    }

    fn forget_oldest(&mut self) {
        let oldest = self.directories.iter().min_by_key(|(_, it)| it.visited).map(|(path, _)| path.clone());
        oldest.map(|path| self.directories.remove(&path));
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
                let files = || entries.iter().filter(|entry| entry.is_file);
                let names = Names::new(files().filter_map(|file| Some(file.path.file_name()?.into())).collect());
                directory.rest = Rest::new(&files().map(|file| file.inode).collect::<Vec<_>>());
                for at in directory.recent.iter().filter_map(|(name, _)| names.find(Order::Listed, name)) {
                    directory.rest.read(at);
                }
                path.parent().into_iter().for_each(|group| self.unordered.listed(group, names.len()));
                let alike = directory.habit.take().and_then(|habit| Run::go_on(habit, &names, &directory.recent));
                let found = || Run::find(&names, &directory.recent, directory.kind.clone(), directory.are_samples);
                directory.run = alike.or_else(found);
                Listing::Known(names)
            }
            Err(_) => Listing::Refused,
        };
        if directory.run.is_none() {
            // The directory before says nothing of the next ones.
            self.habit = None;
        }
        self.begin(path);
        while self.directories.values().map(|it| it.rest.len()).sum::<usize>() > NAMES_MAX {
            self.forget_oldest();
        }
    }

    /// What was told is one sequence, whatever directories it is of.
    fn withdraw(&mut self) {
        self.withdrawn.push(Source::Listing);
        self.found.retain(|(source, _)| *source != Source::Listing);
        self.directories.values_mut().filter_map(|it| it.run.as_mut()).for_each(Run::withdrawn);
    }

    /// The next source of which all that was told before is to be withdrawn: asked before
    /// [`Listings::next_found`].
    pub fn next_withdrawn(&mut self) -> Option<Source> {
        self.withdrawn.pop()
    }

    /// The files that were read between the last two that were met, as far as they are a run's.
    pub fn take_unsampled(&mut self) -> Vec<PathBuf> {
        let run = self.directories.get_mut(&self.current).and_then(|directory| directory.run.as_mut());
        let names = run.map(Run::take_unsampled).unwrap_or_default();
        names.into_iter().map(|name| self.current.join(&*name)).collect()
    }

    /// The next file that comes to be read, if the order holds; or that is to be read some time.
    pub fn next_found(&mut self) -> Option<(Source, PathBuf)> {
        self.found.pop_front()
    }
}

impl Directory {
    /// A file is read. Returns how it lies to the one before it, if both are known.
    fn step(&mut self, name: &OsStr, waited: bool) -> Option<Step> {
        let Listing::Known(names) = &self.listing else { return None };
        let places = |name: &OsStr| Some([names.find(Order::Listed, name)?, names.find(Order::Sorted, name)?]);
        let now = places(name)?;
        let was_told = self.rest.read(now[0]);
        let [listed, sorted] = places(&self.recent.back()?.0)?;
        Some(Step { counts: waited || was_told, back: [now[0] < listed, now[1] < sorted] })
    }

    /// The next file neither read nor told of, of the kind of those that were read: it is told of
    /// now.
    fn next_unread(&mut self) -> Option<&OsStr> {
        let Listing::Known(names) = &self.listing else { return None };
        let is_kind = |name: &OsStr| self.kind.as_ref().is_none_or(|kind| kind.has(name));
        self.rest.tell(|at| names.get(Order::Listed, at).filter(|name| is_kind(name)))
    }
}

#[cfg(test)]
mod tests;
