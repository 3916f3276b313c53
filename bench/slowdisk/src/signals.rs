//! Signals wait until someone asks for them, so that none can interrupt a half-made setup.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

const ENDING: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// From here on the ending signals and SIGCHLD are only seen by [`wait`].
pub fn block() {
    // SAFETY: the set is a local that the call only reads.
    unsafe { libc::sigprocmask(libc::SIG_BLOCK, &set(), std::ptr::null_mut()) };
}

/// A signal that came, or none within this time.
pub fn wait(at_most: Duration) -> Option<Signal> {
    let time = libc::timespec { tv_sec: at_most.as_secs() as i64, tv_nsec: i64::from(at_most.subsec_nanos()) };
    // SAFETY: zero is a valid value of this structure of integers.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: all three are locals that outlive the call.
    let number = unsafe { libc::sigtimedwait(&set(), &mut info, &time) };
    (number > 0).then_some(Signal { number, from_terminal: info.si_code == libc::SI_KERNEL })
}

/// Fails if an ending signal has come already.
pub fn check() -> Result<(), Interrupted> {
    while let Some(signal) = wait(Duration::ZERO) {
        if signal.ends() {
            return Err(Interrupted(signal.number));
        }
    }
    Ok(())
}

pub struct Signal {
    pub number: i32,
    /// Sent by a terminal, and so to every process in its foreground, the command included.
    pub from_terminal: bool,
}

impl Signal {
    pub fn ends(&self) -> bool {
        ENDING.contains(&self.number)
    }
}

/// The run was asked to end by this signal.
pub struct Interrupted(pub i32);

/// The command is killed when this process dies, and has signals as usual.
pub fn die_with_parent(command: &mut Command) {
    let parent = std::process::id();
    // SAFETY: between fork and exec only calls that are async-signal-safe are made.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong);
            if libc::getppid() as u32 != parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            libc::sigprocmask(libc::SIG_UNBLOCK, &set(), std::ptr::null_mut());
            Ok(())
        });
    }
}

fn set() -> libc::sigset_t {
    // SAFETY: the set is initialised by sigemptyset before anything else uses it.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGCHLD);
        for number in ENDING.into_iter().filter(|number| !ignored(*number)) {
            libc::sigaddset(&mut set, number);
        }
        set
    }
}

/// Blocking a signal would revive it, and `nohup` is to be respected.
fn ignored(number: i32) -> bool {
    // SAFETY: zero is a valid value of this structure, and the call only writes to it.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(number, std::ptr::null(), &mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}
