//! How the interpreter ends while the cache's threads run Python code.
//!
//! A thread that wants the interpreter's lock back by then is ended by the interpreter, which
//! unwinds it through our frames: the process aborts. So before the interpreter ends, nobody enters
//! Python any more, and those who are there are waited for; but not for long, as a store may never
//! answer. Whoever was to be called back by then is told that nobody will.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU64};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::inherited::process;

const PATIENCE: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(2);

static ENDS: AtomicBool = AtomicBool::new(false);
static INSIDE: AtomicIsize = AtomicIsize::new(0);

/// A thread of the cache's that runs Python code.
struct Inside;

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.fetch_sub(1, SeqCst);
    }
}

/// Has a thread of the cache's run Python code; None where the interpreter ends.
pub fn enter<T>(act: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    INSIDE.fetch_add(1, SeqCst);
    let _inside = Inside;
    if ENDS.load(SeqCst) { None } else { Python::try_attach(act) }
}

/// Those who are to be called back, each with its process and its number. Locked with the
/// interpreter's lock alone, which a fork has as well.
static CALLED_BACK: Mutex<BTreeMap<(u64, u64), Py<PyAny>>> = Mutex::new(BTreeMap::new());

fn called_back() -> MutexGuard<'static, BTreeMap<(u64, u64), Py<PyAny>>> {
    CALLED_BACK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Somebody who is called once, with a value or with an error and None for the other: by whoever
/// has what came, or when the interpreter ends.
#[derive(Clone, Copy)]
pub struct Callback((u64, u64));

impl Callback {
    /// Of the present process. An error where the interpreter ends, and nobody would call it.
    pub fn new(_py: Python<'_>, done: Py<PyAny>) -> PyResult<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        if ENDS.load(SeqCst) {
            return Err(ended());
        }
        let key = (process(), NUMBER.fetch_add(1, Relaxed));
        called_back().insert(key, done);
        Ok(Callback(key))
    }

    /// Calls it with what this comes to, unless it was called or forgotten.
    pub fn call(self, py: Python<'_>, came: impl FnOnce() -> PyResult<Py<PyAny>>) {
        if let Some(done) = self.take(py) {
            tell(py, &done, came());
        }
    }

    /// It is not called any more.
    pub fn forget(self, py: Python<'_>) {
        drop(self.take(py));
    }

    fn take(self, _py: Python<'_>) -> Option<Py<PyAny>> {
        called_back().remove(&self.0)
    }
}

fn tell(py: Python<'_>, done: &Py<PyAny>, came: PyResult<Py<PyAny>>) {
    let told = match came {
        Ok(value) => done.call1(py, (value, py.None())),
        Err(error) => done.call1(py, (py.None(), error.into_value(py))),
    };
    if let Err(error) = told {
        error.write_unraisable(py, Some(done.bind(py)));
    }
}

fn ended() -> PyErr {
    PyRuntimeError::new_err(
        "the interpreter ends, and calls no coroutine back any more: what waits itself (open, read_at) still reads",
    )
}

/// A forked child has none of the threads.
pub fn forked() {
    INSIDE.store(0, SeqCst);
}

#[pyfunction]
fn end(py: Python<'_>) {
    ENDS.store(true, SeqCst);
    let begun = Instant::now();
    py.detach(|| {
        while INSIDE.load(SeqCst) > 0 && begun.elapsed() < PATIENCE {
            thread::sleep(LOOK);
        }
    });
    // What the parent of a fork had begun is its own.
    let mine = called_back().split_off(&(process(), 0));
    for done in mine.values() {
        tell(py, done, Err(ended()));
    }
}

/// Has the interpreter say when it ends.
pub fn watch(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let end = wrap_pyfunction!(end, module)?;
    module.py().import("atexit")?.call_method1("register", (end,)).map(|_| ())
}
