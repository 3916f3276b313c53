//! How far the kernel reads a file ahead by itself, as its device is set up.

use std::fs;

use super::residency::BLOCK_BYTES;

/// Blocks of the kernel's readahead window on the device of this number, if the kernel says: of a
/// disk, of one that a partition is on, or of what stands for one behind a network or a daemon.
pub fn readahead_window(dev: u64) -> Option<u64> {
    let (major, minor) = (libc::major(dev), libc::minor(dev));
    let places = [
        format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb"),
        format!("/sys/dev/block/{major}:{minor}/../queue/read_ahead_kb"),
    ];
    let kilobytes = places.iter().find_map(|place| fs::read_to_string(place).ok()?.trim().parse::<u64>().ok())?;
    Some(kilobytes.saturating_mul(1024) / BLOCK_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_has_a_window_and_no_disk_has_none() {
        assert_eq!(readahead_window(libc::makedev(4095, 1 << 19)), None);
        for bdi in fs::read_dir("/sys/class/bdi").into_iter().flatten().flatten() {
            let name = bdi.file_name();
            let Some((major, minor)) = name.to_str().and_then(|name| name.split_once(':')) else { continue };
            let (Ok(major), Ok(minor)) = (major.parse(), minor.parse()) else { continue };
            assert!(readahead_window(libc::makedev(major, minor)).is_some(), "{name:?}");
        }
    }
}
