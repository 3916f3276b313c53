//! The one error of this crate: which file, where in it, what was wrong, what to do.

use std::fmt;
use std::path::{Path, PathBuf};

/// Where in a file something was wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// The file as a whole.
    File,
    /// A line of text, counted from 1.
    Line(u64),
    /// An offset in the bytes, after decompression.
    Byte(u64),
    /// A row of a table, counted from 0.
    Row(u64),
}

/// A file that could not be read or written, or does not hold what it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The file.
    pub path: PathBuf,
    /// The place in it.
    pub at: At,
    /// What was found there, and the remedy.
    pub what: String,
}

impl Error {
    pub(crate) fn new(path: &Path, at: At, what: impl Into<String>) -> Self {
        Error { path: path.to_owned(), at, what: what.into() }
    }

    pub(crate) fn whole(path: &Path, what: impl Into<String>) -> Self {
        Error::new(path, At::File, what)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        match self.at {
            At::File => {}
            At::Line(line) => write!(f, ", line {line}")?,
            At::Byte(byte) => write!(f, ", byte {byte}")?,
            At::Row(row) => write!(f, ", row {row}")?,
        }
        write!(f, ": {}", self.what)
    }
}

impl std::error::Error for Error {}
