//! `vscsi`: VMware's traces of virtual disks in binary, as CloudPhysics published them, versions 1
//! and 2. Packed records, little-endian:
//!
//! ```text
//! version 1 (32 bytes)                         version 2 (40 bytes)
//!  0  u32  serial number                        0  u16  command, a SCSI opcode
//!  4  u32  length, bytes                        2  u16  version: 2 in the upper byte
//!  8  u32  scatter-gather entries               4  u32  serial number
//! 12  u16  command, a SCSI opcode               8  u32  length, bytes
//! 14  u16  version: 1 in the upper byte        12  u32  scatter-gather entries
//! 16  u64  logical block of 512 bytes          16  u64  logical block of 512 bytes
//! 24  u64  time, microseconds                  24  u64  time, microseconds
//!                                              32  u64  response time, microseconds
//! ```
//!
//! Commands that neither read nor write are left out. The file is the one disk.

use super::binary::{Records, part};
use super::{Format, Head, Reader, Request, Span, no_files};
use crate::error::{At, Error};

const SECTOR_BYTES: u64 = 512;
const NS_PER_US: u64 = 1000;

pub(super) static FORMAT: Format = Format {
    name: "vscsi",
    summary: "CloudPhysics' binary records of a virtual disk",
    words: &[],
    detect: |head| Version::of(head).is_some(),
    read: |mut input, _| {
        let version = Version::of(&input.head()?);
        let records = Records::new(input);
        match version {
            Some(version) => Ok(Box::new(VscsiReader { records, version, begin_us: None })),
            None => Err(records.broken(0, "begins with no vscsi record of version 1 or 2; name another format")),
        }
    },
    write: None,
};

/// What a SCSI opcode of READ or WRITE (6, 10, 12 or 16 bytes) says: whether it writes. None for
/// any other.
pub(super) fn writes(opcode: u16) -> Option<bool> {
    match opcode {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(false),
        0x0a | 0x2a | 0xaa | 0x8a => Some(true),
        _ => None,
    }
}

#[derive(Clone, Copy)]
enum Version {
    V1,
    V2,
}

impl Version {
    fn record_bytes(self) -> usize {
        match self {
            Version::V1 => 32,
            Version::V2 => 40,
        }
    }

    /// The version a record says it is of, upper byte alone, and its command.
    fn claims(self, record: &[u8]) -> (u16, u16) {
        let (version, command) = match self {
            Version::V1 => (14, 12),
            Version::V2 => (2, 0),
        };
        (u16::from_le_bytes(part(record, version)) >> 8, u16::from_le_bytes(part(record, command)))
    }

    /// The version of which the first two records (or the only one) are.
    fn of(head: &Head<'_>) -> Option<Version> {
        let are = |version: Version, number: u16| {
            let mut records = head.bytes.chunks_exact(version.record_bytes()).take(2).peekable();
            let first = records.peek().map(|record| writes(version.claims(record).1).is_some());
            first == Some(true) && records.all(|record| version.claims(record).0 == number)
        };
        if are(Version::V1, 1) { Some(Version::V1) } else { are(Version::V2, 2).then_some(Version::V2) }
    }
}

struct VscsiReader {
    records: Records,
    version: Version,
    begin_us: Option<u64>,
}

impl Reader for VscsiReader {
    fn next(&mut self) -> Result<Option<Request>, Error> {
        let mut record = [0; 40];
        let record = &mut record[..self.version.record_bytes()];
        while self.records.next(record)? {
            let (length, took_us) = match self.version {
                Version::V1 => (u32::from_le_bytes(part(record, 4)), 0),
                Version::V2 => (u32::from_le_bytes(part(record, 8)), u64::from_le_bytes(part(record, 32))),
            };
            let Some(write) = writes(self.version.claims(record).1) else { continue };
            let (sector, time_us) = (u64::from_le_bytes(part(record, 16)), u64::from_le_bytes(part(record, 24)));
            let Some(offset) = sector.checked_mul(SECTOR_BYTES) else {
                let what = format!("sector {sector} lies beyond 2^64 bytes; the file is damaged or in another format");
                return Err(self.records.broken(record.len(), what));
            };
            let begin_us = *self.begin_us.get_or_insert(time_us);
            return Ok(Some(Request {
                time_ns: time_us.saturating_sub(begin_us).saturating_mul(NS_PER_US),
                span: Span::Range { offset, length: u64::from(length) },
                took_ns: took_us.saturating_mul(NS_PER_US),
                write,
                ..Request::default()
            }));
        }
        Ok(None)
    }

    fn at(&self) -> At {
        self.records.at(self.version.record_bytes())
    }

    fn names(&self) -> &[String] {
        no_files()
    }
}
