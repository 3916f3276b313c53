//! Programs that disclose what they will read, through the hint library: in C and in Python, with
//! foresee and without.

mod support;

use std::fs;
use std::process::Command;

use serde_json::Value;
use support::library::{compiled, gcc, root};
use support::{Place, Same, binary, end, have, in_time, same};

const RANDOM_READS: &str = "bindings/c/examples/random_reads.c";

fn blocks_of(account: &Value, source: &str, outcome: &str) -> u64 {
    account["prefetched"]["by_source"][source][outcome].as_u64().unwrap()
}

/// What was disclosed through the library was read ahead, and was read. How much of it was there in
/// time is the machine's to say: where the program was faster than the queue, it counts as
/// cancelled.
#[track_caller]
fn assert_told(account: &Value) {
    let of = |outcome| blocks_of(account, "library", outcome);
    assert!(of("timely") + of("late") > 0 && 4 * of("wasted") < of("fetched"), "{account:#}");
    assert_eq!((&account["manager"]["refused"], &account["records_lost"]), (&0.into(), &0.into()), "{account:#}");
}

/// Runs these words with their log; returns its events, without their times, and its actions, which
/// begin with a blank.
fn logged(place: &Place, words: &[&str]) -> Vec<String> {
    let log = place.aside("log").display().to_string();
    end(place.run(&["--no-learn", "--log", &log], words), b"").with(0);
    let replayed = end(place.foresee(&["replay", &log]), b"");
    assert_eq!(replayed.clone().with(0).err(), "");
    events(&log)
}

fn events(log: &str) -> Vec<String> {
    let text = fs::read_to_string(log).unwrap();
    let without_time = |line: &str| match line.split_once(' ') {
        Some((time, event)) if time.starts_with('@') => event.to_owned(),
        _ => line.to_owned(),
    };
    text.lines().map(without_time).collect()
}

/// How many lines begin with this.
fn count(log: &[String], beginning: &str) -> usize {
    log.iter().filter(|line| line.starts_with(beginning)).count()
}

#[test]
fn random_reads_that_are_disclosed() {
    let Some(place) = compiled("random_reads", RANDOM_READS) else { return };
    place.write_blocks("f", 20_000);
    Same::new(&place, &["./random_reads", "f", "5000"]).check().with(0);
    place.make_cold();
    let (ended, account) = place.account(&["--no-learn", "--no-words"], &["./random_reads", "f", "5000"]);
    ended.with(0);
    assert_eq!(account["manager"]["hints"], 5000);
    assert_told(&account);
    assert_eq!(blocks_of(&account, "command", "fetched") + blocks_of(&account, "advice", "fetched"), 0);
}

#[test]
fn children_by_exec() {
    let Some(place) = compiled("random_reads", RANDOM_READS) else { return };
    place.write_blocks("a", 3000);
    place.write_blocks("b", 3000);
    fs::create_dir(place.path("d")).unwrap();
    let script = "cd d; ../random_reads ../a 1500 | cat; (exec env ../random_reads ../b 1500); echo";
    Same::script(&place, script).check().with(0);
    place.make_cold();
    let (ended, account) = place.account(&["--no-learn", "--no-words"], &["sh", "-c", script]);
    ended.with(0);
    assert_eq!(account["manager"]["hints"], 3000);
    assert_told(&account);
}

#[test]
fn what_was_told_need_not_be_guessed() {
    let Some(place) = compiled("random_reads", RANDOM_READS) else { return };
    place.write_blocks("f", 20_000);
    for _ in 0..2 {
        place.make_cold();
        let (ended, account) = place.account(&["--no-words"], &["./random_reads", "f", "5000"]);
        ended.with(0);
        assert_told(&account);
        let (told, guessed) = (blocks_of(&account, "library", "fetched"), blocks_of(&account, "profile", "fetched"));
        assert!(guessed < told, "{account:#}");
    }
}

#[test]
fn a_million_segments() {
    let Some(place) = compiled("random_reads", RANDOM_READS) else { return };
    place.write_blocks("f", 1000);
    let (ended, account) = place.account(&["--no-learn", "--no-words"], &["./random_reads", "f", "1000000"]);
    ended.with(0);
    assert_eq!((&account["manager"]["hints"], &account["manager"]["refused"]), (&1_000_000.into(), &0.into()));
}

#[test]
fn each_process_speaks_for_itself() {
    let Some(place) = compiled("family", "crates/cli/tests/programs/family.c") else { return };
    place.write_blocks("a", 1000);
    place.write_blocks("b", 1000);
    assert!(same(&place, &["./family"]).with(0).out().ends_with("done\n"));
    place.make_cold();
    let log = logged(&place, &["./family"]);
    assert_eq!((count(&log, "cancel "), count(&log, "cancel reader=2 source=library")), (2, 1), "{log:?}");
    assert!(count(&log, "hint reader=1 source=library") >= 1000);
    assert_eq!(count(&log, "hint reader=2 source=library"), 1000);
    // The child reads what its parent disclosed: its reads are the parent's then.
    assert!(count(&log, "reference reader=1 ") >= 1000);
    // Each child went, and what it said with it: the first, the thirty, then their parent, and the run
    // as a whole.
    assert_eq!(count(&log, "reader-exited "), 1 + 30 + 2);
}

