//! The sum over a recording's rows, kept in its footer.
//!
//! Parquet pages of this writer carry no checksums of their own, and its decoder is not made for
//! damaged pages: it may return other rows than were recorded, or panic. So a file of ours is
//! summed before it is decoded. A file that another tool wrote, even if it copied our metadata,
//! names another creator and is taken as it is.

use std::fmt;
use std::io::{BufReader, Read};

use parquet::file::metadata::ParquetMetaData;

pub(super) const CREATED_BY: &str = concat!("foresee ", env!("CARGO_PKG_VERSION"));
pub(super) const KEY: &str = "foresee.rows";

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

/// Sums a file of ours, read from its beginning, and compares with what its footer says, which
/// begins there.
///
/// # Errors
/// If they differ, there is more between them, or the file cannot be read.
pub(super) fn verify(file: impl Read, whole: &ParquetMetaData, footer_begin: u64) -> Result<(), String> {
    let metadata = whole.file_metadata();
    if !metadata.created_by().is_some_and(|creator| creator.starts_with("foresee ")) {
        return Ok(());
    }
    let pairs = metadata.key_value_metadata().map_or(&[][..], Vec::as_slice);
    let expected = pairs.iter().find(|pair| pair.key == KEY).and_then(|pair| pair.value.as_deref()).unwrap_or("");
    let bytes = expected.strip_prefix("bytes=").and_then(|rest| rest.split(' ').next()?.parse().ok());
    // Where one file was put behind another the last footer alone would be read.
    if footer_begin > indexes_end(whole).max(bytes.unwrap_or(0)) {
        return Err("holds more than one recording, which one Parquet file cannot; read them one by one".to_owned());
    }
    let mut rows = BufReader::with_capacity(1 << 20, file).take(bytes.unwrap_or(0));
    let mut sum = Sum::default();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match rows.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => sum.update(&buffer[..read]),
            Err(error) => return Err(format!("cannot be read: {error}")),
        }
    }
    let found = sum.to_string();
    if found == expected {
        Ok(())
    } else {
        Err(format!("is damaged: its rows sum to '{found}', its footer says '{expected}'; record or copy it again"))
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
