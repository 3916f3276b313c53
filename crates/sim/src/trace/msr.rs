//! `msr`: the block traces of Microsoft Research Cambridge (SNIA IOTTA 388), with or without a
//! heading:
//!
//! ```text
//! Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime
//! 128166372003061629,hm,1,Read,383496192,32768,413
//! ```
//!
//! Timestamp and ResponseTime in Windows' file time (100 ns), Type Read or Write, Offset and Size
//! in bytes. The file is the disk, named as host.number.

use super::text::{Known, Parsed, columns, looks_like, number, rows, scaled};
use super::{Format, Request, Span};

const NS_PER_TICK: u64 = 100;
/// File time counts from 1601: in nanoseconds it is beyond 64 bits today.
const TICKS_MAX: u64 = u64::MAX / NS_PER_TICK;

pub(super) static FORMAT: Format = Format {
    name: "msr",
    summary: "MSR Cambridge's lines of Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
    words: &[],
    detect: |head| looks_like(head, parse),
    read: |input, _| Ok(rows(input, parse)),
    write: None,
};

fn parse(known: &mut Known, line: &str) -> Parsed {
    let names = ["Timestamp", "Hostname", "DiskNumber", "Type", "Offset", "Size", "ResponseTime"];
    let [time, host, disk, kind, offset, size, took] = columns(line, ',', names)?;
    let write = match kind {
        "Read" => false,
        "Write" => true,
        _ => return Err(format!("'{}' is no Type; Read and Write are", kind.escape_debug())),
    };
    let disk: u32 = number(disk, "DiskNumber")?;
    let span = Span::Range { offset: number(offset, "Offset")?, length: number(size, "Size")? };
    let ticks: u64 = number(time, "Timestamp")?;
    Ok(Some(Request {
        time_ns: known.since_begin(ticks).min(TICKS_MAX) * NS_PER_TICK,
        file: known.file(&format!("{host}.{disk}")),
        span,
        took_ns: scaled(took, "ResponseTime", NS_PER_TICK)?,
        write,
        ..Request::default()
    }))
}
