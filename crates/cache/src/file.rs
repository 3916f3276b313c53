//! An open object.

use std::ops::Range;
use std::sync::Arc;

use foresee_manager::{Block, Event, FileId};
use foresee_store::Version;

use crate::cache::Cache;
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
    /// Bytes of its blocks: two to the power of what follows. They are the pool's, and nearer here.
    block_bytes: u64,
    block_shift: u32,
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.pool.closed(self.id);
    }
}

impl File {
    pub(crate) fn new(reader: Arc<Reader>, id: FileId, address: &str, name: &str, size: u64, version: Version) -> Self {
        let (pool, name_at, address) = (Arc::clone(&reader.pool), address.len() - name.len(), Arc::from(address));
        let block_bytes = pool.memory().frame_bytes() as u64;
        let block_shift = block_bytes.trailing_zeros();
        let opened = Opened { pool, id, address, name_at, size, version, block_bytes, block_shift };
        File { reader, opened: Arc::new(opened) }
    }

    /// The same, read by the reader that this handle of the same cache is.
    ///
    /// # Errors
    /// If it is a handle of another cache.
    pub fn read_by(&self, reader: &Cache) -> Result<File, Error> {
        self.id_in(reader.pool())?;
        Ok(File { reader: Arc::clone(reader.own_reader()), opened: Arc::clone(&self.opened) })
    }

    /// Reads from `offset` on. Returns how many bytes came: fewer than the buffer holds only at the
    /// end of the file.
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

    /// As [`File::read_at`], as a future of any executor: up to `len` bytes, in memory of their
    /// own. Nothing is asked for before it is first polled. Dropped before it is ready, it is
    /// given up, and wakes nobody any more; what was on its way comes into the cache.
    ///
    /// ```
    /// # use std::{pin::pin, sync::Arc, task::{Context, Poll, Wake}, thread::{self, Thread}};
    /// # struct Unpark(Thread);
    /// # impl Wake for Unpark { fn wake(self: Arc<Self>) { self.0.unpark() } }
    /// # fn block_on<T>(future: impl Future<Output = T>) -> T {
    /// #     let (mut future, waker) = (pin!(future), Arc::new(Unpark(thread::current())).into());
    /// #     loop {
    /// #         match future.as_mut().poll(&mut Context::from_waker(&waker)) {
    /// #             Poll::Ready(value) => return value,
    /// #             Poll::Pending => thread::park(),
    /// #         }
    /// #     }
    /// # }
    /// # let path = std::env::temp_dir().join(format!("foresee-doc-async-{}", std::process::id()));
    /// # std::fs::write(&path, vec![7; 100_000]).unwrap();
    /// # let path = path.to_str().unwrap();
    /// # let cache = foresee::Cache::builder().memory(16 << 20).open()?;
    /// # block_on(async {
    /// let file = cache.open_async(path).await?;
    /// let bytes = file.read_at_async(70_000, 100).await?;
    /// assert_eq!(bytes, [7; 100]);
    /// let view = file.view_async(41_000, 100).await?;
    /// assert_eq!(view[0], 7);
    /// # std::fs::remove_file(path).unwrap();
    /// # Ok::<_, foresee::Error>(())
    /// # })?;
    /// # Ok::<_, foresee::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`File::read_at`].
    pub async fn read_at_async(&self, offset: u64, len: usize) -> Result<Vec<u8>, Error> {
        let Opened { pool, id, size, .. } = &*self.opened;
        let buffer = vec![0; (len as u64).min(size.saturating_sub(offset)) as usize];
        if buffer.is_empty() {
            return Ok(buffer);
        }
        pool.read_async(self.reader.who(), *id, offset, buffer).await.map_err(|error| self.failed(error))
    }

    /// As [`File::read_at`], without waiting: copies what is in memory, up to the first byte that
    /// is not. Returns how many bytes.
    pub fn read_now(&self, buffer: &mut [u8], offset: u64) -> usize {
        let Opened { pool, id, size, .. } = &*self.opened;
        match (buffer.len() as u64).min(size.saturating_sub(offset)) as usize {
            0 => 0,
            count => pool.read_now(self.reader.who(), *id, offset, &mut buffer[..count]),
        }
    }

