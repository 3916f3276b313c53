//! One version of an object, open.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use pyo3::prelude::*;

use crate::buffer::Lent;
use crate::bytes::Unseen;
use crate::error::to_python;
use crate::inherited::Own;
use crate::numbers::{offset, size};
use crate::view::View;
use crate::waiting::{wait, wait_or_begin};

/// So much is read at a time: between two parts it is seen whether anybody still waits.
const PART: u64 = 16 << 20;

/// A file of the crate's. Where `done` is given, a method returns at once: what is in memory, or
/// what was begun; of that it calls `done` with what came and what went wrong.
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

/// Of so many bytes from a place on, those to be read first. Parts end where blocks do: what lay in
/// two would be read twice.
fn part(from: u64, left: usize) -> usize {
    left.min((PART - from % PART) as usize)
}

/// So many of these bytes the file has.
fn within(file: &foresee::File, offset: u64, size: usize) -> usize {
    size.min(usize::try_from(file.len().saturating_sub(offset)).unwrap_or(usize::MAX))
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
        Ok(Lent::writable(buffer)?.len())
    }

    /// Bytes from an offset on. What is in memory of them is read once, here, and not again by who
    /// waits for the rest: what was read twice would count twice.
    #[pyo3(signature = (offset, size, done = None))]
    fn read(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = offset)] offset: u64,
        #[pyo3(from_py_with = size)] size: usize,
        done: Option<Py<PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let file = self.get()?;
        let size = within(file, offset, size);
        let mut bytes = Unseen::new(py, size)?;
        let here = file.read_now(bytes.buffer(), offset);
        if here == size {
            return Ok(bytes.first(py, size));
        }
        let file = file.clone();
        let call = move |given_up: &AtomicBool| {
            let mut filled = here;
            while filled < size && !given_up.load(Relaxed) {
                let (from, buffer) = (offset + filled as u64, &mut bytes.buffer()[filled..]);
                let count = part(from, buffer.len());
                let came = file.read_at(&mut buffer[..count], from)?;
                filled += came;
                if came < count {
                    break;
                }
            }
            Ok((bytes, filled))
        };
        wait_or_begin(py, done, call, |py, (bytes, came)| Ok(bytes.first(py, came)))
    }

    /// Fills a buffer with what the file has from an offset on; how many bytes that is.
    fn read_into(&self, py: Python<'_>, buffer: &Bound<'_, PyAny>, offset: u64) -> PyResult<usize> {
        let (file, lent) = (self.get()?, Lent::writable(buffer)?);
        let size = within(file, offset, lent.len());
        let mut filled = lent.fill_by(py, |buffer| file.read_now(&mut buffer[..size], offset));
        while filled < size {
            let (file, from) = (file.clone(), offset + filled as u64);
            let count = part(from, size - filled);
            // What comes is copied once more: the buffer is touched with the interpreter's lock alone.
            let bytes = wait(py, move |_| read(&file, from, count))?;
            lent.fill(py, filled, &bytes);
            filled += bytes.len();
            if bytes.len() < count {
                break;
            }
        }
        Ok(filled)
    }

    /// A view from an offset on.
    #[pyo3(signature = (offset, size, done = None))]
    fn view(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = offset)] offset: u64,
        #[pyo3(from_py_with = size)] size: usize,
        done: Option<Py<PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let file = self.get()?;
        if let Some(view) = file.view_now(offset, size).map_err(|error| to_python(py, error))? {
            return Ok(Py::new(py, View::new(file, view))?.into_any());
        }
        let file = file.clone();
        let call = move |_: &AtomicBool| file.view(offset, size).map(|view| View::new(&file, view));
        wait_or_begin(py, done, call, |py, view| Ok(Py::new(py, view)?.into_any()))
    }
}
