//! Under limits that leave too little for the program and foresee, the program has all of it.

mod support;

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use support::{Device, Place, end, have, in_time, is_root, wait_until};

#[test]
fn under_limits_that_are_too_low_for_us_the_command_runs() {
    let place = Place::new();
    let foresee = support::binary().display();
    for limit in ["-f 4096", "-f 6400", "-n 4", "-n 6", "-v 200000", "-s 128"] {
        for options in ["", "-q", "--report", "--json ../account"] {
            let script = format!("ulimit {limit}; exec {foresee} run {options} -- sh -c 'echo ran; exit 3'");
            let ended = end(place.plain(&["bash", "-c", &script]), b"").with(3);
            assert_eq!(ended.out(), "ran\n", "{limit} {options}");
            let said = if options == "-q" { 0 } else { 1 };
            assert_eq!(ended.err().matches("runs without foresee: ").count(), said, "{limit} {options}: {ended:?}");
            assert_eq!(ended.err().lines().count(), said, "{limit} {options}: {ended:?}");
            let named = format!("(ulimit {}) are too few", &limit[..2]);
            assert_eq!(ended.err().matches(&named).count(), said, "{limit} {options}: {ended:?}");
        }
        let account: serde_json::Value = serde_json::from_slice(&fs::read(place.aside("account")).unwrap()).unwrap();
        assert_eq!((&account["watched"], &account["status"]), (&false.into(), &serde_json::Value::Null));
        assert_eq!(account["warnings"].as_array().unwrap().len(), 1);
    }
    // What cannot run is told once, and by the same status.
    let script = format!("ulimit -n 5; exec {foresee} run -q -- ./missing");
    let ended = end(place.plain(&["bash", "-c", &script]), b"").with(127);
    assert_eq!(ended.err().lines().count(), 1, "{ended:?}");
    place.assert_nothing_left();
}

#[test]
fn where_foresee_was_not_there_one_reason_is_told() {
    let place = Place::new();
    let foresee = support::binary().display();
    let script = format!("ulimit -d 1000; exec {foresee} run --report -- sh -c 'echo ran; exit 3'");
    let ended = end(place.plain(&["bash", "-c", &script]), b"").with(3);
    assert_eq!(ended.out(), "ran\n");
    assert!(ended.err().contains("without foresee: "), "{ended:?}");
    assert!(!ended.err().contains("could not be watched"), "{ended:?}");
}

/// A control group of its own, which goes when it is empty.
struct Group(PathBuf);

impl Drop for Group {
    fn drop(&mut self) {
        wait_until("the group is empty", || fs::remove_dir(&self.0).is_ok());
    }
}

/// A control group of this controller whose file, by its name in either version of control groups, says so
/// much; where one can be made, and is where processes are told it is.
fn group_of(controller: &str, [first, second]: [&str; 2], limit: u64) -> Option<Group> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let key = format!(":{controller}:");
    let path = own.lines().find_map(|line| line.split_once(&key)).map_or("/", |(_, path)| path);
    let of_first = Path::new("/sys/fs/cgroup").join(controller);
    if of_first.exists() && !of_first.join(&path[1..]).exists() {
        return None;
    }
    [(of_first.as_path(), first), (Path::new("/sys/fs/cgroup"), second)].into_iter().find_map(|(root, file)| {
        let group = root.join(format!("foresee-test-{}", std::process::id()));
        fs::create_dir(&group).ok()?;
        let limited = File::options().write(true).open(group.join(file));
        if limited.and_then(|mut file| file.write_all(limit.to_string().as_bytes())).is_err() {
            fs::remove_dir(&group).unwrap();
            return None;
        }
        Some(Group(group))
    })
}

#[test]
fn in_a_group_of_too_little_memory_for_us_the_command_runs() {
    let Some(group) = group_of("memory", ["memory.limit_in_bytes", "memory.max"], 16 << 20) else {
        return eprintln!("skipped: no control group of memory can be made");
    };
    let place = Place::new();
    let run = format!("exec {} sh -c 'echo ran; exit 3'", place.foresee_word());
    let script = format!("echo $$ >{}/cgroup.procs; {run}", group.0.display());
    let ended = end(place.plain(&["sh", "-c", &script]), b"").with(3);
    assert_eq!((ended.out().as_str(), ended.err().lines().count()), ("ran\n", 1), "{ended:?}");
    assert!(ended.err().contains("runs without foresee: 16777216 bytes of memory"), "{ended:?}");
    place.wait_for_all();
}

