//! Memory that a request's parts are read into, by several threads at once, each its own places of
//! it.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use super::header::ALIGN_BYTES;

/// Aligned as reads past the page cache need it. Not cleared: what is not read is not touched, and
/// costs no memory.
pub(super) struct Buffer {
    memory: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns its memory, and hands out references to it only on the caller's word that nobody
// writes meanwhile.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Room for `bytes`, more than none.
    pub fn new(bytes: usize) -> Self {
        let layout = Layout::from_size_align(bytes.max(1), ALIGN_BYTES as usize).expect("a request is far below 2^63");
        // SAFETY: the layout's size is not zero.
        let memory = NonNull::new(unsafe { alloc(layout) }).unwrap_or_else(|| handle_alloc_error(layout));
        Buffer { memory, layout }
    }

    pub fn bytes(&self) -> usize {
        self.layout.size()
    }

    /// Where the kernel may write from `at` on.
    pub fn pointer(&self, at: usize) -> *mut u8 {
        assert!(at <= self.bytes());
        // SAFETY: within the memory, or just behind it.
        unsafe { self.memory.as_ptr().add(at) }
    }

    /// A part of it.
    ///
    /// # Safety
    /// All of the part has been written, and nobody writes to it while the reference lives.
    pub unsafe fn part(&self, at: usize, bytes: usize) -> &[u8] {
        assert!(at.checked_add(bytes).is_some_and(|end| end <= self.bytes()));
        // SAFETY: within the memory; the rest is the caller's word.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().add(at), bytes) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) };
    }
}
