//! Advice: programs say which of their own pages go first, by themselves or through a file.

mod support;

use std::process::Command;

use serde_json::Value;
use support::library::python;
use support::{Place, end, have};

const LRU_SP: [&str; 4] = ["--no-learn", "--no-words", "--policy", "lru-sp"];

/// What the account says of a program.
fn program<'a>(account: &'a Value, name: &str) -> &'a Value {
    let programs = account["by_program"].as_array().unwrap();
    programs.iter().find(|it| it["name"] == name).unwrap_or_else(|| panic!("no {name} in {account:#}"))
}

/// Four passes over a file of 8 MiB, of which half has room, each by a process of its own.
fn missed(place: &Place, advice: &[&str]) -> u64 {
    let options = [&LRU_SP[..], &["--memory", "4MiB"], advice].concat();
    let (ended, account) =
        place.account(&options, &["sh", "-c", "for i in 1 2 3 4; do cat f; done | cksum; cat f | cksum"]);
    assert_eq!(ended.with(0).err(), "");
    assert_eq!((&account["warnings"], &program(&account, "cat")["executions"]), (&Value::Array(vec![]), &5.into()));
    program(&account, "cat")["missed_blocks"].as_u64().unwrap()
}

#[test]
fn a_file_of_advice_keeps_part_of_a_loop() {
    let place = Place::new();
    place.write_blocks("f", 2048);
    place.write("advice", "# read again and again\nfile f 3\nlevel 3 mru\n");
    assert_eq!(missed(&place, &[]), 5 * 2048);
    // 1,024 pages, of which the last of a pass makes room: N - C a pass, but for a read's blocks at the
    // ends.
    let advised = missed(&place, &["--advice", "advice"]);
    assert!((6 * 1024..6 * 1024 + 5 * 64).contains(&advised), "{advised}");
}

/// What is read once goes before what another file's priority keeps, and before what was read
/// earlier.
#[test]
fn what_is_read_once_makes_room() {
    let place = Place::new();
    place.write_blocks("kept", 512);
    place.write_blocks("stream", 4096);
    let missed = |lines: &str| {
        place.write("advice", lines);
        let options = [&LRU_SP[..], &["--memory", "4MiB", "--advice", "advice"]].concat();
        let (ended, account) = place.account(&options, &["cat", "kept", "stream", "kept"]);
        ended.with(0);
        program(&account, "cat")["missed_blocks"].as_u64().unwrap()
    };
    assert_eq!(missed("once nothing\n"), 512 + 4096 + 512);
    assert_eq!(missed("once stream\n"), 512 + 4096);
    // The simulator says the same of the same reads.
    end(place.foresee(&["record", "-o", "trace", "--", "cat", "kept", "stream", "kept"]), b"").with(0);
    let words = ["sim", "trace", "--policy", "lru-sp", "--cache", "4MiB", "--advice", "advice", "--json"];
    let cells: Value = serde_json::from_slice(&end(place.foresee(&words), b"").with(0).stdout).unwrap();
    assert_eq!((&cells[0]["policy"], &cells[0]["misses"]), (&"lru-sp".into(), &(512 + 4096).into()));
}

/// Who wants LRU gives up nothing of what it reads for what it only wrote.
#[test]
fn what_is_written_counts_where_its_program_wants_another_order_than_lru() {
    let place = Place::new();
    place.write_blocks("f", 64);
    let references = |lines: &str| {
        place.write("advice", lines);
        let options = [&LRU_SP[..], &["--memory", "4MiB", "--advice", "advice"]].concat();
        let (ended, account) = place.account(&options, &["dd", "if=f", "of=g", "bs=4096", "status=none"]);
        ended.with(0);
        account["manager"]["references"].as_u64().unwrap()
    };
    assert_eq!(references("level 0 lru\n"), 64);
    for lines in ["level 0 mru\n", "file g -1\n", "once f\n"] {
        assert_eq!(references(lines), 64 + 64, "{lines}");
    }
}

#[test]
fn advice_means_a_policy_that_takes_it() {
    let place = Place::new();
    place.write_blocks("f", 16);
    place.write("advice", "level 0 mru\n");
    let log = place.aside("log").display().to_string();
    end(place.run(&["--advice", "advice", "--log", &log], &["cat", "f"]), b"").with(0);
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(
        text.lines().next().unwrap().contains("policy=informed:keep=lru-sp") && text.contains("set-policy"),
        "{text}"
    );
    end(place.foresee(&["replay", &log]), b"").with(0);
    let refused = end(place.run(&["--advice", "advice", "--policy", "lru"], &["cat", "f"]), b"").with(125);
    assert_eq!(
        (refused.err().as_str(), refused.out().len()),
        ("foresee: policy lru takes no advice; lru-sp does\n", 0)
    );
}

#[test]
fn a_bad_file_of_advice_is_named() {
    let place = Place::new();
    place.write("advice", "level 0 fifo\n");
    for (file, why) in [("advice", "line 1: 'level 0 fifo' has no policy"), ("absent", "No such file")] {
        let ended = end(place.run(&["--advice", file], &["true"]), b"");
        let said = ended.with(2).err();
        assert!(said.contains(file) && said.contains(why), "{said}");
    }
}

