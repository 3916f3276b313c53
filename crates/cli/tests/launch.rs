//! Who starts a program under foresee cannot tell it from the program: not by job control, signals,
//! descriptors, limits or status.

mod support;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use support::{Place, Under, end, have, is_root, kill, processes, wait_until};

/// A terminal with an interactive bash, to which lines are typed. Each line of the script is a mark
/// and what to type; a mark is waited for, as a line of its own, before the next is typed. ^C,
/// ^Z and ^D stand for themselves, \n ends a line.
const TERMINAL: &str = r#"
import os, pty, re, signal, sys
signal.alarm(50)
pid, terminal = pty.fork()
if pid == 0:
    os.environ.update(PS1='', PS2='', TERM='dumb')
    os.execvp('bash', ['bash', '--norc', '--noprofile', '--noediting', '-i'])
said = b''
def hear(mark):
    global said
    wanted = re.compile(rb'(^|\n)' + mark.encode() + rb'\r?\n')
    while not wanted.search(said):
        try: part = os.read(terminal, 1000)
        except OSError: part = b''
        if not part: sys.exit(f'the shell ended before {mark}: {said!r}')
        said += part
    said = said[wanted.search(said).end():]
def dead(*_):
    print('waited in vain for', mark, 'and heard', said, flush=True)
    os.kill(pid, 9)
    os._exit(1)
signal.signal(signal.SIGALRM, dead)
os.write(terminal, b'stty -echo; echo begun\n')
mark = 'begun'
hear(mark)
for step in sys.stdin.read().splitlines():
    mark, typed = step.split(' ', 1)
    special = {'^C': b'\x03', '^Z': b'\x1a', '^D': b'\x04'}.get(typed[:2])
    if special: os.write(terminal, special)
    rest = typed[2:].strip() if special else typed
    if rest: os.write(terminal, rest.replace('\\n', '\n').encode() + b'\n')
    hear(mark)
    print(mark, flush=True)
os.kill(pid, 9)
"#;

fn shell(place: &Place, foreseen: bool) -> std::process::Command {
    let word = if foreseen { format!("{} run -q --", support::binary().display()) } else { String::new() };
    let script = place.write("bin/r", format!("#!/bin/sh\nexec {word} \"$@\"\n"));
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = place.plain(&["python3", "-c", TERMINAL]);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", place.path("bin").display()));
    command
}

/// Types these lines, and waits for what they bring.
#[track_caller]
fn type_in(dialogue: &[(&str, &str)]) {
    if !have("bash") || !have("python3") {
        return;
    }
    let steps: String = dialogue.iter().map(|(mark, typed)| format!("{mark} {typed}\n")).collect();
    let marks: String = dialogue.iter().map(|(mark, _)| format!("{mark}\n")).collect();
    for foreseen in [false, true] {
        let place = Place::new();
        let ended = end(shell(&place, foreseen), steps.as_bytes());
        assert_eq!(ended.out(), marks, "foreseen: {foreseen}: {ended:?}");
        for pid in place.processes() {
            kill(pid, libc::SIGKILL);
        }
        place.assert_nothing_left();
    }
}

#[test]
fn a_program_that_stops_itself_gives_the_terminal_back() {
    type_in(&[
        ("prompt", "r sh -c 'kill -STOP $$; echo on; exit 7'; echo prompt"),
        ("stopped", "jobs -s | grep -q Stopped && echo stopped"),
        ("on", "fg; echo $?"),
        ("over", "echo over"),
    ]);
}

#[test]
fn a_terminal_stops_a_job_and_the_shell_lets_it_go_on() {
    type_in(&[
        ("asleep", "r sh -c 'echo asleep; exec sleep 1000'; echo $?"),
        ("148", "^Z"),
        ("suspended", "jobs -s | grep -q Stopped && echo suspended"),
        ("running", "bg; jobs -r | grep -q Running && echo running"),
        ("143", "kill %1; wait %1; echo $?"),
        // It reads from the terminal: in the background that stops it.
        ("reads", "r sh -c 'echo reads; exec cat'; echo $?"),
        ("text", "text"),
        ("148", "^Z"),
        ("waits", "bg; until jobs -s | grep -q Stopped; do sleep 0.02; done; echo waits"),
        ("more", "fg\\nmore"),
        ("over", "^D echo over"),
    ]);
}

