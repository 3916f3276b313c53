//! The io_uring instances of this process: each is a cache's thread.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How many there are.
pub fn rings() -> usize {
    let descriptors = fs::read_dir("/proc/self/fd").unwrap();
    let is_ring = |path: &Path| fs::read_link(path).is_ok_and(|to| to.to_string_lossy().contains("io_uring"));
    descriptors.filter(|it| is_ring(&it.as_ref().unwrap().path())).count()
}

/// Those of caches that are gone end.
pub fn end() {
    let begun = Instant::now();
    while rings() > 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{} rings of caches that are gone", rings());
        thread::sleep(Duration::from_millis(1));
    }
}