const CALLS: &str = r#"
import errno, os
import foresee

foresee.manage_caching()
foresee.set_priority("f", -3)
foresee.set_policy(-3, "mru")
print(foresee.get_priority("f"), foresee.get_priority("g"), foresee.get_policy(-3), foresee.get_policy(0))
foresee.set_temporary_priority("f", 0, 1 << 20, 7)
foresee.set_priority(os.path.abspath("f"), 4)
print(foresee.get_priority("f"))
try:
    for priority in range(40):
        foresee.set_priority(f"x{priority}", priority)
except OSError as error:
    print(errno.errorcode[error.errno], error.filename, foresee.get_priority(error.filename))
foresee.set_temporary_priority("f", 0, 0, 1)
try:
    # Somebody has to have refused the last one by the time of the next.
    foresee.get_priority("f")
    foresee.set_temporary_priority("f", 0, 4096, 1)
except OSError as error:
    print(errno.errorcode[error.errno])
foresee.give_up_control()
print(foresee.get_priority("f"), foresee.get_policy(-3))
for wrong in (lambda: foresee.set_policy(0, "fifo"), lambda: foresee.set_priority("f", 1 << 40)):
    try:
        wrong()
        print("taken")
    except (OverflowError, ValueError) as error:
        print(type(error).__name__)
"#;

#[test]
fn the_calls_are_answered() {
    let place = Place::new();
    place.write_blocks("f", 256);
    place.write_blocks("g", 1);
    let Some(command) = python(&place, place.run(&[&LRU_SP[..], &["--report"]].concat(), &[""; 0]), CALLS) else {
        return;
    };
    let ended = end(command, b"").with(0);
    let said = "-3 0 mru lru\n4\nENOSPC x31 0\nERANGE\n0 lru\nValueError\nOverflowError\n";
    assert_eq!(ended.out(), said, "{}", ended.err());
    assert!(ended.err().contains("advice of python3 was not taken: as many priorities are in use as may be"));
}

const WRONG: &str = r#"
import errno, os
import foresee

foresee.set_policy(0, "mru")
f = os.open("f", os.O_RDONLY)
for block in range(1, 1024):
    os.pread(f, 4096, block * 4096)
    os.pread(f, 4096, (block - 1) * 4096)
# Foresee is behind.
try:
    while foresee.get_policy(0) == "mru":
        pass
    foresee.set_policy(0, "mru")
    print("taken")
except OSError as error:
    print(errno.errorcode[error.errno])
"#;

#[test]
fn who_advises_badly_loses_control_and_is_told() {
    let place = Place::new();
    place.write_blocks("f", 1024);
    let options = [&LRU_SP[..], &["--memory", "1MiB", "--report"]].concat();
    let Some(command) = python(&place, place.run(&options, &[""; 0]), WRONG) else { return };
    let ended = end(command, b"").with(0);
    assert_eq!(ended.out(), "EPERM\n", "{}", ended.err());
    assert!(ended.err().contains("python3 lost control of its own pages"), "{}", ended.err());
}

const IN_C: &str = r#"
#include <errno.h>
#include <foresee.h>
#include <stdio.h>

int main(void)
{
    int priority = 9;
    enum foresee_policy policy = FORESEE_MRU;
    int set = foresee_set_priority("f", 2), why = errno;
    printf("%d %d\n", set, set ? why : 0);
    int temporary = foresee_set_temporary_priority("f", 0, UINT64_MAX, -1);
    int got = foresee_get_priority("f", &priority), got_policy = foresee_get_policy(1, &policy);
    printf("%d %d %d %d %d\n", temporary, got, priority, got_policy, policy);
    errno = 0;
    printf("%d", foresee_get_priority("f", NULL));
    printf(" %d", foresee_set_policy(0, (enum foresee_policy)5));
    printf(" %d %d\n", foresee_set_priority("", 1), errno == EINVAL);
    return 0;
}
"#;

#[test]
fn in_c_with_and_without_somebody_who_takes_advice() {
    let place = Place::new();
    let source = place.write("calls.c", IN_C).display().to_string();
    let Some(place) = have("gcc").then_some(place) else { return };
    support::library::gcc(&place, &place.path("calls"), &[&source, "bindings/c/foresee.c", "-ldl"]);
    let said = |command: Command| end(command, b"").with(0).out();
    let wrong = "-1 -1 -1 1\n";
    assert_eq!(said(place.plain(&["./calls"])), format!("0 0\n0 0 0 0 0\n{wrong}"));
    assert_eq!(said(place.run(&LRU_SP, &["./calls"])), format!("0 0\n0 0 2 0 0\n{wrong}"));
    let refused = said(place.run(&["--no-learn"], &["./calls"]));
    assert_eq!(refused, format!("-1 {}\n0 -1 0 -1 0\n{wrong}", libc::ENOTSUP));
}
