//! What the text formats share: their lines, the numbers in them, the files and the first moment
//! they name.
//!
//! Such a format is one function from a line to a request. [`rows`] reads a file with it and says
//! where a line was wrong; [`looks_like`] finds out with it whether a file is of its format.

use std::collections::HashMap;

use super::{Head, Input, LINES_TO_DETECT, Reader, Request};
use crate::error::{At, Error};

/// A path of 4096 bytes, each of which may be escaped by four; the rest is for all else on a line.
const LINE_BYTES_MAX: u64 = 64 * 1024;

/// What is known of a trace from the lines before.
#[derive(Default)]
pub(super) struct Known {
    names: Vec<String>,
    index_of: HashMap<String, u32>,
    begin_ns: Option<u64>,
}

impl Known {
    /// The number of a file (a volume, a device) of this name.
    pub(super) fn file(&mut self, name: &str) -> u32 {
        if let Some(&index) = self.index_of.get(name) {
            return index;
        }
        let index = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.index_of.insert(name.to_owned(), index);
        index
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The time since the first one asked for. One before that counts as 0: lines may be a little
    /// out of order.
    pub(super) fn since_begin(&mut self, time_ns: u64) -> u64 {
        time_ns.saturating_sub(*self.begin_ns.get_or_insert(time_ns))
    }
}

/// What a line says: a request, or nothing of one; or what is wrong with it.
pub(super) type Parsed = Result<Option<Request>, String>;

/// Reads a file line by line.
pub(super) fn rows(input: Input, parse: impl FnMut(&mut Known, &str) -> Parsed + 'static) -> Box<dyn Reader> {
    Box::new(Rows { lines: Lines::new(input), known: Known::default(), is_first: true, parse })
}

/// Whether all lines in the beginning of a file are of a format, and one of them is a request.
pub(super) fn looks_like(head: &Head<'_>, mut parse: impl FnMut(&mut Known, &str) -> Parsed) -> bool {
    let whole = head.bytes.iter().rposition(|&byte| byte == b'\n').map_or(head.bytes, |end| &head.bytes[..end]);
    let mut known = Known::default();
    let mut requests = 0;
    let mut is_first = true;
    for line in without_mark(whole).split(|&byte| byte == b'\n').take(LINES_TO_DETECT) {
        let Ok(line) = std::str::from_utf8(line) else { return false };
        match line.trim_end() {
            "" => {}
            line => {
                match parse(&mut known, line) {
                    Ok(request) => requests += usize::from(request.is_some()),
                    Err(_) if is_first && is_heading(line) => {}
                    Err(_) => return false,
                }
                is_first = false;
            }
        }
    }
    requests > 0
}

/// What begins without UTF-8's mark: programs that export tables put one before them.
pub(super) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

/// Whether a first line holds the names of columns.
fn is_heading(line: &str) -> bool {
    line.split(',').count() > 1
        && line.split(',').all(|name| name.trim_start().starts_with(|it: char| it.is_alphabetic()))
}

struct Rows<P> {
    lines: Lines,
    known: Known,
    /// Of the lines that are not empty, none was taken yet.
    is_first: bool,
    parse: P,
}

impl<P: FnMut(&mut Known, &str) -> Parsed> Reader for Rows<P> {
    fn next(&mut self) -> Result<Option<Request>, Error> {
        while let Some(line) = self.lines.next()? {
            if line.is_empty() {
                continue;
            }
            let is_first = std::mem::take(&mut self.is_first);
            match (self.parse)(&mut self.known, line) {
                Ok(None) => {}
                Ok(request) => return Ok(request),
                Err(_) if is_first && is_heading(&self.lines.text) => {}
                Err(what) => return Err(self.lines.broken(&what)),
            }
        }
        Ok(None)
    }

    fn at(&self) -> At {
        At::Line(self.lines.number)
    }

    fn names(&self) -> &[String] {
        self.known.names()
    }
}

/// The lines of a text.
pub(super) struct Lines {
    input: Input,
    /// Lines read.
    pub(super) number: u64,
    bytes: Vec<u8>,
    text: String,
}

impl Lines {
    pub(super) fn new(input: Input) -> Self {
        Lines { input, number: 0, bytes: Vec::new(), text: String::new() }
    }

