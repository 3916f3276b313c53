//! What each function says, and that programs see no difference.

mod common;

use std::collections::HashSet;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use common::{Ring, Said, alike, compile, directory, reads_of};
use foresee_ring::{Advice, Attention, Class, Counters, OFFSET_APPENDED, Process, Record, Region};

/// A directory with what the programs expect.
fn prepared() -> PathBuf {
    let directory = directory();
    let data: Vec<u8> = (0..100_000u32).map(|at| (at * 31 % 251) as u8).collect();
    fs::write(directory.join("data"), data).unwrap();
    fs::create_dir(directory.join("dir")).unwrap();
    fs::write(directory.join("dir/sub"), "sub").unwrap();
    directory
}

fn has(said: &[Said], what: &str, is: impl Fn(&Record, &Path) -> bool) {
    assert!(said.iter().any(|said| is(&said.record, &said.path)), "{what} not among {said:#?}");
}

#[test]
fn every_kind_of_read_and_write() {
    let directory = prepared();
    let program = compile("reads", &directory, &[]);
    let (patched, unpatched) = alike(&program, &[], &directory);
    for said in [patched, unpatched] {
        let reads = reads_of(&said, "data");
        // `data` opened for writing and read is among them; the order is otherwise the program's.
        let wanted = [
            (-1, 1001, 1001),
            (-1, 1002, 1002),
            (11, 1003, 1003),
            (12, 1004, 1004),
            (13, 1005, 1005),
            (14, 1006, 1006),
            (-1, 300, 300),
            (15, 300, 300),
            (16, 300, 300),
            (17, 300, 300),
            (-1, 300, 300),
            (18, 300, 300),
            (5000, 400, 400),
            (-1, 401, 401),
            (6000, 402, 402),
            (99_000, 65_536, 1000),
            (70, 403, 403),
            (-1, 404, 404),
        ];
        // Reads that failed or found the end are not told.
        assert_eq!(reads, wanted);
        let out: HashSet<(i32, u32)> = said
            .iter()
            .filter_map(|said| match said.record {
                Record::Opened { fd, generation, .. } if said.path.ends_with("out") => Some((fd, generation)),
                _ => None,
            })
            .collect();
        let wrote: Vec<(i64, u64)> = said
            .iter()
            .filter_map(|said| match said.record {
                Record::Wrote { fd, generation, offset, len, .. } if out.contains(&(fd, generation)) => {
                    Some((offset as i64, len))
                }
                _ => None,
            })
            .collect();
        let wanted = [
            (-1, 400),
            (-1, 401),
            (700, 402),
            (-1, 10),
            (3, 20),
            (4, 21),
            (-1, 300),
            (5, 300),
            (6, 300),
            (8, 30),
            (-1, 31),
            (9, 300),
            (-1, 300),
            (-1, 403),
            (473, 404),
        ];
        assert_eq!(wrote, wanted);
        has(&said, "start", |record, path| matches!(record, Record::ProcessStarted { .. }) && *path == directory);
        has(&said, "program", |record, path| matches!(record, Record::Loaded { .. }) && path == program);
        has(&said, "libc", |record, path| matches!(record, Record::Loaded { .. }) && path.ends_with("libc.so.6"));
        has(&said, "end", |record, _| *record == Record::Exited {});
    }
}

/// What is appended lies where the file ended, and the descriptor stands behind it; where that is said.
#[test]
fn what_is_appended_lies_at_the_end() {
    let directory = prepared();
    let program = compile("reads", &directory, &[]);
    let mut ring = Ring::new();
    ring.region.want_places();
    for patch in ["1", "0"] {
        let mut command = ring.command(&program);
        let (_, said) = ring.run(command.current_dir(&directory).env("FORESEE_PATCH", patch));
        let log = |fd: i32| {
            said.iter()
                .any(|it| it.path.ends_with("log") && matches!(it.record, Record::Opened { fd: log, .. } if log == fd))
        };
        let appended: Vec<(&str, i64, u64)> = said
            .iter()
            .filter_map(|said| match said.record {
                Record::Wrote { fd, offset, len, .. } if log(fd) => match offset & OFFSET_APPENDED {
                    0 => Some(("wrote", offset as i64, len)),
                    _ => Some(("appended", (offset & !OFFSET_APPENDED) as i64, len)),
                },
                Record::Seeked { fd, offset, .. } if log(fd) => Some(("stands at", offset as i64, 0)),
                _ => None,
            })
            .collect();
        let wanted = [
            ("appended", 0, 50),
            ("stands at", 10, 0),
            ("appended", 50, 51),
            ("wrote", 101, 52),
            ("wrote", 3, 53),
            ("appended", 153, 54),
        ];
        assert_eq!(appended, wanted);
    }
}

