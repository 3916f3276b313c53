//! Traces: who read what when, from files of several formats, one request at a time.
//!
//! One file a format, and one line in `formats!` below. A file gives its `FORMAT`: name, how it is
//! recognised, how it is read and (if it can be) written, and in its header comment the layout.
//! Help texts and detection follow from the registry. A text or binary format may lie in a gzip or
//! zstd file; that is seen by its first bytes, not by its name.

mod binary;
mod convert;
mod info;
mod input;
mod limits;
mod numbering;
mod output;
mod requests;
mod span;
mod text;
mod unknown;

use std::path::Path;

pub use convert::convert;
pub use info::{Info, info};
pub use input::{Head, Input};
pub use limits::Limits;
pub(crate) use numbering::Numbering;
pub use output::{Output, Target};
pub use requests::Requests;
pub use span::Span;
pub(crate) use span::blocks_of;

use crate::error::{At, Error};

/// Lines looked at before a file is taken for one of a format.
const LINES_TO_DETECT: usize = 64;

/// Declares the formats: one line each, in the order in which they are tried on a file of unknown
/// format.
macro_rules! formats {
    ($($(#[$attribute:meta])* $module:ident)*) => {
        $($(#[$attribute])* pub mod $module;)*
        /// Every format there is.
        pub static REGISTRY: &[&Format] = &[$(&$module::FORMAT),*];
    };
}

formats! {
    recorded
    oracle_general
    lcs
    vscsi
    fio
    darshan
    blkparse
    strace
    blocks
    arc
    fiu
    msr
    cloud_physics
    spc
    alibaba
    tencent
}

/// One request of a trace. What a format does not tell is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Request {
    /// Nanoseconds since the trace began.
    pub time_ns: u64,
    /// The process that asked.
    pub process: i32,
    /// Its thread.
    pub thread: i32,
    /// The file, an index into [`Reader::names`].
    pub file: u32,
    /// What of the file.
    pub span: Span,
    /// The call site's signature.
    pub site: u64,
    /// How long it took.
    pub took_ns: u64,
    /// Whether it writes. Block traces hold writes as well; a format that does not tell has none.
    pub write: bool,
}

/// Gives a trace's requests one after the other.
pub trait Reader {
    /// The next request; None at the end.
    ///
    /// # Errors
    /// If the file cannot be read, or what it holds there is not of its format.
    fn next(&mut self) -> Result<Option<Request>, Error>;

    /// Where in the file the request given last stands.
    fn at(&self) -> At;

    /// The names of the files met so far, by [`Request::file`]. A format without files has one,
    /// named "".
    fn names(&self) -> &[String];

    /// What lies at call sites, by [`Request::site`], where the trace says it.
    fn sites(&self) -> &[(u64, String)] {
        &[]
    }
}

impl Reader for Box<dyn Reader> {
    fn next(&mut self) -> Result<Option<Request>, Error> {
        (**self).next()
    }

    fn at(&self) -> At {
        (**self).at()
    }

    fn names(&self) -> &[String] {
        (**self).names()
    }

    fn sites(&self) -> &[(u64, String)] {
        (**self).sites()
    }
}

/// Takes a trace's requests one after the other.
pub trait Writer {
    /// Appends one request; `file` is the name behind its number.
    ///
    /// # Errors
    /// If the file cannot be written, or the format has no place for the request.
    fn push(&mut self, request: &Request, file: &str) -> Result<(), Error>;

    /// Says what lies at call sites, if the format has a place for it.
    fn name_sites(&mut self, _: &[(u64, String)]) {}

    /// Writes what is left. Without it the file is not whole.
    ///
    /// # Errors
    /// If the file cannot be written.
    fn finish(&mut self) -> Result<(), Error>;
}

/// Makes the writer of a format; the number is the size of a block where a request does not tell
/// it.
pub type StartWriting = fn(Target, u64) -> Result<Box<dyn Writer>, Error>;

/// What a format's file declares.
pub struct Format {
    /// The name users write.
    pub name: &'static str,
    /// One line for help texts.
    pub summary: &'static str,
    /// Words in the names of such files, besides its own name: `lis` in `OLTP.lis`. They count
    /// where the beginning is like no format.
    pub words: &'static [&'static str],
    /// Whether a file that begins like this is one.
    pub detect: fn(&Head<'_>) -> bool,
    /// Starts reading. The number is the size of a block where the trace does not tell it.
    pub read: fn(Input, u64) -> Result<Box<dyn Reader>, Error>,
    /// Starts writing, if the format can be written.
    pub write: Option<StartWriting>,
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Format").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Format {
    /// Whether a file's name speaks of it.
    fn is_in_name(&self, name: &str) -> bool {
        let is_ours = |word: &str| self.words.iter().chain([&self.name]).any(|it| it.eq_ignore_ascii_case(word));
        name.split(|it: char| !it.is_alphanumeric()).any(is_ours)
    }
}

fn names_of(formats: impl Iterator<Item = &'static &'static Format>) -> String {
    formats.map(|format| format.name).collect::<Vec<_>>().join(", ")
}

impl std::str::FromStr for &'static Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        REGISTRY
            .iter()
            .copied()
            .find(|format| format.name.eq_ignore_ascii_case(name))
            .ok_or_else(|| format!("there is no trace format '{name}'; there are: {}", names_of(REGISTRY.iter())))
    }
}

/// Finds out which format a file is in: by its beginning, by its name, or by what is whole of its
/// beginning. Whether it is whole, reading it will tell.
fn recognise(input: &mut Input) -> Result<&'static Format, Error> {
    let path = input.path().to_owned();
    let head = input.head()?;
    let like = |bytes: &[u8]| REGISTRY.iter().copied().find(|format| (format.detect)(&Head { bytes, ..head }));
    let named = || REGISTRY.iter().copied().find(|format| format.is_in_name(head.name));
    // A text that is damaged in one place is whole before it or behind it.
    let mut lines: Vec<usize> = (0..head.bytes.len()).filter(|&at| head.bytes[at] == b'\n').collect();
    lines.truncate(LINES_TO_DETECT);
    let (before, behind) = head.bytes.split_at(lines.get(lines.len().saturating_sub(1) / 2).map_or(0, |end| end + 1));
    like(head.bytes).or_else(named).or_else(|| like(before)).or_else(|| like(behind)).ok_or_else(|| {
        if let Some(reason) = unknown::reason(head.bytes) {
            return Error::whole(&path, reason);
        }
        let names = names_of(REGISTRY.iter());
        Error::whole(&path, format!("neither its name nor its beginning tells its format; say which it is: {names}"))
    })
}

/// Opens a trace. Without a `format`, the file's name and beginning decide. `block_bytes` is the
/// size of a block where the trace does not tell it.
///
/// # Errors
/// If the file cannot be read, is empty, or its format is not known.
pub fn open(path: &Path, format: Option<&'static Format>, block_bytes: u64) -> Result<Requests, Error> {
    Requests::of(Input::open(path)?, format, block_bytes)
}

/// Starts writing a trace.
///
/// # Errors
/// If it cannot begin, or the format is one that is only read.
pub fn create(target: Target, format: &'static Format, block_bytes: u64) -> Result<Box<dyn Writer>, Error> {
    match format.write {
        Some(write) => write(target, block_bytes),
        None => {
            let names = names_of(REGISTRY.iter().filter(|format| format.write.is_some()));
            Err(Error::whole(&target.path, format!("{} is only read; these can be written: {names}", format.name)))
        }
    }
}

/// The names of a format that knows no files.
fn no_files() -> &'static [String] {
    static NO_FILES: [String; 1] = [String::new()];
    &NO_FILES
}
