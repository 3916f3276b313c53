//! The cache.

use std::sync::Arc;
use std::time::Duration;

use foresee_manager::{Event, LevelOrder, Reply};
use foresee_store::{Error as StoreError, Object, Store};

use crate::builder::Builder;
use crate::error::Error;
use crate::file::File;
use crate::plan::Plan;
use crate::pool::{Opened, Pool, StoreId, caught};
use crate::reader::Reader;
use crate::statistics::Statistics;
use crate::store::{Folder, Listed, Upload};

/// A cache over files and other stores. A clone is another handle of the same cache and the same reader; it is cheap.
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

    /// The same cache, for another reader: what it reads and plans is told apart. Threads that go through different data, each in an
    /// order of its own, should each be one.
    #[must_use]
    pub fn reader(&self) -> Cache {
        Cache { reader: Reader::new(Arc::clone(&self.pool)), ..self.clone() }
    }

    /// Opens what an address, or the path of a file, names, in the version it has now, or had [`Builder::max_age`] ago at most. Costs
    /// one call of its store; a file that was changed within the last moment is waited for (20 ms at most), so that later changes
    /// show.
    ///
    /// # Errors
    /// If it is not there or cannot be opened.
    pub fn open(&self, address: &str) -> Result<File, Error> {
        let (store, name) = self.whereabouts(address)?;
        if let Some((id, size, version)) = self.pool.reopened(store, name, self.max_age) {
            return Ok(File::new(Arc::clone(&self.reader), id, address, name, size, version));
        }
        self.open_by(address, |store, name| store.open(name))
    }

    /// Opens what was listed by [`Cache::list`] or [`Cache::folder`] in the version it had then. Of an object store nothing is asked: if
    /// it has another version by now, that is an error when it is read.
    ///
    /// # Errors
    /// As [`Cache::open`].
    pub fn open_listed(&self, listed: &Listed) -> Result<File, Error> {
        self.open_by(&listed.name, |store, name| store.open_listed(&Listed { name: name.to_owned(), ..listed.clone() }))
    }

    fn open_by(
        &self,
        address: &str,
        open: impl FnOnce(&dyn Store, &str) -> Result<Arc<dyn Object>, StoreError>,
    ) -> Result<File, Error> {
        let (store, name) = self.whereabouts(address)?;
        let failed = |error| Error::Store { name: Arc::from(address), error };
        let opened = Opened::by(|| open(self.pool.store(store), name)).map_err(failed)?;
        let id = self.pool.opened(store, name, &opened)?;
        let Opened { size, version, .. } = opened;
        Ok(File::new(Arc::clone(&self.reader), id, address, name, size, version))
    }

    /// The addresses that begin with this one, in order, as their store lists them.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub fn list(&self, address: &str) -> Result<Vec<Listed>, Error> {
        let (store, name) = self.whereabouts(address)?;
        let failed = |error| Error::Store { name: Arc::from(address), error };
        let mut listed = caught(|| self.pool.store(store).list(name)).map_err(failed)?;
        let scheme = &address[..address.len() - name.len()];
        listed.iter_mut().for_each(|it| it.name.insert_str(0, scheme));
        Ok(listed)
    }

    /// A page of what [`Cache::list`] has, what lies below a further slash put together as a folder: the first page, or the one that the
    /// word of the page before leads to.
    ///
    /// # Errors
    /// If it cannot be listed.
    pub fn folder(&self, address: &str, page: Option<&str>) -> Result<Folder, Error> {
        let (store, name) = self.whereabouts(address)?;
        let failed = |error| Error::Store { name: Arc::from(address), error };
        let mut folder = caught(|| self.pool.store(store).folder(name, page)).map_err(failed)?;
        let scheme = &address[..address.len() - name.len()];
        folder.objects.iter_mut().for_each(|it| it.name.insert_str(0, scheme));
        folder.folders.iter_mut().for_each(|it| it.insert_str(0, scheme));
        Ok(folder)
    }

    /// Begins an object at this address. What is there stays until the new one is finished, and who has it open keeps reading it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn create(&self, address: &str) -> Result<Box<dyn Upload>, Error> {
        let (store, name) = self.whereabouts(address)?;
        caught(|| self.pool.store(store).create(name)).map_err(|error| Error::Store { name: Arc::from(address), error })
    }

    /// Removes what is at this address.
    ///
    /// # Errors
    /// If it could not be removed.
    pub fn remove(&self, address: &str) -> Result<(), Error> {
        let (store, name) = self.whereabouts(address)?;
        caught(|| self.pool.store(store).remove(name)).map_err(|error| Error::Store { name: Arc::from(address), error })
    }

    /// Gives what is at an address another one of the same store, in the place of what is there.
    ///
    /// # Errors
    /// If it is not there alone.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), Error> {
        let ((store, name), (of_other, to)) = (self.whereabouts(from)?, self.whereabouts(to)?);
        let failed = |error| Error::Store { name: Arc::from(from), error };
        match store == of_other {
            true => caught(|| self.pool.store(store).rename(name, to)).map_err(failed),
            false => Err(failed(std::io::Error::from(std::io::ErrorKind::CrossesDevices).into())),
        }
    }

    /// Begins a plan of what this reader will read, or goes on with the one it has.
    #[must_use]
    pub fn plan(&self) -> Plan {
        Plan::new(self.clone())
    }

    /// Which of this reader's blocks go first among those of files of one priority ([`File::set_priority`]): those read longest ago, or
    /// those read last, as suits what is read in a cycle.
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
        let (scheme, name) = address.split_once("://").unwrap_or(("file", address));
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

impl Reader {
    /// Says which of this reader's blocks it can spare.
    pub(crate) fn advise(&self, advice: Event) -> Result<(), Error> {
        match self.pool.session().ask(advice) {
            Some(Reply::Refused { why, .. }) => Err(Error::Refused(why)),
            _ => Ok(()),
        }
    }
}
