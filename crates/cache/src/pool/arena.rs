//! The memory of the frames: reserved once, of one size, never more.

use std::io::{self, IoSliceMut};
use std::ptr::{self, NonNull};

/// So many frames of so many bytes each, one after the other. The system gives them memory when
/// they are first written to.
pub struct Arena {
    base: NonNull<u8>,
    frames: usize,
    frame_bytes: usize,
}

// SAFETY: it is memory, and nothing else; who may touch which frame is up to the callers of its
// unsafe methods.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// Reserves memory for `frames` frames of `frame_bytes` bytes, neither of them 0.
    pub fn new(frames: usize, frame_bytes: usize) -> io::Result<Self> {
        let bytes = frames.checked_mul(frame_bytes).ok_or(io::ErrorKind::OutOfMemory)?;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a mapping of its own, at no address in particular; the result is checked.
        let base = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            let error = io::Error::last_os_error();
            return Err(io::Error::new(error.kind(), format!("a memory of {bytes} bytes: {error}")));
        }
        // Hits go anywhere in it: fewer pages are fewer to look up. Who does not give large ones gives
        // small ones. SAFETY: of the mapping just made.
        unsafe { libc::madvise(base, bytes, libc::MADV_HUGEPAGE) };
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Arena { base, frames, frame_bytes })
    }

    /// Bytes of a frame.
    pub fn frame_bytes(&self) -> usize {
        self.frame_bytes
    }

    #[inline]
    fn frame(&self, frame: u32) -> NonNull<u8> {
        assert!((frame as usize) < self.frames, "a frame that is not there");
        // SAFETY: within the mapping, by the assertion.
        unsafe { self.base.add(frame as usize * self.frame_bytes) }
    }

    /// Has the line at this byte of a frame brought into the processor's cache, where it knows how.
    #[inline]
    pub fn prefetch(&self, frame: u32, at: usize) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let place = self.frame(frame).as_ptr().wrapping_add(at);
            // SAFETY: it reads nothing, whatever the address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (frame, at);
    }

    /// The bytes of a frame.
    ///
    /// # Safety
    /// Nobody writes to the frame during `'a`, and it has been written to before or is fresh.
    #[inline]
    pub unsafe fn bytes<'a>(&self, frame: u32) -> &'a [u8] {
        // SAFETY: within the mapping; by the caller's promise.
        unsafe { std::slice::from_raw_parts(self.frame(frame).as_ptr(), self.frame_bytes) }
    }

    /// The bytes of some frames, to be written.
    ///
    /// # Safety
    /// They are different frames, and nobody else reads or writes them during `'a`.
    pub unsafe fn pieces<'a>(&self, frames: &[u32]) -> Vec<IoSliceMut<'a>> {
        let piece = |&frame: &u32| {
            // SAFETY: within the mapping; by the caller's promise.
            IoSliceMut::new(unsafe { std::slice::from_raw_parts_mut(self.frame(frame).as_ptr(), self.frame_bytes) })
        };
        frames.iter().map(piece).collect()
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and by the callers' promises nobody has a slice of it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.frames * self.frame_bytes) };
    }
}
