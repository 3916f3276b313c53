//! `fio`: what fio writes with `--write_iolog`, versions 2 and 3; columns parted by blanks, after a
//! first line that names the version.
//!
//! ```text
//! fio version 2 iolog               fio version 3 iolog
//! /data/f add                       19 /data/f add
//! /data/f open                      114 /data/f open
//! /data/f read 49152 16384          117 /data/f read 49152 16384       file, action, offset and length in bytes
//! /data/f wait 5000 0
//! /data/f write 0 4096              373 /data/f write 0 4096
//! ```
//!
//! Version 3 begins each line with its time in microseconds. In version 2 only `wait` lets time
//! pass: so many microseconds since the wait before. Actions that neither read nor write are left
//! out. fio appends to a log that is there: what follows another first line happens after all
//! before.

use super::text::{Known, Parsed, looks_like, number, rows, scaled};
use super::{Format, Request, Span};

const NS_PER_US: u64 = 1000;

pub(super) static FORMAT: Format = Format {
    name: "fio",
    summary: "fio's iolog of version 2 or 3",
    words: &["iolog"],
    detect: |head| {
        let mut log = Iolog::default();
        looks_like(head, |known, line| log.parse(known, line)) || head.bytes.starts_with(b"fio version ")
    },
    read: |input, _| {
        let mut log = Iolog::default();
        Ok(rows(input, move |known, line| log.parse(known, line)))
    },
    write: None,
};

/// What was read of a log.
#[derive(Default)]
struct Iolog {
    version: u32,
    /// When the log now read began, and the time of its last request.
    began_ns: u64,
    now_ns: u64,
}

impl Iolog {
    fn parse(&mut self, known: &mut Known, line: &str) -> Parsed {
        if self.version == 0 || line.starts_with("fio version ") {
            self.version = match line {
                "fio version 2 iolog" => 2,
                "fio version 3 iolog" => 3,
                _ => return Err(format!("'{}' is not how an iolog of version 2 or 3 begins", line.escape_debug())),
            };
            self.began_ns = self.now_ns;
            return Ok(None);
        }
        let (time, line) = match self.version {
            2 => ("", line),
            _ => line.split_once(' ').ok_or("has a time and nothing else")?,
        };
        // A name may hold blanks: columns are counted from the end.
        let words: Vec<&str> = line.rsplitn(4, ' ').collect();
        let (name, action, offset, length) = match words[..] {
            [length, offset, action @ ("read" | "write"), name] => (name, action, offset, length),
            [_, pause, "wait", _] if self.version == 2 => {
                self.now_ns = self.now_ns.saturating_add(scaled(pause, "wait", NS_PER_US)?);
                return Ok(None);
            }
            [_, _, "sync" | "datasync" | "trim" | "sync_file_range", _] => return Ok(None),
            ["add" | "open" | "close", ..] => return Ok(None),
            _ => return Err(format!("'{}' ends with no action of an iolog", line.escape_debug())),
        };
        if self.version == 3 {
            self.now_ns = self.began_ns.saturating_add(scaled(time, "time", NS_PER_US)?);
        }
        Ok(Some(Request {
            time_ns: known.since_begin(self.now_ns),
            file: known.file(name),
            span: Span::Range { offset: number(offset, "offset")?, length: number(length, "length")? },
            write: action == "write",
            ..Request::default()
        }))
    }
}
