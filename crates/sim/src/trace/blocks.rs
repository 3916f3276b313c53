//! `blocks`: one block number a line, in decimal. The form in which the LIRS and ARC traces are
//! passed on.
//!
//! ```text
//! 4711
//! 4712
//! *          a line of stars, which the LIRS traces hold between programs, is skipped; so is an empty one
//! 17
//! ```
//!
//! No time, process or file. Writing numbers file 0's blocks by their place and another file's from
//! file * 2^40 on.

use std::io::Write;

use super::text::without_mark;
use super::{Format, Head, Input, LINES_TO_DETECT, Output, Reader, Request, Span, Writer, no_files};
use crate::error::{At, Error};

pub(super) static FORMAT: Format = Format {
    name: "blocks",
    summary: "one block number a line",
    words: &["trc"],
    detect: looks_like,
    read: |input, block_bytes| Ok(Box::new(BlockReader { input, block_bytes, line: 0, text: Vec::new() })),
    write: Some(|target, block_bytes| Ok(Box::new(BlockWriter { output: Output::new(target)?, block_bytes }))),
};

/// A number of 64 bits has 20 digits; the rest is for blanks.
const LINE_BYTES_MAX: u64 = 256;

/// No name is asked for: the LIRS traces are `*.trc`, the ARC traces `*.txt` or `*.lis`.
fn looks_like(head: &Head<'_>) -> bool {
    let whole = head.bytes.iter().rposition(|&byte| byte == b'\n').map_or(head.bytes, |end| &head.bytes[..end]);
    let mut numbers = 0;
    for line in without_mark(whole).split(|&byte| byte == b'\n').take(LINES_TO_DETECT) {
        match parse(line) {
            Ok(number) => numbers += usize::from(number.is_some()),
            Err(()) => return false,
        }
    }
    numbers > 0
}

/// The number on a line, if it is not one to skip.
fn parse(line: &[u8]) -> Result<Option<u64>, ()> {
    let line = line.trim_ascii();
    if line.iter().all(|&byte| byte == b'*') {
        return Ok(None);
    }
    let mut number: u64 = 0;
    for &byte in line {
        if !byte.is_ascii_digit() {
            return Err(());
        }
        number = number.checked_mul(10).and_then(|it| it.checked_add(u64::from(byte - b'0'))).ok_or(())?;
    }
    Ok(Some(number))
}

struct BlockReader {
    input: Input,
    block_bytes: u64,
    line: u64,
    text: Vec<u8>,
}

impl Reader for BlockReader {
    fn next(&mut self) -> Result<Option<Request>, Error> {
        loop {
            let at = At::Line(self.line + 1);
            if self.input.line(&mut self.text, LINE_BYTES_MAX, at)? == 0 {
                return Ok(None);
            }
            self.line += 1;
            let line = if self.line == 1 { without_mark(&self.text) } else { &self.text };
            match parse(line) {
                Ok(None) => {}
                Ok(Some(number)) => {
                    let span = Span::Object { number, bytes: self.block_bytes };
                    return Ok(Some(Request { span, ..Request::default() }));
                }
                Err(()) => {
                    let found = self.text.trim_ascii().escape_ascii();
                    let what = format!(
                        "'{found}' is no block number (a whole number from 0 to 2^64 - 1); mend the line, or say which \
                         format the file is in"
                    );
                    return Err(Error::new(self.input.path(), at, what));
                }
            }
        }
    }

    fn at(&self) -> At {
        At::Line(self.line)
    }

    fn names(&self) -> &[String] {
        no_files()
    }
}

struct BlockWriter {
    output: Output,
    block_bytes: u64,
}

impl Writer for BlockWriter {
    fn push(&mut self, request: &Request, _: &str) -> Result<(), Error> {
        let mut line = Vec::with_capacity(24);
        for number in request.numbers(self.block_bytes).map_err(|what| Error::whole(self.output.path(), what))? {
            line.clear();
            // Writing to memory does not fail.
            let _ = writeln!(line, "{number}");
            self.output.write(&line)?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.output.finish()
    }
}
