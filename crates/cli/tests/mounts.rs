//! Mounts, and files that are removed, replaced or guarded while foresee reads ahead: nothing fails
//! that does not fail without.

mod support;

use std::fs;
use std::path::Path;

use support::{Ended, Place, Same, end, have, is_root};

/// A file system of 300 files of 9 KB, as an image.
fn image(place: &Place) -> bool {
    for file in 0..300 {
        place.write(format!("tree/s{file:03}"), support::lines_of(file, 250));
    }
    let made = have("mke2fs") && end(place.plain(&["mke2fs", "-q", "-d", "tree", "img", "16M"]), b"").how == "status 0";
    fs::create_dir_all(place.path("m")).unwrap();
    made
}

/// Whether this can be mounted in a mount namespace of its own; says so if not.
fn mounts(place: &Place, mount: &str) -> bool {
    let script = format!("unshare -m sh -c '{mount} && umount m'");
    let can = is_root() && end(place.plain(&["sh", "-c", &script]), b"").how == "status 0";
    if !can {
        eprintln!("skipped: '{mount}' is not possible here");
    }
    can
}

/// A script that runs in a mount namespace of its own; `RUN` in it is `foresee run OPTIONS --`.
fn in_namespace(place: &Place, options: &str, script: &str) -> Ended {
    let run = format!("{} run {options} --", support::binary().display());
    end(place.plain(&["unshare", "-m", "sh", "-c", &script.replace("RUN", &run)]), b"")
}

#[test]
fn what_was_read_can_be_unmounted_at_once() {
    let place = Place::new();
    let mount = "mount -o loop,ro img m";
    if !image(&place) || !mounts(&place, mount) {
        return;
    }
    let by_number = "import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(166, b\"m\", 0))";
    let by_number = format!("python3 -c \"{}\"", by_number.replace('"', "\\\""));
    let can_by_number = cfg!(target_arch = "x86_64") && have("python3");
    for turn in 0..10 {
        let unmount = if turn % 2 == 0 || !can_by_number { "umount m" } else { &by_number };
        let script = format!("{mount} && RUN sh -c 'cat m/s* | cksum; {unmount} && echo unmounted'");
        let ended = in_namespace(&place, "", &script).with(0);
        assert!(ended.out().ends_with("unmounted\n"), "{ended:?}");
    }
}

#[test]
fn one_file_system_after_the_other_at_the_same_place() {
    let place = Place::new();
    fs::create_dir_all(place.path("m")).unwrap();
    let mount = "mount -t tmpfs none m";
    if !mounts(&place, mount) {
        return;
    }
    for _ in 0..5 {
        let script = format!("for i in 1 2 3; do {mount}; echo $i > m/f; cat m/f; umount m || exit 1; done");
        let ended = in_namespace(&place, "--no-listings --no-learn", &format!("RUN sh -c '{script}'"));
        assert_eq!(ended.with(0).out(), "1\n2\n3\n");
    }
}

