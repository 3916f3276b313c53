//! Reads files front to back, and says what came of it.
//!
//! `cargo run --release -p foresee --example scan -- PATH...`

use std::env;
use std::time::Instant;

use foresee::{Cache, Error};

fn main() -> Result<(), Error> {
    let cache = Cache::builder().memory(128 << 20).open()?;
    let (begun, mut bytes, mut buffer) = (Instant::now(), 0, vec![0; 1 << 20]);
    // All names first: while one file is read, the next ones are opened and read ahead.
    let mut plan = cache.plan();
    for path in env::args().skip(1) {
        plan.address(&path)?;
    }
    for path in env::args().skip(1) {
        let file = cache.open(&path)?;
        let mut offset = 0;
        while offset < file.len() {
            offset += file.read_at(&mut buffer, offset)? as u64;
        }
        bytes += offset;
    }
    println!("{} MiB in {:.3} s", bytes >> 20, begun.elapsed().as_secs_f64());
    println!("{:?}", cache.statistics());
    Ok(())
}
