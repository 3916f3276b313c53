//! `foresee top`: the runs that are under way, as they stand.

mod screen;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use clap::Args;
use foresee_run::account::{Account, FileAccount};
use foresee_run::run::StateText;
use foresee_run::status::states;
use serde_json::{Value, json};

use self::screen::Size;
use crate::report;
use crate::say::print;
use crate::text::{bytes, count, many, time};

/// Options of `foresee top`.
#[derive(Args)]
pub struct Options {
    /// Print the runs once, and end
    #[arg(long)]
    once: bool,

    /// Print each look as one line of JSON: a list of runs, each as its account with its command,
    /// process and files
    #[arg(long)]
    json: bool,

    /// How long to wait between two looks
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    every: Duration,

    /// Programs and files shown of each run
    #[arg(long, value_name = "N", default_value = "8")]
    rows: usize,
}

fn interval(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.1..=3600.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| format!("'{text}' is no number of seconds from 0.1 to 3600"))
}

/// How a run of this command says how it stands.
pub fn state<'a>(command: &[OsString]) -> StateText<'a> {
    let command: Vec<String> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    Box::new(move |account: &Account, files: &[FileAccount]| {
        let mut state = report::json(account);
        // It has not ended yet.
        state["status"] = Value::Null;
        state["command"] = json!(command);
        state["process"] = json!(std::process::id());
        state["files"] = files.iter().map(file).collect();
        state.to_string()
    })
}

fn file(FileAccount { path, reads, stall, late, missed }: &FileAccount) -> Value {
    json!({
        "path": path.to_string_lossy(),
        "reads": reads,
        "stall_s": stall.as_secs_f64(),
        "late_blocks": late,
        "missed_blocks": missed,
    })
}

/// Shows the runs until none is left; returns the exit status: 1 if there was none at all.
pub fn main(options: Options) -> Result<u8, String> {
    let is_screen = io::stdout().is_terminal() && !options.once && !options.json;
    let mut any = false;
    loop {
        let runs = states().map_err(|error| format!("/proc/net/unix: {error}; it says which runs there are"))?;
        let runs: Vec<Value> = runs.iter().filter_map(|state| serde_json::from_str(state).ok()).collect();
        if runs.is_empty() && any {
            return Ok(0);
        }
        print(|out| show(&runs, &options, is_screen, out))?;
        if runs.is_empty() || options.once {
            return Ok(u8::from(runs.is_empty()));
        }
        any = true;
        std::thread::sleep(options.every);
    }
}

fn show(runs: &[Value], options: &Options, is_screen: bool, out: &mut dyn Write) -> io::Result<()> {
    if options.json {
        return writeln!(out, "{}", json!(runs));
    }
    if is_screen {
        // From the upper left corner on, and nothing of what was there before.
        write!(out, "\x1b[H\x1b[2J")?;
    }
    if runs.is_empty() {
        return writeln!(out, "no run of 'foresee run' is under way");
    }
    if !is_screen {
        return runs.iter().try_for_each(|run| show_run(run, options.rows, out));
    }
    let texts = runs.iter().map(|run| {
        let mut text = Vec::new();
        show_run(run, options.rows, &mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    });
    screen::write(&texts.collect::<io::Result<Vec<_>>>()?, Size::of_output(), out)
}

/// A field, where it is there: another version of foresee may say other things.
fn number(of: &Value, key: &str) -> u64 {
    of[key].as_u64().unwrap_or(0)
}

fn duration(of: &Value, key: &str) -> Duration {
    Duration::try_from_secs_f64(of[key].as_f64().unwrap_or(0.0)).unwrap_or_default()
}

/// What a terminal would not take for letters is left out: names are anybody's.
fn plain(text: &str) -> String {
    text.chars().filter(|it| !it.is_control()).collect()
}

fn show_run(run: &Value, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    let words: Vec<&str> = run["command"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    writeln!(out, "{}  {}", number(run, "process"), plain(&words.join(" ")))?;
    let (elapsed, stall) = (duration(run, "elapsed_s"), duration(run, "stall_s"));
    let reads = many(number(run, "reads"), "read");
    writeln!(out, "  {}; {reads} of {}; {} stalled", time(elapsed), bytes(number(run, "bytes")), time(stall))?;
    for class in ["told", "guessed"] {
        let outcomes = &run["prefetched"][class];
        let of = |key| number(outcomes, key);
        let (fetched, timely, late, wasted) = (of("fetched"), of("timely"), of("late"), of("wasted"));
        if fetched > 0 {
            let cancelled = of("cancelled");
            let unread = fetched.saturating_sub(timely + late + wasted + cancelled);
            let (timely, late, wasted, unread) = (count(timely), count(late), count(wasted), count(unread));
            let cancelled = count(cancelled);
            let fetched = count(fetched);
            writeln!(
                out,
                "  {class}: {fetched} blocks ahead: {timely} timely, {late} late, {wasted} wasted, {cancelled} cancelled, \
                 {unread} not read yet"
            )?;
        }
    }
    table(&run["by_program"], "program", "name", rows, out)?;
    table(&run["files"], "file", "path", rows, out)?;
    writeln!(out)
}

/// Those that waited longest.
fn table(of: &Value, title: &str, name: &str, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut all: Vec<&Value> = of.as_array().into_iter().flatten().filter(|it| number(it, "reads") > 0).collect();
    all.sort_by_key(|it| std::cmp::Reverse((duration(it, "stall_s"), number(it, "reads"))));
    if all.is_empty() {
        return Ok(());
    }
    writeln!(out, "  {:>10} {:>10} {:>10}  {title}", "reads", "stalled", "missed")?;
    for it in all.into_iter().take(rows) {
        let (reads, stall, missed) =
            (count(number(it, "reads")), time(duration(it, "stall_s")), count(number(it, "missed_blocks")));
        writeln!(out, "  {reads:>10} {stall:>10} {missed:>10}  {}", plain(it[name].as_str().unwrap_or("")))?;
    }
    Ok(())
}
