//! A file to write, packed if its name ends in `.gz` or `.zst`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::Error;

enum Packing {
    Plain(BufWriter<File>),
    Gzip(flate2::write::GzEncoder<BufWriter<File>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<File>>),
}

/// An empty file, and what it is called in errors: it may lie elsewhere until it is whole.
#[derive(Debug)]
pub struct Target {
    /// What it is called.
    pub path: PathBuf,
    /// The file.
    pub file: File,
}

impl Target {
    /// Makes a file, or empties one that is there.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create(path: &Path) -> Result<Target, Error> {
        let file = File::create(path).map_err(|error| Error::whole(path, format!("cannot be made: {error}")))?;
        Ok(Target { path: path.to_owned(), file })
    }
}

/// A file being written.
pub struct Output {
    path: PathBuf,
    packing: Option<Packing>,
}

impl Output {
    /// Begins to write, packed as the target's name says.
    ///
    /// # Errors
    /// If the packing cannot begin.
    pub fn new(Target { path, file }: Target) -> Result<Output, Error> {
        let file = BufWriter::new(file);
        let packing = match path.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => Packing::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default())),
            Some("zst") => Packing::Zstd(
                zstd::stream::write::Encoder::new(file, 0)
                    .map_err(|error| Error::whole(&path, format!("cannot be packed: {error}")))?,
            ),
            _ => Packing::Plain(file),
        };
        Ok(Output { path, packing: Some(packing) })
    }

    /// What the file is called.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let written = match &mut self.packing {
            Some(Packing::Plain(file)) => file.write_all(bytes),
            Some(Packing::Gzip(file)) => file.write_all(bytes),
            Some(Packing::Zstd(file)) => file.write_all(bytes),
            None => Err(std::io::Error::other("it is finished")),
        };
        written.map_err(|error| self.unwritable(&error))
    }

    /// Writes what is buffered, and the packing's end.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn finish(&mut self) -> Result<(), Error> {
        let file = match self.packing.take() {
            Some(Packing::Plain(file)) => Ok(file),
            Some(Packing::Gzip(file)) => file.finish(),
            Some(Packing::Zstd(file)) => file.finish(),
            None => return Ok(()),
        };
        file.and_then(|mut file| file.flush()).map_err(|error| self.unwritable(&error))
    }

    fn unwritable(&self, error: &std::io::Error) -> Error {
        Error::whole(&self.path, format!("cannot be written: {error}"))
    }
}
