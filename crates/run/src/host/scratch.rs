//! Bringing a range of a file into the page cache.
//!
//! A read does it, but counts as a use: the program's own read is then the second, by which the
//! kernel takes the page for one that is used again and again, keeps it, and gives up pages that
//! were brought and not read yet in its place. `WILLNEED` brings pages unused, without a copy; but
//! it does not say when they are here, and brings no more than the device's readahead. So a
//! fetch is advice, then a read of the range's last page, which waits for it; and if the range is
//! not all here then, a read of all of it. Where we may not ask what is here, it is a read from the
//! start.
//!
//! A range that the device is asked for in parts, in no order, may be told of when only the last of
//! them is here. What it does not bring (an error before the last page), the program's own read
//! finds out.
//!
//! The bytes read go nowhere: nobody looks at them. All reads share one buffer, because it does not
//! matter what is in it; that keeps it in the processor's cache.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::sync::OnceLock;

use super::open::Opened;
use super::residency::{BLOCK_BYTES, Residency};

/// The longest single read ahead.
pub const SCRATCH_BYTES: usize = 1 << 20;

struct Mapping(*mut u8);

// SAFETY: the memory is only ever written, by the kernel; no reference to it is made, and its
// contents are never used.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

/// One for the whole process, and never given back: the kernel may still write to it after whoever
/// asked for a read is gone.
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

    /// Brings a range of a file into the page cache, and waits for it; returns the bytes that came.
    pub fn fetch(&self, opened: &Opened, bytes: &Range<u64>) -> io::Result<u64> {
        let file = &opened.file;
        if !takes_advice(opened, bytes) {
            return self.read(file, bytes.clone());
        }
        let length = (bytes.end - bytes.start) as i64;
        // SAFETY: the descriptor is open; the advice touches no memory of ours.
        unsafe { libc::posix_fadvise(file.as_raw_fd(), bytes.start as i64, length, libc::POSIX_FADV_WILLNEED) };
        let got = self.read(file, last_page(bytes))?;
        match came(opened, bytes, got) {
            Some(bytes) => Ok(bytes),
            None => self.read(file, bytes.clone()),
        }
    }

    /// Reads a range of a file to its end or the file's; returns the bytes that came.
    fn read(&self, file: &File, bytes: Range<u64>) -> io::Result<u64> {
        let mut at = bytes.start;
        while at < bytes.end {
            let ask = (bytes.end - at).min(SCRATCH_BYTES as u64) as usize;
            // SAFETY: the buffer is SCRATCH_BYTES long and `ask` is at most that.
            match unsafe { libc::pread(file.as_raw_fd(), self.pointer().cast(), ask, at as i64) } {
                0 => break,
                got if got > 0 => at += got as u64,
                _ => match io::Error::last_os_error() {
                    error if error.kind() == io::ErrorKind::Interrupted => {}
                    error => return Err(error),
                },
            }
        }
        Ok(at - bytes.start)
    }
}

/// Whether a range is fetched by advice: one page counts as used either way.
pub fn takes_advice(opened: &Opened, bytes: &Range<u64>) -> bool {
    bytes.end - bytes.start > BLOCK_BYTES && opened.residency != Residency::Untold
}

/// The last page of a range that begins with one.
pub fn last_page(bytes: &Range<u64>) -> Range<u64> {
    (bytes.end - 1) / BLOCK_BYTES * BLOCK_BYTES..bytes.end
}

/// After advice and a read of the last page that got so many bytes: how many bytes of the range
/// came, unless some did not.
pub fn came(opened: &Opened, bytes: &Range<u64>, got: u64) -> Option<u64> {
    let last = last_page(bytes);
    let length = last.start + got - bytes.start;
    let pages = || opened.residency.pages(&opened.file, bytes.start, length);
    let is_here = || pages().is_ok_and(|pages| pages >= length.div_ceil(BLOCK_BYTES));
    // Without a last page the file is shorter than we thought: what there is of the range is to be
    // read.
    (got > 0 && is_here()).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::super::mounts::Kind;
    use super::super::residency::drop_pages;
    use super::*;

    #[test]
    fn what_is_fetched_is_here_and_counted_to_the_files_end() {
        let path = std::env::temp_dir().join(format!("foresee-scratch-{}", std::process::id()));
        let size = 600 * BLOCK_BYTES - 5;
        std::fs::write(&path, vec![7; size as usize]).unwrap();
        let opened = Opened::new(File::open(&path).unwrap(), Kind::Local);
        opened.file.sync_all().unwrap();
        drop_pages(&opened.file, 0, 0);
        let scratch = Scratch::new().unwrap();
        let fetched = |first: u64, end: u64| scratch.fetch(&opened, &(first * BLOCK_BYTES..end * BLOCK_BYTES)).unwrap();
        // Longer than any device's readahead by default.
        assert_eq!(fetched(3, 515), 512 * BLOCK_BYTES);
        let pages = opened.residency.pages(&opened.file, 3 * BLOCK_BYTES, 512 * BLOCK_BYTES);
        assert_eq!(pages.unwrap(), 512);
        assert_eq!(fetched(590, 600), 10 * BLOCK_BYTES - 5);
        assert_eq!(fetched(599, 600), BLOCK_BYTES - 5);
        // The file is shorter than we thought.
        assert_eq!(fetched(590, 700), 10 * BLOCK_BYTES - 5);
        assert_eq!(fetched(600, 700), 0);
        std::fs::remove_file(&path).unwrap();
    }
}
