//! Calls that wait for a store.
//!
//! The interpreter's main thread is where signals are heard of, so it does not wait itself: another
//! thread does, and the main thread looks now and then whether it was interrupted. What was
//! interrupted goes on in its thread (`threads.rs`) until the call sees that it was given up, and
//! nobody is told what came of it. Coroutines have the same threads do what they wait for.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
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
    call: impl FnOnce(&AtomicBool) -> Result<T, Error> + Send + 'static,
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

/// What comes of a call that waits, made without the interpreter's lock. The call is told when
/// nobody waits for it any more.
pub fn wait<T: Send + 'static>(
    py: Python<'_>,
    call: impl FnOnce(&AtomicBool) -> Result<T, Error> + Send + 'static,
) -> PyResult<T> {
    if !is_main_thread() {
        return result(py, py.detach(|| attempt(call, Ok(&AtomicBool::new(false)))));
    }
    let (sender, receiver) = channel();
    let threads = Threads::of_process();
    let number = threads.add(Box::new(move |may| _ = sender.send(attempt(call, may))), Urgency::AtOnce)?;
    // The receiver is not to be shared, and is not: it goes there and back.
    let receiver = Mutex::new(receiver);
    loop {
        let came = py.detach(|| receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK));
        match came {
            Ok(came) => return result(py, came),
            Err(RecvTimeoutError::Timeout) => py.check_signals().inspect_err(|_| threads.give_up(number))?,
            Err(RecvTimeoutError::Disconnected) => return Err(PyRuntimeError::new_err("the call was given up")),
        }
    }
}

/// Makes the call, if it may be made. One that panics is told of like one that fails: who waits for
/// it would do so for ever.
fn attempt<T>(
    call: impl FnOnce(&AtomicBool) -> Result<T, Error>,
    may: Result<&AtomicBool, &io::Error>,
) -> thread::Result<Result<T, Error>> {
    match may {
        Ok(given_up) => catch_unwind(AssertUnwindSafe(|| call(given_up))),
        Err(why) => Ok(Err(io::Error::new(why.kind(), why.to_string()).into())),
    }
}

fn result<T>(py: Python<'_>, came: thread::Result<Result<T, Error>>) -> PyResult<T> {
    came.map_err(|_| panicked())?.map_err(|error| to_python(py, error))
}

fn panicked() -> PyErr {
    PyRuntimeError::new_err("foresee is at fault: please report what it says on standard error, and open the file anew")
}

/// As [`wait`], but by another thread: it calls `done(value, error)` with what came of it, one of
/// them None.
fn begin<T: Send + 'static>(
    py: Python<'_>,
    done: Py<PyAny>,
    call: impl FnOnce(&AtomicBool) -> Result<T, Error> + Send + 'static,
    value: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
) -> PyResult<Begun> {
    let (threads, done) = (Threads::of_process(), Callback::new(py, done)?);
    let job = move |may: Result<&AtomicBool, &io::Error>| {
        let came = attempt(call, may);
        enter(|py| {
            let made = || result(py, came).and_then(|it| value(py, it));
            done.call(py, || catch_unwind(AssertUnwindSafe(made)).unwrap_or_else(|_| Err(panicked())));
        });
    };
    let number = threads.add(Box::new(job), Urgency::Waits).inspect_err(|_| done.forget(py))?;
    Ok(Begun { number: Own::new((threads, number)), done })
}
