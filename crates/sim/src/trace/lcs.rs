//! `lcs`: libCacheSim's own binary form, versions 1 to 8. A header of 8192 bytes, then packed
//! records, little-endian:
//!
//! ```text
//! header   offset     0  u64   0x123456789abcdef0
//!                     8  u64   version, which says how long a record is
//!                    16        statistics, not read
//!                  8184  u64   0x123456789abcdef0
//!
//! record   version 1 (24 bytes)        version 2 (28)              version 3 (36), and 4 to 8 (40, 44, 52, 68, 100)
//!          0  u32  time, seconds       0  u32  time                0  u32  time
//!          4  u64  object id           4  u64  object id           4  u64  object id
//!         12  u32  size, bytes        12  u32  size               12  i64  size
//!                                     16  u8   operation          20  u8   operation
//!                                     17  u24  tenant             21  u24  tenant
//!         16  i64  next access        20  i64  next access        24  u32  time to live
//!                                                                 28  i64  next access, then 1, 2, 4, 8 or 16 u32
//! ```
//!
//! The tenant is given as the process. Operations 3 to 8, 10, 11, 13 and 14 change the object (set,
//! add, compare and swap, replace, append, prepend, increase, decrease, write, update). The next
//! access is not read.

use super::binary::{Records, part};
use super::{Format, Reader, Request, Span, no_files};
use crate::error::{At, Error};

const MAGIC: [u8; 8] = 0x1234_5678_9abc_def0_u64.to_le_bytes();
const HEADER_BYTES: usize = 8192;
/// A record's length by version, from 1 on.
const RECORD_BYTES: [usize; 8] = [24, 28, 36, 40, 44, 52, 68, 100];
const NS_PER_S: u64 = 1_000_000_000;

pub(super) static FORMAT: Format = Format {
    name: "lcs",
    summary: "libCacheSim's binary records of time, object id, size, operation and tenant, with a header",
    words: &[],
    detect: |head| head.bytes.starts_with(&MAGIC),
    read: |input, _| Ok(Box::new(LcsReader::open(Records::new(input))?)),
    write: None,
};

struct LcsReader {
    records: Records,
    version: u64,
    record: Vec<u8>,
    begin_s: Option<u32>,
}

impl LcsReader {
    fn open(mut records: Records) -> Result<Self, Error> {
        let mut header = [0; HEADER_BYTES];
        if !records.next(&mut header)? || part(&header, 0) != MAGIC || part(&header, HEADER_BYTES - 8) != MAGIC {
            let what = format!("begins with no header of an lcs file ({HEADER_BYTES} bytes between two marks)");
            return Err(records.broken(0, what));
        }
        let version = u64::from_le_bytes(part(&header, 8));
        let bytes = usize::try_from(version).ok().and_then(|version| RECORD_BYTES.get(version.checked_sub(1)?));
        let Some(&bytes) = bytes else {
            return Err(
                records.broken(HEADER_BYTES, format!("is an lcs file of version {version}; 1 to 8 can be read"))
            );
        };
        Ok(LcsReader { records, version, record: vec![0; bytes], begin_s: None })
    }
}

fn changes(operation: u8) -> bool {
    matches!(operation, 3..=8 | 10 | 11 | 13 | 14)
}

impl Reader for LcsReader {
    fn next(&mut self) -> Result<Option<Request>, Error> {
        let record = &mut self.record;
        if !self.records.next(record)? {
            return Ok(None);
        }
        let time_s = u32::from_le_bytes(part(record, 0));
        let begin_s = *self.begin_s.get_or_insert(time_s);
        let (bytes, operation_at) = match self.version {
            1 | 2 => (u64::from(u32::from_le_bytes(part(record, 12))), 16),
            _ => (u64::from_le_bytes(part(record, 12)), 20),
        };
        let (operation, tenant) = match self.version {
            1 => (0, 0),
            _ => (record[operation_at], u32::from_le_bytes(part(record, operation_at)) >> 8),
        };
        Ok(Some(Request {
            time_ns: u64::from(time_s.saturating_sub(begin_s)) * NS_PER_S,
            process: tenant.cast_signed(),
            thread: tenant.cast_signed(),
            span: Span::Object { number: u64::from_le_bytes(part(record, 4)), bytes },
            write: changes(operation),
            ..Request::default()
        }))
    }

    fn at(&self) -> At {
        self.records.at(self.record.len())
    }

    fn names(&self) -> &[String] {
        no_files()
    }
}
