//! What goes wrong in a store.

use std::fmt;
use std::io;
use std::sync::Arc;

/// Why something could not be opened, listed or read. It goes to all who wait for the same bytes,
/// so it can be cloned.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// There is no such object.
    NotFound,
    /// The object is not what it was when it was opened.
    Changed,
    /// What the system says.
    Io(Arc<io::Error>),
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Error::NotFound,
            _ => Error::Io(Arc::new(error)),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotFound => f.write_str("there is no such object"),
            Error::Changed => f.write_str("it changed since it was opened"),
            Error::Io(error) if error.raw_os_error() == Some(libc::EMFILE) => {
                write!(f, "{error}: close some, or raise the limit (`ulimit -n`)")
            }
            Error::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}
