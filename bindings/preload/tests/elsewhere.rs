//! Programs that the library cannot be loaded into, or that run where the ring cannot be reached,
//! run as they would without it: with nothing on standard error, and the supervisor is told of
//! them.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{Ring, Said, compile, directory, library, note, reads_of, shipped};
use foresee_ring::{Record, Unseen};

fn with_data() -> PathBuf {
    let directory = directory();
    fs::write(directory.join("data"), vec![7; 5000]).unwrap();
    directory
}

fn have(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&path).any(|directory| directory.join(program).is_file());
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}

fn is_root() -> bool {
    // SAFETY: takes nothing and cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    if !is_root {
        eprintln!("skipped: not root");
    }
    is_root
}

/// Runs a command, whose output with the library must be what it is without. Returns that, and what
/// was said.
fn alike(directory: &Path, words: &[&str]) -> (String, Vec<Said>) {
    let mut ring = Ring::new();
    ring.region.look_from_outside();
    let outcome = |output: Output| {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status, text(&output.stdout), text(&output.stderr))
    };
    let plain = outcome(Command::new(words[0]).args(&words[1..]).current_dir(directory).output().unwrap());
    let watched = outcome(ring.command(words[0]).args(&words[1..]).current_dir(directory).output().unwrap());
    assert_eq!(watched, plain, "{words:?}");
    (plain.1, ring.said_past_holes())
}

fn unseen(said: &[Said]) -> Vec<(Unseen, &Path)> {
    let unseen = said.iter().filter_map(|said| match said.record {
        Record::ExecutesUnseen { why } => Some((why, said.path.as_path())),
        _ => None,
    });
    unseen.collect()
}

#[test]
fn programs_of_another_libc_start_and_are_seen() {
    if !have("musl-gcc") || !cfg!(target_arch = "x86_64") {
        return;
    }
    if shipped().is_none() {
        return eprintln!("skipped: of the library that ships, which FORESEE_TEST_LIBRARY names; others need glibc");
    }
    let directory = with_data();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/attention.c");
    let program = directory.join("program");
    let built = Command::new("musl-gcc").arg("-o").arg(&program).arg(source).status().unwrap();
    assert!(built.success());
    let (_, said) = alike(&directory, &["sh", "-c", "echo x | ./program; echo $?"]);
    assert!(reads_of(&said, "data").len() > 10, "{said:#?}");
    assert_eq!(unseen(&said), []);
}

/// A program for 32 bits; nothing, saying so, where that cannot be built.
fn foreign(directory: &Path) -> Option<PathBuf> {
    let (source, program) = (directory.join("foreign.c"), directory.join("foreign"));
    fs::write(
        &source,
        "#include <stdio.h>\n#include <stdlib.h>\nint main(void) { puts(getenv(\"LD_PRELOAD\") ? \"preloaded\" : \"-\"); }\n",
    )
    .unwrap();
    let built = Command::new("gcc").arg("-m32").arg("-o").arg(&program).arg(source).output().unwrap();
    if !built.status.success() {
        eprintln!("skipped: programs for 32 bits cannot be built (gcc-multilib)");
        return None;
    }
    Some(program)
}

#[test]
fn programs_of_another_word_size_hear_nothing_of_it_however_they_are_executed() {
    let directory = with_data();
    let Some(foreign) = foreign(&directory) else { return };
    fs::write(directory.join("script"), format!("#! {} x\n", foreign.display())).unwrap();
    fs::set_permissions(directory.join("script"), fs::Permissions::from_mode(0o755)).unwrap();
    let executes = compile("executes", &directory, &[]);
    let (out, said) = alike(&directory, &[executes.to_str().unwrap(), "foreign"]);
    assert_eq!(out.matches("-\n").count(), 9, "{out}");
    let told = unseen(&said);
    assert!(told.len() == 9 && told.iter().all(|it| it.0 == Unseen::Foreign && it.1.ends_with("foreign")), "{told:?}");
    let (_, said) = alike(&directory, &["sh", "-c", "./script; ./absent; true"]);
    assert_eq!(unseen(&said), [(Unseen::Foreign, Path::new("./script"))]);
}

