//! Much at once: long directories, many open files, many readers. The larger ones take half a
//! minute each: `cargo test -- --ignored`.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::{Duration, Instant};

use crate::bytes::bytes;
use crate::place::{Mounted, can_mount, server};

/// What it may take beside `--memory`, in MiB: docs/mount.md says of what it consists.
const BESIDE_MIB: u64 = 48;

/// The most memory that the daemon ever had, as the kernel counts it, in MiB.
fn most_memory(mounted: &Mounted) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", mounted.daemon.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() >> 10
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
    let most = most_memory(&mounted);
    eprintln!("{files} files, {readers} readers: {most} MiB at most");
    assert!(most <= 16 + BESIDE_MIB, "{most} MiB");
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

/// What is written may take as much beside `--memory`: a fixed part of that, which is 48 MiB at
/// least, and one upload more.
const WRITTEN_MIB: u64 = 48 + 40;

#[test]
fn memory_is_bounded_however_many_files_are_written() {
    if !can_mount() {
        return;
    }
    const WRITERS: u64 = 24;
    let server = server();
    let mounted = Mounted::bucket(&server, &["--memory", "16M"]);
    // Shorter and longer than what goes to the store in parts, all of them open until all are written.
    let names: Vec<_> = (0..WRITERS).map(|at| (format!("d{at}"), (6 + 6 * (at % 2)) << 20)).collect();
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
    let most = most_memory(&mounted);
    eprintln!("{WRITERS} files written: {most} MiB at most");
    assert!(most <= 16 + BESIDE_MIB + WRITTEN_MIB, "{most} MiB");
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
    eprintln!("{names} names: {lists} requests, {took:?}, {} MiB at most", most_memory(&mounted));
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
