//! The FUSE filesystem: `disk`, which becomes the block device, and `control`.

use crate::engine::Engine;
use crate::model::Settings;
use crate::plan::Plan;
use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyWrite, Request, Session, SessionACL, TimeOrNow, WriteFlags,
};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const ROOT: INodeNo = INodeNo::ROOT;
const DISK: INodeNo = INodeNo(2);
const CONTROL: INodeNo = INodeNo(3);

/// More than the loop driver ever has under way; the kernel's default of 12 would cap the depth.
const MAX_BACKGROUND: u16 = 1024;
const MAX_TRANSFER: u32 = 1 << 20;

/// Mounts the slow file; running the session serves it until it is unmounted.
pub fn mount(plan: &Plan, settings: Settings) -> Result<Session<SlowFile>, String> {
    let complain = |path: &Path, e: io::Error| format!("{}: {e}", path.display());
    let image = File::options().read(true).write(true).open(&plan.image).map_err(|e| complain(&plan.image, e))?;
    let engine = Engine::start(settings, plan.size).map_err(|e| format!("no thread to keep the time: {e}"))?;
    let filesystem = SlowFile {
        image,
        size: plan.size,
        engine,
        started: SystemTime::now(),
        reports: Mutex::new(HashMap::new()),
        next_handle: AtomicU64::new(1),
    };
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName("slowdisk".into()),
        MountOption::Subtype("slowdisk".into()),
        MountOption::DefaultPermissions,
    ];
    // The command under measurement may run as someone else and read `control`.
    config.acl = SessionACL::All;
    // Several, so that one read from a cold image does not hold up the rest.
    config.n_threads = Some(std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, 4)));
    Session::new(filesystem, &plan.fuse_dir, &config)
        .map_err(|e| format!("{}: mounting FUSE: {e}; check /dev/fuse", plan.fuse_dir.display()))
}

/// The filesystem and what it is made from.
pub struct SlowFile {
    image: File,
    size: u64,
    engine: Arc<Engine>,
    started: SystemTime,
    /// What each reader of `control` is being shown, so that it does not change between reads.
    reports: Mutex<HashMap<u64, String>>,
    next_handle: AtomicU64,
}