#[test]
fn other_libraries_stay_preloaded() {
    let directory = with_data();
    let Some(_) = foreign(&directory) else { return };
    let others = "libc.so.6";
    let mut ring = Ring::new();
    let mut command = ring.command("sh");
    command.env("LD_PRELOAD", format!("{others}:{}", library().display()));
    let (output, _) = ring.run(command.args(["-c", "./foreign"]).current_dir(&directory));
    assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"preloaded\n"[..], &b""[..]));
}

/// A directory that a program can live in: itself, its dynamic linker and its libc.
fn root_for(program: &Path, directory: &Path) -> PathBuf {
    let root = directory.join("root");
    fs::create_dir_all(&root).unwrap();
    fs::copy(program, root.join("program")).unwrap();
    let listed = Command::new("ldd").arg(program).output().unwrap();
    for word in String::from_utf8_lossy(&listed.stdout).split_whitespace().filter(|word| word.starts_with('/')) {
        let to = root.join(&word[1..]);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(word, to).unwrap();
    }
    root
}

#[test]
fn nothing_is_said_in_a_root_of_its_own() {
    if !is_root() {
        return;
    }
    let directory = with_data();
    let program = compile("other_root", &directory, &[]);
    root_for(&program, &directory);
    let (out, said) = alike(&directory, &["chroot", "root", "/program"]);
    assert_eq!(out, "-\n");
    assert_eq!(unseen(&said), [(Unseen::Unreachable, Path::new("/program"))]);
}

#[test]
fn nothing_is_said_by_who_may_not_read_the_library() {
    if !is_root() || !have("setpriv") {
        return;
    }
    let directory = with_data();
    let private = directory.join("private");
    fs::create_dir(&private).unwrap();
    fs::set_permissions(&private, fs::Permissions::from_mode(0o700)).unwrap();
    fs::copy(library(), private.join("library.so")).unwrap();
    let mut ring = Ring::new();
    let mut command = ring.command("setpriv");
    command.env("LD_PRELOAD", private.join("library.so"));
    let (output, said) = ring.run(command.args(["--reuid", "65534", "--clear-groups", "true"]));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(unseen(&said).iter().any(|it| it.0 == Unseen::Unreachable && it.1.ends_with("true")), "{said:#?}");
}

#[test]
fn static_and_privileged_programs_are_named() {
    let directory = with_data();
    compile("reads", &directory, &["-static"]);
    let (_, said) = alike(&directory, &["sh", "-c", "./reads >/dev/null 2>&1; true"]);
    assert_eq!(unseen(&said), [(Unseen::Static, Path::new("./reads"))]);
    if !is_root() {
        return;
    }
    let privileged = directory.join("privileged");
    fs::copy("/bin/true", &privileged).unwrap();
    std::os::unix::fs::chown(&privileged, Some(65534), Some(65534)).unwrap();
    fs::set_permissions(&privileged, fs::Permissions::from_mode(0o4755)).unwrap();
    let (_, said) = alike(&directory, &["sh", "-c", "./privileged; true"]);
    assert_eq!(unseen(&said), [(Unseen::Privileged, Path::new("./privileged"))]);
}

