//! Reads recorded traces, some thousand rows at a time.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use parquet::basic::Type;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::FileMetaData;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};

use super::claims::{Pages, Warranted, check_column, footer_begin};
use super::{COLUMNS, SITES, checksum};
use crate::error::{At, Error};
use crate::trace::{Input, Reader, Request, Span};

/// Rows decoded at once.
const ROWS_PER_BATCH: usize = 8192;

const FILE: usize = 3;

/// Columns a trace cannot do without: file, offset, length.
const NEEDED: [usize; 3] = [FILE, 4, 5];

pub(super) struct RecordedReader {
    path: PathBuf,
    file: Box<dyn FileReader>,
    /// Where each of [`COLUMNS`] stands in the file.
    places: [Option<usize>; COLUMNS.len()],
    groups_opened: usize,
    /// The columns of the open row group.
    columns: [Option<ColumnReader>; COLUMNS.len()],
    /// Decoded rows: the numbers column by column, and the files' indices.
    numbers: [Vec<i64>; COLUMNS.len()],
    files: Vec<u32>,
    /// The next decoded row to give out, and how many rows were decoded before this batch.
    next: usize,
    row: u64,
    names: Vec<String>,
    index_of: HashMap<Vec<u8>, u32>,
    sites: Vec<(u64, String)>,
}

/// What the footer says of call sites; lines that are not of the form are passed over.
fn sites(metadata: &FileMetaData) -> Vec<(u64, String)> {
    let pairs = metadata.key_value_metadata().map_or(&[][..], Vec::as_slice);
    let lines = pairs.iter().filter(|pair| pair.key == SITES).filter_map(|pair| pair.value.as_deref());
    let named = |line: &str| {
        let (site, name) = line.split_once(' ')?;
        Some((u64::from_str_radix(site, 16).ok()?, name.to_owned()))
    };
    lines.flat_map(str::lines).filter_map(named).collect()
}

impl RecordedReader {
    pub(super) fn open(mut input: Input) -> Result<Self, Error> {
        if input.is_packed() {
            let what = "a Parquet file inside a gzip or zstd file cannot be read; unpack it (Parquet packs its columns itself)";
            return Err(Error::whole(input.path(), what));
        }
        if !input.is_regular() {
            // What it holds is found from its end.
            let all = Bytes::from(input.rest()?);
            return Self::of(input.path(), all.clone(), all.as_ref());
        }
        let path = input.path();
        let open = || File::open(path).map_err(|error| Error::whole(path, format!("cannot be opened: {error}")));
        Self::of(path, open()?, open()?)
    }

    /// Reads the trace in `chunks`, which are `bytes` once more and came from `path`.
    pub(super) fn of(path: &Path, chunks: impl ChunkReader + 'static, bytes: impl Read) -> Result<Self, Error> {
        let failed = |what: String| Error::whole(path, what);
        let footer_begin = footer_begin(&chunks);
        let file = guarded(|| SerializedFileReader::new(Warranted(chunks)).map_err(|error| error.to_string()))
            .map_err(|error| {
                failed(format!(
                    "is no whole Parquet file: {error}; if its recording was cut short, its footer is missing"
                ))
            })?;
        checksum::verify(bytes, file.metadata(), footer_begin).map_err(failed)?;
        let sites = sites(file.metadata().file_metadata());
        let schema = file.metadata().file_metadata().schema_descr_ptr();
        let mut places = [None; COLUMNS.len()];
        for (at, column) in schema.columns().iter().enumerate() {
            let Some(which) = COLUMNS.iter().position(|name| column.path().string() == *name) else { continue };
            let fits = match column.physical_type() {
                Type::BYTE_ARRAY => which == FILE,
                Type::INT32 | Type::INT64 => which != FILE,
                _ => false,
            };
            if !fits || column.max_rep_level() > 0 {
                let (name, found) = (COLUMNS[which], column.physical_type());
                return Err(failed(format!(
                    "the column '{name}' is of type {found}; a path is BYTE_ARRAY, all else INT64"
                )));
            }
            places[which] = Some(at);
        }
        if let Some(missing) = NEEDED.into_iter().find(|&which| places[which].is_none()) {
            return Err(failed(format!(
                "has no column '{}'; a recorded trace has file, offset and length",
                COLUMNS[missing]
            )));
        }
        Ok(RecordedReader {
            path: path.to_owned(),
            file: Box::new(file),
            places,
            groups_opened: 0,
            columns: Default::default(),
            numbers: Default::default(),
            files: Vec::new(),
            next: 0,
            row: 0,
            names: Vec::new(),
            index_of: HashMap::new(),
            sites,
        })
    }

    fn failed(&self, what: String) -> Error {
        Error::new(&self.path, At::Row(self.row + self.next as u64), what)
    }

    /// Decodes the next batch of rows. False at the end.
    fn decode(&mut self) -> Result<bool, Error> {
        self.row += self.files.len() as u64;
        self.next = 0;
        self.files.clear();
        loop {
            if self.groups_opened > 0 && self.decode_from_group()? > 0 {
                return Ok(true);
            }
            if self.groups_opened == self.file.num_row_groups() {
                return Ok(false);
            }
            guarded(|| self.open_group().map_err(|error| unreadable(&error))).map_err(|what| self.failed(what))?;
        }
    }

