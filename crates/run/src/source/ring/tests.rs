//! What programs are seen to do, record by record.

use std::path::Path;

use foresee_ring::{Advice, Class, Entry, NO_PROCESS_SLOT, OFFSET_CURRENT, Record, Stamp, Took, Unseen};

use super::room::PLACES_MAX;
use super::{Disclosure, Processes, Seen};
use crate::names::Names;

fn learn(processes: &mut Processes, names: &mut Names, pid: u32, record: Record, path: &str) -> Option<Seen> {
    let stamp = Stamp { pid, tid: pid, ticks: 0 };
    processes.learn(&Entry { stamp, record, path: path.as_bytes() }, names)
}

fn open(fd: i32, dirfd: i32, class: Class) -> Record {
    Record::Opened {
        fd,
        generation: 1,
        flags: 0,
        dirfd,
        class,
        adopted: false,
        dev: 1,
        ino: fd as u64,
        size: 9000,
        offset: 0,
        took: Took::from_ticks(0),
    }
}

fn stated() -> Record {
    Record::Stated { dirfd: libc::AT_FDCWD, ok: true, took: Took::from_ticks(0) }
}

fn read(fd: i32, got: i32) -> Record {
    let (took, asked) = (Took::from_ticks(0), 100);
    Record::Read { fd, generation: 1, offset: OFFSET_CURRENT, asked, got, took, site: 0 }
}

fn offset_of(seen: Option<Seen>) -> u64 {
    match seen {
        Some(Seen::Read(read)) => read.offset,
        other => panic!("not a read: {other:?}"),
    }
}

#[test]
fn positions_follow_reads_seeks_duplicates_and_forks() {
    let (mut processes, mut names) = (Processes::default(), Names::default());
    let (p, n) = (&mut processes, &mut names);
    learn(p, n, 1, Record::ProcessStarted { ppid: 0, slot: 0 }, "/home");
    learn(p, n, 1, open(3, libc::AT_FDCWD, Class::Directory), "dir");
    let opened = learn(p, n, 1, open(4, 3, Class::Regular), "file");
    let Some(Seen::Opened { file, .. }) = opened else { panic!("{opened:?}") };
    assert_eq!(n.path(file), Path::new("/home/dir/file"));
    assert_eq!(offset_of(learn(p, n, 1, read(4, 100), "")), 0);
    assert_eq!(offset_of(learn(p, n, 1, read(4, 50), "")), 100);
    learn(p, n, 1, Record::Duplicated { from: 4, to: 9, generation: 1 }, "");
    learn(p, n, 2, Record::Forked { parent: 1, slot: 1 }, "");
    assert_eq!(offset_of(learn(p, n, 2, read(9, 10), "")), 150);
    assert_eq!(offset_of(learn(p, n, 1, read(4, 10), "")), 160);
    learn(p, n, 1, Record::Seeked { fd: 9, generation: 1, offset: 7 }, "");
    assert_eq!(offset_of(learn(p, n, 2, read(4, 10), "")), 7);
    assert_eq!(learn(p, n, 2, read(4, 0), ""), None);
    assert_eq!(learn(p, n, 2, read(4, -5), ""), None);
}

#[test]
fn advice_on_a_mapping_finds_its_file() {
    let (mut processes, mut names) = (Processes::default(), Names::default());
    let (p, n) = (&mut processes, &mut names);
    learn(p, n, 1, Record::ProcessStarted { ppid: 0, slot: 0 }, "/");
    learn(p, n, 1, open(3, libc::AT_FDCWD, Class::Regular), "f");
    let map = Record::Mapped { fd: 3, generation: 1, prot: 1, addr: 0x10000, offset: 4096, len: 0x8000 };
    learn(p, n, 1, map, "");
    let advice = Record::AdvisedMemory { advice: Advice::WillNeed, addr: 0x11000, len: 0x1000 };
    let Some(Seen::Advised { offset, bytes, .. }) = learn(p, n, 1, advice, "") else { panic!() };
    assert_eq!((offset, bytes), (4096 + 0x1000, 0x1000));
}

