//! A trace open for reading, whatever its format: what it may take is seen to here, for all formats
//! and all that is made of them.

use std::path::{Path, PathBuf};

use super::limits::{Limits, Looks};
use super::{Format, Input, Reader, Request, recognise};
use crate::error::{At, Error};

/// So many requests and their blocks are given between two looks at the memory.
const BLOCKS_PER_LOOK: u64 = 1 << 18;

/// A trace's requests.
pub struct Requests {
    path: PathBuf,
    format: &'static Format,
    limits: Limits,
    looks: Looks,
    block_bytes: u64,
    reader: Box<dyn Reader>,
}

impl Requests {
    /// Begins to read. Without a `format`, the file's name and beginning decide.
    ///
    /// # Errors
    /// If the file cannot be read, is empty, or its format is not known.
    pub fn of(mut input: Input, format: Option<&'static Format>, block_bytes: u64) -> Result<Requests, Error> {
        let (path, limits) = (input.path().to_owned(), input.limits());
        if input.head().is_ok_and(|head| head.bytes.is_empty()) {
            return Err(Error::whole(&path, "is empty; a trace holds requests"));
        }
        let format = match format {
            Some(format) => format,
            None => recognise(&mut input)?,
        };
        let reader = (format.read)(input, block_bytes)?;
        Ok(Requests { path, format, limits, looks: Looks::default(), block_bytes, reader })
    }

    /// The format.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Reader for Requests {
    #[inline]
    fn next(&mut self) -> Result<Option<Request>, Error> {
        let next = self.reader.next()?;
        if let Some(request) = &next {
            let blocks = request.span.blocks(self.block_bytes);
            let bytes = request.span.length();
            if bytes > self.limits.request_bytes || self.looks.are_due(blocks, BLOCKS_PER_LOOK) {
                let within = self.limits.check_request(bytes).and_then(|()| self.limits.check_memory());
                within.map_err(|what| Error::new(&self.path, self.reader.at(), what))?;
            }
        }
        Ok(next)
    }

    fn at(&self) -> At {
        self.reader.at()
    }

    fn names(&self) -> &[String] {
        self.reader.names()
    }

    fn sites(&self) -> &[(u64, String)] {
        self.reader.sites()
    }
}