#[test]
fn in_a_group_of_too_few_processes_for_us_the_command_runs() {
    let Some(group) = group_of("pids", ["pids.max"; 2], 40) else {
        return eprintln!("skipped: no control group of processes can be made");
    };
    let place = Place::new();
    let run = format!("exec {} sh -c '/bin/echo ran; exit 3'", place.foresee_word());
    let script = format!("echo $$ >{}/cgroup.procs; {run}", group.0.display());
    let ended = end(place.plain(&["sh", "-c", &script]), b"").with(3);
    assert_eq!((ended.out().as_str(), ended.err().lines().count()), ("ran\n", 1), "{ended:?}");
    assert!(ended.err().contains("runs without foresee: 39 processes more (ulimit -u, or pids.max"), "{ended:?}");
    place.wait_for_all();
}

/// `foresee run OPTIONS -- WORDS` of a user who has no others and may have so many processes: root's are not
/// limited. None where we cannot act as another user.
fn with_processes(place: &Place, limit: u32, options: &[&str], words: &[&str]) -> Option<Command> {
    if !is_root() || !have("setpriv") || !have("prlimit") {
        return None;
    }
    static USERS: AtomicU32 = AtomicU32::new(0);
    let user = (1 << 20) + 64 * std::process::id() + USERS.fetch_add(1, Relaxed);
    // Who is not root must be able to execute it.
    let bin = place.aside("bin");
    fs::create_dir_all(&bin).unwrap();
    for file in [support::binary().to_owned(), support::binary().with_file_name("libforesee_preload.so")] {
        fs::copy(&file, bin.join(file.file_name().unwrap())).unwrap();
    }
    let mut command = place.plain(&["setpriv", "--clear-groups"]);
    command
        .arg(format!("--reuid={user}"))
        .arg(format!("--regid={user}"))
        .arg("prlimit")
        .arg(format!("--nproc={limit}"))
        .arg(bin.join("foresee"));
    command.arg("run").args(options).arg("--").args(words);
    Some(command)
}

#[test]
fn with_too_few_processes_for_us_the_command_runs() {
    let limits = [1, 2, 3, 4, 5, 30, 60].into_iter();
    for (limit, options) in limits.flat_map(|limit| [(limit, &[][..]), (limit, &["--join", "few"])]) {
        let place = Place::new();
        let words = if limit == 1 { vec!["echo", "ran"] } else { vec!["sh", "-c", "/bin/echo ran; exit 0"] };
        let Some(command) = with_processes(&place, limit, options, &words) else { return };
        let ended = end(command, b"").with(0);
        assert_eq!((ended.out().as_str(), ended.err().lines().count()), ("ran\n", 1), "{limit} {options:?}: {ended:?}");
        let why = format!("runs without foresee: {} processes more (ulimit -u", limit - 1);
        assert!(ended.err().contains(&why), "{options:?}: {ended:?}");
    }
}

/// Reads files of a tree, as a program that is known to walk one, and then starts as many processes as it may.
const STARTER: &str = r"
import os, sys
for folder, _, files in os.walk(sys.argv[2]):
    for file in files:
        open(f'{folder}/{file}', 'rb').read()
started = []
try:
    while len(started) < 200:
        started.append(os.fork())
        if started[-1] == 0:
            os.read(0, 1)
            os._exit(0)
except BlockingIOError:
    pass
for child in started:
    os.kill(child, 9)
    os.waitpid(child, 0)
print(len(started))
";

/// Where names take long, as many threads look them up as may.
#[test]
fn what_waits_for_storage_leaves_processes_to_the_program() {
    in_time(|| {
        let prepare = |place: &Place| {
            (0..20).for_each(|folder| (0..40).for_each(|file| _ = place.write(format!("tree/{folder}/{file}"), "x")));
        };
        let Some(device) = have("python3").then(|| Device::new(prepare, "cp -r tree $SLOWDISK_MOUNT")).flatten() else {
            return;
        };
        let place = &device.place;
        let starter = place.write("bin/ag", format!("#!/usr/bin/python3\n{STARTER}"));
        fs::set_permissions(&starter, fs::Permissions::from_mode(0o755)).unwrap();
        let tree = device.mount.join("tree");
        let options = ["--no-learn"];
        let words = [starter.to_str().unwrap(), "x", tree.to_str().unwrap()];
        let Some(command) = with_processes(place, 100, &options, &words) else { return };
        device.tell("network latency=2ms jitter=0% servers=0");
        device.make_cold();
        let ended = end(command, b"").with(0);
        let started: usize = ended.out().trim().parse().unwrap();
        // Of a hundred the program itself is one, two accompany it, and an eighth may help.
        assert!((80..=97).contains(&started) && ended.err().is_empty(), "{ended:?}");
    });
}