#[test]
fn every_kind_of_open_look_and_close() {
    let directory = prepared();
    let program = compile("files", &directory, &[]);
    let (patched, unpatched) = alike(&program, &[], &directory);
    for said in [patched, unpatched] {
        opens_and_looks(&said);
        copies_and_closes(&said);
        advice_and_maps(&said);
        let hidden = said.iter().find(|said| matches!(said.record, Record::Opened { offset: 1234, .. })).unwrap();
        assert_eq!(hidden.path, directory.join("data"));
        assert!(matches!(hidden.record, Record::Opened { adopted: true, size: 100_000, class: Class::Regular, .. }));
    }
}

fn opens_and_looks(said: &[Said]) {
    let (at_cwd, dir) = (libc::AT_FDCWD, 3);
    let opens = [
        (at_cwd, "dir", Class::Directory),
        (at_cwd, "data", Class::Regular),
        (at_cwd, "./data", Class::Regular),
        (dir, "sub", Class::Regular),
        (dir, "../data", Class::Regular),
        (at_cwd, "dir/../data", Class::Regular),
        (at_cwd, "dir/./sub", Class::Regular),
        (dir, "./sub", Class::Regular),
        (dir, ".//sub", Class::Regular),
        (at_cwd, "made", Class::Regular),
        (at_cwd, "/dev/null", Class::Other),
    ];
    // As bytes: paths compare equal when their parts do.
    let bytes = |path: &Path| path.as_os_str().as_encoded_bytes().to_vec();
    for (wanted_dirfd, wanted, wanted_class) in opens {
        has(said, wanted, |record, path| {
            matches!(record, Record::Opened { dirfd, class, adopted: false, size, .. }
                if *dirfd == wanted_dirfd && *class == wanted_class && (!wanted.ends_with("data") || *size == 100_000))
                && bytes(path) == wanted.as_bytes()
        });
    }
    for (wanted_dirfd, wanted, wanted_errno) in
        [(at_cwd, "absent", libc::ENOENT), (at_cwd, "data/x", libc::ENOTDIR), (dir, "absent-too", libc::ENOENT)]
    {
        has(said, wanted, |record, path| {
            *record == Record::OpenFailed { dirfd: wanted_dirfd, errno: wanted_errno }
                && bytes(path) == wanted.as_bytes()
        });
    }
    let stats: Vec<_> = said
        .iter()
        .filter_map(|said| match said.record {
            Record::Stated { dirfd, ok, .. } => Some((dirfd, ok, said.path.to_str().unwrap())),
            _ => None,
        })
        .collect();
    let wanted = [
        (at_cwd, true, "data"),
        (at_cwd, true, "./data"),
        (dir, true, "sub"),
        (at_cwd, true, "dir"),
        (at_cwd, true, "dir/sub"),
        (dir, false, "nothing"),
        (at_cwd, false, "no-such"),
        (at_cwd, true, "dir/../dir"),
        (at_cwd, true, "dir/."),
        (dir, true, "../dir"),
    ];
    assert_eq!(stats, wanted);
    for wanted in ["dir", ""] {
        has(said, "listed", |record, path| matches!(record, Record::Listed { .. }) && *path == *wanted);
    }
    has(said, "chdir", |record, path| *record == Record::ChangedDirectory { fd: -1 } && path == "dir");
    has(said, "fchdir", |record, path| *record == Record::ChangedDirectory { fd: dir } && path == "");
}

fn copies_and_closes(said: &[Said]) {
    let seeks: Vec<u64> = said
        .iter()
        .filter_map(|said| match said.record {
            Record::Seeked { offset, .. } => Some(offset),
            _ => None,
        })
        .collect();
    assert_eq!(seeks, [500, 99_990]);
    let copies: Vec<_> = said
        .iter()
        .filter_map(|said| match said.record {
            Record::Duplicated { from, to, .. } => Some((from, to)),
            _ => None,
        })
        .collect();
    let fd = copies[0].0;
    assert_eq!(copies[1..], [(fd, 60), (fd, 61), (fd, 70), (fd, 80)]);
    has(said, "read of a copy", |record, _| matches!(record, Record::Read { fd: 70, asked: 7, .. }));
    for wanted in [60, 80, 61, 70] {
        let closes = said.iter().filter(|said| matches!(said.record, Record::Closed { fd, .. } if fd == wanted));
        assert_eq!(closes.count(), 1, "{wanted}");
    }
}

