//! `darshan`: what `darshan-dxt-parser` prints of Darshan's extended traces (DXT):
//!
//! ```text
//! # DXT, file_id: 16457598720760448348, file_name: /tmp/test/file
//! # DXT, rank: 0, hostname: node1
//! # Module    Rank  Wt/Rd  Segment          Offset       Length    Start(s)      End(s)   [OST]
//!  X_POSIX       0   read        0               0       262144      0.0048      0.0051   [  3]
//! ```
//!
//! Offset and length in bytes, times in seconds since the job began. The rank is given as the
//! process. What MPI-IO (`X_MPIIO`) reads is read by POSIX again, so only the lines of `X_POSIX`
//! count. Darshan sorts by file; here requests come in the order of their times, for which all of
//! them are held in memory.

use super::text::{Known, Lines, number, seconds};
use super::{Format, Input, Reader, Request, Span};
use crate::error::{At, Error};

pub(super) static FORMAT: Format = Format {
    name: "darshan",
    summary: "what darshan-dxt-parser prints",
    words: &["dxt"],
    detect: |head| {
        let marked = |mark: &[u8]| head.bytes.windows(mark.len()).any(|window| window == mark);
        head.bytes.starts_with(b"#") && (marked(b"\n# DXT, ") || marked(b"darshan log version"))
    },
    read: |input, _| Ok(Box::new(DarshanReader::load(input)?)),
    write: None,
};

struct DarshanReader {
    known: Known,
    /// With their lines.
    requests: std::vec::IntoIter<(u64, Request)>,
    line: u64,
}

impl DarshanReader {
    fn load(input: Input) -> Result<Self, Error> {
        let (mut lines, mut known) = (Lines::new(input), Known::default());
        let (mut file, mut requests) = (None, Vec::new());
        while let Some(line) = lines.next()? {
            let parsed = parse(&mut known, &mut file, line);
            let request = parsed.map_err(|what| lines.broken(&what))?;
            requests.extend(request.map(|request| (lines.number, request)));
        }
        requests.sort_by_key(|(_, request)| request.time_ns);
        Ok(DarshanReader { known, requests: requests.into_iter(), line: 0 })
    }
}

fn parse(known: &mut Known, file: &mut Option<u32>, line: &str) -> Result<Option<Request>, String> {
    if let Some((_, name)) = line.strip_prefix("# DXT, file_id:").and_then(|rest| rest.split_once("file_name: ")) {
        *file = Some(known.file(name));
    }
    let line = line.trim_start();
    if line.is_empty() || line.starts_with('#') || line.starts_with("X_MPIIO") {
        return Ok(None);
    }
    let columns: Vec<&str> = line.split_ascii_whitespace().take(8).collect();
    let ["X_POSIX", rank, operation, _, offset, length, start, end] = columns[..] else {
        return Err(
            "is none of a DXT trace: a comment, or X_POSIX, rank, read or write, segment, offset, length, start, \
                    end"
            .to_owned(),
        );
    };
    let write = match operation {
        "read" => false,
        "write" => true,
        _ => return Err(format!("'{}' is no operation; read and write are", operation.escape_debug())),
    };
    let (time_ns, end_ns) = (seconds(start, "Start(s)")?, seconds(end, "End(s)")?);
    let rank = number(rank, "Rank")?;
    Ok(Some(Request {
        time_ns,
        process: rank,
        thread: rank,
        file: file.ok_or("stands before the line that names its file ('# DXT, file_id: ..., file_name: ...')")?,
        span: Span::Range { offset: number(offset, "Offset")?, length: number(length, "Length")? },
        took_ns: end_ns.saturating_sub(time_ns),
        write,
        ..Request::default()
    }))
}

impl Reader for DarshanReader {
    fn next(&mut self) -> Result<Option<Request>, Error> {
        let next = self.requests.next();
        self.line = next.map_or(self.line, |(line, _)| line);
        Ok(next.map(|(_, request)| request))
    }

    fn at(&self) -> At {
        At::Line(self.line)
    }

    fn names(&self) -> &[String] {
        self.known.names()
    }
}
