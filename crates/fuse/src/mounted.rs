//! A file system in its place.

use std::env;
use std::ffi::{CString, OsString};
use std::fs::{self, File};
use std::io::{self, PipeReader, Read};
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use foresee_run::run::Failure;
use fuser::{Config, Filesystem, MountOption, Notifier, Session, SessionACL};

use crate::Process;

/// How long what is just ending may keep files in use: the kernel gives a dead program's reads up a
/// little later.
const PATIENCE: Duration = Duration::from_secs(2);
/// The longest request, with what comes before its bytes: 1 MiB is the longest that any kernel makes, and
/// that much again is enough.
const REQUEST_BYTES_MAX: usize = 2 << 20;
/// The kind of file systems that ours are in the system's list of mounts.
pub const KIND: &str = "fuse.foresee";
/// Who unmounts for those who are not root, as fuser finds who mounts for them: by this variable, or else among
/// these, also where PATH does not lead to them.
const HELPER: &str = "FUSERMOUNT_PATH";
const HELPERS: [&str; 6] =
    ["fusermount3", "fusermount", "/sbin/fusermount3", "/sbin/fusermount", "/bin/fusermount3", "/bin/fusermount"];
/// What a place says whose file system has nobody to answer.
pub const NOT_ANSWERED: i32 = libc::ENOTCONN;

/// How a file system is shown.
pub struct Shown<'a> {
    /// What the system's list of mounts calls it.
    pub name: &'a str,
    /// Where: a file or a directory that is there.
    pub at: &'a Path,
    /// Besides what all have.
    pub options: Vec<MountOption>,
    /// Threads that take requests.
    pub threads: usize,
}

/// The file system, mounted until this is dropped.
pub struct Mounted {
    path: PathBuf,
    /// Its end says that nobody answers any more.
    gone: PipeReader,
    /// Whether that is as it was unmounted. What is in its place then is not ours to unmount.
    was_unmounted: Arc<AtomicBool>,
    /// Why nobody answers any more, if it is not because nothing is mounted.
    died: Receiver<io::Error>,
    /// What the place is on when nothing is mounted there.
    beneath: u64,
    /// What it is, if that is known.
    device: Option<(u32, u32)>,
    notifier: Notifier,
}

impl Mounted {
    /// Mounts it.
    ///
    /// # Errors
    /// What is missing, for those who may do something about it.
    pub fn new(view: impl Filesystem, shown: Shown<'_>) -> Result<Self, String> {
        let own = |error: io::Error| format!("{}: {error}", shown.at.display());
        let path = fs::canonicalize(shown.at).map_err(own)?;
        let beneath = fs::symlink_metadata(&path).map_err(own)?.dev();
        let session = session(view, &path, &shown)?;
        let device = device_at(&path);
        let served = session.as_fd().try_clone_to_owned().map_err(own)?;
        let (gone, is_there) = io::pipe().map_err(own)?;
        let (dies, died) = channel();
        let was_unmounted = Arc::new(AtomicBool::new(false));
        let notifier = session.notifier();
        let mut session = session.spawn().map_err(own)?;
        let unmounted = Arc::clone(&was_unmounted);
        let watch = move || {
            // A session can be waited for, or not be dropped, not both; so what is waited for is taken from it.
            let end = mem::replace(&mut session.guard, thread::spawn(|| Ok(())));
            let ended = end.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")));
            match ended {
                Err(error) if error.raw_os_error() != Some(libc::ECONNABORTED) || !is_unmounted(served) => {
                    // Nobody asks any more where we are ending.
                    let _ = dies.send(error);
                    drop(session);
                }
                _ => {
                    unmounted.store(true, Release);
                    // Else it would unmount what somebody else may have mounted there since.
                    mem::forget(session);
                }
            }
            drop(is_there);
        };
        thread::Builder::new().name("foresee-fuse".into()).spawn(watch).map_err(own)?;
        Ok(Mounted { path, gone, was_unmounted, died, beneath, device, notifier })
    }

    /// Tells the kernel what it is to forget.
    pub fn notifier(&self) -> Notifier {
        self.notifier.clone()
    }

    /// Waits for a signal, or for somebody to unmount it.
    pub(crate) fn until_told(&self, process: &Process) -> Result<(), String> {
        while !process.signals.came() {
            if wait(&[process.signals.fd(), self.gone.as_raw_fd()])? & 2 != 0 {
                break;
            }
        }
        self.check_alive()
    }

    fn check_alive(&self) -> Result<(), String> {
        match self.died.try_recv() {
            Ok(error) => Err(format!("{}: FUSE: {error}; it could not be read any more", self.path.display())),
            Err(_) => Ok(()),
        }
    }

    /// Waits for the command's end.
    pub(crate) fn while_runs(&self, process: &Process, command: &[OsString]) -> Result<ExitStatus, Failure> {
        let program = command[0].to_string_lossy().into_owned();
        let mut child: Child = process.command(command).spawn().map_err(|error| Failure::Command(error, program))?;
        loop {
            wait(&[process.signals.fd()]).map_err(Failure::Wrong)?;
            process.signals.pass_on(&child);
            match child.try_wait() {
                Ok(Some(status)) => return self.check_alive().map(|()| status).map_err(Failure::Wrong),
                Ok(None) => {}
                Err(error) => return Err(Failure::Wrong(error.to_string())),
            }
        }
    }