fn advice_and_maps(said: &[Said]) {
    let advised: Vec<_> = said
        .iter()
        .filter_map(|said| match said.record {
            Record::Advised { advice, offset, len, .. } => Some((advice, offset, len)),
            _ => None,
        })
        .collect();
    assert_eq!(advised, [(Advice::WillNeed, 1, 2), (Advice::Sequential, 3, 4), (Advice::WillNeed, 5, 6)]);
    let maps: Vec<_> = said
        .iter()
        .filter_map(|said| match said.record {
            Record::Mapped { addr, offset, len, prot, .. } => Some((addr, offset, len, prot)),
            _ => None,
        })
        .collect();
    let [(map, 4096, 8192, libc::PROT_READ)] = maps[..] else { panic!("{maps:?}") };
    has(said, "madvise", |record, _| {
        *record == Record::AdvisedMemory { advice: Advice::WillNeed, addr: map, len: 4096 }
    });
}

#[test]
fn stdio_is_seen_where_it_can_be_patched() {
    let directory = prepared();
    let program = compile("streams", &directory, &[]);
    let (patched, unpatched) = alike(&program, &[], &directory);
    let position = |said: &[Said]| said.iter().any(|s| matches!(s.record, Record::Seeked { offset: 49_152, .. }));
    if cfg!(target_arch = "x86_64") {
        assert_eq!(reads_of(&patched, "data"), [(-1, 4096, 4096), (-1, 4096, 4096), (-1, 4096, 4096)]);
        assert!(position(&patched), "{patched:#?}");
        has(&patched, "fflush", |record, _| matches!(record, Record::Wrote { len: 8, .. }));
        has(&patched, "the write of freopen", |record, _| matches!(record, Record::Wrote { len: 10, .. }));
    }
    assert_eq!(reads_of(&unpatched, "data"), []);
    for said in [patched, unpatched] {
        let opens = said.iter().filter(|s| matches!(s.record, Record::Opened { .. }) && s.path == Path::new("data"));
        assert_eq!(opens.count(), 2);
        has(&said, "fopen failed", |record, path| matches!(record, Record::OpenFailed { .. }) && path == "absent");
        let closes = said.iter().filter(|s| matches!(s.record, Record::Closed { .. })).count();
        assert_eq!(closes, 3);
    }
}

#[test]
fn everyday_programs_are_seen() {
    let directory = prepared();
    let lines: String = (0..20_000).map(|line| format!("{} line\n", line * 7919 % 20_011)).collect();
    fs::write(directory.join("lines"), &lines).unwrap();
    let tools: [(&str, &[&str]); 7] = [
        ("sort", &["lines"]),
        ("sed", &["-n", "$p", "lines"]),
        ("md5sum", &["lines"]),
        ("cat", &["lines"]),
        ("wc", &["lines"]),
        ("grep", &["-c", "9", "lines"]),
        ("python3", &["-c", "import hashlib; print(hashlib.md5(open('lines','rb').read()).hexdigest())"]),
    ];
    for (tool, arguments) in tools {
        let Some(tool) = ["/usr/bin", "/bin"].iter().map(|at| Path::new(at).join(tool)).find(|tool| tool.exists())
        else {
            continue;
        };
        let (said, _) = alike(&tool, arguments, &directory);
        let bytes: i64 = reads_of(&said, "lines").iter().map(|(_, _, got)| i64::from(*got)).sum();
        assert_eq!(bytes, lines.len() as i64, "{tool:?}");
    }
}

#[test]
fn larger_programs_run_alike() {
    let directory = prepared();
    let source = "#include <stdio.h>\n#include <string.h>\nint main(void) { return (int)strlen(\"\"); }\n";
    fs::write(directory.join("tiny.c"), source).unwrap();
    let compiles = "gcc -O2 -pipe -o tiny tiny.c && ./tiny && gcc -S -o - tiny.c | md5sum";
    let pipes = "for i in 1 2 3; do sort data | head -c 1000 | tee copy$i | wc -c; done; cat < dir/sub; exec 7<data; \
                 head -c 10 <&7 | md5sum; exec 7<&-; (cd dir && find . | sort; tar cf - sub | tar tf -); diff data data";
    for script in [compiles, pipes] {
        let (said, _) = alike(Path::new("/bin/bash"), &["-c", script], &directory);
        assert!(said.iter().filter(|said| matches!(said.record, Record::ProcessStarted { .. })).count() > 4);
    }
    let (said, _) = alike(Path::new("/bin/bash"), &["-c", compiles], &directory);
    has(&said, "a header", |record, path| matches!(record, Record::Opened { .. }) && path.ends_with("stdio.h"));
}

