//! The memory is bounded, as the system counts it. In a process of its own, which nothing else
//! takes memory of.
//!
//! The system counts the program's own code as well, once it has run. So a small cache does
//! beforehand what the one that is measured does: with all object stores linked, 4 MB of code come
//! to be in memory by that.

#[path = "common/random.rs"]
mod random;

use std::fs::{self, File};
use std::path::Path;

use foresee::Cache;
use random::Random;

const MEMORY: u64 = 32 << 20;
/// Threads' stacks, and what the allocator keeps.
const BESIDE: u64 = 4 << 20;
const FILE: u64 = 256 << 20;

/// Bytes that this process has in memory, and most it ever had.
fn resident() -> (u64, u64) {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let kib = |name: &str| -> u64 {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
    };
    (kib("VmRSS:") << 10, kib("VmHWM:") << 10)
}

/// Reads, views and plans in a cache of so much memory, until it is full.
fn use_all(path: &Path, memory: u64, steps: usize) {
    let cache = Cache::builder().memory(memory as usize).block_bytes(4096).open().unwrap();
    let file = cache.open(path.to_str().unwrap()).unwrap();
    let (mut random, mut buffer) = (Random(1), vec![0; 1 << 16]);
    let mut plan = cache.plan();
    let mut views = Vec::new();
    for _ in 0..steps {
        let place = random.below(FILE);
        plan.range(&file, place..place + 50_000).unwrap();
        file.read_at(&mut buffer, random.below(FILE)).unwrap();
        views.push(file.view(random.below(FILE), 1).unwrap());
        views.truncate(steps / 4);
    }
    let statistics = cache.statistics();
    assert_eq!(statistics.blocks_used, statistics.blocks, "the memory is not full");
}

#[test]
fn a_cache_takes_no_more_memory_than_it_was_given() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache-memory");
    File::create(&path).unwrap().set_len(FILE).unwrap();
    use_all(&path, MEMORY / 16, 400);
    let (before, _) = resident();
    use_all(&path, MEMORY, 4000);
    let taken = resident().1 - before;
    fs::remove_file(&path).unwrap();
    assert!(taken >= MEMORY * 3 / 4, "only {taken} bytes: this says nothing");
    assert!(taken <= MEMORY + BESIDE, "{taken} bytes, where {MEMORY} are given");
}
