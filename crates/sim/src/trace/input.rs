//! A file's bytes, unpacked if they are packed: gzip and zstd are seen by their first bytes.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use super::limits::{Limits, Looks};
use crate::error::{At, Error};

/// Large enough that a system call and a decompressor's call cost nothing per request.
const BUFFER_BYTES: usize = 256 * 1024;

/// zstd's own upper limit on 64-bit machines: files packed with `--long` open as well.
const ZSTD_WINDOW_LOG_MAX: u32 = 31;

/// So many bytes are read between two looks at the memory.
const BYTES_PER_LOOK: u64 = 1 << 20;

/// Why a file that begins so is not read as it is, and what makes it be. A trace of numbers may begin with
/// any of them: so as many bytes are looked at as tell.
fn refused(head: &[u8]) -> Option<&'static str> {
    match *head {
        [0xfd, b'7', b'z', b'X', b'Z', 0] => {
            Some("it is packed by xz, which is not unpacked here: 'xz -dc FILE | foresee sim -'")
        }
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41] => {
            Some("it is packed by bzip2, which is not unpacked here: 'bzip2 -dc FILE | foresee sim -'")
        }
        [0xff, 0xfe, b' '..=b'~', 0, b' '..=b'~', 0] | [0xfe, 0xff, 0, b' '..=b'~', 0, b' '..=b'~'] => {
            Some("it is UTF-16, and traces are UTF-8: 'iconv -f UTF-16 -t UTF-8 FILE | foresee sim -'")
        }
        _ => None,
    }
}

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
    regular: bool,
    limits: Limits,
    looks: Looks,
    source: Box<dyn Read>,
    /// What was read and not taken yet is from here to there.
    buffer: Box<[u8]>,
    from: usize,
    to: usize,
    /// What is wrong behind that, if it was met too early.
    broken: Option<String>,
}

impl Input {
    /// Opens a file, or standard input for `-`.
    ///
    /// # Errors
    /// If it cannot be opened or read.
    pub fn open(path: &Path) -> Result<Input, Error> {
        let is_standard = path.as_os_str() == "-";
        let path = if is_standard { Path::new("standard input") } else { path };
        let failed = |error: std::io::Error| Error::whole(path, format!("cannot be opened: {error}"));
        let opened = match is_standard {
            true => std::io::stdin().as_fd().try_clone_to_owned().map(File::from),
            false => File::open(path),
        };
        let file = opened.map_err(failed)?;
        let regular = !is_standard && file.metadata().map_err(failed)?.is_file();
        let mut head = Vec::new();
        // As much as tells how it is packed.
        (&file).take(6).read_to_end(&mut head).map_err(failed)?;
        if let Some(why) = refused(&head) {
            return Err(Error::whole(path, why));
        }
        let (gzip, zstd) = (head.starts_with(&[0x1f, 0x8b]), head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]));
        let bytes = std::io::Cursor::new(head).chain(file);
        let source: Box<dyn Read> = if gzip {
            let packed = BufReader::with_capacity(BUFFER_BYTES, bytes);
            Box::new(flate2::bufread::MultiGzDecoder::new(packed))
        } else if zstd {
            let packed = BufReader::with_capacity(BUFFER_BYTES, bytes);
            let mut decoder = zstd::stream::read::Decoder::with_buffer(packed).map_err(failed)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).map_err(failed)?;
            Box::new(decoder)
        } else {
            Box::new(bytes)
        };
        let buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
        let (path, packed) = (path.to_owned(), gzip || zstd);
        let (limits, looks) = (Limits::default(), Looks::default());
        Ok(Input { path, packed, regular, limits, looks, source, buffer, from: 0, to: 0, broken: None })
    }

    /// Lets it take no more than this.
    #[must_use]
    pub fn within(self, limits: Limits) -> Input {
        Input { limits, ..self }
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What reading it may take.
    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    /// Whether it lies in a gzip or zstd file.
    pub fn is_packed(&self) -> bool {
        self.packed
    }

    /// Whether it is a file that can be opened again, and read at any place.
    pub(super) fn is_regular(&self) -> bool {
        self.regular
    }

    /// The file's name and beginning, before anything is read.
    ///
    /// # Errors
    /// If the beginning cannot be read.
    pub fn head(&mut self) -> Result<Head<'_>, Error> {
        // A pipe gives less at once than a file.
        while self.to < self.buffer.len() {
            match self.read_more(At::Byte(0)) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    // Who reads on meets it again.
                    self.broken = Some(error.what.clone());
                    if self.to == self.from {
                        return Err(error);
                    }
                    break;
                }
            }
        }
        let name = self.path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name);
        Ok(Head { name, bytes: &self.buffer[self.from..self.to] })
    }

    /// Reads more behind what is there; false at the end of the file.
    fn read_more(&mut self, at: At) -> Result<bool, Error> {
        if let Some(what) = self.broken.take() {
            return Err(Error::new(&self.path, at, what));
        }
        loop {
            match self.source.read(&mut self.buffer[self.to..]) {
                Ok(read) => {
                    self.to += read;
                    if self.looks.are_due(read as u64, BYTES_PER_LOOK) {
                        self.limits.check_memory().map_err(|what| Error::new(&self.path, at, what))?;
                    }
                    return Ok(read > 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    let what = format!("cannot be read from here on: {error}; the file may be cut short or damaged");
                    return Err(Error::new(&self.path, at, what));
                }
            }
        }
    }

    /// What was read and not taken yet; nothing at the end of the file.
    fn fill(&mut self, at: At) -> Result<&[u8], Error> {
        if self.from == self.to {
            (self.from, self.to) = (0, 0);
            self.read_more(at)?;
        }
        Ok(&self.buffer[self.from..self.to])
    }

    /// Reads up to and with the next line end into `line`, but at most `bytes_max` bytes. 0 at the
    /// end.
    pub(crate) fn line(&mut self, line: &mut Vec<u8>, bytes_max: u64, at: At) -> Result<usize, Error> {
        line.clear();
        loop {
            let bytes = self.fill(at)?;
            let bytes = &bytes[..bytes.len().min(bytes_max as usize - line.len())];
            let end = bytes.iter().position(|&byte| byte == b'\n');
            let taken = end.map_or(bytes.len(), |end| end + 1);
            line.extend_from_slice(&bytes[..taken]);
            self.from += taken;
            if end.is_some() || taken == 0 {
                return Ok(line.len());
            }
        }
    }

    /// Fills `record`; fewer bytes only at the end of the file.
    #[inline]
    pub(crate) fn record(&mut self, record: &mut [u8], at: At) -> Result<usize, Error> {
        if let Some(bytes) = self.buffer[self.from..self.to].get(..record.len()) {
            record.copy_from_slice(bytes);
            self.from += record.len();
            return Ok(record.len());
        }
        let mut filled = 0;
        while filled < record.len() {
            let bytes = self.fill(at)?;
            let taken = bytes.len().min(record.len() - filled);
            if taken == 0 {
                break;
            }
            record[filled..filled + taken].copy_from_slice(&bytes[..taken]);
            (filled, self.from) = (filled + taken, self.from + taken);
        }
        Ok(filled)
    }

    /// All that is left.
    pub(super) fn rest(&mut self) -> Result<Vec<u8>, Error> {
        let mut rest = Vec::new();
        loop {
            let at = At::Byte(rest.len() as u64);
            let bytes = self.fill(at)?;
            if bytes.is_empty() {
                return Ok(rest);
            }
            rest.extend_from_slice(bytes);
            self.from = self.to;
        }
    }
}
