//! The sum over a recording's rows, kept in its footer.
//!
//! Parquet pages of this writer carry no checksums of their own, and its decoder is not made for
//! damaged pages: it may return other rows than were recorded, or panic. So a file of ours is
//! summed before it is decoded. A file that another tool wrote, even if it copied our metadata,
//! names another creator and is taken as it is.

use std::fmt;
use std::io::{BufReader, Read};

use parquet::file::metadata::ParquetMetaData;

use super::claims;

pub(super) const CREATED_BY: &str = concat!("foresee ", env!("CARGO_PKG_VERSION"));
pub(super) const KEY: &str = "foresee.rows";

const END_BYTES: usize = claims::END_BYTES as usize;

/// CRC-32 of all bytes before the footer, and how many there are.
#[derive(Default)]
pub(super) struct Sum {
    crc: flate2::Crc,
    bytes: u64,
}

impl Sum {
    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.crc.update(bytes);
        self.bytes += bytes.len() as u64;
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bytes={} crc32={:08x}", self.bytes, self.crc.sum())
    }
}

/// Sums a file of ours, read from its beginning, and compares with what its footer says.
///
/// # Errors
/// If they differ, or the file cannot be read.
pub(super) fn verify(file: impl Read, whole: &ParquetMetaData) -> Result<(), String> {
    let metadata = whole.file_metadata();
    if !metadata.created_by().is_some_and(|creator| creator.starts_with("foresee ")) {
        return Ok(());
    }
    let pairs = metadata.key_value_metadata().map_or(&[][..], Vec::as_slice);
    let expected = pairs.iter().find(|pair| pair.key == KEY).and_then(|pair| pair.value.as_deref()).unwrap_or("");
    let bytes = expected.strip_prefix("bytes=").and_then(|rest| rest.split(' ').next()?.parse().ok());
    let mut rows = BufReader::with_capacity(1 << 20, file).take(bytes.unwrap_or(0));
    let mut sum = Sum::default();
    each_part(&mut rows, |part| sum.update(part))?;
    // Where one file was put behind another the last footer alone would be read.
    let (mut length, mut end) = (sum.bytes, [0; END_BYTES]);
    each_part(&mut rows.into_inner(), |part| {
        length += part.len() as u64;
        let part = &part[part.len() - part.len().min(END_BYTES)..];
        end.rotate_left(part.len());
        end[END_BYTES - part.len()..].copy_from_slice(part);
    })?;
    let [a, b, c, d, ..] = end;
    let footer = u64::from(u32::from_le_bytes([a, b, c, d])) + END_BYTES as u64;
    if length > indexes_end(whole).max(sum.bytes) + footer {
        return Err("holds more than one recording, which one Parquet file cannot; read them one by one".to_owned());
    }
    let found = sum.to_string();
    match found == expected {
        true => Ok(()),
        false => Err(format!(
            "is damaged: its rows sum to '{found}', its footer says '{expected}'; record or copy it again"
        )),
    }
}

/// Where the pages' indexes end, which lie between the rows and the footer.
fn indexes_end(metadata: &ParquetMetaData) -> u64 {
    let columns = metadata.row_groups().iter().flat_map(|group| group.columns());
    let indexes = columns.flat_map(|it| {
        [(it.column_index_offset(), it.column_index_length()), (it.offset_index_offset(), it.offset_index_length())]
    });
    let end = |(offset, length): (Option<i64>, Option<i32>)| u64::try_from(offset?.checked_add(length?.into())?).ok();
    indexes.filter_map(end).max().unwrap_or(0)
}

/// Reads all there is.
fn each_part(from: &mut impl Read, mut take: impl FnMut(&[u8])) -> Result<(), String> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => take(&buffer[..read]),
            Err(error) => return Err(format!("cannot be read: {error}")),
        }
    }
}
