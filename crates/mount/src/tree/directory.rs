//! A directory of this machine, or one that is mounted from another.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use foresee::{Cache, File};
use fuser::FileType;

use super::{Entry, Names, Tree};
use crate::failure::Failure;

/// Its names are the system's, which remembers them itself.
pub struct Directory {
    root: PathBuf,
    lasting: Duration,
}

impl Directory {
    /// This one.
    ///
    /// # Errors
    /// If it is none.
    pub fn new(path: &Path, lasting: Duration) -> io::Result<Self> {
        let root = fs::canonicalize(path)?;
        fs::read_dir(&root)?;
        Ok(Directory { root, lasting })
    }
}

/// Whether a file has this path, or whatever has it could not be looked at.
fn is_file(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Ok(metadata) => metadata.is_file(),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// Whose error it is.
fn failed(path: &Path, error: io::Error) -> Failure {
    let why = format!("{}: {error}", path.display());
    Failure { why, ..error.into() }
}

impl From<&Metadata> for Entry {
    fn from(metadata: &Metadata) -> Self {
        let seconds = Duration::new(metadata.ctime().max(0) as u64, metadata.ctime_nsec() as u32);
        Entry {
            kind: FileType::from_std(metadata.file_type()).unwrap_or(FileType::RegularFile),
            size: metadata.len(),
            modified: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            changed: SystemTime::UNIX_EPOCH + seconds,
            perm: (metadata.permissions().mode() & 0o7777) as u16,
            uid: metadata.uid(),
            gid: metadata.gid(),
            links: metadata.nlink() as u32,
            version: metadata.is_file().then(|| metadata.into()),
        }
    }
}

impl Tree for Directory {
    fn root(&self) -> (PathBuf, Result<Entry, Failure>) {
        let entry = fs::metadata(&self.root).map(|it| Entry::from(&it)).map_err(Failure::from);
        (self.root.clone(), entry)
    }

    fn look_up(&self, path: &Path) -> Result<Option<Entry>, Failure> {
        match fs::symlink_metadata(path) {
            Ok(metadata) => Ok(Some((&metadata).into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(path, error)),
        }
    }

    fn list(&self, path: &Path) -> Result<Names, Failure> {
        let mut names = Vec::new();
        for entry in fs::read_dir(path).map_err(|error| failed(path, error))? {
            let entry = entry.map_err(|error| failed(path, error))?;
            // What went meanwhile is not listed.
            if let Ok(metadata) = entry.metadata() {
                names.push((entry.file_name(), Entry::from(&metadata)));
            }
        }
        Ok(Arc::new(names))
    }

    fn open(&self, cache: &Cache, path: &Path, entry: &Entry) -> Result<File, Failure> {
        // A cache's names are text.
        let name = path.to_str().ok_or_else(|| Failure::of(libc::EILSEQ))?;
        let file = cache.open(name).map_err(|error| match is_file(path) {
            // What the kernel knows of it is old, too.
            false => Failure::of(libc::ESTALE),
            true => error.into(),
        })?;
        match entry.version.as_ref() == Some(file.version()) {
            true => Ok(file),
            false => Err(Failure::of(libc::ESTALE)),
        }
    }

    fn link(&self, path: &Path) -> Result<PathBuf, Failure> {
        fs::read_link(path).map_err(|error| failed(path, error))
    }

    fn forget(&self, _path: &Path) {}

    fn lasting(&self) -> Duration {
        self.lasting
    }
}
