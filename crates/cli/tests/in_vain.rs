//! Of commands of which earlier runs found that reading ahead does not pay nothing is read ahead, until
//! they wait.

mod support;

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use foresee_run::profile::{Findings, Profile, Store};
use support::{Device, Place, have, in_time};

const FOLDERS: usize = 30;
const FILES: usize = 40;
/// Reads of the file that is opened once, far apart.
const READS: usize = 600;
const APART: usize = 16;

/// Reads these blocks of the file in its last argument, in no order.
const READER: &str = r"#!/usr/bin/env python3
import os, random, sys
reads, apart = int(sys.argv[1]), int(sys.argv[2])
blocks = [apart * at for at in range(reads)]
random.Random(7).shuffle(blocks)
file = os.open(sys.argv[3], os.O_RDONLY)
for block in blocks:
    os.pread(file, 4096, 4096 * block)
";

#[test]
fn who_waits_is_read_ahead_for_though_it_was_in_vain() {
    if !have("grep") {
        return;
    }
    let populate = |place: &Place| {
        for folder in 0..FOLDERS {
            for file in 0..FILES {
                place.write(format!("tree/{folder}/{file}"), vec![file as u8; 4096]);
            }
        }
    };
    in_time(|| waits(&populate, "tree", &["grep", "-r", "nowhere"], FOLDERS * FILES, 1));
}

/// What it reads then was opened while nothing was read ahead.
#[test]
fn who_waits_for_what_is_open_is_read_ahead_for_as_well() {
    if !have("python3") {
        return;
    }
    let populate = |place: &Place| {
        place.write("reader.py", READER);
        place.write("file", vec![7; READS * APART * 4096]);
    };
    let (reads, apart) = (READS.to_string(), APART.to_string());
    in_time(|| waits(&populate, "file", &["python3", "reader.py", &reads, &apart], READS, 0));
}

/// Has the command read this of a slow device, that does so many reads; then again, by a profile that says
/// that reading ahead does not pay.
fn waits(populate: &dyn Fn(&Place), what: &str, command: &[&str], reads: usize, status: i32) {
    let Some(device) = Device::new(|place| populate(place), &format!("cp -r {what} $SLOWDISK_MOUNT")) else { return };
    device.tell("network latency=2ms jitter=0% servers=0");
    let log = device.place.aside("log");
    let what = device.mount.join(what);
    let words: Vec<&str> = command.iter().copied().chain(what.to_str()).collect();
    let run = || {
        device.make_cold();
        let options = ["--no-words", "--no-listings", "--log", log.to_str().unwrap()];
        device.place.account(&options, &words).0.with(status);
        let log = fs::read_to_string(&log).unwrap();
        let waited = log.lines().filter(|line| line.contains("=waited@")).count();
        (log.contains(" suspend "), waited)
    };
    let (_, waited) = run();
    assert!(waited >= reads / 2, "nothing was known: {waited}");

    let file = device.place.stored().pop().unwrap();
    let store = Store::at(file.parent().unwrap().to_owned());
    let kept = || store.list().unwrap().pop().unwrap().read().unwrap();
    assert_eq!(kept().findings, Findings::default());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let nothing = Findings::default();
    for (findings, suspends) in
        [(Findings { in_vain: Some(now), ..nothing }, true), (Findings { in_memory: Some(now), ..nothing }, false)]
    {
        store.save(&Profile { findings, ..kept() }).unwrap();
        assert_eq!(kept().findings, findings);
        let (was_suspended, waited) = run();
        assert!(was_suspended || !suspends);
        // What was recorded is disclosed only once something waits.
        let log = fs::read_to_string(&log).unwrap();
        let first = |word: &str| log.lines().position(|line| line.contains(word)).unwrap();
        assert!(first("source=profile file=") > first(" named reader=").min(first(" reference ")), "{findings:?}");
        assert!(waited < reads / 3, "{findings:?}: {waited}");
        assert_eq!(kept().findings, nothing, "it was neither in vain nor in memory");
    }
}
