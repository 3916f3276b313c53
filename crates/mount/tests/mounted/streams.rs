//! Who reads at random disturbs nobody who reads in order: as much is read ahead for him, and
//! nothing of it in vain. What one mount keeps on its disk another one reads.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use crate::bytes::bytes;
use crate::place::{Mounted, Place, can_mount, server};
use crate::random::Random;
use foresee_object_server::Server;

/// Each more than memory holds.
const SIZE: u64 = 24 << 20;
const PIECE: usize = 64 << 10;
/// The cache's.
const BLOCK: u64 = 16 << 10;
/// Of the other one is read for each so many pieces of the stream.
const PIECES_EACH: usize = 4;

/// Past the kernel's page cache: what is read ahead is the mount's own.
fn opened(mounted: &Mounted, name: &str) -> File {
    OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(mounted.path(name)).unwrap()
}

/// Reads all of it in order, and tells how far it is: who listens falls behind by no more than a read.
fn stream(file: &File, expected: &[u8], progress: &SyncSender<()>) {
    let mut found = vec![0; PIECE];
    for (at, expected) in expected.chunks(PIECE).enumerate() {
        if at % PIECES_EACH == 0 {
            // Who does not listen does not read.
            let _ = progress.send(());
        }
        file.read_exact_at(&mut found, (at * PIECE) as u64).unwrap();
        assert!(found == expected, "piece {at}");
    }
}

/// Reads one block here and one there, as the stream goes on. Returns how many.
fn at_random(file: &File, expected: &[u8], progress: &Receiver<()>) -> u64 {
    let (mut random, mut found, mut count) = (Random(7), vec![0; BLOCK as usize], 0);
    for () in progress {
        let at = random.below(SIZE / BLOCK) * BLOCK;
        file.read_exact_at(&mut found, at).unwrap();
        assert!(found == expected[at as usize..][..found.len()], "{at}");
        count += 1;
    }
    count
}

/// The requests for an object, and the bytes that they were for.
fn brought(server: &Server, name: &str) -> (u64, u64) {
    let lines = server.asked();
    let ranges = lines.iter().filter_map(|line| line.strip_prefix(&format!("GET /b/{name} "))?.split_once('='));
    ranges.fold((0, 0), |(requests, bytes), (_, range)| {
        let (first, last) = range.split_once('-').unwrap();
        (requests + 1, bytes + last.parse::<u64>().unwrap() + 1 - first.parse::<u64>().unwrap())
    })
}

/// What a stream came to, and what was read at random beside it.
#[derive(Debug)]
struct Came {
    /// For the stream's object.
    requests: u64,
    bytes: u64,
    /// Blocks that were read at random.
    blocks: u64,
}

/// A stream, while somebody reads at random in the object of this name, if there is one.
fn beside(random: Option<&str>) -> Came {
    let server = server();
    let all: Vec<_> = ["a", "b"].iter().map(|name| bytes(name, 1, SIZE)).collect();
    server.put("/b/a", all[0].clone());
    server.put("/b/b", all[1].clone());
    let mounted = Mounted::bucket(&server, &["--memory", "16M"]);
    let (progress, of_stream) = sync_channel(0);
    let blocks = thread::scope(|scope| {
        let other = random.map(|name| {
            let (file, expected) = (opened(&mounted, name), &all[usize::from(name == "b")]);
            scope.spawn(move || at_random(&file, expected, &of_stream))
        });
        stream(&opened(&mounted, "a"), &all[0], &progress);
        drop(progress);
        other.map_or(0, |it| it.join().unwrap())
    });
    let (requests, bytes) = brought(&server, "a");
    Came { requests, bytes, blocks }
}

#[test]
fn a_stream_is_read_ahead_whoever_reads_at_random_beside_it() {
    if !can_mount() {
        return;
    }
    let (alone, apart, same) = (beside(None), beside(Some("b")), beside(Some("a")));
    eprintln!("{alone:?}, beside a reader of another file {apart:?}, of the same {same:?}");
    // A stream that is not read ahead takes a request for each of its 384 pieces, and one whose blocks
    // are given up too soon takes them twice.
    assert!(alone.bytes == SIZE && alone.requests <= 60, "{alone:?}");
    assert!(apart.requests <= 90 && apart.bytes <= SIZE + SIZE / 50, "{apart:?}");
    // What was read at random takes a request each, and parts what is read ahead in two.
    assert!(same.requests <= 90 + 2 * same.blocks, "{same:?}");
    assert!(same.bytes <= SIZE + SIZE / 25, "{same:?}");
}

#[test]
fn two_mounts_share_a_disk() {
    if !can_mount() {
        return;
    }
    let (server, place) = (server(), Place::new());
    let all = bytes("a", 1, SIZE);
    server.put("/b/a", all.clone());
    // A store as near as the test's own is seldom slower than a disk.
    server.answer_after(Duration::from_millis(20));
    let disk = format!("{}:64MiB", place.path("disk").display());
    let mount = || Mounted::bucket(&server, &["--memory", "8M", "--disk", &disk]);
    let (progress, _) = sync_channel(0);
    let read = |mounted: &Mounted| {
        let (_, before) = brought(&server, "a");
        stream(&opened(mounted, "a"), &all, &progress);
        brought(&server, "a").1 - before
    };
    let first = mount();
    // What is read a second time is kept.
    assert!((0..20).any(|_| read(&first) <= SIZE / 4), "nothing is kept");
    let second = mount();
    let came = read(&second);
    assert!(came <= SIZE / 2, "{came} bytes came from the store");
}
