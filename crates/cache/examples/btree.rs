//! Look-ups in a B-tree over a store: its inner pages stay, and leaves that are known to be needed
//! are read together.
//!
//! `cargo run --release -p foresee --example btree`: over a store of 5 ms, in memory.
//!
//! `cargo run --release -p foresee --example btree -- --make tree` writes the tree, 164 MB, to a
//! file. With that at hand: `... --example btree -- tree`, or, copied to a bucket, `... --features
//! s3 --example btree -- s3://bucket/tree`.

use std::env;
use std::fs;
use std::sync::Arc;
use std::time::Instant;

use foresee::store::{Faults, Faulty, Memory};
use foresee::{Cache, Error, File};

const PAGE: u64 = 4096;
/// Children of an inner page: eight bytes each.
const FANOUT: u64 = PAGE / 8;
const LEAVES: u64 = 40_000;

/// The root, the inner pages, the leaves. A page's entries are the numbers of its children; a
/// leaf's, keys.
fn tree() -> Vec<u8> {
    let inner = LEAVES.div_ceil(FANOUT);
    let entries = |first: u64| (0..FANOUT).flat_map(move |at| (first + at).to_le_bytes());
    let mut bytes: Vec<u8> = entries(1).collect();
    (0..inner).for_each(|page| bytes.extend(entries(1 + inner + page * FANOUT)));
    (0..LEAVES).for_each(|page| bytes.extend(entries(page * FANOUT)));
    bytes
}

fn entry(file: &File, page: u64, at: u64) -> Result<u64, Error> {
    let view = file.view(page * PAGE + at * 8, 8)?;
    Ok(view.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

/// The leaf in which a key lies.
fn leaf(file: &File, key: u64) -> Result<u64, Error> {
    let inner = entry(file, 0, key / (FANOUT * FANOUT))?;
    entry(file, inner, key / FANOUT % FANOUT)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut builder = Cache::builder().memory(8 << 20).block_bytes(4096);
    let arguments: Vec<String> = env::args().skip(1).collect();
    let address = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            let objects = Memory::default();
            objects.put("tree", tree());
            let slow = Faulty::new(objects, 1, Faults { late_us_max: 10_000, ..Faults::default() });
            builder = builder.store("slow", Arc::new(slow));
            "slow://tree"
        }
        ["--make", path] => return Ok(fs::write(path, tree())?),
        [address] => address,
        _ => return Err("give nothing, an address of a tree, or --make and a path".into()),
    };
    let cache = builder.open()?;
    let file = cache.open(address)?;
    let keys: Vec<u64> = (0..500u64).map(|at| at * 7_919_777 % (LEAVES * FANOUT)).collect();

    let begun = Instant::now();
    for &key in &keys {
        assert_eq!(entry(&file, leaf(&file, key)?, key % FANOUT)?, key);
    }
    println!("{} look-ups one by one: {:.2} s", keys.len(), begun.elapsed().as_secs_f64());

    let begun = Instant::now();
    let keys: Vec<u64> = keys.iter().map(|key| (key + 1_000_003) % (LEAVES * FANOUT)).collect();
    let mut plan = cache.plan();
    let leaves = keys.iter().map(|&key| leaf(&file, key)).collect::<Result<Vec<_>, _>>()?;
    for leaf in &leaves {
        plan.range(&file, leaf * PAGE..(leaf + 1) * PAGE)?;
    }
    for (&key, leaf) in keys.iter().zip(leaves) {
        assert_eq!(entry(&file, leaf, key % FANOUT)?, key);
    }
    println!("{} look-ups, leaves planned: {:.2} s", keys.len(), begun.elapsed().as_secs_f64());
    Ok(())
}
