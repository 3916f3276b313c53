//! A striped file as the kernel sees it: a FUSE file system whose root is that one file. The page
//! cache keeps what was read.

use std::collections::HashSet;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use foresee_run::stripe::{Failure, Reader, Set};
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, INodeNo, InitFlags, KernelConfig, LockOwner,
    OpenFlags, ReplyAttr, ReplyData, ReplyOpen, Request,
};

use crate::say::say;

/// Requests ahead of a reader under way at once, 1 MiB each at most: as many as the manager sends
/// one device. The kernel's own 12 would leave disks idle.
const REQUESTS_MAX: u16 = 128;
/// The longest request; the kernel makes none longer.
const REQUEST_BYTES_MAX: u32 = 1 << 20;
/// Nothing changes while it is shown.
const FOREVER: Duration = Duration::from_secs(1 << 30);

/// The file.
pub struct View {
    reader: Reader,
    attributes: FileAttr,
    /// Members whose failure was told.
    told: Arc<Mutex<HashSet<PathBuf>>>,
}

impl View {
    /// Shows this set, to those who may read all of its members.
    pub fn new(set: Set) -> io::Result<Self> {
        let attributes = attributes(&set);
        Ok(View { reader: Reader::new(set)?, attributes, told: Arc::default() })
    }
}

fn attributes(set: &Set) -> FileAttr {
    let members = set.metadata();
    let (uid, gid) = (members[0].uid(), members[0].gid());
    let one_owner = members.iter().all(|member| member.uid() == uid);
    let one_group = members.iter().all(|member| member.gid() == gid);
    let perm = match members.iter().fold(0o444, |perm, member| perm & member.mode()) as u16 {
        // Everybody may, whoever that is on each.
        0o444 => 0o444,
        perm if one_owner && one_group => perm,
        // Others are different people on each, and so are owners or groups.
        perm if one_owner => perm & 0o400,
        perm if one_group => perm & 0o040,
        _ => 0,
    };
    let changed = members.iter().filter_map(|member| member.modified().ok()).max().unwrap_or(UNIX_EPOCH);
    FileAttr {
        ino: INodeNo::ROOT,
        size: set.size(),
        blocks: set.size().div_ceil(512),
        atime: changed,
        mtime: changed,
        ctime: changed,
        crtime: SystemTime::UNIX_EPOCH,
        kind: FileType::RegularFile,
        perm,
        nlink: 1,
        uid,
        gid,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

fn tell(told: &Mutex<HashSet<PathBuf>>, failure: &Failure) {
    if told.lock().unwrap_or_else(PoisonError::into_inner).insert(failure.member.clone()) {
        say(format_args!("{failure}; whoever reads what lies there gets an I/O error"));
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
        Ok(())
    }

    fn getattr(&self, _request: &Request, _ino: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOREVER, &self.attributes);
    }

    fn open(&self, _request: &Request, _ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE);
    }

    fn read(
        &self,
        _request: &Request,
        _ino: INodeNo,
        _handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let told = Arc::clone(&self.told);
        self.reader.read(offset, size as usize, move |result| match result {
            Ok(data) => reply.data(data),
            Err(failure) => {
                tell(&told, &failure);
                reply.error(Errno::EIO);
            }
        });
    }
}
