//! Writes recorded traces, a row group at a time, so that a long recording needs no memory.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

use super::checksum::{self, Sum};
use super::{COLUMNS, ROWS_PER_GROUP, SITES};
use crate::error::Error;
use crate::trace::{Numbering, Request, Span, Target, Writer};

const SCHEMA: &str = "message foresee {
    REQUIRED INT64 time_ns;
    REQUIRED INT32 process;
    REQUIRED INT32 thread;
    REQUIRED BYTE_ARRAY file (UTF8);
    REQUIRED INT64 offset;
    REQUIRED INT64 length;
    REQUIRED INT64 site;
    REQUIRED INT64 took_ns;
    REQUIRED INT32 write;
}";

/// The rows of a group that is not full yet, column by column.
#[derive(Default)]
struct Rows {
    time_ns: Vec<i64>,
    process: Vec<i32>,
    thread: Vec<i32>,
    file: Vec<ByteArray>,
    offset: Vec<i64>,
    length: Vec<i64>,
    site: Vec<i64>,
    took_ns: Vec<i64>,
    write: Vec<i32>,
}

impl Rows {
    fn clear(&mut self) {
        self.time_ns.clear();
        self.process.clear();
        self.thread.clear();
        self.file.clear();
        self.offset.clear();
        self.length.clear();
        self.site.clear();
        self.took_ns.clear();
        self.write.clear();
    }
}

/// The file, and the sum of what went into it.
struct Summed {
    file: File,
    sum: Sum,
}

impl Write for Summed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Writes a recorded trace.
pub struct RecordedWriter {
    path: PathBuf,
    file: Option<SerializedFileWriter<Summed>>,
    rows: Rows,
    /// A path is kept once, however many rows name it.
    names: HashMap<String, ByteArray>,
    /// Lines of the footer.
    sites: String,
}

impl RecordedWriter {
    /// Begins to write.
    ///
    /// # Errors
    /// If it cannot.
    pub fn new(Target { path, file }: Target) -> Result<Self, Error> {
        let file = start(file).map_err(|error| failed(&path, &error))?;
        let (rows, names, sites) = (Rows::default(), HashMap::new(), String::new());
        Ok(RecordedWriter { path, file: Some(file), rows, names, sites })
    }

    /// Writes the rows so far as one group. Recording does it by itself every [`ROWS_PER_GROUP`]
    /// rows.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn flush(&mut self) -> Result<(), Error> {
        if let Some(file) = &mut self.file
            && !self.rows.time_ns.is_empty()
        {
            let written = file.next_row_group().and_then(|group| write_group(group, &self.rows));
            self.rows.clear();
            self.names.clear();
            written.map_err(|error| failed(&self.path, &error))?;
        }
        Ok(())
    }

    fn whole_number(&self, value: u64, column: &str) -> Result<i64, Error> {
        i64::try_from(value).map_err(|_| {
            Error::whole(&self.path, format!("{value} does not fit the column {column}; it holds numbers below 2^63"))
        })
    }
}

impl Writer for RecordedWriter {
    /// Only ranges of bytes can be recorded; block and object traces are converted.
    fn push(&mut self, request: &Request, file: &str) -> Result<(), Error> {
        let Span::Range { offset, length } = request.span else {
            return Err(Error::whole(&self.path, "a block's number is no place in a file; convert the trace"));
        };
        let (offset, length) = (self.whole_number(offset, COLUMNS[4])?, self.whole_number(length, COLUMNS[5])?);
        let (time_ns, took_ns) =
            (self.whole_number(request.time_ns, COLUMNS[0])?, self.whole_number(request.took_ns, COLUMNS[7])?);
        let name = match self.names.get(file) {
            Some(name) => name.clone(),
            None => self.names.entry(file.to_owned()).or_insert(ByteArray::from(file)).clone(),
        };
        let rows = &mut self.rows;
        rows.time_ns.push(time_ns);
        rows.process.push(request.process);
        rows.thread.push(request.thread);
        rows.file.push(name);
        rows.offset.push(offset);
        rows.length.push(length);
        rows.site.push(request.site.cast_signed());
        rows.took_ns.push(took_ns);
        rows.write.push(i32::from(request.write));
        if rows.time_ns.len() >= ROWS_PER_GROUP { self.flush() } else { Ok(()) }
    }

