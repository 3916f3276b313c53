//! `foresee record`.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use clap::Args;
use foresee::supervisor::TransferSeen;
use foresee_sim::trace::{Format, Request, Span, Writer, create};

use crate::run::{conclude, failed};
use crate::running::Running;
use crate::say::say;

/// Options of `foresee record`.
#[derive(Args)]
pub struct Options {
    /// The trace to write (Apache Parquet; one row a read or write)
    #[arg(long, short, value_name = "TRACE")]
    output: PathBuf,

    #[command(flatten)]
    running: Running,

    /// Print the account of the run
    #[arg(long)]
    report: bool,
}

/// Block sizes do not matter to recorded traces: they hold bytes.
const BLOCK_BYTES: u64 = 4096;

/// Runs the command and writes down what it read and wrote; returns the exit status.
pub fn main(options: Options) -> Result<u8, String> {
    let format: &'static Format = "recorded".parse()?;
    let unfinished = Unfinished::of(&options.output)?;
    let writer = create(&unfinished.path, format, BLOCK_BYTES).map_err(|error| error.to_string())?;
    let recording = RefCell::new(Recording { writer, files: Default::default(), result: Ok(()) });
    // A recording shows what the program does by itself: nothing is read ahead, and every read is told.
    let mut run = options.running.run(None);
    run.policy = "lru".parse()?;
    run.words = false;
    run.trace = Some(Box::new(|transfer| recording.borrow_mut().take(&transfer)));
    let ran = match run.go() {
        Ok(ran) => ran,
        Err(failure) => return Ok(failed(failure)),
    };
    let mut recording = recording.into_inner();
    let written = recording.result.and_then(|()| recording.writer.finish()).map_err(|error| error.to_string());
    let written = written.and_then(|()| unfinished.finish(&options.output));
    if let Err(error) = &written {
        say(format_args!("the trace was not written: {error}"));
    }
    // The command's own failure says more than ours.
    match conclude(&ran, None, options.report, None) {
        0 if written.is_err() => Ok(2),
        status => Ok(status),
    }
}

/// A trace on its way to be whole, beside where it will be; gone if it is not finished.
struct Unfinished {
    path: PathBuf,
}

impl Unfinished {
    fn of(output: &Path) -> Result<Self, String> {
        if output.exists() && !output.is_file() {
            return Err(format!("{}: is no regular file; name another to write the trace to", output.display()));
        }
        let mut name = output.file_name().ok_or_else(|| format!("{}: names no file", output.display()))?.to_owned();
        name.push(format!(".{}.unfinished", std::process::id()));
        Ok(Unfinished { path: output.with_file_name(name) })
    }

    fn finish(self, output: &Path) -> Result<(), String> {
        std::fs::rename(&self.path, output).map_err(|error| format!("{}: {error}", output.display()))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After it was renamed there is nothing to remove.
        let _ = std::fs::remove_file(&self.path);
    }
}

struct Recording {
    writer: Box<dyn Writer>,
    files: std::collections::HashMap<PathBuf, u32>,
    result: Result<(), foresee_sim::error::Error>,
}

impl Recording {
    fn take(&mut self, transfer: &TransferSeen) {
        if self.result.is_err() {
            return;
        }
        let next = self.files.len() as u32;
        let file = match self.files.get(transfer.path) {
            Some(&file) => file,
            None => *self.files.entry(transfer.path.to_owned()).or_insert(next),
        };
        let request = Request {
            write: transfer.write,
            time_ns: transfer.time.as_nanos() as u64,
            process: transfer.process as i32,
            thread: transfer.thread as i32,
            file,
            span: Span::Range { offset: transfer.offset, length: transfer.bytes },
            site: transfer.site,
            took_ns: transfer.took.as_nanos() as u64,
        };
        self.result = self.writer.push(&request, &transfer.path.to_string_lossy());
    }
}
