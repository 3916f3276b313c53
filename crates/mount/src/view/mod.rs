//! A tree as the kernel sees it.
//!
//! What may wait for a store is done by threads of its own, one for each request, so that a slow one keeps no other waiting.

mod directories;
mod files;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use foresee::Cache;
use foresee_run::pool::{Pool, lock};
use fuser::{
    FileAttr, FileHandle, FileType, Filesystem, Generation, INodeNo, InitFlags, KernelConfig, LockOwner, OpenFlags,
    ReplyAttr, ReplyData, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, Request,
};

use crate::ahead::Ahead;
use crate::allowance::Allowance;
use crate::failure::Failure;
use crate::nodes::Nodes;
use crate::tree::{Entry, Tree};

use directories::OpenDirectories;
use files::OpenFiles;

/// The longest request; the kernel makes none longer.
pub const REQUEST_BYTES_MAX: u32 = 1 << 20;
/// Requests ahead of readers that the kernel has under way at once: its own 12 would leave stores idle.
const REQUESTS_MAX: u16 = 128;
/// Requests that wait at one time. Those beyond wait for them.
const THREADS_MAX: usize = 256;
/// What signs and speaks with a store needs more than a system call.
const STACK_BYTES: usize = 1 << 20;

type Task = Box<dyn FnOnce(&Shown) + Send>;

/// The tree, and what the kernel has of it.
pub struct Shown {
    tree: Arc<dyn Tree>,
    cache: Cache,
    ahead: Ahead,
    nodes: Mutex<Nodes>,
    files: OpenFiles,
    directories: OpenDirectories,
    /// What answers may take beside the cache.
    answers: Allowance,
    /// Errors that were told of.
    told: Mutex<HashSet<String>>,
    handles: AtomicU64,
}

/// The same, as file system.
pub struct View {
    shown: Arc<Shown>,
    workers: Pool<Task>,
}

impl View {
    /// Shows a tree, whose files are read through this cache, with so many bytes for answers.
    ///
    /// # Errors
    /// If its root cannot be had, or the system has no threads.
    pub fn new(tree: Arc<dyn Tree>, cache: Cache, answer_bytes: usize) -> Result<Self, Failure> {
        let (root, entry) = tree.root();
        let shown = Arc::new(Shown {
            nodes: Mutex::new(Nodes::new(&root, entry?)),
            ahead: Ahead::new(Arc::clone(&tree), cache.clone()),
            tree,
            cache,
            files: OpenFiles::default(),
            directories: OpenDirectories::default(),
            answers: Allowance::new(answer_bytes.max(REQUEST_BYTES_MAX as usize)),
            told: Mutex::default(),
            handles: AtomicU64::new(1),
        });
        let served = Arc::clone(&shown);
        let workers = Pool::with_stacks(STACK_BYTES, THREADS_MAX, THREADS_MAX, move |task: Task| task(&served));
        workers.start()?;
        Ok(View { shown, workers })
    }

    fn by_worker(&self, task: impl FnOnce(&Shown) + Send + 'static) {
        self.workers.add(Box::new(task));
    }
}

impl Shown {
    fn nodes(&self) -> std::sync::MutexGuard<'_, Nodes> {
        lock(&self.nodes)
    }

    fn handle(&self) -> u64 {
        self.handles.fetch_add(1, Relaxed)
    }

    fn look_up(&self, parent: u64, name: &OsStr) -> Result<Option<FileAttr>, Failure> {
        let path = self.nodes().path(parent)?.join(name);
        let found = self.tree.look_up(&path).inspect_err(|failure| self.complain(failure))?;
        let Some(entry) = found else { return Ok(None) };
        Ok(Some(self.tell(&path, &entry)))
    }

    /// The kernel is told of what a path leads to.
    fn tell(&self, path: &Path, entry: &Entry) -> FileAttr {
        attributes(self.nodes().tell(path, entry), entry)
    }

    fn attributes(&self, number: u64) -> Result<FileAttr, Failure> {
        self.nodes().get(number).map(|(_, entry)| attributes(number, entry))
    }
}

