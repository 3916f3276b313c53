//! Recording what a program reads, and what the simulator makes of it; and of files that are no
//! traces.

mod support;

use std::fs;

use serde_json::Value;
use support::{Ended, Place, end};

/// A place with a recording of a command that reads much of it twice.
fn recorded() -> Place {
    let place = Place::new();
    place.write_lines(40, 600);
    let script = "grep -r word12 d; cat d/f1*; grep -c line d/f2 d/f3 missing";
    let plain = end(place.plain(&["sh", "-c", script]), b"");
    let ended = end(place.foresee(&["record", "--output", "trace.parquet", "--", "sh", "-c", script]), b"");
    assert_eq!(ended, plain);
    place
}

fn json(ended: Ended) -> Value {
    let ended = ended.with(0);
    serde_json::from_slice(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

fn foresee(place: &Place, words: &[&str]) -> Ended {
    end(place.foresee(words), b"")
}

#[test]
fn a_recording_tells_what_was_read() {
    let place = recorded();
    let info = json(foresee(&place, &["trace", "info", "trace.parquet", "--json"]));
    assert_eq!((&info["format"], &info["block_bytes"]), (&"recorded".into(), &4096.into()));
    // Forty files were read once, eleven of them and two others twice, besides what the programs
    // themselves consist of.
    let read: usize = (0..40).map(|it| support::lines_of(it, 600).len()).sum();
    assert!(info["files"].as_u64().unwrap() >= 40 && info["bytes"].as_u64().unwrap() >= read as u64, "{info:#}");
    assert!(info["processes"].as_u64().unwrap() >= 3 && info["reread_share"].as_f64().unwrap() > 0.1, "{info:#}");
    for key in ["requests", "references", "distinct_blocks", "threads"] {
        assert!(info[key].as_u64().unwrap() > 0, "{key}: {info:#}");
    }
    assert!(foresee(&place, &["trace", "info", "trace.parquet"]).with(0).out().contains("requests"));
    assert!(foresee(&place, &["trace", "formats"]).with(0).out().lines().count() >= 3);
}

/// What is read once beside what is used again goes at once where that was learned; with a clock as
/// well. Who learns nothing does the same as without.
#[test]
fn policies_are_taught_what_they_learned_of_the_trace_before() {
    let place = Place::new();
    let (mut state, random) = (7_u64, |state: &mut u64| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 40) % 300
    });
    let mut trace = |count: u64| {
        let block = |at| if at % 2 == 0 { random(&mut state) } else { 1_000 + at };
        (0..count).map(block).map(|block| format!("{block}\n")).collect::<String>()
    };
    place.write("before.trc", trace(20_000));
    place.write("t.trc", trace(4_000));
    let misses = |policy: &str, more: &[&str]| {
        let rows = json(foresee(&place, &[&["sim", "t.trc", "-p", policy, "-c", "400", "--json"], more].concat()));
        rows[0]["misses"].as_u64().unwrap()
    };
    let (after, clock) = (["--after", "before.trc"], ["--device", "disk10k", "--think", "none"]);
    for (with, without) in [(&after[..], &[][..]), (&[&clock[..], &after].concat(), &clock)] {
        let (taught, untaught) = (misses("reuse", with), misses("reuse", without));
        assert!(taught + 50 < untaught, "{taught} {untaught}");
        assert_eq!(misses("lru", with), misses("lru", without));
    }
    let ended = foresee(&place, &["sim", "t.trc", "--after", "none.trc"]).with(2);
    assert!(ended.err().contains("none.trc"), "{ended:?}");
}

#[test]
fn a_recording_tells_what_was_written() {
    let place = Place::new();
    place.write_lines(1, 600);
    foresee(&place, &["record", "-o", "t", "--", "sort", "-o", "sorted", "d/f0"]).with(0);
    let info = json(foresee(&place, &["trace", "info", "t", "--json"]));
    assert!(info["writes"].as_u64().unwrap() > 0, "{info:#}");
    let read = std::fs::metadata(place.path("d/f0")).unwrap().len();
    assert!(info["bytes"].as_u64().unwrap() >= read, "{info:#}");
}

