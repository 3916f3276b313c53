//! A store of whose reads something comes first: they wait until they are let through, or fail.

use std::io::IoSliceMut;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex};

use foresee::store::{Error, Listed, Memory, Object, Store, Version};

/// What reads wait for.
#[derive(Default)]
pub struct Bar {
    is_open: Mutex<bool>,
    changed: Condvar,
}

impl Bar {
    /// Lets all through from now on.
    pub fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.changed.notify_all();
    }

    fn pass(&self) {
        drop(self.changed.wait_while(self.is_open.lock().unwrap(), |is_open| !*is_open).unwrap());
    }
}

/// What comes before a read of this part of an object.
type Hook = Arc<dyn Fn(Range<u64>) -> Result<(), Error> + Send + Sync>;

/// The store.
pub struct Gate(Memory, Hook);

impl Gate {
    /// Reads wait for this.
    pub fn of(objects: Memory, bar: &Arc<Bar>) -> Self {
        let bar = Arc::clone(bar);
        Gate::with(objects, move |_| {
            bar.pass();
            Ok(())
        })
    }

    /// This comes before each read.
    pub fn with(objects: Memory, hook: impl Fn(Range<u64>) -> Result<(), Error> + Send + Sync + 'static) -> Self {
        Gate(objects, Arc::new(hook))
    }
}

struct Gated(Arc<dyn Object>, Hook);

impl Store for Gate {
    fn open(&self, name: &str) -> Result<Arc<dyn Object>, Error> {
        Ok(Arc::new(Gated(self.0.open(name)?, Arc::clone(&self.1))))
    }
    fn list(&self, prefix: &str) -> Result<Vec<Listed>, Error> {
        self.0.list(prefix)
    }
}

impl Object for Gated {
    fn size(&self) -> u64 {
        self.0.size()
    }
    fn version(&self) -> &Version {
        self.0.version()
    }
    fn read(&self, offset: u64, pieces: &mut [IoSliceMut<'_>]) -> Result<(usize, Version), Error> {
        (self.1)(offset..offset + pieces.iter().map(|it| it.len() as u64).sum::<u64>())?;
        self.0.read(offset, pieces)
    }
}
