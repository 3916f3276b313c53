//! Another store that misbehaves: by a seed, so that what went wrong once goes wrong again.
//!
//! What a request meets depends on the seed, the object's name, the offset and how often it was
//! asked for before, and not on which thread asks first.

use std::collections::HashMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, IoSliceMut};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::{Error, Folder, Listed, Object, Store, Upload, Version};

/// How often what goes wrong: each in 1,000 requests.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// Objects that cannot be opened.
    pub unopened: u64,
    /// Reads that fail.
    pub failed: u64,
    /// Reads that bring fewer bytes than were asked for.
    pub short: u64,
    /// Reads that say before the end that this is the end.
    pub ended: u64,
    /// Reads whose bytes are those of another version, as they say.
    pub changed: u64,
    /// Requests that take longer, each by its own time up to this: so they come back in any order.
    pub late_us_max: u64,
}

/// Offsets at which nothing is read: what is thrown for there is that an object is opened, and
/// asked for its file.
const OPEN: u64 = u64::MAX;
const FILE: u64 = OPEN - 1;

/// The store.
pub struct Faulty<S> {
    store: S,
    dice: Arc<Dice>,
}

struct Dice {
    seed: u64,
    faults: Faults,
    asked: Mutex<HashMap<(String, u64), u64>>,
}

/// One request's throws.
struct Throws(u64);

impl<S> Faulty<S> {
    /// Lets a store misbehave.
    pub fn new(store: S, seed: u64, faults: Faults) -> Self {
        Faulty { store, dice: Arc::new(Dice { seed, faults, asked: Mutex::default() }) }
    }
}

impl Dice {
    fn throw(&self, name: &str, offset: u64) -> Throws {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let times = asked.entry((name.to_owned(), offset)).or_default();
        *times += 1;
        let mut hasher = DefaultHasher::new();
        (self.seed, name, offset, *times).hash(&mut hasher);
        Throws(hasher.finish())
    }

    fn dawdle(&self, throws: &mut Throws) {
        if self.faults.late_us_max > 0 {
            thread::sleep(Duration::from_micros(throws.below(self.faults.late_us_max)));
        }
    }
}

impl Throws {
    fn below(&mut self, end: u64) -> u64 {
        // splitmix64 (Steele, Lea and Flood, 2014).
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end.max(1)
    }

    fn hits(&mut self, in_thousand: u64) -> bool {
        self.below(1000) < in_thousand
    }
}

fn broken() -> Error {
    io::Error::other("a fault of the test store").into()
}

impl<S> Faulty<S> {
    fn opened(
        &self,
        name: &str,
        open: impl FnOnce() -> Result<Arc<dyn Object>, Error>,
    ) -> Result<Arc<dyn Object>, Error> {
        let mut throws = self.dice.throw(name, OPEN);
        self.dice.dawdle(&mut throws);
        if throws.hits(self.dice.faults.unopened) {
            return Err(broken());
        }
        let object = open()?;
        Ok(Arc::new(Open { object, name: name.to_owned(), dice: Arc::clone(&self.dice) }))
    }
}

impl<S: Store> Store for Faulty<S> {
    fn open(&self, name: &str) -> Result<Arc<dyn Object>, Error> {
        self.opened(name, || self.store.open(name))
    }

    fn open_listed(&self, listed: &Listed) -> Result<Arc<dyn Object>, Error> {
        self.opened(&listed.name, || self.store.open_listed(listed))
    }

    fn list(&self, prefix: &str) -> Result<Vec<Listed>, Error> {
        self.store.list(prefix)
    }

    fn folder(&self, prefix: &str, page: Option<&str>) -> Result<Folder, Error> {
        self.store.folder(prefix, page)
    }

    fn version(&self, name: &str) -> Result<Version, Error> {
        self.store.version(name)
    }

    fn create(&self, name: &str) -> Result<Box<dyn Upload>, Error> {
        self.store.create(name)
    }

    fn remove(&self, name: &str) -> Result<(), Error> {
        self.store.remove(name)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), Error> {
        self.store.rename(from, to)
    }

    fn is_persistent(&self) -> bool {
        self.store.is_persistent()
    }

    fn depth(&self) -> usize {
        self.store.depth()
    }

    fn versions_last(&self) -> bool {
        self.store.versions_last()
    }
}

struct Open {
    object: Arc<dyn Object>,
    name: String,
    dice: Arc<Dice>,
}

impl Object for Open {
    fn size(&self) -> u64 {
        self.object.size()
    }

    fn version(&self) -> &Version {
        self.object.version()
    }

    fn place(&self) -> String {
        self.object.place()
    }

    fn begins_at(&self) -> u64 {
        self.object.begins_at()
    }

    /// Not where what the system reads of it by itself would go wrong.
    fn file(&self) -> Option<&File> {
        let Faults { failed, short, ended, changed, .. } = self.dice.faults;
        let mut throws = self.dice.throw(&self.name, FILE);
        let goes_wrong = [failed, short, ended, changed].into_iter().any(|in_thousand| throws.hits(in_thousand));
        self.object.file().filter(|_| !goes_wrong)
    }

    fn read(&self, offset: u64, pieces: &mut [IoSliceMut<'_>]) -> Result<(usize, Version), Error> {
        let mut throws = self.dice.throw(&self.name, offset);
        self.dice.dawdle(&mut throws);
        let faults = &self.dice.faults;
        if throws.hits(faults.failed) {
            // What a torn request leaves behind is no less wrong than what never came.
            pieces.iter_mut().for_each(|piece| piece.fill(0xee));
            return Err(broken());
        }
        if throws.hits(faults.ended) {
            return Ok((0, self.object.version().clone()));
        }
        let (mut came, version) = self.object.read(offset, pieces)?;
        if throws.hits(faults.changed) {
            pieces.iter_mut().for_each(|piece| piece.fill(0xcc));
            return Ok((came, Version::Tag("another".into())));
        }
        if throws.hits(faults.short) && came > 1 {
            let kept = 1 + throws.below(came as u64 - 1) as usize;
            let mut rest = kept;
            for piece in pieces {
                let good = rest.min(piece.len());
                piece[good..].fill(0xdd);
                rest -= good;
            }
            came = kept;
        }
        Ok((came, version))
    }
}
