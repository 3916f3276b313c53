//! A tree as the kernel sees it.
//!
//! What may wait for a store is done by threads of its own, one for each request, so that a slow
//! one keeps no other waiting.

mod directories;
mod failed;
mod files;
mod handles;
mod hints;
mod holes;
mod kept;
mod kernel;
mod moves;
mod owed;
mod puts;
mod retries;
mod turns;
mod writes;
mod written;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fmt::Display;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use foresee::Cache;
use foresee_run::pool::{Pool, lock};
use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, Generation, INodeNo, InitFlags, IoctlFlags,
    KernelConfig, LockOwner, OpenAccMode, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyIoctl, ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr, Request,
    TimeOrNow, WriteFlags,
};

use crate::account::Reads;
use crate::ahead::Ahead;
use crate::allowance::Allowance;
use crate::disclosed::Disclosed;
use crate::failure::Failure;
use crate::nodes::Nodes;
use crate::tree::{ACL, ACL_OF_NEW, Entry, NAME_BYTES_MAX, Tree};

use directories::OpenDirectory;
use files::OpenFile;
use handles::Handles;
use hints::Told;
use kept::Room;
pub use kept::unusable_for_writing;
pub use kernel::Kernel;
use owed::{Asked, Owed, Reply, Watch};
use puts::Puts;
use retries::{Retries, TRIES};
use turns::Turns;
use writes::Descriptor;

/// The longest request; the kernel makes none longer.
pub const REQUEST_BYTES_MAX: u32 = 1 << 20;
/// Requests ahead of readers that the kernel has under way at once: its own 12 would leave stores
/// idle.
const REQUESTS_MAX: u16 = 128;
/// Requests that wait at one time. Those beyond wait for them.
const THREADS_MAX: usize = 256;
/// A file that is written is another one once it is there, and may never be.
const WHILE_WRITTEN: Duration = Duration::ZERO;
/// What signs and speaks with a store needs more than a system call.
pub const STACK_BYTES: usize = 1 << 20;

type Task = Box<dyn FnOnce(&Shown) + Send>;

/// The tree, and what the kernel has of it.
pub struct Shown {
    tree: Arc<dyn Tree>,
    cache: Cache,
    ahead: Ahead,
    disclosed: Arc<Disclosed>,
    nodes: Mutex<Nodes>,
    files: Handles<OpenFile>,
    writes: Handles<Descriptor>,
    directories: Handles<OpenDirectory>,
    /// What answers may take beside the cache.
    answers: Arc<Allowance>,
    /// What is written may take as much beside that.
    room: Arc<Room>,
    puts: Puts,
    retries: Retries,
    kernel: Kernel,
    /// Of who begins to write what is there.
    begins: Turns,
    /// What came of them.
    reads: Arc<Reads>,
    /// Errors that were told of.
    told: Mutex<HashSet<String>>,
    /// Reads in a row that failed because a file is another version than the one that was opened.
    changed: AtomicU32,
    handles: AtomicU64,
}

/// The same, as file system.
pub struct View {
    shown: Arc<Shown>,
    workers: Pool<Task>,
    watch: Arc<Watch>,
}

impl Drop for View {
    fn drop(&mut self) {
        self.watch.end();
    }
}

impl View {
    /// Shows a tree, whose files are read through this cache, with so many bytes for answers, and
    /// for what is written.
    ///
    /// # Errors
    /// If its root cannot be had, or the system has no threads.
    pub fn new(tree: Arc<dyn Tree>, cache: Cache, answer_bytes: usize, written_bytes: usize) -> Result<Self, Failure> {
        let (root, entry) = tree.root();
        let shown = Arc::new(Shown {
            nodes: Mutex::new(Nodes::new(&root, entry?)),
            ahead: Ahead::new(Arc::clone(&tree), &root, cache.clone()),
            disclosed: Disclosed::new(cache.clone()),
            tree,
            cache,
            files: Handles::default(),
            writes: Handles::default(),
            directories: Handles::default(),
            answers: Allowance::new(answer_bytes.max(REQUEST_BYTES_MAX as usize)),
            room: Arc::new(Room { memory: Allowance::new(written_bytes), of_files: Mutex::default() }),
            puts: Puts::default(),
            retries: Retries::default(),
            kernel: Kernel::default(),
            begins: Turns::default(),
            reads: Arc::default(),
            told: Mutex::default(),
            changed: AtomicU32::default(),
            handles: AtomicU64::new(1),
        });
        let served = Arc::clone(&shown);
        let workers = Pool::with_stacks(STACK_BYTES, THREADS_MAX, THREADS_MAX, move |task: Task| task(&served));
        workers.start()?;
        Ok(View { shown, workers, watch: Watch::start()? })
    }

