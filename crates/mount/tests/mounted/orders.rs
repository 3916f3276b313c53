//! Several threads that write at offsets have what they write come in no order: what was not
//! written yet is waited for, and what was sent is not written once more.

use std::ffi::CString;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;

use foresee_object_server::Server;

use crate::bytes::bytes;
use crate::model::close;
use crate::place::{Mounted, can_mount, server};
use crate::random::Random;
use crate::writes::get;

const MIB: u64 = 1 << 20;
/// So far from the end so far anything is written once more.
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

/// All of so many bytes, and, where none is so far from the end, some of them twice.
fn shuffled(random: &mut Random, size: u64, within: u64) -> Vec<(u64, u64)> {
    let mut cuts: Vec<_> = (0..size / MIB).map(|_| random.below(size)).chain([0, size]).collect();
    cuts.sort_unstable();
    let mut left: Vec<_> = cuts.windows(2).map(|it| (it[0], it[1] - it[0])).collect();
    let mut parts = Vec::new();
    while let Some(&(first, _)) = left.first() {
        let count = left.iter().take_while(|(at, size)| at + size <= first + within).count();
        let at = random.below(count.max(1) as u64) as usize;
        let again = random.below(4) == 0 && at > 0 && within <= WITHIN;
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
        for seed in 0..6 {
            let (server, mounted) = (&server, &mounted);
            scope.spawn(move || {
                let mut random = Random(seed);
                let (name, size) = (format!("of-{seed}"), 20 * MIB + random.below(20 * MIB));
                let parts = shuffled(&mut random, size, if seed % 2 == 0 { WITHIN } else { size });
                write(mounted, server, &name, &bytes(&name, 1, size), &parts);
            });
        }
    });
}

#[test]
fn what_is_written_much_later_is_waited_for() {
    if !can_mount() {
        return;
    }
    let server = server();
    let mounted = Mounted::bucket(&server, &[]);
    let all = bytes("late", 1, 70 * MIB);
    // The first before anything was sent, the second when some was, the third when it is closed.
    let late = [MIB, 31 * MIB, 69 * MIB];
    let in_time = |&(at, _): &(u64, u64)| !late.contains(&at);
    let mut parts: Vec<_> = (0..70).map(|at| (at * MIB, MIB)).filter(in_time).collect();
    parts.insert(29, (late[0], MIB));
    parts.insert(60, (late[1], MIB));
    parts.push((late[2], MIB));
    write(&mounted, &server, "late", &all, &parts);
    // What is whole by now is written once more before any of it was sent.
    let again = [(MIB, 69 * MIB), (0, MIB), (2 * MIB, MIB), (5 * MIB, MIB)];
    write(&mounted, &server, "again", &all, &again);
    // All of it backwards: nothing goes before its end.
    let backwards: Vec<_> = (0..70).rev().map(|at| (at * MIB, MIB)).collect();
    write(&mounted, &server, "backwards", &all, &backwards);
}

#[test]
fn what_nobody_writes_is_zeros() {
    if !can_mount() {
        return;
    }
    let server = server();
    let mounted = Mounted::bucket(&server, &[]);
    let mut all = bytes("holes", 1, 40 * MIB);
    all[3 * MIB as usize..5 * MIB as usize].fill(0);
    write(&mounted, &server, "holes", &all, &[(0, 3 * MIB), (5 * MIB, 35 * MIB)]);
}

#[test]
fn what_was_sent_is_not_written_any_more() {
    if !can_mount() {
        return;
    }
    let server = server();
    let mounted = Mounted::bucket(&server, &[]);
    server.put("/b/sent", *b"good");
    let all = bytes("sent", 1, 32 * MIB);
    let refused = |done: std::io::Result<()>, what: &str| {
        assert_eq!(done.unwrap_err().raw_os_error(), Some(libc::EOPNOTSUPP), "{what}");
    };
    for offset in [0, 3 * MIB, 8 * MIB, 40 << 30] {
        let file = File::create(mounted.path("sent")).unwrap();
        file.write_all_at(&all, 0).unwrap();
        refused(file.write_all_at(b"late", offset), &format!("at {offset}"));
        // Without these bytes it takes the place of nothing.
        refused(file.write_all_at(b"more", 32 * MIB), "written further");
        refused(file.sync_all(), "synced");
        refused(close(file), "closed");
        assert_eq!(get(&server, "sent").unwrap(), b"good");
    }
    assert_eq!(server.unfinished(), 0);
    let last = (24 * MIB, MIB);
    write(&mounted, &server, "sent", &all, &[(0, 32 * MIB), last, (31 * MIB, MIB), last]);
}

