//! An open object.

use std::sync::Arc;

use foresee_manager::{Block, Event, FileId};
use foresee_store::Version;

use crate::error::Error;
use crate::pool::Pool;
use crate::reader::Reader;
use crate::view::View;

/// One version of an object, open. A clone is another handle of the same; it is cheap.
#[derive(Clone)]
pub struct File {
    reader: Arc<Reader>,
    opened: Arc<Opened>,
}

/// What keeps it open.
struct Opened {
    pool: Arc<Pool>,
    id: FileId,
    address: Arc<str>,
    /// Where its name in its store begins there.
    name_at: usize,
    size: u64,
    version: Version,
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.pool.closed(self.id);
    }
}

impl File {
    pub(crate) fn new(reader: Arc<Reader>, id: FileId, address: &str, name: &str, size: u64, version: Version) -> Self {
        let (pool, name_at, address) = (Arc::clone(&reader.pool), address.len() - name.len(), Arc::from(address));
        let opened = Opened { pool, id, address, name_at, size, version };
        File { reader, opened: Arc::new(opened) }
    }

    /// Reads from `offset` on. Returns how many bytes came: fewer than the buffer holds only at the end of the file.
    ///
    /// # Errors
    /// If a part of it could not be read; then anything may stand in the buffer.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Error> {
        let Opened { pool, id, size, .. } = &*self.opened;
        let count = (buffer.len() as u64).min(size.saturating_sub(offset)) as usize;
        if count > 0 {
            pool.read(self.reader.who(), *id, offset, &mut buffer[..count]).map_err(|error| self.failed(error))?;
        }
        Ok(count)
    }

    /// The bytes from `offset` on, without a copy: up to `len`, up to the end of the block they are in and to the end of the file. They
    /// stay as they are, and in memory, for as long as the view is there.
    ///
    /// # Errors
    /// If they could not be read, or if views have half of the memory.
    pub fn view(&self, offset: u64, len: usize) -> Result<View<'_>, Error> {
        let Opened { pool, id, size, .. } = &*self.opened;
        let block_bytes = pool.memory().frame_bytes() as u64;
        let begin = offset & (block_bytes - 1);
        let count = (len as u64).min(size.saturating_sub(offset)).min(block_bytes - begin);
        if count == 0 {
            return Ok(View::empty());
        }
        let block = Block { file: *id, index: pool.memory().block_of(offset) };
        let frame = pool.view(self.reader.who(), block, begin as usize).map_err(|error| self.failed(error))?;
        let bytes = begin as usize..(begin + count) as usize;
        Ok(View::new(pool, frame.ok_or(Error::TooManyViews)?, bytes))
    }

    /// Its length in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.opened.size
    }

    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Which bytes it has: those of another version may be others.
    #[must_use]
    pub fn version(&self) -> &Version {
        &self.opened.version
    }

    /// Its name in its store.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.opened.address[self.opened.name_at..]
    }

    /// Of this reader's blocks, those of files of lower priority go first; 0 is every file's at first.
    ///
    /// # Errors
    /// If the policy takes no advice (`lru-sp` does), or not this.
    pub fn set_priority(&self, priority: i32) -> Result<(), Error> {
        let (reader, file) = (self.reader.id, self.opened.id);
        self.reader.advise(Event::SetPriority { reader, file, priority })
    }

    pub(crate) fn id(&self) -> FileId {
        self.opened.id
    }

    fn failed(&self, error: foresee_store::Error) -> Error {
        Error::Store { name: Arc::clone(&self.opened.address), error }
    }
}
