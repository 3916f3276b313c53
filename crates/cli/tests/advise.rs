//! What a user is told of a program by its trace: whether foresee helps, by which command, by how
//! much, at what cost.

mod support;

use serde_json::Value;
use support::{Ended, Place, end};

fn advise(place: &Place, words: &[&str]) -> Ended {
    end(place.foresee(&[&["advise"], words].concat()), b"")
}

fn facts(place: &Place, words: &[&str]) -> Value {
    serde_json::from_slice(&advise(place, &[words, &["--json"]].concat()).with(0).stdout).unwrap()
}

fn says(text: &str, all: &[&str]) {
    all.iter().for_each(|words| assert!(text.contains(words), "no '{words}' in\n{text}"));
}

/// A database's reads: places in no order, each a few times, so that no readahead helps.
fn scattered(place: &Place) {
    let numbers = (0..6000_u64).map(|at| (at * 771 % 2000 * 3).to_string());
    place.write("scattered.trc", numbers.collect::<Vec<_>>().join("\n"));
}

#[test]
fn the_answer_comes_first() {
    let place = Place::new();
    scattered(&place);
    let facts = facts(&place, &["scattered.trc", "--memory", "10%", "-p", "arc"]);
    assert_eq!((&facts["helps"], &facts["hints"]), (&true.into(), &"recorded".into()), "{facts:#}");
    assert_eq!(facts["command"], "foresee run -- CMD");
    assert_eq!((&facts["memory_bytes"], &facts["memory_is_given"]), (&(200 * 4096).into(), &true.into()));
    assert_eq!(facts["trace_bytes"], 2000 * 4096);
    let seconds = |row: &Value, key: &str| row[key].as_f64().unwrap();
    let storages = facts["storages"].as_array().unwrap();
    assert_eq!(storages.len(), 3);
    assert!(storages.iter().all(|it| seconds(it, "as_it_is_s") > seconds(it, "later_runs_s") || it["helped"] == false));
    let settings = facts["settings"].as_array().unwrap();
    for row in settings {
        let as_it_is = settings.iter().find(|it| it["storage"] == row["storage"]).unwrap();
        assert_eq!((&as_it_is["policy"], &as_it_is["hints"]), (&"lru".into(), &"none".into()));
        let saved = seconds(as_it_is, "elapsed_s") - seconds(row, "elapsed_s");
        assert!((saved - seconds(row, "saved_s")).abs() < 1e-6, "{row}");
        assert!(
            row["device_bytes"].is_u64() && row["device_requests"].is_u64() && row["saved_bytes"].is_i64(),
            "{row}"
        );
    }
    // What foresee takes to start is in the answer, and not in the table.
    let own = settings.iter().find(|it| it["hints"] == "told" && it["policy"] == "informed").unwrap();
    let start = seconds(&storages[0], "disclosed_s") - seconds(own, "elapsed_s");
    assert!((start - seconds(&facts["costs"], "start_s")).abs() < 1e-9 && start > 0.0, "{start}");

    let text = advise(&place, &["scattered.trc", "--memory", "10%", "-p", "arc"]).with(0).out();
    let (answer, table) = text.split_once("\nEvery setting, on network storage:\n").unwrap();
    says(answer, &["foresee would help this program, from its second run on", " times faster on network storage"]);
    says(
        answer,
        &["\n    foresee run -- CMD\n", "Costs: ", "Memory: 800.0 KiB, as given. It reads 7.8 MiB", "--compare 5"],
    );
    says(table, &["lru, as it is", "an earlier run recorded", "all told by the program", "arc"]);
    let given = advise(&place, &["scattered.trc", "--device", "hp2247", "-p", "arc"]).with(0).out();
    says(&given, &["Every setting, on hp2247"]);
    assert!(!given.contains("network storage"), "{given}");
}

#[test]
fn without_an_answer_it_says_why_and_what_would_tell() {
    let place = Place::new();
    place.write("once.trc", "7\n7\n7\n7\n7\n7\n7\n7\n");
    let no = "foresee would not help this program. ";
    let told = |words: &[&str]| advise(&place, &[words, &["-p", "arc"]].concat()).with(0).out();
    let single = told(&["once.trc"]);
    says(&single, &[no, "comes by one request", "A trace of more of its reads", "The trace has no times", "fit in"]);
    assert!(!single.contains("    foresee run"), "{single}");
    place.write("spread.trc", (0..100).map(|at| format!("{}\n", at * 77 % 100 * 9)).collect::<String>());
    let busy = told(&["spread.trc", "--think", "1s"]);
    says(&busy, &[no, "too little to gain", "--device", "It reads nothing twice"]);
    assert!(!busy.contains("The trace has no times"), "{busy}");
    assert_eq!(facts(&place, &["spread.trc", "--think", "1s", "-p", "arc"])["command"], Value::Null);
}

#[test]
fn a_recording_says_what_its_reads_took() {
    let place = Place::new();
    place.write_lines(40, 600);
    let read = "for it in d/*; do cat $it; done";
    end(place.foresee(&["record", "-o", "t", "--", "sh", "-c", read]), b"").with(0);
    let text = advise(&place, &["t", "-p", "arc"]).with(0).out();
    says(&text, &["Where it was recorded, its reads took ", "what is available here now", "would help this program"]);
    assert!(!text.contains("no times") && !text.contains("no durations"), "{text}");
    let facts = facts(&place, &["t", "-p", "arc"]);
    assert_eq!(facts["memory_is_given"], false);
    assert!(facts["memory_bytes"].as_u64() > facts["trace_bytes"].as_u64(), "{facts:#}");
    // The shell, and forty times cat.
    assert!((0.0163 - facts["costs"]["start_s"].as_f64().unwrap()).abs() < 0.001, "{}", facts["costs"]);
}

#[test]
fn what_cannot_be_is_named_with_the_remedy() {
    let place = Place::new();
    place.write("far.trc", "1\n2\n100000000\n3\n");
    let text = advise(&place, &["far.trc", "-p", "arc"]).with(0).out();
    assert!(text.contains("local SSD") && !text.contains("hard disk"), "{text}");
    place.write_lines(1, 10);
    end(place.run(&["--log", "log"], &["cat", "d/f0"]), b"").with(0);
    for (words, named) in [
        (&["missing.trc"][..], &["missing.trc"][..]),
        (&["far.trc", "--device", "drum"], &["drum", "servers=4"]),
        (&["far.trc", "--device", "disk10k"], &["far.trc: --device disk10k:", "larger device"]),
        (&["far.trc", "-p", "best"], &["best"]),
        (&["far.trc", "-p", "opt"], &["--policy opt", "leave it out"]),
        (&["far.trc", "--memory", "0"], &["--memory", "'0'", "512MiB"]),
        (&["far.trc", "--sample", "10%"], &["--sample 10%", "leave it out"]),
        (&["log"], &["log: is the log of a run", "foresee record"]),
    ] {
        says(&advise(&place, words).with(2).err(), named);
    }
}
