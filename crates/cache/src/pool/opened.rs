//! Objects that were opened, and what they say of themselves.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use foresee_manager::Block;
use foresee_store::{Error, Object, Store, Version};

/// One of them. What it says is asked once, when it is opened: it is a program's code, which may
/// panic, and no lock is held then.
#[derive(Clone)]
pub struct Opened {
    /// The object.
    pub object: Arc<dyn Object>,
    /// Its length in bytes.
    pub size: u64,
    /// Its version.
    pub version: Version,
    /// Which of its store's places it lies at.
    pub place: String,
    /// How many bytes up on that place's device it begins; 0 where nobody says.
    pub begins_at: u64,
    /// Whether the system can read it without a thread.
    pub is_in_file: bool,
    /// When the store was asked.
    pub asked: Instant,
}

impl Opened {
    /// Opens the object of this name.
    pub fn open(store: &dyn Store, name: &str) -> Result<Self, Error> {
        Opened::by(|| store.open(name))
    }

    /// Opens an object by what asks its store. A store that panics has failed.
    pub fn by(open: impl FnOnce() -> Result<Arc<dyn Object>, Error>) -> Result<Self, Error> {
        let asked = Instant::now();
        caught(|| {
            let object = open()?;
            let (size, version, place) = (object.size(), object.version().clone(), object.place());
            let (begins_at, is_in_file) = (object.begins_at(), object.file().is_some());
            Ok(Opened { object, size, version, place, begins_at, is_in_file, asked })
        })
    }

    /// Whether blocks of so many bytes can be told apart in it.
    pub fn fits(&self, block_bytes: u64) -> bool {
        self.size.div_ceil(block_bytes) <= Block::INDEX_LIMIT
    }
}

/// What it comes to, if it does not panic.
pub fn caught<T>(act: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|_| Err(io::Error::other("the store panicked").into()))
}
