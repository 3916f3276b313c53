//! `spc`: the Storage Performance Council's form, in which the UMass repository has its traces
//! (Financial, WebSearch):
//!
//! ```text
//! ASU,LBA,Size,Opcode,Timestamp[,more columns]
//! 0,303567,3584,w,0.026214
//! ```
//!
//! LBA in blocks of 512 bytes, Size in bytes, Opcode r or w, Timestamp in seconds. The file is the
//! application-specific unit (ASU).

use super::text::{Known, Parsed, columns, looks_like, number, rows, scaled, seconds};
use super::{Format, Request, Span};

pub(super) static FORMAT: Format = Format {
    name: "spc",
    summary: "SPC's and UMass' lines of ASU,LBA,Size,Opcode,Timestamp",
    words: &[],
    detect: |head| looks_like(head, parse),
    read: |input, _| Ok(rows(input, parse)),
    write: None,
};

fn parse(known: &mut Known, line: &str) -> Parsed {
    let further = line.match_indices(',').nth(4).map_or(line.len(), |(at, _)| at);
    let names = ["ASU", "LBA", "Size", "Opcode", "Timestamp"];
    let [unit, address, size, opcode, time] = columns(&line[..further], ',', names)?;
    let write = match opcode {
        "r" | "R" => false,
        "w" | "W" => true,
        _ => return Err(format!("'{}' is no Opcode; r and w are", opcode.escape_debug())),
    };
    let _: u32 = number(unit, "ASU")?;
    let span = Span::Range { offset: scaled(address, "LBA", 512)?, length: number(size, "Size")? };
    let time_ns = known.since_begin(seconds(time, "Timestamp")?);
    Ok(Some(Request { time_ns, file: known.file(unit), span, write, ..Request::default() }))
}