    fn name_sites(&mut self, sites: &[(u64, String)]) {
        self.sites.extend(sites.iter().map(|(site, name)| format!("{site:016x} {}\n", name.replace('\n', " "))));
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.flush()?;
        match self.file.take() {
            Some(file) => end(file, &self.sites).map_err(|error| failed(&self.path, &error)),
            None => Ok(()),
        }
    }
}

fn failed(path: &Path, error: &ParquetError) -> Error {
    // The system's own words, where it is the system that refuses.
    match error {
        ParquetError::External(refusal) => Error::whole(path, format!("cannot be written: {refusal}")),
        other => Error::whole(path, format!("cannot be written: {other}")),
    }
}

fn start(file: File) -> Result<SerializedFileWriter<Summed>, ParquetError> {
    let mut properties = WriterProperties::builder()
        .set_created_by(checksum::CREATED_BY.to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::default()));
    // Times rise and offsets mostly follow one another: their differences are small where a dictionary
    // would be large.
    for column in ["time_ns", "offset", "took_ns"] {
        let column = ColumnPath::from(column);
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    let file = Summed { file, sum: Sum::default() };
    SerializedFileWriter::new(file, Arc::new(parse_message_type(SCHEMA)?), Arc::new(properties.build()))
}

fn write_group(mut group: SerializedRowGroupWriter<'_, Summed>, rows: &Rows) -> Result<(), ParquetError> {
    for name in COLUMNS {
        let Some(mut column) = group.next_column()? else { break };
        match name {
            "time_ns" => column.typed::<Int64Type>().write_batch(&rows.time_ns, None, None),
            "process" => column.typed::<Int32Type>().write_batch(&rows.process, None, None),
            "thread" => column.typed::<Int32Type>().write_batch(&rows.thread, None, None),
            "file" => column.typed::<ByteArrayType>().write_batch(&rows.file, None, None),
            "offset" => column.typed::<Int64Type>().write_batch(&rows.offset, None, None),
            "length" => column.typed::<Int64Type>().write_batch(&rows.length, None, None),
            "site" => column.typed::<Int64Type>().write_batch(&rows.site, None, None),
            "took_ns" => column.typed::<Int64Type>().write_batch(&rows.took_ns, None, None),
            _ => column.typed::<Int32Type>().write_batch(&rows.write, None, None),
        }?;
        column.close()?;
    }
    group.close().map(|_| ())
}

/// Writes the sum of all rows, the names of call sites if there are any, and the footer.
fn end(mut file: SerializedFileWriter<Summed>, sites: &str) -> Result<(), ParquetError> {
    file.flush()?;
    let sum = file.inner().sum.to_string();
    file.append_key_value_metadata(KeyValue::new(checksum::KEY.to_owned(), sum));
    if !sites.is_empty() {
        file.append_key_value_metadata(KeyValue::new(SITES.to_owned(), sites.to_owned()));
    }
    file.finish().map(|_| ())
}

/// Writes any trace as a recorded one: a numbered block or object becomes the block of a file at
/// that place.
pub(super) struct Converting {
    writer: RecordedWriter,
    numbering: Numbering,
    block_bytes: u64,
}

impl Converting {
    pub(super) fn new(target: Target, block_bytes: u64) -> Result<Self, Error> {
        Ok(Converting { writer: RecordedWriter::new(target)?, numbering: Numbering::default(), block_bytes })
    }
}

impl Writer for Converting {
    fn push(&mut self, request: &Request, file: &str) -> Result<(), Error> {
        let mut request = *request;
        if let Span::Object { number, .. } = request.span {
            let offset = self.numbering.index(number).saturating_mul(self.block_bytes);
            request.span = Span::Range { offset, length: self.block_bytes };
        }
        self.writer.push(&request, file)
    }

    fn name_sites(&mut self, sites: &[(u64, String)]) {
        self.writer.name_sites(sites);
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.writer.finish()
    }
}
