//! Bytes in the cache's memory, by the buffer protocol.

use std::ffi::c_int;

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::inherited::Own;

/// What is viewed, and what keeps its memory there. In this order they are dropped.
struct Viewed {
    bytes: foresee::View<'static>,
    _file: foresee::File,
}

/// Bytes of a file as they are in the cache's memory, without a copy; they stay there for as long
/// as the view is used.
#[pyclass(frozen, weakref, module = "foresee")]
pub struct View {
    viewed: Own<Viewed>,
    /// Where the bytes are. In a forked child too: it has a copy of the memory.
    address: usize,
    len: usize,
}

impl View {
    /// A view of a file's bytes.
    pub fn new(file: &foresee::File, bytes: foresee::View<'_>) -> Self {
        let (address, len) = (bytes.as_ptr() as usize, bytes.len());
        // SAFETY: a view lives for as long as the pool that it refers to, which the file keeps; the file is
        // dropped after it.
        let bytes = unsafe { std::mem::transmute::<foresee::View<'_>, foresee::View<'static>>(bytes) };
        View { viewed: Own::new(Viewed { bytes, _file: file.clone() }), address, len }
    }
}

#[pymethods]
impl View {
    fn __len__(&self) -> usize {
        self.len
    }

    fn __repr__(&self) -> String {
        format!("<foresee.View of {} bytes>", self.len)
    }

    /// # Safety
    /// As the interpreter calls it.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("there is nothing to fill"));
        }
        let this = slf.get();
        debug_assert!(this.viewed.get().map_or(true, |it| it.bytes.as_ptr() as usize == this.address));
        // SAFETY: the bytes stay where they are until this object is gone, which the buffer keeps.
        let filled =
            unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), this.address as *mut _, this.len as isize, 1, flags) };
        if filled == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}
