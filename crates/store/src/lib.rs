//! Where bytes come from.
//!
//! A [`Store`] names objects; an [`Object`] is one of them, opened: of one length and one
//! [`Version`] for as long as it is open. What is read of it is handed over together with the
//! version that it was read from, so that whoever asked can tell bytes of another version and never
//! mixes the two.
//!
//! | store | of |
//! | --- | --- |
//! | [`Local`] | files of this machine |
//! | [`Memory`] | byte strings, which can be replaced while they are read |
//! | [`Faulty`] | another store, with errors, short reads, delays and changes by a seed: for tests |
//!
//! Calls block until they are done; a cache makes them from threads of its own, as many at once as
//! [`Store::depth`] says. What lies in a file past the page cache ([`Object::file`]) it may have the
//! system read without them.

mod error;
mod extent;
mod faulty;
mod folder;
mod local;
mod memory;
mod version;

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::sync::Arc;
use std::time::SystemTime;

pub use error::Error;
pub use extent::begins_at;
pub use faulty::{Faults, Faulty};
pub use folder::Folder;
pub use local::Local;
pub use memory::Memory;
pub use version::Version;

/// Names objects and opens them.
pub trait Store: Send + Sync {
    /// Opens the object of this name, as it is now.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is none; what else kept it from being opened.
    fn open(&self, name: &str) -> Result<Arc<dyn Object>, Error>;

    /// Opens an object in the version in which it was listed, without asking anybody where the
    /// store can: if it has another by now, that shows when it is read.
    ///
    /// # Errors
    /// As [`Store::open`].
    fn open_listed(&self, listed: &Listed) -> Result<Arc<dyn Object>, Error> {
        self.open(&listed.name)
    }

    /// The objects whose names begin with this prefix, however many slashes follow, in the order of
    /// their names.
    ///
    /// # Errors
    /// What kept them from being listed.
    fn list(&self, prefix: &str) -> Result<Vec<Listed>, Error>;

    /// A page of what [`Store::list`] has, what lies below a further slash put together as a
    /// folder; the first one, or the one that this word of the page before leads to.
    ///
    /// # Errors
    /// As [`Store::list`], and if no page gave that word: a store that has this from here, of one
    /// page, gives none.
    fn folder(&self, prefix: &str, page: Option<&str>) -> Result<Folder, Error> {
        Folder::refuse_page(page)?;
        Ok(Folder::of(prefix, self.list(prefix)?))
    }

    /// The version that an object has now, for who is about to take its place.
    ///
    /// # Errors
    /// If there is none, or it cannot be had.
    fn version(&self, name: &str) -> Result<Version, Error> {
        Ok(self.open(name)?.version().clone())
    }

    /// Begins an object of this name. What had it before keeps it until the new one is finished.
    ///
    /// # Errors
    /// If the store, or this name, cannot be written.
    fn create(&self, _name: &str) -> Result<Box<dyn Upload>, Error> {
        Err(io::Error::from(io::ErrorKind::Unsupported).into())
    }

    /// Removes an object; that there is none is no error everywhere.
    ///
    /// # Errors
    /// If it could not be removed.
    fn remove(&self, _name: &str) -> Result<(), Error> {
        Err(io::Error::from(io::ErrorKind::Unsupported).into())
    }

    /// Gives an object another name, in the place of what has that: it has at least one of the two
    /// at any time.
    ///
    /// # Errors
    /// If it has not the new one alone.
    fn rename(&self, _from: &str, _to: &str) -> Result<(), Error> {
        Err(io::Error::from(io::ErrorKind::Unsupported).into())
    }

    /// Whether it asks again by itself, for as long as that may help, before a read fails: then each part of what was
    /// asked for would fail as well, as late.
    fn is_persistent(&self) -> bool {
        false
    }

    /// Requests that it serves side by side: more at once gain nothing.
    fn depth(&self) -> usize {
        16
    }

    /// Whether an object's version means the same bytes in another process, and in the next run.
    /// Only then is what is read kept on a disk for it.
    fn versions_last(&self) -> bool {
        true
    }
}

/// An object that is open.
pub trait Object: Send + Sync {
    /// Its length in bytes.
    fn size(&self) -> u64;

    /// The version that was opened.
    fn version(&self) -> &Version;

    /// Which of its store's places it lies at: a bucket, a file system. Each is as quick as it is,
    /// and serves as many requests side by side as [`Store::depth`] says.
    fn place(&self) -> String {
        String::new()
    }

    /// How many bytes up on its place's device it begins; 0 where nobody says. An arm goes on at
    /// once from one object to another that lies just behind it, which a cache may go by.
    fn begins_at(&self) -> u64 {
        0
    }

    /// The file that its bytes lie in, where it is read past the page cache: then the system may be
    /// asked for many pieces of it at once by one thread (io_uring), which looks at its metadata,
    /// for its [`Version`], after each has come. What does not come whole [`Object::read`] is
    /// asked for. None where who reads it must wait for it.
    fn file(&self) -> Option<&File> {
        None
    }

    /// Reads from `offset` on into the pieces, one after the other. Returns how many bytes came,
    /// which are fewer than the pieces hold where the object ends, and may be fewer anywhere
    /// but never none before its end; and the version that they are of. What it waits for
    /// itself is not to be brought by the same cache: the memory may all be kept for what it brings.
    ///
    /// # Errors
    /// What kept them from being read. Then anything may stand in the pieces.
    fn read(&self, offset: u64, pieces: &mut [IoSliceMut<'_>]) -> Result<(usize, Version), Error>;
}

/// An object that is being written. Dropped before it is finished, it has never been there.
pub trait Upload: Send {
    /// Adds these bytes at its end.
    ///
    /// # Errors
    /// If it cannot be written any more.
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error>;

    /// Makes it be there, whole. Returns the version that it is, if its store says so.
    ///
    /// # Errors
    /// If it is not.
    fn finish(self: Box<Self>) -> Result<Option<Version>, Error>;
}

/// An object that was listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name, by which it can be opened.
    pub name: String,
    /// Its length in bytes.
    pub size: u64,
    /// Its version, if that was said.
    pub version: Option<Version>,
    /// When it was changed last, if that was said.
    pub modified: Option<SystemTime>,
}
