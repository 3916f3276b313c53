//! Disks that are small file systems of their own: one that gets full, and one that cannot be
//! written to. As root; else it says so.

#[path = "common/bytes.rs"]
mod bytes;
#[path = "common/lasting.rs"]
mod lasting;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bytes::bytes;
use foresee::store::Memory;
use foresee::{Cache, Error, File, Statistics};
use lasting::Lasting;

const BLOCK: usize = 4096;
const BLOCKS: usize = 100;

/// A file system in memory, until this goes.
struct Mounted(PathBuf);

impl Mounted {
    /// None where this may not be.
    fn new(name: &str, options: &str) -> Option<Self> {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mounted-{name}"));
        fs::create_dir_all(&place).unwrap();
        let mut mount = Command::new("mount");
        let mounted = mount.args(["-t", "tmpfs", "-o", options, "foresee-test"]).arg(&place).output();
        match mounted {
            Ok(output) if output.status.success() => Some(Mounted(place)),
            _ => {
                eprintln!("skipped: only root can mount");
                None
            }
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
        let _ = fs::remove_dir(&self.0);
    }
}

fn over(disk: &Path) -> Result<Cache, Error> {
    let store = Memory::default();
    store.put("a", bytes("a", 0, (BLOCKS * BLOCK) as u64));
    let builder = Cache::builder().memory(160_000).block_bytes(BLOCK).policy("lru");
    builder.store("test", Arc::new(Lasting(store))).disk(disk, 1 << 20).open()
}

fn read_all(cache: &Cache, file: &File) -> Statistics {
    for (block, expected) in bytes("a", 0, file.len()).chunks(BLOCK).enumerate() {
        let mut buffer = [0; BLOCK];
        file.read_at(&mut buffer, (block * BLOCK) as u64).unwrap();
        assert!(buffer == expected, "block {block} is wrong");
    }
    thread::sleep(Duration::from_millis(5));
    cache.statistics()
}

#[test]
fn a_disk_that_is_full_is_written_to_again_when_there_is_room() {
    let Some(mounted) = Mounted::new("full", "size=1536k") else { return };
    let filler = mounted.0.join("filler");
    let cache = over(&mounted.0.join("tier")).unwrap();
    let file = cache.open("test://a").unwrap();
    fs::write(&filler, vec![1; 4 << 20]).unwrap_err();
    (0..30).for_each(|_| _ = read_all(&cache, &file));
    let full = cache.statistics().disk;
    assert!(full.failed_writes > 0 && full.bytes_written == 0, "it was not full: {full:?}");
    assert!(full.failed_writes < 500, "it was asked again and again: {full:?}");
    fs::remove_file(&filler).unwrap();
    while read_all(&cache, &file).disk.bytes_read == 0 {}
}

#[test]
fn a_disk_that_cannot_be_written_to_is_said_and_what_lies_there_stays() {
    let Some(mounted) = Mounted::new("read-only", "size=4m") else { return };
    let tier = mounted.0.join("tier");
    let cache = over(&tier).unwrap();
    let file = cache.open("test://a").unwrap();
    while read_all(&cache, &file).disk.bytes_read == 0 {}
    drop((file, cache));
    let remount = |how: &str| Command::new("mount").args(["-o", how]).arg(&mounted.0).status().unwrap().success();
    // Its threads may still close it.
    while !remount("remount,ro") {
        thread::yield_now();
    }
    let error = over(&tier).map(drop).unwrap_err().to_string();
    assert!(error.contains("cannot be the cache's disk") && error.contains("Read-only"), "{error}");
    assert!(remount("remount,rw"));
    let cache = over(&tier).unwrap();
    assert!(read_all(&cache, &cache.open("test://a").unwrap()).disk.bytes_read > 0);
}
