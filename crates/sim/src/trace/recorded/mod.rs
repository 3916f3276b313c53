//! `recorded`: foresee's own traces, in Apache Parquet, so that pandas, polars, DuckDB and their
//! like read them as they are.
//!
//! ```text
//! column   type                what it says
//! time_ns  INT64               when the read began or the write was over, nanoseconds since the recording began
//! process  INT32               the process's number
//! thread   INT32               the thread's number
//! file     BYTE_ARRAY (UTF8)   the path, as the program named it or resolved; dictionary-encoded
//! offset   INT64               the first byte
//! length   INT64               how many bytes
//! site     INT64               a signature of the call site, bit for bit an unsigned number; 0: unknown
//! took_ns  INT64               how long the read took; 0 of a write, or unknown
//! write    INT32               1: these bytes were written; 0: they were read
//! ```
//!
//! What lies at call sites (`grep: fillbuf`) is in the footer, the value of the key
//! `foresee.sites`, a line of each: the site as 16 hexadecimal digits, a space, and the name.
//!
//! All columns are REQUIRED, in this order, compressed with zstd, in row groups of
//! [`ROWS_PER_GROUP`] rows. A file is whole once its footer is written: one whose recording was cut
//! short cannot be read.
//!
//! Reading is more liberal, so that a data tool may write such a file: columns are found by their
//! names, INT32 and INT64 may stand for each other, columns may be nullable as long as no value is
//! null, Snappy or no compression will do, and only `file`, `offset` and `length` must be there;
//! the others count as 0.

mod checksum;
mod claims;
mod reader;
mod writer;

pub use writer::RecordedWriter;

use bytes::Bytes;

use super::{Format, Reader};
use crate::error::Error;

/// Rows written at once while recording: some 4 MB in memory, and what one lost recording loses at
/// most beyond its footer.
pub const ROWS_PER_GROUP: usize = 65_536;

/// What the names of call sites are kept by in the footer.
const SITES: &str = "foresee.sites";

/// The columns, in the order in which they are written.
const COLUMNS: [&str; 9] = ["time_ns", "process", "thread", "file", "offset", "length", "site", "took_ns", "write"];

pub(super) static FORMAT: Format = Format {
    name: "recorded",
    summary: "foresee's own: Parquet with time, process, thread, file, offset, length, call site, duration, write",
    words: &["parquet"],
    detect: |head| head.bytes.starts_with(b"PAR1"),
    read: |input, _| Ok(Box::new(reader::RecordedReader::open(input)?)),
    write: Some(|target, block_bytes| Ok(Box::new(writer::Converting::new(target, block_bytes)?))),
};

/// Reads a recorded trace that is at hand, as one that a program carries with it is. `name` stands
/// for its path in errors.
///
/// # Errors
/// If it is no recorded trace, or a damaged one.
pub fn read(name: &str, bytes: &'static [u8]) -> Result<Box<dyn Reader>, Error> {
    Ok(Box::new(reader::RecordedReader::of(name.as_ref(), Bytes::from_static(bytes), bytes)?))
}
