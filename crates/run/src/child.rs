//! A program that is run for somebody: started as whoever started us would have, and sent the
//! signals that are meant for it.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use crate::account::Ending;
use crate::inherited;

/// Signals that somebody may send to us and mean for the program.
const PASSED_ON: [i32; 4] = [libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2];
/// Signals that a terminal sends to the program as well: it decides what becomes of them.
const LEFT_TO_PROGRAM: [i32; 2] = [libc::SIGINT, libc::SIGQUIT];

/// What was to become of signals, as whoever started us meant it for the program.
#[derive(Clone, Copy)]
pub struct Meant {
    blocked: libc::sigset_t,
    /// What was to be done at a child's end. If that was to ignore it, nobody could wait for the
    /// program.
    child_ended: libc::sighandler_t,
}

impl Meant {
    /// As it is now.
    pub fn now() -> Self {
        // SAFETY: nothing is changed; what is there is written to, or stays zero, which is nothing and the
        // default.
        unsafe {
            let (mut blocked, mut action): (_, libc::sigaction) = (std::mem::zeroed(), std::mem::zeroed());
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut blocked);
            libc::sigaction(libc::SIGCHLD, std::ptr::null(), &raw mut action);
            Meant { blocked, child_ended: action.sa_sigaction }
        }
    }

    /// Puts it in force.
    fn restore(&self) {
        // SAFETY: both were in force before.
        unsafe {
            libc::signal(libc::SIGCHLD, self.child_ended);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.blocked, std::ptr::null_mut());
        }
    }
}

/// Signals as something to poll, for as long as this lives.
pub struct Signals {
    fd: OwnedFd,
    meant: Meant,
}

impl Signals {
    /// Takes those that end a run.
    pub fn take() -> io::Result<Self> {
        // SAFETY: the set is filled in before it is read.
        let set = unsafe {
            let mut set = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for signal in PASSED_ON.into_iter().chain(LEFT_TO_PROGRAM).chain([libc::SIGCHLD]) {
                libc::sigaddset(&raw mut set, signal);
            }
            set
        };
        Self::take_set(&set)
    }

    /// Takes all that can be taken.
    pub fn take_all() -> io::Result<Self> {
        // SAFETY: the set is filled in before it is read.
        let set = unsafe {
            let mut set = std::mem::zeroed();
            libc::sigfillset(&raw mut set);
            set
        };
        Self::take_set(&set)
    }

    fn take_set(set: &libc::sigset_t) -> io::Result<Self> {
        // SAFETY: the mask is filled in; the descriptor is new and ours.
        unsafe {
            let fd = libc::signalfd(-1, set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            let meant = Meant::now();
            libc::pthread_sigmask(libc::SIG_BLOCK, set, std::ptr::null_mut());
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            Ok(Signals { fd: OwnedFd::from_raw_fd(fd), meant })
        }
    }

    /// What to poll.
    pub fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// The next one that came.
    pub fn next(&self) -> Option<libc::signalfd_siginfo> {
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

    /// Whether somebody sent one, where there is no program to send it on to.
    pub fn came(&self) -> bool {
        std::iter::from_fn(|| self.next()).any(|info| info.ssi_signo as i32 != libc::SIGCHLD)
    }

    /// What was to become of them.
    pub fn meant(&self) -> Meant {
        self.meant
    }

    /// Lets signals do what they did before.
    pub fn restore(&self) {
        self.meant.restore();
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.restore();
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

    /// Gives a program that is to be started its own limit.
    pub fn keep_for(&self, command: &mut Command) {
        let limit = self.0;
        // SAFETY: one system call on a copy of plain data.
        unsafe {
            command.pre_exec(move || {
                libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
                Ok(())
            });
        }
    }
}

/// A program that finds all as whoever started us meant it.
///
/// # Panics
/// Without a word: whoever takes commands asks for one.
pub fn command(words: &[OsString], meant: Meant) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    // SAFETY: what runs between fork and exec is some system calls on copies of plain data.
    unsafe {
        command.pre_exec(move || {
            inherited::restore();
            meant.restore();
            Ok(())
        });
    }
    command
}

/// How a program of this status ended.
pub fn ending(status: i32) -> Ending {
    if libc::WIFSIGNALED(status) {
        Ending::Signal(libc::WTERMSIG(status))
    } else {
        Ending::Status(libc::WEXITSTATUS(status))
    }
}