#[test]
fn children_speak_for_themselves() {
    let directory = prepared();
    let program = compile("children", &directory, &[]);
    let (patched, unpatched) = alike(&program, &[], &directory);
    for said in [patched, unpatched] {
        let asked = |pid: u32| -> Vec<u32> {
            let reads = said.iter().filter(|said| said.stamp.pid == pid).filter_map(|said| match said.record {
                Record::Read { asked, .. } if (10..40).contains(&asked) => Some(asked),
                _ => None,
            });
            reads.collect()
        };
        let parent = said[0].stamp.pid;
        assert_eq!(asked(parent), [10, 11, 13], "what the child of vfork closed is still open here");
        let forks: Vec<_> = said
            .iter()
            .filter_map(|said| match said.record {
                Record::Forked { parent, slot } => Some((parent, said.stamp, slot)),
                _ => None,
            })
            .collect();
        let (_, child, slot) = forks.iter().find(|fork| fork.0 == parent).unwrap();
        assert_eq!((asked(child.pid), child.tid), (vec![12], child.pid));
        assert!(!said.iter().any(|s| matches!(s.record, Record::ProcessStarted { slot: of, .. } if of == *slot)));
        let adopted = said
            .iter()
            .find(|said| matches!(said.record, Record::Opened { fd: 0, adopted: true, .. }))
            .expect("the grandchild's standard input");
        assert_eq!(adopted.path, directory.join("data"));
        assert_eq!(asked(adopted.stamp.pid), [33]);
        let closed = said.iter().filter(|s| s.stamp.pid == parent && matches!(s.record, Record::Closed { .. }));
        assert_eq!(closed.count(), 0);
    }
}

/// Runs a program that opens files, says so by its output, and waits. Wishes something of the region
/// and of each file, and lets it go on. Returns the uses of descriptors that the files are, what is said from then on,
/// and what was counted.
fn attended(
    program: &Path,
    directory: &Path,
    names: &[&str],
    wish: impl Fn(&Region, &Process, (i32, u32)),
) -> (Vec<(i32, u32)>, Vec<Said>, Counters) {
    let mut ring = Ring::new();
    let mut command = ring.command(program);
    let mut child = command.current_dir(directory).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let said = ring.said();
    let slot = said.iter().find_map(|said| match said.record {
        Record::ProcessStarted { slot, .. } => Some(slot),
        _ => None,
    });
    let process = ring.region.process(slot.unwrap()).unwrap();
    let uses = names.iter().map(|name| {
        let opened = said.iter().find_map(|said| match said.record {
            Record::Opened { fd, generation, .. } if said.path == Path::new(name) => Some((fd, generation)),
            _ => None,
        });
        let (fd, generation) = opened.unwrap();
        wish(ring.region, process, (fd, generation));
        (fd, generation)
    });
    let uses = uses.collect();
    child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
    assert!(child.wait().unwrap().success());
    (uses, ring.said(), process.counters())
}

/// That its reads are told so, and each that waits for anything.
fn attend(attention: Attention) -> impl Fn(&Region, &Process, (i32, u32)) {
    move |region, process, (fd, generation)| {
        process.set_attention(fd, generation, attention);
        region.set_stall_ticks_min(0);
    }
}

/// Reads that were told of this use of a descriptor.
fn told(said: &[Said], of: (i32, u32)) -> usize {
    let is_of = |said: &&Said| matches!(said.record, Record::Read { fd, generation, .. } if (fd, generation) == of);
    said.iter().filter(is_of).count()
}

