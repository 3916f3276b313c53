//! Where a file begins on its device: fetches sorted by it are one sweep of a disk's arm, and files
//! that lie behind one another are read in one way.

use std::fs::File;
use std::os::fd::AsRawFd;

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

/// Flags of an extent that has no place of its own on the device: it is not known yet, is encoded, is not
/// of whole blocks, or lies inside of the file's inode.
const PLACELESS: u32 = 0x2 | 0x8 | 0x100 | 0x200;

/// How many bytes up on its device a file begins; 0 if the file system does not say. Later fragments
/// may lie elsewhere: their order among each other is right all the same.
pub fn begins_at(file: &File) -> u64 {
    let mut map = Fiemap { length: 1, extent_count: 1, ..Fiemap::default() };
    // SAFETY: the structure is the kernel's, with the room for extents that it is told of.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut map) };
    let has_place = done == 0 && map.mapped_extents > 0 && map.extent_flags & PLACELESS == 0;
    if has_place { map.physical } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_lies_where_its_file_system_says() {
        assert_eq!(size_of::<Fiemap>(), 32 + 56, "the kernel's structures");
        assert_eq!(begins_at(&File::open("/dev/null").unwrap()), 0);
        let file = File::open(std::env::current_exe().unwrap()).unwrap();
        // What was just built may have no place yet.
        file.sync_all().unwrap();
        // SAFETY: the structure is filled in if the call succeeds.
        let on_ext4 = unsafe {
            let mut found: libc::statfs = std::mem::zeroed();
            libc::fstatfs(file.as_raw_fd(), &raw mut found) == 0 && found.f_type == libc::EXT4_SUPER_MAGIC
        };
        if on_ext4 {
            assert_ne!(begins_at(&file), 0, "ext4 says where a file begins, and block 0 is its own");
        } else {
            println!("skipped: the tests do not lie on ext4");
        }
    }
}
