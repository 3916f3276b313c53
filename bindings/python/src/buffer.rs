//! What Python code lends: memory of its own, to be read or to be filled.

use std::io::IoSliceMut;

use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;

/// Bytes that Python code lends, one after the other, whatever they mean to it. They are touched
/// with the interpreter's lock alone.
pub struct Lent(Box<ffi::Py_buffer>);

impl Lent {
    /// What an object of the buffer protocol lends.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut buffer = Box::new(ffi::Py_buffer::new());
        // SAFETY: the object lives, and the buffer stays where it is until it is given back. As plain bytes
        // alone it is asked for: who cannot lend those says why.
        match unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &raw mut *buffer, ffi::PyBUF_SIMPLE) } {
            0 => Ok(Lent(buffer)),
            _ => {
                let (py, why) = (object.py(), PyErr::fetch(object.py()));
                // Of views it says that there may be no more.
                let is_scattered = why.is_instance_of::<PyBufferError>(py);
                Err(if is_scattered { PyValueError::new_err(why.value(py).to_string()) } else { why })
            }
        }
    }

    /// The same, of memory that may be filled.
    pub fn writable(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let lent = Self::of(object)?;
        match lent.is_writable() {
            true => Ok(lent),
            false => Err(PyValueError::new_err("a buffer that can be written to is needed")),
        }
    }

    /// So many bytes.
    pub fn len(&self) -> usize {
        self.0.len.unsigned_abs()
    }

    fn is_writable(&self) -> bool {
        self.0.readonly == 0
    }

    /// Fills it from a place on, which lies within it.
    pub fn fill(&self, _py: Python<'_>, at: usize, bytes: &[u8]) {
        assert!(self.is_writable() && at + bytes.len() <= self.len(), "what does not fit");
        // SAFETY: it lies within the buffer, which is contiguous and writable, and nobody else of Python
        // runs meanwhile.
        unsafe { std::ptr::copy(bytes.as_ptr(), self.0.buf.cast::<u8>().add(at), bytes.len()) };
    }

    /// Has it filled by code that runs nothing of Python's.
    pub fn fill_by<T>(&self, _py: Python<'_>, fill: impl FnOnce(&mut [u8]) -> T) -> T {
        assert!(self.is_writable(), "what is to be read");
        let (begin, len) = (self.0.buf.cast::<u8>(), self.len());
        // A buffer of no bytes may lie nowhere.
        let buffer = match len {
            0 => &mut [],
            // SAFETY: so long is the buffer, which is contiguous and writable, and nobody else of Python runs
            // meanwhile.
            _ => unsafe { std::slice::from_raw_parts_mut(begin, len) },
        };
        fill(buffer)
    }

    /// Copies it into pieces, one after the other, as much as they hold. Returns how many bytes.
    pub fn copy_into(&self, _py: Python<'_>, pieces: &mut [IoSliceMut<'_>]) -> usize {
        let mut copied = 0;
        for piece in pieces {
            let count = piece.len().min(self.len() - copied);
            // SAFETY: so many bytes are left in the buffer, which is contiguous, and nobody of Python runs
            // meanwhile.
            unsafe { std::ptr::copy(self.0.buf.cast::<u8>().add(copied), piece.as_mut_ptr(), count) };
            copied += count;
        }
        copied
    }
}

/// Fills memory with bytes, from a place on; how many they are.
#[pyfunction]
pub fn fill(py: Python<'_>, buffer: &Bound<'_, PyAny>, at: usize, bytes: &[u8]) -> PyResult<usize> {
    let lent = Lent::writable(buffer)?;
    if bytes.len() > lent.len().saturating_sub(at) {
        let len = lent.len();
        return Err(PyValueError::new_err(format!("the buffer has {len} bytes by now, fewer than when it was given")));
    }
    lent.fill(py, at, bytes);
    Ok(bytes.len())
}

impl Drop for Lent {
    fn drop(&mut self) {
        // An interpreter that ends has nothing to give back to.
        // SAFETY: it was lent, and is given back once.
        let _ = Python::try_attach(|_| unsafe { ffi::PyBuffer_Release(&raw mut *self.0) });
    }
}
