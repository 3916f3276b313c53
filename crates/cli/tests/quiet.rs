//! Programs that find in memory all they read: most of it need not be told, and what follows is
//! none the worse for it.

mod support;

use std::fs;
use std::hint::spin_loop;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use serde_json::Value;
use support::{Device, Place, end, have, in_time};

const FOLDERS: usize = 60;
/// So many that of the last third of them nothing is disclosed at first, from far ahead.
const MANY_FOLDERS: usize = 100;
/// Of what is cold a third: all of it is waited for where nothing goes on.
const COLD_WAITED_MAX: usize = (MANY_FOLDERS - WARM_FOLDERS) * FILES / 3;
/// Of so many of them all is in memory when the reader begins.
const WARM_FOLDERS: usize = 66;
const FILES: usize = 100;

/// Reads all files of the directories in the last argument, as the file system lists them. Rests
/// now and then, so that foresee has heard by then what was told.
const READER: &str = r"
import os, sys, time
rests = int(sys.argv[1])
count = 0
for folder in os.scandir(sys.argv[2]):
    for file in os.scandir(folder.path):
        with open(file.path, 'rb') as file:
            file.read()
        count += 1
        if count % 500 == 0 and count <= rests:
            time.sleep(0.1)
";

/// Looks at the names of all of them, as `du` does, and rests likewise.
const LOOKER: &str = r"
import os, sys, time
rests = int(sys.argv[1])
count = 0
for folder in os.listdir(sys.argv[2]):
    for file in os.listdir(f'{sys.argv[2]}/{folder}'):
        os.stat(f'{sys.argv[2]}/{folder}/{file}')
        count += 1
        if count % 500 == 0 and count <= rests:
            time.sleep(0.1)
";

/// The interpreter itself. Where versions of it are managed, what goes by its name is a script that runs forty
/// programs before it, and these wait for each other.
fn python3() -> PathBuf {
    let said = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
    PathBuf::from(String::from_utf8(said.stdout).unwrap().trim_end())
}

fn write(place: &Place, folders: usize) {
    for folder in 0..folders {
        for file in 0..FILES {
            place.write(format!("tree/{folder}/{file}"), vec![file as u8; 4096]);
        }
    }
}

/// Words that read the tree under a name that foresee knows, with so many files before it rests no
/// more.
fn words(place: &Place, rests: usize, tree: &str) -> Vec<String> {
    // To foresee it is ag, which walks: `rests` is its pattern.
    words_of(place, "bin/ag", READER, rests, tree)
}

/// The same that look at its names; to foresee they are of du, of which `rests` is a file.
fn looking_words(place: &Place, rests: usize, tree: &str) -> Vec<String> {
    words_of(place, "bin/du", LOOKER, rests, tree)
}

fn words_of(place: &Place, name: &str, program: &str, rests: usize, tree: &str) -> Vec<String> {
    use std::os::unix::fs::PermissionsExt;
    let program = place.write(name, format!("#!{}{program}", python3().display()));
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    [program.to_str().unwrap(), &rests.to_string(), tree].map(str::to_owned).to_vec()
}

/// Reads of whole blocks that the manager was told of.
fn told(log: &Path) -> usize {
    events(log, "reference")
}

/// Events of this kind in a log.
fn events(log: &Path, kind: &str) -> usize {
    let log = fs::read_to_string(log).unwrap();
    log.lines().filter(|line| line.split(' ').nth(1) == Some(kind)).count()
}

/// One after the other: some of them keep the processors busy, and who waits for one may have waited
/// for a device.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn a_warm_run_tells_a_part_and_keeps_the_profile_of_the_whole() {
    let _alone = alone();
    if have("python3") {
        in_time(a_warm_run);
    }
}

fn a_warm_run() {
    let place = Place::new();
    write(&place, FOLDERS);
    // There the kernel does not say at once what is in memory, and what is foretold is fetched.
    if end(place.plain(&["stat", "-f", "-c", "%T", "."]), b"").with(0).out().trim() == "overlayfs" {
        eprintln!("skipped: the files lie on overlayfs");
        return;
    }
    let log = place.aside("log");
    let words = words(&place, FOLDERS * FILES, "tree");
    let run = |options: &[&str]| {
        let options: Vec<&str> = options.iter().copied().chain(["--log", log.to_str().unwrap()]).collect();
        let (ended, account) = place.account(&options, &words);
        ended.with(0);
        (told(&log), account["reads"].as_u64().unwrap() as usize, account["profile_steps"].as_u64())
    };
    let all = FOLDERS * FILES;
    let (told_first, reads, _) = run(&["--no-words"]);
    assert!(told_first >= all && reads >= all, "of a run that is not known yet all is told: {told_first} of {reads}");
    place.forget_findings();
    let (told_second, reads, steps) = run(&["--no-words"]);
    let log_second = fs::read_to_string(&log).unwrap();
    assert!(log_second.contains("cancel reader=0 source=profile"), "what was foretold is withdrawn when nobody waits");
    // How soon nobody waits depends on how often a look-up of ours had to wait for a processor.
    let is_part = |told: usize, reads: usize| told < reads / 4 * 3 && reads >= all;
    assert!(is_part(told_second, reads), "{told_second} of {reads}");
    let (_, _, steps_after) = run(&["--no-words"]);
    assert!(steps.unwrap() >= all as u64 && steps_after == steps, "{steps:?}, {steps_after:?}");
    let (told, reads, _) = run(&["--no-learn"]);
    assert!(is_part(told, reads), "{told} of {reads}");
}