#[test]
fn who_does_not_stop_at_the_terminals_word_keeps_the_terminal() {
    // What is typed next is the program's: if the shell had the terminal back, it would be a command.
    let script = "trap \"\" TSTP; echo deaf; until read -r line; do :; done; echo $line";
    type_in(&[("deaf", &format!("r bash -c '{script}'; echo over")), ("heard", "^Z heard"), ("still", "echo still")]);
}

#[test]
fn who_leaves_the_group_is_told_all_that_the_group_is() {
    type_in(&[
        ("asleep", "r timeout 99 sh -c 'echo asleep; exec sleep 81'; echo $?"),
        ("148", "^Z"),
        ("running", "bg; jobs -r | grep -q Running && echo running"),
        ("143", "kill %1; wait %1; echo $?"),
        ("asleep", "r timeout 99 sh -c 'echo asleep; exec sleep 81'"),
        ("over", "^C echo over"),
        // The terminal stays where it was.
        ("asleep", "r timeout 99 sh -c 'echo asleep; exec sleep 81'; echo $?"),
        ("148", "^Z"),
        ("on", "(sleep 0.3; echo on) & fg"),
        ("over", "^C echo over"),
        // As an outer one does, by name and by group.
        ("124", "timeout 0.5 r timeout 99 sleep 81; echo $?"),
        // A shell takes the terminal, and gives it back.
        ("inner", "where=outer; r bash --norc --noprofile --noediting -i\\nwhere=inner; echo $where"),
        ("outer", "suspend\\necho $where"),
        ("inner", "fg\\necho $where"),
        ("outer", "exit\\necho $where"),
        // It cannot have it in the background, and ends; the outer one goes on.
        ("inner", "where=outer; r bash --norc --noprofile --noediting -i\\nwhere=inner; echo $where"),
        ("outer", "suspend\\necho $where"),
        ("gone", "bg; wait; echo gone"),
        ("outer", "echo $where"),
        // One under the other.
        ("asleep", "r r r timeout 99 sh -c 'echo asleep; exec sleep 81'; echo $?"),
        ("148", "^Z"),
        ("on", "(sleep 0.3; echo on) & fg"),
        ("over", "^C echo over"),
    ]);
}

#[test]
fn what_has_a_session_of_its_own_outlives_the_terminal() {
    type_in(&[
        ("asleep", "r setsid -w sh -c 'echo asleep; sleep 1; echo > survived' & sleep 0.5"),
        ("survived", "kill -HUP %1; until test -e survived; do sleep 0.05; done; echo survived"),
    ]);
}

#[test]
fn who_leaves_the_group_in_a_script_has_left_it() {
    type_in(&[
        ("asleep", "sh -c 'r setsid -w sh -c \"echo asleep; sleep 1; echo > survived\"; true'"),
        ("survived", "^C until test -e survived; do sleep 0.05; done; echo survived"),
        ("asleep", "sh -c 'for i in 1 2; do r timeout 9 sh -c \"echo asleep; exec sleep 5\"; done'"),
        ("suspended", "^Z jobs -s | grep -q Stopped && echo suspended"),
        ("on", "(sleep 0.3; echo on) & fg"),
        ("over", "^C echo over"),
    ]);
}

/// Starts a command as what a terminal is for, types ^Z and then ^C, and says how it ended.
const ALONE: &str = r#"
import os, pty, signal, sys, time
signal.alarm(40)
pid, terminal = pty.fork()
if pid == 0: os.execvp(sys.argv[1], sys.argv[1:])
said = b''
while b'ready' not in said: said += os.read(terminal, 1000)
os.write(terminal, b'\x1a')
time.sleep(0.5)
os.write(terminal, b'\x03')
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

#[test]
fn whom_nobody_would_have_go_on_does_not_stop() {
    if !have("python3") {
        return;
    }
    let place = Place::new();
    let program = ["timeout", "60", "sh", "-c", "echo ready; exec sleep 30"];
    let ended = |under: &[&str]| {
        let command = place.plain(&[&["python3", "-c", ALONE], under, &program].concat());
        end(command, b"").with(0).out()
    };
    let binary = support::binary().display().to_string();
    assert_eq!(ended(&[&binary, "run", "-q", "--"]), ended(&[]));
    place.assert_nothing_left();
}

#[test]
fn in_a_new_namespace_of_processes_programs_run() {
    let place = Place::new();
    if !can_unshare(&place) {
        return;
    }
    let mut unshared = place.plain(&["unshare", "--pid"]);
    unshared.arg(support::binary()).args(["run", "-q", "--", "echo", "there"]);
    assert_eq!(end(unshared, b"").with(0).out(), "there\n");
}

