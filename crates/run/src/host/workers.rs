//! Threads that do what may block: looking names up, listing directories, opening, asking, giving
//! up and closing, and fetching where io_uring cannot.

use std::fs;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use foresee_manager::{FetchId, FileId};
use foresee_store::begins_at;

use super::doorbell::Doorbell;
use super::leases;
use super::mounts::{Answer, Kind, Mounts, ask};
use super::open::{Opened, Resolved};
use super::residency::{BLOCK_BYTES, drop_blocks};
use super::scratch::Scratch;
use super::unlooked::Unlooked;
use super::warm::Warm;
use crate::names::Identity;
use crate::pool::{Pool, lock};
use crate::processes;

/// Threads at most. Each costs a stack's few touched pages; 64 keep a device of 5 ms busy at 12,000
/// look-ups a second.
const THREADS_MAX: usize = 64;
/// Threads while none of them waits: what lies in memory is looked up by two as fast as programs
/// read it.
const THREADS_UNASKED: usize = 2;

/// Entries of a directory that is listed for its order. Listing a larger one costs more than it
/// gains before it pays; 64 of this size (see [`crate::hints`]) are some 100 MB of names.
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
    /// Open for reading, if it is a regular file of this machine's that may be read.
    pub opened: Option<Arc<Opened>>,
    /// Whether it is a regular file.
    pub is_file: bool,
    /// Its device and inode.
    pub identity: Identity,
    /// Its size in bytes.
    pub size: u64,
    /// Where it begins on its device, in blocks, if that is known.
    pub place: u64,
}

/// A file of a program's that a thread is to open, or has open.
#[derive(Debug, Clone)]
pub enum Subject {
    /// Open here.
    Open(Arc<Opened>),
    /// Of this name, and this identity if it is known.
    Named(PathBuf, Option<Identity>),
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
    /// Its inode's number, by which file systems lay files out more often than not.
    pub inode: u64,
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
    /// A file is open, or could not be opened.
    Opened(FileId, io::Result<(Arc<Opened>, fs::Metadata)>),
    /// Blocks were given up; these are still there.
    Dropped(FileId, Vec<Range<u64>>),
    /// Of the blocks that were asked for, these are not in memory.
    Checked(FileId, Vec<Range<u64>>),
    /// A mount was asked through one of its files.
    Answered(u64, Answer),
}

enum Task {
    /// The name whose turn it is.
    Look,
    List(Purpose, PathBuf),
    Open(FileId, PathBuf, Option<Identity>),
    Fetch {
        fetch: FetchId,
        file: Arc<Opened>,
        bytes: Range<u64>,
    },
    Drop(FileId, Subject, Vec<Range<u64>>),
    Check(FileId, Subject, Vec<Range<u64>>),
    Ask(Identity, PathBuf),
    Close(Vec<Arc<Opened>>),
}

/// The threads, and what they did.
pub struct Workers {
    pool: Pool<Task>,
    unlooked: Arc<Mutex<Unlooked>>,
    done: Arc<Mutex<Vec<Done>>>,
    warm: Arc<Warm>,
}

impl Workers {
    /// Threads that ring `doorbell` when work is done.
    pub fn new(doorbell: Doorbell, scratch: Scratch, mounts: Arc<Mutex<Mounts>>) -> Self {
        let done = Arc::<Mutex<Vec<Done>>>::default();
        let list = Arc::clone(&done);
        let unlooked = Arc::<Mutex<Unlooked>>::default();
        let names = Arc::clone(&unlooked);
        let warm = Arc::<Warm>::default();
        let found = Arc::clone(&warm);
        let pool = Pool::new(processes::threads(THREADS_MAX), THREADS_UNASKED, move |task| {
            if let Some(done) = run(task, &names, &scratch, &mounts, &found) {
                let mut list = lock(&list);
                list.push(done);
                // Whoever comes for the first of them takes all.
                if list.len() == 1 {
                    drop(list);
                    doorbell.ring();
                }
            }
        });
        Workers { pool, unlooked, done, warm }
    }

    /// A name is to be looked up.
    pub fn want(&self, file: FileId) {
        lock(&self.unlooked).want(file);
    }

    /// Looks a name up, opening what may be read, if that is still wanted.
    pub fn look(&self, file: FileId, path: &Path) {
        if lock(&self.unlooked).wait(file, path) {
            self.pool.add(Task::Look);
        }
    }

    /// A program opened the file: its name need not be looked up any more, if that was not begun.
    pub fn need_not_look(&self, file: FileId) {
        lock(&self.unlooked).need_not(file);
    }

    /// Lists a directory.
    pub fn list(&self, purpose: Purpose, path: PathBuf) {
        self.pool.add(Task::List(purpose, path));
    }

    /// Opens a file.
    pub fn open(&self, file: FileId, path: PathBuf, expected: Option<Identity>) {
        self.pool.add(Task::Open(file, path, expected));
    }

    /// Brings a range of an open file.
    pub fn fetch(&self, fetch: FetchId, file: Arc<Opened>, bytes: Range<u64>) {
        self.pool.add(Task::Fetch { fetch, file, bytes });
    }

    /// Gives blocks up.
    pub fn drop(&self, file: FileId, subject: Subject, blocks: Vec<Range<u64>>) {
        self.pool.add(Task::Drop(file, subject, blocks));
    }

    /// Asks which of these stretches of blocks are not in memory at all.
    pub fn check(&self, file: FileId, subject: Subject, blocks: Vec<Range<u64>>) {
        self.pool.add(Task::Check(file, subject, blocks));
    }

