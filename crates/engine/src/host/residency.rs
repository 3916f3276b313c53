//! What the kernel really holds: `cachestat(2)`, and `mincore(2)` where that is not known (before Linux 6.5).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// The size of the host's blocks: a page, the page cache's own unit.
pub const BLOCK_BYTES: u64 = 4096;

const CACHESTAT: libc::c_long = 451;

#[repr(C)]
struct Range {
    offset: u64,
    bytes: u64,
}

#[repr(C)]
#[derive(Default)]
struct Stat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Pages of this range of the file that are in the page cache. A `bytes` of 0 means to the file's end.
pub fn resident_pages(file: &File, offset: u64, bytes: u64) -> io::Result<u64> {
    let (range, mut stat) = (Range { offset, bytes }, Stat::default());
    // SAFETY: both structures are laid out as the system call documents and live through it.
    let result = unsafe { libc::syscall(CACHESTAT, file.as_raw_fd(), &raw const range, &raw mut stat, 0) };
    if result == 0 {
        return Ok(stat.cached);
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::ENOSYS) => {
            Ok(resident_map(file)?.range(offset, bytes).filter(|&here| here).count() as u64)
        }
        error => Err(error),
    }
}

/// One flag a page of the whole file.
pub struct ResidentMap(Vec<u8>);

impl ResidentMap {
    fn range(&self, offset: u64, bytes: u64) -> impl Iterator<Item = bool> + '_ {
        let from = (offset / BLOCK_BYTES) as usize;
        let to = if bytes == 0 { self.0.len() } else { ((offset + bytes).div_ceil(BLOCK_BYTES)) as usize };
        self.0.iter().take(to).skip(from).map(|flags| flags & 1 == 1)
    }

    /// The resident runs, as (first page, pages).
    pub fn runs(&self) -> Vec<(u64, u64)> {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for (page, _) in self.range(0, 0).enumerate().filter(|&(_, here)| here) {
            match runs.last_mut() {
                Some((first, count)) if *first + *count == page as u64 => *count += 1,
                _ => runs.push((page as u64, 1)),
            }
        }
        runs
    }
}

/// Asks about every page of the file. Costs a mapping, and one byte a page.
pub fn resident_map(file: &File) -> io::Result<ResidentMap> {
    let bytes = file.metadata()?.len() as usize;
    if bytes == 0 {
        return Ok(ResidentMap(Vec::new()));
    }
    // SAFETY: a new mapping at an address of the kernel's choice; it is not dereferenced.
    let memory =
        unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if memory == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let mut flags = vec![0; bytes.div_ceil(BLOCK_BYTES as usize)];
    // SAFETY: the vector has one byte for each page of the mapping.
    let result = unsafe { libc::mincore(memory, bytes, flags.as_mut_ptr()) };
    let error = io::Error::last_os_error();
    // SAFETY: the mapping is ours and not used any more.
    unsafe { libc::munmap(memory, bytes) };
    if result == 0 { Ok(ResidentMap(flags)) } else { Err(error) }
}

/// Asks the kernel to give this range up; whole pages only, and dirty ones stay.
pub fn drop_pages(file: &File, offset: u64, bytes: u64) {
    // SAFETY: the descriptor is open; the advice touches no memory of ours.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), offset as i64, bytes as i64, libc::POSIX_FADV_DONTNEED) };
}