impl SlowFile {
    fn attr(&self, ino: INodeNo) -> Option<FileAttr> {
        let (kind, perm, size) = match ino {
            ROOT => (FileType::Directory, 0o755, 0),
            DISK => (FileType::RegularFile, 0o600, self.size),
            CONTROL => (FileType::RegularFile, 0o644, 0),
            _ => return None,
        };
        Some(FileAttr {
            ino,
            size,
            blocks: size / 512,
            atime: self.started,
            mtime: self.started,
            ctime: self.started,
            crtime: UNIX_EPOCH,
            kind,
            perm,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }

    fn read_control(&self, handle: u64, offset: u64, size: u32) -> Vec<u8> {
        let mut reports = self.reports.lock().unwrap_or_else(|e| e.into_inner());
        if offset == 0 {
            reports.insert(handle, self.engine.report());
        }
        let text = reports.get(&handle).map_or("", String::as_str).as_bytes();
        let from = text.len().min(offset as usize);
        let to = text.len().min(from + size as usize);
        text[from..to].to_vec()
    }

    fn write_control(&self, data: &[u8]) -> Result<(), String> {
        let text = str::from_utf8(data).map_err(|_| "what was written is not text".to_string())?;
        self.engine.control(text)
    }
}

const FOREVER: Duration = Duration::from_secs(3600);

impl Filesystem for SlowFile {
    fn init(&mut self, _req: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Without it the loop driver's reads would be made one at a time.
        config
            .add_capabilities(InitFlags::FUSE_ASYNC_DIO)
            .map_err(|_| io::Error::other("this kernel's FUSE has no asynchronous direct I/O"))?;
        // These can only be refused for being zero or above fuser's own buffer.
        let _ = config.set_max_background(MAX_BACKGROUND);
        let _ = config.set_congestion_threshold(MAX_BACKGROUND);
        let _ = config.set_max_write(MAX_TRANSFER);
        Ok(())
    }

    fn lookup(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let ino = match name.to_str() {
            Some("disk") if parent == ROOT => DISK,
            Some("control") if parent == ROOT => CONTROL,
            _ => return reply.error(Errno::ENOENT),
        };
        match self.attr(ino) {
            Some(attr) => reply.entry(&FOREVER, &attr, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _req: &Request, ino: INodeNo, _fh: Option<FileHandle>, reply: ReplyAttr) {
        match self.attr(ino) {
            Some(attr) => reply.attr(&FOREVER, &attr),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        _req: &Request,
        ino: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        _size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _fh: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        // `echo network > control` truncates first; there is nothing to change.
        match self.attr(ino) {
            Some(attr) => reply.attr(&FOREVER, &attr),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, _req: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let handle = FileHandle(self.next_handle.fetch_add(1, Ordering::Relaxed));
        // Nothing may be cached here: a cached read would be a fast one, or a stale report.
        match ino {
            DISK => reply.opened(handle, FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES),
            _ => reply.opened(handle, FopenFlags::FOPEN_DIRECT_IO),
        }
    }

    fn release(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.reports.lock().unwrap_or_else(|e| e.into_inner()).remove(&fh.0);
        reply.ok();
    }

    fn read(
        &self,
        _req: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if ino == CONTROL {
            return reply.data(&self.read_control(fh.0, offset, size));
        }
        let arrived = self.engine.arrived();
        let len = u64::from(size).min(self.size.saturating_sub(offset));
        let mut data = vec![0; len as usize];
        match self.image.read_exact_at(&mut data, offset) {
            Ok(()) => self.engine.answer(arrived, offset, data, reply),
            Err(error) => {
                self.engine.failed();
                reply.error(error.into());
            }
        }
    }

    fn write(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        if ino == CONTROL {
            return match self.write_control(data) {
                Ok(()) => reply.written(data.len() as u32),
                Err(why) => {
                    eprintln!("slowdisk: control: {why}");
                    reply.error(Errno::EINVAL);
                }
            };
        }
        match self.image.write_all_at(data, offset) {
            Ok(()) => {
                self.engine.wrote(data.len() as u64);
                reply.written(data.len() as u32);
            }
            Err(error) => {
                eprintln!("slowdisk: the image failed to take {} bytes at {offset}: {error}", data.len());
                reply.error(error.into());
            }
        }
    }

    fn fallocate(
        &self,
        _req: &Request,
        _ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        // The loop driver's discard: the image gives back the room.
        // SAFETY: takes no pointers; the descriptor is open.
        match unsafe { libc::fallocate(self.image.as_raw_fd(), mode, offset as i64, length as i64) } {
            0 => reply.ok(),
            _ => reply.error(io::Error::last_os_error().into()),
        }
    }

    fn flush(&self, _req: &Request, _ino: INodeNo, _fh: FileHandle, _lock_owner: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _req: &Request, _ino: INodeNo, _fh: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        // The image is in this machine's page cache and need not survive it; forcing it out would
        // make writes as slow as whatever drive it happens to lie on.
        reply.ok();
    }

    fn readdir(&self, _req: &Request, ino: INodeNo, _fh: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        if ino != ROOT {
            return reply.error(Errno::ENOTDIR);
        }
        let entries = [
            (ROOT, FileType::Directory, "."),
            (ROOT, FileType::Directory, ".."),
            (DISK, FileType::RegularFile, "disk"),
            (CONTROL, FileType::RegularFile, "control"),
        ];
        for (next, (ino, kind, name)) in (1..).zip(entries).skip(offset as usize) {
            if reply.add(ino, next, kind, name) {
                break;
            }
        }
        reply.ok();
    }
}
