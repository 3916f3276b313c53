//! Passes over a file of this machine's in less memory than it has bytes, told ahead: read past the
//! page cache, by one thread.
//!
//! `foresee-bench-direct FILE MIB POLICY cycle|random PASSES`: so many MiB of memory; in its order
//! by 1 MiB, or in a random one, another each pass, by 64 KiB. A line for each pass: seconds, and
//! bytes that came from the device.

#[path = "../../hits/src/draws.rs"]
#[expect(dead_code, reason = "nothing here is drawn by Zipf's law")]
mod draws;

use std::env;
use std::time::Instant;

use draws::Random;
use foresee::Cache;

const PAGE: usize = 4096;

/// Where the reads of a pass begin, and how long each is.
fn reads(order: &str, pass: usize, size: u64) -> (Vec<u64>, usize) {
    let length = if order == "cycle" { 1 << 20 } else { 64 << 10 };
    let mut places: Vec<u64> = (0..size).step_by(length).collect();
    if order == "random" {
        let mut random = Random(pass as u64);
        (1..places.len()).for_each(|at| places.swap(at, random.next() as usize % (at + 1)));
    }
    (places, length)
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [path, mib, policy, order, passes] = &arguments[..] else { panic!("FILE MIB POLICY ORDER PASSES") };
    let memory = mib.parse::<usize>().expect("MiB") << 20;
    let cache = Cache::builder().memory(memory).policy(policy).open().expect("a cache");
    let file = cache.open(path).expect("a file");
    let passes: Vec<_> = (0..passes.parse().expect("passes")).map(|it| reads(order, it, file.len())).collect();
    let mut plan = cache.plan();
    for (places, length) in &passes {
        for &place in places {
            plan.range(&file, place..place + *length as u64).expect("a file of this cache");
        }
    }
    let mut before = 0;
    for (places, length) in &passes {
        let begun = Instant::now();
        let mut buffer = vec![0; *length];
        for &place in places {
            assert_eq!(file.read_at(&mut buffer, place).expect("bytes"), *length);
            for (page, found) in (place / PAGE as u64..).zip(buffer.chunks(PAGE)) {
                assert_eq!(found[..8], page.to_le_bytes(), "another page");
            }
        }
        let seconds = begun.elapsed().as_secs_f64();
        let bytes = cache.statistics().bytes_read;
        println!("{seconds:.3} {}", bytes - before);
        before = bytes;
    }
}
