//! Starting a program beside a supervisor, so that whoever started foresee cannot tell it from the
//! program.
//!
//! ```text
//! shell ---- launcher      what the shell started, and waits for: stands for the program
//!               |-- program    a child in the same process group
//!               '-- companion  supervises; in the same process group, so that it sees what the group is sent
//! ```
//!
//! The *launcher* holds nothing of the program's (no descriptor), stops and goes on when the
//! program does, and ends as it ends. Signals that were sent to the launcher alone are the
//! program's, and are sent on. What was sent to the whole group, by a terminal or by `kill`, the
//! program has by itself: sent on, it would come twice. The sender says nothing of it, but the
//! companion does: it is in the group as well, and nobody else has a reason to signal it. Signals
//! of one kind do not queue: one to the group and one to the launcher, a hundredth of a second apart
//! or less, are one, as they most often are where both are sent to the program. So what was sent to
//! the launcher alone is held back for so long. Killed, it takes the program with it: the kernel sees
//! to that, or the companion.
//!
//! A program may leave the group, as `timeout` and shells do, which it could not if the shell had
//! started it: then it is sent what the group is all the same (`leaving.rs`).
//!
//! The *companion* does all that is slow, after the program has started. Whatever becomes of it,
//! the program and its status are as they would be. It tells the account, and the launcher ends
//! after it; but not for one that was killed, or that lives on after the program and does not come
//! to an end.
//!
//! The alternative is to let the program take the launcher's place, as `strace -D` does: then there
//! is nothing to send on. But then nobody is left to wait for the account, or for the profile that
//! the next run goes by, and the program has a child that it did not start where it is process 1.

mod companion;
mod ending;
mod environment;
mod group;
mod launcher;
mod leaving;
mod line;

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use foresee_ring::Unseen;

use crate::child::{Meant, Signals, command};
use crate::host::Memory;
use crate::limit;
use crate::processes;
use crate::run::Failure;
use crate::shared::SharedRegion;
use crate::unseen::executed;
pub use companion::{Companion, End};
pub use ending::end_as;
use launcher::Launcher;
use line::{Line, Message};

/// The preload library's file name.
pub(crate) const PRELOAD_LIBRARY: &str = "libforesee_preload.so";

/// With less of these, what is ours in a program may be what it lacks: it maps 7 MiB, and takes some
/// 20 KiB of stack as it begins. What it posts to counts as a file, and until it has started nine are open.
const LIMITS: [(libc::__rlimit_resource_t, libc::rlim_t, &str); 4] = [
    (libc::RLIMIT_AS, 256 << 20, "bytes of address space (ulimit -v)"),
    (libc::RLIMIT_STACK, 256 << 10, "bytes of stack (ulimit -s)"),
    (libc::RLIMIT_FSIZE, 8 << 20, "bytes in a file (ulimit -f)"),
    (libc::RLIMIT_NOFILE, 16, "open files (ulimit -n)"),
];

/// In a control group with less memory the program lacks what the supervisor takes, 10 MiB and more
/// with its code, or it is the supervisor's code that is read again and again.
const GROUP_MIN: u64 = 32 << 20;

/// Where fewer processes more may be started, threads included, the program may need each of them: the
/// launcher and the companion are two, and what that starts an eighth of them at most.
const PROCESSES_MIN: u64 = 64;

/// Standard streams that the companion still has something to say on. What it does not hold is
/// closed when the program closes it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Streams {
    /// Standard output.
    pub output: bool,
    /// Standard error.
    pub error: bool,
    /// No stream: a file that the run is to leave.
    pub file: bool,
}

/// A program to be started, whose reads are posted.
pub struct Launch<'a> {
    /// The command and its arguments.
    pub command: &'a [OsString],
    /// The name of the region that its programs post to.
    pub region_name: OsString,
    /// The region, if it is of this run alone: it is handed over by the launcher, and closed if the
    /// companion is lost.
    pub region: Option<&'a SharedRegion>,
    /// What the companion holds.
    pub streams: Streams,
}