    /// Asks a mount through this file of it.
    pub fn ask(&self, identity: Identity, path: PathBuf) {
        self.pool.add(Task::Ask(identity, path));
    }

    /// Closes files: a daemon may be asked about each.
    pub fn close(&self, files: Vec<Arc<Opened>>) {
        self.pool.add(Task::Close(files));
    }

    /// To be called now and then: there are more threads where all wait.
    pub fn tend(&self) {
        if !leases::is_asking() {
            self.pool.tend();
        }
    }

    /// Look-ups and listings that brought what was not in memory.
    pub fn names_brought(&self) -> u64 {
        self.warm.brought()
    }

    /// Whether no thread has anything to do.
    pub fn is_still(&self) -> bool {
        self.pool.is_still()
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

fn run(task: Task, names: &Mutex<Unlooked>, scratch: &Scratch, mounts: &Mutex<Mounts>, warm: &Warm) -> Option<Done> {
    let open = |path: &Path, expected| -> io::Result<(Arc<Opened>, fs::Metadata)> {
        let found = Resolved::of(path)?;
        let kind = lock(mounts).kind(found.metadata.dev(), path);
        Ok((Arc::new(Opened::new(found.open(expected)?, kind)), found.metadata))
    };
    let subject = |subject| match subject {
        Subject::Open(opened) => Ok(opened),
        Subject::Named(path, expected) => open(&path, expected).map(|(opened, _)| opened),
    };
    match task {
        Task::Look => {
            let (file, path) = lock(names).next()?;
            Some(Done::Looked(file, look(&path, mounts, warm)))
        }
        Task::List(purpose, path) => {
            let list = || fs::metadata(&path).and_then(|it| list_ahead(purpose, &path, it.dev(), mounts));
            let listed = warm.look(list);
            Some(Done::Listed(purpose, path, listed))
        }
        Task::Open(file, path, expected) => Some(Done::Opened(file, open(&path, expected))),
        Task::Fetch { fetch, file, bytes } => Some(Done::Fetched(fetch, scratch.fetch(&file, &bytes))),
        Task::Drop(file, of, blocks) => {
            let stayed = subject(of).map_or_else(
                |_| Vec::new(),
                |opened| blocks.iter().flat_map(|blocks| drop_blocks(&opened, blocks)).collect(),
            );
            Some(Done::Dropped(file, stayed))
        }
        Task::Check(file, of, mut blocks) => {
            let opened = subject(of).ok()?;
            let bytes = |blocks: &Range<u64>| (blocks.start * BLOCK_BYTES, (blocks.end - blocks.start) * BLOCK_BYTES);
            blocks.retain(|blocks| {
                let (offset, bytes) = bytes(blocks);
                opened.residency.pages(&opened.file, offset, bytes).is_ok_and(|pages| pages == 0)
            });
            Some(Done::Checked(file, blocks))
        }
        Task::Ask(identity, path) => {
            let memory = lock(mounts).memory();
            Some(Done::Answered(identity.0, ask(memory.as_deref(), &path, identity)))
        }
        Task::Close(files) => {
            drop(files);
            None
        }
    }
}

fn look(path: &Path, mounts: &Mutex<Mounts>, warm: &Warm) -> io::Result<Found> {
    let found = warm.look(|| Resolved::of(path))?;
    let (identity, size, is_file) = (found.identity(), found.metadata.size(), found.metadata.is_file());
    if found.metadata.is_dir() {
        // Its entries are what is looked up next; listing it brings them.
        let _ = warm.list(|| list_ahead(Purpose::Walk, path, identity.0, mounts));
    }
    let kind = lock(mounts).kind(identity.0, path);
    let opens = is_file && size > 0 && !matches!(kind, Kind::Memory | Kind::Foreign);
    let opened = if opens { found.open(None).ok().map(|file| Arc::new(Opened::new(file, kind))) } else { None };
    let place = opened.as_deref().map_or(0, |opened| begins_at(&opened.file) / BLOCK_BYTES);
    Ok(Found { opened, is_file, identity, size, place })
}

/// Lists a directory that a program will list, unless that costs as much then: a daemon may ask its
/// server each time. The first directories of such a mount are listed twice to find that out, and
/// others wait for that.
fn list_ahead(purpose: Purpose, path: &Path, dev: u64, mounts: &Mutex<Mounts>) -> io::Result<Vec<Listed>> {
    static FINDING_OUT: Mutex<()> = Mutex::new(());
    let keeps = || lock(mounts).keeps_listings(dev, path);
    let mut kept = keeps();
    if kept.is_none() {
        let _one = lock(&FINDING_OUT);
        kept = keeps();
        if kept.is_none() {
            list(purpose, path)?;
            let begun = Instant::now();
            let listed = list(purpose, path)?;
            lock(mounts).listed(dev, listed.len(), begun.elapsed());
            return Ok(listed);
        }
    }
    if kept == Some(false) { Err(io::ErrorKind::Unsupported.into()) } else { list(purpose, path) }
}

fn list(purpose: Purpose, path: &Path) -> io::Result<Vec<Listed>> {
    let mut listed = Vec::new();
    for entry in fs::read_dir(path)? {
        if purpose == Purpose::Order && listed.len() >= ORDER_ENTRIES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let entry = entry?;
        let kind = entry.file_type()?;
        let (is_directory, is_file) = (kind.is_dir(), kind.is_file());
        listed.push(Listed { path: entry.path(), is_directory, is_file, inode: entry.ino() });
    }
    Ok(listed)
}