    /// The bytes from `offset` on, without a copy: up to `len`, up to the end of the block they are
    /// in and to the end of the file. They stay as they are, and in memory, for as long as the
    /// view is there.
    ///
    /// # Errors
    /// If they could not be read, or if views have half of the memory, less a few that are for
    /// other threads.
    #[inline]
    pub fn view(&self, offset: u64, len: usize) -> Result<View<'_>, Error> {
        let Some((block, bytes)) = self.within_block(offset, len) else { return Ok(View::empty()) };
        let pool = &self.opened.pool;
        match pool.view(self.reader.who(), block, bytes.start) {
            Ok(Some(viewed)) => Ok(View::new(pool, viewed, bytes)),
            Ok(None) => Err(Error::TooManyViews),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// As [`File::view`], as a future of any executor; see [`File::read_at_async`]. That it came
    /// counts as a view, looked at or not.
    ///
    /// # Errors
    /// As [`File::view`].
    pub async fn view_async(&self, offset: u64, len: usize) -> Result<View<'_>, Error> {
        let Some((block, bytes)) = self.within_block(offset, len) else { return Ok(View::empty()) };
        let pool = &self.opened.pool;
        let viewed = pool.view_async(self.reader.who(), block, bytes.start).await;
        let viewed = viewed.map_err(|error| self.failed(error))?;
        Ok(View::new(pool, viewed.ok_or(Error::TooManyViews)?, bytes))
    }

    /// As [`File::view`], without waiting: None if the bytes are not in memory.
    ///
    /// # Errors
    /// If views have half of the memory, less a few that are for other threads.
    pub fn view_now(&self, offset: u64, len: usize) -> Result<Option<View<'_>>, Error> {
        let Some((block, bytes)) = self.within_block(offset, len) else { return Ok(Some(View::empty())) };
        let pool = &self.opened.pool;
        match pool.view_now(self.reader.who(), block, bytes.start) {
            Some(viewed) => Ok(Some(View::new(pool, viewed.ok_or(Error::TooManyViews)?, bytes))),
            None => Ok(None),
        }
    }

    /// The block in which bytes begin, and which of its bytes they are as far as they lie in it and
    /// in the file; None if there are none.
    #[inline]
    fn within_block(&self, offset: u64, len: usize) -> Option<(Block, Range<usize>)> {
        let &Opened { id, size, block_bytes, block_shift, .. } = &*self.opened;
        let begin = offset & (block_bytes - 1);
        let count = (len as u64).min(size.saturating_sub(offset)).min(block_bytes - begin);
        let block = Block { file: id, index: offset >> block_shift };
        (count > 0).then(|| (block, begin as usize..(begin + count) as usize))
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

    /// Of this reader's blocks, those of files of lower priority go first; 0 is every file's at
    /// first.
    ///
    /// # Errors
    /// If the policy takes no advice (`lru-sp` does), or not this.
    pub fn set_priority(&self, priority: i32) -> Result<(), Error> {
        let (reader, file) = (self.reader.id, self.opened.id);
        self.reader.advise(Event::SetPriority { reader, file, priority })?;
        self.opened.pool.session().host().objects.advised(file);
        Ok(())
    }

    /// Whether it was opened by this cache, whichever reader's handle of it this is: plans take no
    /// other's files.
    #[must_use]
    pub fn is_of(&self, cache: &Cache) -> bool {
        Arc::ptr_eq(&self.opened.pool, cache.pool())
    }

    /// Its number in this cache, which is to be its own.
    pub(crate) fn id_in(&self, pool: &Arc<Pool>) -> Result<FileId, Error> {
        match Arc::ptr_eq(&self.opened.pool, pool) {
            true => Ok(self.opened.id),
            false => Err(Error::other_cache(&self.opened.address)),
        }
    }

    #[cold]
    fn failed(&self, error: foresee_store::Error) -> Error {
        Error::of_store(&self.opened.address, error)
    }
}

#[cfg(test)]
mod tests {
    use foresee_store::{Faults, Faulty, Memory};

    use super::*;

    #[test]
    fn who_reads_why_a_read_failed_does_not_learn_a_password() {
        let objects = Memory::default();
        objects.put("me:mine@h/a", vec![1; 100]);
        let failing = Faulty::new(objects, 1, Faults { failed: 1000, ..Faults::default() });
        let cache = Cache::builder().memory(1 << 20).store("http", Arc::new(failing)).open().unwrap();
        let file = cache.open("http://me:mine@h/a").unwrap();
        for error in [file.read_at(&mut [0; 9], 0).err(), file.view(0, 1).err()] {
            assert_eq!(error.unwrap().to_string(), "http://...@h/a: a fault of the test store");
        }
    }
}
