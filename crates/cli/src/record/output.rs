//! The trace that is written: beside where it will be until it is whole, gone if it does not become so.

use std::path::{Path, PathBuf};

use foresee::supervisor::TransferSeen;
use foresee_sim::trace::{Format, Request, Span, Writer, create};

/// Block sizes do not matter to recorded traces: they hold bytes.
const BLOCK_BYTES: u64 = 4096;

/// A trace being written.
pub struct Output {
    unfinished: Unfinished,
    writer: Box<dyn Writer>,
    result: Result<(), foresee_sim::error::Error>,
}

impl Output {
    /// Begins it.
    pub fn create(trace: &Path) -> Result<Self, String> {
        let format: &'static Format = "recorded".parse()?;
        let unfinished = Unfinished::of(trace)?;
        let writer = create(&unfinished.path, format, BLOCK_BYTES).map_err(|error| error.to_string())?;
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

/// A file on its way to be whole, beside where it will be; gone if it is not finished.
struct Unfinished {
    path: PathBuf,
    whole: PathBuf,
}

impl Unfinished {
    fn of(whole: &Path) -> Result<Self, String> {
        if whole.exists() && !whole.is_file() {
            return Err(format!("{}: is no regular file; name another to write the trace to", whole.display()));
        }
        let mut name = whole.file_name().ok_or_else(|| format!("{}: names no file", whole.display()))?.to_owned();
        name.push(format!(".{}.unfinished", std::process::id()));
        Ok(Unfinished { path: whole.with_file_name(name), whole: whole.to_owned() })
    }

    fn finish(self) -> Result<(), String> {
        std::fs::rename(&self.path, &self.whole).map_err(|error| format!("{}: {error}", self.whole.display()))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After it was renamed there is nothing to remove.
        let _ = std::fs::remove_file(&self.path);
    }
}
