//! What a process that serves a file system takes before it has threads.

use std::io;

use foresee_run::child::{DescriptorLimit, Signals};

use crate::Log;

/// Signals as something to wait for, and as many descriptors as may be had. A file system is
/// unmounted before this goes: a second signal must not end us with it in its place.
pub struct Process {
    pub(crate) signals: Signals,
    pub(crate) limit: DescriptorLimit,
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
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
        Ok(Process { signals: Signals::take()?, limit: DescriptorLimit::raise() })
    }
}
