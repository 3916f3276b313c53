//! Objects of a store as files: what lies between the slashes of their names are directories.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use foresee::store::{Folder, Listed};
use foresee::{Cache, File};
use fuser::FileType;

use super::listings::{Answer, Listings, Page};
use super::written::Made;
use super::{Entry, NAME_BYTES_MAX, Names, Tree, Writing};
use crate::failure::Failure;

/// What stores do not say of files.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Owner of all.
    pub uid: u32,
    /// Their group.
    pub gid: u32,
    /// Permissions of files.
    pub file: u16,
    /// Permissions of directories.
    pub directory: u16,
    /// What has no time of its own is of this one.
    pub since: SystemTime,
}

/// Objects whose names begin alike.
pub struct Objects {
    pub(super) cache: Cache,
    root: String,
    shape: Shape,
    pub(super) listings: Listings,
    pub(super) made: Made,
    is_writable: bool,
}

impl Objects {
    /// Those below this address, which may end with a slash. What is found out holds for so long.
    pub fn new(cache: Cache, address: &str, shape: Shape, lasting: Duration, is_writable: bool) -> Self {
        let root = address.trim_end_matches('/').to_owned();
        Objects { cache, root, shape, listings: Listings::new(lasting), made: Made::default(), is_writable }
    }

    /// Whether what is to be shown is the name of an object.
    fn is_object(&self) -> bool {
        // What comes before the third slash is the scheme and the bucket.
        self.root.splitn(4, '/').nth(3).is_some() && self.cache.open(&self.root).is_ok()
    }

    pub(super) fn page(&self, path: &Path, page: Option<&str>) -> Result<Page, Failure> {
        let begin = format!("{}/", text(path)?);
        let Folder { objects, folders, next } = self.cache.folder(&begin, page)?;
        let name = |address: &str| address.strip_prefix(&begin).filter(|name| can_be_shown(name)).map(Into::into);
        let files = objects.into_iter().filter_map(|it| Some((name(&it.name)?, self.file(it))));
        let directories = folders.iter().filter_map(|it| Some((name(it)?, self.directory())));
        Ok((files.chain(directories).collect(), next))
    }

    /// Asks for a name by itself.
    fn ask(&self, path: &Path) -> Result<Option<Entry>, Failure> {
        let address = text(path)?;
        let Folder { objects, folders, next } = self.cache.folder(address, None)?;
        if folders.iter().any(|it| it == address) {
            return Ok(Some(self.directory()));
        }
        if let Some(found) = objects.into_iter().find(|it| it.name == address) {
            return Ok(Some(self.file(found)));
        }
        // Names that go on by what comes before a slash came first.
        let is_directory = next.is_some() && {
            let Folder { objects, folders, .. } = self.cache.folder(&format!("{address}/"), None)?;
            !objects.is_empty() || !folders.is_empty()
        };
        Ok(is_directory.then(|| self.directory()))
    }

    fn file(&self, listed: Listed) -> Entry {
        let modified = listed.modified.unwrap_or(self.shape.since);
        let (kind, perm) = (FileType::RegularFile, self.shape.file);
        Entry {
            size: listed.size,
            version: listed.version,
            modified,
            changed: modified,
            kind,
            perm,
            ..self.directory()
        }
    }

    /// A file of now that has no bytes.
    pub(super) fn fresh(&self) -> Entry {
        let modified = SystemTime::now();
        let (kind, perm) = (FileType::RegularFile, self.shape.file);
        Entry { modified, changed: modified, kind, perm, ..self.directory() }
    }

    pub(super) fn directory(&self) -> Entry {
        let Shape { uid, gid, directory: perm, since, .. } = self.shape;
        let kind = FileType::Directory;
        Entry { kind, size: 0, modified: since, changed: since, perm, uid, gid, links: 1, version: None }
    }
}

impl Tree for Objects {
    fn root(&self) -> (PathBuf, Result<Entry, Failure>) {
        let path = PathBuf::from(&self.root);
        // To ask for its first page is to find out whether it can be had.
        let entry = match self.listings.is_empty(&path, &|page| self.page(&path, page)) {
            Ok(true) if self.is_object() => {
                let why = format!("{}: is an object itself: mount what it lies in", self.root);
                Err(Failure { errno: libc::ENOTDIR, why })
            }
            asked => asked.map(|_| self.directory()),
        };
        (path, entry)
    }

    fn look_up(&self, path: &Path) -> Result<Option<Entry>, Failure> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
        if name.len() > NAME_BYTES_MAX {
            return Err(Failure::of(libc::ENAMETOOLONG));
        }
        if name.to_str().is_none() {
            return Ok(None);
        }
        let found = match self.listings.look_up(parent, name, &|page| self.page(parent, page))? {
            Answer::Known(entry) => entry,
            Answer::Unknown => self.ask(path)?,
        };
        Ok(found.or_else(|| self.made.contains(path).then(|| self.directory())))
    }

    fn list(&self, path: &Path) -> Result<Names, Failure> {
        let names = self.listings.list(path, &|page| self.page(path, page))?;
        Ok(self.made.with(path, names, &self.directory()))
    }

    fn open(&self, cache: &Cache, path: &Path, entry: &Entry) -> Result<File, Failure> {
        let (version, modified) = (entry.version.clone(), Some(entry.modified));
        let listed = Listed { name: text(path)?.to_owned(), size: entry.size, version, modified };
        Ok(cache.open_listed(&listed)?)
    }

    fn link(&self, _path: &Path) -> Result<PathBuf, Failure> {
        Err(Failure::of(libc::EINVAL))
    }

    fn forget(&self, path: &Path) {
        self.listings.forget(path);
    }

    fn lasting(&self) -> Duration {
        self.listings.lasting()
    }

    fn writing(&self) -> Option<&dyn Writing> {
        self.is_writable.then_some(self)
    }
}

pub(super) fn text(path: &Path) -> Result<&str, Failure> {
    path.to_str().ok_or_else(|| Failure::of(libc::EILSEQ))
}

/// Whether a name can be a file's.
fn can_be_shown(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && name.len() <= NAME_BYTES_MAX && !name.contains(['/', '\0'])
}
