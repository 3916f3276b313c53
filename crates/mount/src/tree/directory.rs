//! A directory of this machine, or one that is mounted from another.
//!
//! The kernel lets readers in by what it was told of each directory on their way, and leads them
//! through links itself. So no name is looked up here through a link that took a directory's place
//! meanwhile: it may lead to where its maker must not look, and we may. A file is opened by its path,
//! links and all, and is refused if it is not the one that was looked up.

use std::ffi::{CStr, CString};
use std::fs::{self, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use foresee::{Cache, File};
use foresee_run::resolve;
use fuser::FileType;

use super::{Entry, Names, Tree, room};
use crate::failure::Failure;

/// The extended attribute that says which users and groups a file is for, beside its owner and group.
pub const ACL: &CStr = c"system.posix_acl_access";
/// The same for what is made in a directory.
pub const ACL_OF_NEW: &CStr = c"system.posix_acl_default";

/// The longest extended attribute.
const XATTR_BYTES_MAX: usize = 1 << 16;

/// So often is tried again what finds no descriptor: after a millisecond first, and twice as long each time.
const TRIES_MAX: u32 = 8;

/// Its names are the system's, which remembers them itself.
pub struct Directory {
    root: PathBuf,
    lasting: Duration,
    /// Whether the system can be told to follow no links (Linux 5.6).
    follows_no_links: bool,
}

impl Directory {
    /// This one.
    ///
    /// # Errors
    /// If it is none.
    pub fn new(path: &Path, lasting: Duration) -> io::Result<Self> {
        let root = fs::canonicalize(path)?;
        fs::read_dir(&root)?;
        let mut directory = Directory { root, lasting, follows_no_links: true };
        match directory.place(&directory.root) {
            // Some containers forbid what they do not know.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {
                log::warn!("{}: links that take a directory's place are followed: openat2: {error}", path.display());
                directory.follows_no_links = false;
            }
            found => drop(found?),
        }
        Ok(directory)
    }

    /// Opens what a path leads to.
    fn open_as(&self, path: &Path, flags: i32) -> io::Result<fs::File> {
        let flags = flags | libc::O_NOFOLLOW;
        let opened = |path, flags| OpenOptions::new().read(true).custom_flags(flags).open(path);
        let Some(name) = path.strip_prefix(&self.root).ok().filter(|_| self.follows_no_links) else {
            return opened(path, flags);
        };
        let name = if name.as_os_str().is_empty() { Path::new(".") } else { name };
        let root = opened(&self.root, libc::O_PATH)?;
        resolve::open(Some(&root), name, flags, libc::RESOLVE_NO_SYMLINKS)
    }

    /// Opens this as a place, which reads nothing.
    fn place(&self, path: &Path) -> io::Result<fs::File> {
        self.open_as(path, libc::O_PATH)
    }
}

/// What is open, by a name that needs no looking up.
fn opened(file: &fs::File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// What this comes to. Where there is no descriptor for it other threads give theirs back in a moment, as
/// they need one or two for each name.
fn patiently<T>(act: impl Fn() -> Result<T, Failure>) -> Result<T, Failure> {
    let mut done = act();
    for tried in 0..TRIES_MAX {
        if !done.as_ref().is_err_and(|failure| matches!(failure.errno, libc::EMFILE | libc::ENFILE)) {
            break;
        }
        thread::sleep(Duration::from_millis(1 << tried));
        done = act();
    }
    done
}

/// Whose error it is.
fn failed(path: &Path, error: io::Error) -> Failure {
    // What the kernel knows of a directory that it lies in is old.
    if error.raw_os_error() == Some(libc::ELOOP) {
        return Failure::of(libc::ESTALE);
    }
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
        patiently(|| match self.place(path).and_then(|place| place.metadata()) {
            Ok(metadata) => Ok(Some((&metadata).into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(path, error)),
        })
    }

    fn list(&self, path: &Path) -> Result<Names, Failure> {
        let mut names = Vec::new();
        let entries = patiently(|| {
            let directory =
                self.open_as(path, libc::O_RDONLY | libc::O_DIRECTORY).map_err(|error| match error.kind() {
                    // What the kernel took for one, a link included.
                    io::ErrorKind::NotADirectory => Failure::of(libc::ESTALE),
                    _ => failed(path, error),
                })?;
            fs::read_dir(opened(&directory)).map_err(|error| failed(path, error))
        })?;
        for entry in entries {
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
        let file =
            patiently(|| cache.open(name).map_err(Failure::from)).map_err(|failure| match self.look_up(path) {
                Ok(Some(found)) if found.kind != FileType::RegularFile => Failure::of(libc::ESTALE),
                // What the kernel knows of it is old, too.
                Ok(None) => Failure::of(libc::ESTALE),
                Ok(_) => failure,
                Err(failure) => failure,
            })?;
        match entry.version.as_ref() == Some(file.version()) {
            true => Ok(file),
            false => Err(Failure::of(libc::ESTALE)),
        }
    }

    fn is_of_this_machine(&self) -> bool {
        true
    }

    fn room(&self) -> Option<libc::statvfs> {
        room(&self.root)
    }

    fn link(&self, path: &Path) -> Result<PathBuf, Failure> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Failure::of(libc::EINVAL));
        };
        let parent = patiently(|| self.place(parent).map_err(|error| failed(path, error)))?;
        fs::read_link(opened(&parent).join(name)).map_err(|error| failed(path, error))
    }

    fn acl(&self, path: &Path) -> Result<Vec<u8>, Failure> {
        let place = patiently(|| self.place(path).map_err(|error| failed(path, error)))?;
        let name = CString::new(opened(&place).into_os_string().into_vec()).map_err(io::Error::from)?;
        let mut list = vec![0; XATTR_BYTES_MAX];
        // SAFETY: both names end with a zero, and there is as much room as is said.
        let len = unsafe { libc::getxattr(name.as_ptr(), ACL.as_ptr(), list.as_mut_ptr().cast(), list.len()) };
        let error = io::Error::last_os_error();
        match error.raw_os_error().filter(|_| len < 0) {
            None => list.truncate(len as usize),
            // Its file system has such lists, or has none.
            Some(libc::ENODATA | libc::EOPNOTSUPP) => list.clear(),
            Some(_) => return Err(failed(path, error)),
        }
        Ok(list)
    }

    fn forget(&self, _path: &Path) {}

    fn lasting(&self) -> Duration {
        self.lasting
    }
}
