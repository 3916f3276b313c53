//! A disk that takes no more. In a process of its own, whose files may not grow further.

#[path = "common/bytes.rs"]
mod bytes;
#[path = "common/lasting.rs"]
mod lasting;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bytes::bytes;
use foresee::Cache;
use foresee::store::Memory;
use lasting::Lasting;

const BLOCK: usize = 4096;
const BLOCKS: usize = 100;

#[test]
fn a_disk_that_is_full_is_left_alone_and_all_is_read() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tier-full");
    let _ = fs::remove_file(&path);
    let (store, all) = (Memory::default(), bytes("a", 0, (BLOCKS * BLOCK) as u64));
    store.put("a", all.clone());
    let builder =
        Cache::builder().memory(170_000).block_bytes(BLOCK).policy("lru").store("test", Arc::new(Lasting(store)));
    let cache = builder.disk(&path, 1 << 20).open().unwrap();
    let file = cache.open("test://a").unwrap();
    // What would be a signal is an error then.
    // SAFETY: no handler is installed.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let limit = libc::rlimit { rlim_cur: 60_000, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the limit is read.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) }, 0);
    for _ in 0..30 {
        for (block, expected) in all.chunks(BLOCK).enumerate() {
            let mut buffer = [0; BLOCK];
            file.read_at(&mut buffer, (block * BLOCK) as u64).unwrap();
            assert!(buffer == expected, "block {block} is wrong");
        }
        thread::sleep(Duration::from_millis(5));
    }
    let disk = cache.statistics().disk;
    fs::remove_file(&path).unwrap();
    assert!(disk.failed_writes > 0, "it was never full: {disk:?}");
    assert!(disk.failed_writes < 500, "it was asked again and again: {disk:?}");
}
