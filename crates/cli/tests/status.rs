//! Foresee ends as the command does, passes signals on, and says nothing of its own unless asked.

mod support;

use serde_json::Value;
use support::{Place, Same, Under, end, have, process, processes, same};

#[test]
fn the_status_passes_through() {
    let place = Place::new();
    for status in [0, 1, 2, 42, 125, 126, 127, 128, 255] {
        same(&place, &["sh", "-c", &format!("echo out; echo err >&2; exit {status}")]).with(status);
    }
}

#[test]
fn a_death_by_signal_is_ours_too() {
    let place = Place::new();
    for signal in [libc::SIGTERM, libc::SIGKILL, libc::SIGSEGV, libc::SIGINT, libc::SIGPIPE, libc::SIGABRT] {
        let ended = same(&place, &["sh", "-c", &format!("ulimit -c 0; kill -{signal} $$; sleep 10")]);
        assert_eq!(ended.how, format!("signal {signal}"));
        let script = format!("{} sh -c 'kill -{signal} $$' 2>/dev/null; echo $?", place.foresee_word());
        assert_eq!(end(place.plain(&["sh", "-c", &script]), b"").with(0).out(), format!("{}\n", 128 + signal));
    }
}

#[test]
fn commands_that_cannot_be_run() {
    let place = Place::new();
    place.write("text", "no program\n");
    let ended = end(place.run(&[], &["no-such-command", "x"]), b"").with(127);
    assert!(ended.err().starts_with("foresee: no-such-command: ") && ended.err().lines().count() == 1, "{ended:?}");
    let mistyped = end(place.run(&["--reprot"], &["true"]), b"").with(127);
    assert!(mistyped.err().contains("--help"), "{mistyped:?}");
    end(place.run(&[], &["./missing/program"]), b"").with(127);
    end(place.run(&[], &[""]), b"").with(127);
    for file in ["./text", "."] {
        let ended = end(place.run(&[], &[file]), b"").with(126);
        assert!(ended.err().contains(file), "{ended:?}");
    }
    // A script with an interpreter that is missing, one without any.
    for (contents, status) in [("#!/no/such/interpreter\n", 127), ("echo ran $0\n", 0)] {
        place.write("script", contents);
        end(place.plain(&["chmod", "+x", "script"]), b"").with(0);
        end(place.run(&[], &["./script"]), b"").with(status);
    }
    assert_eq!(place.stored().len(), 1, "only what ran is recorded: {:?}", place.stored());
    // Words that are foresee's own errors.
    for words in
        [&["run"][..], &["run", "--memory", "much", "--", "true"], &["run", "--policy", "best", "--", "true"], &["fly"]]
    {
        let ended = end(place.foresee(words), b"").with(2);
        assert!(!ended.stderr.is_empty());
    }
    let ended = end(place.run(&["--policy", "opt"], &["sh", "-c", "echo ran"]), b"").with(125);
    assert!(ended.stdout.is_empty() && ended.err().contains("foresee sim"), "nobody knows what will come: {ended:?}");
}

const COUNTS_SIGNALS: &str = "
import os, signal, sys, time
seen = []
for name in sys.argv[1:]:
    signal.signal(getattr(signal, name), lambda number, frame: seen.append(signal.Signals(number).name))
print('ready', os.getpid(), flush=True)
while not seen: time.sleep(0.02)
time.sleep(0.3)
print(' '.join(seen), flush=True)
sys.exit(7)
";

#[test]
fn signals_are_passed_on() {
    if !have("python3") {
        return;
    }
    let place = Place::new();
    place.write("counts.py", COUNTS_SIGNALS);
    for name in ["SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2"] {
        let under = Under::way(place.run(&[], &["python3", "counts.py", name]));
        let number = match name {
            "SIGTERM" => libc::SIGTERM,
            "SIGHUP" => libc::SIGHUP,
            "SIGINT" => libc::SIGINT,
            "SIGQUIT" => libc::SIGQUIT,
            "SIGUSR1" => libc::SIGUSR1,
            _ => libc::SIGUSR2,
        };
        process::kill(under.pid(), number);
        let (said, how) = under.finish();
        assert_eq!((said.lines().nth(1), how.as_str()), (Some(name), "status 7"));
    }
    // Unless the program minds, it ends by them, and so does foresee.
    for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGUSR1] {
        let under = Under::way(place.run(&[], &["sh", "-c", "echo; exec sleep 1000"]));
        process::kill(under.pid(), signal);
        assert_eq!(under.finish().1, format!("signal {signal}"));
    }
    place.assert_nothing_left();
}

