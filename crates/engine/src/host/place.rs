//! Where a file begins on its device: fetches sorted by it are one sweep of a disk's arm.

use std::fs::File;
use std::os::fd::AsRawFd;

use super::residency::BLOCK_BYTES;

/// _IOWR('f', 11, struct fiemap) of linux/fs.h.
const FS_IOC_FIEMAP: libc::Ioctl = 0xc020_660b_u32 as libc::Ioctl;

/// struct fiemap of linux/fiemap.h, with room for one struct fiemap_extent.
#[repr(C)]
#[derive(Default)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    logical: u64,
    physical: u64,
    extent_length: u64,
    extent_reserved64: [u64; 2],
    extent_flags: u32,
    extent_reserved: [u32; 3],
}

/// The device's block that holds the file's first; 0 if the file system does not say. Later fragments may lie elsewhere:
/// their order among each other is right all the same.
pub fn place_of(file: &File) -> u64 {
    let mut map = Fiemap { length: BLOCK_BYTES, extent_count: 1, ..Fiemap::default() };
    // SAFETY: the structure is the kernel's, with the room for extents that it is told of.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut map) };
    if done == 0 && map.mapped_extents > 0 { map.physical / BLOCK_BYTES } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_lies_somewhere_or_nobody_knows() {
        let file = File::open(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(place_of(&file), place_of(&file));
        assert_eq!(place_of(&File::open("/dev/null").unwrap()), 0);
    }
}
