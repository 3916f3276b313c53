//! The twin test on real runs: what the manager decided is what it decides again.

mod support;

use std::fs;

use support::{Ended, Place, end, have};

/// Runs a command with its log, twice: as it comes, then with a profile. The logs are in `log0` and
/// `log1`.
fn log(place: &Place, options: &[&str], words: &[&str]) -> Vec<String> {
    let logs: Vec<String> = (0..2).map(|round| place.aside(&format!("log{round}")).display().to_string()).collect();
    let plain = end(place.plain(words), b"");
    for log in &logs {
        place.make_cold();
        let ended = end(place.run(&[options, &["--log", log]].concat(), words), b"");
        assert_eq!(ended, plain, "{words:?}");
    }
    logs
}

fn replay(place: &Place, log: &str) -> Ended {
    end(place.foresee(&["replay", log]), b"")
}

fn commands() -> Vec<(&'static str, Vec<&'static str>)> {
    let import = "import json, email.mime.text, xml.dom.minidom; print(open('d/f1').read()[:10])";
    let query = "SELECT count(*), sum(a), max(b) FROM t WHERE b LIKE '%7%'; SELECT a FROM t ORDER BY b LIMIT 5";
    vec![
        ("grep", vec!["grep", "-r", "word12", "."]),
        ("tar", vec!["tar", "-c", "--mtime=@0", "--sort=name", "."]),
        ("cat", vec!["sh", "-c", "cat big; cat big | md5sum; cat d/* > out; cat out big | md5sum"]),
        ("python3", vec!["python3", "-c", import]),
        ("sqlite3", vec!["sqlite3", "db", query]),
    ]
}

/// A place with what the commands read: 20 MiB in all, so that 8 MiB of memory are not enough.
fn place() -> Place {
    let place = Place::new();
    place.write_lines(60, 1500);
    place.write("big", support::lines_of(1, 200_000));
    if have("sqlite3") {
        let fill = "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT); WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL
            SELECT x + 1 FROM n WHERE x < 50000) INSERT INTO t SELECT x, 'row ' || (x * 7919 % 50021) FROM n;";
        end(place.plain(&["sqlite3", "db", fill]), b"").with(0);
    }
    place
}

#[test]
fn real_runs_replay_the_same() {
    let place = place();
    let mut drops = 0;
    for (program, words) in commands() {
        if !have(program) {
            continue;
        }
        for options in [&[][..], &["--memory", "8MiB"], &["--memory", "1MiB", "--policy", "lru"], &["--memory", "4KiB"]]
        {
            for log in log(&place, options, &words) {
                let replayed = replay(&place, &log);
                assert!(replayed.out().contains("all the same"), "{options:?} {words:?}: {replayed:?}");
                let replayed = replayed.with(0);
                assert_eq!(replayed.stderr, b"");
                let text = fs::read_to_string(&log).unwrap();
                assert!(text.starts_with("foresee-log 4 capacity=") && text.lines().count() > 5, "{text}");
                drops += text.lines().filter(|line| line.starts_with("  drop ")).count();
            }
        }
    }
    assert!(drops > 0, "a small memory is to make the manager drop blocks");
}

#[test]
fn an_altered_log_is_found_out() {
    let place = place();
    let logs = log(&place, &["--memory", "8MiB"], &["grep", "-r", "word12", "."]);
    let text = fs::read_to_string(&logs[1]).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let fetch = lines.iter().position(|line| line.starts_with("  fetch ")).expect("something is read ahead");
    let altered = place.aside("altered").display().to_string();
    let write = |at: usize, with: &[&str]| {
        let changed: Vec<&str> = lines[..at].iter().chain(with).chain(&lines[at + 1..]).copied().collect();
        fs::write(&altered, changed.join("\n") + "\n").unwrap();
        replay(&place, &altered)
    };
    let device = lines[fetch].replace(" count=", " count=1");
    for with in [&[][..], &[device.as_str()], &[lines[fetch], lines[fetch]]] {
        let ended = write(fetch, with).with(1);
        let number = fetch + 1 + usize::from(with.len() == 2);
        assert!(ended.out().contains(&format!("line {number}")), "line {number} of {with:?}: {ended:?}");
        assert!(ended.out().contains("logged") && ended.out().contains("replayed"), "{ended:?}");
    }
    assert!(write(0, &[&lines[0].replace("policy=informed", "policy=null")]).how == "status 1");
}

#[test]
fn a_broken_log_is_an_error_with_its_line() {
    let place = place();
    let logs = log(&place, &[], &["cat", "d/f0", "d/f1"]);
    let text = fs::read_to_string(&logs[1]).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let broken = place.aside("broken").display().to_string();
    let write = |contents: &[u8]| {
        fs::write(&broken, contents).unwrap();
        let ended = replay(&place, &broken).with(2);
        assert!(ended.err().starts_with("foresee: ") && ended.err().contains(&broken), "{ended:?}");
        assert!(!ended.err().contains("panicked"), "{ended:?}");
        ended.err()
    };
    let event = lines.iter().rposition(|line| line.starts_with('@')).unwrap();
    let cut = lines[..event].join("\n") + "\n" + &lines[event][..lines[event].len() - 3];
    // Remarks stand before it, on what files are called.
    let first = lines.iter().position(|line| line.starts_with('@')).unwrap();
    for (contents, names) in [
        (cut.as_str(), format!("line {}", event + 1)),
        (&text.replacen("\n@", "\nnonsense @", 1), format!("line {}", first + 1)),
        (&text.replacen(lines[0], "foresee-log 9", 1), "line 1".to_owned()),
        ("", String::new()),
        ("\n", "line 1".to_owned()),
        (&format!("{}\n  fetch\n", lines[0]), "line 2".to_owned()),
        (&format!("{}\n@99999999999999999999999 reference\n", lines[0]), "line 2".to_owned()),
        (&format!("{}\n{}\n", lines[0], "x".repeat(1 << 20)), "line 2".to_owned()),
    ] {
        let error = write(contents.as_bytes());
        let short = &contents[..contents.len().min(100)];
        assert!(error.contains(&names), "{names} in {error} for {short}");
    }
    write(b"\0\xff\xfe\x01garbage");
    write(b"\x1f\x8b\x08garbage that says it is gzip");
    write(b"\x28\xb5\x2f\xfdgarbage that says it is zstd");
    assert!(replay(&place, "/no/such/log").with(2).err().contains("/no/such/log"));
    assert!(replay(&place, "d").with(2).err().contains('d'));
}

#[test]
fn a_log_that_cannot_be_written() {
    let place = place();
    let ended = end(place.run(&["--log", "/no/such/place"], &["cat", "d/f0"]), b"").with(125);
    assert!(ended.err().contains("/no/such/place") && ended.stdout.is_empty(), "{ended:?}");
    // A log that fails on the way does not stop the run, nor change how it fails.
    let ended = end(place.run(&["--log", "/dev/full"], &["sh", "-c", "cat d/*; exit 3"]), b"").with(3);
    assert!(ended.err().contains("--log /dev/full: "), "{ended:?}");
    let whole: usize = (0..60).map(|it| support::lines_of(it, 1500).len()).sum();
    assert_eq!(ended.stdout.len(), whole);
    end(place.run(&["--log", "/dev/full"], &["true"]), b"").with(125);
}