/// However it is executed: a child of `vfork`, in its parent's memory, goes by its own number.
#[test]
fn programs_whose_environment_is_without_the_library_are_named() {
    let directory = with_data();
    for bare in ["env -i", "env -u LD_PRELOAD", "env -u FORESEE_RING"] {
        let (_, said) = alike(&directory, &["sh", "-c", &format!("{bare} cat data; {bare} ./absent; true")]);
        let told = unseen(&said);
        assert!(matches!(told[..], [(Unseen::Bare, path)] if path.ends_with("cat")), "{bare}: {told:?}");
        assert_eq!(reads_of(&said, "data"), []);
    }
    let script = "import os, sys\nfor _ in range(2): os.waitpid(os.posix_spawn(sys.argv[1], sys.argv[1:], {}), 0)";
    for static_too in [false, true] {
        let program = if static_too { compile("reads", &directory, &["-static"]) } else { "/bin/true".into() };
        let words = ["python3", "-c", script, program.to_str().unwrap(), "data"];
        let (_, said) = alike(&directory, &words);
        let why = if static_too { Unseen::Static } else { Unseen::Bare };
        assert_eq!(unseen(&said), [(why, program.as_path()); 2]);
        let announced = said.iter().filter(|said| matches!(said.record, Record::ExecutesUnseen { .. }));
        let children: BTreeSet<u32> = announced.map(|said| said.stamp.pid).collect();
        let parent = said[0].stamp.pid;
        assert!(children.len() == 2 && !children.contains(&parent), "{children:?} of {parent}");
        for child in children {
            let is_its = |said: &Said| matches!(said.record, Record::Forked { parent: of, .. } if of == parent);
            assert!(said.iter().any(|said| said.stamp.pid == child && is_its(said)), "{said:#?}");
        }
    }
}

/// Go's programs have a note of that name, and a dynamic linker if they have parts in C.
#[test]
fn programs_that_make_their_system_calls_themselves_say_so_and_no_more() {
    let directory = with_data();
    for (name, is_silent) in [("Go", true), ("Gone", false), ("GNU", false)] {
        let note = note(&directory, name);
        let program = compile("attention", &directory, &[note.to_str().unwrap()]);
        let (_, said) = alike(&directory, &["sh", "-c", "echo x | ./attention; cat data; true"]);
        let told = unseen(&said);
        assert_eq!(told, if is_silent { vec![(Unseen::OwnCalls, Path::new("./attention"))] } else { vec![] });
        let reader =
            said.iter().find(|it| matches!(it.record, Record::Executed { .. }) && it.path.ends_with("attention"));
        let pid = reader.unwrap().stamp.pid;
        let reads = said.iter().filter(|it| it.stamp.pid == pid && matches!(it.record, Record::Read { .. })).count();
        assert_eq!(reads == 0, is_silent, "{name}: {reads}");
        assert!(!reads_of(&said, "data").is_empty(), "others tell as ever");
        fs::remove_file(program).unwrap();
    }
}

/// As where a trace is written: what went through libc would be lost.
#[test]
fn where_nobody_looks_from_outside_they_tell_what_goes_through_libc() {
    let directory = with_data();
    let note = note(&directory, "Go");
    compile("attention", &directory, &[note.to_str().unwrap()]);
    let mut ring = Ring::new();
    let mut command = ring.command("sh");
    let (_, said) = ring.run(command.args(["-c", "echo x | ./attention; true"]).current_dir(&directory));
    assert_eq!(unseen(&said), []);
    assert!(reads_of(&said, "data").len() > 10, "{said:#?}");
}

/// However it began: a child of `clone`'s is not known to be one.
#[test]
fn a_silent_programs_child_makes_no_call_but_its_own() {
    let directory = with_data();
    let apart = directory.join("static");
    fs::create_dir(&apart).unwrap();
    let (program, executed) = (compile("silent_child", &directory, &[]), compile("silent_child", &apart, &["-static"]));
    for way in ["fork", "clone"] {
        let (out, _) = alike(&directory, &[program.to_str().unwrap(), executed.to_str().unwrap(), way]);
        assert_eq!(out, "runs\n", "{way}");
    }
}

#[test]
fn a_strangers_descriptor_is_not_opened() {
    use std::os::fd::AsRawFd;
    let directory = with_data();
    let fifo = directory.join("fifo");
    let made = Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    let held = fs::File::options().read(true).write(true).open(&fifo).unwrap();
    let ours = |flags: &str| format!("/proc/{}/fd/{}{flags}", std::process::id(), held.as_raw_fd());
    for name in ["", ":foresee-test", ":"] {
        let mut command = Command::new("strace");
        if !have("strace") {
            return;
        }
        command.args(["-f", "-e", "trace=openat,open", "cat", "data"]).current_dir(&directory);
        let output = command.env("LD_PRELOAD", library()).env("FORESEE_RING", ours(name)).output().unwrap();
        let calls = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(calls.contains("\"data\"") && !calls.contains("/proc/"), "{calls}");
    }
}