/// To a cache it is one, and so it is to what reads traces.
#[test]
fn a_file_of_several_names_is_recorded_as_one() {
    let place = Place::new();
    place.write_lines(1, 600);
    std::fs::hard_link(place.path("d/f0"), place.path("d/hard")).unwrap();
    std::os::unix::fs::symlink("f0", place.path("d/link")).unwrap();
    let blocks = |words: &[&str]| {
        foresee(&place, &[&["record", "-o", "t", "--", "cat"], words].concat()).with(0);
        json(foresee(&place, &["trace", "info", "t", "--json"]))["distinct_blocks"].as_u64().unwrap()
    };
    assert_eq!(blocks(&["d/f0", "d/hard", "d/link", "d/../d/f0"]), blocks(&["d/f0", "d/f0"]));
}

#[test]
fn what_goes_past_the_page_cache_is_recorded() {
    let place = Place::new();
    place.write("data", vec![b'x'; 1 << 20]);
    let words = ["if=data", "of=/dev/null", "bs=64k", "iflag=direct", "status=none"];
    if end(place.plain(&[&["dd"], &words[..]].concat()), b"").how != "status 0" {
        return eprintln!("skipped: nothing can be read past the page cache here");
    }
    foresee(&place, &[&["record", "-o", "t", "--", "dd"], &words[..]].concat()).with(0);
    let info = json(foresee(&place, &["trace", "info", "t", "--json"]));
    assert!(info["bytes"].as_u64().unwrap() >= 1 << 20 && info["requests"].as_u64().unwrap() >= 16, "{info:#}");
}

#[test]
fn recording_ends_as_the_command_does() {
    let place = Place::new();
    place.write_lines(1, 10);
    let record = |words: &[&str]| foresee(&place, &[&["record", "-o", "t", "--"], words].concat());
    record(&["sh", "-c", "cat d/f0; exit 9"]).with(9);
    assert_eq!(record(&["sh", "-c", "kill -9 $$"]).how, "signal 9");
    foresee(&place, &["trace", "info", "t"]).with(0);
    let before = std::fs::read(place.path("t")).unwrap();
    record(&["no-such-command"]).with(127);
    assert_eq!(std::fs::read(place.path("t")).unwrap(), before, "a trace of nothing in a good one's place");
    let left = std::fs::read_dir(place.path("."))
        .unwrap()
        .filter(|it| it.as_ref().is_ok_and(|it| it.file_name().to_string_lossy().contains("unfinished")));
    assert_eq!(left.count(), 0, "unfinished traces are left");
    let ended = foresee(&place, &["record", "-o", "/no/such/place", "--", "cat", "d/f0"]).with(2);
    assert!(ended.err().contains("/no/such/place") && ended.stdout.is_empty(), "{ended:?}");
    foresee(&place, &["record", "--", "true"]).with(2);
    let ended = foresee(&place, &["record", "-o", "-", "--", "cat", "d/f0"]).with(2);
    assert!(ended.err().contains("the command itself writes there") && ended.stdout.is_empty(), "{ended:?}");
    // Nothing read at all.
    record(&["true"]).with(0);
    foresee(&place, &["trace", "info", "t"]).with(0);
}

#[test]
fn a_device_is_not_replaced_by_a_recording() {
    let place = Place::new();
    let ended = foresee(&place, &["record", "-o", "/dev/full", "--", "echo", "ran"]).with(2);
    assert!(ended.err().contains("/dev/full") && ended.stdout.is_empty(), "{ended:?}");
    use std::os::unix::fs::FileTypeExt;
    assert!(std::fs::metadata("/dev/full").unwrap().file_type().is_char_device());
}

