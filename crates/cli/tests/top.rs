//! Runs that are under way are shown, and none else.

mod support;

use std::fs::{self, File};
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
    const CLEARED: &str = "\x1b[H\x1b[2J";
    if !have("script") {
        return;
    }
    let places = [Place::new(), Place::new()];
    let mut running = places.each_ref().map(|place| {
        let script = format!("echo {}; cat", place.work().display());
        let mut command = place.run(&["--no-learn"], &["sh", "-c", &script]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
    });
    wait_until("both are shown", || places.iter().all(|place| shown(place).is_some()));
    let [place, _] = &places;
    let top = format!("stty rows 3 cols 20; exec {} top --every 0.1", support::binary().display());
    let said = place.aside("said");
    let mut terminal = place.plain(&["script", "-qec", &top, "/dev/null"]);
    let mut terminal = terminal.stdin(Stdio::null()).stdout(File::create(&said).unwrap()).spawn().unwrap();
    let looks = || fs::read_to_string(&said).unwrap();
    wait_until("a look is over", || looks().matches(CLEARED).count() > 1);
    terminal.kill().unwrap();
    terminal.wait().unwrap();
    for one in &mut running {
        drop(one.stdin.take());
        one.wait().unwrap();
    }
    let looks = looks();
    // The first run's beginning, and how many are not shown: others may be under way.
    let lines: Vec<_> = looks.split(CLEARED).nth(1).unwrap().lines().collect();
    assert!(lines.len() == 2 && lines[0].contains("  ") && lines[0].len() == 20, "{looks:?}");
    assert!(lines[1].ends_with("not shown"), "{looks:?}");
}
