//! `fiu`: Florida International University's block traces (SRCMap, IODedup, at SNIA IOTTA), columns
//! parted by blanks:
//!
//! ```text
//! time         pid  process  lba        size  op  major  minor  MD5 of the data
//! 89966104731  4892 syslogd  904265560  8     W   6      0      531e779b1a27...
//! ```
//!
//! Time in nanoseconds, lba and size in sectors of 512 bytes, op W or R. The file is the device,
//! named as major:minor.

use super::text::{Known, Parsed, looks_like, number, rows, scaled};
use super::{Format, Request, Span};

pub(super) static FORMAT: Format = Format {
    name: "fiu",
    summary: "FIU's lines of time, pid, process, lba, size, op, major, minor, MD5",
    words: &[],
    detect: |head| looks_like(head, parse),
    read: |input, _| Ok(rows(input, parse)),
    write: None,
};

fn parse(known: &mut Known, line: &str) -> Parsed {
    let columns: Vec<&str> = line.split_ascii_whitespace().collect();
    let [time, pid, ref name @ .., lba, size, op, major, minor, _] = columns[..] else {
        return Err(format!(
            "has {} columns, and not 9: time, pid, process, lba, size, op, major, minor, MD5",
            columns.len()
        ));
    };
    if name.is_empty() {
        return Err("has no name of a process".to_owned());
    }
    let write = match op {
        "R" => false,
        "W" => true,
        _ => return Err(format!("'{}' is no op; R and W are", op.escape_debug())),
    };
    let (major, minor): (u32, u32) = (number(major, "major")?, number(minor, "minor")?);
    let process = number(pid, "pid")?;
    let span = Span::Range { offset: scaled(lba, "lba", 512)?, length: scaled(size, "size", 512)? };
    Ok(Some(Request {
        time_ns: known.since_begin(number(time, "time")?),
        process,
        thread: process,
        file: known.file(&format!("{major}:{minor}")),
        span,
        write,
        ..Request::default()
    }))
}