#[test]
fn a_clock_shows_what_hints_save() {
    let place = recorded();
    let device = "servers=8,latency_us=1000";
    let sim = |words: &[&str]| {
        let common = ["sim", "trace.parquet", "--cache", "50%", "--device", device, "--think", "20us", "--json"];
        json(foresee(&place, &[&common, words].concat()))
    };
    let seconds = |row: &Value, key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key} in {row}"));
    let rows = sim(&["--policy", "lru,tip1", "--disclose"]);
    let [lru, tip1] = &rows.as_array().unwrap()[..] else { panic!("{rows}") };
    assert!(seconds(tip1, "stall_s") < seconds(lru, "stall_s") / 2.0, "{rows:#}");
    assert!(tip1["ahead_timely"].as_u64().unwrap() > 0 && lru["ahead_fetched"].as_u64().unwrap() == 0, "{rows:#}");
    assert!(seconds(lru, "elapsed_s") > seconds(lru, "think_s") && lru["late_hits"].is_u64(), "{rows:#}");
    // Nobody discloses: nothing is ahead. All policies but those that know the future are run.
    let rows = sim(&[]);
    let rows = rows.as_array().unwrap();
    assert!(rows.len() > 5 && rows.iter().all(|row| row["ahead_fetched"].as_u64() == Some(0)));
    assert!(rows.iter().all(|row| row["policy"] != "opt" && row["device_bytes"].as_u64().unwrap() > 0));
    let text = foresee(&place, &["sim", "trace.parquet", "-p", "lru", "-c", "50%", "--device", device]).with(0).out();
    assert!(text.contains("stalled") && text.contains("from device"), "{text}");
    for (words, named) in [
        (&["--policy", "opt", "--device", device][..], "opt"),
        (&["--device", "drum"], "there is no device 'drum'"),
        (&["--think", "none"], "--device"),
        (&["--device", device, "--think", "5"], "'5' is no time to think"),
        (&["--device", device, "--sample", "1%"], "--sample"),
        (&["--sample", "200%"], "'200%' is no share"),
        (&["--readahead", "osf1"], "--device"),
        (&["--device", device, "--readahead", "linux"], "'linux'; there are: none, one_block, osf1"),
    ] {
        let ended = foresee(&place, &[&["sim", "trace.parquet"], words].concat()).with(2);
        assert!(ended.err().contains(named), "{words:?}: {ended:?}");
    }
}

#[test]
fn a_file_system_reads_ahead_by_itself() {
    let place = Place::new();
    let blocks: String = (0..100).map(|block| format!("{block}\n")).collect();
    place.write("order.trc", blocks);
    let ms = |readahead: &str| {
        let clock = ["--device", "servers=8,latency_us=1000", "--think", "none", "--readahead", readahead, "--json"];
        let rows = json(foresee(&place, &[&["sim", "order.trc", "-p", "lru", "-c", "100%"], &clock[..]].concat()));
        (rows[0]["elapsed_s"].as_f64().unwrap() * 1e3).round() as u64
    };
    assert_eq!(ms("none"), 100, "each block is waited for");
    assert_eq!(ms("one_block"), 51, "two at a time, from the second on");
    assert!(ms("osf1") < 10, "clusters of eight, and more of them: {} ms", ms("osf1"));
}

/// Several traces in one memory, of each of which something else is known.
#[test]
fn traces_run_side_by_side() {
    let place = recorded();
    fs::copy(place.path("trace.parquet"), place.path("other.parquet")).unwrap();
    let sim = |traces: &[&str], words: &[&str]| {
        let common = ["-p", "lru,tip1", "--device", "servers=0,latency_us=1000", "--think", "20us", "--json"];
        json(foresee(&place, &[&["sim"], traces, &common, words].concat())).as_array().unwrap().clone()
    };
    let both = ["trace.parquet", "other.parquet"];
    let seconds = |row: &Value, key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key} in {row}"));
    // With room for both, on a device that serves any number, each is alone; but for the blocks that
    // are another's by now.
    let (one, two) = (sim(&both[..1], &["-c", "100%"]), sim(&both, &["-c", "100%"]));
    for (one, two) in one.iter().zip(&two) {
        assert!(
            one["elapsed_s_1"].is_null()
                && one["cache_blocks"].as_u64().unwrap() * 2 == two["cache_blocks"].as_u64().unwrap(),
            "{two}"
        );
        for key in ["elapsed_s", "elapsed_s_1", "elapsed_s_2"] {
            assert_eq!(seconds(two, key), seconds(one, "elapsed_s"), "{key} of {two}");
        }
        assert_eq!(one["misses"].as_u64().unwrap() * 2, two["misses"]);
    }
    let told = sim(&both, &["-c", "100%", "--disclose=told,none"]);
    assert!(seconds(&told[1], "elapsed_s_1") < 0.7 * seconds(&told[1], "elapsed_s_2"), "{told:#?}");
    // A fifth of it wrong: nothing is believed beyond what comes true.
    let partly = sim(&both, &["-c", "100%", "--disclose=none,told:20%"]);
    assert!(seconds(&partly[1], "elapsed_s_2") < seconds(&partly[1], "elapsed_s_1"), "{partly:#?}");
    // Advised to give up what was read last, a loop keeps a part of its blocks; who is not advised
    // keeps nothing.
    place.write("loop.txt", (0..300).map(|at| format!("{}\n", at % 100)).collect::<String>());
    place.write("advice", "level 0 mru\n");
    let words = ["sim", "loop.txt", "loop.txt", "-p", "lru-sp", "-c", "100", "--device", "latency_us=1000"];
    let advised = |words_too: &[&str]| {
        let row = json(foresee(&place, &[&words[..], words_too, &["--json"]].concat()))[0].clone();
        (seconds(&row, "elapsed_s_1"), seconds(&row, "elapsed_s_2"))
    };
    let (plain, one) = (advised(&[]), advised(&["--advice", "advice", "--advice", "/dev/null"]));
    let all = advised(&["--advice", "advice"]);
    assert!(one.0 < plain.0 && all.0 < plain.0 && all.1 < plain.1, "{plain:?}, {one:?}, {all:?}");
    let text = foresee(&place, &words).with(0).out();
    assert!(text.contains("of 1       of 2\n") && text.matches("loop.txt: 300 requests").count() == 2, "{text}");
    for (words, named) in &[
        (&["sim", "loop.txt", "loop.txt"][..], "--device"),
        (&["sim", "loop.txt", "--advice", "advice", "--advice", "advice"], "--advice: 2 values for 1 trace"),
        (&[&words[..], &["--disclose=told,none,told"]].concat(), "--disclose: 3 values for 2 traces"),
        (
            &[&words[..], &["--advice", "advice", "--advice", "advice", "--advice", "advice"]].concat(),
            "--advice: 3 values",
        ),
        (&[&words[..], &["--disclose=told,lies"]].concat(), "'lies' is no way to know beforehand"),
    ] {
        let ended = foresee(&place, words).with(2);
        assert!(ended.err().contains(named), "{words:?}: {ended:?}");
    }
}

