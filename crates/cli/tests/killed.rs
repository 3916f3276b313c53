//! Whatever is killed, the program's output is right and nothing stays behind.

mod support;

use std::fs;

use support::process::kill;
use support::processes::{program_of, state_of, supervisor_of};
use support::{Place, Same, Under, end, have, lines_of, wait_until};

fn is_gone(pid: i32) -> bool {
    state_of(pid).is_none_or(|(state, _)| state == 'Z')
}

/// Reads files slowly, one after the other, and says which it reads.
const SLOWLY: &str = "for i in 0 1 2 3 4 5 6 7 8 9 10 11; do echo file $i; cat d/f$i; sleep 0.05; done; echo done";

#[test]
fn who_kills_what_was_started_kills_the_program() {
    let place = Place::new();
    place.write_lines(12, 3000);
    let whole = end(place.plain(&["sh", "-c", SLOWLY]), b"").with(0).out();
    // So that the later runs have a profile.
    end(place.run(&[], &["sh", "-c", SLOWLY]), b"").with(0);
    for (round, way) in ["", "threads", ""].into_iter().enumerate() {
        place.make_cold();
        let mut command = place.run(&[], &["sh", "-c", SLOWLY]);
        command.env("FORESEE_IO", way);
        let mut under = Under::way(command);
        let program = program_of(under.pid());
        // At different moments of the run.
        for _ in 0..round * 4000 {
            under.read_line();
        }
        kill(under.pid(), libc::SIGKILL);
        let (said, how) = under.finish();
        assert_eq!(how, "signal 9");
        assert!(whole.starts_with(&said) && said.len() < whole.len(), "the output differs");
        wait_until("the program has ended", || is_gone(program));
        place.assert_nothing_left();
    }
}

/// How a run of `SLOWLY` ended and what it said, whose supervisor got this signal.
fn without_its_supervisor(place: &Place, options: &[&str], signal: i32) -> (String, String) {
    let said = place.aside("said");
    let mut command = place.run(options, &["sh", "-c", SLOWLY]);
    command.stderr(fs::File::create(&said).unwrap());
    let under = Under::way(command);
    // It takes that name when it has begun.
    wait_until("there is a supervisor", || supervisor_of(under.pid()).is_some());
    kill(supervisor_of(under.pid()).unwrap(), signal);
    let (output, how) = under.finish();
    assert!(output == end(place.plain(&["sh", "-c", SLOWLY]), b"").with(0).out(), "the output differs");
    place.assert_nothing_left();
    (how, fs::read_to_string(&said).unwrap())
}

#[test]
fn what_was_asked_for_and_is_not_written_is_no_success() {
    let place = Place::new();
    place.write_lines(12, 100);
    let [json, log] = ["account", "log"].map(|name| place.aside(name).display().to_string());
    for option in [["--json", &json], ["--log", &log]] {
        let (how, said) = without_its_supervisor(&place, &option, libc::SIGKILL);
        assert_eq!(how, "status 125");
        assert!(said.contains("was killed (signal 9)") && said.contains("not written"), "{said}");
    }
    for (options, says) in [(&["--report"][..], true), (&[], false)] {
        let (how, said) = without_its_supervisor(&place, options, libc::SIGKILL);
        assert_eq!((how.as_str(), said.contains("was killed")), ("status 0", says), "{said}");
    }
}

#[test]
fn a_supervisor_that_stands_still_holds_nobody_up_for_long() {
    let place = Place::new();
    place.write_lines(12, 100);
    let (how, said) = without_its_supervisor(&place, &["--report"], libc::SIGSTOP);
    assert_eq!(how, "status 0");
    assert!(said.contains("did not come to an end"), "{said}");
}

#[test]
fn programs_begun_after_foresees_death_run_as_ever() {
    let place = Place::new();
    place.write_lines(3, 100);
    // They find a ring named in their environment that is no more. What was started ends with foresee.
    let script = "(echo ready; until [ -e go ]; do sleep 0.02; done; cat d/f0; sh -c 'cat d/f1; exec cat d/f2') & wait";
    let under = Under::way(place.run(&[], &["sh", "-c", script]));
    kill(under.pid(), libc::SIGKILL);
    wait_until("foresee is dead", || is_gone(under.pid()));
    place.write("go", "");
    let (said, _) = under.finish();
    assert_eq!(said.strip_prefix("ready\n").unwrap(), (0..3).map(|it| lines_of(it, 100)).collect::<String>());
    place.assert_nothing_left();
}

