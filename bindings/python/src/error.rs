//! Errors as exceptions that say what to do.

use std::io;
use std::sync::Arc;

use foresee::Error;
use foresee::store::Error as StoreError;
use pyo3::create_exception;
use pyo3::exceptions::{
    PyBufferError, PyFileNotFoundError, PyOSError, PyOverflowError, PyPermissionError, PyRuntimeError, PyStopIteration,
    PyValueError,
};
use pyo3::prelude::*;

/// What addresses of `foresee/fsspec.py` begin with: of a filesystem's paths, and of open files, where the
/// version follows and then the path.
const FSSPEC_PATH: &str = "fsspec-path://";
const FSSPEC_FILE: &str = "fsspec-file://";

create_exception!(foresee, Changed, PyOSError, "What is read has another version by now than the one that was opened.");

/// The exception that an error is.
pub fn to_python(py: Python<'_>, error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Store { name, error } => of_store(py, given(&name), error),
        Error::NoStore(scheme) => PyValueError::new_err(format!(
            "there is no store for '{scheme}://': s3, gs, az, http, https and file are known; give another one by Cache(stores=...)"
        )),
        Error::Policy(_)
        | Error::LittleMemory { .. }
        | Error::BlockBytes(_)
        | Error::OtherCache { .. }
        | Error::Refused(_) => PyValueError::new_err(text),
        Error::TooLarge { name, size, block_bytes } => {
            let name = Arc::from(given(&name));
            PyOverflowError::new_err(Error::TooLarge { name, size, block_bytes }.to_string())
        }
        Error::TooManyFiles => PyOverflowError::new_err(text),
        Error::TooManyViews => PyBufferError::new_err("views hold half of the memory, as much as they may: drop some"),
        Error::System(error) | Error::Disk { error, .. } => io::Error::new(error.kind(), text).into(),
        _ => PyOSError::new_err(text),
    }
}

/// What was opened as whoever opened it called it: files of fsspec have addresses of the package's own.
fn given(name: &str) -> &str {
    let of_file = || Some(name.strip_prefix(FSSPEC_FILE)?.split_once('/')?.1);
    name.strip_prefix(FSSPEC_PATH).or_else(of_file).unwrap_or(name)
}

fn of_store(py: Python<'_>, name: &str, error: StoreError) -> PyErr {
    let said = error.to_string();
    match error {
        StoreError::NotFound => {
            PyFileNotFoundError::new_err((libc::ENOENT, "there is no such object", name.to_owned()))
        }
        StoreError::Changed => {
            Changed::new_err((libc::ESTALE, "it changed since it was opened: open it again", name.to_owned()))
        }
        StoreError::Io(error) => match raised(py, &error) {
            Some(raised) => raised,
            None if error.kind() == io::ErrorKind::PermissionDenied => {
                PyPermissionError::new_err((libc::EACCES, said, name.to_owned()))
            }
            None => match error.raw_os_error() {
                Some(code) => PyOSError::new_err((code, said, name.to_owned())),
                None => io::Error::new(error.kind(), format!("{name}: {said}")).into(),
            },
        },
        _ => PyOSError::new_err(format!("{name}: {said}")),
    }
}

/// The exception that Python code raised for a store.
fn raised(py: Python<'_>, error: &Arc<io::Error>) -> Option<PyErr> {
    Some(error.get_ref()?.downcast_ref::<PyErr>()?.clone_ref(py))
}

/// What a store says that Python code is, by the exception that it raised.
pub fn to_store(py: Python<'_>, error: PyErr) -> StoreError {
    if error.is_instance_of::<PyFileNotFoundError>(py) {
        StoreError::NotFound
    } else if error.is_instance_of::<Changed>(py) {
        StoreError::Changed
    } else {
        StoreError::Io(Arc::new(io::Error::other(without_stop(py, error))))
    }
}

/// As generators have it: a StopIteration would end whoever waits for it, and no future takes one.
fn without_stop(py: Python<'_>, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyStopIteration>(py) {
        return error;
    }
    let stopped = PyRuntimeError::new_err("the store raised StopIteration");
    stopped.set_cause(py, Some(error));
    stopped
}
