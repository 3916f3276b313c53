//! How the interpreter ends while the cache's threads run Python code.
//!
//! A thread that wants the interpreter's lock back by then is ended by the interpreter, which
//! unwinds it through our frames: the process aborts. So before the interpreter ends, nobody enters
//! Python any more, and those who are there are waited for; but not for long, as a store may never
//! answer.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicIsize};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

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
}

/// Has the interpreter say when it ends.
pub fn watch(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let end = wrap_pyfunction!(end, module)?;
    module.py().import("atexit")?.call_method1("register", (end,)).map(|_| ())
}
