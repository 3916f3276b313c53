//! The event log's file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use foresee_run::supervisor::LogSink;

use crate::output::{Output, Unfinished};

/// What was written goes from the page cache by so much at a time; twice that stays at most.
const PIECE_BYTES: u64 = 1 << 20;

/// A file of which the kernel keeps little: its pages count for the run's group, and where that has
/// little memory a log of some megabytes would change what it tells of.
struct Passing {
    file: File,
    written: u64,
    /// Whether it is ours alone, from its beginning: what a shell redirects is not.
    is_own: bool,
}

impl Passing {
    /// All before the latest piece goes, and that is written to the device meanwhile. What the system
    /// refuses of it stays.
    fn pass(&self) {
        let end = self.written / PIECE_BYTES * PIECE_BYTES;
        let (begin, piece) = ((end - PIECE_BYTES) as i64, PIECE_BYTES as i64);
        let fd = self.file.as_raw_fd();
        // SAFETY: they take no pointers.
        unsafe {
            libc::sync_file_range(fd, begin, piece, libc::SYNC_FILE_RANGE_WRITE);
            // Nothing would be all.
            if begin > 0 {
                libc::posix_fadvise(fd, 0, begin, libc::POSIX_FADV_DONTNEED);
            }
        }
    }
}

impl Write for Passing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        let before = self.written;
        self.written += count as u64;
        if self.is_own && before / PIECE_BYTES < self.written / PIECE_BYTES {
            self.pass();
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
        let output = Output::new("--log", path);
        let is_own = !output.is_standard();
        let unfinished = output.begin()?;
        let file = Passing { file: unfinished.writer()?, written: 0, is_own };
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

#[cfg(test)]
mod tests {
    use std::fs;

    use foresee_run::host::{BLOCK_BYTES, resident_runs};

    use super::*;

    const PIECES: u64 = 8;

    /// Whether what lies there is nowhere but in memory.
    fn is_memory(file: &File) -> bool {
        let mut about = std::mem::MaybeUninit::<libc::statfs>::uninit();
        // SAFETY: it is filled if the call succeeds.
        unsafe {
            libc::fstatfs(file.as_raw_fd(), about.as_mut_ptr()) == 0 && about.assume_init().f_type == libc::TMPFS_MAGIC
        }
    }

    /// Pieces of a log of some that are in the page cache when it has been written. None if they lie
    /// nowhere else.
    fn left(is_own: bool) -> Option<u64> {
        // Beside the test's program: there files lie on a device, where they may not in /tmp.
        let path = std::env::current_exe().unwrap().with_extension(format!("log-{is_own}-{}", std::process::id()));
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        let mut log = Passing { file, written: 0, is_own };
        for _ in 0..PIECES {
            log.write_all(&vec![b'a'; PIECE_BYTES as usize]).unwrap();
            log.file.sync_data().unwrap();
        }
        let runs = resident_runs(&log.file, 0, 0).unwrap();
        fs::remove_file(path).unwrap();
        let pages: u64 = runs.iter().map(|(_, pages)| pages).sum();
        (!is_memory(&log.file)).then_some(pages * BLOCK_BYTES / PIECE_BYTES)
    }

    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    #[test]
    fn little_of_a_log_stays_in_memory_unless_it_is_somebody_elses_file() {
        let Some((own, others)) = left(true).zip(left(false)) else {
            return eprintln!("skipped: files lie in memory here");
        };
        assert!(own <= 2, "{own} of {PIECES} pieces");
        assert!(own < others, "{own} and {others} of {PIECES} pieces");
    }
}
