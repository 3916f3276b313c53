//! Programs that say nothing and read the files of a directory in its order: what comes next is
//! read ahead, as guessed.

mod support;

use serde_json::Value;
use support::{Device, Ended, Place, have, in_time};

const FILES: u64 = 200;
const BLOCKS: u64 = 2;
const UNTOLD: [&str; 2] = ["--no-learn", "--no-words"];
/// Each file by a process of its own, in the order of names.
const CATS: &str = "for f in d/*; do cat $f; done";

/// A slow device with as many files in `d`, half of them of another kind than the others, and as
/// many in ten folders of `t`.
fn device() -> Option<Device> {
    let files = |place: &Place| {
        for file in 0..FILES {
            place.write(format!("d/f{file:03}"), vec![file as u8; (BLOCKS * 4096) as usize]);
            place.write(format!("k/f{file:03}.{}", file % 2), vec![file as u8; (BLOCKS * 4096) as usize]);
            place.write(format!("t/{}/f{file:03}", file % 10), vec![file as u8; (BLOCKS * 4096) as usize]);
        }
    };
    let device = Device::new(files, "cp -r d k t $SLOWDISK_MOUNT")?;
    device.tell("network latency=1ms jitter=0% servers=0");
    Some(device)
}

fn words(device: &Device, script: &str) -> Vec<String> {
    ["sh", "-c", &format!("cd {}; {script}", device.mount.display())].map(str::to_owned).to_vec()
}

/// A script on cold files, foreseen.
fn foreseen(device: &Device, options: &[&str], script: &str) -> (Ended, Value) {
    device.foreseen(options, &words(device, script))
}

fn guessed(account: &Value, source: &str, outcome: &str) -> u64 {
    account["prefetched"]["by_source"][source][outcome].as_u64().unwrap()
}

fn listing(account: &Value, outcome: &str) -> u64 {
    guessed(account, "listing", outcome)
}

fn hints(account: &Value) -> u64 {
    account["manager"]["hints"].as_u64().unwrap()
}

/// All but the first few of so many files were guessed, as nothing else was, and read: as far as programs told, who
/// need not once all had been brought, a thousand reads and look-ups before. What is withdrawn then counts as wasted, and
/// is here when it is read.
#[track_caller]
fn assert_guessed(account: &Value, files: u64) {
    assert!((files * 9 / 10..files).contains(&hints(account)), "{account:#}");
    let of = |outcome| listing(account, outcome);
    let of_manager = |count| account["manager"][count].as_u64().unwrap();
    let untold = (files * BLOCKS).saturating_sub(of_manager("references"));
    let found = of_manager("hits") + of_manager("late_hits");
    assert!(found + untold >= of("fetched"), "{untold}: {account:#}");
    assert_eq!(of("wasted") + of("timely") + of("late") + of("cancelled"), of("fetched"), "{account:#}");
    assert_eq!(account["prefetched"]["guessed"]["fetched"], of("fetched"), "{account:#}");
    assert_eq!(account["prefetched"]["told"]["fetched"], 0, "{account:#}");
    assert!(of("timely") + of("late") + untold > files * BLOCKS / 2, "{untold}: {account:#}");
}

#[test]
fn files_in_the_order_of_names_or_of_the_listing() {
    let Some(device) = device() else { return };
    for script in [CATS, "find d -type f | xargs cat", "cd d; find . -type f | while read f; do cat $f; done"] {
        let (ended, account) = foreseen(&device, &UNTOLD, script);
        assert_eq!(ended, device.plain(&words(&device, script)).with(0));
        assert_guessed(&account, FILES);
    }
}

#[test]
fn some_files_of_each_kind() {
    in_time(|| {
        let Some(device) = device() else { return };
        let (_, account) = foreseen(&device, &UNTOLD, "for f in k/*.1; do cat $f; done");
        assert_guessed(&account, FILES / 2);
    });
}

#[test]
fn one_directory_after_the_other() {
    let Some(device) = device() else { return };
    let (_, account) = foreseen(&device, &UNTOLD, "for f in t/*/*; do cat $f; done");
    assert!(hints(&account) >= FILES * 3 / 4, "all but the first of each: {account:#}");
    assert_eq!(listing(&account, "wasted"), 0, "{account:#}");
}

