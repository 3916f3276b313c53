//! Several threads that write at offsets have what they write come in no order: up to 8 MiB before
//! the end of what is there so far it is as on a disk, and what comes later is refused.

use std::fs::File;
use std::os::unix::fs::FileExt;

use foresee_object_server::Server;

use crate::bytes::bytes;
use crate::place::{Mounted, can_mount, server};
use crate::random::Random;
use crate::writes::get;

const MIB: u64 = 1 << 20;
/// So far from the end so far is written at least.
const WITHIN: u64 = 8 * MIB;

/// Writes these parts of what is to be there, one after the other, and closes it.
fn write(mounted: &Mounted, server: &Server, name: &str, all: &[u8], parts: &[(u64, u64)]) {
    let file = File::create(mounted.path(name)).unwrap();
    for &(offset, size) in parts {
        let part = &all[offset as usize..][..size as usize];
        file.write_all_at(part, offset).unwrap_or_else(|error| panic!("{name}: {size} bytes at {offset}: {error}"));
    }
    drop(file);
    assert!(get(server, name).unwrap() == all, "{name} is another");
}

#[test]
fn what_outgrows_a_part_in_another_order_is_the_same() {
    if !can_mount() {
        return;
    }
    let server = server();
    let mounted = Mounted::bucket(&server, &[]);
    let (end, small) = (8 * MIB, 64 << 10);
    let all = bytes("swapped", 1, end + 2 * small);
    write(&mounted, &server, "end", &all, &[(0, end), (end + small, small), (end, small)]);
    let all = bytes("swapped", 2, end + small);
    write(&mounted, &server, "beginning", &all, &[(small, end), (0, small)]);
}

/// All of so many bytes, some of them twice, each no further from the end so far than may be.
fn shuffled(random: &mut Random, size: u64) -> Vec<(u64, u64)> {
    let mut cuts: Vec<_> = (0..size / MIB).map(|_| random.below(size)).chain([0, size]).collect();
    cuts.sort_unstable();
    let mut left: Vec<_> = cuts.windows(2).map(|it| (it[0], it[1] - it[0])).collect();
    let mut parts = Vec::new();
    while let Some(&(first, _)) = left.first() {
        let count = left.iter().take_while(|(at, size)| at + size <= first + WITHIN).count();
        let at = random.below(count.max(1) as u64) as usize;
        let again = random.below(4) == 0 && at > 0;
        parts.push(if again { left[at] } else { left.remove(at) });
    }
    parts
}

#[test]
fn in_whatever_order_it_is_the_same() {
    if !can_mount() {
        return;
    }
    let server = server();
    // Of several at once some have no room in memory.
    let mounted = Mounted::bucket(&server, &["--memory", "16M"]);
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let (server, mounted) = (&server, &mounted);
            scope.spawn(move || {
                let mut random = Random(seed);
                let (name, size) = (format!("of-{seed}"), 20 * MIB + random.below(20 * MIB));
                let parts = shuffled(&mut random, size);
                write(mounted, server, &name, &bytes(&name, 1, size), &parts);
            });
        }
    });
}

#[test]
fn what_was_sent_is_not_written_any_more() {
    if !can_mount() {
        return;
    }
    let server = server();
    let mounted = Mounted::bucket(&server, &[]);
    let mut all = bytes("sent", 1, 32 * MIB);
    // Nobody has written this, until it was sent.
    let hole = 3 * MIB as usize..5 * MIB as usize;
    all[hole.clone()].fill(0);
    let file = File::create(mounted.path("sent")).unwrap();
    file.write_all_at(&all[..hole.start], 0).unwrap();
    file.write_all_at(&all[hole.end..], hole.end as u64).unwrap();
    for offset in [0, hole.start as u64, 8 * MIB] {
        let error = file.write_all_at(b"late", offset).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP), "at {offset}");
    }
    drop(file);
    assert!(get(&server, "sent").unwrap() == all);
}
