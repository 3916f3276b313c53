//! One run of a command with its reads foreseen, from its words to its account.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use foresee_manager::AdviceFile;
use foresee_manager::policy::Choice;

use crate::account::{Account, Ending, FileAccount};
use crate::child::DescriptorLimit;
use crate::clock::Clock;
use crate::hints::read_words;
use crate::host::PageCache;
use crate::launch::{Companion, End, Launch, Streams, check_limits};
use crate::profile::{Earlier, Findings, Profile, Store, is_alike, related};
use crate::shared::SharedRegion;
use crate::status::Status;
use crate::supervisor::{LogSink, Setup, Supervisor, Tally, TraceSink};
use crate::unseen::{executed, tell_if_unseen};

/// The exit status of a run that failed by itself.
pub const OWN_FAILURE: u8 = 125;

/// What is to be run, and how.
pub struct Run<'a> {
    /// The command and its arguments.
    pub command: Vec<OsString>,
    /// The policy.
    pub policy: Choice,
    /// Where profiles are kept; None: nothing is learned or looked up.
    pub store: Option<&'a Store>,
    /// What runs elsewhere read, to go by where no run of this command here is known.
    pub profile: Option<Profile>,
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
    /// Says how the run stands, in text, for [`crate::status`]; None: nobody is told.
    pub state: Option<StateText<'a>>,
    /// Where the event log goes.
    pub log: Option<LogSink<'a>>,
    /// What there will be something to say on.
    pub streams: Streams,
}

/// Makes a text of what a run came to so far, and of the files it waited for most.
pub type StateText<'a> = Box<dyn FnMut(&Account, &[FileAccount]) -> String + 'a>;

/// Why a command could not be run, or not so.
#[derive(Debug)]
pub enum Failure {
    /// The command could not be started: the message names it.
    Command(io::Error, String),
    /// What was asked for cannot be.
    Wrong(String),
    /// Something foresee needs is not there. The command has not been started, and may run without
    /// us.
    Unable(String),
    /// Whoever started us has killed the launcher, and nobody waits for us any more.
    Abandoned,
}

impl Failure {
    /// The exit status that says it, so that it does not look like the command's own.
    pub fn status(&self) -> u8 {
        match self {
            Failure::Command(error, _) if error.kind() == io::ErrorKind::NotFound => 127,
            Failure::Command(..) => 126,
            Failure::Wrong(_) | Failure::Unable(_) | Failure::Abandoned => OWN_FAILURE,
        }
    }

    /// What there is to say of it, if somebody waits.
    pub fn message(self) -> Option<String> {
        match self {
            Failure::Wrong(message) | Failure::Unable(message) => Some(message),
            Failure::Command(error, program) if program.is_empty() => {
                Some(format!("'': {error}; the command is an empty word: name a program"))
            }
            Failure::Command(error, program) if program.starts_with('-') => {
                Some(format!("{program}: {error}; foresee's own options are told by --help"))
            }
            Failure::Command(error, program) => Some(format!("{program}: {error}")),
            Failure::Abandoned => None,
        }
    }
}

/// What a run came to, and what it read.
pub struct Ran {
    /// The account.
    pub account: Account,
    /// The run as recorded.
    pub profile: Profile,
    /// That is another than the one the run went by.
    pub is_new: bool,
    /// An earlier run read more than this one.
    pub had_more: bool,
    /// What it found of itself: the profile's, also where that is not new.
    pub findings: Findings,
}

impl Run<'_> {
    /// Runs the command to its end. Two processes come back from where one went in: this returns in
    /// the one beside the program, and the other ends as the program did as soon as this one
    /// has ended (see [`crate::launch`]).
    ///
    /// There must be no other thread.
    pub fn go(self) -> Result<Ran, Failure> {
        let begun = Instant::now();
        let clock = Clock::begin();
        check(&self.policy, self.advice.is_some())?;
        check_limits()?;
        let shared = SharedRegion::new().map_err(|error| unable("shared memory for the programs", &error))?;
        if self.trace.is_some() || self.policy.build().nature().uses_sites {
            shared.region().want_sites();
        }
        match self.trace {
            Some(_) => shared.region().want_places(),
            None => shared.region().look_from_outside(),
        }
        let executed = self.command.first().and_then(|word| Some((word, executed(word)?)));
        if let Some((word, executed)) = &executed {
            tell_if_unseen(shared.region(), word, executed);
        }
        let (region_name, region) = (shared.path().into(), Some(&shared));
        let launch = Launch { command: &self.command, region_name, region, streams: self.streams };
        // The program starts first: what it does until its first read is time to read ahead in.
        let mut companion = launch.start(begun)?;
        DescriptorLimit::raise();
        let host = match PageCache::new(self.uring, self.store.map(|store| store.directory().to_owned())) {
            Ok(host) => host,
            Err(error) => {
                shared.region().close();
                return unforeseen(&mut companion, &error);
            }
        };
        // A directory may have been removed under us. Then there is nothing to know a run by, and it runs
        // unforeseen.
        let directory = std::env::current_dir().ok();
        let words = directory.as_ref().filter(|_| self.words).map(|it| read_words(&self.command, it));
        let program = executed
            .as_ref()
            .and_then(|(_, executed)| std::fs::canonicalize(&executed.program).ok())
            .unwrap_or_default();
        let known = directory.as_ref().map(|directory| {
            let is_told = words.as_ref().is_some_and(|words| words.known);
            let of = Command { words: &self.command, directory, program: &program };
            of.look_up(self.store, self.profile, is_told)
        });
        let (earlier, warning) = known.unwrap_or_default();
        let setup = Setup {
            policy: self.policy,
            memory_bytes: self.memory_bytes,
            host,
            words: words.unwrap_or_default(),
            earlier,
            is_recorded: self.store.is_some(),
            listings: self.listings,
            advice: self.advice,
            trace: self.trace,
            log: self.log,
        };
        let mut supervisor = Supervisor::new(shared.region(), setup, clock);
        let unseen = executed.as_ref().filter(|(_, executed)| executed.why_unseen.is_some());
        supervisor.follow(companion.program(), unseen.map(|(word, _)| word.as_bytes()));
        supervisor.watch_own_memory();
        let mut state = self.state.and_then(|text| Some((Status::begin()?, text)));
        let end = loop {
            let worked = supervisor.turn();
            if let Some((status, text)) = &mut state {
                status.answer(|| {
                    let (tally, files) = supervisor.so_far();
                    text(&Account::new(tally, begun.elapsed(), Ending::Status(0), companion.start_up()), &files)
                });
            }
            if let Some(end) = companion.attend() {
                break Some(end);
            }
            if supervisor.is_too_large() {
                break None;
            }
            supervisor.rest(worked, &companion.fds());
        };
        // Nobody would be answered from here on.
        drop(state);
        let finished = supervisor.finish();
        let end = end.unwrap_or_else(|| companion.wait());
        let mut account = account(&companion, end, finished.tally.clone())?;
        account.warnings.splice(0..0, warning);
        let (findings, steps_before) = (finished.findings(&account), finished.steps_before());
        let (profile, is_new) =
            directory.map(|it| finished.into_profile(self.command, it, program, findings)).unwrap_or_default();
        let had_more = steps_before > profile.steps.len();
        Ok(Ran { account, profile, is_new, had_more, findings })
    }
}

