//! Traces that are damaged, empty, endless, or say much in few bytes: an error that tells what is
//! wrong and where, in little memory.

mod support;

use std::fs;

use serde_json::Value;
use support::{Ended, Place, end, have};

/// This script, in which FORESEE stands for the command, with so many KiB of address space.
fn within(place: &Place, kib: u64, script: &str) -> Ended {
    let script = script.replace("FORESEE", &support::binary().display().to_string());
    end(place.plain(&["sh", "-c", &format!("ulimit -v {kib}; {script}")]), b"")
}

fn foresee(place: &Place, words: &str) -> Ended {
    end(place.foresee(&words.split(' ').collect::<Vec<_>>()), b"")
}

#[test]
fn one_line_fills_no_memory() {
    let place = Place::new();
    place.write("bomb.lis", "0 8 0 1\n0 4000000000 0 2\n");
    place.write("bomb.spc", "0,0,4096,r,0.1\n1,0,16384000000000,r,0.2\n");
    for words in ["sim", "trace info", "advise", "plot", "explain --at 1"] {
        for file in ["bomb.lis", "bomb.spc"] {
            let ended = within(&place, 1_000_000, &format!("exec FORESEE {words} {file}")).with(2);
            let said = ended.err();
            assert!(said.contains(&format!("{file}, line 2: ")) && said.contains("16384000000000"), "{words}: {said}");
            assert!(said.contains("--max-request") && said.lines().count() == 1, "{words}: {said}");
        }
    }
    for format in ["blocks", "oracleGeneral"] {
        let ended = foresee(&place, &format!("trace convert bomb.lis out --to {format}")).with(2);
        assert!(ended.err().contains("bomb.lis, line 2: ") && !place.path("out").exists(), "{ended:?}");
    }
    // Who says that it may be so long has it so long.
    place.write("long.lis", "0 1100000 0 1\n");
    foresee(&place, "trace info long.lis").with(2);
    let info = foresee(&place, "trace info long.lis --max-request 8G --json").with(0);
    assert_eq!(serde_json::from_slice::<Value>(&info.stdout).unwrap()["references"], 1_100_000);
}

#[test]
fn a_trace_is_not_converted_onto_itself() {
    let place = Place::new();
    let text = "1\n2\n3\n";
    place.write("t.trc", text);
    std::os::unix::fs::symlink("t.trc", place.path("link")).unwrap();
    for words in ["t.trc t.trc", "t.trc ./t.trc", "link t.trc", "t.trc link", "link link --to blocks"] {
        let ended = foresee(&place, &format!("trace convert {words}")).with(2);
        assert!(ended.err().contains("is the trace to be read; name another file"), "{words}: {ended:?}");
        assert_eq!(fs::read_to_string(place.path("t.trc")).unwrap(), text, "{words}");
    }
}

#[test]
fn a_part_of_a_trace_is_written() {
    let place = Place::new();
    place.write("t.trc", "1\n2\n3\n4\n");
    let convert = |words: &str| foresee(&place, &format!("trace convert t.trc - --to blocks {words}"));
    assert_eq!(convert("--count 2").with(0).out(), "1\n2\n");
    assert_eq!(convert("--skip 1 --count 2").with(0).out(), "2\n3\n");
    assert_eq!(convert("--skip 3").with(0).out(), "4\n");
    assert!(convert("--skip 4").with(2).err().contains("--skip 4: t.trc has no more requests than that"));
    assert!(convert("--count 0").with(2).err().contains("--count"));
}

#[test]
fn no_output_takes_the_place_of_its_trace() {
    let place = Place::new();
    let text = "1\n2\n3\n";
    place.write("t.trc", text);
    place.write("other.trc", text);
    std::os::unix::fs::symlink("t.trc", place.path("link")).unwrap();
    for words in [
        "sim t.trc -p lru -c 1 --csv t.trc",
        "sim link -p lru -c 1 --json t.trc",
        "sim other.trc t.trc -p lru -c 1 --device latency_us=1 --csv ./t.trc",
        "advise t.trc -p lru --json t.trc",
        "trace info t.trc --json link",
        "plot t.trc -o t.trc",
        "plot t.trc -o page.html --png link",
        "sim /dev/stdin -p lru -c 1 --csv t.trc",
        "sim - -p lru -c 1 --csv t.trc",
        "sim other.trc --after t.trc -p lru -c 1 --csv link",
    ] {
        let script = format!("exec FORESEE {words} <t.trc");
        let ended = within(&place, 4_000_000, &script).with(2);
        assert!(ended.err().contains("is the trace to be read; name another file"), "{words}: {ended:?}");
        assert_eq!(fs::read_to_string(place.path("t.trc")).unwrap(), text, "{words}");
    }
    for words in ["--json - --csv -", "--json out --csv ./out", "--json out --csv out"] {
        place.write("out", "before");
        let ended = foresee(&place, &format!("sim t.trc -p lru -c 1 {words}")).with(2);
        assert!(ended.err().contains("already; name another file"), "{words}: {ended:?}");
        assert_eq!(fs::read_to_string(place.path("out")).unwrap(), "before", "{words}");
    }
    foresee(&place, "sim t.trc -p lru -c 1 --json /dev/null --csv /dev/null").with(0);
}