/// Whether there can be a namespace of processes; says so if not.
fn can_unshare(place: &Place) -> bool {
    let unshared = ["unshare", "--pid", "--fork", "--mount-proc", "true"];
    let can = is_root() && have("unshare") && end(place.plain(&unshared), b"").how == "status 0";
    if !can {
        println!("skipped: there can be no other namespace of processes here");
    }
    can
}

#[test]
fn whichever_of_the_two_is_stopped_both_are() {
    let count = "while :; do echo x >> ticks; sleep 0.01; done";
    let stands = "until a=$(wc -l < ticks); sleep 0.1; [ $a = $(wc -l < ticks) ]; do :; done";
    let runs = "a=$(wc -l < ticks); until [ $a != $(wc -l < ticks) ]; do sleep 0.01; done";
    let (counts, stands, runs) = (
        format!("r sh -c 'echo $$ > pid; {count}' & until test -s ticks; do sleep 0.01; done; echo counts"),
        stands,
        runs,
    );
    // The one that the shell started, or the program itself; where they are two, nothing tells the one
    // of the other.
    for whom in ["$!", "$(cat pid)"] {
        type_in(&[
            ("counts", &counts),
            ("still", &format!("kill -STOP {whom}; {stands}; echo still")),
            ("stopped", "until jobs -s | grep -q Stopped; do sleep 0.01; done; echo stopped"),
            ("goes", &format!("kill -CONT {whom}; {runs}; echo goes")),
            ("running", "until jobs -r | grep -q Running; do sleep 0.01; done; echo running"),
            (
                "137",
                "kill -STOP $(cat pid); until jobs -s | grep -q Stopped; do sleep 0.01; done; kill -KILL $(cat pid); \
                    s=; until [ \"$s\" = 137 ]; do wait $! 2> /dev/null; s=$?; done; echo $s",
            ),
        ]);
    }
}

/// Says each signal it gets, until SIGTERM.
const SAYS_SIGNALS: &str = "
import os, signal, sys, time
def say(number, frame): os.write(1, (signal.Signals(number).name + chr(10)).encode())
names = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGALRM', 'SIGWINCH', 'SIGCONT', 'SIGIO', 'SIGTSTP']
for name in names: signal.signal(getattr(signal, name), say)
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(5))
print('ready', flush=True)
while True: time.sleep(0.01)
";

#[test]
fn each_signal_comes_once_whoever_is_sent_it() {
    if !have("python3") {
        return;
    }
    let place = Place::new();
    let signals = [
        (libc::SIGHUP, "SIGHUP"),
        (libc::SIGINT, "SIGINT"),
        (libc::SIGQUIT, "SIGQUIT"),
        (libc::SIGUSR1, "SIGUSR1"),
        (libc::SIGUSR2, "SIGUSR2"),
        (libc::SIGALRM, "SIGALRM"),
        (libc::SIGWINCH, "SIGWINCH"),
        (libc::SIGCONT, "SIGCONT"),
        (libc::SIGIO, "SIGIO"),
        (libc::SIGTSTP, "SIGTSTP"),
    ];
    for joined in [false, true] {
        let name = place.work().display().to_string().replace('/', "-");
        let options: &[&str] = if joined { &["--join", &name] } else { &[] };
        let mut under = Under::way(place.run(options, &["python3", "-c", SAYS_SIGNALS]));
        let mut sent = String::new();
        for round in 0..4 {
            for (number, name) in signals {
                // To the group, to foresee alone, to the program alone.
                let whom = match round % 3 {
                    0 => -under.pid(),
                    1 => under.pid(),
                    _ => processes::program_of(under.pid()),
                };
                kill(whom, number);
                sent += &format!("{name}\n");
                under.read_line();
                // Signals of one kind do not queue, and some void others: each is to be taken by all before the
                // next one.
                let pending = || place.processes().into_iter().any(processes::has_pending_signals);
                wait_until("all have taken it", || !pending());
                assert_eq!(under.said, format!("ready\n{sent}"), "joined: {joined}, round {round}");
            }
        }
        kill(-under.pid(), libc::SIGTERM);
        let (said, how) = under.finish();
        assert_eq!((said.as_str(), how.as_str()), (format!("ready\n{sent}").as_str(), "status 5"), "joined: {joined}");
        place.assert_nothing_left();
    }
}

