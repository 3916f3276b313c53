//! What is printed where nobody takes it, and what is written where it cannot be: no command
//! panics, and no file is half there.

mod support;

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use support::{Ended, Place, end};

/// A place with a trace, a profile and a log.
fn prepared() -> Place {
    let place = Place::new();
    place.write_lines(4, 600);
    end(place.run(&["--log", "log"], &["cat", "d/f0", "d/f1"]), b"").with(0);
    end(place.foresee(&["record", "-o", "t.parquet", "--", "cat", "d/f0", "d/f1", "d/f0"]), b"").with(0);
    place
}

/// Every command that prints, as it is to be run in a prepared place.
fn printing(place: &Place) -> Vec<Vec<String>> {
    let profile = place.stored()[0].file_stem().unwrap().to_str().unwrap().to_owned();
    let file = place.path("d/f0").display().to_string();
    [
        "sim t.parquet -p lru -c 10",
        "sim t.parquet -p lru -c 10 --json",
        "sim t.parquet -p lru -c 10 --csv",
        "sim t.parquet -p lru -c 10 --device hp2247",
        "sim --list",
        "trace info t.parquet",
        "trace info t.parquet --json",
        "trace formats",
        "trace convert t.parquet out --to blocks",
        "trace convert t.parquet - --to blocks",
        "paper",
        "paper 001 --quick",
        "explain t.parquet --at 1",
        &format!("explain t.parquet --block {file}:0"),
        "explain log --at 1",
        "advise t.parquet --memory 40K -p lru",
        "advise t.parquet --memory 40K -p lru --json",
        "replay log",
        "profile list",
        "profile list --json",
        &format!("profile show {profile}"),
        "--help",
        "sim --help",
        "help trace",
        "--version",
    ]
    .iter()
    .map(|line| line.split(' ').map(str::to_owned).collect())
    .collect()
}

fn printed_to(place: &Place, words: &[String], output: Stdio) -> Ended {
    let mut command = place.foresee(words);
    let ended = command.stdin(Stdio::null()).stdout(output).stderr(Stdio::piped()).output().unwrap();
    let signal = std::os::unix::process::ExitStatusExt::signal(&ended.status);
    let how = signal.map_or_else(|| format!("status {}", ended.status.code().unwrap()), |it| format!("signal {it}"));
    Ended { how, stdout: ended.stdout, stderr: ended.stderr }
}

#[test]
fn a_full_standard_output_is_an_error_of_one_line() {
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        println!("skipped: there is no /dev/full");
        return;
    };
    let place = prepared();
    for words in printing(&place) {
        let ended = printed_to(&place, &words, full.try_clone().unwrap().into());
        let said = ended.err();
        let last = said.lines().last().unwrap_or("");
        assert_eq!(ended.how, "status 2", "{words:?}: {ended:?}");
        // 'paper' says beforehand where its plots are.
        assert!(said.lines().count() == 1 || words[0] == "paper", "{words:?}: {said}");
        assert!(last.starts_with("foresee: ") && last.contains("No space left"), "{words:?}: {said}");
        assert!(last.contains("standard output"), "{words:?}: {said}");
    }
}

#[test]
fn without_standard_output_nothing_is_taken_for_printed() {
    let place = prepared();
    for words in printing(&place) {
        let said = without_output(place.foresee(&words)).with(2).err();
        let last = said.lines().last().unwrap_or("");
        assert!(last.starts_with("foresee: ") && last.ends_with("standard output is closed"), "{words:?}: {said}");
    }
    // Of a run that is known before.
    let ended = without_output(place.run(&["--json", "-"], &["touch", "ran"])).with(125);
    assert_eq!(ended.err(), "foresee: --json -: standard output is closed\n");
    assert!(!place.path("ran").exists());
    // It matters to nobody else.
    without_output(place.run(&["-q"], &["touch", "ran"])).with(0);
    assert!(place.path("ran").exists());
}

/// Runs a command whose standard output is closed.
fn without_output(mut command: Command) -> Ended {
    // SAFETY: the process is about to be another program, and uses nothing of this one's.
    unsafe {
        command.pre_exec(|| {
            libc::close(libc::STDOUT_FILENO);
            Ok(())
        })
    };
    end(command, b"")
}

#[test]
fn a_closed_standard_output_is_none() {
    let place = prepared();
    for words in printing(&place) {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = printed_to(&place, &words, writer.into());
        assert!(["signal 13", "status 0"].contains(&ended.how.as_str()), "{words:?}: {ended:?}");
        assert!(ended.stderr.is_empty() || words[0] == "paper", "{words:?}: {ended:?}");
    }
}

