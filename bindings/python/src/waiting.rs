//! Calls that wait for a store.
//!
//! The interpreter's main thread is where signals are heard of, so it does not wait itself: another
//! thread does, and the main thread looks now and then whether it was interrupted. What was
//! interrupted goes on in its thread, and nobody is told what came of it. Coroutines have the same
//! threads do what they wait for.

use std::collections::VecDeque;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use foresee::Error;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::ending::enter;
use crate::error::to_python;
use crate::inherited::process;

/// An interrupt is heard of so much later at most.
const LOOK: Duration = Duration::from_millis(50);
/// As many as a store's requests side by side.
const THREADS_MAX: usize = 64;

type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    idle: usize,
    threads: usize,
}

#[derive(Default)]
struct Threads {
    queue: Mutex<Queue>,
    more: Condvar,
}

/// The present process's, with the number of the process.
static THREADS: Mutex<Option<(u64, Arc<Threads>)>> = Mutex::new(None);

fn threads() -> Arc<Threads> {
    // Held by whoever has the interpreter's lock alone, which a fork has as well: never by a thread
    // that a child lacks.
    let mut known = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    match &*known {
        Some((of, threads)) if *of == process() => Arc::clone(threads),
        _ => {
            let threads = Arc::<Threads>::default();
            // Of the parent's, the lock may be held by a thread that is not here.
            std::mem::forget(known.replace((process(), Arc::clone(&threads))));
            threads
        }
    }
}

impl Threads {
    fn add(self: Arc<Self>, job: Job) -> PyResult<()> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.jobs.push_back(job);
        if queue.jobs.len() > queue.idle && queue.threads < THREADS_MAX {
            let threads = Arc::clone(&self);
            match thread::Builder::new().name("foresee-wait".into()).spawn(move || threads.work()) {
                Ok(_) => queue.threads += 1,
                Err(error) if queue.threads == 0 => {
                    queue.jobs.clear();
                    return Err(error.into());
                }
                // Those there are do it.
                Err(_) => {}
            }
        }
        drop(queue);
        self.more.notify_one();
        Ok(())
    }

    fn work(&self) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            while let Some(job) = queue.jobs.pop_front() {
                drop(queue);
                job();
                queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            }
            queue.idle += 1;
            queue = self.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
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
    threads().add(Box::new(move || _ = sender.send(call())))?;
    // The receiver is not to be shared, and is not: it goes there and back.
    let receiver = Mutex::new(receiver);
    loop {
        let came = py.detach(|| receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK));
        match came {
            Ok(result) => return result.map_err(|error| to_python(py, error)),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => return Err(PyRuntimeError::new_err("the call was given up")),
        }
    }
}

/// As [`wait`], but by another thread: it calls `done(value, error)` with what came of it, one of
/// them None.
pub fn begin<T: Send + 'static>(
    done: Py<PyAny>,
    call: impl FnOnce() -> Result<T, Error> + Send + 'static,
    value: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
) -> PyResult<()> {
    let job = move || {
        let came = call();
        // Where the interpreter ends, nobody waits any more.
        enter(move |py| {
            let came = came.map_err(|error| to_python(py, error)).and_then(|it| value(py, it));
            let told = match came {
                Ok(value) => done.call1(py, (value, py.None())),
                Err(error) => done.call1(py, (py.None(), error.into_value(py))),
            };
            if let Err(error) = told {
                error.write_unraisable(py, Some(done.bind(py)));
            }
        });
    };
    threads().add(Box::new(job))
}
