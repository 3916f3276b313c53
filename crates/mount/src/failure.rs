//! Why something was not done, as who asked for it through the system is told.

use std::fmt;
use std::io;

use foresee::store::Error as StoreError;
use fuser::Errno;

/// An error's number, and the words for it, which the system does not carry.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The number.
    pub errno: i32,
    /// The words.
    pub why: String,
}

impl Failure {
    /// What the system's own words say.
    pub fn of(errno: i32) -> Self {
        Failure { errno, why: io::Error::from_raw_os_error(errno).to_string() }
    }

    /// What to do about it, where the mount itself has too little of something, whatever it was for.
    pub fn remedy(&self) -> Option<&'static str> {
        Some(match self.errno {
            libc::EMFILE => {
                "the mount has as many files open as it may: raise the limit before it starts (`ulimit -n`)"
            }
            libc::ENFILE => "this machine has as many files open as it may: raise the limit (`sysctl fs.file-max`)",
            libc::ENOMEM => "the system has no memory for the mount: give it less (--memory), or a control group more",
            _ => return None,
        })
    }

    /// As the kernel is told.
    pub fn number(&self) -> Errno {
        Errno::from_i32(self.errno)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let errno = error.raw_os_error().unwrap_or(match error.kind() {
            io::ErrorKind::NotFound => libc::ENOENT,
            io::ErrorKind::PermissionDenied => libc::EACCES,
            io::ErrorKind::AlreadyExists => libc::EEXIST,
            io::ErrorKind::Unsupported => libc::ENOTSUP,
            _ => libc::EIO,
        });
        Failure { errno, why: error.to_string() }
    }
}

impl From<foresee::Error> for Failure {
    fn from(error: foresee::Error) -> Self {
        let why = error.to_string();
        match error {
            // What was open is there no more.
            foresee::Error::Store { error: StoreError::Changed, .. } => Failure { errno: libc::ESTALE, why },
            error => {
                let number = match &error {
                    foresee::Error::Store { error: StoreError::Io(error), .. } => error.raw_os_error(),
                    _ => None,
                };
                // Of others' errors the kind is told, which has no number.
                let own = number.map(Failure::of).filter(|it| it.remedy().is_some());
                Failure { why, ..own.unwrap_or_else(|| io::Error::from(error).into()) }
            }
        }
    }
}