/// Nothing but these is there.
fn assert_only(place: &Place, names: &[&str]) {
    let mut found: Vec<String> = fs::read_dir(place.path("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "d")
        .collect();
    found.sort();
    assert_eq!(found, names);
}

#[test]
fn outputs_are_looked_at_before_the_work() {
    let place = Place::new();
    // A trace that is none: what is said first tells what was looked at first.
    place.write("bad.trc", "nothing\n");
    place.write("folder/file", "");
    for line in [
        "sim bad.trc --json OUT",
        "sim bad.trc --csv OUT",
        "advise bad.trc --json OUT",
        "plot bad.trc -o OUT",
        "plot bad.trc -o page.html --png OUT",
        "trace info bad.trc --json OUT",
        "trace convert bad.trc OUT",
        "paper 001 --json OUT",
        "paper 001 --plot OUT",
        "run --json OUT -- echo ran",
        "run --log OUT -- echo ran",
        "run --compare 1 --json OUT -- echo ran",
        "record -o OUT -- echo ran",
    ] {
        for out in ["missing/x", "folder"] {
            let line = line.replace("OUT", out);
            let words: Vec<&str> = line.split(' ').collect();
            let ended = end(place.foresee(&words), b"");
            assert!(["status 2", "status 125"].contains(&ended.how.as_str()), "{line}: {ended:?}");
            assert!(ended.err().contains(out) && !ended.err().contains("bad.trc"), "{line}: {ended:?}");
            assert!(ended.stdout.is_empty() && ended.err().lines().count() == 1, "{line}: {ended:?}");
        }
    }
    assert_only(&place, &["bad.trc", "folder"]);
}

#[test]
fn what_is_not_written_whole_is_not_there() {
    let place = Place::new();
    place.write("good.trc", "1\n2\n");
    place.write("bad.trc", "1\n2\n".repeat(100) + "three\n");
    place.write("out", "as before");
    let ended = end(place.foresee(&["trace", "convert", "bad.trc", "out"]), b"").with(2);
    assert!(ended.err().contains("line 201"), "{ended:?}");
    end(place.foresee(&["trace", "convert", "bad.trc", "new"]), b"").with(2);
    end(place.foresee(&["trace", "convert", "good.trc", "new", "--to", "msr"]), b"").with(2);
    assert_eq!(fs::read(place.path("out")).unwrap(), b"as before");
    assert_only(&place, &["bad.trc", "good.trc", "out"]);
    // Whatever is written goes where a link leads, and leaves the file its mode.
    end(place.plain(&["chmod", "600", "out"]), b"").with(0);
    std::os::unix::fs::symlink("out", place.path("link")).unwrap();
    end(place.foresee(&["trace", "convert", "good.trc", "link", "--to", "blocks"]), b"").with(0);
    assert_eq!(fs::read(place.path("out")).unwrap(), b"1\n2\n");
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(fs::metadata(place.path("out")).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(fs::symlink_metadata(place.path("link")).unwrap().is_symlink());
    // Devices and pipes take what comes.
    end(place.foresee(&["trace", "convert", "good.trc", "/dev/null"]), b"").with(0);
    let piped = end(place.foresee(&["sim", "good.trc", "-p", "lru", "-c", "1", "--csv", "/dev/stdout"]), b"").with(0);
    assert!(piped.out().starts_with("policy,"), "{piped:?}");
    assert_only(&place, &["bad.trc", "good.trc", "link", "out"]);
}

#[test]
fn a_signal_leaves_nothing_half_written() {
    let place = Place::new();
    place.write("out.gz", "as before");
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // The trace comes through a pipe that does not end.
        let script =
            "(while :; do seq 100000; done) | exec \"$0\" trace convert /dev/stdin out.gz --from blocks --to blocks";
        let mut command: Command = place.command("sh");
        command.args(["-c", script]).arg(support::binary()).stdout(Stdio::null()).stderr(Stdio::piped());
        use std::os::unix::process::CommandExt;
        // Whoever runs the tests may ignore them; what is ignored must not end it.
        // SAFETY: takes no pointers, and may be called between fork and exec.
        unsafe {
            command.pre_exec(move || {
                (libc::signal(signal, libc::SIG_DFL) != libc::SIG_ERR)
                    .then_some(())
                    .ok_or_else(std::io::Error::last_os_error)
            })
        };
        let child = command.process_group(0).spawn().unwrap();
        let begun = || fs::read_dir(place.path(".")).unwrap().flatten().any(|entry| is_growing(&entry.path()));
        support::wait_until("something is written", begun);
        // SAFETY: takes no pointers.
        unsafe { libc::kill(-(child.id() as i32), signal) };
        child.wait_with_output().unwrap();
        place.wait_for_all();
        assert_only(&place, &["out.gz"]);
        assert_eq!(fs::read(place.path("out.gz")).unwrap(), b"as before");
    }
}

fn is_growing(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_string_lossy();
    name.ends_with(".unfinished") && fs::metadata(path).is_ok_and(|it| it.len() > 1000)
}
