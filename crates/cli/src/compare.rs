//! `foresee run --compare`: the same command with and without foresee, in turn, each time on a cold
//! cache.
//!
//! Each arm is a process of its own, timed from its start to its end: what foresee takes to start,
//! to look its profile up and to keep it counts against it.

use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use foresee_run::host::{drop_pages, open_to_read};
use foresee_run::profile::{Findings, Store};
use serde_json::{Value, json};

use crate::output::Output;
use crate::running::Running;
use crate::say::{clear, print, renew};
use crate::text::time;
use crate::{report, text};

/// What one run came to.
struct Measured {
    elapsed: Duration,
    /// Exit status, or 128 and the signal, as a shell says it.
    status: i32,
    /// A hash of standard output, and its length.
    output: (u64, u64),
    /// The account, if it was foreseen.
    account: Option<Value>,
}

/// Where the runs of one comparison keep their profiles and accounts; gone with it.
struct Workshop(PathBuf);

impl Workshop {
    fn new() -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("foresee-compare-{}", std::process::id()));
        std::fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Workshop(path))
    }

    fn profiles(&self) -> PathBuf {
        self.0.join("profiles")
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

extern "C" fn interrupted(_: i32) {}

/// Compares; returns the exit status: 1 if the runs' output or status differ.
pub fn main(running: &Running, rounds: u32, json: Option<&Output>) -> Result<u8, String> {
    // A handler that does nothing, which the commands do not inherit: they end, and we clean up.
    // SAFETY: the handler touches nothing.
    unsafe { libc::signal(libc::SIGINT, interrupted as *const () as libc::sighandler_t) };
    let workshop = Workshop::new()?;
    let progress = std::io::stderr().is_terminal();
    // What it reads must be known to be made cold, so one run comes first and is not measured.
    let first = run_foreseen(running, &workshop, true)?;
    if first.account.as_ref().is_some_and(|account| account["watched"] == false) {
        return Err("the program cannot be watched (static binary?), so there is nothing to compare".to_owned());
    }
    let files = recorded_files(&workshop)?;
    forget_findings(&workshop)?;
    let (mut plain, mut foreseen) = (Vec::new(), vec![]);
    let mut coldness = Coldness::default();
    for round in 0..rounds {
        // In turn, and each the first of every other round, so that what drifts touches both alike.
        for foresee in [round % 2 == 1, round % 2 == 0] {
            if progress {
                renew(format_args!("run {} of {} ", plain.len() + foreseen.len() + 1, 2 * rounds));
            }
            coldness = make_cold(&files);
            match foresee {
                true => foreseen.push(run_foreseen(running, &workshop, !running.no_learn)?),
                false => plain.push(measure(command(&running.command), None)?),
            }
        }
    }
    if progress {
        clear();
    }
    let result = Comparison::new(&first, &plain, &foreseen, coldness);
    match json {
        Some(output) => report::write_json(output, &result.json(&plain, &foreseen))?,
        None => print(|out| result.print(&plain, &foreseen, out))?,
    }
    Ok(u8::from(!result.same))
}

/// Reads a pipe to its end.
fn drain(mut pipe: impl Read + Send + 'static) -> JoinHandle<(u64, u64)> {
    std::thread::spawn(move || {
        let (mut hasher, mut length, mut buffer) = (DefaultHasher::new(), 0, vec![0; 1 << 16]);
        while let Ok(got @ 1..) = pipe.read(&mut buffer) {
            hasher.write(&buffer[..got]);
            length += got as u64;
        }
        (hasher.finish(), length)
    })
}

fn command(words: &[std::ffi::OsString]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// Standard input for one run: the file it comes from, from its beginning, or nothing.
fn input() -> Stdio {
    match File::open("/proc/self/fd/0") {
        Ok(file) if file.metadata().is_ok_and(|it| it.is_file()) => file.into(),
        _ => Stdio::null(),
    }
}

fn run_foreseen(running: &Running, workshop: &Workshop, learn: bool) -> Result<Measured, String> {
    let own = std::env::current_exe().map_err(|error| format!("cannot find foresee's own executable: {error}"))?;
    let account = workshop.0.join("account.json");
    // An earlier run's would be taken for this one's, if foresee were lost.
    let _ = std::fs::remove_file(&account);
    let mut foresee = Command::new(own);
    foresee.args(["run", "--quiet", "--json"]).arg(&account);
    if let Some(policy) = &running.policy {
        foresee.args(["--policy", policy.as_str()]);
    }
    if let Some(advised) = &running.advice {
        foresee.arg("--advice").arg(&advised.path);
    }
    if let Some(given) = &running.profile {
        foresee.arg("--profile").arg(&given.path);
    }
    foresee.args((!learn).then_some("--no-learn")).args(running.no_words.then_some("--no-words"));
    foresee.args(running.no_listings.then_some("--no-listings"));
    if let Some(bytes) = running.memory {
        foresee.args(["--memory", &bytes.to_string()]);
    }
    foresee.arg("--").args(&running.command).env("FORESEE_PROFILES", workshop.profiles());
    measure(foresee, Some(&account))
}

fn measure(mut command: Command, account: Option<&Path>) -> Result<Measured, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let begun = Instant::now();
    let started = command.stdin(input()).stdout(Stdio::piped()).spawn();
    let mut child = started.map_err(|error| format!("{program}: {error}"))?;
    let output = child.stdout.take().map(drain);
    let status = child.wait().map_err(|error| format!("{program}: {error}"))?;
    let elapsed = begun.elapsed();
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    if signal == Some(libc::SIGINT) {
        return Err("interrupted".to_owned());
    }
    let account = match account {
        Some(path) => {
            // Without an account, foresee has said why on standard error, unless it was killed.
            let text = std::fs::read_to_string(path)
                .map_err(|_| "the command was not run, or not watched to its end".to_owned())?;
            Some(serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?)
        }
        None => None,
    };
    let output = output.and_then(|it| it.join().ok()).unwrap_or_default();
    Ok(Measured { elapsed, status: status.code().unwrap_or_else(|| 128 + signal.unwrap_or(0)), output, account })
}

/// The files that the first run read.
fn recorded_files(workshop: &Workshop) -> Result<Vec<PathBuf>, String> {
    let store = Store::at(workshop.profiles());
    let stored = store.list().map_err(|error| format!("{}: {error}", store.directory().display()))?;
    let mut files = Vec::new();
    for profile in stored {
        files.extend(profile.read()?.files.iter().map(Path::to_owned));
    }
    Ok(files)
}

/// What the first run found in memory is not there for those that are measured.
fn forget_findings(workshop: &Workshop) -> Result<(), String> {
    let store = Store::at(workshop.profiles());
    for profile in store.list().map_err(|error| format!("{}: {error}", store.directory().display()))? {
        let profile = profile.read()?;
        store.note(&profile, Findings { in_memory: None, ..profile.findings })?;
    }
    Ok(())
}

/// How cold the caches were made.
#[derive(Debug, Clone, Copy, Default)]
struct Coldness {
    files: usize,
    all_caches: bool,
}

/// Drops what the command reads from the page cache; with root, all clean caches, names included.
fn make_cold(files: &[PathBuf]) -> Coldness {
    // What was just written is dirty, and would stay.
    // SAFETY: sync takes nothing and returns nothing.
    unsafe { libc::sync() };
    let mut dropped = 0;
    for path in files {
        if let Ok(file) = open_to_read(path, None) {
            drop_pages(&file, 0, 0);
            dropped += 1;
        }
    }
    let all_caches = std::fs::write("/proc/sys/vm/drop_caches", "3").is_ok();
    Coldness { files: dropped, all_caches }
}

struct Comparison {
    plain: Duration,
    foreseen: Duration,
    same: bool,
    /// The first run's exit status.
    status: i32,
    coldness: Coldness,
}

fn median(runs: &[Measured]) -> Duration {
    let mut times: Vec<Duration> = runs.iter().map(|run| run.elapsed).collect();
    times.sort();
    let middle = times.len() / 2;
    if times.len() % 2 == 1 { times[middle] } else { (times[middle - 1] + times[middle]) / 2 }
}

fn range(runs: &[Measured]) -> String {
    let times = || runs.iter().map(|run| run.elapsed);
    format!("{} to {}", time(times().min().unwrap_or_default()), time(times().max().unwrap_or_default()))
}

impl Comparison {
    fn new(first: &Measured, plain: &[Measured], foreseen: &[Measured], coldness: Coldness) -> Self {
        let same = plain.iter().chain(foreseen).all(|it| (it.status, it.output) == (first.status, first.output));
        Comparison { plain: median(plain), foreseen: median(foreseen), same, status: first.status, coldness }
    }

    fn ratio(&self) -> f64 {
        self.plain.as_secs_f64() / self.foreseen.as_secs_f64()
    }

    fn print(&self, plain: &[Measured], foreseen: &[Measured], out: &mut dyn Write) -> io::Result<()> {
        let Coldness { files, all_caches } = self.coldness;
        let cold = match all_caches {
            true => "all caches dropped".to_owned(),
            false => format!("{} files dropped from the page cache, names stay cached", text::count(files as u64)),
        };
        writeln!(out, "{} runs each, in turn, on a cold cache ({cold})", foreseen.len())?;
        writeln!(out, "without  {:>9}  median  ({})", time(self.plain), range(plain))?;
        writeln!(out, "with     {:>9}  median  ({})", time(self.foreseen), range(foreseen))?;
        writeln!(out, "ratio    {:>8.2}x", self.ratio())?;
        let same = match (self.same, self.status) {
            (true, 0) => "identical in all runs".to_owned(),
            // Who mistyped a path would take the ratio for an answer.
            (true, failed) => format!("identical in all runs, each with exit status {failed}"),
            (false, _) => "DIFFERENT between runs".to_owned(),
        };
        writeln!(out, "output and exit status: {same}")
    }

    fn json(&self, plain: &[Measured], foreseen: &[Measured]) -> Value {
        let seconds = |runs: &[Measured]| runs.iter().map(|run| run.elapsed.as_secs_f64()).collect::<Vec<_>>();
        let accounts: Vec<&Value> = foreseen.iter().filter_map(|run| run.account.as_ref()).collect();
        json!({
            "plain_s": seconds(plain),
            "foreseen_s": seconds(foreseen),
            "plain_median_s": self.plain.as_secs_f64(),
            "foreseen_median_s": self.foreseen.as_secs_f64(),
            "ratio": self.ratio(),
            "same_output": self.same,
            "status": self.status,
            "files_dropped": self.coldness.files,
            "all_caches_dropped": self.coldness.all_caches,
            "accounts": accounts,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_fails_in_all_runs_is_said_to() {
        let printed = |statuses: [i32; 3]| {
            let [first, plain, foreseen] = statuses.map(|status| Measured {
                elapsed: Duration::from_secs(1),
                status,
                output: (0, 0),
                account: None,
            });
            let (plain, foreseen) = ([plain], [foreseen]);
            let mut out = Vec::new();
            let result = Comparison::new(&first, &plain, &foreseen, Coldness::default());
            result.print(&plain, &foreseen, &mut out).unwrap();
            String::from_utf8(out).unwrap().lines().last().unwrap().to_owned()
        };
        assert!(printed([0, 0, 0]).ends_with(": identical in all runs"));
        assert!(printed([3, 3, 3]).ends_with(": identical in all runs, each with exit status 3"));
        assert!(printed([3, 0, 3]).ends_with(": DIFFERENT between runs"));
    }
}