#[test]
fn the_least_time_there_can_be_stands_beside_what_it_took() {
    let place = recorded();
    let sim = |words: &[&str]| {
        let common = ["sim", "trace.parquet", "-c", "10%,100%", "--device", "servers=4,latency_us=500,mb_per_s=50"];
        foresee(&place, &[&common, words].concat())
    };
    let rows = json(sim(&["--bound", "--disclose", "--json"]));
    let of = |row: &Value, key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key} in {row}"));
    for row in rows.as_array().unwrap() {
        assert!(of(row, "least_s") > 0.0 && of(row, "least_s") <= of(row, "elapsed_s"), "{row}");
    }
    let told = rows.as_array().unwrap().iter().rfind(|row| row["policy"] == "aggressive").unwrap();
    assert!(of(told, "elapsed_s") < 2.0 * of(told, "least_s"), "in all the memory it is nearly reached: {told}");
    let text = sim(&["-p", "lru", "--bound"]).with(0).out();
    assert!(text.contains("  elapsed      least    stalled  "), "{text}");
    assert!(!sim(&["-p", "lru"]).with(0).out().contains("least"));
    assert!(json(sim(&["-p", "lru", "--json"]))[0]["least_s"].is_null());
    assert!(foresee(&place, &["sim", "trace.parquet", "--bound"]).with(2).err().contains("--device"));
}

#[test]
fn results_are_comma_separated_too() {
    let place = recorded();
    let words =
        ["sim", "trace.parquet", "-p", "lru,tip1:unread_share=0.5,count_present=0,opt", "-c", "10,50%", "--csv"];
    let text = foresee(&place, &words).with(0).out();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("policy,cache_blocks,requests,references,hits,misses,"), "{text}");
    // Three policies at two sizes, and no limit.
    assert_eq!(lines.len(), 1 + 3 * 2 + 1, "{text}");
    assert!(lines[2].starts_with("\"tip1:unread_share=0.5,count_present=0\",10,"), "{text}");
    let sampled = foresee(&place, &["sim", "trace.parquet", "-p", "lru", "-c", "50%", "--sample", "50%"]).with(0);
    assert!(sampled.out().contains('±'), "{sampled:?}");
}

/// policy, cache blocks, requests and misses of each cell.
fn cells(rows: &Value) -> Vec<(String, u64, u64, u64)> {
    let number = |row: &Value, key: &str| row[key].as_u64().unwrap_or_else(|| panic!("{key} in {row}"));
    rows.as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let policy = row["policy"].as_str().unwrap().to_owned();
            (policy, number(row, "cache_blocks"), number(row, "requests"), number(row, "misses"))
        })
        .collect()
}

