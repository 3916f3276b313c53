//! `foresee stripe mount`: the file is there while a command runs, or until somebody ends it, and gone afterwards.

use std::ffi::{CString, OsString};
use std::fs::{self, File};
use std::io::{self, PipeReader};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use foresee_run::child::{DescriptorLimit, Signals, command as command_of};
use foresee_run::launch::end_as;
use foresee_run::run::Failure;
use foresee_run::stripe::Set;
use fuser::{Config, MountOption, Session, SessionACL, SessionUnmounter};

use super::view::View;
use crate::run::failed;
use crate::say::say;
use crate::text;

/// How long what is just ending may keep the file in use: the kernel gives a dead program's reads up a little later.
const PATIENCE: Duration = Duration::from_secs(2);
/// How far the kernel reads ahead of a sequential reader. It makes no request longer than that, and foresee's own reads ahead are
/// of 1 MiB: cut into 128 KiB, several of them at once make a disk's arm skip back and forth.
const READ_AHEAD_BYTES: std::ops::RangeInclusive<u64> = 1 << 20..=8 << 20;

/// Shows the file; returns the exit status.
pub fn mount(file: &Path, members: &[PathBuf], command: &[OsString]) -> Result<u8, String> {
    match Mounted::new(file, members) {
        Ok(mounted) if command.is_empty() => {
            let (size, count) = (text::bytes(mounted.size), members.len());
            say(format_args!("{}: {size} from {count} disks, until Ctrl-C", file.display()));
            mounted.until_told().map(|()| 0)
        }
        Ok(mounted) => match mounted.while_runs(command) {
            Ok(status) => end_as(status.into_raw(), 0),
            Err(failure) => Ok(failed(failure)),
        },
        // As `foresee run`: the status must not look like the command's.
        Err(message) if !command.is_empty() => Ok(failed(Failure::Wrong(message))),
        Err(message) => Err(message),
    }
}

/// The file system, mounted until this is dropped.
struct Mounted {
    size: u64,
    unmounter: SessionUnmounter,
    /// Its end says that nothing is mounted any more, whoever did that.
    gone: PipeReader,
    /// Why nobody answers reads any more, if it is not because nothing is mounted.
    died: Receiver<io::Error>,
    place: Place,
    limit: DescriptorLimit,
    /// The last to go: a second signal must not end us with the file in its place.
    signals: Signals,
}

impl Mounted {
    fn new(file: &Path, members: &[PathBuf]) -> Result<Self, String> {
        let set = Set::open(members)?;
        let (size, stripe) = (set.size(), set.stripe());
        // SAFETY: no handler is installed. A message that nobody reads must not end us with the file in its place.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
        let own = |error: io::Error| error.to_string();
        // Before there are threads, which would take signals otherwise.
        let signals = Signals::take().map_err(own)?;
        let limit = DescriptorLimit::raise();
        let place = Place::take(file)?;
        let view = View::new(set).map_err(own)?;
        let mut session = session(view, &place.path)?;
        let unmounter = session.unmount_callable();
        let (gone, is_there) = io::pipe().map_err(own)?;
        let (dies, died) = channel();
        let serve = move || {
            if let Err(error) = session.run() {
                // Nobody asks any more where we are ending.
                let _ = dies.send(error);
            }
            drop(is_there);
        };
        thread::Builder::new().name("foresee-fuse".into()).spawn(serve).map_err(own)?;
        read_ahead(&place.path, 2 * u64::from(stripe.disks) * stripe.unit_blocks);
        Ok(Mounted { size, unmounter, gone, died, place, limit, signals })
    }

    /// Waits for a signal, or for somebody to unmount it.
    fn until_told(self) -> Result<(), String> {
        while !self.signals.came() {
            if wait(&[self.signals.fd(), self.gone.as_raw_fd()])? & 2 != 0 {
                break;
            }
        }
        self.check_alive()
    }

    fn check_alive(&self) -> Result<(), String> {
        match self.died.try_recv() {
            Ok(error) => Err(format!("{}: FUSE: {error}; it could not be read any more", self.place.path.display())),
            Err(_) => Ok(()),
        }
    }