#[test]
fn what_cannot_be_cut_is_not_put() {
    if !can_mount() {
        return;
    }
    let server = server();
    let mounted = Mounted::bucket(&server, &[]);
    server.put("/b/cut", *b"good");
    let refused = |done: std::io::Result<()>| assert_eq!(done.unwrap_err().raw_os_error(), Some(libc::EOPNOTSUPP));
    for (size, end) in [(9 * MIB, 100), (32 * MIB, 31 * MIB)] {
        let file = File::create(mounted.path("cut")).unwrap();
        file.write_all_at(&bytes("cut", 1, size), 0).unwrap();
        refused(file.set_len(end));
        refused(file.write_all_at(b"more", size));
        refused(file.sync_all());
        refused(close(file));
        assert_eq!(get(&server, "cut").unwrap(), b"good", "{size} to {end}");
    }
    // What cannot be made so long has all that was written.
    let file = File::create(mounted.path("cut")).unwrap();
    let all = bytes("cut", 2, 9 * MIB);
    file.write_all_at(&all, 0).unwrap();
    refused(file.set_len(2 << 30));
    close(file).unwrap();
    assert!(get(&server, "cut").unwrap() == all);
    assert_eq!(server.unfinished(), 0);
}

#[test]
fn what_another_may_not_cut_is_written_on() {
    if !can_mount() {
        return;
    }
    let server = server();
    let mounted = Mounted::bucket(&server, &[]);
    let refused = |done: std::io::Result<()>| assert_eq!(done.unwrap_err().raw_os_error(), Some(libc::EOPNOTSUPP));
    let all = bytes("on", 1, 33 * MIB);
    let path = mounted.path("on");
    let name = CString::new(path.as_os_str().as_bytes()).unwrap();
    let file = File::create(&path).unwrap();
    for (begin, end) in [(0, 9), (9, 32), (32, 33)].map(|(begin, end)| (begin * MIB, end * MIB)) {
        file.write_all_at(&all[begin as usize..end as usize], begin).unwrap();
        // By its name alone.
        // SAFETY: the name ends with a zero byte.
        let done = unsafe { libc::truncate(name.as_ptr(), end as libc::off_t - 1) };
        assert_eq!(done, -1);
        refused(Err(std::io::Error::last_os_error()));
    }
    close(file).unwrap();
    assert!(get(&server, "on").unwrap() == all);
    // What has no name goes nowhere, cut or not.
    let file = File::create(&path).unwrap();
    file.write_all_at(&all[..9 << 20], 0).unwrap();
    std::fs::remove_file(&path).unwrap();
    refused(file.set_len(100));
    file.write_all_at(b"more", 9 * MIB).unwrap();
    close(file).unwrap();
    assert_eq!((get(&server, "on"), server.unfinished()), (None, 0));
}

#[test]
fn what_was_sent_as_zeros_is_not_written_any_more() {
    if !can_mount() {
        return;
    }
    let server = server();
    server.put("/b/hole", *b"good");
    let mounted = Mounted::bucket(&server, &[]);
    let file = File::create(mounted.path("hole")).unwrap();
    file.set_len(1 << 30).unwrap();
    file.write_all_at(b"far", (1 << 30) + WITHIN).unwrap();
    let late = file.write_all_at(b"late", 0);
    assert_eq!(late.unwrap_err().raw_os_error(), Some(libc::EOPNOTSUPP));
    assert_eq!(close(file).unwrap_err().raw_os_error(), Some(libc::EOPNOTSUPP));
    assert_eq!(get(&server, "hole").unwrap(), b"good");
}