#[test]
fn attention_is_heeded() {
    let directory = prepared();
    let program = compile("attention", &directory, &[]);
    let wishes = [
        (Attention::Every, 6_400, 0),
        (Attention::Located, 6_400, 6_400),
        (Attention::Sampled, 100, 100),
        (Attention::None, 0, 0),
    ];
    for (attention, posted, located) in wishes {
        let (uses, said, counters) = attended(&program, &directory, &["data"], attend(attention));
        let generation = uses[0].1;
        assert_eq!(told(&said, uses[0]), posted, "{attention:?}");
        let positions: Vec<u64> = said
            .iter()
            .filter_map(|said| match said.record {
                Record::Seeked { offset, generation: of, .. } if of == generation => Some(offset),
                _ => None,
            })
            .collect();
        assert_eq!(positions.len(), located, "{attention:?}");
        let apart = 6_400 / located.max(1) as u64;
        assert!(positions.windows(2).all(|pair| pair[1] - pair[0] == apart), "{attention:?}: {positions:?}");
        let after = said.iter().filter(|s| matches!(s.record, Record::Read { asked: 55, .. })).count();
        assert_eq!(after, 3, "the wish was for the file that was closed");
        assert_eq!((counters.reads, counters.bytes), (6_403, 6_400 + 3 * 55));
        assert!(counters.stall_ticks > 0, "the last three are timed in any case");
    }
}

#[test]
fn files_read_in_turn_are_each_sampled() {
    let directory = prepared();
    fs::copy(directory.join("data"), directory.join("more")).unwrap();
    let program = compile("turns", &directory, &[]);
    let (uses, said, _) = attended(&program, &directory, &["data", "more"], attend(Attention::Sampled));
    assert_eq!(uses.iter().map(|&of| told(&said, of)).collect::<Vec<_>>(), [100, 100]);
}

#[test]
fn what_was_told_of_before_is_read_quietly_as_well() {
    let directory = prepared();
    let program = compile("attention", &directory, &[]);
    let (uses, said, counters) = attended(&program, &directory, &["data"], |region, _, _| region.set_quiet(1));
    assert_eq!(told(&said, uses[0]), 0);
    let (of, generation) = uses[0];
    let is_closed =
        |said: &&Said| matches!(said.record, Record::Closed { fd, generation: it } if (fd, it) == (of, generation));
    assert_eq!(said.iter().filter(is_closed).count(), 1, "once, when it is told of no more");
    assert_eq!(counters.reads, 6_403);
}

/// Runs a program that waits for a sign, beside a supervisor that needs not know what is read before
/// one waits after that time, and has it wait for a device from the sign on if it is to. Returns the
/// ring, and what was said before and after.
fn quietly(program: &str, directory: &Path, until: u64, waits: bool) -> (Ring, Vec<Said>, Vec<Said>, Counters) {
    let program = compile(program, directory, &[]);
    let mut ring = Ring::new();
    ring.region.set_quiet(until);
    let mut command = ring.command(program);
    let mut child = command.current_dir(directory).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let before = ring.said();
    if waits {
        ring.region.set_stall_ticks_min(1);
        // Then it gave its processor up, and may have for a device.
        let status = format!("/proc/{}/stat", child.id());
        while !fs::read_to_string(&status).unwrap().contains(") S ") {
            assert!(child.try_wait().unwrap().is_none(), "it is gone");
            thread::yield_now();
        }
    }
    child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "the line that failed");
    let slot = before.iter().find_map(|said| match said.record {
        Record::ProcessStarted { slot, .. } => Some(slot),
        _ => None,
    });
    let after = ring.said();
    let counters = ring.region.process(slot.unwrap()).unwrap().counters();
    (ring, before, after, counters)
}

fn is_of_descriptor(said: &Said) -> bool {
    use Record::{Advised, Closed, Duplicated, Listed, OpenFailed, Opened, Read, Seeked, Stated};
    let is_one = matches!(
        said.record,
        Opened { .. }
            | OpenFailed { .. }
            | Read { .. }
            | Seeked { .. }
            | Closed { .. }
            | Advised { .. }
            | Duplicated { .. }
            | Listed { .. }
            | Stated { .. }
    );
    is_one && !matches!(said.record, Opened { class: Class::Other, .. })
}

#[test]
fn what_is_read_quietly_is_counted_and_not_told() {
    let (ring, before, after, counters) = quietly("quiet", &prepared(), 1, false);
    let told: Vec<_> = before.iter().chain(&after).filter(|said| is_of_descriptor(said)).collect();
    let opened = |said: &Said| matches!(said.record, Record::Opened { .. }).then(|| said.path.clone());
    // What is not only to be read.
    let paths: Vec<PathBuf> = told.iter().filter_map(|said| opened(said)).collect();
    assert_eq!(paths, [Path::new("data")], "{told:#?}");
    let kinds = told.iter().filter(|said| matches!(said.record, Record::Read { got, .. } if got == 9)).count();
    assert_eq!((told.len(), kinds), (3, 1), "opened, read, closed: {told:#?}");
    assert_eq!((counters.reads, counters.bytes), (17, 10 + 10 + 10 + 3 + 9 + 8 + 10 + 7 + 20 + 5));
    assert!(ring.region.is_quiet());
}