    fn open_group(&mut self) -> Result<(), ParquetError> {
        let group = self.file.get_row_group(self.groups_opened)?;
        for (column, place) in self.columns.iter_mut().zip(self.places) {
            let open = |place| {
                check_column(group.metadata().column(place))?;
                let description = group.metadata().schema_descr().column(place);
                let pages = Pages { pages: group.get_column_page_reader(place)?, of: description.physical_type() };
                Ok::<_, ParquetError>(get_column_reader(description, Box::new(pages)))
            };
            *column = place.map(open).transpose()?;
        }
        self.groups_opened += 1;
        Ok(())
    }

    fn decode_from_group(&mut self) -> Result<usize, Error> {
        let mut paths: Vec<ByteArray> = Vec::new();
        let mut rows = None;
        for (which, numbers) in self.numbers.iter_mut().enumerate() {
            numbers.clear();
            let read = match &mut self.columns[which] {
                None => continue,
                Some(ColumnReader::Int64ColumnReader(column)) => read_column(column, numbers),
                Some(ColumnReader::Int32ColumnReader(column)) => {
                    let mut narrow = Vec::new();
                    let read = read_column(column, &mut narrow);
                    numbers.extend(narrow.into_iter().map(i64::from));
                    read
                }
                Some(ColumnReader::ByteArrayColumnReader(column)) => read_column(column, &mut paths),
                Some(_) => Err("its type changes between row groups".to_owned()),
            };
            let at = At::Row(self.row);
            let failed = |what| Error::new(&self.path, at, format!("column '{}': {what}", COLUMNS[which]));
            let read = read.map_err(failed)?;
            if *rows.get_or_insert(read) != read {
                return Err(failed("is shorter or longer than others; the file may be damaged".to_owned()));
            }
        }
        for path in &paths {
            let file = self.file_index(path.data())?;
            self.files.push(file);
        }
        Ok(rows.unwrap_or(0))
    }

    fn file_index(&mut self, path: &[u8]) -> Result<u32, Error> {
        if let Some(&index) = self.index_of.get(path) {
            return Ok(index);
        }
        let index = u32::try_from(self.names.len())
            .map_err(|_| self.failed("there are more than 2^32 files; split the trace".to_owned()))?;
        self.index_of.insert(path.to_vec(), index);
        self.names.push(String::from_utf8_lossy(path).into_owned());
        Ok(index)
    }

    /// A number of the current row; 0 if the trace has no such column.
    fn number(&self, which: usize) -> i64 {
        self.numbers[which].get(self.next).copied().unwrap_or(0)
    }

    fn unsigned(&self, which: usize) -> Result<u64, Error> {
        let number = self.number(which);
        u64::try_from(number).map_err(|_| {
            self.failed(format!("{number} in the column '{}' is below 0; mend the row or leave it out", COLUMNS[which]))
        })
    }

    /// A process's or thread's number. A tool may have widened the column; the manager only tells
    /// them apart.
    fn id(&self, which: usize) -> Result<i32, Error> {
        let number = self.number(which);
        i32::try_from(number)
            .map_err(|_| self.failed(format!("{number} in the column '{}' does not fit 32 bits", COLUMNS[which])))
    }
}

fn unreadable(error: &ParquetError) -> String {
    format!("cannot be read: {error}; the file may be damaged")
}

/// Decodes something; if the decoder panics, which parquet 60 does on some damaged pages and
/// footers, that is an error like any other. (In a program built to abort on a panic it stays one;
/// the checksum sees to it that only a damaged footer, or another tool's file, gets that far.)
fn guarded<T>(decode: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|_| Err("its Parquet pages are damaged".to_owned()))
}

/// Appends the column's next values. Returns how many.
fn read_column<T: DataType>(column: &mut ColumnReaderImpl<T>, values: &mut Vec<T::T>) -> Result<usize, String> {
    let mut levels = Vec::new();
    let (rows, read, _) = guarded(|| {
        let read = column.read_records(ROWS_PER_BATCH, Some(&mut levels), None, values);
        read.map_err(|error| unreadable(&error))
    })?;
    if read == rows { Ok(rows) } else { Err(format!("{} of its values are null; fill them in", rows - read)) }
}

impl Reader for RecordedReader {
    fn next(&mut self) -> Result<Option<Request>, Error> {
        if self.next == self.files.len() && !self.decode()? {
            return Ok(None);
        }
        let request = Request {
            time_ns: self.unsigned(0)?,
            process: self.id(1)?,
            thread: self.id(2)?,
            file: self.files[self.next],
            span: Span::Range { offset: self.unsigned(4)?, length: self.unsigned(5)? },
            site: self.number(6).cast_unsigned(),
            took_ns: self.unsigned(7)?,
            write: self.number(8) != 0,
        };
        self.next += 1;
        Ok(Some(request))
    }

    fn at(&self) -> At {
        At::Row((self.row + self.next as u64).saturating_sub(1))
    }

    fn names(&self) -> &[String] {
        &self.names
    }

    fn sites(&self) -> &[(u64, String)] {
        &self.sites
    }
}
