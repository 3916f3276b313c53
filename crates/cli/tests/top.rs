//! Runs that are under way are shown, and none else.

mod support;

use std::process::Stdio;

use serde_json::Value;
use support::{Place, end, have, wait_until};

/// The run of this place, as it stands.
fn shown(place: &Place) -> Option<Value> {
    let ended = end(place.foresee(&["top", "--once", "--json"]), b"");
    let runs: Value = serde_json::from_slice(&ended.stdout).unwrap();
    let marker = place.work().display().to_string();
    runs.as_array().unwrap().iter().find(|run| run["command"].to_string().contains(&marker)).cloned()
}

#[test]
fn a_run_is_shown_while_it_goes_on() {
    let place = Place::new();
    place.write("data", vec![b'x'; 100_000]);
    let script = format!("cat {}/data > /dev/null; echo read; cat", place.work().display());
    let mut command = place.run(&["--no-learn"], &["sh", "-c", &script]);
    let mut running = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    wait_until("its read is shown", || shown(&place).is_some_and(|run| run["bytes"].as_u64() >= Some(100_000)));
    let run = shown(&place).unwrap();
    let of = |list: &str, key: &str, word: &str| {
        let all = run[list].as_array().unwrap().iter();
        all.filter(|it| it[key].as_str().unwrap().ends_with(word)).map(|it| it["reads"].as_u64().unwrap()).sum::<u64>()
    };
    assert!(of("by_program", "name", "cat") > 0 && of("files", "path", "/data") > 0, "{run:#}");
    assert_eq!(run["status"], Value::Null);
    let text = end(place.foresee(&["top", "--once"]), b"").with(0).out();
    assert!(text.contains("/data") && text.contains("stalled"), "{text}");
    drop(running.stdin.take());
    running.wait().unwrap();
    assert_eq!(shown(&place), None, "a run that is over is not shown");
}

/// Names may hold what a terminal acts on.
#[test]
fn names_are_shown_without_what_terminals_act_on() {
    let place = Place::new();
    let script = format!("echo {}; cat", place.work().display());
    let mut command = place.run(&["--no-learn"], &["sh", "-c", &script, "a\u{1b}]0;title\u{7}b"]);
    let mut running = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    wait_until("it is shown", || shown(&place).is_some());
    let text = end(place.foresee(&["top", "--once"]), b"").with(0).out();
    assert!(text.contains("a]0;titleb") && !text.contains('\u{1b}'), "{text:?}");
    drop(running.stdin.take());
    running.wait().unwrap();
}

/// Of a longer text the beginning would scroll out of sight.
#[test]
fn a_small_terminal_shows_the_beginning() {
    let place = Place::new();
    if !have("script") {
        return;
    }
    let script = format!("echo {}; cat", place.work().display());
    let mut command = place.run(&["--no-learn"], &["sh", "-c", &script]);
    let mut running = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    wait_until("it is shown", || shown(&place).is_some());
    let top = format!("stty rows 2 cols 7; timeout 1 {} top", support::binary().display());
    let terminal = place.plain(&["script", "-qec", &top, "/dev/null"]);
    let said = end(terminal, b"").out();
    drop(running.stdin.take());
    running.wait().unwrap();
    let first = said.split("\x1b[H\x1b[2J").nth(1).unwrap();
    let lines: Vec<_> = first.lines().collect();
    assert!(lines.len() == 1 && (1..=7).contains(&lines[0].trim_end().len()), "{said:?}");
}
