//! What is mounted, as names: directories, files, links.

mod directory;
mod listings;
mod objects;
mod written;

use std::ffi::{CString, OsString};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use foresee::store::{Upload, Version};
use foresee::{Cache, File};
use fuser::FileType;

use crate::failure::Failure;

pub use directory::{ACL, ACL_OF_NEW, Directory};
pub use objects::{Objects, Shape};

/// The longest name: as long as a whole key may be, and shorter than the kernel would take.
pub const NAME_BYTES_MAX: usize = 1024;

/// What a name leads to.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Which kind of thing.
    pub kind: FileType,
    /// Its length in bytes.
    pub size: u64,
    /// When its bytes were changed last.
    pub modified: SystemTime,
    /// When anything of it was.
    pub changed: SystemTime,
    /// Permissions.
    pub perm: u16,
    /// Its owner.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// How many names it has.
    pub links: u32,
    /// Which bytes it has, if it is a file.
    pub version: Option<Version>,
}

/// All names of a directory with what they lead to, in order.
pub type Names = Arc<Vec<(OsString, Entry)>>;

/// Names below a root. Paths are full ones, as the cache takes them.
pub trait Tree: Send + Sync {
    /// The root.
    fn root(&self) -> (PathBuf, Result<Entry, Failure>);

    /// What a path leads to, if to anything; its parent is a directory. Within the time for which
    /// that holds.
    fn look_up(&self, path: &Path) -> Result<Option<Entry>, Failure>;

    /// All names of a directory.
    fn list(&self, path: &Path) -> Result<Names, Failure>;

    /// Opens a file in the version of this entry.
    fn open(&self, cache: &Cache, path: &Path, entry: &Entry) -> Result<File, Failure>;

    /// Whether directories change by themselves, how much room there is is known, and files may have lists of users
    /// and groups that may use them, which the kernel heeds: then that is asked for.
    fn is_of_this_machine(&self) -> bool {
        false
    }

    /// How much room there is, if that is known.
    fn room(&self) -> Option<libc::statvfs> {
        None
    }

    /// Where a link leads.
    fn link(&self, path: &Path) -> Result<PathBuf, Failure>;

    /// The list of users and groups that may use a file, as acl(5) has it; empty if there is none.
    fn acl(&self, _path: &Path) -> Result<Vec<u8>, Failure> {
        Ok(Vec::new())
    }

    /// What is known of names in this directory holds no more.
    fn forget(&self, path: &Path);

    /// How long names and what they lead to are taken to stay as they are.
    fn lasting(&self) -> Duration;

    /// The same to be written, if it may be.
    fn writing(&self) -> Option<&dyn Writing> {
        None
    }
}

/// How much room there is where a file of this machine lies, as its system says.
pub fn room(path: &Path) -> Option<libc::statvfs> {
    let name = CString::new(path.as_os_str().as_bytes()).ok()?;
    let mut found = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the name ends with a zero, and the system fills the other in.
    let done = unsafe { libc::statvfs(name.as_ptr(), found.as_mut_ptr()) };
    // SAFETY: it did.
    (done == 0).then(|| unsafe { found.assume_init() })
}

/// Names that can be written: files as a whole, from their beginning to their end.
pub trait Writing: Send + Sync {
    /// What a file of this name is that was just made, if there can be one.
    fn entry(&self, path: &Path) -> Result<Entry, Failure>;

    /// Begins a file. What has its name keeps that until it is finished.
    fn create(&self, path: &Path) -> Result<Box<dyn Upload>, Failure>;

    /// The version that the store has of a file now, if it has any.
    fn version(&self, path: &Path) -> Result<Option<Version>, Failure>;

    /// A file was finished, or may have been.
    fn finished(&self, path: &Path);

    /// Removes a file.
    fn remove(&self, path: &Path) -> Result<(), Failure>;

    /// Gives a file another name, in the place of what has that.
    fn rename(&self, from: &Path, to: &Path) -> Result<(), Failure>;

    /// All that lies below a directory now, each behind what it lies in; refused as from another file system if it
    /// is more than so much.
    fn below(&self, path: &Path, max: usize) -> Result<Vec<(PathBuf, Entry)>, Failure>;

    /// Makes a directory.
    fn make_directory(&self, path: &Path) -> Result<Entry, Failure>;

    /// Removes a directory that is empty.
    fn remove_directory(&self, path: &Path) -> Result<(), Failure>;
}
