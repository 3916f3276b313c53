//! What will be read.

use std::ops::Range;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyIterator;

use crate::ending::enter;
use crate::error::to_python;
use crate::file::File;
use crate::inherited::Own;

/// A plan of the crate's; None once it was closed.
#[pyclass(module = "foresee._foresee")]
pub struct Plan(Own<Option<foresee::Plan>>);

impl Plan {
    /// A plan of this process's.
    pub fn new(plan: foresee::Plan) -> Self {
        Plan(Own::new(Some(plan)))
    }

    fn with(&mut self, act: impl FnOnce(&mut foresee::Plan)) -> PyResult<()> {
        self.0.get_mut()?.as_mut().map(act);
        Ok(())
    }
}

#[pymethods]
impl Plan {
    fn file(&mut self, file: &File) -> PyResult<()> {
        let file = file.get()?;
        self.with(|plan| _ = plan.file(file))
    }

    fn ranges(&mut self, file: &File, ranges: Vec<(u64, u64)>) -> PyResult<()> {
        let file = file.get()?;
        if let Some((start, stop)) = ranges.iter().find(|(start, stop)| start > stop) {
            let what = format!("ranges: ({start}, {stop}) ends before it begins");
            return Err(PyValueError::new_err(what));
        }
        self.with(|plan| ranges.into_iter().for_each(|(start, stop)| _ = plan.range(file, start..stop)))
    }

    fn address(&mut self, py: Python<'_>, address: &str) -> PyResult<()> {
        match self.0.get_mut()? {
            Some(plan) => plan.address(address).map(|_| ()).map_err(|error| to_python(py, error)),
            None => Ok(()),
        }
    }

    fn repeat(&mut self, entries: u64, passes: u64) -> PyResult<()> {
        self.with(|plan| _ = plan.repeat(entries, passes))
    }

    /// Of an iterator that gives files, where their bytes begin and where they end.
    fn generate(&mut self, ranges: Py<PyIterator>) -> PyResult<()> {
        self.with(|plan| plan.generate(Generated(ranges)))
    }

    fn close(&mut self) -> PyResult<()> {
        *self.0.get_mut()? = None;
        Ok(())
    }
}

/// What Python code generates, in a thread of the cache's.
struct Generated(Py<PyIterator>);

impl Iterator for Generated {
    type Item = (foresee::File, Range<u64>);

    fn next(&mut self) -> Option<Self::Item> {
        enter(|py| {
            let next = self.0.bind(py).clone().next()?;
            let range = next.and_then(|it| {
                let (file, start, stop) = it.extract::<(Bound<'_, File>, u64, u64)>()?;
                Ok((file.get().get()?.clone(), start..stop))
            });
            range.map_err(|error| error.write_unraisable(py, Some(self.0.bind(py)))).ok()
        })?
    }
}