fn check(policy: &Choice, advised: bool) -> Result<(), Failure> {
    if policy.is_offline() {
        let name = policy.spec().name;
        let what = "decides by what is still to come, which nobody knows of a program that runs";
        return Err(Failure::Wrong(format!("policy {name} {what}; 'foresee sim' runs it on traces")));
    }
    if advised && !policy.build().takes_advice() {
        return Err(Failure::Wrong(format!("policy {} takes no advice; lru-sp does", policy.as_str())));
    }
    Ok(())
}

/// What is to be run, as profiles know it.
struct Command<'a> {
    words: &'a [OsString],
    directory: &'a Path,
    program: &'a Path,
}

impl Command<'_> {
    /// What earlier runs read that this one may read too, and why more is not to be known. Of a
    /// command whose words tell what it reads (`is_told`) other runs say nothing.
    fn look_up(&self, store: Option<&Store>, given: Option<Profile>, is_told: bool) -> (Earlier, Option<String>) {
        let &Command { words, directory, program } = self;
        let loaded = store.map(|store| store.load(words, directory, program)).transpose();
        let (own, warning) = match loaded {
            Ok(own) => (own.flatten(), None),
            Err(damage) => {
                let warning = format!("the profile is passed over: {damage}; 'foresee profile forget' removes it");
                (None, Some(warning))
            }
        };
        let is_own = |it: &Profile| it.command == words && it.directory == directory;
        let others = || {
            let mut likest_first: Vec<Profile> = given.iter().cloned().collect();
            if !is_told {
                likest_first.extend(store.map(|store| store.related(words, directory, program)).unwrap_or_default());
            }
            match likest_first.first() {
                // What the others read beside says less than the order in which this one did.
                Some(nearest) if is_alike(nearest, words, directory, program) => {
                    related(&likest_first[..1], words, directory).map(Earlier::Alike)
                }
                _ => related(&likest_first, words, directory).map(Earlier::Related),
            }
        };
        let earlier = match (own, &given) {
            (Some(own), _) => Earlier::Own(own),
            (None, Some(given)) if is_own(given) => Earlier::Own(given.clone()),
            _ => others().unwrap_or_default(),
        };
        (earlier, warning)
    }
}

/// The program runs already, and nobody looks at it.
fn unforeseen(companion: &mut Companion, error: &io::Error) -> Result<Ran, Failure> {
    let warnings = vec![format!("ran without foresee: the page-cache host: {error}")];
    let end = companion.wait();
    let account = account(companion, end, Tally { warnings, ..Tally::default() })?;
    let account = Account { without: true, ..account };
    Ok(Ran { account, profile: Profile::default(), is_new: false, had_more: false, findings: Findings::default() })
}

fn account(companion: &Companion, end: End, tally: Tally) -> Result<Account, Failure> {
    match end {
        End::Ended(ending, elapsed, cpu) => {
            let mut account = Account::new(tally, elapsed, ending, companion.start_up());
            account.own_cpu += cpu;
            account.transfers = companion.transfers();
            Ok(account)
        }
        End::Abandoned => Err(Failure::Abandoned),
    }
}

/// Runs a command whose programs post to the region of this name: a supervisor that several runs
/// share. Returns, beside the program as [`Run::go`] does, how it ended, how long it took, and what
/// it took to start it.
pub fn run_beside(
    command: &[OsString],
    region_name: OsString,
    streams: Streams,
) -> Result<(Ending, Duration, Duration), Failure> {
    let mut companion = Launch { command, region_name, region: None, streams }.start(Instant::now())?;
    match companion.wait() {
        End::Ended(ending, elapsed, _) => Ok((ending, elapsed, companion.start_up())),
        End::Abandoned => Err(Failure::Abandoned),
    }
}

fn unable(what: &str, error: &io::Error) -> Failure {
    Failure::Unable(format!("{what}: {error}"))
}
