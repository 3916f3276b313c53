//! A memory and a disk before a slow store: foresee and foyer's hybrid cache on the same
//! references, one reader.
//!
//! `cargo run --release -- DIRECTORY [ROUNDS [CACHE]..]`: the disk's file lies there; three rounds
//! of all caches unless said. A line of JSON for each run: bytes that came from the store, bytes
//! that the system says were written, the part of the references that the store was not asked for,
//! and seconds.

#[path = "../../hits/src/draws.rs"]
mod draws;
mod slow;
mod traces;

use std::env;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use foyer::{BlockEngineConfig, DeviceBuilder, FsDeviceBuilder, HybridCache, HybridCacheBuilder, HybridCachePolicy};
use slow::{Slow, is_right};
use tokio::runtime::Runtime;

const BLOCK: usize = 16 << 10;
/// 32 MiB of data.
const BLOCKS: u64 = 2048;
/// Four rounds of the cycle.
const REFERENCES: usize = 4 * BLOCKS as usize;
/// Of the data, what the disk may take: with a quarter of it in memory, all of it has room.
const DISK: usize = BLOCKS as usize * BLOCK * 3 / 4;
/// What foyer fills, writes and gives up at once. Its default, 16 MiB, is most of this disk.
const FOYER_BLOCK: usize = 1 << 20;

const CONTENDERS: [&str; 4] = ["foresee", "foresee-lru", "foyer", "foyer-on-insertion"];

/// Bytes that this process has had written to disks.
fn written() -> u64 {
    let io = fs::read_to_string("/proc/self/io").expect("/proc");
    let line = io.lines().find_map(|line| line.strip_prefix("write_bytes: ")).expect("bytes");
    line.parse().expect("a number")
}

fn foresee(policy: Option<&str>, disk: &Path, memory: usize, store: &Slow, trace: &[u64]) {
    let builder = foresee::Cache::builder().memory(memory).block_bytes(BLOCK).disk(disk, DISK as u64);
    let builder = policy.into_iter().fold(builder, foresee::Builder::policy);
    let cache = builder.store("slow", Arc::new(store.clone())).open().expect("a cache");
    let file = cache.open("slow://data").expect("the data");
    let mut buffer = vec![0; BLOCK];
    for block in trace {
        file.read_at(&mut buffer, block * BLOCK as u64).expect("a block");
        assert!(is_right(block * BLOCK as u64, &buffer));
    }
    eprintln!("{:?}", cache.statistics());
}

fn foyer(policy: HybridCachePolicy, disk: &Path, memory: usize, store: &Slow, trace: &[u64]) {
    let runtime = Runtime::new().expect("threads");
    let device = FsDeviceBuilder::new(disk).with_capacity(DISK).build().expect("a disk");
    let building = HybridCacheBuilder::new()
        .with_policy(policy)
        .memory(memory)
        // More of them and each is too small for a few blocks.
        .with_shards(1)
        .with_weighter(|_, value: &Vec<u8>| value.len())
        .storage()
        .with_engine_config(BlockEngineConfig::new(device).with_block_size(FOYER_BLOCK))
        .build();
    let cache: HybridCache<u64, Vec<u8>> = runtime.block_on(building).expect("a cache");
    for &block in trace {
        let offset = block * BLOCK as u64;
        match runtime.block_on(cache.get(&block)).expect("a disk that works") {
            Some(entry) => assert!(is_right(offset, entry.value())),
            None => {
                let mut buffer = vec![0; BLOCK];
                store.fill(offset, &mut buffer);
                cache.insert(block, buffer);
            }
        }
    }
    runtime.block_on(cache.close()).expect("closed");
}

fn main() {
    let folder = env::args().nth(1).expect("a directory for the disk's file");
    let rounds: usize = env::args().nth(2).map_or(3, |it| it.parse().expect("a number of rounds"));
    let named: Vec<String> = env::args().skip(3).collect();
    let is_wanted = |it: &&str| named.is_empty() || named.iter().any(|one| one == it);
    let caches: Vec<&str> = CONTENDERS.into_iter().filter(is_wanted).collect();
    (1..=rounds).for_each(|number| round(number, &folder, &caches));
}

fn round(number: usize, folder: &str, caches: &[&str]) {
    for name in traces::NAMES {
        let trace = traces::trace(name, BLOCKS, REFERENCES);
        for part in [2, 4] {
            let memory = BLOCKS as usize * BLOCK / part;
            for &contender in caches {
                let disk = Path::new(folder).join("foresee-tier");
                let (store, before, begun) =
                    (Slow::new(traces::blocks_max(BLOCKS, REFERENCES) * BLOCK as u64), written(), Instant::now());
                match contender {
                    "foresee" => foresee(None, &disk, memory, &store, &trace),
                    "foresee-lru" => foresee(Some("lru"), &disk, memory, &store, &trace),
                    "foyer" => foyer(HybridCachePolicy::WriteOnEviction, &disk, memory, &store, &trace),
                    _ => foyer(HybridCachePolicy::WriteOnInsertion, &disk, memory, &store, &trace),
                }
                let (seconds, written, given) = (begun.elapsed().as_secs_f64(), written() - before, store.given());
                let _ = fs::remove_file(&disk).or_else(|_| fs::remove_dir_all(&disk));
                let hits = 1.0 - given as f64 / (trace.len() * BLOCK) as f64;
                println!(
                    "{{\"round\": {number}, \"trace\": \"{name}\", \"memory\": \"1/{part}\", \"cache\": \"{contender}\", \
                     \"store_bytes\": {given}, \
                     \"written_bytes\": {written}, \"hit_ratio\": {hits:.3}, \"seconds\": {seconds:.2}}}"
                );
            }
        }
    }
}
