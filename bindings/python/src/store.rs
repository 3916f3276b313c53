//! A store that is Python code.
//!
//! It has `open(name)`, which gives an object with `size`, `version` and `read(offset, size)`, and
//! may have `list(prefix)`, which gives names with their sizes, and `depth`. The cache's threads
//! call it, as many at once as it says. What it opens may also be a client's object (`client.rs`),
//! which is read without Python.

use std::io::{self, IoSliceMut};
use std::sync::Arc;

use foresee::store::{Error, Listed, Object, Store, Version};
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;

use crate::buffer::Lent;
use crate::client;
use crate::ending::enter;
use crate::error::to_store;

/// As stores of the crate's have it that say nothing else.
const DEPTH: usize = 16;

/// What Python code makes of names.
pub struct PythonStore {
    store: Py<PyAny>,
    depth: usize,
}

impl PythonStore {
    /// A store that is this object.
    pub fn new(store: Bound<'_, PyAny>) -> PyResult<Self> {
        store.getattr("open")?;
        let depth = match store.getattr("depth") {
            Ok(depth) => depth.extract()?,
            Err(error) if error.is_instance_of::<PyAttributeError>(store.py()) => DEPTH,
            Err(error) => return Err(error),
        };
        Ok(PythonStore { store: store.unbind(), depth })
    }
}

/// What Python code comes to; an error where there is no interpreter any more.
fn ask<T>(act: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T, Error> {
    let asked = enter(|py| act(py).map_err(|error| to_store(py, error)));
    asked.unwrap_or_else(|| Err(io::Error::other("the interpreter has ended").into()))
}

impl Store for PythonStore {
    fn open(&self, name: &str) -> Result<Arc<dyn Object>, Error> {
        ask(|py| {
            let object = self.store.bind(py).call_method1("open", (name,))?;
            if let Ok(of_client) = object.cast::<client::Object>() {
                return Ok(Arc::clone(of_client.get().get()?));
            }
            let (size, version) = (object.getattr("size")?.extract()?, object.getattr("version")?.str()?.to_string());
            Ok(Arc::new(PythonObject { object: object.unbind(), size, version: Version::Tag(version.into()) }) as _)
        })
    }

    fn list(&self, prefix: &str) -> Result<Vec<Listed>, Error> {
        ask(|py| {
            let listed = self.store.bind(py).call_method1("list", (prefix,))?.try_iter()?;
            let named = |it: PyResult<Bound<'_, PyAny>>| {
                let (name, size) = it?.extract()?;
                Ok(Listed { name, size, version: None, modified: None })
            };
            listed.map(named).collect()
        })
    }

    fn depth(&self) -> usize {
        self.depth
    }

    /// Who writes a store in Python is not asked for so much.
    fn versions_last(&self) -> bool {
        false
    }
}

struct PythonObject {
    object: Py<PyAny>,
    size: u64,
    version: Version,
}

impl Object for PythonObject {
    fn size(&self) -> u64 {
        self.size
    }

    fn version(&self) -> &Version {
        &self.version
    }

    fn read(&self, offset: u64, pieces: &mut [IoSliceMut<'_>]) -> Result<(usize, Version), Error> {
        let room = pieces.iter().map(|piece| piece.len() as u64).sum::<u64>();
        let wanted = room.min(self.size.saturating_sub(offset));
        let came = ask(|py| {
            let bytes = self.object.bind(py).call_method1("read", (offset, wanted))?;
            Ok(Lent::of(&bytes)?.copy_into(py, pieces))
        })?;
        // It is shorter than it was.
        if came == 0 && wanted > 0 { Err(Error::Changed) } else { Ok((came, self.version.clone())) }
    }
}
