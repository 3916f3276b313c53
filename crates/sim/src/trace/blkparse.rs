//! `blkparse`: what blkparse prints of blktrace's traces of block devices, in its own form (no
//! `-f`):
//!
//! ```text
//! device  processor  number  time, s       pid   event  kind  sector + sectors  [process]
//!   8,0    0          2      0.000001000   1234  Q      R     223490 + 8        [dd]
//! ```
//!
//! One request is several events. What is taken is the first of queued (Q), issued (D) and
//! completed (C) that the beginning of the file holds: Q unless blkparse was told to leave it out.
//! Kinds with an R or a W count, discards (D) and flushes alone do not. Sectors have 512 bytes. The
//! file is the device. Behind the events stands a summary, which begins with `CPU` or `Total`.

use super::text::{Known, Parsed, looks_like, number, rows, scaled, seconds};
use super::{Format, Head, Request, Span};

pub(super) static FORMAT: Format = Format {
    name: "blkparse",
    summary: "what blkparse prints",
    words: &[],
    detect: |head| looks_like(head, parser(head)),
    read: |mut input, _| {
        let parse = parser(&input.head()?);
        Ok(rows(input, parse))
    },
    write: None,
};

/// A parser of lines that takes one event of each request.
fn parser(head: &Head<'_>) -> impl FnMut(&mut Known, &str) -> Parsed + use<> {
    let text = String::from_utf8_lossy(head.bytes);
    let holds = |event: &&str| text.lines().any(|line| line.split_ascii_whitespace().nth(5) == Some(event));
    let event = ["Q", "D", "C"].into_iter().find(holds).unwrap_or("Q");
    let mut ended = false;
    move |known, line| {
        ended |= line.starts_with("CPU") || line.starts_with("Total");
        if ended { Ok(None) } else { parse(known, line, event) }
    }
}

fn parse(known: &mut Known, line: &str, taken: &str) -> Parsed {
    let mut columns = line.split_ascii_whitespace();
    let mut column = |name: &str| columns.next().ok_or_else(|| format!("ends before the column '{name}'"));
    let device = column("device")?;
    let is_device = device.split_once(',').is_some_and(|(major, minor)| {
        [major, minor].iter().all(|part| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit()))
    });
    if !is_device {
        return Err(format!("begins with '{}', which is no device, as 8,0", device.escape_debug()));
    }
    let _: u32 = number(column("processor")?, "processor")?;
    let _: u64 = number(column("number")?, "number")?;
    let time_ns = known.since_begin(seconds(column("time")?, "time")?);
    let process = number(column("pid")?, "pid")?;
    if column("event")? != taken {
        return Ok(None);
    }
    let kind = column("kind")?;
    let sectors: [&str; 3] = std::array::from_fn(|_| columns.next().unwrap_or(""));
    let write = kind.contains('W');
    if !(write || kind.contains('R')) || kind.contains('D') || sectors[1] != "+" {
        return Ok(None);
    }
    let span = Span::Range { offset: scaled(sectors[0], "sector", 512)?, length: scaled(sectors[2], "sectors", 512)? };
    Ok(Some(Request { time_ns, process, thread: process, file: known.file(device), span, write, ..Request::default() }))
}
