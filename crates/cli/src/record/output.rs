//! The trace that is written.

use std::path::Path;

use foresee_run::supervisor::TransferSeen;
use foresee_sim::trace::{Request, Span, Writer, recorded::RecordedWriter};

use crate::output::{self, Unfinished};

/// A trace being written.
pub struct Output {
    unfinished: Unfinished,
    writer: RecordedWriter,
    result: Result<(), foresee_sim::error::Error>,
}

impl Output {
    /// Begins it.
    pub fn create(trace: &Path) -> Result<Self, String> {
        let output = output::Output::new("--output", trace);
        if output.takes_what_comes() {
            return Err(format!("{}: is no regular file; name another to write the trace to", trace.display()));
        }
        let unfinished = output.begin()?;
        let writer = RecordedWriter::new(unfinished.target()?).map_err(|error| error.to_string())?;
        Ok(Output { unfinished, writer, result: Ok(()) })
    }

    /// Adds a row. What cannot be written ends the trace; [`Output::finish`] says why.
    pub fn take(&mut self, transfer: &TransferSeen) {
        if self.has_failed() {
            return;
        }
        let request = Request {
            write: transfer.write,
            time_ns: transfer.time.as_nanos() as u64,
            process: transfer.process as i32,
            thread: transfer.thread as i32,
            // A recorded trace goes by names.
            file: 0,
            span: Span::Range { offset: transfer.offset, length: transfer.bytes },
            site: transfer.site,
            took_ns: transfer.took.as_nanos() as u64,
        };
        self.result = self.writer.push(&request, &transfer.path.to_string_lossy());
    }

    /// Whether it can become a whole trace no more.
    pub fn has_failed(&self) -> bool {
        self.result.is_err()
    }

    /// Makes it whole and puts it in its place.
    pub fn finish(mut self) -> Result<(), String> {
        let written = self.result.and_then(|()| self.writer.finish()).map_err(|error| error.to_string());
        written.and_then(|()| self.unfinished.finish()).map_err(|error| format!("the trace was not written: {error}"))
    }
}