    /// Whom it tells that what the kernel was told is not so any more.
    pub fn kernel(&self) -> Kernel {
        self.shown.kernel.clone()
    }

    /// What readers asked for.
    pub fn reads(&self) -> Arc<Reads> {
        Arc::clone(&self.shown.reads)
    }

    fn by_worker(&self, task: impl FnOnce(&Shown) + Send + 'static) {
        self.workers.add(Box::new(task));
    }

    /// The same where who asks may end meanwhile.
    fn by_worker_for<R: Reply>(
        &self,
        (request, asked): (&Request, Asked),
        reply: R,
        task: impl FnOnce(&Shown, Owed<R>) + Send + 'static,
    ) {
        let owed = self.watch.owe(request.pid(), asked, reply);
        self.by_worker(move |shown| {
            if !owed.is_off() {
                task(shown, owed);
            }
        });
    }
}

impl Shown {
    fn nodes(&self) -> std::sync::MutexGuard<'_, Nodes> {
        lock(&self.nodes)
    }

    fn handle(&self) -> u64 {
        self.handles.fetch_add(1, Relaxed)
    }

    /// What a name leads to, and for how long.
    fn look_up(&self, parent: u64, name: &OsStr) -> Result<(FileAttr, Duration), Failure> {
        let path = self.nodes().path(parent)?.join(name);
        if !self.is_another_by_now(&path)
            && let Some((number, entry)) = self.being_written(&path)
            && let Some(number) = self.nodes().tell_again(number)
        {
            return Ok((attributes(number, &entry), WHILE_WRITTEN));
        }
        let may_be_written = self.may_be_written(&path);
        let found = self.looked_up(&path);
        log::debug!("look up {}: {}", path.display(), told(&found));
        let found = found.inspect_err(|failure| self.complain(failure))?;
        // Who began meanwhile may have written.
        let may_be_written = may_be_written || self.may_be_written(&path);
        let lasting = if may_be_written { WHILE_WRITTEN } else { self.tree.lasting() };
        Ok((found.map_or_else(nothing, |entry| self.tell(&path, &entry)), lasting))
    }

    /// What a path leads to, if nothing was put meanwhile: what was there before it would be told of else.
    pub fn looked_up(&self, path: &Path) -> Result<Option<Entry>, Failure> {
        let mut found = Ok(None);
        for _ in 0..TRIES {
            let before = self.puts.count();
            found = self.tree.look_up(path);
            if !self.puts.has_since(before, path) {
                break;
            }
        }
        found
    }

    /// The kernel is told of what a path leads to.
    fn tell(&self, path: &Path, entry: &Entry) -> FileAttr {
        attributes(self.nodes().tell(path, entry), entry)
    }

    fn acl(&self, number: u64) -> Result<Vec<u8>, Failure> {
        let path = self.nodes().path(number)?;
        self.tree.acl(&path)
    }

    fn attributes(&self, number: u64) -> Result<FileAttr, Failure> {
        self.nodes().get(number).map(|(_, entry)| attributes(number, entry))
    }

    /// The same, and for how long.
    fn attributes_lasting(&self, number: u64) -> Result<(FileAttr, Duration), Failure> {
        let lasting = if self.nodes().is_dated_here(number) { WHILE_WRITTEN } else { self.tree.lasting() };
        Ok((self.attributes(number)?, lasting))
    }

    /// Whether the tree is to be asked for them.
    fn asks(&self, number: u64) -> bool {
        let nodes = self.nodes();
        let is_directory = || nodes.get(number).is_ok_and(|(_, entry)| entry.kind == FileType::Directory);
        nodes.is_dated_here(number) || self.tree.is_of_this_machine() && is_directory()
    }

    /// The same as they are by now. If that cannot be told, as they were.
    fn attributes_now(&self, number: u64) -> Result<(FileAttr, Duration), Failure> {
        let _ = if self.nodes().is_dated_here(number) { self.date(number) } else { self.ask_directory(number) };
        self.attributes_lasting(number)
    }

    /// What a directory is by now. Who works in it, or in the mount's root, never looks its name up.
    fn ask_directory(&self, number: u64) -> Result<(), Failure> {
        let path = self.nodes().path(number)?;
        if let Some(entry) = self.tree.look_up(&path)?
            && entry.kind == FileType::Directory
        {
            self.nodes().is_now(number, entry);
        }
        Ok(())
    }
}

