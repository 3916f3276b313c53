//! Recording processes that run already, or everybody, as the kernel tells it.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use foresee_run::child::Signals;
use foresee_run::names::Names;
use foresee_run::source::Source;
use foresee_run::source::fanotify::{Counts, QUEUED_MAX, Recorder, Whose};
use foresee_run::supervisor::TransferSeen;

use super::output::Output;
use crate::progress::Progress;
use crate::say::say;
use crate::text::{bytes, count, many, time};

/// So often what was seen is written down, and Ctrl-C is seen. [`QUEUED_MAX`] transfers take 0.3 s
/// at least.
const LOOKS_EVERY: Duration = Duration::from_millis(50);
/// Files named in a message; the others are counted.
const NAMED_MAX: usize = 3;

/// What was recorded, in numbers.
#[derive(Default)]
struct Total {
    reads: u64,
    writes: u64,
    bytes: u64,
}

/// Records until the processes have ended or Ctrl-C; returns the exit status.
pub fn main(trace: &Path, whose: Whose) -> Result<u8, String> {
    let who = match &whose {
        Whose::Processes(processes) => format!("{} and what they start", processes_in_words(processes)),
        Whose::Everybody(_) => "every process".to_owned(),
    };
    let signals = Signals::take().map_err(|error| format!("cannot wait for Ctrl-C: {error}"))?;
    stay_awake();
    let mut output = Output::create(trace)?;
    let mut recorder = Recorder::start(whose)?;
    say(format_args!("recording {who} on {}; Ctrl-C ends it", in_words(&recorder.places)));
    if !recorder.open_before.is_empty() {
        let files = in_words(&recorder.open_before);
        say(format_args!("what they had open before is not seen, unless they open it again: {files}"));
    }
    let (begun, progress, mut total) = (Instant::now(), Progress::new(), Total::default());
    let mut names = Names::default();
    loop {
        take_all(&mut recorder, &mut names, &mut total, &mut output);
        if recorder.is_over() {
            break;
        }
        if signals.came() || output.has_failed() {
            recorder.stop();
        }
        progress.tell(|| format!("{}{}", total.in_words(), failings(&recorder.counts)));
        std::thread::sleep(LOOKS_EVERY);
    }
    progress.clear();
    let counts = recorder.counts.clone();
    recorder.finish()?;
    output.finish()?;
    let (took, total) = (time(begun.elapsed()), total.in_words());
    say(format_args!("{took}; {total}{}; in {}", failings(&counts), trace.display()));
    Ok(0)
}

/// Writes down what was seen, as much as may have come meanwhile.
fn take_all(source: &mut impl Source, names: &mut Names, total: &mut Total, output: &mut Output) {
    let mut room = QUEUED_MAX;
    while let Some(sighting) = source.next(names, &mut room) {
        // Durations are not known.
        if let Some(transfer) = TransferSeen::of(&sighting, |file| names.path(file), |_| Duration::ZERO) {
            output.take(&transfer);
            total.count(&transfer);
        }
    }
}

/// Whoever reads waits for us: a terminal must not stop us.
fn stay_awake() {
    for signal in [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU] {
        // SAFETY: no handler is installed.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

impl Total {
    fn count(&mut self, transfer: &TransferSeen) {
        *if transfer.write { &mut self.writes } else { &mut self.reads } += 1;
        self.bytes += transfer.bytes;
    }

    fn in_words(&self) -> String {
        format!("{} and {} of {}", many(self.reads, "read"), many(self.writes, "write"), bytes(self.bytes))
    }
}

/// What did not go as it should, if anything.
fn failings(counts: &Counts) -> String {
    let of = |counter: &AtomicU64, what: &str| match counter.load(Relaxed) {
        0 => String::new(),
        number => format!("; {} {what}", count(number)),
    };
    [
        of(&counts.lost, "lost, because the trace was not written as fast"),
        of(&counts.unnamed, "not recorded, of more files than are told apart"),
        of(&counts.refused, "refused by the kernel, because it could not open the file for foresee"),
        of(&counts.births_missed, "times too many processes began at once to follow: some may be missing"),
    ]
    .concat()
}

fn processes_in_words(processes: &[u32]) -> String {
    let numbers: Vec<String> = processes.iter().map(u32::to_string).collect();
    format!("{} {}", if numbers.len() == 1 { "process" } else { "processes" }, numbers.join(", "))
}

fn in_words(paths: &[PathBuf]) -> String {
    let named: Vec<String> = paths.iter().take(NAMED_MAX).map(|path| path.display().to_string()).collect();
    match paths.len() - named.len() {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}