impl Launch<'_> {
    /// Starts the program. From here on there are two processes: this returns in the companion; the
    /// launcher ends as the program does.
    ///
    /// There must be no other thread.
    ///
    /// # Errors
    /// In the launcher alone, and then there is neither program nor companion.
    pub fn start(self, begun: Instant) -> Result<Companion, Failure> {
        let library = find_preload_library().map_err(Failure::Unable)?;
        let unable = |what: &'static str| move |error| Failure::Unable(format!("{what}: {error}"));
        let signals = Signals::take_all().map_err(unable("signals"))?;
        let (ours, theirs) = Line::pair().map_err(unable("a line to the supervisor"))?;
        // SAFETY: there is no other thread, so that the child may do what it likes.
        match unsafe { libc::fork() } {
            -1 => Err(unable("a process for the supervisor")(std::io::Error::last_os_error())),
            0 => {
                drop(ours);
                Ok(Companion::begin(theirs, signals, self.streams))
            }
            companion => {
                drop(theirs);
                let launcher = Launcher::new(companion, ours, signals, self.region, self.streams);
                let mut variables = vec![(c"FORESEE_RING", self.region_name)];
                // The dynamic linker of another word size would complain.
                if self.command.first().and_then(|it| executed(it)?.why_unseen) != Some(Unseen::Foreign) {
                    variables.push((c"LD_PRELOAD", preload_value(&library)));
                }
                // To be told that it has begun takes as long as some programs do.
                let started = Instant::now();
                let mut program = command(self.command, launcher.signals.meant());
                end_with_us(&mut program);
                match environment::give(&mut program, variables).and_then(|()| program.spawn()) {
                    Ok(program) => launcher.accompany(program.id() as i32, started, started - begun),
                    Err(error) => {
                        launcher.give_up();
                        Err(failure(error, self.command))
                    }
                }
            }
        }
    }
}

/// Has the kernel kill the program when we are killed: who kills what it started, as at the end of its
/// patience, means the program. All that can be sent on is ([`Launcher`]); this cannot be taken.
///
/// The kernel forgets it of a program that becomes another user's: that one the companion kills. But
/// who kills a whole group kills the companion too, and a program that has left the group is to end
/// with it.
fn end_with_us(program: &mut Command) {
    let us = std::process::id();
    // SAFETY: what runs between fork and exec is some system calls.
    unsafe {
        program.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            // 0: we are in another namespace of processes.
            let parent = libc::getppid() as u32;
            if parent != 0 && parent != us {
                libc::raise(libc::SIGKILL);
            }
            Ok(())
        });
    }
}

/// Becomes the command, which nobody accompanies; returns only why that cannot be.
pub fn become_command(words: &[OsString]) -> Failure {
    failure(command(words, Meant::now()).exec(), words)
}

fn failure(error: std::io::Error, words: &[OsString]) -> Failure {
    match error.raw_os_error() {
        // It may be only us who lack something: without us it may run.
        Some(libc::EMFILE | libc::ENFILE | libc::EAGAIN | libc::ENOMEM) => {
            Failure::Unable(format!("starting it: {error}"))
        }
        _ => Failure::Command(error, words.first().map_or(String::new(), |it| it.to_string_lossy().into_owned())),
    }
}

/// Whether there is enough of everything for the program and for us: to be asked before anything of ours is
/// there.
///
/// # Errors
/// If there is too little of something; then the command may run without us.
pub fn check_limits() -> Result<(), Failure> {
    let enough = |has: u64, least: u64, what: &str| match has < least {
        true => Err(Failure::Unable(format!("{has} {what} are too few for the program and us: {least} do"))),
        false => Ok(()),
    };
    for (resource, least, what) in LIMITS {
        enough(limit::soft(resource), least, what)?;
    }
    enough(processes::left(), PROCESSES_MIN, "processes more (ulimit -u, or pids.max of the control group)")?;
    enough(Memory::group_limit().unwrap_or(u64::MAX), GROUP_MIN, "bytes of memory (its control group's limit)")
}

/// The preload library: beside the executable, as cargo leaves it, or in the `lib/foresee` next to
/// its `bin`.
fn find_preload_library() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| format!("cannot find foresee's own executable: {error}"))?;
    let prefix = own.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
    let places = [own.with_file_name(PRELOAD_LIBRARY), prefix.join("lib/foresee").join(PRELOAD_LIBRARY)];
    let Some(found) = places.iter().find(|path| path.is_file()) else {
        let [beside, installed] = places.each_ref().map(|path| path.display());
        return Err(format!(
            "there is neither {beside} nor {installed}, by which programs are seen: foresee's .deb and tarball have it, and \
             'cargo build --release' makes it of the crate foresee-preload"
        ));
    };
    match found.as_os_str().as_encoded_bytes().iter().any(|byte| byte.is_ascii_whitespace() || *byte == b':') {
        false => Ok(found.clone()),
        true => Err(format!(
            "{}: LD_PRELOAD cannot name a path with a space or colon; install foresee elsewhere",
            found.display()
        )),
    }
}

/// `library` put before what is preloaded already.
fn preload_value(library: &Path) -> OsString {
    let mut value = library.as_os_str().to_owned();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        value.push(":");
        value.push(others);
    }
    value
}
