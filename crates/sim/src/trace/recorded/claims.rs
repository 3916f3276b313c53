//! What a Parquet file claims of its pages, checked before the decoder makes room for it.
//!
//! The decoder allocates what a page's header says the page unpacks to, and a dictionary of as many
//! values as its header says: a few bytes may claim some gigabytes. The file's own bytes bound
//! both.

use std::io::Read;

use bytes::Bytes;
use parquet::basic::Type;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length};

/// What a page may unpack to, whatever it is packed in. Data tools cut pages at 1 MiB, and
/// overshoot by a batch of rows.
const PAGE_BYTES: u64 = 2 << 20;
/// And for each byte that it is packed in. A column that says the same in each row takes few bytes
/// indeed.
const UNPACKED_PER_BYTE: u64 = 4096;
/// The file's last bytes: how long the footer is, and the format's mark.
const END_BYTES: u64 = 8;
/// As long as the part of a page's header gets that is looked at.
const HEADER_BYTES: u64 = 18;

fn refused(what: String) -> ParquetError {
    ParquetError::General(what)
}

/// A file of which pages are read that unpack to what their bytes warrant.
pub(super) struct Warranted<R>(pub(super) R);

impl<R: Length> Length for Warranted<R> {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl<R: ChunkReader> ChunkReader for Warranted<R> {
    type T = R::T;

    /// The decoder reads so the file's end, and each page's header.
    fn get_read(&self, start: u64) -> Result<R::T> {
        if start.saturating_add(END_BYTES) < self.len() {
            let mut header = Vec::new();
            self.0.get_read(start)?.take(HEADER_BYTES).read_to_end(&mut header)?;
            check_header(&header)?;
        }
        self.0.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        if start.saturating_add(length as u64) > self.len() {
            return Err(refused(format!("{length} bytes are to be at {start}, beyond its end")));
        }
        self.0.get_bytes(start, length)
    }
}

/// Where a file's footer begins, as its last bytes say; 0 if they cannot.
pub(super) fn footer_begin(file: &impl ChunkReader) -> u64 {
    let before = file.len().saturating_sub(END_BYTES);
    let end = file.get_bytes(before, END_BYTES as usize).unwrap_or_default();
    end.first_chunk().map_or(0, |&length| before.saturating_sub(u32::from_le_bytes(length).into()))
}

/// A page's header begins with three 32-bit numbers: its type, and its bytes unpacked and packed.
/// (Thrift's compact protocol: before each, a byte says that the next field follows and is such a
/// number; signs are in the lowest bit.)
fn check_header(header: &[u8]) -> Result<()> {
    const NEXT_NUMBER: u8 = 0x15;
    let mut bytes = header.iter();
    let mut number = || {
        let mut number = 0;
        if *bytes.next()? != NEXT_NUMBER {
            return None;
        }
        for shift in (0..35).step_by(7) {
            let byte = *bytes.next()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number >> 1);
            }
        }
        None
    };
    let (Some(_), Some(unpacked), Some(packed)) = (number(), number(), number()) else {
        return Err(refused("a page begins with no page header".to_owned()));
    };
    if unpacked <= PAGE_BYTES + packed.saturating_mul(UNPACKED_PER_BYTE) {
        return Ok(());
    }
    Err(refused(format!(
        "a page of {packed} bytes claims to unpack to {unpacked}; if they are meant, write it again with pages of 1 MiB"
    )))
}

/// Whether a column's bytes lie in the file, as far as the decoder does not see to it itself.
pub(super) fn check_column(column: &ColumnChunkMetaData) -> Result<()> {
    let begin = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
    if begin >= 0 && column.compressed_size() >= 0 {
        return Ok(());
    }
    Err(refused(format!("a column of {} bytes is to begin at {begin}", column.compressed_size())))
}

/// Pages whose dictionary has as many values as its bytes can hold.
pub(super) struct Pages {
    pub(super) pages: Box<dyn PageReader>,
    pub(super) of: Type,
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        if let Some(Page::DictionaryPage { buf, num_values, .. }) = &page {
            // A path has its length before it, in as many bytes as a narrow number.
            let each = if self.of == Type::INT64 { 8 } else { 4 };
            if *num_values as usize > buf.len() / each {
                return Err(refused(format!("a dictionary of {} bytes claims to have {num_values} values", buf.len())));
            }
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}