const REPEATS: &str = r#"
#include <foresee.h>
#include <unistd.h>
int main(void) {
    struct foresee_segment segments[3] = {{0, 4096}, {8192, 0}, {8191, 2}};
    foresee_hint_file("f");
    foresee_hint_segments("f", segments, 3);
    foresee_hint_repeat(1, 7);
    foresee_hint_repeat(2, 0);
    foresee_hint_repeat(9, 2);
    foresee_cancel();
    foresee_hint_repeat(1, 3);
    usleep(50000);
    return 0;
}
"#;

/// The words of a program that foresee does not know are guesses: they are forgotten when it speaks
/// for itself.
#[test]
fn who_speaks_is_not_guessed_at() {
    let Some(place) = compiled("random_reads", RANDOM_READS) else { return };
    place.write_blocks("f", 1000);
    let log = logged(&place, &["./random_reads", "f", "500"]);
    let at = |beginning: &str| log.iter().position(|line| line.starts_with(beginning));
    let forgotten = at("cancel reader=0 source=arguments").expect("they are forgotten");
    assert!(at("hint reader=0 source=arguments").is_some_and(|guessed| guessed < forgotten), "{log:?}");
    assert!(at("hint reader=1 source=library").is_some_and(|spoken| spoken > forgotten), "{log:?}");
    assert_eq!(count(&log[forgotten..], "hint reader=0 source=arguments"), 0, "{log:?}");
}

#[test]
fn repeats_and_cancels() {
    let place = Place::new();
    if !have("gcc") {
        return;
    }
    place.write("f", [1; 20_000]);
    let source = place.write("repeats.c", REPEATS);
    gcc(&place, &place.path("repeats"), &[source.to_str().unwrap(), "bindings/c/foresee.c", "-ldl"]);
    let log = logged(&place, &["./repeats"]);
    let after = |word: &'static str| move |line: &String| Some(line.split_once(word)?.1.to_owned());
    let hints: Vec<String> = log.iter().filter_map(after(" want=")).collect();
    assert_eq!(hints, ["all", "0+1", "1+2"]);
    let without_end = format!(" entries=3 passes={}", u64::MAX);
    let repeats: Vec<String> = log.iter().filter_map(after("repeat reader=1 source=library")).collect();
    assert_eq!(repeats, [" entries=2 passes=7", &without_end, " entries=3 passes=2", " entries=0 passes=3"]);
    let cancel = log.iter().position(|line| line.starts_with("cancel ")).unwrap();
    assert_eq!(count(&log[cancel..], "  fetch "), 0, "nothing is read ahead any more: {log:?}");
}

const LOOP: &str = r#"
#include <fcntl.h>
#include <foresee.h>
#include <stdio.h>
#include <unistd.h>
int main(void) {
    static struct foresee_segment segments[1000];
    static char block[4096];
    unsigned long sum = 0;
    for (int i = 0; i < 1000; i++) segments[i] = (struct foresee_segment){i * 617 % 1000 * 4096, 4096};
    foresee_hint_segments("f", segments, 1000);
    foresee_hint_repeat(1, 3);
    int fd = open("f", O_RDONLY);
    for (int i = 0; i < 3000; i++) {
        if (pread(fd, block, sizeof block, segments[i % 1000].offset) != sizeof block) return 1;
        sum = sum * 31 + block[i];
        usleep(200); // What is read again from the page cache is read quicker than anything is brought.
    }
    printf("%lu\n", sum);
    return 0;
}
"#;

#[test]
fn each_pass_is_read_ahead() {
    let place = Place::new();
    if !have("gcc") {
        return;
    }
    place.write_blocks("f", 1000);
    let source = place.write("loop.c", LOOP);
    gcc(&place, &place.path("loop"), &[source.to_str().unwrap(), "bindings/c/foresee.c", "-ldl"]);
    same(&place, &["./loop"]).with(0);
    place.make_cold();
    // Half of what a pass reads has room.
    let log = place.aside("log").display().to_string();
    let (ended, account) = place.account(&["--no-learn", "--no-words", "--memory", "2MiB", "--log", &log], &["./loop"]);
    ended.with(0);
    assert_told(&account);
    let log = events(&log);
    let reads: Vec<usize> = (0..log.len()).filter(|&at| log[at].starts_with("reference reader=1 ")).collect();
    for (number, pass) in reads.chunks(1000).enumerate() {
        let (before, during) = (&log[..pass[0]], &log[pass[0]..*pass.last().unwrap()]);
        let ahead = during.iter().filter(|it| it.ends_with("class=hinted")).count();
        // Where other programs want all processors it may step back, but not before it was tried.
        let says = |it: &&String| it.starts_with("suspend ");
        let suspended = before.iter().rfind(says).is_some_and(|it| it.ends_with("true"))
            || during.iter().any(|it| says(&it) && it.ends_with("true"));
        assert!(ahead > 0 || number > 0 && suspended, "nothing from read {} on: {account:#}", pass[0]);
    }
}

