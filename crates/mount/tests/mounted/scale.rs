//! Much at once: long directories, many open files, many readers. The larger ones take half a
//! minute each: `cargo test -- --ignored`.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::thread;
use std::time::{Duration, Instant};

use crate::bytes::bytes;
use crate::place::{Mounted, Place, can_mount, server};
use crate::process::wait_until;

/// What it may take beside `--memory` and stacks, in MiB: docs/mount.md says of what it consists.
const BESIDE_MIB: u64 = 28;
/// Threads that there may be, idle ones among them, and what the stack of one takes where nothing is
/// optimised: ten times of what it takes in use.
const THREADS_MAX: u64 = 320;
const STACK_KIB: u64 = 200;

/// What the kernel says of the daemon, a number: KiB where it is memory.
fn status(mounted: &Mounted, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", mounted.daemon.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Fails if the daemon ever had more memory than `mib` and what it takes beside.
fn assert_bounded(mounted: &Mounted, mib: u64, what: &str) {
    let (most, threads) = (status(mounted, "VmHWM:") >> 10, status(mounted, "Threads:"));
    eprintln!("{what}: {most} MiB at most, {threads} threads");
    assert!(threads <= THREADS_MAX, "{threads} threads");
    assert!(most <= mib + BESIDE_MIB + ((threads * STACK_KIB) >> 10), "{most} MiB, {threads} threads");
}

/// Readers of files that are all open.
fn read_all(files: usize, readers: usize) {
    if !can_mount() {
        return;
    }
    const SIZE: u64 = 200_000;
    let server = server();
    let names: Vec<_> = (0..files).map(|at| format!("d/{at:04}")).collect();
    names.iter().for_each(|name| server.put(&format!("/b/{name}"), bytes(name, 1, SIZE)));
    let mounted = Mounted::bucket(&server, &["--memory", "16M"]);
    let open: Vec<_> = names.iter().map(|name| File::open(mounted.path(name)).unwrap()).collect();
    thread::scope(|scope| {
        for reader in 0..readers {
            let (open, names) = (&open, &names);
            scope.spawn(move || {
                for at in (reader..names.len()).step_by(readers) {
                    let mut found = vec![0; SIZE as usize];
                    open[at].read_exact_at(&mut found, 0).unwrap();
                    assert!(found == bytes(&names[at], 1, SIZE));
                }
            });
        }
    });
    assert_bounded(&mounted, 16, &format!("{files} files, {readers} readers"));
}

#[test]
fn memory_is_bounded_however_much_is_open() {
    read_all(600, 32);
}

#[test]
#[ignore = "half a minute"]
fn memory_is_bounded_with_1000_files_and_64_readers() {
    read_all(1000, 64);
}

/// What is written may take as much beside `--memory`: a fixed part of that, which is 56 MiB at
/// least, and one upload more.
const WRITTEN_MIB: u64 = 56 + 40;

#[test]
fn memory_is_bounded_however_many_files_are_written() {
    if !can_mount() {
        return;
    }
    const WRITERS: u64 = 24;
    let server = server();
    let mounted = Mounted::bucket(&server, &["--memory", "16M"]);
    // Shorter and longer than what goes to the store in parts, all of them open until all are written.
    let names: Vec<_> = (0..WRITERS).map(|at| (format!("d{at}"), (6 + 6 * (at % 3)) << 20)).collect();
    let open: Vec<_> = names.iter().map(|(name, _)| File::create(mounted.path(name)).unwrap()).collect();
    thread::scope(|scope| {
        for (file, (name, size)) in open.iter().zip(&names) {
            scope.spawn(move || {
                let mut file: &File = file;
                file.write_all(&bytes(name, 1, *size)).unwrap();
            });
        }
    });
    thread::scope(|scope| open.iter().for_each(|file| _ = scope.spawn(|| file.sync_all().unwrap())));
    for (name, size) in &names {
        assert!(server.get(&format!("/b/{name}")).unwrap()[..] == bytes(name, 1, *size), "{name}");
    }
    assert_bounded(&mounted, 16 + WRITTEN_MIB, &format!("{WRITERS} files written"));
}

/// A directory of so many names, by pages alone, of a server whose answers take as long as those of
/// one that is far away.
fn list(names: usize) {
    if !can_mount() {
        return;
    }
    let server = server();
    (0..names).for_each(|at| server.put(&format!("/b/d/{at:06}"), vec![b'x'; at % 7]));
    let mounted = Mounted::bucket(&server, &[]);
    server.answer_after(Duration::from_millis(20));
    let (before, begun) = (server.asked().len(), Instant::now());
    let mut lengths = 0;
    for entry in fs::read_dir(mounted.path("d")).unwrap().map(|it| it.unwrap()) {
        lengths += entry.metadata().unwrap().len();
    }
    assert_eq!(lengths, (0..names as u64).map(|at| at % 7).sum());
    // One for a name in it.
    let pages = names.div_ceil(1000);
    let took = begun.elapsed();
    let asked = server.asked().split_off(before);
    // Nothing of any of them by itself.
    let lists = asked.iter().filter(|line| line.starts_with("GET /b?") && line.contains("list-type=2")).count();
    assert!(lists == asked.len() && lists <= pages + 1, "{lists} lists among {asked:?}");
    eprintln!("{names} names: {lists} requests, {took:?}, {} MiB at most", status(&mounted, "VmHWM:") >> 10);
}

#[test]
fn a_long_directory_is_listed_by_its_pages_alone() {
    list(10_000);
}

#[test]
#[ignore = "half a minute"]
fn a_directory_of_100_000_names_is_listed_by_its_pages_alone() {
    list(100_000);
}

/// A mount of `from` that may have so few descriptors, with a log in `log`.
fn mounted_with(place: Place, descriptors: u64) -> Mounted {
    let mut command = place.mount(&["--log", "log", "from", "at"]);
    let limit = libc::rlimit { rlim_cur: descriptors, rlim_max: descriptors };
    // SAFETY: one system call on a copy of plain data.
    unsafe {
        command.pre_exec(move || match libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    let daemon = command.spawn().unwrap();
    wait_until("the mount", || place.is_mounted());
    Mounted { at: place.path("at"), place, daemon }
}

#[test]
fn many_files_are_read_by_many_with_few_descriptors() {
    if !can_mount() {
        return;
    }
    const FILES: usize = 3000;
    const READERS: usize = 16;
    for descriptors in [64, 256] {
        let place = Place::new();
        (0..FILES).for_each(|at| drop(place.write(&format!("d/{at:04}"), at.to_string())));
        let mounted = mounted_with(place, descriptors);
        assert_eq!(fs::read_dir(mounted.path("d")).unwrap().count(), FILES);
        thread::scope(|scope| {
            for reader in 0..READERS {
                let mounted = &mounted;
                scope.spawn(move || {
                    for at in (reader..FILES).step_by(READERS) {
                        let found = fs::read_to_string(mounted.path(format!("d/{at:04}")));
                        assert_eq!(found.unwrap(), at.to_string(), "{descriptors} descriptors");
                    }
                });
            }
        });
    }
}

#[test]
fn that_there_are_no_descriptors_is_said_once() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    (0..100).for_each(|at| drop(place.write(&format!("d/{at}"), at.to_string())));
    let mounted = mounted_with(place, 64);
    let opened: Vec<_> = (0..100).map(|at| File::open(mounted.path(format!("d/{at}")))).collect();
    let (open, failed): (Vec<_>, Vec<_>) = opened.into_iter().partition(Result::is_ok);
    assert!(open.len() >= 32 && failed.len() > 1, "{} are open", open.len());
    for failed in failed {
        assert_eq!(failed.unwrap_err().raw_os_error(), Some(libc::EMFILE));
    }
    let log = fs::read_to_string(mounted.place.path("log")).unwrap();
    assert_eq!(log.lines().filter(|line| line.contains("`ulimit -n`")).count(), 1, "{log}");
    assert!(!log.contains("d/"), "{log}");
    drop(open);
    wait_until("descriptors", || File::open(mounted.path("d/99")).is_ok());
}
