//! Logs of runs, which a manager replays.

use std::fs;

use foresee_fuzz::{Corpus, mutants};
use foresee_sim::replay::replay;
use proptest::prelude::*;

use super::{bounded, config, scratch};

/// A line of some thirty bytes may be a read of half a million blocks, which under some policy take
/// some 300 bytes each in memory.
const MEMORY: (u64, u64) = (256 << 20, 64 << 10);

fn replayed(bytes: &[u8]) -> bool {
    let path = scratch("input.log");
    fs::write(&path, bytes).expect("a scratch file");
    let replayed = bounded(bytes, MEMORY, || replay(&path));
    // The manager checks itself in debug builds; what it did instead of what the log says is a
    // divergence, and no error.
    replayed.is_ok()
}

#[test]
fn kept_logs_are_replayed() {
    for (name, bytes) in Corpus::of("log").inputs {
        assert_eq!(replayed(&bytes), !name.starts_with("broken"), "{name}");
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn any_log_is_replayed_or_refused(mutant in mutants("log")) {
        replayed(&mutant.bytes);
    }
}