#[test]
fn a_simulation_gives_the_same_in_every_format() {
    let place = recorded();
    let sim = |trace: &str| {
        json(foresee(&place, &["sim", trace, "--policy", "lru,null,opt", "--cache", "10,100,25%,64KiB,1GiB", "--json"]))
    };
    let rows = sim("trace.parquet");
    let of_recorded = cells(&rows);
    // Each of them at each size, and a cache without limit.
    assert_eq!(of_recorded.len(), 16);
    for row in rows.as_array().unwrap() {
        assert_eq!(
            row["hits"].as_u64().unwrap() + row["misses"].as_u64().unwrap(),
            row["references"].as_u64().unwrap()
        );
        assert!(row["miss_ratio"].is_f64() && row["run_s"].is_f64());
    }
    let misses = |policy: &str, blocks: u64| of_recorded.iter().find(|it| it.0 == policy && it.1 == blocks).unwrap().3;
    let info = json(foresee(&place, &["trace", "info", "trace.parquet", "--json"]));
    assert!(misses("lru", 10) >= misses("lru", 100));
    let all = of_recorded.iter().filter(|it| it.0 == "lru").map(|it| it.1).max().unwrap();
    let distinct = info["distinct_blocks"].as_u64().unwrap();
    assert_eq!((misses("lru", all), misses("unlimited", distinct)), (distinct, distinct));
    assert!(of_recorded.iter().filter(|it| it.0 == "lru").all(|it| misses("opt", it.1) <= it.3));
    for (format, file) in [
        ("blocks", "t.csv"),
        ("oracleGeneral", "t.oracleGeneral"),
        ("blocks", "t.csv.gz"),
        ("oracleGeneral", "t.oracleGeneral.zst"),
    ] {
        let ended = foresee(&place, &["trace", "convert", "trace.parquet", file, "--to", format]).with(0);
        assert!(ended.out().contains("requests written"), "{ended:?}");
        let packed = |cells: Vec<(String, u64, u64, u64)>| -> Vec<_> {
            cells.into_iter().map(|it| (it.0, it.1, it.3)).collect()
        };
        assert_eq!(packed(cells(&sim(file))), packed(of_recorded.clone()), "{format}");
        foresee(&place, &["trace", "convert", file, "back.parquet", "--from", format, "--to", "recorded"]).with(0);
        assert_eq!(packed(cells(&sim("back.parquet"))), packed(of_recorded.clone()), "{format} and back");
    }
    assert!(foresee(&place, &["sim", "trace.parquet"]).with(0).out().contains("unlimited"));
    let list = foresee(&place, &["sim", "--list"]).with(0).out().to_owned();
    assert!(list.starts_with("informed ") && list.contains("\nlru "), "the default is not first: {list}");
    let ended = foresee(&place, &["sim", "trace.parquet", "--json", "/no/such/place"]).with(2);
    assert!(ended.err().contains("/no/such/place"));
}

#[test]
fn advice_is_given_for_programs_that_give_none() {
    let place = Place::new();
    place.write_lines(40, 600);
    let script = "for pass in 1 2 3 4; do cat d/*; done";
    foresee(&place, &["record", "--output", "trace.parquet", "--", "sh", "-c", script]).with(0);
    let misses = |words: &[&str]| {
        let common = ["sim", "trace.parquet", "--cache", "50%", "--json"];
        cells(&json(foresee(&place, &[&common, words].concat()))).iter().map(|cell| cell.3).collect::<Vec<_>>()
    };
    let policies = ["--policy", "lru,lru-sp"];
    let [lru, oblivious, ..] = misses(&policies)[..] else { panic!() };
    assert_eq!(lru, oblivious, "nobody advises");
    // Each pass is a process of its own, which reads each file once: what it has read is not worth
    // keeping.
    place.write("advice", "# once\nfile f* -1\nlevel -1 mru\n");
    let [lru_again, advised, ..] = misses(&[&policies[..], &["--advice", "advice"]].concat())[..] else { panic!() };
    assert_eq!(lru_again, lru, "LRU takes no advice");
    assert!(advised < lru, "{advised} misses with advice, {lru} without");
    place.write("wrong", "file f* first\n");
    for (file, what) in [("wrong", "line 1: 'file f* first' has no priority"), ("missing", "missing: No such file")] {
        let ended = foresee(&place, &["sim", "trace.parquet", "--advice", file]).with(2);
        assert!(ended.err().contains(what), "{ended:?}");
    }
}

