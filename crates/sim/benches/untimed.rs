//! Requests a second through the manager, a run at a time on one thread: `cargo bench -p
//! foresee-sim`, or with a trace, a policy and sizes: `cargo bench -p foresee-sim -- TRACE lru 1000
//! 15000`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use foresee_sim::load::Trace;
use foresee_sim::size::Size;
use foresee_sim::untimed::{Cell, run};

const ROUNDS: u32 = 7;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let default = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces/arc_OLTP.txt.zst");
    let path = arguments.next().map_or(default, PathBuf::from);
    if !path.exists() {
        println!("skipped: there is no trace {}", path.display());
        return Ok(());
    }
    let policy = arguments.next().unwrap_or_else(|| "lru".to_owned());
    let mut sizes: Vec<String> = arguments.collect();
    if sizes.is_empty() {
        sizes = vec!["1000".to_owned(), "15000".to_owned(), "100%".to_owned()];
    }
    let begun = Instant::now();
    let trace = Trace::load(&path, None, 4096)?;
    println!("loaded {} requests in {:.0?}", trace.len(), begun.elapsed());
    for size in sizes {
        let cell = Cell::new(policy.parse()?, size.parse::<Size>()?.blocks(&trace));
        let mut best = Duration::MAX;
        let mut misses = 0;
        for _ in 0..ROUNDS {
            let outcome = run(&trace, &cell, &|_| {});
            best = best.min(outcome.took);
            misses = outcome.misses;
        }
        let rate = trace.len() as f64 / best.as_secs_f64() / 1e6;
        let blocks = cell.cache_blocks;
        println!("{policy} at {blocks} blocks: {rate:.2} M requests/s ({best:.1?}, {misses} misses, best of {ROUNDS})");
    }
    Ok(())
}
