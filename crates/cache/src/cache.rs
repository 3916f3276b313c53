//! The cache.

use std::sync::Arc;
use std::time::Duration;

use foresee_manager::{Event, LevelOrder, Reply};
use foresee_store::{Error as StoreError, Object, Store, Version};

use crate::builder::Builder;
use crate::error::Error;
use crate::file::File;
use crate::plan::Plan;
use crate::pool::{Opened, Pool, StoreId, caught};
use crate::reader::Reader;
use crate::statistics::Statistics;
use crate::store::{Folder, Listed, Upload};

/// A cache over files and other stores. A clone is another handle of the same cache and the same
/// reader; it is cheap.
#[derive(Clone)]
pub struct Cache {
    pool: Arc<Pool>,
    reader: Arc<Reader>,
    /// What a store said is taken for so long for what it would say.
    max_age: Duration,
}

impl Cache {
    /// Sets a cache up: `Cache::builder().memory(1 << 30).open()`.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn new(pool: Arc<Pool>, max_age: Duration) -> Self {
        let reader = Reader::new(Arc::clone(&pool));
        Cache { pool, reader, max_age }
    }

    /// The same cache, for another reader: what it reads and plans is told apart. Threads that go
    /// through different data, each in an order of its own, should each be one.
    #[must_use]
    pub fn reader(&self) -> Cache {
        Cache { reader: Reader::new(Arc::clone(&self.pool)), ..self.clone() }
    }

    /// Opens what an address, or the path of a file, names, in the version it has now, or had
    /// [`Builder::max_age`] ago at most. Costs one call of its store; a file that was changed
    /// within the last moment is waited for (20 ms at most), so that later changes show.
    ///
    /// # Errors
    /// If it is not there or cannot be opened.
    pub fn open(&self, address: &str) -> Result<File, Error> {
        let place = self.whereabouts(address)?;
        match self.reopened(address, place) {
            Some(file) => Ok(file),
            None => self.opened(address, place, self.opened_by(|| self.pool.store(place.0).open(place.1))),
        }
    }

    /// As [`Cache::open`], as a future of any executor: threads of the store's wait. Nothing is
    /// asked before it is first polled. See [`File::read_at_async`] for an example.
    ///
    /// # Errors
    /// As [`Cache::open`].
    pub async fn open_async(&self, address: &str) -> Result<File, Error> {
        let place = self.whereabouts(address)?;
        if let Some(file) = self.reopened(address, place) {
            return Ok(file);
        }
        let mut opened = self.open_anew(place).await;
        if self.gave_descriptors_back(&opened) {
            opened = self.open_anew(place).await;
        }
        self.opened(address, place, opened)
    }

    fn open_anew(&self, (store, name): (StoreId, &str)) -> impl Future<Output = Result<Opened, StoreError>> + use<> {
        let name = name.to_owned();
        self.pool.ask_async(store, move |store| Opened::open(store, &name))
    }

    /// Opens what was listed by [`Cache::list`] or [`Cache::folder`] in the version it had then. Of
    /// an object store nothing is asked: if it has another version by now, that is an error
    /// when it is read.
    ///
    /// # Errors
    /// As [`Cache::open`].
    pub fn open_listed(&self, listed: &Listed) -> Result<File, Error> {
        let place = self.whereabouts(&listed.name)?;
        let named = Listed { name: place.1.to_owned(), ..listed.clone() };
        self.opened(&listed.name, place, self.opened_by(|| self.pool.store(place.0).open_listed(&named)))
    }

    fn opened_by(&self, open: impl Fn() -> Result<Arc<dyn Object>, StoreError>) -> Result<Opened, StoreError> {
        let opened = Opened::by(&open);
        if self.gave_descriptors_back(&opened) { Opened::by(open) } else { opened }
    }

    /// If an object could not be opened for want of descriptors, what is kept open without a reader
    /// gives its own back. Returns whether that was so.
    fn gave_descriptors_back(&self, opened: &Result<Opened, StoreError>) -> bool {
        let is_want_of_descriptors =
            |error: &std::io::Error| matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE));
        let there_are_none = matches!(opened, Err(StoreError::Io(error)) if is_want_of_descriptors(error));
        if there_are_none {
            self.pool.close_kept();
        }
        there_are_none
    }

    /// What was opened no longer ago than what a store said is taken for what it would say.
    fn reopened(&self, address: &str, (store, name): (StoreId, &str)) -> Option<File> {
        let (id, size, version) = self.pool.reopened(store, name, self.max_age)?;
        Some(File::new(Arc::clone(&self.reader), id, address, name, size, version))
    }

    /// The file of what a store was asked to open.
    fn opened(
        &self,
        address: &str,
        (store, name): (StoreId, &str),
        opened: Result<Opened, StoreError>,
    ) -> Result<File, Error> {
        let opened = opened.map_err(|error| Error::of_store(address, error))?;
        let block_bytes = self.pool.memory().frame_bytes();
        if !opened.fits(block_bytes as u64) {
            return Err(Error::TooLarge { name: Arc::from(address), size: opened.size, block_bytes });
        }
        let id = self.pool.opened(store, name, &opened)?;
        let Opened { size, version, .. } = opened;
        Ok(File::new(Arc::clone(&self.reader), id, address, name, size, version))
    }

    /// The addresses that begin with this one, in order, as their store lists them: all of a folder,
    /// and of those below it, if it ends with a slash. Links to directories are not followed below
    /// what is asked for. Keys that are no paths, and objects that stand for folders, are left out.
    /// [`Cache::folder`] lists one folder alone.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub fn list(&self, address: &str) -> Result<Vec<Listed>, Error> {
        Ok(addressed(address, self.asked(address, |store, name| store.list(name))?))
    }

    /// As [`Cache::list`], as a future; see [`Cache::open_async`].
    ///
    /// # Errors
    /// As [`Cache::list`].
    pub async fn list_async(&self, address: &str) -> Result<Vec<Listed>, Error> {
        Ok(addressed(address, self.asked_async(address, |store, name| store.list(name)).await?))
    }

    /// A page of what [`Cache::list`] has, what lies below a further slash put together as a
    /// folder: the first page, or the one that the word of the page before leads to.
    ///
    /// # Errors
    /// If it cannot be listed.
    pub fn folder(&self, address: &str, page: Option<&str>) -> Result<Folder, Error> {
        Ok(addressed_folder(address, self.asked(address, |store, name| store.folder(name, page))?))
    }

    /// As [`Cache::folder`], as a future; see [`Cache::open_async`].
    ///
    /// # Errors
    /// As [`Cache::folder`].
    pub async fn folder_async(&self, address: &str, page: Option<&str>) -> Result<Folder, Error> {
        let page = page.map(str::to_owned);
        let folder = self.asked_async(address, move |store, name| store.folder(name, page.as_deref())).await?;
        Ok(addressed_folder(address, folder))
    }

    /// Begins an object at this address. What is there stays until the new one is finished, and who
    /// has it open keeps reading it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn create(&self, address: &str) -> Result<Box<dyn Upload>, Error> {
        self.asked(address, |store, name| store.create(name))
    }

    /// The version that what is at this address has now, for who is about to take its place. Costs one call
    /// of its store, whatever was asked lately.
    ///
    /// # Errors
    /// If nothing is there, or it cannot be had.
    pub fn version(&self, address: &str) -> Result<Version, Error> {
        self.asked(address, |store, name| store.version(name))
    }

    /// As [`Cache::version`], as a future; see [`Cache::open_async`].
    ///
    /// # Errors
    /// As [`Cache::version`].
    pub async fn version_async(&self, address: &str) -> Result<Version, Error> {
        self.asked_async(address, |store, name| store.version(name)).await
    }

    /// Removes what is at this address.
    ///
    /// # Errors
    /// If it could not be removed.
    pub fn remove(&self, address: &str) -> Result<(), Error> {
        self.asked(address, |store, name| store.remove(name))
    }

    /// As [`Cache::remove`], as a future; see [`Cache::open_async`]. Dropped before it is ready, it
    /// may have been removed, or be removed yet.
    ///
    /// # Errors
    /// As [`Cache::remove`].
    pub async fn remove_async(&self, address: &str) -> Result<(), Error> {
        self.asked_async(address, |store, name| store.remove(name)).await
    }

    /// Gives what is at an address another one of the same store, in the place of what is there.
    ///
    /// # Errors
    /// If it is not there alone.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), Error> {
        self.asked(from, self.renaming(from, to)?)
    }

    /// As [`Cache::rename`], as a future; see [`Cache::open_async`]. Dropped before it is ready, it may
    /// have been renamed, or be renamed yet.
    ///
    /// # Errors
    /// As [`Cache::rename`].
    pub async fn rename_async(&self, from: &str, to: &str) -> Result<(), Error> {
        self.asked_async(from, self.renaming(from, to)?).await
    }

    /// What is asked of the store of the one, by the name there.
    fn renaming(
        &self,
        from: &str,
        to: &str,
    ) -> Result<impl FnOnce(&dyn Store, &str) -> Result<(), StoreError> + Send + use<>, Error> {
        let ((one, _), (other, to)) = (self.whereabouts(from)?, self.whereabouts(to)?);
        let to = (one == other).then(|| to.to_owned());
        Ok(move |store: &dyn Store, name: &str| match to {
            Some(to) => store.rename(name, &to),
            None => Err(std::io::Error::from(std::io::ErrorKind::CrossesDevices).into()),
        })
    }

    /// What the store of an address comes to that is asked so, by the name there. If it panics, it
    /// has failed.
    fn asked<T>(&self, address: &str, ask: impl FnOnce(&dyn Store, &str) -> Result<T, StoreError>) -> Result<T, Error> {
        let (store, name) = self.whereabouts(address)?;
        caught(|| ask(self.pool.store(store), name)).map_err(|error| Error::of_store(address, error))
    }

    /// As `asked`, by threads of the store's.
    async fn asked_async<T: Send + 'static>(
        &self,
        address: &str,
        ask: impl FnOnce(&dyn Store, &str) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Error> {
        let (store, name) = self.whereabouts(address)?;
        let name = name.to_owned();
        let asked = self.pool.ask_async(store, move |store| ask(store, &name));
        asked.await.map_err(|error| Error::of_store(address, error))
    }

    /// Begins a plan of what this reader will read, or goes on with the one it has.
    #[must_use]
    pub fn plan(&self) -> Plan {
        Plan::new(self.clone())
    }

    /// Which of this reader's blocks go first among those of files of one priority
    /// ([`File::set_priority`]): those read longest ago, or those read last, as suits what is
    /// read in a cycle.
    ///
    /// # Errors
    /// If the policy takes no advice (`lru-sp` does), or not this.
    pub fn set_policy(&self, priority: i32, order: LevelOrder) -> Result<(), Error> {
        let reader = self.reader.id;
        self.reader.advise(Event::SetPolicy { reader, priority, order })
    }

    /// What came of all that was read and planned so far.
    pub fn statistics(&self) -> Statistics {
        Statistics::of(&self.pool)
    }

    /// The store that an address names, and the name there.
    pub(crate) fn whereabouts<'a>(&self, address: &'a str) -> Result<(StoreId, &'a str), Error> {
        let (scheme, name) = split(address).unwrap_or(("file", address));
        let store = self.pool.store_of(scheme).ok_or_else(|| Error::NoStore(scheme.to_owned()))?;
        Ok((store, name))
    }

    pub(crate) fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    pub(crate) fn own_reader(&self) -> &Arc<Reader> {
        &self.reader
    }
}

/// An address's scheme and the rest; None if it is a path, whose folders are no scheme.
fn split(address: &str) -> Option<(&str, &str)> {
    address.split_once("://").filter(|(scheme, _)| !scheme.contains('/'))
}

/// What an address begins with that its store's own names do not have.
fn scheme_of(address: &str) -> &str {
    split(address).map_or("", |(_, name)| &address[..address.len() - name.len()])
}

/// What a store listed at an address, by addresses.
fn addressed(address: &str, mut listed: Vec<Listed>) -> Vec<Listed> {
    let scheme = scheme_of(address);
    listed.iter_mut().for_each(|it| it.name.insert_str(0, scheme));
    listed
}

fn addressed_folder(address: &str, Folder { objects, mut folders, next }: Folder) -> Folder {
    let scheme = scheme_of(address);
    folders.iter_mut().for_each(|it| it.insert_str(0, scheme));
    Folder { objects: addressed(address, objects), folders, next }
}

impl Reader {
    /// Says which of this reader's blocks it can spare.
    pub(crate) fn advise(&self, advice: Event) -> Result<(), Error> {
        match self.pool.session().ask(advice) {
            Some(Reply::Refused { why, .. }) => Err(Error::Refused(why)),
            _ => Ok(()),
        }
    }
}
