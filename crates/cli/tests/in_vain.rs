//! Of commands of which earlier runs found that reading ahead does not pay nothing is read ahead, until
//! they wait.

mod support;

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use foresee_run::profile::{Profile, Store, import};
use support::{Device, have, in_time};

const FOLDERS: usize = 30;
const FILES: usize = 40;

#[test]
fn who_waits_is_read_ahead_for_though_it_was_in_vain() {
    if have("grep") {
        in_time(waits);
    }
}

fn waits() {
    let populate = |place: &support::Place| {
        for folder in 0..FOLDERS {
            for file in 0..FILES {
                place.write(format!("tree/{folder}/{file}"), vec![file as u8; 4096]);
            }
        }
    };
    let Some(device) = Device::new(populate, "cp -r tree $SLOWDISK_MOUNT") else { return };
    device.tell("network latency=2ms jitter=0% servers=0");
    let log = device.place.aside("log");
    let words = ["grep", "-r", "nowhere", device.mount.join("tree").to_str().unwrap()].map(str::to_owned);
    let run = || {
        device.make_cold();
        device.place.account(&["--no-words", "--no-listings", "--log", log.to_str().unwrap()], &words).0.with(1);
        let log = fs::read_to_string(&log).unwrap();
        let waited = log.lines().filter(|line| line.contains("=waited@")).count();
        (log.contains(" suspend "), waited)
    };
    let (was_suspended, waited) = run();
    assert!(!was_suspended && waited >= FOLDERS * FILES / 2, "nothing was known: {waited}");

    let file = device.place.stored().pop().unwrap();
    let profile = import(&file).unwrap();
    assert_eq!(profile.in_vain, None);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let store = Store::at(file.parent().unwrap().to_owned());
    store.save(&Profile { in_vain: Some(now), ..profile }).unwrap();
    assert_eq!(import(&file).unwrap().in_vain, Some(now));

    let (was_suspended, waited) = run();
    assert!(was_suspended && waited < FOLDERS * FILES / 3, "{was_suspended}, {waited}");
    assert_eq!(import(&file).unwrap().in_vain, None, "it was not in vain after all");
}
