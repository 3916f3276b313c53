//! The memory is bounded, as the system counts it. In a process of its own, which nothing else takes memory of.

#[path = "common/random.rs"]
mod random;

use std::fs::{self, File};
use std::path::Path;

use foresee::Cache;
use random::Random;

const MEMORY: u64 = 32 << 20;
/// Threads' stacks, and what the allocator keeps.
const BESIDE: u64 = 6 << 20;
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

#[test]
fn a_cache_takes_no_more_memory_than_it_was_given() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache-memory");
    File::create(&path).unwrap().set_len(FILE).unwrap();
    let (before, _) = resident();
    let cache = Cache::builder().memory(MEMORY as usize).block_bytes(4096).open().unwrap();
    let file = cache.open(path.to_str().unwrap()).unwrap();
    let (mut random, mut buffer) = (Random(1), vec![0; 1 << 16]);
    let mut plan = cache.plan();
    let mut views = Vec::new();
    for _ in 0..4000 {
        let place = random.below(FILE);
        plan.range(&file, place..place + 50_000);
        file.read_at(&mut buffer, random.below(FILE)).unwrap();
        views.push(file.view(random.below(FILE), 1).unwrap());
        views.truncate(1000);
    }
    let statistics = cache.statistics();
    assert_eq!(statistics.blocks_used, statistics.blocks, "the memory is not full");
    let taken = resident().1 - before;
    fs::remove_file(&path).unwrap();
    assert!(taken >= MEMORY * 3 / 4, "only {taken} bytes: this says nothing");
    assert!(taken <= MEMORY + BESIDE, "{taken} bytes, where {MEMORY} are given");
}
