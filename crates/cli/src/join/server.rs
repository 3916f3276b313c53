//! The supervisor of joined runs: `foresee supervise`, started by the first of them.

use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::net::UnixListener;
use std::time::Duration;

use foresee_manager::AdviceFile;
use foresee_manager::policy::Choice;
use foresee_run::account::{Account, Ending};
use foresee_run::clock::Clock;
use foresee_run::host::PageCache;
use foresee_run::profile::{Earlier, Store};
use foresee_run::shared::SharedRegion;
use foresee_run::supervisor::{Setup, Supervisor};
use serde_json::{Value, json};

use super::hearing::Hearing;
use super::{Broken, Line};
use crate::report;
use crate::running::{default_policy, may_use_uring};

/// Who does not say its wish for so long is no run.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the first run wished, and all others share.
struct Shared {
    policy: Choice,
    memory: Option<u64>,
}

/// What a run wishes.
pub struct Wishes {
    policy: Option<Choice>,
    memory: Option<u64>,
    advice: Option<AdviceFile>,
}

impl Wishes {
    fn read(message: &Value) -> Result<Self, String> {
        let advice =
            message["advice"].as_str().map(AdviceFile::parse).transpose().map_err(|error| error.to_string())?;
        let policy = message["policy"].as_str().map(str::parse).transpose()?;
        Ok(Wishes { policy, memory: message["memory"].as_u64(), advice })
    }

    /// What these wishes come to for the first run.
    fn shared(&self) -> Result<Shared, String> {
        let policy = self.policy.clone().unwrap_or_else(|| default_policy(true));
        if !policy.build().takes_advice() {
            return Err(format!("policy {} knows no programs to share memory between; lru-sp does", policy.as_str()));
        }
        Ok(Shared { policy, memory: self.memory })
    }

    /// Whether they go with what is settled.
    fn suit(&self, shared: &Shared) -> Result<(), String> {
        let policy = self.policy.as_ref().map_or(shared.policy.as_str(), Choice::as_str);
        if policy != shared.policy.as_str() {
            return Err(format!("the runs share policy {}, not {policy}", shared.policy.as_str()));
        }
        if self.memory.is_some() && self.memory != shared.memory {
            return Err("the first of the runs has settled --memory; leave it out".to_owned());
        }
        Ok(())
    }
}

/// A run that has joined.
struct Joined {
    number: u32,
    starter: u32,
    line: Line,
}

/// Serves runs until the last has ended.
pub fn main() -> Result<u8, String> {
    // SAFETY: standard input is ours; who started us has put the socket there.
    let listener = unsafe { UnixListener::from_raw_fd(0) };
    let cannot = |error: std::io::Error| {
        format!("standard input is no socket ({error}); 'foresee run --join NAME' starts this by itself")
    };
    let mut hearing = Hearing::new().map_err(|error| format!("a pair of sockets: {error}"))?;
    let (first, wishes) = loop {
        let (stream, _) = listener.accept().map_err(cannot)?;
        if let Some(met) = Line::new(stream).and_then(hear_wishes) {
            break met;
        }
    };
    let clock = Clock::begin();
    let shared = match wishes.shared() {
        Ok(shared) => shared,
        Err(why) => return refuse(first, &why),
    };
    let region = match SharedRegion::new() {
        Ok(region) => region,
        Err(error) => return refuse(first, &format!("shared memory for the programs: {error}")),
    };
    let host = match PageCache::new(may_use_uring(), Store::of_user().map(|store| store.directory().to_owned())) {
        Ok(host) => host,
        Err(error) => return refuse(first, &format!("the page-cache host: {error}")),
    };
    let setup = Setup {
        policy: shared.policy.clone(),
        memory_bytes: shared.memory,
        host,
        words: Default::default(),
        earlier: Earlier::Nothing,
        is_recorded: false,
        listings: false,
        advice: None,
        trace: None,
        log: None,
    };
    let mut supervisor = Supervisor::new(region.region(), setup, clock);
    listener.set_nonblocking(true).map_err(cannot)?;
    let mut runs = Vec::new();
    let mut count = 0;
    let mut admit = |supervisor: &mut Supervisor<'_>, runs: &mut Vec<Joined>, mut line: Line, wishes: Wishes| {
        let starter = line.peer().unwrap_or(0);
        count += 1;
        supervisor.begin_run(count, starter, wishes.advice);
        if line.say(&json!({ "ring": region.path() })).is_ok() {
            runs.push(Joined { number: count, starter, line });
        }
    };
    admit(&mut supervisor, &mut runs, first, wishes);
    while !runs.is_empty() {
        let worked = supervisor.turn();
        region.answer();
        while let Ok((stream, _)) = listener.accept() {
            hearing.begin(stream);
        }
        while let Some((line, wishes)) = hearing.next() {
            match wishes.suit(&shared) {
                Ok(()) => admit(&mut supervisor, &mut runs, line, wishes),
                Err(why) => _ = refuse(line, &why),
            }
        }
        runs.retain_mut(|run| {
            let goes_on = !is_readable(run.line.stream().as_raw_fd());
            if !goes_on {
                let _ = conclude(&mut supervisor, run);
            }
            goes_on
        });
        let lines: Vec<RawFd> = runs.iter().map(|run| run.line.stream().as_raw_fd()).collect();
        supervisor.rest(worked, &[lines.as_slice(), &[listener.as_raw_fd(), hearing.fd(), region.fd()]].concat());
    }
    // Programs that outlive their runs are told that nobody listens.
    supervisor.finish();
    Ok(0)
}

/// What a run says it wishes; None of one that says nothing, or was refused.
pub fn hear_wishes(mut line: Line) -> Option<(Line, Wishes)> {
    let _ = line.stream().set_nonblocking(false);
    let _ = line.stream().set_read_timeout(Some(PATIENCE));
    let message = line.hear().ok()?;
    match Wishes::read(&message) {
        Ok(wishes) => Some((line, wishes)),
        Err(why) => {
            let _ = refuse(line, &why);
            None
        }
    }
}

fn refuse(mut line: Line, why: &str) -> Result<u8, String> {
    let _ = line.say(&json!({ "refused": why }));
    Ok(2)
}

/// Whether a message, or the end, has come.
fn is_readable(fd: RawFd) -> bool {
    let mut polled = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one structure, which lives through the call.
    unsafe { libc::poll(&raw mut polled, 1, 0) > 0 }
}

/// Ends a run, whether it says so or is gone, and tells it its account.
fn conclude(supervisor: &mut Supervisor<'_>, run: &mut Joined) -> Result<(), Broken> {
    let message = run.line.hear();
    let tally = supervisor.end_run(run.number, run.starter);
    let message = message?;
    let seconds = |key: &str| Duration::try_from_secs_f64(message[key].as_f64().unwrap_or(0.0)).unwrap_or_default();
    let ending = match message["signal"].as_i64() {
        Some(signal) => Ending::Signal(signal as i32),
        None => Ending::Status(message["status"].as_i64().unwrap_or(0) as i32),
    };
    let account = Account::new(tally, seconds("elapsed_s"), ending, seconds("start_up_s"));
    let warnings = &account.warnings;
    run.line.say(
        &json!({ "account": report::json(&account), "lines": report::lines(&account, false), "warnings": warnings }),
    )
}
