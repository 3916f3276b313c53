//! The event log's file.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use foresee_run::supervisor::LogSink;

use crate::output::{Output, Unfinished};

/// A log being written. The first error is kept for the end: a run does not stop for its log.
pub struct Log {
    unfinished: Unfinished,
    state: Mutex<(BufWriter<std::fs::File>, io::Result<()>)>,
}

impl Log {
    /// Begins a log, if there is to be one.
    pub fn begin(path: Option<&Path>) -> Result<Option<Log>, String> {
        let Some(path) = path else { return Ok(None) };
        let unfinished = Output::new("--log", path).begin()?;
        let file = unfinished.writer()?;
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
