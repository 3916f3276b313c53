//! Page tables of other processes: which pages are in them.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

const PAGE_BYTES: u64 = 4096;
/// Ranges taken at one time, and pages looked at at one time where the kernel does not make ranges
/// of them.
const RANGES_AT_ONCE: usize = 1024;
const PAGES_AT_ONCE: u64 = 8192;

/// `linux/fs.h`: what is asked of PAGEMAP_SCAN (since Linux 6.7), and what it answers.
#[repr(C)]
#[derive(Default)]
struct ScanArgument {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

const PAGEMAP_SCAN: libc::c_ulong = 0xc060_6610;
const PAGE_IS_FILE: u64 = 1 << 2;
const PAGE_IS_PRESENT: u64 = 1 << 3;
/// The same in a page's entry of `/proc/PID/pagemap`.
const ENTRY_IS_FILE: u64 = 1 << 61;
const ENTRY_IS_PRESENT: u64 = 1 << 63;

/// The page table of a process.
pub(super) struct Pagemap {
    file: File,
    /// The kernel makes ranges of it.
    scans: bool,
}

impl Pagemap {
    /// That of this process, if we may trace it.
    pub fn open(process: u32) -> io::Result<Self> {
        Ok(Pagemap { file: File::open(format!("/proc/{process}/pagemap"))?, scans: true })
    }

    /// Pages of files in this range of addresses, by number from its beginning, in order and
    /// without gaps inside a range.
    pub fn present(&mut self, addresses: Range<u64>) -> io::Result<Vec<Range<u64>>> {
        if self.scans {
            match self.scan(addresses.clone()) {
                Err(error) if error.raw_os_error() == Some(libc::ENOTTY) => self.scans = false,
                result => return result,
            }
        }
        self.read(addresses)
    }

    fn scan(&self, addresses: Range<u64>) -> io::Result<Vec<Range<u64>>> {
        let mut regions = [Region::default(); RANGES_AT_ONCE];
        let (mut found, mut at) = (Vec::new(), addresses.start);
        let end = addresses.end.next_multiple_of(PAGE_BYTES);
        while at < end {
            let mut argument = ScanArgument {
                size: size_of::<ScanArgument>() as u64,
                start: at,
                end,
                vec: regions.as_mut_ptr() as u64,
                vec_len: RANGES_AT_ONCE as u64,
                category_mask: PAGE_IS_FILE | PAGE_IS_PRESENT,
                return_mask: PAGE_IS_PRESENT,
                ..ScanArgument::default()
            };
            // SAFETY: the argument is of the size it says, and there is room for as many regions as it says.
            let count = unsafe { libc::ioctl(self.file.as_raw_fd(), PAGEMAP_SCAN as _, &raw mut argument) };
            if count < 0 {
                return Err(io::Error::last_os_error());
            }
            for region in &regions[..count as usize] {
                add(
                    &mut found,
                    (region.start - addresses.start) / PAGE_BYTES,
                    (region.end - region.start) / PAGE_BYTES,
                );
            }
            if argument.walk_end <= at {
                break;
            }
            at = argument.walk_end;
        }
        Ok(found)
    }

    /// The same, page by page.
    fn read(&self, addresses: Range<u64>) -> io::Result<Vec<Range<u64>>> {
        let (first, pages) = (addresses.start / PAGE_BYTES, (addresses.end - addresses.start).div_ceil(PAGE_BYTES));
        let mut entries = vec![0; (pages.min(PAGES_AT_ONCE) * 8) as usize];
        let mut found = Vec::new();
        for begin in (0..pages).step_by(PAGES_AT_ONCE as usize) {
            let bytes = ((pages - begin).min(PAGES_AT_ONCE) * 8) as usize;
            self.file.read_exact_at(&mut entries[..bytes], (first + begin) * 8)?;
            for (page, entry) in (begin..).zip(entries[..bytes].chunks_exact(8)) {
                let entry = u64::from_ne_bytes(entry.try_into().unwrap_or_default());
                if entry & ENTRY_IS_FILE != 0 && entry & ENTRY_IS_PRESENT != 0 {
                    add(&mut found, page, 1);
                }
            }
        }
        Ok(found)
    }
}

fn add(ranges: &mut Vec<Range<u64>>, first: u64, count: u64) {
    match ranges.last_mut() {
        Some(last) if last.end == first => last.end += count,
        _ => ranges.push(first..first + count),
    }
}

/// The inode of what a process has mapped at this address, and from which of its bytes on. (Which
/// device that is on is another number here than elsewhere on some file systems, as on btrfs.)
pub(super) fn mapped_at(process: u32, addr: u64) -> Option<(u64, u64)> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).ok()?;
    maps.lines().find_map(|line| mapped_by(line, addr))
}

/// The same of a line of `/proc/PID/maps`, if it is the one.
fn mapped_by(line: &str, addr: u64) -> Option<(u64, u64)> {
    let hex = |word: &str| u64::from_str_radix(word, 16).ok();
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let (start, end) = (hex(start)?, hex(end)?);
    if !(start..end).contains(&addr) {
        return None;
    }
    let (offset, inode) = (hex(words.nth(1)?)?, words.nth(1)?.parse().ok()?);
    Some((inode, offset + (addr - start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_maps_is_taken_apart() {
        let line = "7f5a1c000000-7f5a1c021000 r--s 00003000 08:02 135522                     /data/with space";
        assert_eq!(mapped_by(line, 0x7f5a_1c00_1000), Some((135_522, 0x4000)));
        assert_eq!(mapped_by(line, 0x7f5a_1c02_1000), None);
        assert_eq!(mapped_by("7ffd0000-7ffd1000 rw-p", 0x7ffd_0000), None);
    }

    #[test]
    fn both_ways_find_the_same() {
        // This program's own code: pages of a file, some of which are here.
        let code = both_ways_find_the_same as fn() as usize as u64;
        let addresses = code / PAGE_BYTES * PAGE_BYTES - 16 * PAGE_BYTES..code / PAGE_BYTES * PAGE_BYTES + PAGE_BYTES;
        let mut pagemap = Pagemap::open(std::process::id()).unwrap();
        // Once, so that nothing is brought between the two.
        let read = pagemap.read(addresses.clone()).unwrap();
        assert!(read.iter().any(|pages| pages.contains(&16)), "{read:?}");
        let found = pagemap.present(addresses).unwrap();
        assert!(found.iter().any(|pages| pages.contains(&16)), "{found:?}");
    }
}