#[test]
fn hints_name_files_as_opens_do() {
    let (mut processes, mut names) = (Processes::default(), Names::default());
    let (p, n) = (&mut processes, &mut names);
    let file_of = |seen: Option<Seen>| match seen {
        Some(Seen::Disclosed(Disclosure::Hint { file, whole: true })) => file,
        other => panic!("not a hint: {other:?}"),
    };
    let hint = Record::Hinted { whole: true };
    assert_eq!(learn(p, n, 1, hint, "f"), None, "a process that nobody knows");
    learn(p, n, 1, Record::ProcessStarted { ppid: 0, slot: 0 }, "/home");
    let Some(Seen::Opened { file, .. }) = learn(p, n, 1, open(3, libc::AT_FDCWD, Class::Regular), "f") else {
        panic!("not opened")
    };
    assert_eq!(file_of(learn(p, n, 1, hint, "./f")), Some(file));
    learn(p, n, 1, Record::ChangedDirectory { fd: -1 }, "..");
    assert_eq!(file_of(learn(p, n, 1, hint, "/home//f")), Some(file));
    assert_ne!(file_of(learn(p, n, 1, hint, "f")), Some(file));
    assert_eq!(file_of(learn(p, n, 1, hint, "")), None);
    assert_eq!(learn(p, n, 1, Record::Exited {}, ""), Some(Seen::Ended { ordinal: 1 }));
    assert_eq!(p.forget(1), Some(1), "it is remembered until its slot is given back");
    assert_eq!(learn(p, n, 1, Record::Exited {}, ""), None);
}

#[test]
fn nonsense_is_ignored() {
    let (mut processes, mut names) = (Processes::default(), Names::default());
    let (p, n) = (&mut processes, &mut names);
    assert_eq!(learn(p, n, 77, read(3, 100), ""), None);
    learn(p, n, 1, Record::ProcessStarted { ppid: 0, slot: 5000 }, "relative");
    assert_eq!(learn(p, n, 1, read(-1, 100), ""), None);
    assert_eq!(learn(p, n, 1, Record::Closed { fd: i32::MIN, generation: 0 }, ""), None);
}

/// Whatever programs claim, all together take no more than there is room for; and what they leave
/// is there for others.
#[test]
fn nonsense_of_many_processes_takes_a_bounded_place() {
    let (mut processes, mut names) = (Processes::default(), Names::default());
    let (p, n) = (&mut processes, &mut names);
    // This test's own number, which is no dead process's.
    let (own, long) = (std::process::id(), "x/".repeat(2047));
    learn(p, n, own, Record::ProcessStarted { ppid: 0, slot: 0 }, "/");
    for fd in 0..70_000 {
        learn(p, n, own, open(fd, libc::AT_FDCWD, Class::Regular), "f");
        learn(p, n, own, Record::Mapped { fd, generation: 1, prot: 1, addr: 0, offset: 0, len: u64::MAX }, "");
    }
    assert_eq!(p.room.taken(), 65_536 + 1024);
    // Others, all of which are a process that is there, whose children have what it has.
    for pid in 2..40 {
        learn(p, n, pid, Record::Forked { parent: own, slot: pid }, "");
    }
    assert!(p.room.taken() <= PLACES_MAX && p.room.taken() > PLACES_MAX - 65_536 - 1024, "{}", p.room.taken());
    assert!(learn(p, n, 39, open(80_000, libc::AT_FDCWD, Class::Regular), "g").is_some(), "it is a name all the same");
    assert!(p.room.taken() <= PLACES_MAX);
    for pid in 2..40 {
        p.forget(pid);
    }
    assert_eq!(p.room.taken(), 65_536 + 1024);
    // A working directory that grows and grows.
    for _ in 0..10 {
        learn(p, n, own, Record::ChangedDirectory { fd: -1 }, &long);
    }
    assert_eq!(learn(p, n, own, stated(), "f"), None, "it is not known");
    // Numbers that no process has are not kept.
    for pid in 0..100_000 {
        learn(p, n, 0x4000_0000 + pid, Record::ProcessStarted { ppid: 0, slot: pid }, "/");
    }
    assert!(p.followed() <= 4096, "{}", p.followed());
}

