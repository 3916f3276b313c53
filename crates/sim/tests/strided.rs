//! Reads at equal distances, told nothing: a column of a matrix, a file from its end.

use std::fmt::Write as _;
use std::path::Path;

use foresee_manager::Config;
use foresee_sim::host::{self, Report};
use foresee_sim::load::Trace;
use foresee_sim::timed::{self, Options, Think};

const LINK: &str = "servers=64,latency_us=5000,mb_per_s=1000";

/// Reads of so many bytes at these offsets of one file, which has 20,000 blocks.
fn trace(name: &str, bytes: u64, offsets: impl Iterator<Item = u64>) -> Trace {
    let mut text = String::new();
    for offset in offsets {
        writeln!(text, "1 1.0 pread64(3</file>, \"\", {bytes}, {offset}) = {bytes}").unwrap();
    }
    // Of a trace a file is as long as what is read of it.
    let last = 19_999 * 4096;
    writeln!(text, "1 1.0 pread64(3</file>, \"\", 4096, {last}) = 4096").unwrap();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("strided-{name}.strace"));
    std::fs::write(&path, text).unwrap();
    Trace::load(&path, Some("strace".parse().unwrap()), 4096).unwrap()
}

fn run(trace: &Trace, policy: &str, blocks: u64) -> Report {
    let how = Options { think: Think::None, disclose: None, device: LINK.parse().unwrap(), disks: 1, lookup_ns: 0 };
    host::run(&timed::setup(trace, &how, Config::new(blocks, policy.parse().unwrap()))).unwrap()
}

/// In parts of the time that is taken where only what lies one after the other is read ahead, and
/// blocks brought for one that is read.
fn costs(trace: &Trace, blocks: u64) -> (f64, f64) {
    let [strided, onward] = ["informed", "readahead:keep=reuse"].map(|policy| run(trace, policy, blocks));
    let part = strided.elapsed_ns as f64 / onward.elapsed_ns as f64;
    (part, strided.devices[0].bytes as f64 / onward.devices[0].bytes as f64)
}

#[test]
fn what_is_read_at_equal_distances_is_read_ahead() {
    let far = 20_000 * 4096;
    // Whole blocks, and what a row of doubles takes that is no multiple of one.
    for (name, first, step, bytes) in [
        ("tenth", 0, 10 * 4096, 4096),
        ("rows", 24, 50_008, 8),
        ("short-rows", 24, 17_000, 8),
        ("records", 100, 90_010, 6_000),
        ("backward", far - 4096, -4096, 4096),
        ("backward-records", far - 70_000, -30_000, 30_000),
    ] {
        let offsets =
            (0..1_200).map(|number| first + number * step).filter(|offset| (0..far - 70_000).contains(offset));
        let (time, blocks) = costs(&trace(name, bytes, offsets.map(|offset| offset as u64)), 1_000);
        assert!(time < 0.1, "{name}: {time:.3} of the time");
        let most = if step % 4096 == 0 { 1.2 } else { 1.6 };
        assert!(blocks < most, "{name}: {blocks:.2} blocks for one that is read");
    }
}

#[test]
fn runs_by_turns_are_told_apart() {
    let by_turns = (0..600).flat_map(|row| [row * 90_000, 20_000 * 4096 - 20_000 - row * 60_000]);
    let (time, _) = costs(&trace("turns", 8, by_turns), 1_000);
    assert!(time < 0.15, "{time:.3} of the time");
}

/// Of each group much of what is read ahead would lie beyond its end.
#[test]
fn where_runs_are_short_little_is_read_beyond_their_ends() {
    let mut random = 7_u64;
    let groups = (0..400).flat_map(|_| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let first = (random >> 33) % 19_000;
        (0..9).map(move |number| 4096 * (first + 10 * number))
    });
    let (time, fetched) = costs(&trace("groups", 4096, groups), 1_000);
    assert!(time < 1.0 && fetched < 1.5, "{time:.3} of the time, {fetched:.2} of the blocks");
}

/// By chance all over a file of so many blocks, and in order with gaps.
#[test]
fn what_lies_at_no_equal_distances_is_left_alone() {
    let mut random = 7_u64;
    let mut below = |limit: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % limit
    };
    for blocks in [300, 2_000, 20_000] {
        let offsets: Vec<u64> = (0..8_000).map(|_| 4096 * below(blocks)).collect();
        let (time, fetched) = costs(&trace(&format!("random-{blocks}"), 4096, offsets.into_iter()), 200);
        assert!(time < 1.05 && fetched < 1.1, "{blocks}: {time:.3} of the time, {fetched:.2} of the blocks");
    }
    // Where every second block is read, more is gained by what is brought in vain than lost.
    for (gap, most) in [(2, 1.6), (4, 1.2), (12, 1.2)] {
        let mut place = 0;
        let offsets: Vec<u64> = std::iter::from_fn(|| {
            place += 1 + below(2 * gap - 1);
            (place < 19_000).then_some(4096 * place)
        })
        .collect();
        let (time, fetched) = costs(&trace(&format!("gaps-{gap}"), 4096, offsets.into_iter()), 1_000);
        assert!(time < 1.05 && fetched < most, "{gap}: {time:.3} of the time, {fetched:.2} of the blocks");
    }
}
