//! `alibaba`: Alibaba Cloud's block traces of 2020, with or without a heading:
//!
//! ```text
//! device_id,opcode,offset,length,timestamp
//! 64,R,126703661056,4096,1577808000000046
//! ```
//!
//! opcode R or W, offset and length in bytes, timestamp in microseconds. The file is the device.

use super::text::{Known, Parsed, columns, looks_like, number, rows, scaled};
use super::{Format, Request, Span};

pub(super) static FORMAT: Format = Format {
    name: "alibaba",
    summary: "Alibaba Cloud's lines of device_id,opcode,offset,length,timestamp",
    words: &[],
    detect: |head| looks_like(head, parse),
    read: |input, _| Ok(rows(input, parse)),
    write: None,
};

fn parse(known: &mut Known, line: &str) -> Parsed {
    let names = ["device_id", "opcode", "offset", "length", "timestamp"];
    let [device, opcode, offset, length, time] = columns(line, ',', names)?;
    let write = match opcode {
        "R" => false,
        "W" => true,
        _ => return Err(format!("'{}' is no opcode; R and W are", opcode.escape_debug())),
    };
    let span = Span::Range { offset: number(offset, "offset")?, length: number(length, "length")? };
    let time_ns = known.since_begin(scaled(time, "timestamp", 1000)?);
    Ok(Some(Request { time_ns, file: known.file(device), span, write, ..Request::default() }))
}