/// Processes of several PID namespaces have different numbers, those that their supervisor knows
/// them by.
#[test]
fn processes_of_other_pid_namespaces_are_told_apart() {
    let usable = |it: &Output| it.status.success();
    let mut tried = Command::new("unshare");
    if !tried.args(["--pid", "--fork", "true"]).output().is_ok_and(|it| usable(&it)) {
        return eprintln!("skipped: no PID namespace can be made");
    }
    let directory = with_data();
    let mut ring = Ring::new();
    let script =
        "unshare --pid --fork sh -c 'cat data; cat data' & unshare --pid --fork sh -c 'cat data; cat data'; wait";
    let mut command = ring.command("sh");
    let (_, said) = ring.run(command.args(["-c", script]).current_dir(&directory));
    let read = said.iter().filter(|said| matches!(said.record, Record::Read { got: 5000, .. }));
    let readers: BTreeSet<u32> = read.map(|said| said.stamp.pid).collect();
    assert!(readers.len() == 4 && readers.first() > Some(&100), "{readers:?}");
    assert_eq!(reads_of(&said, "data").iter().filter(|read| read.2 == 5000).count(), 4);
    let slots: Vec<u32> = (0..foresee_ring::PROCESS_SLOTS as u32).filter_map(|slot| ring.region.owner(slot)).collect();
    assert!(slots.iter().all(|pid| *pid > 100), "{slots:?}");
}

/// One that cannot see the supervisor's `/proc` does not open whatever lies in its place.
#[test]
fn in_a_pid_namespace_of_its_own_nothing_is_told() {
    let script = ["--pid", "--fork", "--mount-proc", "cat", "data"];
    let directory = with_data();
    if !Command::new("unshare").args(script).current_dir(&directory).output().is_ok_and(|it| it.status.success()) {
        return eprintln!("skipped: no PID namespace with a /proc can be made");
    }
    let (_, said) = alike(&directory, &[&["unshare"][..], &script].concat());
    assert_eq!(reads_of(&said, "data"), []);
    assert!(unseen(&said).iter().any(|it| it.0 == Unseen::Unreachable && it.1.ends_with("cat")), "{said:#?}");
}

/// One that asks for no more rights is told nothing of afterwards, nor are its children, which are in
/// namespaces of their own here; but what they execute is.
#[test]
fn what_a_sandbox_executes_is_named() {
    let words = ["bwrap", "--unshare-pid", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "cat", "data"];
    let directory = with_data();
    if !Command::new(words[0]).args(&words[1..]).current_dir(&directory).output().is_ok_and(|it| it.status.success()) {
        return eprintln!("skipped: no bwrap here, or it may not");
    }
    let (_, said) = alike(&directory, &words);
    assert!(unseen(&said).iter().any(|it| it.0 == Unseen::Unreachable && it.1.ends_with("cat")), "{said:#?}");
}

#[test]
fn valgrind_finds_no_fault() {
    if !have("valgrind") {
        return;
    }
    let directory = with_data();
    let (_, said) = alike(&directory, &["valgrind", "-q", "--error-exitcode=9", "cat", "data"]);
    assert_eq!(reads_of(&said, "data").first().map(|read| read.2), Some(5000));
}

#[test]
fn programs_that_give_up_the_time_stamp_counter_live() {
    let directory = with_data();
    let program = compile("no_clock", &directory, &["-ldl"]);
    for way in ["prctl", "syscall"] {
        let (out, _) = alike(&directory, &[program.to_str().unwrap(), way]);
        assert!(out.ends_with("over\n"), "{out}");
    }
    // The kernel takes it away from who may but read, write and end.
    let (out, _) = alike(&directory, &[program.to_str().unwrap(), "strict"]);
    assert!(out.ends_with("over\n"), "{out}");
}
