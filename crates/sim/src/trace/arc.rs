//! `arc`: the form in which the traces of the ARC paper (Megiddo and Modha, FAST '03) are passed
//! on, `*.lis`: four numbers a line,
//!
//! ```text
//! first block   blocks   not used   number of the request
//! 4711          8        0          17
//! ```
//!
//! in blocks of the size that is asked for. No time, process or file.

use super::text::{Known, Parsed, looks_like, number, rows};
use super::{Format, Request, Span};

pub(super) static FORMAT: Format = Format {
    name: "arc",
    summary: "the ARC paper's .lis: first block, number of blocks, two more numbers",
    words: &["lis"],
    detect: |head| looks_like(head, |known, line| parse(known, line, 1)),
    read: |input, block_bytes| Ok(rows(input, move |known, line| parse(known, line, block_bytes))),
    write: None,
};

fn parse(known: &mut Known, line: &str, block_bytes: u64) -> Parsed {
    let columns: Vec<&str> = line.split_ascii_whitespace().collect();
    let [first, count, unused, request] = columns[..] else {
        let found = columns.len();
        return Err(format!(
            "has {found} columns, and not 4: first block, blocks, one not used, number of the request"
        ));
    };
    let (_, _): (u64, u64) = (number(unused, "not used")?, number(request, "number of the request")?);
    let bytes = |text, column| {
        let blocks: u64 = number(text, column)?;
        blocks.checked_mul(block_bytes).ok_or_else(|| format!("'{text}' in the column '{column}' is beyond 2^64 bytes"))
    };
    let span = Span::Range { offset: bytes(first, "first block")?, length: bytes(count, "blocks")? };
    Ok(Some(Request { file: known.file(""), span, ..Request::default() }))
}
