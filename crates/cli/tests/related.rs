//! Runs that never were: what the runs most like them read is read ahead, with their own words and
//! directories in its place.

mod support;

use std::fs;

use serde_json::Value;
use support::library::gcc;
use support::{Device, Place, end, have, in_time};

const FILES: usize = 150;
const BLOCKS: usize = 2;
/// Reads all files of some directories, in an order that its first word settles, and says what it
/// read and how often it waited.
const READER: &str = r"
import hashlib, os, random, resource, sys
before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
names = [os.path.join(place, name) for place in sys.argv[2:] for name in sorted(NAMES)]
random.Random(sys.argv[1]).shuffle(names)
said = hashlib.sha256()
for name in sorted(names) if sys.argv[1] == 'sorted' else names:
    with open(name, 'rb') as file:
        said.update(file.read())
print(said.hexdigest())
print(resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before, file=sys.stderr)
";

/// A slow device with programs and data, each in two places.
fn device() -> Option<Device> {
    if !have("python3") {
        return None;
    }
    let files = |place: &Place| {
        let names: Vec<String> = (0..FILES).map(|file| format!("f{:04}", file * 7919 % 9973)).collect();
        let reader = format!("NAMES = {names:?}\n{READER}");
        for tree in ["one", "two"] {
            place.write(format!("{tree}/app/read.py"), &reader);
            for (name, at) in names.iter().zip(0u8..) {
                place.write(format!("{tree}/app/data/{name}"), vec![at; BLOCKS * 4096]);
            }
        }
        place.write("one/app/other.py", &reader);
    };
    let device = Device::new(files, "cp -r one two $SLOWDISK_MOUNT")?;
    device.tell("network latency=8ms jitter=0% servers=0");
    Some(device)
}

/// The interpreter itself: what is called `python3` may be a script that reads much before it comes
/// to that.
fn python(place: &Place) -> String {
    let named = place.plain(&["python3", "-c", "import sys; print(sys.executable)"]);
    end(named, b"").with(0).out().trim().to_owned()
}

/// What it printed, how often it waited, and the account.
fn read(device: &Device, directory: &str, words: &[&str]) -> (String, usize, Value) {
    device.make_cold();
    let python = python(&device.place);
    let words: Vec<&str> = [&python, "-S"].into_iter().chain(words.iter().copied()).collect();
    let mut command = device.place.run(&["--no-listings", "--json", "../account"], &words);
    command.current_dir(device.mount.join(directory));
    let account = device.mount.join(directory).join("../account");
    let ended = end(command, b"").with(0);
    let waits = ended.err().trim().lines().last().unwrap().parse().unwrap();
    (ended.out(), waits, serde_json::from_slice(&fs::read(account).unwrap()).unwrap())
}

fn outcome(account: &Value, source: &str, outcome: &str) -> u64 {
    account["prefetched"]["by_source"][source][outcome].as_u64().unwrap()
}

/// Of runs of which nothing was known, and of the next ones: that waits this much less often.
#[track_caller]
fn assert_gains(first: &(String, usize, Value), next: &(String, usize, Value), by: &str) {
    assert!(first.1 >= FILES, "nothing was known, and it waited {} times", first.1);
    assert!(next.1 < first.1 / 3, "waited {} times, before {}; {:#}", next.1, first.1, next.2);
    assert_eq!(next.2["profile_of"], by);
}

#[test]
fn one_argument_more_is_nearly_the_same_run() {
    in_time(|| {
        let Some(device) = device() else { return };
        let first = read(&device, "one/app", &["read.py", "sorted", "data"]);
        assert_eq!(first.2["profile_of"], Value::Null);
        let more = read(&device, "one/app", &["-B", "read.py", "sorted", "data"]);
        assert_eq!(first.0, more.0);
        assert_gains(&first, &more, "alike");
    });
}

#[test]
fn a_tree_that_moved_is_known() {
    in_time(|| {
        let Some(device) = device() else { return };
        let first = read(&device, "one/app", &["read.py", "sorted", "data"]);
        let moved = read(&device, "two/app", &["read.py", "sorted", "data"]);
        assert_eq!(first.0, moved.0);
        assert_gains(&first, &moved, "alike");
    });
}

#[test]
fn another_script_reads_what_the_first_read() {
    in_time(|| {
        let Some(device) = device() else { return };
        let first = read(&device, "one/app", &["read.py", "sorted", "data"]);
        let other = read(&device, "one/app", &["other.py", "sorted", "data"]);
        assert_gains(&first, &other, "related");
    });
}

#[test]
fn in_another_order_the_same_is_known() {
    in_time(|| {
        let Some(device) = device() else { return };
        let first = read(&device, "one/app", &["read.py", "11", "data"]);
        let other = read(&device, "one/app", &["read.py", "22", "data"]);
        assert_ne!(first.0, other.0);
        assert_gains(&first, &other, "related");
    });
}

