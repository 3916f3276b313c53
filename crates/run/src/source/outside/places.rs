//! The directories that are watched: those that unseen processes are seen to use.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::os::fd::RawFd;
use std::path::Path;
use std::rc::Rc;

use super::at_hand;
use super::notices::{Key, Notice, Notices, path_of};

/// Directories watched at one time: those in use last. Each holds an inode in the kernel's memory,
/// about a KiB.
const WATCHED_MAX: usize = 1024;
/// Directories to be watched as soon as somebody has looked them up. A program that names more is
/// followed where it goes.
const WANTED_MAX: usize = 1024;
/// Of these, asked about at one time: a microsecond each.
const ASKED_MAX: usize = 32;

struct Place {
    path: Rc<Path>,
    used: u64,
}

/// The directories, and the group that is told of them.
pub(super) struct Places {
    notices: Notices,
    watched: HashMap<Key, Place>,
    /// One may be reached by several.
    paths: HashMap<Rc<Path>, Key>,
    wanted: VecDeque<Rc<Path>>,
    is_wanted: HashSet<Rc<Path>>,
    uses: u64,
}

impl Places {
    /// None yet.
    ///
    /// # Errors
    /// If the kernel tells nobody.
    pub fn new() -> io::Result<Self> {
        let (watched, paths) = (HashMap::new(), HashMap::new());
        let (wanted, is_wanted) = (VecDeque::new(), HashSet::new());
        Ok(Places { notices: Notices::new()?, watched, paths, wanted, is_wanted, uses: 0 })
    }

    /// Whether notices say who did something.
    pub fn tell_processes(&self) -> bool {
        self.notices.tells_processes()
    }

    /// What to poll.
    pub fn fd(&self) -> RawFd {
        self.notices.fd()
    }

    /// A process uses this directory, or will: it is watched as soon as it is at hand.
    pub fn want(&mut self, path: &Path) {
        if self.paths.contains_key(path) || self.is_wanted.contains(path) || self.watch(path) {
            return;
        }
        if self.wanted.len() >= WANTED_MAX {
            self.next_wanted();
        }
        self.add_wanted(path.into());
    }

    /// Watches what has become at hand.
    pub fn follow(&mut self) {
        for _ in 0..self.wanted.len().min(ASKED_MAX) {
            if let Some(path) = self.next_wanted()
                && !self.watch(&path)
            {
                self.add_wanted(path);
            }
        }
    }

    fn next_wanted(&mut self) -> Option<Rc<Path>> {
        let path = self.wanted.pop_front()?;
        self.is_wanted.remove(&path);
        Some(path)
    }

    fn add_wanted(&mut self, path: Rc<Path>) {
        self.is_wanted.insert(Rc::clone(&path));
        self.wanted.push_back(path);
    }

    /// Returns whether that is settled: it is watched, or cannot be.
    fn watch(&mut self, path: &Path) -> bool {
        let directory = match at_hand::open(path) {
            Ok(directory) => directory,
            Err(error) => return error.raw_os_error() != Some(libc::EAGAIN),
        };
        if self.watched.len() >= WATCHED_MAX {
            self.forget_oldest();
        }
        if let Ok(key) = self.notices.watch(&directory) {
            self.uses += 1;
            let path: Rc<Path> = path.into();
            let place = Place { path: Rc::clone(&path), used: self.uses };
            self.watched.entry(key.clone()).or_insert(place);
            self.paths.insert(path, key);
        }
        true
    }

    fn forget_oldest(&mut self) {
        let Some(key) = self.watched.iter().min_by_key(|(_, it)| it.used).map(|(key, _)| key.clone()) else { return };
        let Some(place) = self.watched.remove(&key) else { return };
        self.paths.retain(|_, its| *its != key);
        let forgotten = at_hand::open(&place.path).and_then(|directory| self.notices.forget(&directory));
        if forgotten.is_err() {
            // It is found by its name alone: what is in use will be seen to be.
            self.notices.forget_all();
            self.watched.clear();
            self.paths.clear();
        }
    }

    /// Takes some of what was told since, as [`Notices::take`] does. Returns whether there was
    /// anything.
    pub fn take(&mut self, into: &mut Vec<Option<Notice>>) -> bool {
        let batch = self.notices.take();
        batch.is_some_and(|batch| {
            into.extend(batch);
            true
        })
    }

    /// Whether what is done in this directory is told.
    pub fn tell_of(&self, path: &Path) -> bool {
        self.paths.contains_key(path)
    }

    /// The path of a directory that is watched.
    pub fn path(&mut self, key: &Key) -> Option<Rc<Path>> {
        let place = self.watched.get_mut(key)?;
        self.uses += 1;
        place.used = self.uses;
        Some(Rc::clone(&place.path))
    }

    /// A directory inside a watched one was opened: watches it, if its path can be found. Returns
    /// it.
    pub fn enter(&mut self, key: &Key) -> Option<Rc<Path>> {
        let beside = self.watched.iter().find(|(known, _)| known.is_beside(key))?.1;
        let path = path_of(key, &at_hand::open_directory(&beside.path).ok()?)?;
        self.watch(&path);
        self.path(key)
    }
}
