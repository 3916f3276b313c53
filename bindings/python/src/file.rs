//! One version of an object, open.

use std::ops::Range;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::buffer::Lent;
use crate::inherited::Own;
use crate::numbers::{offset, size};
use crate::view::View;
use crate::waiting::{wait, wait_or_begin};

/// A part of a buffer that is filled at a time: what comes is copied once more, from here.
const PART: usize = 16 << 20;

/// A file of the crate's. Where `done` is given, a method returns at once and calls it with what
/// came and what went wrong.
#[pyclass(frozen, module = "foresee._foresee")]
pub struct File(Own<foresee::File>);

impl File {
    /// A file of this process's.
    pub fn new(file: foresee::File) -> Self {
        File(Own::new(file))
    }

    /// The file, in its process.
    pub fn get(&self) -> PyResult<&foresee::File> {
        self.0.get()
    }
}

/// All of these bytes that the file has.
fn read(file: &foresee::File, offset: u64, size: usize) -> Result<Vec<u8>, foresee::Error> {
    let mut bytes = vec![0; within(file, offset, size)];
    let count = file.read_at(&mut bytes, offset)?;
    bytes.truncate(count);
    Ok(bytes)
}

/// So many of these bytes the file has.
fn within(file: &foresee::File, offset: u64, size: usize) -> usize {
    size.min(usize::try_from(file.len().saturating_sub(offset)).unwrap_or(usize::MAX))
}

/// Waits for what a read still lacks, and hands it over with its place in the read. How many bytes
/// the read has then.
fn wait_for_rest(
    py: Python<'_>,
    file: &foresee::File,
    offset: u64,
    lacking: Range<usize>,
    mut put: impl FnMut(usize, &[u8]),
) -> PyResult<usize> {
    let mut filled = lacking.start;
    while filled < lacking.end {
        let (file, from, count) = (file.clone(), offset + filled as u64, PART.min(lacking.end - filled));
        let bytes = wait(py, move || read(&file, from, count))?;
        put(filled, &bytes);
        filled += bytes.len();
        if bytes.len() < count {
            break;
        }
    }
    Ok(filled)
}

/// Memory that may be filled.
fn writable(buffer: &Bound<'_, PyAny>) -> PyResult<Lent> {
    let lent = Lent::of(buffer)?;
    match lent.is_writable() {
        true => Ok(lent),
        false => Err(PyValueError::new_err("a buffer that can be written to is needed")),
    }
}

/// The first bytes of some, without a copy if they are all.
fn first<'py>(bytes: Bound<'py, PyBytes>, count: usize) -> Bound<'py, PyBytes> {
    match bytes.as_bytes() {
        all if all.len() == count => bytes,
        all => PyBytes::new(bytes.py(), &all[..count]),
    }
}

#[pymethods]
impl File {
    #[getter]
    fn size(&self) -> PyResult<u64> {
        Ok(self.get()?.len())
    }

    #[getter]
    fn version(&self) -> PyResult<String> {
        Ok(self.get()?.version().to_string())
    }

    /// So many of these bytes there are.
    fn within(
        &self,
        #[pyo3(from_py_with = offset)] offset: u64,
        #[pyo3(from_py_with = size)] size: usize,
    ) -> PyResult<usize> {
        Ok(within(self.get()?, offset, size))
    }

    /// How many bytes a buffer has that can be written to.
    fn room(&self, buffer: &Bound<'_, PyAny>) -> PyResult<usize> {
        Ok(writable(buffer)?.len())
    }

    /// What is in memory of these bytes, up to the first that is not. Who reads on begins there:
    /// what was read twice would count twice.
    fn read_now<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = offset)] offset: u64,
        #[pyo3(from_py_with = size)] size: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let file = self.get()?;
        let mut came = 0;
        let bytes = PyBytes::new_with(py, within(file, offset, size), |buffer| {
            came = file.read_now(buffer, offset);
            Ok(())
        })?;
        Ok(first(bytes, came))
    }

    #[pyo3(signature = (offset, size, done = None))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = offset)] offset: u64,
        #[pyo3(from_py_with = size)] size: usize,
        done: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let file = self.get()?;
        if done.is_some() {
            let file = file.clone();
            let value = |py: Python<'_>, bytes: Vec<u8>| Ok(PyBytes::new(py, &bytes).into_any().unbind());
            return Ok(wait_or_begin(py, done, move || read(&file, offset, size), value)?.into_bound(py));
        }
        let (size, mut came) = (within(file, offset, size), 0);
        let bytes = PyBytes::new_with(py, size, |buffer| {
            let here = file.read_now(buffer, offset);
            came = wait_for_rest(py, file, offset, here..size, |at, bytes| {
                buffer[at..at + bytes.len()].copy_from_slice(bytes);
            })?;
            Ok(())
        })?;
        Ok(first(bytes, came).into_any())
    }

    /// Fills a buffer with what the file has from an offset on; how many bytes that is.
    fn read_into(&self, py: Python<'_>, buffer: &Bound<'_, PyAny>, offset: u64) -> PyResult<usize> {
        let (file, lent) = (self.get()?, writable(buffer)?);
        let size = within(file, offset, lent.len());
        let here = lent.fill_by(py, |buffer| file.read_now(&mut buffer[..size], offset));
        wait_for_rest(py, file, offset, here..size, |at, bytes| lent.fill(py, at, bytes))
    }

    /// A view from an offset on, if it is in memory.
    fn view_now(
        &self,
        #[pyo3(from_py_with = offset)] offset: u64,
        #[pyo3(from_py_with = size)] size: usize,
    ) -> PyResult<Option<View>> {
        let file = self.get()?;
        let view =
            Python::attach(|py| file.view_now(offset, size).map_err(|error| crate::error::to_python(py, error)))?;
        Ok(view.map(|view| View::new(file, view)))
    }

    #[pyo3(signature = (offset, size, done = None))]
    fn view(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = offset)] offset: u64,
        #[pyo3(from_py_with = size)] size: usize,
        done: Option<Py<PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let file = self.get()?.clone();
        let call = move || file.view(offset, size).map(|view| View::new(&file, view));
        wait_or_begin(py, done, call, |py, view| Ok(Py::new(py, view)?.into_any()))
    }
}
