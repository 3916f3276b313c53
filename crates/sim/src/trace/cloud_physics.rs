//! `cloudphysics`: CloudPhysics' traces of virtual disks as text, without a heading:
//!
//! ```text
//! version,time,op,size,lbn
//! 1,5633898,2a,6656,40409911
//! ```
//!
//! The version is 1 or 2, the time in seconds, the op a SCSI opcode in hexadecimal, the size in
//! bytes, the logical block number in sectors of 512 bytes. Opcodes that neither read nor write are
//! left out. The file is the one disk.

use super::text::{Known, Parsed, columns, looks_like, number, rows, scaled};
use super::vscsi::writes;
use super::{Format, Request, Span};

pub(super) static FORMAT: Format = Format {
    name: "cloudphysics",
    summary: "CloudPhysics' lines of version,time,op,size,lbn",
    words: &["cloudphysicsio"],
    detect: |head| looks_like(head, parse),
    read: |input, _| Ok(rows(input, parse)),
    write: None,
};

fn parse(known: &mut Known, line: &str) -> Parsed {
    let [version, time, op, size, lbn] = columns(line, ',', ["version", "time", "op", "size", "lbn"])?;
    if !matches!(version, "1" | "2") {
        return Err(format!("'{}' is no version of a vscsi trace; 1 and 2 are", version.escape_debug()));
    }
    let opcode = u16::from_str_radix(op, 16).ok().filter(|_| op.len() == 2);
    let opcode =
        opcode.ok_or_else(|| format!("'{}' is no SCSI opcode in two hexadecimal digits", op.escape_debug()))?;
    let time_ns = scaled(time, "time", 1_000_000_000)?;
    let span = Span::Range { offset: scaled(lbn, "lbn", 512)?, length: number(size, "size")? };
    let Some(write) = writes(opcode) else { return Ok(None) };
    Ok(Some(Request { time_ns: known.since_begin(time_ns), file: known.file(""), span, write, ..Request::default() }))
}
