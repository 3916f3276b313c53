//! Threads that do what may block: looking names up, listing directories, fetching where io_uring cannot.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use foresee_manager::{FetchId, FileId};

use super::doorbell::Doorbell;
use super::place::place_of;
use super::scratch::Scratch;
use crate::pool::{Pool, lock};

/// Threads at most. Each costs a stack's few touched pages; 64 keep a device of 5 ms busy at 12,000 look-ups a second.
const THREADS_MAX: usize = 64;

/// Entries of a directory that is listed for its order. Listing a larger one costs more than it gains before it pays; 64 of
/// this size (see [`crate::hints`]) are some 100 MB of names.
const ORDER_ENTRIES_MAX: usize = 1 << 15;

/// What a directory is listed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// It is walked: all that is in it.
    Walk,
    /// Its files are read one after the other; an error if there are too many to follow.
    Order,
}

/// What a name led to.
#[derive(Debug)]
pub struct Found {
    /// Open for reading, if it is a regular file that may be read.
    pub file: Option<Arc<File>>,
    /// Its device.
    pub dev: u64,
    /// Its inode.
    pub ino: u64,
    /// Its size in bytes.
    pub size: u64,
    /// Where it begins on its device, in blocks, if that is known.
    pub place: u64,
}

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its full path.
    pub path: PathBuf,
    /// Whether it is a directory (not: a link to one).
    pub is_directory: bool,
    /// Whether it is a regular file.
    pub is_file: bool,
}

/// Work that is done.
#[derive(Debug)]
pub enum Done {
    /// A name was looked up.
    Looked(FileId, io::Result<Found>),
    /// A directory was listed, in the order the file system gives.
    Listed(Purpose, PathBuf, io::Result<Vec<Listed>>),
    /// A range was fetched: the bytes that came.
    Fetched(FetchId, io::Result<u64>),
    /// A file that was closed meanwhile, or never open here, is open.
    Opened(FileId, io::Result<Arc<File>>),
}

enum Task {
    Look(FileId, PathBuf),
    List(Purpose, PathBuf),
    Fetch { fetch: FetchId, file: Arc<File>, bytes: Range<u64> },
    Reopen { fetch: FetchId, file: FileId, path: PathBuf, bytes: Range<u64> },
    Open(FileId, PathBuf),
}

/// The threads, and what they did.
pub struct Workers {
    pool: Pool<Task>,
    done: Arc<Mutex<Vec<Done>>>,
}

impl Workers {
    /// Threads that ring `doorbell` when work is done.
    pub fn new(doorbell: Doorbell, scratch: Scratch) -> Self {
        let done = Arc::<Mutex<Vec<Done>>>::default();
        let list = Arc::clone(&done);
        let pool = Pool::new(THREADS_MAX, move |task| {
            run(task, &scratch, |done| {
                lock(&list).push(done);
                doorbell.ring();
            });
        });
        Workers { pool, done }
    }

    /// Looks a name up, opening what may be read.
    pub fn look(&self, file: FileId, path: PathBuf) {
        self.pool.add(Task::Look(file, path));
    }

    /// Lists a directory.
    pub fn list(&self, purpose: Purpose, path: PathBuf) {
        self.pool.add(Task::List(purpose, path));
    }

    /// Brings a range of an open file.
    pub fn fetch(&self, fetch: FetchId, file: Arc<File>, bytes: Range<u64>) {
        self.pool.add(Task::Fetch { fetch, file, bytes });
    }

    /// Brings a range of a file that was closed meanwhile.
    pub fn reopen_and_fetch(&self, fetch: FetchId, file: FileId, path: PathBuf, bytes: Range<u64>) {
        self.pool.add(Task::Reopen { fetch, file, path, bytes });
    }

    /// Opens a file.
    pub fn open(&self, file: FileId, path: PathBuf) {
        self.pool.add(Task::Open(file, path));
    }

    /// What was done since the last call.
    pub fn take_done(&self) -> Vec<Done> {
        std::mem::take(&mut *lock(&self.done))
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.pool.clear();
    }
}

fn run(task: Task, scratch: &Scratch, done: impl Fn(Done)) {
    match task {
        Task::Look(file, path) => done(Done::Looked(file, look(&path))),
        Task::List(purpose, path) => {
            let listed = list(purpose, &path);
            done(Done::Listed(purpose, path, listed));
        }
        Task::Fetch { fetch, file, bytes } => done(Done::Fetched(fetch, scratch.fetch(&file, &bytes))),
        Task::Reopen { fetch, file, path, bytes } => {
            let opened = open_to_read(&path).map(Arc::new);
            if let Ok(opened) = &opened {
                done(Done::Opened(file, Ok(Arc::clone(opened))));
            }
            done(Done::Fetched(fetch, opened.and_then(|opened| scratch.fetch(&opened, &bytes))));
        }
        Task::Open(file, path) => done(Done::Opened(file, open_to_read(&path).map(Arc::new))),
    }
}

/// Opens a regular file for reading ahead: without touching the access time where that is allowed, and never waiting for a FIFO's writer.
/// The kernel's own readahead stays on for this descriptor: it leaves scattered reads alone, and gives long ones larger
/// folios, which cost it and the program half as much as single pages.
pub fn open_to_read(path: &Path) -> io::Result<File> {
    let open = |flags| std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = open(libc::O_NOATIME | libc::O_NONBLOCK).or_else(|error| match error.raw_os_error() {
        Some(libc::EPERM) => open(libc::O_NONBLOCK),
        _ => Err(error),
    })?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        // It was replaced since somebody looked.
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

fn look(path: &Path) -> io::Result<Found> {
    // The type first: opening a device or a FIFO may do things.
    let metadata = std::fs::metadata(path)?;
    let (dev, ino, size) = (metadata.dev(), metadata.ino(), metadata.size());
    let readable = metadata.is_file() && size > 0 && is_stored(path);
    let file = if readable { open_to_read(path).ok().map(Arc::new) } else { None };
    if metadata.is_dir() {
        // Its entries are what is looked up next; listing it brings them.
        list(Purpose::Walk, path)?;
    }
    let place = file.as_deref().map_or(0, place_of);
    Ok(Found { file, dev, ino, size, place })
}

/// Whether the file lies on something that stores it. What the kernel makes up as it is read (proc, sysfs and the like) must
/// not be read once more: some of it changes by being read.
fn is_stored(path: &Path) -> bool {
    const MADE_UP: [i64; 8] = [
        libc::PROC_SUPER_MAGIC,
        libc::SYSFS_MAGIC,
        libc::DEBUGFS_MAGIC,
        libc::TRACEFS_MAGIC,
        libc::SECURITYFS_MAGIC,
        libc::CGROUP_SUPER_MAGIC,
        libc::CGROUP2_SUPER_MAGIC,
        libc::BPF_FS_MAGIC,
    ];
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: the path is a C string, and the structure is filled in if the call succeeds.
    unsafe {
        let mut found: libc::statfs = std::mem::zeroed();
        libc::statfs(path.as_ptr(), &raw mut found) == 0 && !MADE_UP.contains(&found.f_type)
    }
}

fn list(purpose: Purpose, path: &Path) -> io::Result<Vec<Listed>> {
    let mut listed = Vec::new();
    for entry in std::fs::read_dir(path)? {
        if purpose == Purpose::Order && listed.len() >= ORDER_ENTRIES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let entry = entry?;
        let kind = entry.file_type()?;
        listed.push(Listed { path: entry.path(), is_directory: kind.is_dir(), is_file: kind.is_file() });
    }
    Ok(listed)
}