/// Reads a hundred files of three blocks twice, or once, all of them disclosed; before the last time
/// they are given up, and disclosed again: by itself after a program that tells nothing dropped
/// them, or by what it said of two passes after it dropped them itself.
const GIVEN_UP: &str = r#"
#include <fcntl.h>
#include <foresee.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILES = 100 };

static void hint(const char *name) {
    foresee_hint_file(name);
}

static void read_all(const char *name) {
    char buffer[3 * 4096];
    int fd = open(name, O_RDONLY);
    if (read(fd, buffer, sizeof buffer) != sizeof buffer) exit(1);
    close(fd);
}

static void drop(const char *name) {
    int fd = open(name, O_RDONLY);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}

static void each(void (*act)(const char *)) {
    char name[16];
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "f%d", i);
        act(name);
    }
}

int main(int count, char **words) {
    int repeats = count > 1 && strcmp(words[1], "repeats") == 0;
    each(hint);
    if (repeats) foresee_hint_repeat(FILES, 2);
    usleep(200000);
    if (count < 3) each(read_all);
    if (repeats)
        each(drop);
    else if (system("unset LD_PRELOAD; for file in f?*; do dd if=$file iflag=nocache count=0 status=none; done") != 0)
        return 1;
    if (!repeats) each(hint);
    usleep(200000);
    each(read_all);
    return 0;
}
"#;

#[test]
fn what_is_given_up_and_disclosed_again_is_brought_again() {
    let place = Place::new();
    if !have("gcc") || !have("dd") {
        return;
    }
    (0..100).for_each(|number| place.write_blocks(&format!("f{number}"), 3));
    let source = place.write("given_up.c", GIVEN_UP);
    gcc(&place, &place.path("given_up"), &[source.to_str().unwrap(), "bindings/c/foresee.c", "-ldl"]);
    // Of one pass it would be 300. What nobody reads is brought as far as a new reader is trusted: 64.
    for (how, at_least) in [(&["hints"][..], 450), (&["repeats"], 450), (&["hints", "unread"], 340)] {
        // It gives foresee a fifth of a second.
        in_time(|| {
            place.make_cold();
            let words: Vec<&str> = ["./given_up"].iter().chain(how).copied().collect();
            let (ended, account) = place.account(&["--no-learn", "--no-words", "--no-listings"], &words);
            ended.with(0);
            assert!(blocks_of(&account, "library", "fetched") >= at_least, "{how:?}: {account:#}");
        });
    }
}

#[test]
fn what_is_wrong_or_strange_harms_nobody() {
    let Some(place) = compiled("hostile", "crates/cli/tests/programs/hostile.c") else { return };
    place.write("f", support::lines_of(0, 5000));
    let said = same(&place, &["./hostile"]).with(0).out();
    let of =
        |call: &str| said.lines().find_map(|line| line.strip_prefix(call)).unwrap_or_else(|| panic!("{call}: {said}"));
    let (invalid, long) = (format!(": -1, errno {}", libc::EINVAL), format!(": -1, errno {}", libc::ENAMETOOLONG));
    assert_eq!(of("foresee_hint_file(NULL)"), invalid);
    assert_eq!(of("foresee_hint_segments(\"f\", NULL, 1)"), invalid);
    assert_eq!(of("foresee_hint_file(too_long)"), long);
    assert_eq!(said.lines().filter(|line| line.contains(": -1")).count(), 5, "{said}");
}

/// A name may lie across a network: who hints a thousand files must not wait a thousand times.
#[test]
fn no_name_is_looked_up_for_a_hint() {
    let Some(place) = compiled("unlooked", "crates/cli/tests/programs/unlooked.c") else { return };
    let said = end(Command::new(place.path("unlooked")), b"").with(0).out();
    assert!(said == "told\n" || said == "mounted\n", "{said}");
}

const PYTHON: &str = r#"
import foresee, os, random, sys
random.seed(7)
segments = [(random.randrange(20000) * 4096, 4096) for _ in range(5000)]
foresee.hint_segments("f", iter(segments))
with open("f", "rb", buffering=0) as f:
    print(sum(os.pread(f.fileno(), length, offset)[17] for offset, length in segments))
