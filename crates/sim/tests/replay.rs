//! The twin test on logs of the simulated host: the same events, the same actions; another action
//! is found and named.

use std::path::{Path, PathBuf};

use foresee_manager::{Config, Header, write_entry};
use foresee_sim::faults::Faults;
use foresee_sim::host::run_watched;
use foresee_sim::load::Trace;
use foresee_sim::replay::replay;
use foresee_sim::timed::{self, Disclosure, Options, Think};
use foresee_sim::trace::{Output, Target};

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// A run with hints, evictions and failures, and its log.
fn log() -> String {
    let config = Config::new(8, "tip1".parse().unwrap());
    let mut log = format!("{}\n", Header(config.clone()));
    let trace = Trace::of_blocks((0..200).map(|at| at * 7 % 31), 4096);
    let device = "servers=2,latency_us=100".parse().unwrap();
    let options =
        Options { think: Think::Fixed(50_000), disclose: Some(Disclosure::TOLD), device, disks: 1, lookup_ns: 1000 };
    let mut setup = timed::setup(&trace, &options, config);
    setup.faults = Faults { seed: 3, fail_share: 0.1, delay_share: 0.2, delay_ns_max: 1_000_000, swap_share: 0.2 };
    run_watched(&setup, &mut |now, event, actions, _| write_entry(&mut log, now, event, actions).unwrap()).unwrap();
    log
}

fn replayed(name: &str, log: &str) -> Result<foresee_sim::replay::Replay, String> {
    let path = scratch(name);
    let mut output = Output::new(Target::create(&path).unwrap()).unwrap();
    output.write(log.as_bytes()).unwrap();
    output.finish().unwrap();
    replay(&path).map_err(|error| error.to_string())
}

#[test]
fn a_log_replayed_gives_its_actions() {
    let log = log();
    let count = |prefix: &str| log.lines().filter(|line| line.starts_with(prefix)).count() as u64;
    for name in ["own.log", "own.log.gz", "own.log.zst"] {
        let replay = replayed(name, &log).unwrap();
        assert_eq!(replay.divergence, None);
        assert_eq!((replay.events, replay.actions), (count("@"), count("  ")), "{name}");
        assert!(replay.statistics.failed_fetches > 0 && replay.statistics.evictions > 0);
    }
}

#[test]
fn the_first_other_action_is_named() {
    let log = log();
    let lines: Vec<&str> = log.lines().collect();
    let at = lines.iter().rposition(|line| line.starts_with("  drop ")).unwrap();
    let event = lines[..at].iter().rfind(|line| line.starts_with('@')).unwrap();
    let with = |middle: &[&str]| [&lines[..at], middle, &lines[at + 1..]].concat().join("\n") + "\n";

    let changed = replayed("changed.log", &with(&["  drop file=0 first=999 count=1"])).unwrap().divergence.unwrap();
    assert_eq!((changed.line, changed.event.as_str()), (at as u64 + 1, *event));
    assert_eq!((changed.expected.as_str(), changed.got.as_str()), ("drop file=0 first=999 count=1", lines[at].trim()));
    assert!(changed.to_string().contains("first=999"));

    let added = replayed("added.log", &with(&[lines[at], "  lookup file=9"])).unwrap().divergence.unwrap();
    assert_eq!((added.line, added.expected.as_str()), (at as u64 + 2, "lookup file=9"));

    let kept = lines[..at].join("\n") + "\n";
    let cut = replayed("cut.log", &kept).unwrap().divergence.unwrap();
    assert_eq!((cut.line, cut.expected.as_str(), cut.got.as_str()), (at as u64 + 1, "", lines[at].trim()));
}

#[test]
fn what_is_no_log_is_refused_with_the_line() {
    let log = log();
    for (text, found) in [
        ("", "bad.log: is empty"),
        ("hello\n", "bad.log, line 1: a log begins with"),
        (&log.replacen("\n@", "\n  lookup file=1\n@", 1), "bad.log, line 2: 'lookup file=1' is an action before"),
        (&log.replacen("\n@", "\n@x", 1), "bad.log, line 2: "),
        (&log.replacen("\n@", "\nwhat\n@", 1), "bad.log, line 2: 'what' is no action"),
    ] {
        let error = replayed("bad.log", text).unwrap_err();
        assert!(error.contains(found), "{error}");
    }
}