/// The same words, and another order.
#[test]
fn a_run_that_leaves_its_order_is_followed() {
    in_time(|| {
        if !have("gcc") {
            return;
        }
        let shuffled = |place: &Place| gcc(place, &place.path("shuffled"), &["crates/cli/tests/programs/shuffled.c"]);
        let Some(device) = Device::new(shuffled, "head -c 12288000 /dev/zero > $SLOWDISK_MOUNT/big") else { return };
        device.tell("network latency=2ms jitter=0% servers=0");
        let words = device.words(&["./shuffled", "2400", "3000"], &["big"]);
        let run = || {
            let (ended, account) = device.foreseen(&["--no-words"], &words);
            (ended.with(0).err().trim().parse::<u32>().unwrap(), account)
        };
        let ((first, _), (again, account)) = (run(), run());
        assert_eq!(account["profile_of"], "own");
        assert!(again < first * 2 / 3, "waited {again} times, before {first}; {account:#}");
        // What came before the order was left is withdrawn by that, and is here when it is read.
        let brought = outcome(&account, "related", "fetched") + outcome(&account, "profile", "fetched");
        assert!(brought > 600, "{account:#}");
        // Two runs that read the same in other orders say of the third that it will do so too.
        let (third, account) = run();
        assert!(third < first * 2 / 3, "waited {third} times, before {first}; {account:#}");
        assert_eq!(outcome(&account, "profile", "fetched"), 0, "{account:#}");
    });
}

/// What a run of the same program read that had nothing else in common costs little.
#[test]
fn what_does_not_come_true_costs_its_first_blocks() {
    in_time(|| {
        let Some(device) = device() else { return };
        read(&device, "one/app", &["read.py", "sorted", "data", "../../two/app/data"]);
        let (_, _, account) = read(&device, "two/app", &["-c", "import sys; print(0); print(0, file=sys.stderr)"]);
        assert_eq!(account["profile_of"], "related");
        let (fetched, wasted) = (outcome(&account, "related", "fetched"), outcome(&account, "related", "wasted"));
        assert!(wasted <= 64 + (fetched - wasted), "{account:#}");
    });
}

#[test]
fn what_was_exported_is_known_elsewhere() {
    in_time(|| {
        let Some(device) = device() else { return };
        let first = read(&device, "one/app", &["read.py", "sorted", "data"]);
        let name = device.place.stored()[0].file_stem().unwrap().to_str().unwrap().to_owned();
        let exported = end(device.place.foresee(&["profile", "export", &name]), b"").with(0).stdout;
        let file = device.place.write("app.profile", &exported);
        end(device.place.foresee(&["profile", "forget", "--all"]), b"").with(0);
        // Under another name, without a place for profiles: by the file alone.
        device.make_cold();
        let python = python(&device.place);
        let words = [&python, "-S", "../app/read.py", "sorted", "data"];
        let options = ["--no-learn", "--no-listings", "--profile", file.to_str().unwrap(), "--json", "../account"];
        let mut command = device.place.run(&options, &words);
        command.current_dir(device.mount.join("two/app"));
        let ended = end(command, b"").with(0);
        let waits: usize = ended.err().trim().lines().last().unwrap().parse().unwrap();
        assert_eq!(ended.out(), first.0);
        let account: Value = serde_json::from_slice(&fs::read(device.mount.join("two/account")).unwrap()).unwrap();
        assert!(waits < first.1 / 3, "waited {waits} times, before {}; {account:#}", first.1);
        // As the files that this run names, and not beside them.
        assert!(outcome(&account, "related", "wasted") <= 64, "{account:#}");
        // As this user's own.
        end(device.place.foresee(&["profile", "import", file.to_str().unwrap()]), b"").with(0);
        assert_eq!(read(&device, "one/app", &["read.py", "sorted", "data"]).2["profile_of"], "own");
    });
}

#[test]
fn several_exported_profiles_are_merged() {
    let place = Place::new();
    for name in ["a", "b", "c"] {
        place.write(name, vec![b'x'; 9000]);
    }
    for words in [["cat", "a", "b"], ["cat", "a", "c"]] {
        end(place.run(&["--no-words"], &words), b"").with(0);
    }
    let rows: Value =
        serde_json::from_slice(&end(place.foresee(&["profile", "list", "--json"]), b"").with(0).stdout).unwrap();
    let names: Vec<&str> = rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    let mut files = Vec::new();
    for name in &names {
        let exported = end(place.foresee(&["profile", "export", name]), b"").with(0).stdout;
        files.push(place.write(format!("{name}.exported"), exported).display().to_string());
    }
    let merged = end(place.foresee(&["profile", "merge", &files[0], &files[1]]), b"").with(0).stdout;
    let both = end(place.foresee(&["profile", "export", names[0], names[1]]), b"").with(0).stdout;
    assert_eq!(merged, both);
    let merged = place.write("merged", merged);
    end(place.foresee(&["profile", "import", merged.to_str().unwrap()]), b"").with(0);
    let shown = end(place.foresee(&["profile", "show", names[0]]), b"").with(0).out();
    assert!(shown.contains("runs       2"), "{shown}");
    let is_common = |name: &str| !shown.lines().any(|line| line.ends_with(&format!("/{name}  (not by most runs)")));
    assert_eq!((is_common("a"), is_common("b"), is_common("c")), (true, false, false), "{shown}");
}

#[test]
fn what_is_no_profile_is_refused_by_its_name() {
    let place = Place::new();
    place.write("nonsense", "nonsense");
    for words in [
        &["profile", "import", "nonsense"][..],
        &["profile", "merge", "nonsense", "nonsense"],
        &["profile", "import", "missing"],
    ] {
        let ended = end(place.foresee(words), b"").with(2);
        assert!(ended.err().contains(words[2]) && ended.err().lines().count() == 1, "{ended:?}");
    }
    let ended = end(place.run(&["--profile", "nonsense"], &["true"]), b"").with(2);
    assert!(ended.err().contains("nonsense"), "{ended:?}");
}
