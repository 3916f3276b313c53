//! What a process that serves a file system takes before it has threads.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use foresee_run::child::{self, DescriptorLimit, Signals};

use crate::Log;

/// Signals as something to wait for, and as many descriptors as may be had. A file system is
/// unmounted before this goes: a second signal must not end us with it in its place.
pub struct Process {
    pub(crate) signals: Signals,
    limit: DescriptorLimit,
    /// What is to be done with a program that writes a file longer than it may.
    at_length: libc::sighandler_t,
}

impl Process {
    /// Takes them, and says from now on where it should what it says. Threads that are there
    /// already would be sent signals all the same.
    ///
    /// # Errors
    /// What the system says.
    pub fn prepare(log: Log) -> io::Result<Self> {
        log.begin();
        // SAFETY: no handler is installed. A message that nobody reads must not end us with a file system
        // in its place.
        // And a file that may not be so long is an error of who writes it, not everybody's end.
        let at_length = unsafe {
            libc::signal(libc::SIGPIPE, libc::SIG_IGN);
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN)
        };
        Ok(Process { signals: Signals::take()?, limit: DescriptorLimit::raise(), at_length })
    }

    /// A program that finds all as whoever started us meant it.
    pub(crate) fn command(&self, words: &[OsString]) -> Command {
        let mut command = child::command(words, self.signals.meant());
        self.limit.keep_for(&mut command);
        let at_length = self.at_length;
        // SAFETY: one system call with what it answered before.
        unsafe {
            command.pre_exec(move || {
                libc::signal(libc::SIGXFSZ, at_length);
                Ok(())
            });
        }
        command
    }
}
