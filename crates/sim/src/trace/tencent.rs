//! `tencent`: Tencent Cloud Block Storage's traces of 2018 (at SNIA IOTTA), with or without a
//! heading:
//!
//! ```text
//! Timestamp,Offset,Size,IOType,VolumeID
//! 1538323200,12910952,128,0,1063
//! ```
//!
//! Timestamp in seconds since 1970, Offset and Size in sectors of 512 bytes, IOType 0 for a read
//! and 1 for a write. The file is the volume.

use super::text::{Known, Parsed, columns, looks_like, rows, scaled};
use super::{Format, Request, Span};

pub(super) static FORMAT: Format = Format {
    name: "tencent",
    summary: "Tencent CBS' lines of Timestamp,Offset,Size,IOType,VolumeID",
    words: &[],
    detect: |head| looks_like(head, parse),
    read: |input, _| Ok(rows(input, parse)),
    write: None,
};

fn parse(known: &mut Known, line: &str) -> Parsed {
    let names = ["Timestamp", "Offset", "Size", "IOType", "VolumeID"];
    let [time, offset, size, kind, volume] = columns(line, ',', names)?;
    let write = match kind {
        "0" => false,
        "1" => true,
        _ => return Err(format!("'{}' is no IOType; 0 (read) and 1 (write) are", kind.escape_debug())),
    };
    let span = Span::Range { offset: scaled(offset, "Offset", 512)?, length: scaled(size, "Size", 512)? };
    let time_ns = known.since_begin(scaled(time, "Timestamp", 1_000_000_000)?);
    Ok(Some(Request { time_ns, file: known.file(volume), span, write, ..Request::default() }))
}