    /// The next line without its end. A name in another encoding than UTF-8 loses what cannot be
    /// told.
    pub(super) fn next(&mut self) -> Result<Option<&str>, Error> {
        let at = At::Line(self.number + 1);
        let read = self.input.line(&mut self.bytes, LINE_BYTES_MAX, at)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if read as u64 == LINE_BYTES_MAX && self.bytes.last() != Some(&b'\n') {
            return Err(self.broken(&format!("is longer than {} KiB", LINE_BYTES_MAX / 1024)));
        }
        self.text.clear();
        let line = if self.number == 1 { without_mark(&self.bytes) } else { &self.bytes };
        self.text.push_str(String::from_utf8_lossy(line).trim_end());
        Ok(Some(&self.text))
    }

    /// What is wrong with the line read last.
    pub(super) fn broken(&self, what: &str) -> Error {
        let what = format!("{what}; mend the line, or say which format the file is in");
        Error::new(self.input.path(), At::Line(self.number), what)
    }
}

/// The columns of a line, which are as many as its format has names.
pub(super) fn columns<'a, const N: usize>(
    line: &'a str,
    separator: char,
    names: [&str; N],
) -> Result<[&'a str; N], String> {
    let mut columns = [""; N];
    let mut found = 0;
    for column in line.split(separator) {
        if let Some(place) = columns.get_mut(found) {
            *place = column.trim();
        }
        found += 1;
    }
    if found == N { Ok(columns) } else { Err(format!("has {found} columns, and not {N}: {}", names.join(", "))) }
}

/// A number in a column.
pub(super) fn number<T: std::str::FromStr>(text: &str, column: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("'{}' is no number for the column '{column}'", text.escape_debug()))
}

/// The product of a column's number and its unit.
pub(super) fn scaled(text: &str, column: &str, unit: u64) -> Result<u64, String> {
    let number: u64 = number(text, column)?;
    number
        .checked_mul(unit)
        .ok_or_else(|| format!("'{text}' in the column '{column}' is beyond 2^64 in bytes or nanoseconds"))
}

/// Seconds with any number of decimals, in nanoseconds.
pub(super) fn seconds(text: &str, column: &str) -> Result<u64, String> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let bad = || format!("'{}' is no time in seconds for the column '{column}'", text.escape_debug());
    let whole: u64 = whole.parse().map_err(|_| bad())?;
    let mut ns: u64 = 0;
    for at in 0..9 {
        let digit = decimals.as_bytes().get(at).copied().unwrap_or(b'0');
        ns = ns * 10 + u64::from(digit.wrapping_sub(b'0').min(10));
        if !digit.is_ascii_digit() {
            return Err(bad());
        }
    }
    whole.checked_mul(1_000_000_000).and_then(|it| it.checked_add(ns)).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_exact() {
        for (text, ns) in [
            ("0", 0),
            ("1.5", 1_500_000_000),
            ("1700000000.123456", 1_700_000_000_123_456_000),
            ("0.0000000019", 1),
            ("3.", 3_000_000_000),
        ] {
            assert_eq!(seconds(text, "time"), Ok(ns), "{text}");
        }
        for text in ["", ".5", "-1", "1.x", "99999999999", "1e3"] {
            assert!(seconds(text, "time").is_err(), "{text}");
        }
    }

    /// What programs that export tables put before them, and people leave there.
    #[test]
    fn a_mark_and_empty_lines_before_the_heading_say_nothing() {
        let folder = std::env::temp_dir().join(format!("foresee-text-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let rows =
            "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n128166372003061629,hm,0,Read,0,4096,10\n";
        for (text, is_read) in [
            (format!("\u{feff}{rows}"), true),
            (format!("\n \n{rows}"), true),
            (format!("\u{feff}\n{rows}"), true),
            ("\u{feff}1\n2\n".to_owned(), true),
            (format!("{rows}{rows}"), false),
            (format!("\u{feff}\u{feff}{rows}"), false),
        ] {
            let path = folder.join("t");
            std::fs::write(&path, &text).unwrap();
            let taken = crate::load::Trace::load(&path, None, 4096);
            assert_eq!(taken.is_ok(), is_read, "{text:?}: {:?}", taken.err());
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
