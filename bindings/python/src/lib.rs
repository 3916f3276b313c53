//! The module `foresee._foresee`: the crate `foresee` for Python, as plainly as it goes. What users
//! import is the package beside it (`bindings/python/foresee`), which adds what is said more
//! shortly in Python: files with a position, coroutines, pickles.
//!
//! # What holds
//! - Nobody waits with the interpreter's lock, and whoever waits in the main thread can be
//!   interrupted (`waiting.rs`); what was given up keeps nobody else from a thread (`threads.rs`).
//! - What a process inherited by a fork is neither used nor dropped by it (`inherited.rs`).
//! - What Python code does for a cache, as a store or as a generator, it does in the cache's
//!   threads (`store.rs`, `plan.rs`).

mod buffer;
mod bytes;
mod cache;
mod client;
mod ending;
mod error;
mod file;
mod inherited;
mod numbers;
mod plan;
mod store;
mod threads;
mod view;
mod waiting;

use pyo3::prelude::*;

/// What the package `foresee` is made of.
#[pymodule(name = "_foresee")]
mod module {
    #[pymodule_export]
    use crate::buffer::fill;
    #[pymodule_export]
    use crate::cache::Cache;
    #[pymodule_export]
    use crate::client::{Client, Object};
    #[pymodule_export]
    use crate::error::Changed;
    #[pymodule_export]
    use crate::file::File;
    #[pymodule_export]
    use crate::plan::Plan;
    #[pymodule_export]
    use crate::view::View;
    #[pymodule_export]
    use crate::waiting::Begun;

    use pyo3::exceptions::PyImportError;
    use pyo3::ffi::{PyInterpreterState_Get, PyInterpreterState_GetID};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // SAFETY: the present interpreter is there, for it runs this. The first one has the number 0.
        if unsafe { PyInterpreterState_GetID(PyInterpreterState_Get()) } != 0 {
            return Err(PyImportError::new_err(
                "caches are the main interpreter's, for their threads enter no other: use them there, or in another process",
            ));
        }
        crate::ending::watch(module)?;
        crate::inherited::watch_forks()
    }
}