fn attributes(number: u64, entry: &Entry) -> FileAttr {
    FileAttr {
        ino: INodeNo(number),
        size: entry.size,
        blocks: entry.size.div_ceil(512),
        atime: entry.modified,
        mtime: entry.modified,
        ctime: entry.changed,
        crtime: SystemTime::UNIX_EPOCH,
        kind: entry.kind,
        perm: entry.perm,
        nlink: entry.links,
        uid: entry.uid,
        gid: entry.gid,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

/// What a name is told to lead to that leads nowhere: then the kernel remembers that, too.
fn nothing() -> FileAttr {
    let (kind, then) = (FileType::RegularFile, SystemTime::UNIX_EPOCH);
    let entry =
        Entry { kind, size: 0, modified: then, changed: then, perm: 0, uid: 0, gid: 0, links: 0, version: None };
    attributes(0, &entry)
}

impl Filesystem for View {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // These can only be refused for being zero or above the crate's own buffer.
        let _ = config.set_max_background(REQUESTS_MAX);
        let _ = config.set_congestion_threshold(REQUESTS_MAX);
        let _ = config.set_max_write(REQUEST_BYTES_MAX);
        // That somebody aborts it is told from that somebody unmounts it. A kernel that cannot takes both for the latter.
        let _ = config.add_capabilities(InitFlags::FUSE_ABORT_ERROR);
        // Names come with what they lead to, whoever asks for them, and several may be asked for at once.
        let _ = config.add_capabilities(InitFlags::FUSE_DO_READDIRPLUS);
        let _ = config.add_capabilities(InitFlags::FUSE_PARALLEL_DIROPS);
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let name = name.to_owned();
        self.by_worker(move |shown| match shown.look_up(parent.0, &name) {
            Ok(found) => reply.entry(&shown.tree.lasting(), &found.unwrap_or_else(nothing), Generation(0)),
            Err(failure) => reply.error(failure.number()),
        });
    }

    fn forget(&self, _request: &Request, number: INodeNo, times: u64) {
        self.shown.nodes().forget(number.0, times);
    }

    fn getattr(&self, _request: &Request, number: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        match self.shown.attributes(number.0) {
            Ok(attributes) => reply.attr(&self.shown.tree.lasting(), &attributes),
            Err(failure) => reply.error(failure.number()),
        }
    }

    fn readlink(&self, _request: &Request, number: INodeNo, reply: ReplyData) {
        self.by_worker(move |shown| {
            let path = shown.nodes().path(number.0);
            match path.and_then(|path| shown.tree.link(&path)) {
                Ok(target) => reply.data(target.as_os_str().as_bytes()),
                Err(failure) => reply.error(failure.number()),
            }
        });
    }

    fn open(&self, _request: &Request, number: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        self.by_worker(move |shown| match shown.open(number.0) {
            Ok((handle, flags)) => reply.opened(FileHandle(handle), flags),
            Err(failure) => reply.error(failure.number()),
        });
    }

    fn read(
        &self,
        _request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.by_worker(move |shown| shown.read(handle.0, offset, size as usize, reply));
    }

    fn release(
        &self,
        _request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.shown.files.close(handle.0);
        reply.ok();
    }

    fn opendir(&self, _request: &Request, number: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        match self.shown.open_directory(number.0) {
            Ok(handle) => reply.opened(FileHandle(handle), fuser::FopenFlags::empty()),
            Err(failure) => reply.error(failure.number()),
        }
    }

    fn readdirplus(
        &self,
        _request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        offset: u64,
        reply: ReplyDirectoryPlus,
    ) {
        self.by_worker(move |shown| shown.read_directory(handle.0, offset, reply));
    }

    fn releasedir(
        &self,
        _request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.shown.directories.close(handle.0);
        reply.ok();
    }

    fn statfs(&self, _request: &Request, _number: INodeNo, reply: ReplyStatfs) {
        // A store does not say how much room it has; who asks before he writes is told that there is enough.
        let blocks = 1 << 38;
        reply.statfs(blocks, blocks, blocks, blocks, blocks, 4096, 255, 4096);
    }
}
