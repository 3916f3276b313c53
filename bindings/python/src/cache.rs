//! The cache.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::client::service;
use crate::error::to_python;
use crate::file::File;
use crate::inherited::Own;
use crate::numbers::{block_bytes, memory, whole};
use crate::plan::Plan;
use crate::store::PythonStore;
use crate::waiting::wait_or_begin;

/// A cache of the crate's.
#[pyclass(frozen, module = "foresee._foresee")]
pub struct Cache(Own<foresee::Cache>);

#[pymethods]
impl Cache {
    #[new]
    #[pyo3(signature = (memory, block_bytes, policy, disk, max_age, log, stores, settings))]
    #[expect(clippy::too_many_arguments, reason = "they are the package's keywords")]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = memory)] memory: usize,
        #[pyo3(from_py_with = block_bytes)] block_bytes: usize,
        policy: &str,
        disk: Option<(PathBuf, Bound<'_, PyAny>)>,
        max_age: f64,
        log: Option<PathBuf>,
        stores: HashMap<String, Bound<'_, PyAny>>,
        settings: HashMap<String, HashMap<String, String>>,
    ) -> PyResult<Self> {
        let mut builder =
            foresee::Cache::builder().memory(memory).block_bytes(block_bytes).policy(policy).max_age(age(max_age)?);
        for (scheme, settings) in settings {
            builder = builder.store(&scheme, Arc::new(service(&scheme, settings)?));
        }
        for (scheme, store) in stores {
            builder = builder.store(&scheme, Arc::new(PythonStore::new(store)?));
        }
        if let Some((path, bytes)) = disk {
            builder = builder.disk(path, whole("the bytes of disk", &bytes)?);
        }
        if let Some(path) = log {
            builder = builder.log(path);
        }
        let opened = py.detach(|| builder.open());
        Ok(Cache(Own::new(opened.map_err(|error| to_python(py, error))?)))
    }

    fn reader(&self) -> PyResult<Self> {
        Ok(Cache(Own::new(self.0.get()?.reader())))
    }

    #[pyo3(signature = (address, done = None))]
    fn open(&self, py: Python<'_>, address: String, done: Option<Py<PyAny>>) -> PyResult<Py<PyAny>> {
        let cache = self.0.get()?.clone();
        let call = move |_: &AtomicBool| cache.open(&address).map(File::new);
        wait_or_begin(py, done, call, |py, file| Ok(Py::new(py, file)?.into_any()))
    }

    /// Names and sizes.
    #[pyo3(signature = (address, done = None))]
    fn list(&self, py: Python<'_>, address: String, done: Option<Py<PyAny>>) -> PyResult<Py<PyAny>> {
        let cache = self.0.get()?.clone();
        let call = move |_: &AtomicBool| {
            Ok(cache.list(&address)?.into_iter().map(|it| (it.name, it.size)).collect::<Vec<_>>())
        };
        wait_or_begin(py, done, call, |py, listed| Ok(listed.into_pyobject(py)?.into_any().unbind()))
    }

    /// Whether this cache opened a file.
    fn owns(&self, file: &File) -> PyResult<bool> {
        Ok(file.get()?.is_of(self.0.get()?))
    }

    fn plan(&self) -> PyResult<Plan> {
        Ok(Plan::new(self.0.get()?.plan()))
    }

    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let cache = self.0.get()?;
        let it = py.detach(|| cache.statistics());
        let all = PyDict::new(py);
        let counts = [
            ("hits", it.hits),
            ("late_hits", it.late_hits),
            ("misses", it.misses),
            ("demand_requests", it.demand_requests),
            ("ahead_requests", it.ahead_requests),
            ("failed_requests", it.failed_requests),
            ("bytes_read", it.bytes_read),
            ("block_bytes", it.block_bytes as u64),
            ("blocks", it.blocks as u64),
            ("blocks_used", it.blocks_used as u64),
            ("views", it.views as u64),
            ("disk_bytes_read", it.disk.bytes_read),
            ("disk_bytes_written", it.disk.bytes_written),
        ];
        counts.iter().try_for_each(|(name, count)| all.set_item(name, count))?;
        for (name, outcomes) in [("planned", it.planned), ("guessed", it.guessed)] {
            all.set_item(name, of_outcomes(py, &outcomes)?)?;
        }
        Ok(all)
    }
}

/// So many seconds. More than can be counted are all there will be.
fn age(seconds: f64) -> PyResult<Duration> {
    match seconds >= 0.0 {
        true => Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)),
        false => {
            let wrong = format!("max_age is {seconds}: give seconds from 0 on, or float('inf') for ever");
            Err(PyValueError::new_err(wrong))
        }
    }
}

/// What became of blocks that were read ahead.
fn of_outcomes<'py>(py: Python<'py>, outcomes: &foresee::Outcomes) -> PyResult<Bound<'py, PyDict>> {
    let counts = [
        ("fetched", outcomes.fetched),
        ("timely", outcomes.timely),
        ("late", outcomes.late),
        ("wasted", outcomes.wasted),
        ("cancelled", outcomes.cancelled),
    ];
    let all = PyDict::new(py);
    counts.iter().try_for_each(|(name, count)| all.set_item(name, count))?;
    Ok(all)
}