foresee.hint_file(b"absent")
foresee.hint_repeat(1, 3)
foresee.cancel()
if foresee.hints._library:
    for wrong in (lambda: foresee.hint_file(""), lambda: foresee.hint_file("x" * 5000), lambda: foresee.hint_file("\0"),
                  lambda: foresee.hint_segments("f", [(1, 2, 3)]), lambda: foresee.hint_segments("f", [(-1, 2)])):
        try:
            wrong()
            print("taken")
        except (OSError, ValueError, OverflowError) as error:
            print(type(error).__name__, end=" ")
    print()
print("active", foresee.is_active(), file=sys.stderr)
"#;

#[test]
fn python() {
    if !have("gcc") || !have("python3") {
        return;
    }
    // As `make install` puts it.
    let place = Place::new();
    let prefix = place.aside("prefix");
    let library = prefix.join("lib/libforesee.so");
    gcc(&place, &library, &["-shared", "-fPIC", "bindings/c/foresee.c", "-ldl"]);
    for (from, to) in [("foresee", "bin"), ("libforesee_preload.so", "lib/foresee")] {
        fs::create_dir_all(prefix.join(to)).unwrap();
        fs::copy(binary().with_file_name(from), prefix.join(to).join(from)).unwrap();
    }
    place.write_blocks("f", 20_000);
    let python = |mut command: Command| {
        place.make_cold();
        command.env("PYTHONPATH", root().join("bindings/python"));
        end(command, b"").with(0)
    };
    let nowhere = python(place.plain(&["python3", "-c", PYTHON]));
    assert_eq!(nowhere.err(), "active False\n");
    let mut command = place.plain(&["python3", "-c", PYTHON]);
    command.env("LD_LIBRARY_PATH", library.parent().unwrap());
    let installed = python(command);
    // Who has `foresee mount` running beside the tests speaks to that.
    let is_mounted = fs::read_to_string("/proc/self/mountinfo").unwrap().contains(" - fuse.foresee ");
    assert!(is_mounted || installed.err() == "active False\n", "{}", installed.err());
    let sum =
        installed.out().strip_suffix("OSError OSError ValueError ValueError OverflowError \n").unwrap().to_owned();
    assert_eq!(sum, nowhere.out());

    // Under foresee it is found beside the preload library.
    let account = place.aside("account.json").display().to_string();
    // What starts python may be all in memory, and foresee none the wiser until the program has waited.
    in_time(|| {
        let mut command = place.command(prefix.join("bin/foresee"));
        command.args(["run", "--no-learn", "--json", &account, "--", "python3", "-c", PYTHON]);
        let foreseen = python(command);
        assert_eq!((foreseen.out(), foreseen.err()), (installed.out(), "active True\n".to_owned()));
        let account = serde_json::from_slice(&fs::read(&account).unwrap()).unwrap();
        assert_told(&account);
    });
}

const NUMPY: &str = r#"
import foresee
try:
    import numpy
except ImportError:
    raise SystemExit("numpy is not installed")
segments = numpy.array([[0, 4096], [8192, 1], [4096, 10000]], dtype=numpy.uint64)
foresee.hint_segments("f", segments)
foresee.hint_segments("f", segments.astype(numpy.int32)[::2])
whole, address, count = foresee.hints._pairs(segments)
assert address == segments.ctypes.data and count == 3, "it was copied"
for wrong in (segments[0], segments[:, :1]):
    try:
        foresee.hint_segments("f", wrong)
        raise SystemExit("taken")
    except ValueError:
        pass
import time; time.sleep(0.05)
"#;

#[test]
fn numpy_arrays() {
    if !have("gcc") || !have("python3") {
        return;
    }
    let place = Place::new();
    place.write("f", [1; 20_000]);
    gcc(&place, &place.path("libforesee.so"), &["-shared", "-fPIC", "bindings/c/foresee.c", "-ldl"]);
    let log = place.aside("log").display().to_string();
    let mut command = place.run(&["--no-learn", "--log", &log], &["python3", "-c", NUMPY]);
    command.env("PYTHONPATH", root().join("bindings/python")).env("LD_LIBRARY_PATH", place.work());
    if let Some(path) = std::env::var_os("PYTHONPATH") {
        let ours = root().join("bindings/python");
        command.env("PYTHONPATH", std::env::join_paths([ours, path.into()]).unwrap());
    }
    let ended = end(command, b"");
    if ended.err().contains("not installed") {
        eprintln!("skipped: numpy is not installed");
        return;
    }
    ended.with(0);
    let log = events(&log);
    let hints = log.iter().filter_map(|line| line.split_once("source=library ")?.1.split_once("want="));
    assert_eq!(hints.map(|(_, want)| want).collect::<Vec<_>>(), ["0+1", "2+1", "1+3", "0+1", "1+3"]);
}