/// A shell or a build begins very many, and nobody tells of their ends.
#[test]
fn children_that_only_execute_take_no_place() {
    let (mut processes, mut names) = (Processes::default(), Names::default());
    let (p, n) = (&mut processes, &mut names);
    learn(p, n, 1, Record::ProcessStarted { ppid: 0, slot: 0 }, "/");
    (0..600).for_each(|fd| assert!(learn(p, n, 1, open(fd, libc::AT_FDCWD, Class::Regular), "f").is_some()));
    let executes = Record::ExecutesUnseen { why: Unseen::Static };
    for pid in 2..1000 {
        // The first try may fail.
        for _ in 0..2 {
            learn(p, n, pid, Record::Forked { parent: 1, slot: NO_PROCESS_SLOT }, "");
            learn(p, n, pid, executes, "/bin/tool");
        }
    }
    assert_eq!(p.room.taken(), 600);
    assert_eq!(p.count(0), 999, "each is counted once");
    // One of `fork`, as many as there are, has what its parent has.
    learn(p, n, 1000, Record::Forked { parent: 1, slot: NO_PROCESS_SLOT }, "");
    assert_eq!(offset_of(learn(p, n, 1000, read(4, 100), "")), 0);
}

#[test]
fn who_reads_untold_goes_by_what_it_executes() {
    let (mut processes, mut names) = (Processes::default(), Names::default());
    let (p, n) = (&mut processes, &mut names);
    // This test's own number: the library is not in it.
    let own = std::process::id();
    learn(p, n, own, Record::ProcessStarted { ppid: 0, slot: 0 }, "/");
    learn(p, n, own, Record::Executed { reads: 0, bytes: 0, stall_ticks: 0 }, "/bin/queues");
    p.found_untold(own, Unseen::Uring);
    let name = |p: &mut Processes, found: &str| {
        let (_, program) = p.found(own, found.as_bytes()).unwrap();
        p.programs().get(program).name.clone()
    };
    assert_eq!(name(p, ""), "queues", "gone before it was looked at");
    assert_eq!(name(p, "static"), "static");
    assert!(!p.is_seen(own) && !p.reads_untold(own));
}

#[test]
fn children_of_who_reads_untold_do_as_well() {
    let (mut processes, mut names) = (Processes::default(), Names::default());
    let (p, n) = (&mut processes, &mut names);
    learn(p, n, 1, Record::ProcessStarted { ppid: 0, slot: 0 }, "/");
    assert!(!p.reads_untold_as(2, 1), "its parent tells");
    p.found_untold(1, Unseen::OwnCalls);
    assert!(p.reads_untold_as(2, 1) && p.reads_untold_as(3, 2) && p.reads_untold(3));
    learn(p, n, 4, Record::ProcessStarted { ppid: 1, slot: 1 }, "/");
    assert!(!p.reads_untold_as(4, 1), "it told of itself");
}

#[test]
fn what_goes_on_is_named_as_what_it_executed() {
    let (mut processes, mut names) = (Processes::default(), Names::default());
    let (p, n) = (&mut processes, &mut names);
    // One that is there, and one that is not.
    for pid in [std::process::id(), 0x4000_0000] {
        learn(p, n, 1, Record::ProcessStarted { ppid: 0, slot: 0 }, "/");
        learn(p, n, 1, Record::Executed { reads: 0, bytes: 0, stall_ticks: 0 }, "/bin/sh");
        learn(p, n, pid, Record::Forked { parent: 1, slot: NO_PROCESS_SLOT }, "");
        let executed = format!("/bin/server-{pid}");
        learn(p, n, pid, Record::ExecutesUnseen { why: Unseen::Static }, &executed);
    }
    p.forget(1);
    assert_eq!(p.going_on(0), [format!("server-{}", std::process::id())]);
}

#[test]
fn names_take_a_bounded_place() {
    let (mut names, long) = (Names::default(), "x".repeat(4000));
    let taken = (0..100_000).take_while(|at| names.of_path(Path::new(&format!("/{at}/{long}"))).is_some()).count();
    assert!((30_000..35_000).contains(&taken), "{taken}");
}