#[test]
fn files_that_are_no_traces() {
    let place = recorded();
    let good = fs::read(place.path("trace.parquet")).unwrap();
    foresee(&place, &["trace", "convert", "trace.parquet", "good.gz", "--to", "blocks"]).with(0);
    let text = end(place.plain(&["gzip", "-c", "trace.parquet"]), b"").with(0).stdout;
    let noise: Vec<u8> = (0..10_001u32).map(|it| (it.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    place.write("cut.gz", &text[..text.len() / 2]);
    place.write("noise", &noise);
    place.write("noise.gz", [b"\x1f\x8b\x08\0".as_slice(), &noise].concat());
    place.write("noise.zst", [b"\x28\xb5\x2f\xfd".as_slice(), &noise].concat());
    place.write("empty", "");
    place.write("cut.parquet", &good[..good.len() / 2]);
    place.write("tail.parquet", &good[good.len() / 2..]);
    place.write("magic.parquet", "PAR1");
    place.write("magics.parquet", [b"PAR1".as_slice(), &noise, b"\xff\xff\xff\x7fPAR1"].concat());
    place.write("prose", "It was a dark and stormy night.\n".repeat(50));
    let mut flipped = good.clone();
    let half = flipped.len() / 2;
    flipped[half..half + 64].iter_mut().for_each(|byte| *byte ^= 0x5a);
    place.write("flipped.parquet", flipped);
    let files = [
        "cut.gz",
        "noise",
        "noise.gz",
        "noise.zst",
        "empty",
        "cut.parquet",
        "tail.parquet",
        "magic.parquet",
        "magics.parquet",
        "prose",
        "d",
        "nonexistent",
    ];
    let mut wrong = Vec::new();
    for file in files {
        for words in [&["trace", "info", file][..], &["sim", file], &["trace", "convert", file, "out"]] {
            let ended = foresee(&place, words);
            if ended.how != "status 2" || !ended.err().contains(file) || ended.err().contains("panicked") {
                wrong.push(format!("{words:?}: {ended:?}"));
            }
        }
        for format in ["recorded", "oracleGeneral", "blocks"] {
            let ended = foresee(&place, &["trace", "info", "--format", format, file]);
            // Any bytes in the right number are a trace of a format without a mark; but they must do no harm.
            if ended.err().contains("panicked") || !["status 0", "status 2"].contains(&ended.how.as_str()) {
                wrong.push(format!("{format} {file}: {ended:?}"));
            }
        }
    }
    // Damage inside may be in what nobody looks at; it may not be a crash.
    let ended = foresee(&place, &["trace", "info", "flipped.parquet"]);
    if ended.err().contains("panicked") || ended.how.starts_with("signal") {
        wrong.push(format!("flipped: {ended:?}"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn words_that_are_wrong() {
    let place = recorded();
    let trace = "trace.parquet";
    for (words, named) in [
        (&["sim", trace, "--policy", "best"][..], "best"),
        (&["sim", trace, "--policy", "tip1:unread_share=7"], "unread_share"),
        (&["sim", trace, "--cache", "0"], ""),
        (&["sim", trace, "--cache", "much"], "much"),
        (&["sim", trace, "--block-size", "0"], ""),
        (&["sim"], "TRACE"),
        (&["trace", "convert", trace], "OUTPUT"),
        (&["trace", "convert", trace, "x", "--to", "word"], "word"),
        (&["trace", "convert", trace, "/no/such/place"], "/no/such/place"),
    ] {
        let ended = foresee(&place, words);
        assert!(!ended.err().contains("panicked"), "{words:?}: {ended:?}");
        assert!(ended.how == "status 2" && ended.err().contains(named), "{words:?}: {ended:?}");
    }
}

/// What is fetched ahead counts as hits where nothing takes time, which is said below the table.
#[test]
fn what_is_fetched_ahead_without_a_clock_is_named() {
    let place = Place::new();
    place.write("t.trc", (1..500).map(|number| format!("{number}\n")).collect::<String>());
    let table = |policies: &str| end(place.foresee(&["sim", "t.trc", "-c", "100", "-p", policies]), b"").with(0).out();
    let said = table("lru,informed,opt");
    assert!(said.contains("\nFetched ahead by informed: without a clock"), "{said}");
    assert!(!table("lru,opt").contains("Fetched ahead"), "nobody fetches ahead");
}
