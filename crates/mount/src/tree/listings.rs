//! What is known of the names in directories of an object store, and for how long.
//!
//! The first name that is asked for in a directory brings its first page. Most directories have one
//! page: then all their names are known, and which there are not. Of a longer one each name that is
//! not known is asked for by itself, until somebody lists all of it. So is each that was changed
//! since: who makes a thousand files shall not have the directory listed a thousand times.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use foresee_run::pool::lock;

use super::{Entry, Names};
use crate::failure::Failure;

/// Names that are known at one time: beyond that the directories that were asked for first are
/// forgotten.
const NAMES_MAX: usize = 1 << 19;

/// Names of a directory that are asked for one by one: beyond that it is listed anew.
const CHANGED_MAX: usize = 4096;

/// A page of a directory, and what leads to the next one.
pub type Page = (Vec<(OsString, Entry)>, Option<String>);

/// What is known of a directory.
#[derive(Clone)]
struct Known {
    since: Instant,
    /// In the order of their names.
    names: Names,
    next: Option<String>,
    /// Names that were changed since.
    changed: HashSet<OsString>,
}

impl Known {
    fn new(since: Instant, names: Vec<(OsString, Entry)>, next: Option<String>) -> Self {
        Known { since, names: in_order(names), next, changed: HashSet::new() }
    }
}

type Directory = Arc<Mutex<Option<Known>>>;

/// What is known of a name.
pub enum Answer {
    /// It leads to this, or to nothing.
    Known(Option<Entry>),
    /// Its directory is too long for all of it to be known, or it was changed.
    Unknown,
}

/// All of them.
pub struct Listings {
    lasting: Duration,
    directories: Mutex<HashMap<PathBuf, Directory>>,
}

impl Listings {
    /// Nothing is known; what is found out holds for so long.
    pub fn new(lasting: Duration) -> Self {
        Listings { lasting, directories: Mutex::default() }
    }

    /// How long what is found out holds.
    pub fn lasting(&self) -> Duration {
        self.lasting
    }

    fn directory(&self, path: &Path) -> Directory {
        let mut directories = lock(&self.directories);
        match directories.get(path) {
            Some(directory) => Arc::clone(directory),
            None => Arc::clone(directories.entry(path.to_owned()).or_default()),
        }
    }

    /// The first page of a directory at least, if it was not known, and what `wanted` takes of it; who
    /// else asks for it meanwhile waits for the same answer.
    fn begun<T>(
        &self,
        directory: &Directory,
        page: &dyn Fn(Option<&str>) -> Result<Page, Failure>,
        wanted: impl FnOnce(&Known) -> T,
    ) -> Result<T, Failure> {
        let mut known = lock(directory);
        if let Some(known) = known.as_ref().filter(|known| known.since.elapsed() < self.lasting) {
            return Ok(wanted(known));
        }
        *known = None;
        let since = Instant::now();
        let (names, next) = page(None)?;
        let wanted = wanted(known.insert(Known::new(since, names, next)));
        drop(known);
        self.bound();
        Ok(wanted)
    }

    /// Whether a directory has no names. `page` brings pages of it.
    pub fn is_empty(&self, path: &Path, page: &dyn Fn(Option<&str>) -> Result<Page, Failure>) -> Result<bool, Failure> {
        self.begun(&self.directory(path), page, |known| known.names.is_empty() && known.next.is_none())
    }

    /// What a name in a directory leads to. `page` brings pages of the directory.
    pub fn look_up(
        &self,
        path: &Path,
        name: &OsStr,
        page: &dyn Fn(Option<&str>) -> Result<Page, Failure>,
    ) -> Result<Answer, Failure> {
        self.begun(&self.directory(path), page, |known| {
            let found = known.names.binary_search_by(|(it, _)| (**it).cmp(name)).ok();
            match found.map(|at| known.names[at].1.clone()) {
                _ if known.changed.contains(name) => Answer::Unknown,
                None if known.next.is_some() => Answer::Unknown,
                found => Answer::Known(found),
            }
        })
    }

    /// All names of a directory.
    pub fn list(&self, path: &Path, page: &dyn Fn(Option<&str>) -> Result<Page, Failure>) -> Result<Names, Failure> {
        loop {
            let directory = self.directory(path);
            let is_changed = |known: &Known| !known.changed.is_empty();
            let begun = self.begun(&directory, page, |known| (!is_changed(known)).then(|| known.clone()))?;
            let Some(Known { since, names, mut next, .. }) = begun else {
                self.forget(path);
                continue;
            };
            if next.is_none() {
                return Ok(names);
            }
            let mut names = Names::unwrap_or_clone(names);
            while let Some(word) = next {
                let (more, then) = page(Some(&word))?;
                names.extend(more);
                next = then;
            }
            let all = Known::new(since, names, None);
            let names = Arc::clone(&all.names);
            // What was changed meanwhile may be among them as it was.
            let mut known = lock(&directory);
            if !known.as_ref().is_some_and(is_changed) {
                *known = Some(all);
            }
            drop(known);
            self.bound();
            return Ok(names);
        }
    }

    /// What is known of a name in a directory holds no more.
    pub fn changed(&self, path: &Path, name: &OsStr) {
        let Some(directory) = lock(&self.directories).get(path).map(Arc::clone) else { return };
        // What is being asked for is not waited for: it may come as it was.
        match directory.try_lock() {
            Ok(mut known) => match &mut *known {
                Some(known) if known.changed.len() < CHANGED_MAX => _ = known.changed.insert(name.to_owned()),
                known => *known = None,
            },
            Err(_) => self.forget(path),
        }
    }

    /// Forgets what is known of a directory.
    pub fn forget(&self, path: &Path) {
        lock(&self.directories).remove(path);
    }

    fn bound(&self) {
        let mut directories = lock(&self.directories);
        // One that is being asked for is not waited for.
        let state = |directory: &Mutex<Option<Known>>| {
            let known = directory.try_lock().ok()?;
            known.as_ref().map(|known| (known.since, known.names.len() + known.changed.len()))
        };
        let mut ages: Vec<_> = directories
            .iter()
            .filter_map(|(path, it)| state(it).map(|(since, len)| (since, len, path.clone())))
            .collect();
        let mut names: usize = ages.iter().map(|(_, len, _)| len + 1).sum();
        if names <= NAMES_MAX {
            return;
        }
        ages.sort_unstable();
        // The last one was just asked for.
        ages.pop();
        for (_, len, path) in ages {
            if names <= NAMES_MAX {
                return;
            }
            directories.remove(&path);
            names -= len + 1;
        }
    }
}

/// In the order of names. Of a file and a directory of one name, the directory is shown: what is in
/// it has no other way.
fn in_order(mut names: Vec<(OsString, Entry)>) -> Names {
    let is_file = |entry: &Entry| entry.kind != fuser::FileType::Directory;
    names.sort_by(|(one, entry), (other, of)| one.cmp(other).then(is_file(entry).cmp(&is_file(of))));
    names.dedup_by(|(later, _), (first, _)| later == first);
    Arc::new(names)
}