/// What came of it, for who wants to know all.
fn told<T, E: Display>(result: &Result<T, E>) -> String {
    result.as_ref().map_or_else(|error| error.to_string(), |_| String::from("done"))
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

fn answer(reply: ReplyEmpty, done: Result<(), Failure>) {
    match done {
        Ok(()) => reply.ok(),
        Err(failure) => reply.error(failure.number()),
    }
}

impl Filesystem for View {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // These can only be refused for being zero or above the crate's own buffer.
        let _ = config.set_max_background(REQUESTS_MAX);
        let _ = config.set_congestion_threshold(REQUESTS_MAX);
        let _ = config.set_max_write(REQUEST_BYTES_MAX);
        // That somebody aborts it is told from that somebody unmounts it. A kernel that cannot takes both
        // for the latter.
        let _ = config.add_capabilities(InitFlags::FUSE_ABORT_ERROR);
        // Names come with what they lead to, whoever asks for them, and several may be asked for at once.
        let _ = config.add_capabilities(InitFlags::FUSE_DO_READDIRPLUS);
        let _ = config.add_capabilities(InitFlags::FUSE_PARALLEL_DIROPS);
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        // What is to be written anew is not cut to nothing before it is opened: it stays until the new one
        // is there.
        let _ = config.add_capabilities(InitFlags::FUSE_ATOMIC_O_TRUNC);
        if self.shown.tree.is_of_this_machine() {
            // Whom a file's mode lets in, its list may not.
            let _ = config.add_capabilities(InitFlags::FUSE_POSIX_ACL);
        }
        Ok(())
    }

    fn getxattr(&self, request: &Request, number: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        if !self.shown.tree.is_of_this_machine() {
            // It is asked for no others either.
            return reply.error(Errno::ENOSYS);
        }
        if name.as_encoded_bytes() == ACL_OF_NEW.to_bytes() {
            // Nothing is made here; and who copies a directory takes any other error for one.
            return reply.error(Errno::ENODATA);
        }
        if name.as_encoded_bytes() != ACL.to_bytes() {
            return reply.error(Errno::EOPNOTSUPP);
        }
        self.by_worker_for((request, Asked::Name), reply, move |shown, owed| {
            let list = shown.acl(number.0);
            owed.give(|reply| match list {
                Ok(list) if list.is_empty() => reply.error(Errno::ENODATA),
                Ok(list) if size == 0 => reply.size(list.len() as u32),
                Ok(list) if list.len() > size as usize => reply.error(Errno::ERANGE),
                Ok(list) => reply.data(&list),
                Err(failure) => reply.error(failure.number()),
            });
        });
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let name = name.to_owned();
        self.by_worker_for((request, Asked::Name), reply, move |shown, owed| match shown.look_up(parent.0, &name) {
            Ok((found, lasting)) => {
                if !owed.give(|reply| reply.entry(&lasting, &found, Generation(0))) {
                    shown.nodes().forget(found.ino.0, 1);
                }
            }
            Err(failure) => _ = owed.give(|reply| reply.error(failure.number())),
        });
    }

    fn forget(&self, _request: &Request, number: INodeNo, times: u64) {
        self.shown.nodes().forget(number.0, times);
    }

    fn getattr(&self, request: &Request, number: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        let give = |reply: ReplyAttr, found: Result<_, Failure>| match found {
            Ok((attributes, lasting)) => reply.attr(&lasting, &attributes),
            Err(failure) => reply.error(failure.number()),
        };
        if !self.shown.asks(number.0) {
            return give(reply, self.shown.attributes_lasting(number.0));
        }
        self.by_worker_for((request, Asked::Name), reply, move |shown, owed| {
            let found = shown.attributes_now(number.0);
            owed.give(|reply| give(reply, found));
        });
    }

    fn readlink(&self, request: &Request, number: INodeNo, reply: ReplyData) {
        self.by_worker_for((request, Asked::Name), reply, move |shown, owed| {
            let path = shown.nodes().path(number.0);
            let target = path.and_then(|path| shown.tree.link(&path));
            owed.give(|reply| match target {
                Ok(target) => reply.data(target.as_os_str().as_bytes()),
                Err(failure) => reply.error(failure.number()),
            });
        });
    }

    fn open(&self, request: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let thread = request.pid();
        if flags.acc_mode() != OpenAccMode::O_RDONLY {
            return self.by_worker_for((request, Asked::Name), reply, move |shown, owed| {
                match shown.overwrite(number.0, flags.0, thread) {
                    Ok((handle, opened)) => {
                        if !owed.give(|reply| reply.opened(FileHandle(handle), opened)) {
                            shown.release_written(handle, flags.0);
                        }
                    }
                    Err(failure) => _ = owed.give(|reply| reply.error(failure.number())),
                }
            });
        }
        self.by_worker_for((request, Asked::Name), reply, move |shown, owed| match shown.open(number.0, thread) {
            Ok((handle, opened)) => {
                if !owed.give(|reply| reply.opened(FileHandle(handle), opened)) && !shown.files.close(handle) {
                    shown.release_written(handle, flags.0);
                }
            }
            Err(failure) => _ = owed.give(|reply| reply.error(failure.number())),
        });
    }

    fn read(
        &self,
        request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let thread = request.pid();
        self.by_worker_for((request, Asked::Bytes), reply, move |shown, owed| {
            shown.read(thread, handle.0, offset, size as usize, owed);
        });
    }

    fn release(
        &self,
        _request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        if self.shown.files.close(handle.0) {
            return reply.ok();
        }
        self.by_worker(move |shown| {
            shown.release_written(handle.0, flags.0);
            reply.ok();
        });
    }

    fn opendir(&self, _request: &Request, number: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        match self.shown.open_directory(number.0) {
            Ok(handle) => reply.opened(FileHandle(handle), fuser::FopenFlags::empty()),
            Err(failure) => reply.error(failure.number()),
        }
    }

    fn readdirplus(
        &self,
        request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        offset: u64,
        reply: ReplyDirectoryPlus,
    ) {
        self.by_worker_for((request, Asked::Name), reply, move |shown, owed| {
            shown.read_directory(handle.0, offset, owed)
        });
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

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        _mode: u32,
        _umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let (name, thread) = (name.to_owned(), request.pid());
        self.by_worker(move |shown| match shown.create(parent.0, &name, flags, thread) {
            Ok((attributes, handle, flags)) => {
                reply.created(&WHILE_WRITTEN, &attributes, Generation(0), FileHandle(handle), flags);
            }
            Err(failure) => reply.error(failure.number()),
        });
    }

    fn write(
        &self,
        _request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let (data, appends) = (data.to_vec(), flags.0 & libc::O_APPEND != 0);
        self.by_worker(move |shown| match shown.write(handle.0, offset, &data, appends) {
            Ok(()) => reply.written(data.len() as u32),
            Err(failure) => reply.error(failure.number()),
        });
    }

    fn flush(
        &self,
        request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        _lock_owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        let thread = request.pid();
        self.by_worker(move |shown| answer(reply, shown.flush(handle.0, Some(thread))));
    }

    fn fsync(&self, _request: &Request, _number: INodeNo, handle: FileHandle, _data: bool, reply: ReplyEmpty) {
        self.by_worker(move |shown| answer(reply, shown.flush(handle.0, None)));
    }

    fn setattr(
        &self,
        request: &Request,
        number: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        handle: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let thread = request.pid();
        // Owners, modes and times are not kept: who copies files with theirs is not to fail by that.
        self.by_worker(move |shown| {
            let cut = size.map_or(Ok(()), |size| shown.truncate(number.0, handle.map(|it| it.0), size, thread));
            match cut.and_then(|()| shown.attributes_lasting(number.0)) {
                Ok((attributes, lasting)) => reply.attr(&lasting, &attributes),
                Err(failure) => reply.error(failure.number()),
            }
        });
    }

    fn mknod(
        &self,
        _request: &Request,
        _parent: INodeNo,
        _name: &OsStr,
        _mode: u32,
        _umask: u32,
        _device: u32,
        reply: ReplyEntry,
    ) {
        // As file systems say that have no pipes and devices; the crate would say that nobody knows such a
        // call.
        reply.error(Errno::EPERM);
    }

    fn unlink(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let name = name.to_owned();
        self.by_worker(move |shown| answer(reply, shown.remove(parent.0, &name)));
    }

    fn mkdir(&self, _request: &Request, parent: INodeNo, name: &OsStr, _mode: u32, _umask: u32, reply: ReplyEntry) {
        let name = name.to_owned();
        self.by_worker(move |shown| match shown.make_directory(parent.0, &name) {
            Ok(attributes) => reply.entry(&shown.tree.lasting(), &attributes, Generation(0)),
            Err(failure) => reply.error(failure.number()),
        });
    }

    fn rmdir(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let name = name.to_owned();
        self.by_worker(move |shown| answer(reply, shown.remove_directory(parent.0, &name)));
    }

    fn rename(
        &self,
        _request: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        if !(flags - RenameFlags::RENAME_NOREPLACE).is_empty() {
            return reply.error(Errno::EINVAL);
        }
        let (name, new_name) = (name.to_owned(), new_name.to_owned());
        self.by_worker(move |shown| {
            answer(reply, shown.rename((parent.0, &name), (new_parent.0, &new_name), !flags.is_empty()));
        });
    }

    fn ioctl(
        &self,
        request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        _flags: IoctlFlags,
        command: u32,
        data: &[u8],
        _out_size: u32,
        reply: ReplyIoctl,
    ) {
        let Some(told) = Told::of(command) else { return reply.error(Errno::ENOTTY) };
        let (thread, data) = (request.pid(), data.to_vec());
        self.by_worker(move |shown| match shown.told(thread, handle.0, told, &data) {
            Ok(()) => reply.ioctl(0, &[]),
            Err(failure) => reply.error(failure.number()),
        });
    }

    fn statfs(&self, _request: &Request, _number: INodeNo, reply: ReplyStatfs) {
        // A store does not say how much room it has; who asks before he writes is told that there is
        // enough.
        let enough = 1 << 38;
        let names = NAME_BYTES_MAX as u32;
        if !self.shown.tree.is_of_this_machine() {
            return reply.statfs(enough, enough, enough, enough, enough, 4096, names, 4096);
        }
        self.by_worker(move |shown| match shown.tree.room() {
            Some(it) => reply.statfs(
                it.f_blocks,
                it.f_bfree,
                it.f_bavail,
                it.f_files,
                it.f_ffree,
                it.f_bsize as u32,
                names,
                it.f_frsize as u32,
            ),
            None => reply.error(Errno::EIO),
        });
    }
}
