//! `pcc` on traces of real systems (004), and what becomes of it where one call site does
//! everything. The traces are not part of the repository: where they are absent, the tests say so
//! and pass.

use std::path::PathBuf;

use foresee_sim::load::Trace;
use foresee_sim::untimed::{Cell, sweep};

/// As the paper has it.
const PAPER: &str = "pcc:by_hash=0,halve_at=0,irregular=1e9,follow=0,alike=0,onward=0,overdue=1e9";

fn load(name: &str) -> Option<Trace> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces").join(name);
    if !path.exists() {
        println!("skipped: there is no trace {}", path.display());
        return None;
    }
    Some(Trace::load(&path, None, 4096).unwrap())
}

fn misses(trace: &Trace, policy: &str, cache_blocks: u64) -> u64 {
    sweep(trace, &[Cell::new(policy.parse().unwrap(), cache_blocks)], &|_, _| {})[0].misses
}

/// The loops of cscope, with one site for all of it: 4,257 misses are the least there can be, LRU
/// has 6,657.
#[test]
fn a_loop_is_nearly_optimal() {
    let Some(trace) = load("cs.trc.gz") else { return };
    assert_eq!((misses(&trace, "opt", 600), misses(&trace, "lru", 600)), (4257, 6657));
    assert_eq!(misses(&trace, PAPER, 600), 4393);
    assert!(misses(&trace, "pcc", 600) < 4393, "a loop is seen sooner if samples are chosen by the block");
}

/// Two programs as one site: as in the paper it does worse than LRU by far. What is irregular is
/// left to the policy of other pages: with LRU and ARC a small cache loses a little and larger ones
/// gain; with S3-FIFO, which does better on such a mix than either, all but the largest lose up to
/// 6.5 %, and that one 2: what such a site read in sequence turns with it (`follow=0`: nothing),
/// which is what loops of few passes gain by.
#[test]
fn one_site_that_does_everything_falls_back() {
    let Some(trace) = load("multi1.trc.gz") else { return };
    assert!(misses(&trace, PAPER, 500) > misses(&trace, "lru", 500) * 14 / 10);
    for (other, percents) in
        [("lru", [105, 100, 100, 100]), ("arc", [105, 100, 100, 100]), ("s3fifo", [106, 106, 107, 102])]
    {
        for (blocks, percent) in [200, 500, 1000, 1500].into_iter().zip(percents) {
            let [plain, pcc] = [other.to_owned(), format!("pcc:other={other}")].map(|it| misses(&trace, &it, blocks));
            assert!(pcc <= plain * percent / 100, "{other}, {blocks} blocks: {pcc} misses, without pcc {plain}");
        }
    }
}