/// Far less than what makes a run quiet, of which all is in memory.
#[test]
fn where_all_was_in_memory_the_next_run_begins_quietly() {
    let _alone = alone();
    if have("python3") {
        in_time(begins_quietly);
    }
}

fn begins_quietly() {
    let place = Place::new();
    write(&place, 3);
    let log = place.aside("log");
    let words = words(&place, 0, "tree");
    let run = || {
        let (ended, account) = place.account(&["--log", log.to_str().unwrap()], &words);
        ended.with(0);
        (told(&log), place.only_profile().findings.is_in_memory(), account)
    };
    assert!(run().0 >= 3 * FILES, "of a run that is not known yet all is told");
    // Where much else runs, a run may seem to wait.
    let begins_quietly = |_| (0..10).any(|_| run().1) && run().0 < FILES;
    assert!((0..5).any(begins_quietly), "it never did: {:#?}", run());
    assert!(place.only_profile().steps.len() >= 3 * FILES, "what was recorded is kept");
}

#[test]
fn of_names_in_memory_a_part_is_told() {
    let _alone = alone();
    if have("python3") {
        in_time(names_in_memory);
    }
}

fn names_in_memory() {
    let place = Place::new();
    write(&place, FOLDERS);
    let log = place.aside("log");
    let all = FOLDERS * FILES;
    let words = looking_words(&place, all, "tree");
    let told_of = |options: &[&str]| {
        let options: Vec<&str> = options.iter().copied().chain(["--log", log.to_str().unwrap()]).collect();
        let (ended, _) = place.account(&options, &words);
        ended.with(0);
        events(&log, "named")
    };
    let told = told_of(&[]);
    assert!(told >= all, "of a run that is not known yet all is told: {told}");
    for options in [&[][..], &["--no-words"], &["--no-learn"]] {
        place.forget_findings();
        let told = told_of(options);
        assert!(told < all, "{options:?}: {told} of {all}");
    }
}

/// A read that another program's turn comes in takes as long as one that waits for a disk.
#[test]
fn who_loses_the_processor_did_not_wait() {
    let _alone = alone();
    if have("python3") {
        in_time(loses_the_processor);
    }
}

fn loses_the_processor() {
    let place = Place::new();
    write(&place, FOLDERS);
    let log = place.aside("log");
    let words = words(&place, 0, "tree");
    let over = AtomicBool::new(false);
    let account = thread::scope(|scope| {
        for _ in 0..2 * thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while !over.load(Relaxed) {
                    spin_loop();
                }
            });
        }
        let (ended, account) = place.account(&["--no-learn", "--log", log.to_str().unwrap()], &words);
        over.store(true, Relaxed);
        ended.with(0);
        account
    });
    assert!(told(&log) < FOLDERS * FILES, "{account:#}");
}

/// Has a run find two thirds of the tree in memory and wait for the rest, with these options. Returns
/// for how many reads it waited, and its account. Where much else runs, a program that rests may wait for a processor again
/// and again, and all of it be told.
fn one_third_cold(device: &Device, options: &[&str]) -> (usize, Value) {
    device.tell("network latency=1ms jitter=0% servers=0");
    let tree = device.mount.join("tree");
    let log = device.place.aside("log");
    let words = words(&device.place, WARM_FOLDERS * FILES, tree.to_str().unwrap());
    let empty = device.place.path("empty");
    fs::create_dir_all(&empty).unwrap();
    let itself = self::words(&device.place, 0, empty.to_str().unwrap());
    let options: Vec<&str> = options.iter().copied().chain(["--no-listings", "--log", log.to_str().unwrap()]).collect();
    device.make_cold();
    for folder in fs::read_dir(&tree).unwrap().take(WARM_FOLDERS) {
        for file in fs::read_dir(folder.unwrap().path()).unwrap() {
            fs::read(file.unwrap().path()).unwrap();
        }
    }
    // What the reader itself consists of is in memory as well: else all that is disclosed is due at
    // once.
    end(device.place.plain(&itself), b"").with(0);
    let (ended, account) = device.place.account(&options, &words);
    ended.with(0);
    assert!(told(&log) < MANY_FOLDERS * FILES, "all was told");
    let log = fs::read_to_string(log).unwrap();
    (log.lines().filter(|line| line.contains("=waited@")).count(), account)
}

#[test]
fn a_walk_goes_on_where_the_program_is_when_it_waits_again() {
    let _alone = alone();
    in_time(|| {
        if !have("python3") {
            return;
        }
        let Some(device) = Device::new(|place| write(place, MANY_FOLDERS), "cp -r tree $SLOWDISK_MOUNT") else {
            return;
        };
        let (waited, account) = one_third_cold(&device, &["--no-learn"]);
        assert!(waited < COLD_WAITED_MAX, "{waited}: {account:#}");
    });
}

#[test]
fn a_profile_goes_on_where_the_program_is_when_it_waits_again() {
    let _alone = alone();
    in_time(|| {
        if !have("python3") {
            return;
        }
        let Some(device) = Device::new(|place| write(place, MANY_FOLDERS), "cp -r tree $SLOWDISK_MOUNT") else {
            return;
        };
        let tree = device.mount.join("tree");
        let words = words(&device.place, WARM_FOLDERS * FILES, tree.to_str().unwrap());
        device.make_cold();
        device.place.account(&["--no-words", "--no-listings"], &words).0.with(0);
        let (waited, account) = one_third_cold(&device, &["--no-words"]);
        assert!(waited < COLD_WAITED_MAX, "{waited}: {account:#}");
    });
}
