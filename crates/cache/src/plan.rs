//! What will be read.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

use foresee_manager::{Event, FileId, Source, Want};

use crate::cache::Cache;
use crate::error::Error;
use crate::file::File;
use crate::reader::Reader;

/// What a reader will read, in this order. It can be added to at any time; all plans of a reader
/// are one, in the order in which they were added to. What is in it and has not been read is
/// withdrawn when the last of them is dropped.
///
/// Several threads may read it side by side, each a part of it and all nearly in this order.
///
/// A plan is no order: what it names is read ahead as far as the policy finds it worth the memory,
/// and a reader that reads something else reads the right bytes all the same. What a range names is
/// whole blocks. Some 240 bytes each, until they are read; a million at most over all readers, of 4,096
/// readers: what is too much is not read ahead. For more, or for what is not known in advance, there is
/// [`Plan::generate`].
///
/// A reader is believed as far as its plans came true. Before any of them did, 256 blocks are brought (4 MiB in blocks of the
/// default size), and 16 more for each one that it reads; fewer where it leaves out what it planned. What was brought and is
/// withdrawn unread counts against it: who drops a plan and makes another one, as to seek is, has nothing of that brought
/// before the first block that it reads of it. A reader of its own for each such plan ([`Cache::reader`]) begins anew.
pub struct Plan {
    cache: Cache,
}

impl Drop for Plan {
    fn drop(&mut self) {
        let reader = self.reader();
        let mut plans = reader.plans.lock().unwrap_or_else(PoisonError::into_inner);
        *plans -= 1;
        if *plans > 0 {
            return;
        }
        reader.disclosed.store(false, Relaxed);
        let generator = reader.pool.stop_generating(reader.id);
        reader.pool.session().withdraw(Event::Cancel { reader: reader.id, source: Source::Library });
        drop(plans);
        // What it holds may be plans and files.
        drop(generator);
    }
}

impl Plan {
    pub(crate) fn new(cache: Cache) -> Self {
        let reader = cache.own_reader();
        let mut plans = reader.plans.lock().unwrap_or_else(PoisonError::into_inner);
        *plans += 1;
        reader.disclosed.store(true, Relaxed);
        drop(plans);
        Plan { cache }
    }

    /// The whole file, front to back.
    ///
    /// # Errors
    /// If it is a file of another cache.
    pub fn file(&mut self, file: &File) -> Result<&mut Self, Error> {
        Ok(self.hint(file.id_in(self.cache.pool())?, Want::All))
    }

    /// These bytes of it.
    ///
    /// # Errors
    /// If it is a file of another cache.
    pub fn range(&mut self, file: &File, bytes: Range<u64>) -> Result<&mut Self, Error> {
        let id = file.id_in(self.cache.pool())?;
        Ok(match blocks(self.cache.pool().memory().frame_bytes() as u64, &bytes) {
            Some(want) => self.hint(id, want),
            None => self,
        })
    }

    /// What this address names, whole; it is looked up ahead as well, and need not be there.
    ///
    /// # Errors
    /// If there is no such store.
    pub fn address(&mut self, address: &str) -> Result<&mut Self, Error> {
        let (store, name) = self.cache.whereabouts(address)?;
        self.cache.pool().disclose_named(self.reader().id, store, name)?;
        Ok(self)
    }

    /// The last `entries` that were added will be read `passes` times in all.
    pub fn repeat(&mut self, entries: u64, passes: u64) -> &mut Self {
        let reader = self.reader().id;
        self.tell(Event::Repeat { reader, source: Source::Library, entries, passes });
        self
    }

    /// What this iterator gives comes after all that is in the plan, and is asked for as it is
    /// needed, some hundred at a time, by a thread of the cache's, which hears no more of it if it
    /// panics, gives a file of another cache, or 65,536 ranges in a row in which there is nothing. In
    /// place of the iterator before, if there was one. What the reader has read before the iterator
    /// gives it is not read ahead.
    pub fn generate(&mut self, ranges: impl IntoIterator<Item = (File, Range<u64>), IntoIter: Send + 'static>) {
        let (mut ranges, reader) = (ranges.into_iter(), self.reader().id);
        let block_bytes = self.cache.pool().memory().frame_bytes() as u64;
        let (pool, mut empty) = (Arc::downgrade(self.cache.pool()), 0);
        let generator = move || {
            let (file, bytes) = ranges.next()?;
            let want = blocks(block_bytes, &(bytes.start..bytes.end.min(file.len())));
            empty = if want.is_none() { empty + 1 } else { 0 };
            (empty < EMPTY_MAX).then_some((file.id_in(&pool.upgrade()?).ok()?, want))
        };
        self.cache.pool().generate(reader, Box::new(generator));
        self.tell(Event::More { reader, source: Source::Library });
    }

    fn hint(&mut self, file: FileId, want: Want) -> &mut Self {
        self.tell(Event::Hint { reader: self.reader().id, source: Source::Library, file, want });
        self
    }

    fn reader(&self) -> &Reader {
        self.cache.own_reader()
    }

    fn tell(&self, event: Event) {
        self.cache.pool().session().tell(event);
    }
}

/// An iterator that gives so many ranges in a row in which there is nothing gives nothing else.
const EMPTY_MAX: usize = 1 << 16;

/// The blocks that bytes lie in.
fn blocks(block_bytes: u64, bytes: &Range<u64>) -> Option<Want> {
    let (first, end) = (bytes.start / block_bytes, bytes.end.div_ceil(block_bytes));
    (bytes.start < bytes.end).then(|| Want::Range { first, count: end - first })
}
