//! A sampled trace says what the whole one would, within the error it states.

use std::path::Path;

use foresee_manager::Source;
use foresee_manager::policy::{Choice, Domain, Registry};
use foresee_sim::load::{Taking, Trace};
use foresee_sim::untimed::{Cell, sweep};

fn load(share: f64) -> Option<Trace> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces/arc_OLTP.txt.zst");
    if !path.exists() {
        eprintln!("skipped: {} is not there", path.display());
        return None;
    }
    Some(Trace::load(&path, None, Taking { share, ..Taking::from(4096) }).unwrap())
}

fn cells(policies: &[&str], blocks: &[u64]) -> Vec<Cell> {
    let cell = |policy: &str, cache_blocks| Cell::new(policy.parse().unwrap(), cache_blocks);
    policies.iter().flat_map(|policy| blocks.iter().map(move |&blocks| cell(policy, blocks))).collect()
}

const TOLD: [&str; 11] = ["lru", "fifo", "clock", "slru", "2q", "lru-k", "lirs", "arc", "s3fifo", "w-tinylfu", "opt"];

/// Twice the standard error holds the truth 19 times of 20.
#[test]
fn the_error_stated_is_the_error_made() {
    let (Some(whole), Some(sampled)) = (load(1.0), load(0.1)) else { return };
    assert_eq!(sampled.whole(), (914_145, 914_145));
    let cells = cells(&TOLD, &[2000, 5000, 10_000, 20_000, 50_000]);
    let [exact, estimated] = [&whole, &sampled].map(|trace| sweep(trace, &cells, &|_, _| {}));
    let mut beyond = Vec::new();
    for (exact, estimated) in exact.iter().zip(&estimated) {
        assert_eq!((exact.misses_error, exact.cache_blocks), (0, estimated.cache_blocks));
        assert_eq!(estimated.hits + estimated.misses, 914_145);
        assert_eq!(estimated.untold, None);
        let off = exact.misses.abs_diff(estimated.misses);
        assert!(estimated.misses_error < exact.misses / 10, "an error that says nothing: {estimated:?}");
        if off > estimated.misses_error {
            beyond.push(format!("{} at {}: {off} off", exact.policy, exact.cache_blocks));
        }
    }
    assert!(beyond.len() * 20 <= cells.len(), "{beyond:?}");
    let distinct = sampled.distinct_blocks().abs_diff(whole.distinct_blocks());
    assert!(distinct < whole.distinct_blocks() / 50, "{distinct} blocks off");
}

/// Where it does not hold, that is said: newcomers of a small cache live longer than those of a
/// large one.
#[test]
fn what_a_sample_does_not_tell_is_named() {
    let (Some(whole), Some(sampled)) = (load(1.0), load(0.1)) else { return };
    let cells = cells(&["lfu", "sieve"], &[2000, 5000]);
    let [exact, estimated] = [&whole, &sampled].map(|trace| sweep(trace, &cells, &|_, _| {}));
    for (exact, estimated) in exact.iter().zip(&estimated) {
        let (few, error) = (exact.misses - estimated.misses.min(exact.misses), estimated.misses_error);
        assert!(estimated.untold.is_some() && few > error, "{}: {few} too few, {error} stated", exact.policy);
        assert_eq!(exact.untold, None);
    }
}

/// Whatever reads ahead by itself follows sequences, of which a sample has none; so does what is
/// made of such a policy.
#[test]
fn no_policy_forgets_what_a_sample_does_not_tell() {
    let trace = Trace::of_blocks((0..4000).chain(0..4000), 4096);
    let registry = Registry::default();
    for spec in registry.specs() {
        let cell = Cell::new(spec.name.parse().unwrap(), 1000);
        let read_ahead =
            sweep(&trace, std::slice::from_ref(&cell), &|_, _| {})[0].statistics.ahead[Source::Readahead as usize];
        assert!(read_ahead.fetched == 0 || cell.policy.unlike_a_part().is_some(), "{}", spec.name);
        for parameter in spec.parameters.iter().filter(|parameter| matches!(parameter.domain, Domain::Policy { .. })) {
            for part in registry.specs() {
                let Ok(whole) = format!("{}:{}={}", spec.name, parameter.name, part.name).parse::<Choice>() else {
                    continue;
                };
                assert!(part.unlike_a_part.is_none() || whole.unlike_a_part().is_some(), "{}", whole.as_str());
            }
        }
    }
    for name in ["readahead", "tip2-sarc", "tip2-amp"] {
        assert!(name.parse::<Choice>().unwrap().unlike_a_part().is_some(), "{name}");
    }
}

/// The blocks of one request are sampled one by one.
#[test]
fn requests_of_many_blocks_are_sampled_by_block() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sampled.arc");
    let lines: String = (0..2000).map(|at| format!("{} 8 0 {at}\n", at % 500 * 8)).collect();
    std::fs::write(&path, lines).unwrap();
    let trace = Trace::load(&path, None, Taking { share: 0.25, ..Taking::from(4096) }).unwrap();
    assert_eq!(trace.whole(), (2000, 16_000));
    assert_eq!(trace.references, trace.len() as u64);
    // Four passes over 4,000 blocks, some 1,000 of them in the sample, each met four times.
    assert!(
        trace.references.is_multiple_of(4) && trace.distinct_blocks().abs_diff(4000) < 400,
        "{}",
        trace.distinct_blocks()
    );
    let cell = |cache_blocks| Cell::new("lru".parse().unwrap(), cache_blocks);
    let outcomes = sweep(&trace, &[cell(2000), cell(5000)], &|_, _| {});
    assert_eq!((outcomes[0].misses, outcomes[0].hits), (outcomes[0].references, 0));
    assert_eq!(outcomes[1].misses, trace.distinct_blocks());
}
