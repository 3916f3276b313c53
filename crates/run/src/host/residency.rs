//! What the kernel really holds: `cachestat(2)`, and `mincore(2)` where that is not known (before
//! Linux 6.5).

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

use super::mounts::Kind;
use super::open::Opened;

/// The size of the host's blocks: a page, the page cache's own unit.
pub const BLOCK_BYTES: u64 = 4096;

/// The blocks a byte range touches; None if it is empty or lies beyond what files can hold.
pub fn blocks(offset: u64, bytes: u64) -> Option<(u64, u64)> {
    let end = offset.checked_add(bytes).filter(|&end| end <= i64::MAX as u64)?;
    let first = offset / BLOCK_BYTES;
    (bytes > 0).then(|| (first, end.div_ceil(BLOCK_BYTES) - first))
}

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

fn cachestat(file: &File, offset: u64, bytes: u64) -> io::Result<u64> {
    let (range, mut stat) = (Range { offset, bytes }, Stat::default());
    // SAFETY: both structures are laid out as the system call documents and live through it.
    let result = unsafe { libc::syscall(CACHESTAT, file.as_raw_fd(), &raw const range, &raw mut stat, 0) };
    if result == 0 { Ok(stat.cached) } else { Err(io::Error::last_os_error()) }
}

/// The runs of this range's pages that are in the page cache, as (first page of the file, pages). A
/// `bytes` of 0 means to the file's end. Costs a mapping, and one byte a page.
pub fn resident_runs(file: &File, offset: u64, bytes: u64) -> io::Result<Vec<(u64, u64)>> {
    let first = offset / BLOCK_BYTES;
    let size = file.metadata()?.len();
    let end = if bytes == 0 { size } else { size.min(offset.saturating_add(bytes)) };
    let pages = end.div_ceil(BLOCK_BYTES).saturating_sub(first);
    if pages == 0 {
        return Ok(Vec::new());
    }
    let length = (pages * BLOCK_BYTES) as usize;
    let (protection, fd, from) = (libc::PROT_READ, file.as_raw_fd(), (first * BLOCK_BYTES) as i64);
    // SAFETY: a new mapping at an address of the kernel's choice; it is not dereferenced.
    let memory = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_SHARED, fd, from) };
    if memory == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let mut flags = vec![0_u8; pages as usize];
    // SAFETY: the vector has one byte for each page of the mapping.
    let result = unsafe { libc::mincore(memory, length, flags.as_mut_ptr()) };
    let error = io::Error::last_os_error();
    // SAFETY: the mapping is ours and not used any more.
    unsafe { libc::munmap(memory, length) };
    if result != 0 {
        return Err(error);
    }
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for (page, _) in (first..).zip(&flags).filter(|(_, flags)| **flags & 1 == 1) {
        match runs.last_mut() {
            Some((begun, count)) if *begun + *count == page => *count += 1,
            _ => runs.push((page, 1)),
        }
    }
    Ok(runs)
}

/// How the kernel is asked what of a file is in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Residency {
    /// `cachestat(2)`.
    Cachestat,
    /// `mincore(2)`: before Linux 6.5, and on overlayfs, where cachestat looks at the overlay's own
    /// pages, of which there are none.
    Mincore,
    /// Not at all. To those who neither own the file nor may write to it, cachestat refuses an
    /// answer (since Linux 6.13), and mincore says that all of it is.
    Untold,
}

impl Residency {
    /// How it is asked about this file, which lies on a mount of this kind.
    pub fn of(file: &File, kind: Kind) -> Self {
        // SAFETY: asks only.
        let user = unsafe { libc::geteuid() };
        let may_write = || {
            let path = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap_or_default();
            // SAFETY: the path is a C string; the call only asks.
            unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), libc::W_OK, libc::AT_EACCESS) == 0 }
        };
        let may_ask = user == 0 || file.metadata().is_ok_and(|metadata| metadata.uid() == user) || may_write();
        match cachestat(file, 0, 1) {
            _ if !may_ask => Residency::Untold,
            Ok(_) if kind != Kind::Overlay => Residency::Cachestat,
            _ => Residency::Mincore,
        }
    }

    /// Pages of this range of the file that are in the page cache. A `bytes` of 0 means to the
    /// file's end.
    pub fn pages(self, file: &File, offset: u64, bytes: u64) -> io::Result<u64> {
        match self {
            Residency::Cachestat => cachestat(file, offset, bytes),
            Residency::Mincore => Ok(resident_runs(file, offset, bytes)?.iter().map(|&(_, pages)| pages).sum()),
            Residency::Untold => Err(io::ErrorKind::PermissionDenied.into()),
        }
    }
}

/// Gives these blocks up. Returns those that stayed, as far as may be asked.
pub fn drop_blocks(opened: &Opened, blocks: &std::ops::Range<u64>) -> Vec<std::ops::Range<u64>> {
    let (offset, bytes) = (blocks.start * BLOCK_BYTES, (blocks.end - blocks.start) * BLOCK_BYTES);
    drop_pages(&opened.file, offset, bytes);
    // Nearly always nothing has stayed, and to ask so much takes no mapping.
    if opened.residency.pages(&opened.file, offset, bytes).map_or(true, |left| left == 0) {
        return Vec::new();
    }
    let left = resident_runs(&opened.file, offset, bytes).unwrap_or_default();
    left.into_iter().map(|(first, count)| first..first + count).collect()
}

/// Asks the kernel to give this range up; whole pages only, and dirty ones stay.
pub fn drop_pages(file: &File, offset: u64, bytes: u64) {
    // SAFETY: the descriptor is open; the advice touches no memory of ours.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), offset as i64, bytes as i64, libc::POSIX_FADV_DONTNEED) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn what_was_read_is_resident_and_what_was_dropped_is_not() {
        let path = std::env::temp_dir().join(format!("foresee-residency-{}", std::process::id()));
        std::fs::write(&path, vec![7; 10 * BLOCK_BYTES as usize - 5]).unwrap();
        let mut file = File::open(&path).unwrap();
        file.sync_all().unwrap();
        file.read_to_end(&mut Vec::new()).unwrap();
        assert_eq!(Residency::of(&file, Kind::Local).pages(&file, 0, 0).unwrap(), 10);
        assert_eq!(resident_runs(&file, 0, 0).unwrap(), [(0, 10)]);
        assert_eq!(resident_runs(&file, 3 * BLOCK_BYTES, 2 * BLOCK_BYTES).unwrap(), [(3, 2)]);
        assert_eq!(resident_runs(&file, 99 * BLOCK_BYTES, BLOCK_BYTES).unwrap(), []);
        drop_pages(&file, 0, 0);
        let left = Residency::of(&file, Kind::Local).pages(&file, 0, 0).unwrap();
        let runs = resident_runs(&file, 0, 0).unwrap();
        std::fs::remove_file(&path).unwrap();
        // A file system without storage behind it (tmpfs) keeps its pages; both ways to ask agree in any
        // case.
        assert_eq!(left, runs.iter().map(|&(_, pages)| pages).sum());
    }
}
