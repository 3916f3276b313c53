//! The event log's file.

use std::cell::RefCell;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use foresee::supervisor::LogSink;

/// A log being written. The first error is kept for the end: a run does not stop for its log.
pub struct Log {
    path: PathBuf,
    state: RefCell<(BufWriter<File>, std::io::Result<()>)>,
}

/// Begins a log.
pub fn open_log(path: &Path) -> Result<Log, String> {
    let file = File::create(path).map_err(|error| format!("--log {}: {error}", path.display()))?;
    Ok(Log { path: path.to_owned(), state: RefCell::new((BufWriter::new(file), Ok(()))) })
}

impl Log {
    /// What takes the lines.
    pub fn sink(&self) -> LogSink<'_> {
        Box::new(|text| {
            let (file, result) = &mut *self.state.borrow_mut();
            if result.is_ok() {
                *result = file.write_all(text.as_bytes());
            }
        })
    }

    /// Ends the log.
    pub fn finish(self) -> Result<(), String> {
        let (mut file, result) = self.state.into_inner();
        result.and_then(|()| file.flush()).map_err(|error| format!("--log {}: {error}", self.path.display()))
    }
}