#[test]
fn who_signals_us_and_then_the_group_means_one_signal() {
    if !have("python3") {
        return;
    }
    const ROUNDS: usize = 20;
    let place = Place::new();
    let mut under = Under::way(place.run(&[], &["python3", "-c", SAYS_SIGNALS]));
    for _ in 0..ROUNDS {
        // As `timeout` does, on a busy machine.
        kill(under.pid(), libc::SIGUSR1);
        thread::sleep(Duration::from_millis(1));
        kill(-under.pid(), libc::SIGUSR1);
        under.read_line();
        // Longer than the second one is waited for.
        thread::sleep(Duration::from_millis(30));
        kill(processes::program_of(under.pid()), libc::SIGUSR2);
        while !under.said.ends_with("SIGUSR2\n") {
            under.read_line();
        }
    }
    kill(-under.pid(), libc::SIGTERM);
    let (said, _) = under.finish();
    let twice = said.matches("SIGUSR1\n").count() - ROUNDS;
    // Who sends them may lose the processor between the two.
    assert!(twice <= ROUNDS / 4, "{twice} of {ROUNDS} came twice");
    place.assert_nothing_left();
}

#[test]
fn who_ends_all_foresees_ends_the_program_once() {
    let place = Place::new();
    let under =
        Under::way(place.run(&[], &["sh", "-c", "trap 'echo told' TERM; echo ready; while :; do sleep 0.02; done"]));
    // As pkill does, by name; here only those of this test.
    let named = |pid: &i32| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.contains("foresee"));
    let command = |pid: &i32| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|it| it.windows(7).any(|part| part == b"foresee"))
    };
    // Who has just been started is called so for a moment.
    let is_alone = || place.processes().iter().filter(|pid| named(pid) || command(pid)).eq([&under.pid()]);
    wait_until("the program alone is called so", is_alone);
    kill(under.pid(), libc::SIGTERM);
    let mut under = under;
    under.read_line();
    assert_eq!(under.said, "ready\ntold\n");
    kill(-under.pid(), libc::SIGKILL);
}

#[test]
fn where_it_is_process_1_no_orphan_is_left_unburied() {
    let place = Place::new();
    if !can_unshare(&place) {
        return;
    }
    let script = "i=0; while [ $i -lt 20 ]; do (sleep 0.1 &); i=$((i + 1)); done; sleep 0.3
        for turn in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
            dead=0; for it in /proc/[0-9]*/stat; do read -r _ _ state _ < $it && [ $state = Z ] && dead=$((dead + 1)); done
            [ $dead = 0 ] && exit 7; sleep 0.2
        done; echo $dead";
    let mut unshared = place.plain(&["unshare", "--pid", "--fork", "--mount-proc"]);
    unshared.arg(support::binary()).args(["run", "-q", "--", "sh", "-c", script]);
    let ended = end(unshared, b"");
    assert_eq!(ended.with(7).out(), "");
}

