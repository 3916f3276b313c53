//! The event log's file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use foresee_run::supervisor::LogSink;

use crate::output::{Output, Unfinished};

/// So much of the log stays in the page cache about.
const KEPT_BYTES: u64 = 1 << 20;

/// A file of which the kernel keeps little: its pages count for the run's group, and where that has
/// little memory a log of some megabytes would change what it tells of.
struct Passing {
    file: File,
    written: u64,
}

impl Write for Passing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        let before = self.written;
        self.written += count as u64;
        if before / KEPT_BYTES < self.written / KEPT_BYTES {
            // What was not written yet is written from now on, and goes the next time. If it is refused,
            // all stays.
            // SAFETY: takes no pointers.
            unsafe { libc::posix_fadvise(self.file.as_raw_fd(), 0, self.written as i64, libc::POSIX_FADV_DONTNEED) };
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A log being written. The first error is kept for the end: a run does not stop for its log.
pub struct Log {
    unfinished: Unfinished,
    state: Mutex<(BufWriter<Passing>, io::Result<()>)>,
}

impl Log {
    /// Begins a log, if there is to be one.
    pub fn begin(path: Option<&Path>) -> Result<Option<Log>, String> {
        let Some(path) = path else { return Ok(None) };
        let unfinished = Output::new("--log", path).begin()?;
        let file = Passing { file: unfinished.writer()?, written: 0 };
        Ok(Some(Log { unfinished, state: Mutex::new((BufWriter::new(file), Ok(()))) }))
    }

    /// What takes the lines.
    pub fn sink(&self) -> LogSink<'_> {
        Box::new(|text| {
            let (file, result) = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if result.is_ok() {
                *result = file.write_all(text.as_bytes());
            }
        })
    }

    /// Ends the log, and puts it in its place.
    pub fn finish(self) -> Result<(), String> {
        let (mut file, result) = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        match result.and_then(|()| file.flush()) {
            Ok(()) => self.unfinished.finish(),
            Err(error) => Err(self.unfinished.failed(&error)),
        }
    }
}
