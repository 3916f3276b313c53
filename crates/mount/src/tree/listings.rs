//! What is known of the names in directories of an object store, and for how long.
//!
//! The first name that is asked for in a directory brings its first page. Most directories have one
//! page: then all their names are known, and which there are not. Of a longer one each name that is
//! not known is asked for by itself, until somebody lists all of it.

use std::collections::HashMap;
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

/// A page of a directory, and what leads to the next one.
pub type Page = (Vec<(OsString, Entry)>, Option<String>);

/// What is known of a directory.
#[derive(Clone)]
struct Known {
    since: Instant,
    /// In the order of their names.
    names: Names,
    next: Option<String>,
}

/// What is known of a name.
pub enum Answer {
    /// It leads to this, or to nothing.
    Known(Option<Entry>),
    /// Its directory is too long for all of it to be known.
    Unknown,
}

/// All of them.
pub struct Listings {
    lasting: Duration,
    directories: Mutex<HashMap<PathBuf, Arc<Mutex<Option<Known>>>>>,
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

    fn directory(&self, path: &Path) -> Arc<Mutex<Option<Known>>> {
        let mut directories = lock(&self.directories);
        match directories.get(path) {
            Some(directory) => Arc::clone(directory),
            None => Arc::clone(directories.entry(path.to_owned()).or_default()),
        }
    }

    /// The first page of a directory at least; who else asks for it meanwhile waits for the same
    /// answer.
    fn begun(&self, path: &Path, page: &dyn Fn(Option<&str>) -> Result<Page, Failure>) -> Result<Known, Failure> {
        let directory = self.directory(path);
        let mut known = lock(&directory);
        if let Some(known) = known.as_ref().filter(|known| known.since.elapsed() < self.lasting) {
            return Ok(known.clone());
        }
        *known = None;
        let since = Instant::now();
        let (names, next) = page(None)?;
        let found = Known { since, names: in_order(names), next };
        *known = Some(found.clone());
        drop(known);
        self.bound();
        Ok(found)
    }

    /// What a name in a directory leads to. `page` brings pages of the directory.
    pub fn look_up(
        &self,
        path: &Path,
        name: &OsStr,
        page: &dyn Fn(Option<&str>) -> Result<Page, Failure>,
    ) -> Result<Answer, Failure> {
        let known = self.begun(path, page)?;
        let found = known.names.binary_search_by(|(it, _)| (**it).cmp(name)).ok();
        Ok(match found.map(|at| known.names[at].1.clone()) {
            None if known.next.is_some() => Answer::Unknown,
            found => Answer::Known(found),
        })
    }

    /// All names of a directory.
    pub fn list(&self, path: &Path, page: &dyn Fn(Option<&str>) -> Result<Page, Failure>) -> Result<Names, Failure> {
        let Known { since, names, mut next } = self.begun(path, page)?;
        if next.is_none() {
            return Ok(names);
        }
        let mut names = Names::unwrap_or_clone(names);
        while let Some(word) = next {
            let (more, then) = page(Some(&word))?;
            names.extend(more);
            next = then;
        }
        let names = in_order(names);
        *lock(&self.directory(path)) = Some(Known { since, names: Arc::clone(&names), next: None });
        self.bound();
        Ok(names)
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
            known.as_ref().map(|known| (known.since, known.names.len()))
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
