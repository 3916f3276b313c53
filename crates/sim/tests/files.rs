//! Many files, read in one order again and again, as a search does. On a disk they lie behind one
//! another and are read in one way; on a link each of them waits for itself.

use std::fmt::Write as _;
use std::path::Path;

use foresee_manager::Config;
use foresee_sim::host;
use foresee_sim::load::Trace;
use foresee_sim::timed::{self, Options, Think};

const LENGTHS: [u64; 7] = [1, 3, 20, 1, 9, 2, 5];
const FILES: usize = 300;

/// Seconds on this device, told nothing, in such a part of the memory that holds all.
fn takes(trace: &Trace, policy: &str, device: &str, percent: u64) -> f64 {
    let how = Options { think: Think::None, disclose: None, device: device.parse().unwrap(), disks: 1, lookup_ns: 0 };
    let config = Config::new(trace.distinct_blocks() * percent / 100, policy.parse().unwrap());
    host::run(&timed::setup(trace, &how, config)).unwrap().elapsed_ns as f64 / 1e9
}

/// What stays of many files leaves a gap in what is read in one way, and each gap is a turn of the
/// disk: kept here and there, half of the files took three times as long as none of them.
#[test]
fn what_stays_of_a_search_does_not_cost_turns() {
    let mut text = String::new();
    for _ in 0..24 {
        for (file, blocks) in (0..FILES).map(|file| (file, LENGTHS[file % LENGTHS.len()])) {
            for offset in (0..blocks).map(|index| 4096 * index) {
                writeln!(text, "1 1.0 pread64(3</file{file}>, \"\", 4096, {offset}) = 4096").unwrap();
            }
        }
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("search.strace");
    std::fs::write(&path, text).unwrap();
    let trace = Trace::load(&path, Some("strace".parse().unwrap()), 4096).unwrap();
    for (device, percent, part) in [
        ("disk10k", 20, 1.0),
        ("disk10k", 50, 0.9),
        ("disk10k", 90, 0.4),
        ("servers=64,latency_us=5000,mb_per_s=1000", 50, 0.5),
    ] {
        let of = |policy| takes(&trace, policy, device, percent);
        let (informed, lru) = (of("informed"), of("readahead:keep=lru"));
        assert!(informed < part * lru, "{device}, {percent} %: {informed:.2} s for {lru:.2}");
    }
}
