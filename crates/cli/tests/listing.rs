//! Programs that say nothing and read the files of a directory in its order: what comes next is read ahead, as guessed.

mod support;

use serde_json::Value;
use support::{Place, Same};

const FILES: u64 = 200;
const BLOCKS: u64 = 2;
const UNTOLD: [&str; 2] = ["--no-learn", "--no-words"];
/// Each file by a process of its own, in the order of names.
const CATS: &str = "for f in d/*; do cat $f; done";

fn place() -> Place {
    let place = Place::new();
    std::fs::create_dir(place.path("d")).unwrap();
    (0..FILES).for_each(|file| place.write_blocks(&format!("d/f{file:03}"), BLOCKS as usize));
    place
}

/// The account of a script on cold files.
fn account(place: &Place, options: &[&str], script: &str) -> Value {
    place.make_cold();
    let (ended, account) = place.account(options, &["sh", "-c", script]);
    ended.with(0);
    account
}

fn listing(account: &Value, outcome: &str) -> u64 {
    account["prefetched"]["by_source"]["listing"][outcome].as_u64().unwrap()
}

fn hints(account: &Value) -> u64 {
    account["manager"]["hints"].as_u64().unwrap()
}

/// Whether any read had to wait for the disk; says so if not, for then nothing is to be guessed.
fn waited(account: &Value) -> bool {
    let waited = account["stall_s"].as_f64().unwrap() > 0.0;
    if !waited {
        eprintln!("skipped: no read waited for the disk");
    }
    waited
}

#[test]
fn files_in_the_order_of_names_or_of_the_listing() {
    let place = place();
    for script in [CATS, "find d -type f | xargs cat", "cd d; find . -name 'f*' | while read f; do cat $f; done"] {
        Same::script(&place, script).check().with(0);
        let account = account(&place, &UNTOLD, script);
        if !waited(&account) {
            return;
        }
        assert!(2 * hints(&account) > FILES && hints(&account) < FILES, "{script}: {account:#}");
        assert_eq!(listing(&account, "wasted"), 0, "{script}: {account:#}");
        assert!(2 * listing(&account, "fetched") > FILES * BLOCKS, "{script}: {account:#}");
        assert_eq!(account["prefetched"]["guessed"]["fetched"], listing(&account, "fetched"), "{account:#}");
        assert_eq!(account["prefetched"]["told"]["fetched"], 0, "{account:#}");
    }
}

#[test]
fn read_ahead_in_time() {
    let place = place();
    let account = account(&place, &UNTOLD, "for f in d/*; do sleep 0.005; cat $f; done");
    if waited(&account) {
        assert!(10 * listing(&account, "timely") > 9 * (FILES - 10) * BLOCKS, "{account:#}");
    }
}

#[test]
fn files_in_no_order() {
    let place = place();
    let script =
        format!("n=0; while [ $n -lt {FILES} ]; do cat d/f$(printf %03d $((n * 37 % {FILES}))); n=$((n + 1)); done");
    let account = account(&place, &UNTOLD, &script);
    assert!(listing(&account, "fetched") <= 6 * BLOCKS, "a run by chance tells of six files: {account:#}");
}

#[test]
fn some_files_of_each_kind() {
    let place = place();
    (0..FILES).for_each(|file| place.write_blocks(&format!("d/f{file:03}.other"), BLOCKS as usize));
    let account = account(&place, &UNTOLD, "for f in d/*.other; do cat $f; done");
    if waited(&account) {
        assert!(2 * hints(&account) > FILES && hints(&account) < FILES, "{account:#}");
        assert_eq!(listing(&account, "wasted"), 0, "{account:#}");
    }
}

#[test]
fn what_is_known_need_not_be_guessed() {
    let place = place();
    assert_eq!(hints(&account(&place, &[&UNTOLD[..], &["--no-listings"]].concat(), CATS)), 0);
    let files: Vec<String> = (0..FILES).map(|file| format!("d/f{file:03}")).collect();
    let words: Vec<&str> = std::iter::once("cat").chain(files.iter().map(String::as_str)).collect();
    place.make_cold();
    let (ended, told) = place.account(&["--no-learn"], &words);
    ended.with(0);
    account(&place, &["--no-words"], CATS);
    let recorded = account(&place, &["--no-words"], CATS);
    for account in [told, recorded] {
        assert!(hints(&account) >= FILES, "{account:#}");
        assert_eq!(listing(&account, "fetched"), 0, "{account:#}");
    }
}
