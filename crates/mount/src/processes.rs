//! Which process asks, how it ends, and when.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use foresee_fuse::KIND;
use foresee_run::process_stat::status;

/// Fields of proc_pid_stat(5), and a flag in one of them.
const FLAGS_FIELD: usize = 9;
const EXIT_CODE_FIELD: usize = 52;
const PF_EXITING: u64 = 4;

/// Whether a thread ends because its process was killed: what it closes then is not whole.
pub fn is_killed(thread: u32) -> bool {
    // Who reads `stat` waits for a process that is about to be another program (Linux 6.18), and that
    // one may wait for us, by what it closes then. One that ends has no memory any more.
    if status(thread, "VmSize").is_some() {
        return false;
    }
    let stat = fs::read(format!("/proc/{thread}/stat")).unwrap_or_default();
    // The name may be cut in the middle of a character.
    let stat = String::from_utf8_lossy(&stat);
    let fields: Vec<&str> = stat.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ').collect();
    let field = |at: usize| fields.get(at).and_then(|it| it.trim().parse::<u64>().ok()).unwrap_or(0);
    // As in proc_pid_stat(5), whose third field comes first here: it is exiting, by a signal.
    field(FLAGS_FIELD - 3) & PF_EXITING != 0 && libc::WIFSIGNALED(field(EXIT_CODE_FIELD - 3) as i32)
}

/// Whether a process has a file of this number open on a mount of ours; it is taken to have it where
/// that cannot be known. By links, in place of what is said of each descriptor, one would wait for
/// what waits for us, as by `stat`.
pub fn has_open(process: u32, number: u64) -> bool {
    let of = |what: &str| PathBuf::from(format!("/proc/{process}/{what}"));
    let has = |descriptors: &Path| any_of(descriptors, |told| is_told_of(told, number, &of("mountinfo")));
    let look = || {
        if let Some(found) = has(&of("fdinfo"))? {
            return Ok(found);
        }
        // It ends, or its first thread has.
        for thread in fs::read_dir(of("task"))? {
            if has(&thread?.path().join("fdinfo"))? == Some(true) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    // What is not there has ended.
    let has_ended = |error: &io::Error| matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH));
    look().unwrap_or_else(|error: io::Error| !has_ended(&error))
}

/// Whether this is so of what is told of some descriptor; None if there is none.
fn any_of(descriptors: &Path, is_so: impl Fn(&str) -> bool) -> io::Result<Option<bool>> {
    let mut any = None;
    for descriptor in fs::read_dir(descriptors)? {
        match fs::read_to_string(descriptor?.path()) {
            Ok(told) if is_so(&told) => return Ok(Some(true)),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            // Another file, or one that was closed meanwhile.
            _ => any = Some(false),
        }
    }
    Ok(any)
}

/// Whether proc_pid_fdinfo(5) tells of a file of this number, on a mount of ours by
/// proc_pid_mountinfo(5), or does not say that it is another one. Files of other file systems have
/// such numbers, too.
fn is_told_of(told: &str, number: u64, mounts: &Path) -> bool {
    let field = |name: &str| told.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let (Some(inode), Some(mount)) = (field("ino:"), field("mnt_id:")) else { return true };
    if inode.parse() != Ok(number) {
        return false;
    }
    let mounts = fs::read(mounts).unwrap_or_default();
    let mounts = String::from_utf8_lossy(&mounts);
    let line = mounts.lines().find(|line| line.split(' ').next() == Some(mount));
    line.and_then(|line| line.split_once(" - ")).is_none_or(|(_, rest)| rest.split(' ').next() == Some(KIND))
}

/// A process, whatever becomes of its number.
pub struct Process(OwnedFd);

impl Process {
    /// The one that has this number now.
    pub fn of(process: u32) -> io::Result<Self> {
        // SAFETY: the call takes numbers.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, process as libc::pid_t, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it is ours, and open.
        Ok(Process(unsafe { OwnedFd::from_raw_fd(fd as i32) }))
    }

    /// Waits for its end.
    pub fn wait(&self) {
        let mut polled = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: there is one of them.
        while unsafe { libc::poll(&mut polled, 1, -1) } <= 0 {}
    }
}