#[test]
fn what_does_not_end_is_ended() {
    let place = Place::new();
    let endless = |lines: &str| format!("awk 'BEGIN {{ for (;;) {{ n++; {lines} }} }}' | exec FORESEE");
    let (numbers, names) = (endless("print n"), endless(r#"print "1,host" n ",1,Read,0,512,1""#));
    for script in [
        "exec FORESEE sim /dev/urandom --format oracleGeneral -p lru -c 10",
        "exec FORESEE trace info /dev/urandom --format oracleGeneral",
        "exec FORESEE trace convert /dev/urandom out.zst --from oracleGeneral --to oracleGeneral",
        &format!("{numbers} sim - -p lru -c 10"),
        &format!("{numbers} trace info -"),
        &format!("{names} sim - --format msr -p lru -c 10"),
        &format!("{names} trace convert - out --from msr --to blocks"),
        "yes 1 | head -c 150000000 | gzip -1 >bomb.gz; exec FORESEE sim bomb.gz -p lru -c 10",
        // Forks that copy what is open, and open more.
        "awk 'BEGIN { for (n = 1; n < 20000; n++) { print \"1 1.1 open(\\\"x\\\") = \" n \"</x\" n \">\"; \
         print \"1 1.1 fork() = \" n + 1 } }' >forks.strace; exec FORESEE trace info forks.strace",
    ] {
        let ended = within(&place, 500_000, script).with(2);
        let said = ended.err();
        assert!(said.contains(", line ") || said.contains(", byte "), "{script}: {said}");
        assert!(
            said.contains("a third of the memory that was free") || said.contains("descriptors are open"),
            "{script}: {said}"
        );
        assert_eq!(said.lines().count(), 1, "{script}: {said}");
    }
    let left: Vec<_> = fs::read_dir(place.path(".")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name == "bomb.gz" || name == "forks.strace"), "{left:?}");
}

#[test]
fn nothing_is_no_trace() {
    let place = Place::new();
    place.write("empty", "");
    place.write("empty.lis", "");
    place.write("stars.trc", "*\n\n*\n");
    place.write("writes.spc", "0,0,4096,w,0.1\n");
    for words in
        ["sim empty", "sim empty.lis", "trace info empty", "trace convert empty out", "sim empty --format arc", "sim -"]
    {
        let ended = foresee(&place, words).with(2);
        assert!(ended.err().contains(": is empty"), "{words}: {ended:?}");
    }
    for words in ["sim -", "trace info -", "replay -"] {
        let ended = foresee(&place, words).with(2);
        assert!(ended.err().contains("standard input: is empty"), "{words}: {ended:?}");
    }
    for words in [
        "sim stars.trc",
        "sim writes.spc --reads-only",
        "advise writes.spc",
        "plot stars.trc",
        "explain stars.trc --at 1",
    ] {
        let ended = foresee(&place, words).with(2);
        assert!(ended.err().contains(": holds no request"), "{words}: {ended:?}");
    }
    place.write("one.trc", "1\n");
    assert!(
        foresee(&place, "sim one.trc --sample 0.0001%").with(2).err().contains("none of its blocks is in the sample")
    );
}

#[test]
fn damage_is_named_wherever_it_is() {
    let place = Place::new();
    let msr = "128166372003061629,hm,1,Read,383496192,32768,413\n".repeat(5);
    let cases = [
        // The format is said, or the name says it.
        ("a.csv", format!("12,hm,1,Rea,383496192,32768,413\n{msr}"), "--format msr", "line 1: 'Rea' is no Type"),
        ("msr_hm.csv", format!("12,hm,1,Rea,383496192,32768,413\n{msr}"), "", "line 1: 'Rea' is no Type"),
        ("b.lis", "0 8 0\n".to_owned(), "", "line 1: has 3 columns, and not 4"),
        ("b.trc", "eleven\n".to_owned(), "", "line 1: 'eleven' is no block number"),
        // Nothing says it, but the rest of the file.
        ("c", format!("12,hm,1,Rea,383496192,32768,413\n{msr}"), "", "line 1: 'Rea' is no Type"),
        ("d", format!("{msr}12,hm,1,Rea,383496192,32768,413\n"), "", "line 6: 'Rea' is no Type"),
        ("e", "1\n2\nthree\n4\n5\n".to_owned(), "", "line 3: 'three' is no block number"),
        // What the line says is beyond what can be simulated.
        ("f", format!("{msr}12,hm,1,Read,18446744073709551615,2,413\n"), "", "line 6: a read of 2 bytes"),
    ];
    for (file, text, option, said) in cases {
        place.write(file, text);
        let words = format!("trace info {file} {option}");
        let ended = foresee(&place, words.trim_end()).with(2);
        assert!(ended.err().contains(&format!("{file}, {said}")), "{file}: {ended:?}");
    }
}

#[test]
fn a_trace_may_come_through_standard_input() {
    if !have("gzip") {
        return;
    }
    let place = Place::new();
    place.write("t.trc", "1\n2\n3\n1\n2\n4\n");
    place.write_lines(2, 100);
    foresee(&place, "trace convert t.trc t.parquet").with(0);
    foresee(&place, "run --log log -- cat d/f0").with(0);
    let foresee_path = support::binary().display().to_string();
    let sh = |script: &str| end(place.plain(&["sh", "-c", &script.replace("FORESEE", &foresee_path)]), b"").with(0);
    let misses = |script: &str| {
        let rows: Value = serde_json::from_slice(&sh(script).stdout).unwrap();
        rows[0]["misses"].as_u64().unwrap()
    };
    for file in ["t.trc", "t.parquet"] {
        assert_eq!(misses(&format!("cat {file} | FORESEE sim - -p lru -c 2 --json")), 6);
        assert_eq!(misses(&format!("FORESEE sim - -p lru -c 2 --json <{file}")), 6);
        assert!(sh(&format!("cat {file} | FORESEE trace info -")).out().contains("requests          6\n"));
        let text = sh(&format!("cat {file} | FORESEE trace convert - - --to blocks"));
        assert_eq!(text.out(), "1\n2\n3\n1\n2\n4\n");
        assert!(sh(&format!("cat {file} | FORESEE explain - --at 1")).out().contains("reference 1"));
        assert!(sh(&format!("cat {file} | FORESEE advise - -p lru --memory 8K")).out().contains("\nforesee would "));
        sh(&format!("cat {file} | FORESEE plot - -p lru"));
        assert!(place.path("trace.html").exists());
    }
    assert!(sh("gzip -c t.trc | FORESEE sim - -p lru").out().starts_with("standard input: 6 requests"));
    assert!(sh("cat log | FORESEE replay -").out().contains("all the same"));
    assert!(sh("cat log | FORESEE explain - --at 1").out().contains("under "));
    let ended =
        end(place.plain(&["sh", "-c", &format!("echo three | {foresee_path} sim - --format blocks")]), b"").with(2);
    assert!(ended.err().contains("standard input, line 1: "), "{ended:?}");
}

#[test]
fn only_what_is_asked_for_is_simulated() {
    let place = Place::new();
    place.write("t.trc", "1\n2\n3\n1\n2\n4\n");
    let policies = |words: &str| -> Vec<String> {
        let ended = foresee(&place, &format!("sim t.trc {words} --json")).with(0);
        let rows: Vec<Value> = serde_json::from_slice(&ended.stdout).unwrap();
        rows.iter().map(|row| row["policy"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(policies("-p lru -c 2"), ["lru"]);
    assert_eq!(policies("-p lru,pcc:by_hash=0,halve_at=0,arc -c 2"), ["lru", "pcc:by_hash=0,halve_at=0", "arc"]);
    assert_eq!(policies("-p opt,lru -c 2"), ["opt", "lru", "unlimited"]);
    assert_eq!(policies("-p lru -c 50%"), ["lru", "unlimited"]);
    assert!(policies("-c 2").iter().any(|policy| policy == "opt"));
}
