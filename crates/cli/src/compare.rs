//! `foresee run --compare`: the same command with and without foresee, in turn, each time on a cold cache.

use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{IsTerminal, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use foresee::account::Account;
use foresee::host::drop_pages;
use foresee::profile::Store;
use foresee::run::Ran;
use serde_json::{Value, json};

use crate::run::{Running, failed, keep};
use crate::text::time;
use crate::{report, text};

/// What one run came to.
struct Measured {
    elapsed: Duration,
    status: i32,
    /// A hash of standard output, and its length.
    output: (u64, u64),
    account: Option<Account>,
}

/// Compares; returns the exit status.
pub fn main(running: &Running, rounds: u32, store: Option<&Store>, json_file: Option<&Path>) -> Result<u8, String> {
    let progress = std::io::stderr().is_terminal();
    // What it reads must be known to be made cold, so one run comes first and is not measured.
    let first = match run_foreseen(running, store) {
        Ok((_, ran)) => ran,
        Err(status) => return Ok(status),
    };
    let files = first.profile.files.clone();
    if first.account.programs == 0 {
        return Err("the program cannot be watched (static binary?), so there is nothing to compare".to_owned());
    }
    let (mut plain, mut foreseen) = (Vec::new(), Vec::new());
    let mut coldness = Coldness::default();
    for round in 0..rounds {
        // In turn, and each the first of every other round, so that what drifts touches both alike.
        for foresee in [round % 2 == 1, round % 2 == 0] {
            if progress {
                eprint!("\rforesee: run {} of {} ", plain.len() + foreseen.len() + 1, 2 * rounds);
            }
            coldness = make_cold(&files);
            if foresee {
                match run_foreseen(running, store) {
                    Ok((measured, _)) => foreseen.push(measured),
                    Err(status) => return Ok(status),
                }
            } else {
                plain.push(run_plain(running)?);
            }
        }
    }
    if progress {
        eprint!("\r\x1b[K");
    }
    let result = Comparison::new(&plain, &foreseen, coldness);
    result.print(&foreseen);
    if let Some(path) = json_file {
        report::write_json(path, &result.json(&plain, &foreseen))?;
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

fn run_foreseen(running: &Running, store: Option<&Store>) -> Result<(Measured, Ran), u8> {
    let (reader, writer) = match std::io::pipe() {
        Ok(pipe) => pipe,
        Err(error) => return Err(failed(foresee::run::Failure::Own(format!("a pipe for the output: {error}")))),
    };
    let output = drain(reader);
    let mut run = running.run(store);
    run.output = Some(OwnedFd::from(writer));
    let ran = run.go().map_err(failed)?;
    if let Err(warning) = keep(&ran, store.filter(|_| !running.no_learn)) {
        eprintln!("foresee: {warning}");
    }
    let measured = Measured {
        elapsed: ran.account.elapsed,
        status: status_of(&ran.account),
        output: output.join().unwrap_or_default(),
        account: Some(ran.account.clone()),
    };
    Ok((measured, ran))
}

fn status_of(account: &Account) -> i32 {
    match account.ending {
        foresee::account::Ending::Status(status) => status,
        foresee::account::Ending::Signal(signal) => 128 + signal,
    }
}

fn run_plain(running: &Running) -> Result<Measured, String> {
    let program = running.command[0].to_string_lossy();
    let begun = Instant::now();
    let mut child = Command::new(&running.command[0])
        .args(&running.command[1..])
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{program}: {error}"))?;
    let output = child.stdout.take().map(drain);
    let status = child.wait().map_err(|error| format!("{program}: {error}"))?;
    let elapsed = begun.elapsed();
    let output = output.and_then(|it| it.join().ok()).unwrap_or_default();
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    let status = status.code().unwrap_or_else(|| 128 + signal.unwrap_or(0));
    Ok(Measured { elapsed, status, output, account: None })
}

/// How cold the caches were made.
#[derive(Debug, Clone, Copy, Default)]
struct Coldness {
    files: usize,
    all_caches: bool,
}

/// Drops what the command reads from the page cache; with root, all clean caches, names included.
fn make_cold(files: &[PathBuf]) -> Coldness {
    let mut dropped = 0;
    for path in files {
        if let Ok(file) = File::open(path)
            && file.metadata().is_ok_and(|it| it.is_file())
        {
            drop_pages(&file, 0, 0);
            dropped += 1;
        }
    }
    // SAFETY: sync takes nothing and returns nothing.
    unsafe { libc::sync() };
    let all_caches = std::fs::write("/proc/sys/vm/drop_caches", "3").is_ok();
    Coldness { files: dropped, all_caches }
}

struct Comparison {
    plain: Duration,
    foreseen: Duration,
    same: bool,
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
    fn new(plain: &[Measured], foreseen: &[Measured], coldness: Coldness) -> Self {
        let mut all = plain.iter().chain(foreseen).map(|run| (run.status, run.output));
        let first = all.next();
        let same = all.all(|it| Some(it) == first);
        Comparison { plain: median(plain), foreseen: median(foreseen), same, coldness }
    }

    fn ratio(&self) -> f64 {
        self.plain.as_secs_f64() / self.foreseen.as_secs_f64()
    }

    fn print(&self, foreseen: &[Measured]) {
        let Coldness { files, all_caches } = self.coldness;
        let cold = match all_caches {
            true => "all caches dropped".to_owned(),
            false => format!("{} files dropped from the page cache, names stay cached", text::count(files as u64)),
        };
        println!("foresee: {} runs each, in turn, on a cold cache ({cold})", foreseen.len());
        println!("without  {}  median", time(self.plain));
        println!("with     {}  median  ({})", time(self.foreseen), range(foreseen));
        println!("ratio    {:.2}x", self.ratio());
        let same = if self.same { "identical in all runs" } else { "DIFFERENT between runs" };
        println!("output and exit status: {same}");
    }

    fn json(&self, plain: &[Measured], foreseen: &[Measured]) -> Value {
        let seconds = |runs: &[Measured]| runs.iter().map(|run| run.elapsed.as_secs_f64()).collect::<Vec<_>>();
        let accounts: Vec<Value> = foreseen.iter().filter_map(|run| run.account.as_ref()).map(report::json).collect();
        json!({
            "plain_s": seconds(plain),
            "foreseen_s": seconds(foreseen),
            "plain_median_s": self.plain.as_secs_f64(),
            "foreseen_median_s": self.foreseen.as_secs_f64(),
            "ratio": self.ratio(),
            "same_output": self.same,
            "files_dropped": self.coldness.files,
            "all_caches_dropped": self.coldness.all_caches,
            "accounts": accounts,
        })
    }
}
