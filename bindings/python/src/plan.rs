//! What will be read.

use std::ops::Range;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyIterator;

use crate::ending::enter;
use crate::error::to_python;
use crate::file::File;
use crate::inherited::Own;
use crate::numbers::{self, entries, passes, whole};

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

    fn range(&mut self, file: &File, start: &Bound<'_, PyAny>, stop: &Bound<'_, PyAny>) -> PyResult<()> {
        let (start, stop) = (whole("start", start)?, whole("stop", stop)?);
        if start > stop {
            return Err(PyValueError::new_err(format!("start {start} and stop {stop}: it ends before it begins")));
        }
        let file = file.get()?;
        self.with(|plan| _ = plan.range(file, start..stop))
    }

    /// Pairs of where bytes begin and where they end.
    fn ranges(plan: &Bound<'_, Self>, file: &File, ranges: &Bound<'_, PyAny>) -> PyResult<()> {
        // What gives them may use this plan itself.
        let (file, ranges) = (file.get()?, numbers::ranges("ranges", ranges)?);
        plan.try_borrow_mut()?
            .with(|plan| ranges.into_iter().for_each(|(start, stop)| _ = plan.range(file, start..stop)))
    }

    fn address(&mut self, py: Python<'_>, address: &str) -> PyResult<()> {
        match self.0.get_mut()? {
            Some(plan) => plan.address(address).map(|_| ()).map_err(|error| to_python(py, error)),
            None => Ok(()),
        }
    }

    fn repeat(
        &mut self,
        #[pyo3(from_py_with = entries)] entries: u64,
        #[pyo3(from_py_with = passes)] passes: u64,
    ) -> PyResult<()> {
        self.with(|plan| _ = plan.repeat(entries, passes))
    }

    /// Of an iterator that gives files, each with a pair of where bytes begin and where they end.
    fn generate(&mut self, ranges: Py<PyIterator>) -> PyResult<()> {
        self.with(|plan| plan.generate(Generated { ranges, given: 0 }))
    }

    fn close(&mut self) -> PyResult<()> {
        *self.0.get_mut()? = None;
        Ok(())
    }
}

/// What Python code generates, in a thread of the cache's.
struct Generated {
    ranges: Py<PyIterator>,
    given: u64,
}

impl Iterator for Generated {
    type Item = (foresee::File, Range<u64>);

    fn next(&mut self) -> Option<Self::Item> {
        enter(|py| {
            let next = self.ranges.bind(py).clone().next()?;
            let range = next.and_then(|it| {
                let (file, pair) = it.extract::<(Bound<'_, File>, Bound<'_, PyAny>)>()?;
                let (start, stop) = numbers::range(|| format!("ranges[{}]", self.given), &pair)?;
                Ok((file.get().get()?.clone(), start..stop))
            });
            self.given += 1;
            range.map_err(|error| error.write_unraisable(py, Some(self.ranges.bind(py)))).ok()
        })?
    }
}