#[test]
fn of_what_may_be_written_reads_at_a_place_are_not_told_until_one_waits() {
    for (waits, told) in [(false, vec![]), (true, vec![(50, 20, 20), (50, 30, 30)])] {
        let (ring, before, after, counters) = quietly("updates", &prepared(), 1, waits);
        assert_eq!(reads_of(&before, "data"), [(-1, 9, 9)], "by its position");
        let is_written = |said: &Said| matches!(said.record, Record::Wrote { offset: 50, len: 7, .. });
        assert!(before.iter().any(is_written), "{before:#?}");
        assert_eq!((reads_of(&[before, after].concat(), "data")[1..].to_vec(), counters.reads), (told, 103));
        assert_eq!(ring.region.is_quiet(), !waits);
    }
}

#[test]
fn before_its_time_nothing_ends_the_quiet_and_what_was_waited_is_counted_if_that_never_comes() {
    for (until, is_counted) in [(u64::MAX - 1, false), (u64::MAX, true)] {
        let (ring, _, after, _) = quietly("quiet", &prepared(), until, true);
        assert!(ring.region.is_quiet() && !after.iter().any(is_of_descriptor), "{until}: {after:#?}");
        assert_eq!(ring.region.take_waited_ticks() > 0, is_counted, "{until}");
        assert_eq!(ring.region.take_waited_ticks(), 0);
    }
}

#[test]
fn who_waits_for_another_program_does_not_wait_for_storage() {
    let directory = prepared();
    let program = compile("fifo", &directory, &[]);
    let pipe = directory.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut ring = Ring::new();
    ring.region.set_quiet(u64::MAX);
    ring.region.set_stall_ticks_min(1);
    let mut child = ring.command(program).current_dir(&directory).spawn().unwrap();
    let mut writer = fs::File::options().write(true).open(&pipe).unwrap();
    for _ in 0..3 {
        thread::sleep(Duration::from_millis(2));
        writer.write_all(b"x").unwrap();
    }
    assert_eq!(child.wait().unwrap().code(), Some(0), "the line that failed");
    assert_eq!(ring.region.take_waited_ticks(), 0);
    let stalls = ring
        .said()
        .iter()
        .filter_map(|said| match said.record {
            Record::ProcessStarted { slot, .. } => Some(ring.region.process(slot)?.counters().stall_ticks),
            _ => None,
        })
        .sum::<u64>();
    assert_eq!(stalls, 0);
}

#[test]
fn one_of_the_next_reads_that_wait_is_told_and_ends_the_quiet() {
    let directory = prepared();
    let (ring, before, after, _) = quietly("quiet", &directory, 1, true);
    assert!(!ring.region.is_quiet());
    assert!(reads_of(&before, "data").iter().all(|&(_, _, got)| got == 9));
    let all = [vec![(-1, 1, 1); 7], vec![(-1, 20, 20), (50, 5, 5)]].concat();
    let told = reads_of(&after, "data");
    assert!(told.len() > 2 && all.ends_with(&told), "{told:?}");
    let began = 10 + (all.len() - told.len()) as u64;
    let adopted = after.iter().find_map(|said| match said.record {
        Record::Opened { adopted: true, generation, size, .. } if said.path == directory.join("data") => {
            Some((generation, size))
        }
        _ => None,
    });
    let (generation, size) = adopted.unwrap();
    assert_eq!(size, 100_000);
    has(
        &after,
        "where the read began",
        |record, _| matches!(record, Record::Seeked { generation: of, offset, .. } if (*of, *offset) == (generation, began)),
    );
    // What a name is relative to is told of with it.
    let told_of = |wanted: &dyn Fn(&Said) -> bool| after.iter().position(wanted);
    let directory = told_of(&|said| {
        matches!(said.record, Record::Opened { adopted: true, class: Class::Directory, .. })
            && said.path.ends_with("dir")
    });
    let stated =
        told_of(&|said| matches!(said.record, Record::Stated { ok: true, .. }) && said.path == Path::new("sub"));
    assert!(directory.is_some() && directory < stated, "{after:#?}");
}
