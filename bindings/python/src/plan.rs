//! What will be read.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyIterator;

use crate::ending::enter;
use crate::error::to_python;
use crate::file::File;
use crate::inherited::Own;
use crate::numbers::{self, entries, passes, whole};

/// A plan of the crate's. It is withdrawn when it goes.
#[pyclass(module = "foresee._foresee")]
pub struct Plan {
    plan: Own<foresee::Plan>,
    generator: Option<Generator>,
}

/// What Python code generates with, until nobody can use the plan any more. The cache has it, for
/// as long as the plan is there, so to the interpreter's collector it is the plan's: most often it
/// refers to who has the plan. Locked with the interpreter's lock alone, and by nobody who lets go
/// of that meanwhile.
type Generator = Arc<Mutex<Option<Py<PyIterator>>>>;

impl Plan {
    /// A plan of this process's.
    pub fn new(plan: foresee::Plan) -> Self {
        Plan { plan: Own::new(plan), generator: None }
    }

    fn with(
        &mut self,
        py: Python<'_>,
        act: impl FnOnce(&mut foresee::Plan) -> Result<(), foresee::Error>,
    ) -> PyResult<()> {
        act(self.plan.get_mut()?).map_err(|error| to_python(py, error))
    }
}

#[pymethods]
impl Plan {
    fn file(&mut self, py: Python<'_>, file: &File) -> PyResult<()> {
        let file = file.get()?;
        self.with(py, |plan| plan.file(file).map(drop))
    }

    fn range(
        &mut self,
        py: Python<'_>,
        file: &File,
        start: &Bound<'_, PyAny>,
        stop: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (start, stop) = (whole("start", start)?, whole("stop", stop)?);
        if start > stop {
            return Err(PyValueError::new_err(format!("start {start} and stop {stop}: it ends before it begins")));
        }
        let file = file.get()?;
        self.with(py, |plan| plan.range(file, start..stop).map(drop))
    }

    /// Pairs of where bytes begin and where they end.
    fn ranges(plan: &Bound<'_, Self>, file: &File, ranges: &Bound<'_, PyAny>) -> PyResult<()> {
        // What gives them may use this plan itself.
        let (file, ranges) = (file.get()?, numbers::ranges("ranges", ranges)?);
        plan.try_borrow_mut()?.with(plan.py(), |plan| {
            ranges.into_iter().try_for_each(|(start, stop)| plan.range(file, start..stop).map(drop))
        })
    }

    fn address(&mut self, py: Python<'_>, address: &str) -> PyResult<()> {
        self.with(py, |plan| plan.address(address).map(drop))
    }

    fn repeat(
        &mut self,
        #[pyo3(from_py_with = entries)] entries: u64,
        #[pyo3(from_py_with = passes)] passes: u64,
    ) -> PyResult<()> {
        self.plan.get_mut()?.repeat(entries, passes);
        Ok(())
    }

    /// Of an iterator that gives files, each with a pair of where bytes begin and where they end.
    fn generate(&mut self, ranges: Py<PyIterator>) -> PyResult<()> {
        let generator = Arc::new(Mutex::new(Some(ranges)));
        let ranges = Arc::clone(&generator);
        self.plan.get_mut()?.generate(Generated { ranges, given: 0 });
        self.generator = Some(generator);
        Ok(())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match &self.generator {
            Some(generator) => visit.call(&*generator.lock().unwrap_or_else(PoisonError::into_inner)),
            None => Ok(()),
        }
    }

    fn __clear__(&mut self) {
        if let Some(generator) = self.generator.take() {
            drop(take(&generator));
        }
    }
}

/// To be dropped by whoever has no lock: code of Python's may run then.
fn take(generator: &Generator) -> Option<Py<PyIterator>> {
    generator.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// What Python code generates, in a thread of the cache's.
struct Generated {
    ranges: Generator,
    given: u64,
}

impl Drop for Generated {
    /// What it refers to goes now, and not when somebody next calls the package.
    fn drop(&mut self) {
        enter(|_| drop(take(&self.ranges)));
    }
}

impl Iterator for Generated {
    type Item = (foresee::File, Range<u64>);

    fn next(&mut self) -> Option<Self::Item> {
        enter(|py| {
            let ranges = self.ranges.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.clone_ref(py);
            let next = ranges.bind(py).clone().next()?;
            let range = next.and_then(|it| {
                let (file, pair) = it.extract::<(Bound<'_, File>, Bound<'_, PyAny>)>()?;
                let (start, stop) = numbers::range(|| format!("ranges[{}]", self.given), &pair)?;
                Ok((file.get().get()?.clone(), start..stop))
            });
            self.given += 1;
            range.map_err(|error| error.write_unraisable(py, Some(ranges.bind(py)))).ok()
        })?
    }
}
