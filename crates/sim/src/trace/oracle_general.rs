//! `oracleGeneral`: libCacheSim's binary form. Records of 24 bytes, packed, little-endian:
//!
//! ```text
//! offset  type  column
//!      0  u32   time, seconds
//!      4  u64   object id
//!     12  u32   object size, bytes
//!     16  i64   the request that asks for this object next, counted from 0; -1 if none does
//! ```
//!
//! The last column is not read: a policy that needs the future takes it from the trace itself. It
//! is written, so that other tools can use the file; that takes a pass backwards, and therefore all
//! requests in memory until the end.

use std::collections::HashMap;

use super::binary::{Records, part};
use super::{Format, Output, Reader, Request, Span, Writer, no_files};
use crate::error::{At, Error};

const RECORD_BYTES: usize = 24;
const NS_PER_S: u64 = 1_000_000_000;

pub(super) static FORMAT: Format = Format {
    name: "oracleGeneral",
    summary: "libCacheSim's binary records of time, object id, size and next access",
    words: &[],
    detect: |head| head.name.to_ascii_lowercase().contains("oraclegeneral"),
    read: |input, _| Ok(Box::new(OracleReader { records: Records::new(input), begin_s: None })),
    write: Some(|target, block_bytes| {
        Ok(Box::new(OracleWriter { output: Output::new(target)?, block_bytes, records: Vec::new() }))
    }),
};

struct OracleReader {
    records: Records,
    /// The first record's time: some traces count from 1970.
    begin_s: Option<u32>,
}

impl Reader for OracleReader {
    fn next(&mut self) -> Result<Option<Request>, Error> {
        let mut record = [0; RECORD_BYTES];
        if !self.records.next(&mut record)? {
            return Ok(None);
        }
        let time_s = u32::from_le_bytes(part(&record, 0));
        let begin_s = *self.begin_s.get_or_insert(time_s);
        Ok(Some(Request {
            time_ns: u64::from(time_s.saturating_sub(begin_s)) * NS_PER_S,
            span: Span::Object {
                number: u64::from_le_bytes(part(&record, 4)),
                bytes: u64::from(u32::from_le_bytes(part(&record, 12))),
            },
            ..Request::default()
        }))
    }

    fn at(&self) -> At {
        self.records.at(RECORD_BYTES)
    }

    fn names(&self) -> &[String] {
        no_files()
    }
}

struct OracleWriter {
    output: Output,
    block_bytes: u64,
    /// Time in seconds, object, size.
    records: Vec<(u32, u64, u32)>,
}

impl Writer for OracleWriter {
    fn push(&mut self, request: &Request, _: &str) -> Result<(), Error> {
        let failed = |what: String| Error::whole(self.output.path(), what);
        let time_s = u32::try_from(request.time_ns / NS_PER_S).map_err(|_| {
            failed(format!("{} ns do not fit the time column; it has 32 bits of seconds", request.time_ns))
        })?;
        let bytes = match request.span {
            Span::Object { bytes, .. } => bytes,
            Span::Range { .. } => self.block_bytes,
        };
        let size = u32::try_from(bytes)
            .map_err(|_| failed(format!("{bytes} bytes do not fit the size column; it has 32 bits")))?;
        for number in request.numbers(self.block_bytes).map_err(failed)? {
            self.records.push((time_s, number, size));
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Error> {
        let mut later: HashMap<u64, i64> = HashMap::new();
        let mut next: Vec<i64> = self
            .records
            .iter()
            .enumerate()
            .rev()
            .map(|(at, &(_, number, _))| later.insert(number, at as i64).unwrap_or(-1))
            .collect();
        next.reverse();
        for (&(time_s, number, size), next) in self.records.iter().zip(next) {
            self.output.write(&time_s.to_le_bytes())?;
            self.output.write(&number.to_le_bytes())?;
            self.output.write(&size.to_le_bytes())?;
            self.output.write(&next.to_le_bytes())?;
        }
        self.records.clear();
        self.output.finish()
    }
}