    /// Lets the kernel read so far ahead of a sequential reader. Only root may; the kernel's 128
    /// KiB are no error.
    pub fn read_ahead(&self, bytes: u64) {
        let Ok(metadata) = fs::metadata(&self.path) else { return };
        let (major, minor) = (libc::major(metadata.dev()), libc::minor(metadata.dev()));
        let setting = format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb");
        let before = fs::read_to_string(&setting).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        if bytes >> 10 > before {
            let _ = fs::write(setting, (bytes >> 10).to_string());
        }
    }

    /// Whether something is mounted there.
    fn is_covered(&self) -> bool {
        match fs::symlink_metadata(&self.path) {
            Ok(there) => there.dev() != self.beneath,
            Err(error) => error.raw_os_error() == Some(NOT_ANSWERED),
        }
    }
}

/// Whether the kernel says of a file system that it was unmounted, and not that somebody aborted it. Of one
/// that is unmounted while a request is on its way to us it says first that this was aborted.
fn is_unmounted(device: OwnedFd) -> bool {
    let mut polled = libc::pollfd { fd: device.as_raw_fd(), events: 0, revents: 0 };
    // SAFETY: it is one.
    let has_ended = unsafe { libc::poll(&raw mut polled, 1, 0) } == 1 && polled.revents & libc::POLLERR != 0;
    // Who reads must have room for the longest request.
    let mut request = vec![0; REQUEST_BYTES_MAX];
    has_ended && File::from(device).read(&mut request).is_err_and(|error| error.raw_os_error() == Some(libc::ENODEV))
}

impl AsRef<Mounted> for Mounted {
    fn as_ref(&self) -> &Mounted {
        self
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Of what was unmounted while it was in use something else may have the place.
        let is_another = self.device.is_some_and(|own| device_at(&self.path).is_some_and(|there| there != own));
        if self.was_unmounted.load(Acquire) || is_another {
            return;
        }
        let begun = Instant::now();
        let path = self.path.display();
        loop {
            match detach(&self.path, 0) {
                libc::EBUSY if begun.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(10)),
                libc::EBUSY => {
                    detach(&self.path, libc::MNT_DETACH);
                    log::warn!("{path}: whoever still reads it gets I/O errors now");
                    break;
                }
                libc::EPERM => {
                    // Not root: fusermount3 does it, now or when the last reader has gone. If not, that is seen below.
                    let _ = ask_helper(&self.path, &["-u", "-z"]);
                    break;
                }
                // Done, or somebody else has.
                _ => break,
            }
        }
        if self.is_covered() {
            log::warn!("{path}: is still mounted; 'fusermount3 -u {path}'");
        }
    }
}

/// What a path lies on, without asking who serves that.
fn device_at(path: &Path) -> Option<(u32, u32)> {
    let name = CString::new(path.as_os_str().as_bytes()).ok()?;
    let mut found = MaybeUninit::<libc::statx>::zeroed();
    let flags = libc::AT_STATX_DONT_SYNC | libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: the name ends with a zero and outlives the call, and the system fills the other in.
    let done = unsafe { libc::statx(libc::AT_FDCWD, name.as_ptr(), flags, libc::STATX_TYPE, found.as_mut_ptr()) };
    // SAFETY: it did, and zeros are such a value as well.
    let found = unsafe { found.assume_init() };
    (done == 0).then_some((found.stx_dev_major, found.stx_dev_minor))
}

/// Asks the system to unmount what is there; returns the error's number, or 0.
fn detach(path: &Path, flags: i32) -> i32 {
    let Ok(name) = CString::new(path.as_os_str().as_bytes()) else { return libc::EINVAL };
    // SAFETY: the name ends with a zero and outlives the call.
    let done = unsafe { libc::umount2(name.as_ptr(), flags | libc::UMOUNT_NOFOLLOW) };
    if done == 0 { 0 } else { io::Error::last_os_error().raw_os_error().unwrap_or(0) }
}

/// What kind of file system is mounted at a path that leads through no link, if any is: of several
/// the uppermost, as to end one that lies above another would end both.
///
/// # Errors
/// If the system does not say.
pub fn kind_at(path: &Path) -> io::Result<Option<String>> {
    Ok(mounted_at(path)?.map(|(kind, _)| kind))
}

/// The same, and its options.
fn mounted_at(path: &Path) -> io::Result<Option<(String, String)>> {
    let mounts = fs::read("/proc/self/mounts")?;
    // Others' names may be no text.
    let mounts = String::from_utf8_lossy(&mounts);
    let mut found = mounts.lines().rev().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        (words.next()? == escaped(path)).then(|| Some((words.next()?.to_owned(), words.next()?.to_owned())))?
    });
    Ok(found.next())
}

/// Who mounted a file system, by its options.
fn owner(options: &str) -> Option<u32> {
    options.split(',').find_map(|it| it.strip_prefix("user_id="))?.parse().ok()
}

