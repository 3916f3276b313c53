//! Why a block was fetched, kept, given up: of a trace and of a real run's log.

mod support;

use std::fs;

use support::{Device, Ended, Place, end};

fn explain(place: &Place, words: &[&str]) -> Ended {
    end(place.foresee(&[&["explain"], words].concat()), b"")
}

#[test]
fn a_block_of_a_trace() {
    let place = Place::new();
    place.write("t.trc", "3\n4\n3\n5\n3\n6\n7\n3\n");
    let text = explain(&place, &["t.trc", "-c", "2", "-p", "lru", "--block", "0:3"]).with(0).out();
    for line in [
        "under lru, 2 blocks",
        "reference 1         read by reader 0: not here",
        "reference 5         read by reader 0: here; kept while 1 other block was given up",
        "reference 7         given up under lru for block 7 of file 0: read last 2 references ago, 2 other blocks since",
        "read 4 times: 2 found, 0 on its way, 2 missed; given up 1 time, 1 of them read again",
    ] {
        assert!(text.contains(line), "no '{line}' in\n{text}");
    }
    let text = explain(&place, &["t.trc", "-c", "2", "--at", "4"]).with(0).out();
    assert!(text.contains("reader 0 reads block 5") && text.contains("memory: 2 of 2 pages"), "{text}");
    // Unless told otherwise it goes by what 'foresee run' goes by, and says what was thought of the page.
    let text = explain(&place, &["t.trc", "-c", "2", "--block", "0:4"]).with(0).out();
    assert!(text.contains("under informed, 2 blocks") && text.contains("; of pages like it "), "{text}");
    // With a clock and hints: disclosed, fetched for that, here in time.
    let clock = ["--device", "latency_us=500", "--think", "5ms", "--disclose", "-p", "tip1:unread_share=0.5"];
    let text = explain(&place, &[&["t.trc", "-c", "4", "--block", "0:5"], &clock[..]].concat()).with(0).out();
    for words in ["disclosed by reader 0, library", "it was disclosed, and its time has come", "it is here", ": here"] {
        assert!(text.contains(words), "no '{words}' in\n{text}");
    }
    let none = explain(&place, &["t.trc", "--block", "0:99"]).with(1);
    assert!(none.out().contains("nothing happened to it"), "{none:?}");
    for (words, named) in [
        (&["t.trc"][..], "--block"),
        (&["t.trc", "--block", "3"], "--block 3: is not of the form FILE:INDEX"),
        (&["t.trc", "--block", "data.db:3"], "the trace has no file 'data.db'"),
        (&["t.trc", "--at", "noon"], "'noon' is no time"),
        (&["t.trc", "--at", "1", "--block", "0:1"], "--block"),
        (&["missing", "--at", "1"], "missing"),
        (&["t.trc", "--block", "0:3", "-p", "opt", "--device", "latency_us=500"], "opt knows the order of references"),
    ] {
        assert!(explain(&place, words).with(2).err().contains(named), "{words:?}");
    }
}

#[test]
fn files_are_known_by_their_names_and_their_ends() {
    let place = Place::new();
    place.write(
        "t.fio",
        "fio version 2 iolog\n/a/one read 0 4096\n/b/one read 0 4096\n/b/two read 0 8192\n/b/two read 4096 4096\n",
    );
    let text = explain(&place, &["t.fio", "-c", "100%", "--block", "two:1"]).with(0).out();
    assert!(text.contains("read 2 times: 1 found"), "{text}");
    let ended = explain(&place, &["t.fio", "--block", "one:0"]).with(2);
    assert!(ended.err().contains("'one' is /a/one as well as /b/one; name more of it"), "{ended:?}");
}

/// A file that was read and not fetched: what was known of it by then.
#[test]
fn why_a_file_was_not_fetched() {
    let files = |place: &Place| drop(place.write("a", vec![1; 40_000]));
    let Some(device) = Device::new(files, "cp a $SLOWDISK_MOUNT; cp a $SLOWDISK_MOUNT/b") else { return };
    device.tell("network latency=2ms jitter=0% servers=0");
    let log = device.place.path("log").display().to_string();
    let words = device.words(&["sh", "-c", "cat $0 > /dev/null"], &["a"]);
    device.foreseen(&["--no-words", "--no-learn", "--log", &log], &words).0.with(0);
    let text = explain(&device.place, &["log", "--file", "/a"]).with(0).out();
    assert!(text.contains("and waited; nothing of it was fetched: nobody had disclosed it"), "{text}");
}

#[test]
fn a_block_of_a_real_run() {
    let place = Place::new();
    place.write_lines(5, 3000);
    end(place.run(&["--log", "log", "--memory", "64KiB"], &["grep", "-c", "x", "-r", "d"]), b"");
    let log = fs::read_to_string(place.path("log")).unwrap();
    let read = log.lines().find(|line| line.contains(" reference ")).unwrap();
    let field = |name: &str| {
        let rest = read.split(&format!(" {name}=")).nth(1).unwrap();
        rest.split(' ').next().unwrap().to_owned()
    };
    let block = format!("{}:{}", field("file"), field("first"));
    let text = explain(&place, &["log", "--block", &block]).with(0).out();
    assert!(text.contains("under informed,") && text.contains("read by reader") && text.contains("times:"), "{text}");
    assert!(explain(&place, &["log", "--at", "1us"]).with(0).out().contains("memory: "));
    let ended = explain(&place, &["log", "--block", "name:1"]).with(2);
    assert!(ended.err().contains("the run met no file of that name"), "{ended:?}");
    let ended = explain(&place, &["log", "--at", "1us", "-p", "arc"]).with(2);
    assert!(ended.err().contains("--policy: log is the log of a run"), "{ended:?}");
    let ended = explain(&place, &["log", "--file", "f"]).with(2);
    assert!(ended.err().contains("the run met no file"), "{ended:?}");
    // Files are called by their names, and by the ends of these.
    assert!(explain(&place, &["log", "--block", "d/f3:0"]).with(0).out().contains("of "), "by its name");
    let text = explain(&place, &["log", "--file", "d/f3"]).with(0).out();
    assert!(text.contains("its name is resolved") && text.contains(": read by reader 0, "), "{text}");
    place.write("broken", log.replacen(" reference ", " dance ", 1));
    let ended = explain(&place, &["broken", "--block", &block]).with(2);
    assert!(ended.err().contains("broken, line ") && ended.err().contains("dance"), "{ended:?}");
}
