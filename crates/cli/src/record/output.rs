//! The trace that is written.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use foresee_run::supervisor::TransferSeen;
use foresee_sim::trace::{Request, Span, Writer, recorded::RecordedWriter};

use super::symbols::Symbols;
use crate::output::{self, Unfinished};

/// Call sites whose places are noted; a program that claims more is not believed.
const PLACES_MAX: usize = 1 << 16;

/// A trace being written.
pub struct Output {
    unfinished: Unfinished,
    writer: RecordedWriter,
    /// Where call sites lie: an object, and the place in it.
    places: HashMap<u64, (PathBuf, u64)>,
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
        Ok(Output { unfinished, writer, places: HashMap::new(), result: Ok(()) })
    }

    /// A call site lies there.
    pub fn place(&mut self, site: u64, object: &Path, offset: u64) {
        if self.places.len() < PLACES_MAX {
            self.places.entry(site).or_insert_with(|| (object.to_owned(), offset));
        }
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
        self.writer.name_sites(&named(&self.places));
        let written = self.result.and_then(|()| self.writer.finish()).map_err(|error| error.to_string());
        written.and_then(|()| self.unfinished.finish()).map_err(|error| format!("the trace was not written: {error}"))
    }
}

/// What people call these places: `grep: fillbuf`, or `grep+0x7f3a` where the object does not say
/// what its functions are called.
fn named(places: &HashMap<u64, (PathBuf, u64)>) -> Vec<(u64, String)> {
    let mut symbols = HashMap::new();
    let mut named: Vec<_> = places
        .iter()
        .map(|(&site, (object, offset))| {
            let symbols = symbols.entry(object).or_insert_with(|| Symbols::of(object).unwrap_or_default());
            let object = object.file_name().unwrap_or_default().to_string_lossy();
            // What a call returns to may be the next function, where it never returns.
            let name = match symbols.function(offset.saturating_sub(1)) {
                Some(function) => format!("{object}: {function}"),
                None => format!("{object}+{offset:#x}"),
            };
            (site, name.replace(char::is_control, "?"))
        })
        .collect();
    named.sort_unstable();
    named
}