#[test]
fn foresee_ends_with_a_killed_program() {
    let place = Place::new();
    place.write_lines(12, 3000);
    for signal in [libc::SIGKILL, libc::SIGTERM, libc::SIGSEGV, libc::SIGABRT] {
        place.make_cold();
        let script = format!("ulimit -c 0; {SLOWLY}");
        let under = Under::way(place.run(&[], &["sh", "-c", &script]));
        let program = program_of(under.pid());
        kill(program, signal);
        let (_, how) = under.finish();
        assert_eq!(how, format!("signal {signal}"));
        wait_until("the program is gone", || state_of(program).is_none());
        place.assert_nothing_left();
    }
    assert!(place.stored().is_empty(), "what was cut short is no profile: {:?}", place.stored());
}

#[test]
fn a_program_killed_again_and_again_at_any_moment() {
    let place = Place::new();
    place.write_lines(12, 300);
    // Children die in the middle of what they tell foresee; the run goes on, and so does what is
    // learned from it.
    let script = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
            (while :; do cat d/f$((i % 12)); done >/dev/null 2>&1) & p=$!; sleep 0.0$i; kill -9 $p; wait $p 2>/dev/null
        done 2>/dev/null; cat d/*";
    let plain = end(place.plain(&["cat", "d/f0"]), b"").with(0);
    let (ended, account) = place.account(&[], &["sh", "-c", script]);
    assert!(ended.clone().with(0).out().starts_with(&plain.out()), "{ended:?}");
    assert_eq!(account["watched"], true);
    place.assert_nothing_left();
}

#[test]
fn descendants_outlive_the_command() {
    let place = Place::new();
    place.write_lines(4, 2000);
    let daemon = "until [ -e go ]; do sleep 0.02; done; cat d/f0 > out; sh -c \"cat d/f1 d/f2 >> out\"; cat d/f3 >> out; mv out ready";
    let script = format!("setsid sh -c '{daemon}' </dev/null >/dev/null 2>&1 & echo started; exit 5");
    let whole: String = (0..4).map(|it| lines_of(it, 2000)).collect();
    for killed in [false, true] {
        let under = match killed {
            false => Under::way(place.run(&[], &["sh", "-c", &script])),
            true => {
                let stay = format!("({script}); exec sleep 1000");
                let under = Under::way(place.run(&[], &["sh", "-c", &stay]));
                let program = program_of(under.pid());
                kill(under.pid(), libc::SIGKILL);
                wait_until("both are dead", || is_gone(under.pid()) && is_gone(program));
                under
            }
        };
        assert_eq!(under.wait(), if killed { "signal 9" } else { "status 5" });
        // While it becomes another program nothing is seen of what it has in its environment.
        wait_until("the daemon waits", || !place.processes().is_empty());
        place.write("go", "");
        wait_until("the daemon is done", || place.path("ready").exists());
        assert!(fs::read_to_string(place.path("ready")).unwrap() == whole, "the output differs");
        place.wait_for_all();
        fs::remove_file(place.path("go")).unwrap();
        fs::remove_file(place.path("ready")).unwrap();
    }
    place.assert_nothing_left();
}

#[test]
fn threads_that_outlive_a_fork_and_an_exec() {
    if !have("python3") {
        return;
    }
    let place = Place::new();
    place.write_lines(6, 2000);
    // Threads read all the time; meanwhile children are forked, and at last another program takes its
    // place.
    let program = "
import os, threading
def read(n):
    while True:
        with open(f'd/f{n}', 'rb') as f: f.read()
for n in range(4): threading.Thread(target=read, args=(n,), daemon=True).start()
for i in range(30):
    pid = os.fork()
    if pid == 0:
        with open(f'd/f{i % 6}', 'rb') as f: os._exit(len(f.read()) % 100)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
os.execvp('cat', ['cat', 'd/f5'])
";
    Same::python(&place, program).check().with(0);
    place.assert_nothing_left();
}
