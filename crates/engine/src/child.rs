//! The program: started, waited for, and sent on the signals that are meant for it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};

use crate::account::Ending;
use crate::inherited;

/// Signals that somebody may send to us and mean for the program.
const PASSED_ON: [i32; 4] = [libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2];
/// Signals that a terminal sends to the program as well: it decides what becomes of them.
const LEFT_TO_PROGRAM: [i32; 2] = [libc::SIGINT, libc::SIGQUIT];

/// Signals as something to poll, for as long as this lives.
pub struct Signals {
    fd: OwnedFd,
    before: libc::sigset_t,
    /// What was to be done at a child's end. If that was to ignore it, nobody could wait for the program.
    child_ended: libc::sighandler_t,
}

impl Signals {
    /// Takes the signals of a run in hand.
    pub fn take() -> io::Result<Self> {
        // SAFETY: both sets are filled in before they are read.
        unsafe {
            let (mut set, mut before) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigemptyset(&raw mut set);
            for signal in PASSED_ON.into_iter().chain(LEFT_TO_PROGRAM).chain([libc::SIGCHLD]) {
                libc::sigaddset(&raw mut set, signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut before);
            let fd = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            let child_ended = libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            Ok(Signals { fd: OwnedFd::from_raw_fd(fd), before, child_ended })
        }
    }

    /// What to poll.
    pub fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    fn next(&self) -> Option<libc::signalfd_siginfo> {
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the structure is plain data that read fills in whole or not at all.
        unsafe {
            let mut info: libc::signalfd_siginfo = std::mem::zeroed();
            (libc::read(self.fd.as_raw_fd(), (&raw mut info).cast(), size) == size as isize).then_some(info)
        }
    }

    /// Sends on what came for the program.
    pub fn pass_on(&self, child: &Child) {
        while let Some(info) = self.next() {
            let signal = info.ssi_signo as i32;
            // A terminal sends SIGINT to the whole group; another process means the program behind us.
            let from_process = info.ssi_code == libc::SI_USER;
            if PASSED_ON.contains(&signal) || (LEFT_TO_PROGRAM.contains(&signal) && from_process) {
                // SAFETY: takes no pointers.
                unsafe { libc::kill(child.id() as i32, signal) };
            }
        }
    }

    /// Sleeps until one comes.
    pub fn wait(&self) {
        let mut polled = libc::pollfd { fd: self.fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one structure, which lives through the call. Where it fails, the caller looks once more than needed.
        unsafe { libc::poll(&raw mut polled, 1, -1) };
    }

    /// Whether somebody sent one, where there is no program to send it on to.
    pub fn came(&self) -> bool {
        std::iter::from_fn(|| self.next()).any(|info| info.ssi_signo as i32 != libc::SIGCHLD)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // SAFETY: the mask was filled in by `take`, and the action was in force before.
        unsafe {
            libc::signal(libc::SIGCHLD, self.child_ended);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut());
        }
    }
}

/// Opens as many descriptors as we may; the program keeps the limit it would have had.
pub struct DescriptorLimit(libc::rlimit);

impl DescriptorLimit {
    /// Raises our own limit.
    pub fn raise() -> Self {
        let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: both calls read or write the structure they are given.
        unsafe {
            libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut before);
            let raised = libc::rlimit { rlim_cur: before.rlim_max, ..before };
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const raised);
        }
        DescriptorLimit(before)
    }

    /// How many we may have open now.
    pub fn ours(&self) -> u64 {
        self.0.rlim_max
    }
}

/// Starts the program with these variables added to its environment.
pub fn start(
    command: &[OsString],
    variables: &[(&OsStr, OsString)],
    signals: &Signals,
    limit: &DescriptorLimit,
) -> io::Result<Child> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no command is given"));
    };
    let (mask, child_ended, limit) = (signals.before, signals.child_ended, limit.0);
    let mut started = Command::new(program);
    started.args(arguments).envs(variables.iter().map(|(name, value)| (name, value)));
    // SAFETY: what runs between fork and exec is some system calls on copies of plain data.
    unsafe {
        started.pre_exec(move || {
            inherited::restore();
            if child_ended == libc::SIG_IGN {
                libc::signal(libc::SIGCHLD, libc::SIG_IGN);
            }
            libc::sigprocmask(libc::SIG_SETMASK, &raw const mask, std::ptr::null_mut());
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
            Ok(())
        });
    }
    started.spawn()
}

/// How a finished program ended.
pub fn ending(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Status(code),
        (None, signal) => Ending::Signal(signal.unwrap_or(libc::SIGKILL)),
    }
}

/// `library` put before what is preloaded already.
pub fn preload_value(library: &Path) -> OsString {
    let mut value = library.as_os_str().to_owned();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        value.push(":");
        value.push(others);
    }
    value
}
