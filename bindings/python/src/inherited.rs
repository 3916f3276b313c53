//! What belongs to one process.
//!
//! A forked child has the memory of its parent and none of the threads. A lock that one of those
//! held stays held, so the child may not even drop what it inherited: it is left as it is, and an
//! error says so to whoever uses it.

use std::mem::ManuallyDrop;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Forks between the process that loaded this and the present one.
static FORKS: AtomicU64 = AtomicU64::new(0);

extern "C" fn forked() {
    FORKS.fetch_add(1, Relaxed);
    crate::ending::forked();
}

/// Has forks counted from now on.
pub fn watch_forks() -> PyResult<()> {
    // SAFETY: the handler adds to an atomic number, which a forked child may do.
    match unsafe { libc::pthread_atfork(None, None, Some(forked)) } {
        0 => Ok(()),
        error => Err(std::io::Error::from_raw_os_error(error).into()),
    }
}

/// The present process, among those that were forked from one another.
pub fn process() -> u64 {
    FORKS.load(Relaxed)
}

/// Something of the process that made it.
pub struct Own<T> {
    made_in: u64,
    it: ManuallyDrop<T>,
}

impl<T> Own<T> {
    /// Of the present process.
    pub fn new(it: T) -> Self {
        Own { made_in: process(), it: ManuallyDrop::new(it) }
    }

    /// The thing, in its process.
    pub fn get(&self) -> PyResult<&T> {
        match self.made_in == process() {
            true => Ok(&self.it),
            false => {
                Err(PyRuntimeError::new_err("it belongs to the process that this one was forked from: open it anew"))
            }
        }
    }

    /// As [`Own::get`], to be changed.
    pub fn get_mut(&mut self) -> PyResult<&mut T> {
        self.get()?;
        Ok(&mut self.it)
    }
}

impl<T> Drop for Own<T> {
    fn drop(&mut self) {
        if self.made_in == process() {
            // SAFETY: it is not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.it) };
        }
    }
}
