//! Objects that are written, renamed and removed, and directories that no object makes yet.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use foresee::store::{Upload, Version};
use foresee_run::pool::lock;
use fuser::FileType;

use super::objects::{Objects, text};
use super::{Entry, Names, Tree, Writing};
use crate::failure::Failure;

/// The longest key that S3, Google Cloud Storage and Azure take.
const KEY_BYTES_MAX: usize = 1024;

/// Directories that somebody made, or emptied: a store has none without objects, so these are the
/// mount's alone.
#[derive(Default)]
pub struct Made(Mutex<HashSet<PathBuf>>);

impl Made {
    /// Whether this is one.
    pub fn contains(&self, path: &Path) -> bool {
        lock(&self.0).contains(path)
    }

    /// Those below this one.
    fn below(&self, path: &Path) -> Vec<PathBuf> {
        let made = lock(&self.0);
        made.iter().filter(|it| it.starts_with(path) && *it != path).cloned().collect()
    }

    fn add(&self, path: &Path) {
        lock(&self.0).insert(path.to_owned());
    }

    fn remove(&self, path: &Path) {
        lock(&self.0).remove(path);
    }

    /// These names of a directory, and those that are the mount's alone.
    pub fn with(&self, path: &Path, names: Names, entry: &Entry) -> Names {
        let made = lock(&self.0);
        let here = made.iter().filter(|it| it.parent() == Some(path)).filter_map(|it| it.file_name());
        let is_new = |name: &&std::ffi::OsStr| names.binary_search_by(|(it, _)| (**it).cmp(name)).is_err();
        let mut new: Vec<_> = here.filter(is_new).map(|name| (name.to_owned(), entry.clone())).collect();
        if new.is_empty() {
            return Names::clone(&names);
        }
        new.extend(names.iter().cloned());
        new.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Names::new(new)
    }
}

impl Objects {
    /// What is known of this holds no more; the directory that it lies in stays.
    fn changed(&self, path: &Path) {
        if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
            self.made.add(parent);
            self.listings.changed(parent, name);
        }
    }
}

/// A path whose last part may be an object's: what XML cannot say no list has.
fn new_name(path: &Path) -> Result<&str, Failure> {
    let name = text(path)?;
    match name.contains(|it: char| it.is_ascii_control() || matches!(it, '\u{fffe}' | '\u{ffff}')) {
        true => Err(Failure::of(libc::EINVAL)),
        false => Ok(name),
    }
}

impl Writing for Objects {
    fn entry(&self, path: &Path) -> Result<Entry, Failure> {
        // What comes before the third slash is the scheme and the bucket.
        let key = new_name(path)?.splitn(4, '/').nth(3).unwrap_or_default();
        match key.len() <= KEY_BYTES_MAX {
            true => Ok(self.fresh()),
            false => Err(Failure::of(libc::ENAMETOOLONG)),
        }
    }

    fn create(&self, path: &Path) -> Result<Box<dyn Upload>, Failure> {
        Ok(self.cache.create(text(path)?)?)
    }

    fn version(&self, path: &Path) -> Result<Option<Version>, Failure> {
        match self.cache.version(text(path)?) {
            Ok(version) => Ok(Some(version)),
            Err(foresee::Error::Store { error: foresee::store::Error::NotFound, .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn finished(&self, path: &Path) {
        self.changed(path);
    }

    fn remove(&self, path: &Path) -> Result<(), Failure> {
        self.cache.remove(text(path)?)?;
        self.changed(path);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), Failure> {
        let renamed = self.cache.rename(text(from)?, new_name(to)?);
        // Copied and not removed is possible.
        [from, to].into_iter().for_each(|it| self.changed(it));
        Ok(renamed?)
    }

    fn below(&self, path: &Path, max: usize) -> Result<Vec<(PathBuf, Entry)>, Failure> {
        let mut found: BTreeMap<PathBuf, Entry> =
            self.made.below(path).into_iter().map(|path| (path, self.directory())).collect();
        let (mut left, mut next) = (vec![path.to_owned()], None);
        while let Some(directory) = left.last().cloned() {
            let (names, after) = self.page(&directory, next.as_deref())?;
            next = after;
            if next.is_none() {
                left.pop();
            }
            for (name, entry) in names {
                let path = directory.join(name);
                // What is a file and a directory is shown as the latter, and its parts come after it.
                let is_directory = entry.kind == FileType::Directory;
                if is_directory && !left.contains(&path) {
                    left.insert(0, path.clone());
                }
                if is_directory || !found.contains_key(&path) {
                    found.insert(path, entry);
                }
            }
            if found.len() > max {
                return Err(Failure::of(libc::EXDEV));
            }
        }
        Ok(found.into_iter().collect())
    }

    fn make_directory(&self, path: &Path) -> Result<Entry, Failure> {
        new_name(path)?;
        self.made.add(path);
        Ok(self.directory())
    }

    fn remove_directory(&self, path: &Path) -> Result<(), Failure> {
        self.forget(path);
        if !self.list(path)?.is_empty() {
            return Err(Failure::of(libc::ENOTEMPTY));
        }
        self.made.remove(path);
        self.changed(path);
        Ok(())
    }
}