#[test]
fn an_interrupt_to_the_group_ends_both() {
    let place = Place::new();
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGKILL] {
        // Not a shell that waits: what it does at a signal just before it forks is its own affair.
        let under = Under::way(place.run(&[], &["sh", "-c", "ulimit -c 0; echo; exec sleep 1000"]));
        process::kill(-under.pid(), signal);
        let (said, how) = under.finish();
        assert_eq!((said.as_str(), how), ("\n", format!("signal {signal}")));
        place.assert_nothing_left();
    }
}

#[test]
fn a_terminal_interrupts_the_program_once() {
    if !have("python3") {
        return;
    }
    let place = Place::new();
    place.write("counts.py", COUNTS_SIGNALS);
    // A terminal of our own, on which ^C is typed.
    let program = "
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0: os.execvp(sys.argv[1], sys.argv[1:])
said = b''
def more():
    global said
    try: part = os.read(terminal, 1000)
    except OSError: part = b''
    said += part
    return part
while b'ready' not in said or b'\\n' not in said: more()
os.write(terminal, b'\\x03')
while more(): pass
status = os.waitpid(pid, 0)[1]
print(said.decode())
print(os.waitstatus_to_exitcode(status))
";
    let foresee = support::binary().display().to_string();
    let words = ["python3", "-c", program, &foresee, "run", "--quiet", "--", "python3", "counts.py", "SIGINT"];
    let ended = end(place.plain(&words), b"").with(0);
    let lines: Vec<String> = ended.out().lines().map(|line| line.trim().replace("^C", "")).collect();
    assert_eq!(lines.iter().filter(|line| line.contains("SIGINT")).collect::<Vec<_>>(), ["SIGINT"], "{ended:?}");
    assert_eq!(lines.last().unwrap(), "7");
    // On a terminal the account is shown, unless it is not wanted.
    assert!(!ended.out().contains("foresee:"), "{ended:?}");
    let words = ["python3", "-c", program, &foresee, "run", "--", "python3", "counts.py", "SIGINT"];
    assert!(end(place.plain(&words), b"").with(0).out().contains("foresee: "));
    place.assert_nothing_left();
}

#[test]
fn a_stopped_run_goes_on() {
    let place = Place::new();
    place.write_lines(1, 10);
    let under = Under::way(place.run(&[], &["sh", "-c", "echo; sleep 0.3; cat d/f0"]));
    let pid = under.pid();
    process::kill(-pid, libc::SIGSTOP);
    support::wait_until("it stands still", || processes::state_of(pid).is_some_and(|(state, _)| state == 'T'));
    process::kill(-pid, libc::SIGCONT);
    assert_eq!(under.finish(), (format!("\n{}", support::lines_of(0, 10)), "status 0".to_owned()));
}

#[test]
fn nothing_is_said_unasked() {
    let place = Place::new();
    place.write_lines(3, 100);
    for options in [&[][..], &["--quiet"], &["-q", "--no-learn"], &["--no-words"], &["--memory", "1MiB"]] {
        let ended = end(place.run(options, &["cat", "d/f0", "d/f1"]), b"").with(0);
        assert_eq!(ended.err(), "", "{options:?}");
    }
    let ended = end(place.run(&["--report"], &["cat", "d/f0"]), b"").with(0);
    assert!(ended.err().lines().all(|line| line.starts_with("foresee: ")) && !ended.stderr.is_empty(), "{ended:?}");
    end(place.run(&["--report", "--quiet"], &["true"]), b"").with(2);
}

fn assert_type(value: &Value, key: &str, kind: &str) {
    let found = &value[key];
    let is = match kind {
        "number" => found.as_f64().is_some_and(|it| it >= 0.0),
        "count" => found.is_u64(),
        "count?" => found.is_u64() || found.is_null(),
        "bool" => found.is_boolean(),
        "text" => found.is_string(),
        "list" => found.is_array(),
        _ => found.is_object(),
    };
    assert!(value.get(key).is_some() && is, "{key} is no {kind} in {value:#}");
}

/// As a server does that goes into the background.
#[test]
fn what_outlives_the_command_is_named() {
    let place = Place::new();
    // It has begun by then.
    let script = "sleep 60 >/dev/null 2>&1 & sleep 1; echo $!";
    let (ended, account) = place.account(&["--report"], &["sh", "-c", script]);
    let sleeper = ended.out().trim().parse().unwrap();
    // SAFETY: no pointers; it began a moment ago and sleeps.
    unsafe { libc::kill(sleeper, libc::SIGKILL) };
    assert_eq!(account["going_on"], serde_json::json!(["sleep"]), "{account:#}");
    assert!(ended.err().contains("foreseen no more: sleep"), "{ended:?}");
    let (ended, account) = place.account(&["--report"], &["sh", "-c", "sleep 0 & wait"]);
    assert_eq!(account["going_on"], serde_json::json!([]), "{account:#}");
    assert!(!ended.err().contains("foreseen no more"), "{ended:?}");
}