#[test]
fn what_the_program_closes_is_closed() {
    let place = Place::new();
    let script = "exec <&- >&- 2>&-; until test -e go; do sleep 0.02; done; exit 6";
    for options in [&[][..], &["-q"], &["--no-learn"]] {
        let mut command = place.run(options, &["sh", "-c", script]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = Vec::new();
        child.stdout.take().unwrap().read_to_end(&mut said).unwrap();
        child.stderr.take().unwrap().read_to_end(&mut said).unwrap();
        let mut input = child.stdin.take().unwrap();
        wait_until("nobody reads its input", || input.write_all(b"x").is_err());
        assert!(child.try_wait().unwrap().is_none(), "{options:?}");
        place.write("go", "");
        assert_eq!((child.wait().unwrap().code(), said.len()), (Some(6), 0), "{options:?}");
        fs::remove_file(place.path("go")).unwrap();
    }
    place.assert_nothing_left();
}

#[test]
fn a_lock_ends_with_its_owner() {
    if !have("flock") {
        return;
    }
    let place = Place::new();
    let name = place.work().display().to_string().replace('/', "-");
    // The program lets go of a lock that foresee has inherited as well; then foresee ends, and another
    // run keeps the supervisor.
    let foresee = support::binary().display();
    let script = format!(
        "exec 9>lock; flock 9; exec {foresee} run --join {name} -- sh -c 'exec 9>&-; echo; until test -e one; do sleep 0.02; done'"
    );
    let first = Under::way(place.plain(&["sh", "-c", &script]));
    let is_free = || end(place.plain(&["flock", "-n", "lock", "true"]), b"").how == "status 0";
    // The launcher lets go of it as soon as the program has started.
    wait_until("it is free while its owner's program runs", is_free);
    let second =
        Under::way(place.run(&["--join", &name], &["sh", "-c", "echo; until test -e two; do sleep 0.02; done"]));
    place.write("one", "");
    assert_eq!(first.finish().1, "status 0");
    assert!(is_free(), "when its owner is gone");
    place.write("two", "");
    assert_eq!(second.finish().1, "status 0");
    place.assert_nothing_left();
}

#[test]
fn without_its_library_the_command_runs_and_it_is_said_how_to_get_it() {
    let place = Place::new();
    let alone = place.aside("bin/foresee");
    fs::create_dir_all(alone.parent().unwrap()).unwrap();
    fs::copy(support::binary(), &alone).unwrap();
    let mut command = place.command(&alone);
    command.args(["run", "--", "echo", "ran"]);
    let ended = end(command, b"").with(0);
    assert_eq!((ended.out().as_str(), ended.err().lines().count()), ("ran\n", 1), "{ended:?}");
    for word in ["without foresee", "bin/libforesee_preload.so", "lib/foresee/libforesee_preload.so", "foresee-preload"]
    {
        assert!(ended.err().contains(word), "no '{word}': {ended:?}");
    }
}

/// systemd says whom it means by the number of what it started.
#[test]
fn who_is_meant_by_its_number_finds_its_own() {
    let place = Place::new();
    let told = "echo $((LISTEN_PID - $$)) $((WATCHDOG_PID - $$)) $((SYSTEMD_EXEC_PID)) ${LISTEN_PIDFDID-none}";
    let given = "export LISTEN_PID=$$ WATCHDOG_PID=$$ SYSTEMD_EXEC_PID=1 LISTEN_PIDFDID=7";
    let script = format!("{given}; exec {} run -q -- sh -c '{told}'", support::binary().display());
    let ended = end(place.plain(&["sh", "-c", &script]), b"").with(0);
    assert_eq!(ended.out(), "0 0 1 none\n");
}

#[test]
fn what_is_ours_is_not_in_the_programs_core() {
    let place = Place::new();
    let mapped = end(place.run(&["-q"], &["cat", "/proc/self/smaps"]), b"").with(0).out();
    let ring = mapped.lines().skip_while(|line| !line.contains("/memfd:foresee"));
    let flags = ring.skip(1).find(|line| line.starts_with("VmFlags:")).expect("a ring");
    assert!(flags.split(' ').any(|flag| flag == "dd"), "{flags}");
}

#[test]
fn that_a_core_was_dumped_is_in_the_status() {
    let place = Place::new();
    let script = "ulimit -c unlimited; kill -SEGV $$; sleep 10";
    let status = |mut command: std::process::Command| command.stderr(Stdio::null()).status().unwrap();
    let plain = status(place.plain(&["sh", "-c", script]));
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap();
    if !plain.core_dumped() || pattern.contains(['|', '/']) {
        eprintln!("skipped: cores are not dumped where a program runs");
        return;
    }
    let cores = || fs::read_dir(place.work()).unwrap().flatten().map(|entry| entry.path()).collect::<Vec<_>>();
    for core in cores() {
        fs::remove_file(core).unwrap();
    }
    assert_eq!(status(place.run(&["-q"], &["sh", "-c", script])), plain);
    assert_eq!(cores().len(), 1, "the program's own: {:?}", cores());
    assert!(fs::metadata(&cores()[0]).unwrap().len() > 65_536, "and not one of ours");
    // Where none is dumped, none is said to have been.
    let status = status(place.run(&["-q"], &["sh", "-c", "ulimit -c 0; kill -SEGV $$"]));
    assert!(!status.core_dumped() && status.signal() == Some(libc::SIGSEGV));
    place.assert_nothing_left();
}

#[test]
fn an_empty_word_is_named_where_it_is_no_program() {
    let ended = end(Place::new().run(&["-q"], &[""]), b"").with(127);
    assert_eq!(ended.err().lines().count(), 1, "{ended:?}");
    assert!(
        ended.err().contains("'': No such file or directory") && ended.err().contains("name a program"),
        "{ended:?}"
    );
}
