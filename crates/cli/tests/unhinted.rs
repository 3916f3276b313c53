//! Programs of which nothing is known: what they read in runs is read ahead, and what they read
//! again and again stays.

mod support;

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

use serde_json::Value;
use support::process::end;
use support::{Device, Place, in_time};

/// Reads a file so often, so many bytes at once; cat would say that it reads in sequence.
const READER: &str = "
import os, sys
for _ in range(int(sys.argv[2])):
    file = os.open(sys.argv[1], os.O_RDONLY)
    while os.read(file, int(sys.argv[3])):
        pass
    os.close(file)
";

/// Runs the command by the default policy; what the manager counted, and what was read ahead.
fn account(place: &Place, options: &[&str], command: &[&str]) -> (Value, Value) {
    let options = [&["--no-words", "--no-learn", "--no-listings", "--json", "account"], options].concat();
    end(place.run(&options, command), b"").with(0);
    let account: Value = serde_json::from_str(&std::fs::read_to_string(place.path("account")).unwrap()).unwrap();
    (account["manager"].clone(), account["prefetched"]["by_source"]["readahead"].clone())
}

/// Has the kernel give up what it has of a file.
fn forget_pages(path: &Path) {
    let file = File::open(path).unwrap();
    file.sync_all().unwrap();
    // SAFETY: the descriptor is open; the advice touches no memory of ours.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
}

fn count(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("no {key} in {value:#}"))
}

#[test]
fn a_run_is_read_ahead() {
    let Some(device) = Device::new(|place| place.write_blocks("f", 2048), "cp f $SLOWDISK_MOUNT") else { return };
    device.tell("network latency=1ms jitter=0% servers=0");
    let file = format!("{}/f", device.mount.display());
    let words = ["python3", "-c", READER, &file, "1", "8192"].map(str::to_owned);
    let (ended, account) = device.foreseen(&["--no-words", "--no-learn"], &words);
    ended.with(0);
    let (manager, ahead) = (&account["manager"], &account["prefetched"]["by_source"]["readahead"]);
    // Three requests until it is known as a run; then it is for the reader to be quicker than what is
    // fetched for it.
    assert!(count(manager, "misses") < 500 && count(ahead, "fetched") > 1500, "{account:#}");
    assert_eq!(count(ahead, "wasted"), 0, "{account:#}");
}

#[test]
fn reads_at_random_lead_to_nothing() {
    let place = Place::new();
    place.write_blocks("f", 2048);
    let script = "
import os
file, record = os.open('f', os.O_RDONLY), 1
for _ in range(1000):
    record = record * 48271 % 2147483647
    os.pread(file, 16384, record % 512 * 16384)
";
    let (_, ahead) = account(&place, &["--memory", "4MiB"], &["python3", "-c", script]);
    // Of 4,000 blocks; python's own start reads some in runs.
    assert!(count(&ahead, "wasted") <= 80, "{ahead:#}");
}

/// Where this machine's disk keeps nobody waiting, the run may be quiet before anything had to go.
#[test]
fn a_loop_larger_than_memory_keeps_a_part() {
    in_time(keeps_a_part);
}

fn keeps_a_part() {
    let place = Place::new();
    place.write_blocks("f", 4096);
    // What starts python may be long, and all of it in memory: then the run is quiet until somebody waits.
    forget_pages(&place.path("f"));
    let (manager, ahead) = account(&place, &["--memory", "8MiB"], &["python3", "-c", READER, "f", "6", "131072"]);
    // What was cancelled its reader brought, and missed.
    let brought = count(&manager, "misses") + count(&ahead, "fetched") - count(&ahead, "cancelled");
    // Of six passes all of the first is brought, and half of each at least; by LRU all of all.
    assert!((4096 + 5 * 2048..5 * 4096).contains(&brought), "{brought} of {}", 6 * 4096);
}
