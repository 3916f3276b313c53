//! `--detach`: who started it goes on once it is mounted, or hears why it is not.

use std::fs::File;
use std::io::{self, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;

use foresee_run::say::say;

/// The process in the background.
pub struct Detached(PipeWriter);

impl Detached {
    /// Goes to the background. The process that was started waits there for [`Detached::told`], and
    /// ends.
    ///
    /// # Errors
    /// What the system says.
    pub fn fork() -> Result<Self, String> {
        let own = |error: io::Error| error.to_string();
        let (mut answer, teller) = io::pipe().map_err(own)?;
        // SAFETY: there is one thread.
        match unsafe { libc::fork() } {
            -1 => Err(own(io::Error::last_os_error())),
            0 => {
                // SAFETY: takes no arguments. A terminal's signals are not for us any more.
                unsafe { libc::setsid() };
                Ok(Detached(teller))
            }
            _ => {
                drop(teller);
                let mut told = String::new();
                let ended = answer.read_to_string(&mut told).is_ok_and(|_| !told.is_empty());
                let message = if ended { told.trim_end() } else { "it ended before it was mounted" };
                if message != MOUNTED {
                    say(message);
                }
                std::process::exit(if message == MOUNTED { 0 } else { 2 })
            }
        }
    }

    /// Tells who waits what became of it.
    pub fn told<T>(mut self, mounted: &Result<T, String>) {
        let message = mounted.as_ref().map_or_else(String::as_str, |_| MOUNTED);
        // Who waits may have gone.
        let _ = self.0.write_all(message.as_bytes());
        if let Ok(nothing) = File::options().read(true).write(true).open("/dev/null") {
            for stream in 0..3 {
                // SAFETY: these are descriptors. Who reads what we say would wait for our end.
                unsafe { libc::dup2(nothing.as_raw_fd(), stream) };
            }
        }
    }
}

/// What no error says.
const MOUNTED: &str = "\0";