#[test]
fn files_in_no_order() {
    let Some(device) = device() else { return };
    let script = format!("for n in $(seq 0 {}); do cat d/f$(printf %03d $((n * 37 % {FILES}))); done", FILES - 1);
    let (_, account) = foreseen(&device, &UNTOLD, &script);
    assert!(listing(&account, "fetched") <= 6 * BLOCKS, "a run by chance tells of six files: {account:#}");
}

/// Reads so many of the files that match a pattern, each once, in an order that looks like none, by
/// several processes that share the work; says how often they waited.
const LOADER: &str = r"
import glob, multiprocessing, random, resource, sys, zlib
def load(name):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    with open(name, 'rb', buffering=0) as file:
        contents = file.read()
    return zlib.crc32(contents), resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before
names = sorted(glob.glob(sys.argv[1]))
random.Random(7).shuffle(names)
with multiprocessing.get_context('fork').Pool(3) as pool:
    totals = [sum(column) for column in zip(*pool.imap(load, names[:int(sys.argv[2])]))]
print(totals[0])
print(totals[1], file=sys.stderr)
";

/// What it printed, how often it waited, and the account.
fn load(device: &Device, pattern: &str, files: u64, is_foreseen: bool) -> (String, usize, Value) {
    let files = files.to_string();
    let words = device.words(&["python3", "-S", "-c", LOADER], &[pattern]);
    let words = [words, vec![files]].concat();
    let (ended, account) = match is_foreseen {
        true => device.foreseen(&UNTOLD, &words),
        false => (device.plain(&words), Value::Null),
    };
    let ended = ended.with(0);
    let waits = ended.err().trim().lines().last().unwrap().parse().unwrap();
    (ended.out(), waits, account)
}

#[test]
fn a_loader_that_reads_all_in_no_order() {
    in_time(|| {
        let Some(device) = device().filter(|_| have("python3")) else { return };
        // So slow that it does not matter what else the machine does.
        device.tell("network latency=10ms jitter=0% servers=0");
        for pattern in ["d/*", "t/*/*"] {
            let (printed, waits_plain, _) = load(&device, pattern, FILES, false);
            let (printed_foreseen, waits, account) = load(&device, pattern, FILES, true);
            assert_eq!(printed, printed_foreseen);
            let of = |outcome| guessed(&account, "unordered", outcome);
            // Where all that starts python is in memory the run begins quiet: until each of three processes has
            // waited, for its first file or in the middle of its second, nobody hears of what it reads.
            let unheard = 3 * 2 * BLOCKS;
            assert!(of("timely") + of("late") > FILES * BLOCKS / 2 && of("wasted") <= unheard, "{account:#}");
            assert!(waits < waits_plain * 3 / 4, "waited {waits} times, plainly {waits_plain}; {account:#}");
        }
    });
}

#[test]
fn a_loader_that_reads_little_in_no_order() {
    let Some(device) = device().filter(|_| have("python3")) else { return };
    let (_, _, account) = load(&device, "d/*", 30, true);
    assert_eq!(guessed(&account, "unordered", "fetched"), 0, "{account:#}");
}

#[test]
fn what_is_known_need_not_be_guessed() {
    let Some(device) = device() else { return };
    let (_, unguessed) = foreseen(&device, &["--no-learn", "--no-words", "--no-listings"], CATS);
    assert_eq!(hints(&unguessed), 0);
    let names: Vec<String> = (0..FILES).map(|file| format!("d/f{file:03}")).collect();
    let told = device.words(&["cat"], &names.iter().map(String::as_str).collect::<Vec<_>>());
    let (_, told) = device.foreseen(&["--no-learn"], &told);
    foreseen(&device, &["--no-words"], CATS);
    let (_, recorded) = foreseen(&device, &["--no-words"], CATS);
    for account in [told, recorded] {
        assert!(hints(&account) >= FILES, "{account:#}");
        assert_eq!(listing(&account, "fetched"), 0, "{account:#}");
    }
}
