//! One run of a command with its reads foreseen, from its words to its account.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use foresee_manager::AdviceFile;
use foresee_ring::Unseen;

use crate::account::{Account, Ending};
use crate::child::{DescriptorLimit, Signals, ending, preload_value, start};
use crate::hints::read_words;
use crate::host::PageCache;
use crate::profile::{Profile, Store};
use crate::shared::SharedRegion;
use crate::supervisor::{LogSink, Setup, Supervisor, TraceSink};
use crate::unseen::{tell_if_unseen, why_unseen};

/// The preload library's file name.
const PRELOAD_LIBRARY: &str = "libforesee_preload.so";

/// What is to be run, and how.
pub struct Run<'a> {
    /// The command and its arguments.
    pub command: Vec<OsString>,
    /// The policy.
    pub policy: foresee_manager::policy::Choice,
    /// Where profiles are kept; None: nothing is learned or looked up.
    pub store: Option<&'a Store>,
    /// Take hints from the command's words.
    pub words: bool,
    /// Guess what comes next where a directory's files are read in its order.
    pub listings: bool,
    /// What is advised for programs that do not advise by themselves.
    pub advice: Option<AdviceFile>,
    /// Bytes of page cache to reckon with; None: what the system has.
    pub memory_bytes: Option<u64>,
    /// Use io_uring if the kernel allows it.
    pub uring: bool,
    /// Where each read and write is told.
    pub trace: Option<TraceSink<'a>>,
    /// Where the event log goes.
    pub log: Option<LogSink<'a>>,
}

/// Why a command could not be run.
#[derive(Debug)]
pub enum Failure {
    /// The command could not be started: the message names it.
    Command(io::Error, String),
    /// Something foresee needs is not there.
    Own(String),
}

/// The preload library: beside the executable, as cargo leaves it, or in the `lib/foresee` next to its `bin`.
fn find_preload_library() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| format!("cannot find foresee's own executable: {error}"))?;
    let beside = own.with_file_name(PRELOAD_LIBRARY);
    let installed = own.parent().and_then(Path::parent).map(|prefix| prefix.join("lib/foresee").join(PRELOAD_LIBRARY));
    let found = [Some(beside.clone()), installed].into_iter().flatten().find(|path| path.is_file());
    let found = found
        .ok_or_else(|| format!("{} is missing; 'cargo build --release' makes it beside foresee", beside.display()))?;
    match found.as_os_str().as_encoded_bytes().iter().any(|byte| byte.is_ascii_whitespace() || *byte == b':') {
        false => Ok(found),
        true => Err(format!(
            "{}: LD_PRELOAD cannot name a path with a space or colon; install foresee elsewhere",
            found.display()
        )),
    }
}

/// What a run came to, and what it read.
pub struct Ran {
    /// The account.
    pub account: Account,
    /// The run as recorded.
    pub profile: Profile,
}

impl Run<'_> {
    /// Runs the command to its end.
    pub fn go(self) -> Result<Ran, Failure> {
        let begun = Instant::now();
        if self.policy.is_offline() {
            let name = self.policy.spec().name;
            let what = "decides by what is still to come, which nobody knows of a program that runs";
            return Err(Failure::Own(format!("policy {name} {what}; 'foresee sim' runs it on traces")));
        }
        if self.advice.is_some() && !self.policy.build().takes_advice() {
            return Err(Failure::Own(format!("policy {} takes no advice; lru-sp does", self.policy.as_str())));
        }
        let library = find_preload_library().map_err(Failure::Own)?;
        // A directory may have been removed under us. Then there is nothing to know a run by, and it runs unforeseen.
        let directory = std::env::current_dir().ok();
        let mut warnings = Vec::new();
        let recorded = self.store.zip(directory.as_ref()).map(|(store, it)| store.load(&self.command, it));
        let recorded = match recorded {
            Some(Ok(profile)) => profile,
            Some(Err(damage)) => {
                warnings.push(format!("the profile is passed over: {damage}; 'foresee profile forget' removes it"));
                None
            }
            None => None,
        };
        let words = directory.as_ref().filter(|_| self.words).map(|it| read_words(&self.command, it));
        let wants_sites = self.trace.is_some() || self.policy.build().uses_sites();
        let setup = Setup {
            policy: self.policy,
            memory_bytes: self.memory_bytes,
            host: PageCache::new(self.uring).map_err(own("the page-cache host"))?,
            words: words.unwrap_or_default(),
            profile: recorded,
            listings: self.listings,
            advice: self.advice,
            trace: self.trace,
            log: self.log,
        };
        let shared = SharedRegion::new().map_err(own("shared memory for the programs"))?;
        if wants_sites {
            shared.region().want_sites();
        }
        let limit = DescriptorLimit::raise();
        let signals = Signals::take().map_err(own("signals"))?;
        tell_if_unseen(shared.region(), &self.command);
        // The program starts first: what it does until its first read is time to read ahead in.
        let mut child = start_watched(&self.command, &library, shared.path().into(), &signals, &limit)?;
        let started = Instant::now();
        let mut supervisor = Supervisor::new(shared.region(), setup);
        let status = loop {
            let worked = supervisor.turn();
            signals.pass_on(&child);
            if let Some(status) = child.try_wait().map_err(own("waiting for the command"))? {
                break status;
            }
            supervisor.rest(worked, &[signals.fd()]);
        };
        let elapsed = started.elapsed();
        let finished = supervisor.finish();
        let mut account = Account::new(finished.tally.clone(), elapsed, ending(status), started - begun);
        account.warnings.splice(0..0, warnings);
        let profile = directory.map(|it| finished.into_profile(self.command, it)).unwrap_or_default();
        Ok(Ran { account, profile })
    }
}

/// Runs a command whose programs post to the region of this name: a supervisor that several runs share. Returns how it ended,
/// how long it took, and what it took to start it.
pub fn run_beside(command: &[OsString], region: OsString) -> Result<(Ending, Duration, Duration), Failure> {
    let begun = Instant::now();
    let library = find_preload_library().map_err(Failure::Own)?;
    let limit = DescriptorLimit::raise();
    let signals = Signals::take().map_err(own("signals"))?;
    let mut child = start_watched(command, &library, region, &signals, &limit)?;
    let started = Instant::now();
    loop {
        signals.pass_on(&child);
        if let Some(status) = child.try_wait().map_err(own("waiting for the command"))? {
            return Ok((ending(status), started.elapsed(), started - begun));
        }
        signals.wait();
    }
}

fn own(what: &'static str) -> impl Fn(io::Error) -> Failure {
    move |error| Failure::Own(format!("{what}: {error}"))
}

fn start_watched(
    command: &[OsString],
    library: &Path,
    region: OsString,
    signals: &Signals,
    limit: &DescriptorLimit,
) -> Result<Child, Failure> {
    let mut variables = vec![(OsStr::new("FORESEE_RING"), region)];
    // The dynamic linker of another word size would complain.
    if command.first().and_then(|it| why_unseen(it)) != Some(Unseen::Foreign) {
        variables.push((OsStr::new("LD_PRELOAD"), preload_value(library)));
    }
    start(command, &variables, signals, limit).map_err(|error| {
        let program = command.first().map(|it| it.to_string_lossy().into_owned());
        Failure::Command(error, program.unwrap_or_default())
    })
}
