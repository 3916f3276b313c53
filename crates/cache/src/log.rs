//! The file that a cache's log goes to.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::lock::{lock, unlock};

/// A log that this cache alone writes.
pub struct LogFile {
    file: BufWriter<File>,
    process: u32,
}

impl LogFile {
    /// Made anew, unless another cache writes it: two would write over each other.
    ///
    /// # Errors
    /// If it cannot be had; they name it.
    pub fn create(path: &Path) -> io::Result<Self> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let file = File::options().write(true).create(true).truncate(false).open(path).map_err(named)?;
        // A pipe or a terminal may be several ones', and has nothing before. Where locks are not known,
        // there is none.
        if file.metadata().map_err(named)?.is_file() {
            if matches!(lock(&file), Ok(false)) {
                let why = "another cache writes its log there: close that one, or give each a file of its own";
                return Err(named(io::Error::new(io::ErrorKind::ResourceBusy, why)));
            }
            file.set_len(0).map_err(named)?;
        }
        Ok(LogFile { file: BufWriter::new(file), process: std::process::id() })
    }

    /// Adds to it. A cache does not stop for its log; what is missing shows in the log.
    pub fn add(&mut self, text: &str) {
        _ = self.file.write_all(text.as_bytes());
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            // Whoever has the lock next begins anew.
            _ = self.file.flush();
            unlock(self.file.get_ref());
        }
    }
}
