//! Bytes objects that are filled before anybody has them.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// To write fewer zeros is quicker than to call what asks the system for them.
const MANY: usize = 16 << 10;

/// Bytes that nobody of Python's has seen yet: so they are filled without the interpreter's lock,
/// and are what is returned, without a copy.
pub struct Unseen {
    bytes: Py<PyBytes>,
    begin: *mut u8,
    len: usize,
}

// SAFETY: only who has this refers to the bytes, which stay where they are.
unsafe impl Send for Unseen {}

impl Unseen {
    /// So many, all zero. Where they are many, as `bytes(len)` makes them, whose zeros are the system's:
    /// they take memory only when they are filled, and not while a read waits for its turn.
    pub fn new(py: Python<'_>, len: usize) -> PyResult<Self> {
        let bytes = match len < MANY {
            true => PyBytes::new_with(py, len, |_| Ok(()))?,
            false => py.get_type::<PyBytes>().call1((len,))?.cast_into()?,
        };
        // SAFETY: it is a bytes object.
        let begin = unsafe { ffi::PyBytes_AsString(bytes.as_ptr()) }.cast();
        Ok(Unseen { bytes: bytes.unbind(), begin, len })
    }

    /// To be filled.
    pub fn buffer(&mut self) -> &mut [u8] {
        // SAFETY: so many bytes there are, for as long as the object is; nobody else has it.
        unsafe { std::slice::from_raw_parts_mut(self.begin, self.len) }
    }

    /// The first so many, without a copy if they are all.
    pub fn first(self, py: Python<'_>, count: usize) -> Py<PyAny> {
        match count == self.len {
            true => self.bytes.into_any(),
            false => PyBytes::new(py, &self.bytes.as_bytes(py)[..count]).into_any().unbind(),
        }
    }
}
