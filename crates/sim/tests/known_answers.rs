//! Miss counts that the papers and other simulators give for traces of real systems. The traces are not part of the
//! repository: where they are absent, the tests say so and pass.

use std::path::PathBuf;

use foresee_sim::load::Trace;
use foresee_sim::trace::info;
use foresee_sim::untimed::{Cell, Outcome, sweep};

const BLOCK_BYTES: u64 = 4096;

fn trace_path(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces").join(name);
    if !path.exists() {
        println!("skipped: there is no trace {}", path.display());
        return None;
    }
    Some(path)
}

fn lru(name: &str, sizes: &[u64]) -> Option<Vec<Outcome>> {
    let trace = Trace::load(&trace_path(name)?, None, BLOCK_BYTES).unwrap();
    let cells: Vec<Cell> =
        sizes.iter().map(|&cache_blocks| Cell { policy: "lru".parse().unwrap(), cache_blocks }).collect();
    Some(sweep(&trace, &cells, &|_, _| {}))
}

#[test]
fn lru_on_the_lirs_traces() {
    for (name, blocks, requests, misses) in [("cs.trc.gz", 600, 6781, 6657), ("cpp.trc.gz", 100, 9047, 2740)] {
        let Some(outcomes) = lru(name, &[blocks]) else { continue };
        let found = (outcomes[0].cache_blocks, outcomes[0].requests, outcomes[0].misses);
        assert_eq!(found, (blocks, requests, misses), "{name}");
    }
}

/// Where nothing is disclosed, cost and benefit leave LRU as it is.
#[test]
fn tip_without_hints_is_lru() {
    let Some(path) = trace_path("multi1.trc.gz") else { return };
    let trace = Trace::load(&path, None, BLOCK_BYTES).unwrap();
    let misses = |policy: &str| {
        let cells = [200, 500, 1000].map(|cache_blocks| Cell { policy: policy.parse().unwrap(), cache_blocks });
        sweep(&trace, &cells, &|_, _| {}).iter().map(|outcome| outcome.misses).collect::<Vec<_>>()
    };
    let lru = misses("lru");
    for policy in ["tip1", "tip2", "tip2:majorant=0"] {
        assert_eq!(misses(policy), lru, "{policy}");
    }
}

#[test]
fn lru_on_the_oltp_trace_of_arc() {
    let answers = [(1000, 32.83), (2000, 42.47), (5000, 53.65), (10_000, 60.70), (15_000, 64.63)];
    let Some(outcomes) = lru("arc_OLTP.txt.zst", &answers.map(|(blocks, _)| blocks)) else { return };
    for (outcome, (blocks, percent)) in outcomes.iter().zip(answers) {
        assert_eq!((outcome.cache_blocks, outcome.requests), (blocks, 914_145));
        let found = 100.0 * (1.0 - outcome.miss_ratio());
        assert!((found - percent).abs() < 0.00501, "{found} of {percent} percent hit at {blocks} blocks");
    }
}

#[test]
fn what_the_traces_hold() {
    for (name, requests, distinct) in [
        ("cs.trc.gz", 6781, 1409),
        ("cpp.trc.gz", 9047, 1223),
        ("multi1.trc.gz", 15_858, 2606),
        ("arc_OLTP.txt.zst", 914_145, 186_880),
    ] {
        let Some(path) = trace_path(name) else { continue };
        let info = info(&path, None, BLOCK_BYTES).unwrap();
        assert_eq!((info.format, info.requests, info.distinct_blocks), ("blocks", requests, distinct), "{name}");
        assert_eq!(info.bytes, requests * BLOCK_BYTES);
        assert!((info.reread_share - (1.0 - distinct as f64 / requests as f64)).abs() < 1e-12);
    }
}
