//! Calls that wait for a store.
//!
//! The interpreter's main thread is where signals are heard of, so it does not wait itself: another
//! thread does, and the main thread looks now and then whether it was interrupted. What was
//! interrupted goes on in its thread (`threads.rs`), and nobody is told what came of it. Coroutines
//! have the same threads do what they wait for.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use foresee::Error;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::ending::{Callback, enter};
use crate::error::to_python;
use crate::inherited::Own;
use crate::threads::{Threads, Urgency};

/// An interrupt is heard of so much later at most.
const LOOK: Duration = Duration::from_millis(50);

/// What was begun for a coroutine.
#[pyclass(frozen, module = "foresee._foresee")]
pub struct Begun {
    number: Own<(Arc<Threads>, u64)>,
    done: Callback,
}

#[pymethods]
impl Begun {
    /// Nobody waits for it any more. What has ended is no other for that, and a forked child has none
    /// of the threads.
    fn give_up(&self, py: Python<'_>) {
        if let Ok((threads, number)) = self.number.get() {
            self.done.forget(py);
            threads.give_up(*number);
        }
    }
}

/// What comes of a call that waits. Where `done` is given, it is begun, and `done` is called as
/// [`begin`] has it.
pub fn wait_or_begin<T: Send + 'static>(
    py: Python<'_>,
    done: Option<Py<PyAny>>,
    call: impl FnOnce() -> Result<T, Error> + Send + 'static,
    value: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
) -> PyResult<Py<PyAny>> {
    match done {
        None => value(py, wait(py, call)?),
        Some(done) => Ok(Py::new(py, begin(py, done, call, value)?)?.into_any()),
    }
}

/// Whether this is the thread that the process began with: signals are the interpreter's there.
fn is_main_thread() -> bool {
    // SAFETY: they only say numbers.
    unsafe { libc::gettid() == libc::getpid() }
}

/// What comes of a call that waits, made without the interpreter's lock.
pub fn wait<T: Send + 'static>(
    py: Python<'_>,
    call: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> PyResult<T> {
    if !is_main_thread() {
        return py.detach(call).map_err(|error| to_python(py, error));
    }
    let (sender, receiver) = channel();
    let threads = Threads::of_process();
    let number = threads.add(Box::new(move || _ = sender.send(call())), Urgency::AtOnce)?;
    // The receiver is not to be shared, and is not: it goes there and back.
    let receiver = Mutex::new(receiver);
    loop {
        let came = py.detach(|| receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK));
        match came {
            Ok(result) => return result.map_err(|error| to_python(py, error)),
            Err(RecvTimeoutError::Timeout) => py.check_signals().inspect_err(|_| threads.give_up(number))?,
            Err(RecvTimeoutError::Disconnected) => return Err(PyRuntimeError::new_err("the call was given up")),
        }
    }
}

/// As [`wait`], but by another thread: it calls `done(value, error)` with what came of it, one of
/// them None.
fn begin<T: Send + 'static>(
    py: Python<'_>,
    done: Py<PyAny>,
    call: impl FnOnce() -> Result<T, Error> + Send + 'static,
    value: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
) -> PyResult<Begun> {
    let (threads, done) = (Threads::of_process(), Callback::new(py, done)?);
    let job = move || {
        let came = call();
        enter(|py| done.call(py, || came.map_err(|error| to_python(py, error)).and_then(|it| value(py, it))));
    };
    let number = threads.add(Box::new(job), Urgency::Waits).inspect_err(|_| done.forget(py))?;
    Ok(Begun { number: Own::new((threads, number)), done })
}
