//! Where bytes read ahead go: nobody looks at them, only the page cache's copy counts. All reads share one buffer, because
//! it does not matter what is in it; that keeps it in the processor's cache.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::OnceLock;

/// The longest single read ahead.
pub const SCRATCH_BYTES: usize = 1 << 20;

struct Mapping(*mut u8);

// SAFETY: the memory is only ever written, by the kernel; no reference to it is made, and its contents are never used.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

/// One for the whole process, and never given back: the kernel may still write to it after whoever asked for a read is gone.
static MAPPING: OnceLock<Mapping> = OnceLock::new();

/// The buffer, shared by all threads and rings.
#[derive(Clone, Copy)]
pub struct Scratch(&'static Mapping);

impl Scratch {
    /// Maps it, the first time.
    pub fn new() -> io::Result<Self> {
        if let Some(mapping) = MAPPING.get() {
            return Ok(Scratch(mapping));
        }
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new anonymous mapping touches no existing memory.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), SCRATCH_BYTES, protection, flags, -1, 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Scratch(MAPPING.get_or_init(|| Mapping(memory.cast()))))
    }

    /// Where the kernel may write [`SCRATCH_BYTES`].
    pub fn pointer(&self) -> *mut u8 {
        self.0.0
    }

    /// Reads a range of a file to its end or the file's; returns the bytes that came.
    pub fn read(&self, file: &File, offset: u64, bytes: usize) -> io::Result<u64> {
        let mut read = 0;
        while read < bytes {
            let ask = (bytes - read).min(SCRATCH_BYTES);
            // SAFETY: the buffer is SCRATCH_BYTES long and `ask` is at most that.
            let got =
                unsafe { libc::pread(file.as_raw_fd(), self.pointer().cast(), ask, (offset + read as u64) as i64) };
            match got {
                0 => break,
                got if got > 0 => read += got as usize,
                _ => match io::Error::last_os_error() {
                    error if error.kind() == io::ErrorKind::Interrupted => {}
                    error => return Err(error),
                },
            }
        }
        Ok(read as u64)
    }
}