/// A daemon renames a file that is open when it is removed, and its directory cannot be removed
/// then.
#[test]
fn what_was_read_through_a_daemon_can_be_removed_at_once() {
    let place = Place::new();
    if !is_root() || !have("bindfs") || !Path::new("/dev/fuse").exists() {
        eprintln!("skipped: no bindfs, or not root");
        return;
    }
    for (name, kernel_cache) in [("plain", ""), ("kept", "-o kernel_cache")] {
        place.write(format!("{name}/below/f"), "x");
        fs::create_dir_all(place.path(format!("{name}/m"))).unwrap();
        let script = format!(
            "cd {name}; bindfs {kernel_cache} below m || exit 77
             RUN sh -c 'for i in 1 2 3 4 5 6 7 8; do
               mkdir m/t; for f in $(seq 50); do echo $f > m/t/$f; done
               cat m/t/* | cksum; rm -r m/t || exit 1
             done; ls -A m'; status=$?; umount m; exit $status"
        );
        let ended = in_namespace(&place, "", &script);
        if ended.how == "status 77" {
            eprintln!("skipped: bindfs does not mount here");
            return;
        }
        assert!(ended.clone().with(0).out().ends_with("f\n"), "{ended:?}");
    }
}

/// Kernels before 6.8 do not number mounts; then each run asks.
#[test]
fn what_was_found_of_a_mount_is_remembered() {
    let place = Place::new();
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let numbers_mounts = release.split(['.', '-']).map(|it| it.parse().unwrap_or(0_u32)).take(2).ge([6, 8]);
    if !is_root() || !have("bindfs") || !Path::new("/dev/fuse").exists() || !numbers_mounts {
        eprintln!("skipped: no bindfs, not root, or Linux before 6.8");
        return;
    }
    place.write_lines(8, 100);
    fs::create_dir_all(place.path("m")).unwrap();
    // Another command each time: one that found all in memory asks nothing the next time.
    let script = "bindfs -o kernel_cache d m || exit 77
        for i in 1 2 3 4; do
            RUN sh -c 'test -e \"$1\"; sleep 0.3; cat \"$@\"; sleep 0.3' $i m/* > out$i; cp account account$i
        done; umount m";
    let ended = in_namespace(&place, "--json account", script);
    if ended.how == "status 77" {
        eprintln!("skipped: bindfs does not mount here");
        return;
    }
    ended.with(0);
    let found = |number: u32| {
        let account = fs::read(place.path(format!("account{number}"))).unwrap();
        let account: serde_json::Value = serde_json::from_slice(&account).unwrap();
        let mount = &account["mounts"][0];
        (mount["found"].as_str().unwrap().to_owned(), mount["remembered"].as_bool().unwrap())
    };
    // The first run may be over before it knows of a file that it could ask.
    let all: Vec<_> = (1..=4).map(found).skip_while(|it| it.0 == "unknown").collect();
    let ((word, remembered), later) = all.split_first().expect("no run found anything");
    assert!(!remembered && !later.is_empty(), "{all:?}");
    assert!(later.iter().all(|it| it == &(word.clone(), true)), "{all:?}");
    assert_eq!(fs::read(place.path("out1")).unwrap(), fs::read(place.path("out4")).unwrap());
}

/// Nothing is asked of such a mount before the program names something; what it has passed by then,
/// the `c`, holds nothing up.
#[test]
fn a_walk_goes_on_past_a_word_that_is_no_name() {
    let place = Place::new();
    if !is_root() || !have("bindfs") || !have("tar") || !Path::new("/dev/fuse").exists() {
        eprintln!("skipped: no bindfs, no tar, or not root");
        return;
    }
    for file in 0..200 {
        place.write(format!("d/tree/{}/{file}", file % 20), "x");
    }
    fs::create_dir_all(place.path("m")).unwrap();
    // A pipe holds a third of the archive: tar waits there, however quick the machine is, until the
    // walk had its time.
    let script = "bindfs d m || exit 77; cd m; RUN tar c tree | (sleep 1; cat) > ../out; cd ..; umount m; tar tf out | grep -c '/.*/.'";
    let account = place.path("account");
    let ended = in_namespace(&place, &format!("--no-learn --json {}", account.display()), script);
    if ended.how == "status 77" {
        eprintln!("skipped: bindfs does not mount here");
        return;
    }
    assert_eq!(ended.with(0).out(), "200\n");
    let account: serde_json::Value = serde_json::from_slice(&fs::read(account).unwrap()).unwrap();
    // More than the words themselves.
    assert!(account["manager"]["hints"].as_u64().unwrap() > 20, "{account:#}");
}

/// To open a FIFO lets its writer through.
#[test]
fn a_fifo_in_the_place_of_a_file_that_was_read_is_not_opened() {
    let place = Place::new();
    place.write_lines(2, 2000);
    place.write_blocks("big", 1024);
    let script = "cat d/f0 d/f1 | cksum; rm d/f0; mkfifo d/f0
        (exec 3> d/f0; echo through > flag) & writer=$!
        for i in 1 2 3; do cat big | cksum; done; sleep 0.5
        cat flag 2>/dev/null; kill $writer; wait; rm d/f0";
    let ended = end(place.run(&["--memory", "1MiB"], &["sh", "-c", script]), b"").with(0);
    assert!(!ended.out().contains("through"), "its writer found a reader: {ended:?}");
}

/// To open a file breaks a lease on it, and the signal that tells so ends who holds it.
#[test]
fn leases_hold() {
    let place = Place::new();
    place.write_blocks("big", 1024);
    let script = r#"
import fcntl, os, time
held = []
for i in range(50):
    name = "leased%02d" % i
    with open(name, "wb") as file:
        file.write(b"x" * 50000)
    with open(name, "rb") as file:
        file.read()
    file = open(name, "r+b")
    try:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except OSError:
        continue
    held.append(file)
for i in range(3):
    with open("big", "rb") as file:
        while file.read(65536):
            pass
time.sleep(0.3)
print(all(fcntl.fcntl(file, fcntl.F_GETLEASE) == fcntl.F_WRLCK for file in held))
"#;
    Same::new(&place, &["python3", "-c", script]).check().with(0);
    let ended = end(place.run(&["--memory", "1MiB"], &["python3", "-c", script]), b"").with(0);
    assert_eq!(ended.out(), "True\n");
}

/// What a name means in another mount namespace is not what it means here.
#[test]
fn names_of_another_mount_namespace_are_not_opened_here() {
    let place = Place::new();
    if !image(&place) || !mounts(&place, "mount -o loop,ro img m") {
        return;
    }
    // Outside, these names are FIFOs: whoever opens one lets its writer through.
    let names: Vec<String> = (0..300).map(|file| format!("m/s{file:03}")).collect();
    end(place.plain(&[&["mkfifo".to_owned()][..], &names].concat()), b"").with(0);
    let script = "exec 3> m/s299; echo through > flag";
    let mut writer = place.plain(&["sh", "-c", script]).spawn().unwrap();
    for _ in 0..2 {
        let script = "mount -o loop,ro img m && cat m/s* | cksum && umount m";
        end(place.run(&["--memory", "1MiB"], &["unshare", "-m", "sh", "-c", script]), b"").with(0);
    }
    assert!(!place.path("flag").exists(), "a writer outside found a reader");
    writer.kill().unwrap();
    writer.wait().unwrap();
}
