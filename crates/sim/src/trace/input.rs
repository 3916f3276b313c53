//! A file's bytes, unpacked if they are packed: gzip and zstd are seen by their first bytes.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::error::{At, Error};

/// Large enough that a system call and a decompressor's call cost nothing per request.
const BUFFER_BYTES: usize = 256 * 1024;

/// zstd's own upper limit on 64-bit machines: files packed with `--long` open as well.
const ZSTD_WINDOW_LOG_MAX: u32 = 31;

/// What a format is recognised by.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    /// The file's name without folders, and without `.gz` or `.zst`.
    pub name: &'a str,
    /// How the file begins, unpacked; not all of it unless it is short.
    pub bytes: &'a [u8],
}

/// A file open for reading.
pub struct Input {
    path: PathBuf,
    packed: bool,
    bytes: Box<dyn BufRead>,
}

impl Input {
    /// Opens a file.
    ///
    /// # Errors
    /// If it cannot be opened or read.
    pub fn open(path: &Path) -> Result<Input, Error> {
        let failed = |error: std::io::Error| Error::whole(path, format!("cannot be opened: {error}"));
        let mut file = BufReader::with_capacity(BUFFER_BYTES, File::open(path).map_err(failed)?);
        let magic = file.fill_buf().map_err(failed)?;
        let (packed, bytes): (bool, Box<dyn BufRead>) = if magic.starts_with(&[0x1f, 0x8b]) {
            (true, Box::new(BufReader::with_capacity(BUFFER_BYTES, flate2::bufread::MultiGzDecoder::new(file))))
        } else if magic.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(file).map_err(failed)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).map_err(failed)?;
            (true, Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder)))
        } else {
            (false, Box::new(file))
        };
        Ok(Input { path: path.to_owned(), packed, bytes })
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it lies in a gzip or zstd file.
    pub fn is_packed(&self) -> bool {
        self.packed
    }

    /// The file's name and beginning, before anything is read.
    ///
    /// # Errors
    /// If the beginning cannot be read.
    pub fn head(&mut self) -> Result<Head<'_>, Error> {
        let bytes = match self.bytes.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) => return Err(unreadable(&self.path, At::Byte(0), &error)),
        };
        let name = self.path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name);
        Ok(Head { name, bytes })
    }

    /// Reads up to and with the next line end into `line`, but at most `bytes_max` bytes. 0 at the end.
    pub(crate) fn line(&mut self, line: &mut Vec<u8>, bytes_max: u64, at: At) -> Result<usize, Error> {
        line.clear();
        let read = self.bytes.by_ref().take(bytes_max).read_until(b'\n', line);
        read.map_err(|error| unreadable(&self.path, at, &error))
    }

    /// Fills `record`; fewer bytes only at the end of the file.
    pub(crate) fn record(&mut self, record: &mut [u8], at: At) -> Result<usize, Error> {
        let mut filled = 0;
        while filled < record.len() {
            match self.bytes.read(&mut record[filled..]) {
                Ok(0) => break,
                Ok(more) => filled += more,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(unreadable(&self.path, at, &error)),
            }
        }
        Ok(filled)
    }
}

fn unreadable(path: &Path, at: At, error: &std::io::Error) -> Error {
    Error::new(path, at, format!("cannot be read from here on: {error}; the file may be cut short or damaged"))
}