/// A path as it stands in the system's list of mounts (fstab(5)).
fn escaped(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "\\134").replace(' ', "\\040").replace('\t', "\\011").replace('\n', "\\012")
}

/// A path without links, though nobody may answer at its end.
fn without_links(path: &Path) -> io::Result<PathBuf> {
    // Without a slash at its end, behind which a link is followed.
    let path = &path.components().collect::<PathBuf>();
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if !fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink()) => {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            Ok(fs::canonicalize(parent)?.join(name))
        }
        _ => fs::canonicalize(path),
    }
}

/// Unmounts what a foresee mounted there, alive or not; not what is in use, unless nobody answers
/// there.
///
/// # Errors
/// Why it is still there.
pub fn unmount(path: &Path) -> Result<(), String> {
    let there = without_links(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let owner = match mounted_at(&there) {
        Err(_) => None,
        Ok(Some((kind, options))) if kind == KIND => owner(&options),
        Ok(Some((kind, _))) => {
            let path = path.display();
            return Err(format!(
                "{path}: a file system of kind {kind} is mounted there, none of foresee's: 'umount {path}'"
            ));
        }
        Ok(None) => return Err(format!("{}: nothing is mounted there", path.display())),
    };
    let path = there.as_path();
    // What a dead one told last is still told; that nobody answers shows where somebody must.
    let is_dead = || fs::read_dir(path).is_err_and(|error| error.raw_os_error() == Some(NOT_ANSWERED));
    let complain = |error: i32| format!("{}: {}", path.display(), io::Error::from_raw_os_error(error));
    match detach(path, 0) {
        0 => Ok(()),
        libc::EPERM => match owner {
            // SAFETY: takes no arguments and cannot fail.
            Some(0) if unsafe { libc::geteuid() } == 0 => Err(format!(
                "{}: root unmounts it by the right to mount (CAP_SYS_ADMIN), which is not given here",
                complain(libc::EPERM)
            )),
            Some(0) => Err(format!("{}: root mounted it, and may unmount it", path.display())),
            _ => ask_helper(path, if is_dead() { &["-u", "-z"] } else { &["-u"] }),
        },
        libc::EBUSY if is_dead() => match detach(path, libc::MNT_DETACH) {
            0 => Ok(()),
            error => Err(complain(error)),
        },
        libc::EBUSY => Err(format!("{}; somebody works in it, or has files of it open", complain(libc::EBUSY))),
        error => Err(complain(error)),
    }
}

/// Has it unmounted by who may.
fn ask_helper(path: &Path, how: &[&str]) -> Result<(), String> {
    let ask = |helper: OsString| Command::new(helper).args(how).arg("--").arg(path).output();
    let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let helpers = env::var_os(HELPER).into_iter().chain(HELPERS.map(OsString::from));
    let missing = Err(io::ErrorKind::NotFound.into());
    match helpers.map(ask).find(|it| !it.as_ref().is_err_and(is_missing)).unwrap_or(missing) {
        Ok(ended) if ended.status.success() => Ok(()),
        Ok(ended) => Err(String::from_utf8_lossy(&ended.stderr).trim().to_owned()),
        Err(error) => Err(format!("{}: unmounting takes root or fusermount3: {error}", path.display())),
    }
}

fn session<F: Filesystem>(view: F, at: &Path, shown: &Shown<'_>) -> Result<Session<F>, String> {
    // SAFETY: takes no arguments and cannot fail.
    let root = unsafe { libc::geteuid() } == 0;
    if let Err(error) = File::options().read(true).write(true).open("/dev/fuse") {
        return Err(format!("/dev/fuse: {error}: it takes FUSE, and the right to use that device"));
    }
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName(shown.name.into()),
        // As the kernel is told it, too: `Subtype` is for fusermount3 alone. Those who read ahead know us by it.
        MountOption::CUSTOM("subtype=foresee".into()),
        MountOption::DefaultPermissions,
        MountOption::NoAtime,
    ];
    config.mount_options.extend_from_slice(&shown.options);
    // Others than ourselves may look only where root lets them.
    config.acl = if root { SessionACL::All } else { SessionACL::Owner };
    config.n_threads = Some(shown.threads);
    Session::new(view, at, &config).map_err(|error| {
        let error = error.to_string();
        let needs = match root {
            true => "; it needs the right to mount",
            // That says itself what it is about.
            false if error.contains("fusermount3:") => "",
            false => "; it needs root, or fusermount3 (package fuse3)",
        };
        format!("{}: mounting: {}{needs}", at.display(), error.trim())
    })
}

/// Waits until one of these can be read, or has ended: one bit each.
fn wait(fds: &[i32]) -> Result<u32, String> {
    let mut polled: Vec<libc::pollfd> =
        fds.iter().map(|&fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
    // SAFETY: the array is as long as is said.
    let ready = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, -1) };
    match io::Error::last_os_error() {
        error if ready < 0 && error.kind() != io::ErrorKind::Interrupted => Err(error.to_string()),
        _ => Ok(polled.iter().rev().fold(0, |bits, it| bits << 1 | u32::from(ready > 0 && it.revents != 0))),
    }
}