    /// Waits for the command's end.
    fn while_runs(self, command: &[OsString]) -> Result<std::process::ExitStatus, Failure> {
        let program = command[0].to_string_lossy().into_owned();
        let mut command = command_of(command, &[], self.signals.meant());
        self.limit.keep_for(&mut command);
        let mut child: Child = command.spawn().map_err(|error| Failure::Command(error, program))?;
        loop {
            wait(&[self.signals.fd()]).map_err(Failure::Wrong)?;
            self.signals.pass_on(&child);
            match child.try_wait() {
                Ok(Some(status)) => return self.check_alive().map(|()| status).map_err(Failure::Wrong),
                Ok(None) => {}
                Err(error) => return Err(Failure::Wrong(error.to_string())),
            }
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let begun = Instant::now();
        let umount = |flags| {
            // SAFETY: the name ends with a zero and outlives the call.
            let done = unsafe { libc::umount2(self.place.name.as_ptr(), flags | libc::UMOUNT_NOFOLLOW) };
            if done == 0 { 0 } else { io::Error::last_os_error().raw_os_error().unwrap_or(0) }
        };
        loop {
            match umount(0) {
                libc::EBUSY if begun.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(10)),
                libc::EBUSY => {
                    umount(libc::MNT_DETACH);
                    say(format_args!("{}: whoever still reads it gets I/O errors now", self.place.path.display()));
                    break;
                }
                libc::EPERM => {
                    // Not root: fusermount3 does it, now or when the last reader has gone. If not, that is seen below.
                    let _ = self.unmounter.unmount();
                    break;
                }
                // Done, or somebody else has.
                _ => break,
            }
        }
        if self.place.is_covered() {
            let path = self.place.path.display();
            say(format_args!("{path}: is still mounted; 'fusermount3 -u {path}' and remove it"));
        }
    }
}

/// The empty file that the striped one is mounted on; gone when it is dropped.
struct Place {
    path: PathBuf,
    /// The same for the kernel.
    name: CString,
    /// Open, so that its number is no other file's as long as we need it.
    _file: File,
    dev: u64,
    ino: u64,
}

impl Place {
    fn take(file: &Path) -> Result<Self, String> {
        let complain = |error: io::Error| match error.raw_os_error() {
            // A dead mount exists as well, as long as the kernel remembers what it was.
            Some(libc::EEXIST | libc::ENOTCONN) if is_dead(file) => {
                format!(
                    "{0}: was left by a foresee that was killed or crashed; 'umount {0}' and remove it",
                    file.display()
                )
            }
            Some(libc::EEXIST) => format!("{}: exists already; name a file that does not", file.display()),
            _ => format!("{}: {error}", file.display()),
        };
        let made = File::options().write(true).create_new(true).open(file).map_err(complain)?;
        let metadata = made.metadata().map_err(complain)?;
        let path = fs::canonicalize(file).map_err(complain)?;
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|error| complain(error.into()))?;
        Ok(Place { path, name, _file: made, dev: metadata.dev(), ino: metadata.ino() })
    }

    /// Whether something is mounted on it.
    fn is_covered(&self) -> bool {
        match fs::symlink_metadata(&self.path) {
            Ok(there) => there.dev() != self.dev,
            Err(error) => error.raw_os_error() == Some(libc::ENOTCONN),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Another if it could not be unmounted, which was told, or if somebody put his own there.
        if fs::symlink_metadata(&self.path).is_ok_and(|it| (it.dev(), it.ino()) == (self.dev, self.ino)) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn is_dead(file: &Path) -> bool {
    File::open(file).is_err_and(|error| error.raw_os_error() == Some(libc::ENOTCONN))
}

fn session(view: View, at: &Path) -> Result<Session<View>, String> {
    let remedy = "'foresee stripe join MEMBER... > FILE' does without";
    // SAFETY: takes no arguments and cannot fail.
    let root = unsafe { libc::geteuid() } == 0;
    if let Err(error) = File::options().read(true).write(true).open("/dev/fuse") {
        return Err(format!("/dev/fuse: {error}; a striped file is shown through FUSE; {remedy}"));
    }
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName("foresee-stripe".into()),
        MountOption::Subtype("foresee".into()),
        MountOption::DefaultPermissions,
        MountOption::RO,
        MountOption::NoAtime,
    ];
    // Others than ourselves may look only where root lets them.
    config.acl = if root { SessionACL::All } else { SessionACL::Owner };
    config.n_threads = Some(2);
    Session::new(view, at, &config).map_err(|error| {
        let error = error.to_string();
        let needs = if root { "the right to mount" } else { "root, or fusermount3 (package fuse3)" };
        format!("mounting: {}; it needs {needs}; {remedy}", error.trim())
    })
}

/// Lets the kernel read two rows of units ahead of a sequential reader, as its own arrays do: with less, some disks
/// are idle. Only root may; the kernel's 128 KiB are no error.
fn read_ahead(file: &Path, bytes: u64) {
    let Ok(metadata) = fs::metadata(file) else { return };
    let (major, minor) = (libc::major(metadata.dev()), libc::minor(metadata.dev()));
    let setting = format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb");
    let before = fs::read_to_string(&setting).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0);
    let kb = bytes.clamp(*READ_AHEAD_BYTES.start(), *READ_AHEAD_BYTES.end()) >> 10;
    if kb > before {
        let _ = fs::write(setting, kb.to_string());
    }
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
