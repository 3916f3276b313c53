//! The companion: the process beside the program that does what foresee is for.

use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use super::group::Group;
use super::launcher::wait_for;
use super::line::Silence;
use super::{Line, Message, Streams};
use crate::account::Ending;
use crate::child::{Signals, ending};
use crate::handle::Handle;
use crate::inherited;
use crate::process_stat::{Transfers, state};

/// How often is looked whether launcher and program are stopped alike.
const LOOKS_EVERY: Duration = Duration::from_millis(50);

/// How it ended.
#[derive(Debug, Clone, Copy)]
pub enum End {
    /// The program ended so, after so long; the launcher took so much of a processor's time.
    Ended(Ending, Duration, Duration),
    /// The launcher was killed, and the program with it: nobody waits for us any more.
    Abandoned,
}

/// What the companion knows of the others.
pub struct Companion {
    line: Line,
    signals: Signals,
    launcher: i32,
    program: i32,
    /// None where the kernel has none, or we are in another namespace of processes than the launcher.
    handle: Option<Handle>,
    start_up: Duration,
    group: Group,
    /// The launcher stops because the program has.
    stopping: bool,
    looked: Instant,
}

impl Companion {
    /// Called in the new process; returns when the program has started.
    pub(super) fn begin(line: Line, signals: Signals, streams: Streams) -> Self {
        inherited::let_go([false, streams.output, streams.error]);
        // SAFETY: takes nothing, cannot fail.
        let launcher = unsafe { libc::getppid() };
        inherited::rename(launcher);
        // SAFETY: no handlers. What cannot be written is an error, not our end.
        unsafe {
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
            libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        }
        let Ok(Message::Started { program, start_up }) = line.hear(None) else {
            // There is no program, and the launcher says why.
            // SAFETY: ends the process; what it shares with the launcher is left as it is.
            unsafe { libc::_exit(0) }
        };
        // If the program has ended, and its number is another's by now, the launcher has said so.
        let handle = Some(program).filter(|_| launcher > 0).and_then(|it| Handle::of(it as u32).ok());
        let (group, looked) = (Group::new(), Instant::now());
        Companion { line, signals, launcher, program, handle, start_up, group, stopping: false, looked }
    }

    /// From foresee's start to the program's.
    pub fn start_up(&self) -> Duration {
        self.start_up
    }

    /// The program's process.
    pub fn program(&self) -> u32 {
        self.program as u32
    }

    /// What the program and its children were given by reads, once it has ended: the launcher,
    /// which waited for it, has their counts. Children that nobody waited for are left out.
    pub(crate) fn transfers(&self) -> Option<Transfers> {
        Transfers::of(self.launcher)
    }

    /// What to poll.
    pub fn fds(&self) -> [RawFd; 2] {
        [self.line.fd(), self.signals.fd()]
    }

    /// Answers the launcher; returns how it ended, once it has.
    pub fn attend(&mut self) -> Option<End> {
        self.witness();
        loop {
            match self.line.hear(Some(Duration::ZERO)) {
                Ok(Message::Asked { signal, more }) => {
                    // It was sent before the launcher asked.
                    self.witness();
                    let group = self.group.has(signal, more);
                    self.line.say(Message::Answered { signal, group });
                }
                Ok(Message::Stopping) => self.stopping = true,
                Ok(Message::GoingOn) => {
                    self.stopping = false;
                    self.group.launcher_goes_on();
                }
                Ok(Message::Ended { status, elapsed, cpu }) => {
                    // What the program may have ended by is not for us.
                    self.witness();
                    self.signals.restore();
                    return Some(End::Ended(ending(status), elapsed, cpu));
                }
                Ok(Message::Started { .. } | Message::Answered { .. }) => {}
                Err(Silence::Yet) => break,
                Err(Silence::Gone) => {
                    // The kernel has, unless the program became another user's (`end_with_us`).
                    self.handle.iter().for_each(Handle::kill);
                    return Some(End::Abandoned);
                }
            }
        }
        if self.looked.elapsed() >= LOOKS_EVERY {
            self.looked = Instant::now();
            self.keep_in_step();
        }
        None
    }

    /// Waits for the end.
    pub fn wait(&mut self) -> End {
        loop {
            if let Some(end) = self.attend() {
                return end;
            }
            wait_for(self.fds(), Some(LOOKS_EVERY));
        }
    }

    /// Counts what the group was sent.
    fn witness(&mut self) {
        while let Some(info) = self.signals.next() {
            self.group.was_sent(info.ssi_signo as i32);
        }
    }

    /// Nothing tells us that the launcher was stopped, and nothing tells a stopped launcher that
    /// the program goes on.
    fn keep_in_step(&self) {
        let Some(launcher) = state(self.launcher) else { return };
        if launcher != b'T' {
            return;
        }
        let Some(program) = state(self.program) else { return };
        let stands_still = matches!(program, b'T' | b't');
        let (whom, signal) = match self.stopping {
            // Somebody let the program go on, or killed it.
            true if !stands_still => (self.launcher, libc::SIGCONT),
            // Somebody stopped the launcher, and meant the program. If that has ended, nobody has waited for it yet.
            false if !stands_still => (self.program, libc::SIGSTOP),
            _ => return,
        };
        // SAFETY: takes no pointers. A stopped launcher waits for nobody, so that the program's number is
        // still its own.
        unsafe { libc::kill(whom, signal) };
    }
}
