//! What is open, by the number that the kernel was given for it.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::failure::Failure;

/// All of one kind.
pub struct Handles<T>(RwLock<HashMap<u64, Arc<T>>>);

impl<T> Default for Handles<T> {
    fn default() -> Self {
        Handles(RwLock::default())
    }
}

impl<T> Handles<T> {
    fn read(&self) -> RwLockReadGuard<'_, HashMap<u64, Arc<T>>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<u64, Arc<T>>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more.
    pub fn add(&self, handle: u64, open: T) {
        self.write().insert(handle, Arc::new(open));
    }

    /// The one of this number.
    pub fn get(&self, handle: u64) -> Result<Arc<T>, Failure> {
        self.read().get(&handle).cloned().ok_or_else(|| Failure::of(libc::EBADF))
    }

    /// Any for which this holds.
    pub fn find(&self, is_it: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        self.read().values().find(|it| is_it(it)).cloned()
    }

    /// All for which this holds.
    pub fn all(&self, is_it: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        self.read().values().filter(|it| is_it(it)).cloned().collect()
    }

    /// Closes one. Returns whether it was there.
    pub fn close(&self, handle: u64) -> bool {
        let closed = self.write().remove(&handle);
        closed.is_some()
    }
}