#[test]
fn the_account_as_json() {
    let place = Place::new();
    place.write_lines(3, 100);
    let (_, account) = place.account(&[], &["cat", "d/f0", "d/f1"]);
    let keys = "elapsed_s number, status count, signal count?, watched bool, programs count, reads count, bytes count,
        stall_s number, prefetched object, profile_steps count?, manager object, records_lost count, suspended_s number, own_cpu_s number,
        own_memory_bytes count, start_up_s number, warnings list, going_on list";
    for (key, kind) in keys.split(',').filter_map(|it| it.trim().split_once(' ')) {
        assert_type(&account, key, kind);
    }
    let ahead = &account["prefetched"];
    for key in ["told", "guessed"] {
        for it in ["fetched", "timely", "late", "wasted", "cancelled"] {
            assert_type(&ahead[key], it, "count");
        }
    }
    for (key, kind) in [("by_source", "object"), ("bytes", "count"), ("method", "text")] {
        assert_type(ahead, key, kind);
    }
    assert_eq!((&account["status"], &account["signal"]), (&0.into(), &Value::Null));
    // As many bytes as were read, and then some for the program's own start.
    let read = support::lines_of(0, 100).len() + support::lines_of(1, 100).len();
    assert!(account["bytes"].as_u64().unwrap() >= read as u64, "{account:#}");
    assert!(place.account(&[], &["cat", "d/f0", "d/f1"]).1["profile_steps"].is_u64());
    let (ended, account) = place.account(&[], &["sh", "-c", "cat d/f0; kill -9 $$"]);
    assert_eq!((ended.how.as_str(), &account["status"], &account["signal"]), ("signal 9", &Value::Null, &9.into()));
    // To standard output it comes after the program's own.
    let ended = end(place.run(&["--json", "-"], &["echo", "{}"]), b"").with(0);
    let (first, rest) = ended.out().split_once('\n').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    assert_eq!(first, "{}");
    assert!(serde_json::from_str::<Value>(&rest).unwrap()["watched"].is_boolean());
    // What cannot be written is said before the program runs.
    for option in ["--json", "--log"] {
        let ended = end(place.run(&[option, "/no/such/file"], &["sh", "-c", "echo out; exit 3"]), b"").with(125);
        assert_eq!((ended.out().as_str(), ended.err().lines().count()), ("", 1), "{ended:?}");
        assert!(ended.err().contains(&format!("{option} /no/such/file: ")), "{ended:?}");
    }
    if std::path::Path::new("/dev/full").exists() {
        end(place.run(&["--json", "/dev/full"], &["sh", "-c", "exit 3"]), b"").with(3);
        let ended = end(place.run(&["--json", "/dev/full"], &["true"]), b"").with(125);
        assert!(ended.err().contains("--json /dev/full: "), "{ended:?}");
    }
}

#[test]
fn broken_pipes_and_hang_ups_are_the_programs_own() {
    if !have("bash") {
        return;
    }
    let place = Place::new();
    place.write_lines(1, 100_000);
    let foresee = place.foresee_word();
    for script in [
        "RUN yes | head -n 1; echo ${PIPESTATUS[0]}",
        "RUN cat d/f0 | head -n 1; echo ${PIPESTATUS[0]}",
        "trap '' PIPE; RUN yes 2>&1 >&3 | cat; echo ${PIPESTATUS[0]}; exec 3>&-",
        "trap '' PIPE; (RUN yes; echo $? >&2) 2>&1 >&3 3>&- | cat",
        "RUN sh -c 'kill -PIPE $$'; echo $?",
        "nohup RUN sh -c 'kill -HUP $$; echo alive' 2>/dev/null; echo $?",
        "RUN nohup sh -c 'kill -HUP $$; echo alive' 2>/dev/null; echo $?",
        "timeout --foreground -s TERM 0.3 RUN sh -c 'trap \"echo told; exit 4\" TERM; while :; do sleep 0.02; done'; echo $?",
        "timeout -s INT 0.3 RUN sleep 1000; echo $?",
        "RUN timeout 0.3 sleep 1000; echo $?",
        "RUN sh -c 'exec 2>&-; ls missing'; echo $?",
        "RUN sh -c 'echo x' > /dev/full; echo $?",
    ] {
        let script = format!("exec 3> >(head -n 2 >/dev/null); {script}");
        let plain = end(place.plain(&["bash", "-c", &script.replace("RUN ", "")]), b"");
        let foreseen = end(place.plain(&["bash", "-c", &script.replace("RUN", &foresee)]), b"");
        assert_eq!(foreseen, plain, "{script}");
    }
    let script = "sleep 0.1 & exit 3";
    Same::script(&place, script).check().with(3);
    place.assert_nothing_left();
}
