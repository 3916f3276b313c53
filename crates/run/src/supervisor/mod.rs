//! The supervisor of a run: one thread that takes in what the programs do, tells the driver, and
//! tells it what will be read next as far as that is known.
//!
//! ```text
//! programs --> source --sightings--> supervisor --events--> driver --orders--> page-cache host
//!                ^                       |  ^                 |                       |
//!                +----answers------------+  +----replies------+                       |
//!                                           +----reports------------------------------+
//! ```
//!
//! | what | where |
//! | --- | --- |
//! | what a process did, and what follows from it | `seen`, `read`, `mapped`, `outside` |
//! | what will be read: by the command's words, an earlier run, a directory's order | `words`, `recorded`, `listing` |
//! | what programs disclose | `disclosed` |
//! | which pages programs can spare | `advising` |
//! | how much programs need tell | `attention`, `quiet` |
//! | whether reading ahead pays | `savings`, `suspension`, `waits` |
//! | how much memory there is, and what of it is still here | `memory`, `residency` |
//! | programs in whose way an open file is | `quiescence` |
//! | what files are called in a trace | `one_name` |
//! | several runs, and what a run came to, also while it goes on | `sharing`, `finished`, `by_file` |
//!
//! The run as a whole is one reader: which of its processes reads a file is not known ahead, and a
//! hint helps whichever it is. What a process discloses by itself, through the hint library, is
//! that process's ([`Library`]). Everything that enters the manager and everything it answers can
//! be logged, and replayed.

mod advising;
mod attention;
mod by_file;
mod disclosed;
mod finished;
mod listing;
mod mapped;
mod memory;
mod one_name;
mod outside;
mod quiescence;
mod quiet;
mod read;
mod recorded;
mod reordered;
mod residency;
mod savings;
mod seen;
mod sharing;
mod suspension;
mod waits;
mod words;

use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use foldhash::HashMap;
use foresee_driver::{Driver, Log};
use foresee_manager::{AdviceFile, Block, Config, Counted, DeviceLimits, Event, FileId, ReaderId, Reply, Trust};
use foresee_ring::Region;

use crate::clock::Clock;
use crate::hints::{Library, Listings, Words};
use crate::host::{BLOCK_BYTES, Descriptor, Files, PageCache, Purpose, Report};
use crate::names::{Identity, Names};
use crate::profile::{Earlier, Recorder};
use crate::source::Source;
use crate::source::mappings::Mappings;
use crate::source::outside::Outside;
use crate::source::ring::Ring;
use advising::FileAdvice;
use attention::Habits;
use by_file::ByFile;
pub use finished::{Finished, Tally};
pub use foresee_driver::LogSink;
use memory::Reckoned;
use one_name::OneName;
use quiescence::Quiescence;
use quiet::Quiet;
use read::COPY_MAX;
pub use read::STALL_MIN;
use recorded::Recorded;
use reordered::Reordered;
use residency::Checked;
pub use seen::{TraceSink, Traced, TransferSeen};
use suspension::Suspension;
use words::CommandWords;

/// The run as a whole. Processes are numbered from 1.
const RUN: ReaderId = ReaderId(0);
/// Of the runs that share a supervisor, the one that began it.
const FIRST_RUN: u32 = 0;
/// Records taken in before completions are looked at again.
const RECORDS_AT_ONCE: usize = 4096;
/// How often memory, processes and residency are looked at: at first every 20 ms, for programs grow
/// most as they begin; it takes 0.2 ms.
const LOOK_AROUND_FIRST: Duration = Duration::from_millis(20);
const LOOK_AROUND_MAX: Duration = Duration::from_millis(250);
/// The shortest and the longest sleep. The first bounds what watching costs (2,000 wake-ups a
/// second), the second how late a quiet program is noticed; 100 wake-ups a second cost half a
/// percent of a processor.
const SLEEP_MIN: Duration = Duration::from_micros(500);
const SLEEP_MAX: Duration = Duration::from_millis(10);
/// Disclosures that may be open before a walk waits for the program: some ten times what is looked
/// up ahead.
const WALK_AHEAD_MAX: usize = 4096;
/// What a disclosure may cost before any of it came true: 256 KiB, or 64 names (a known program's
/// words: four times that, which costs a hard disk 0.2 s if they are wrong; an unknown one's: two
/// names).
pub const INITIAL_BLOCKS: u64 = 64;
/// Of a run on a quick device, so much is fetched ahead; then the kernel's own readahead has got
/// going. (A file of 512 MiB on our disk of 1 GB/s: 0.34 s by itself, 0.68 s with all of it fetched
/// ahead.)
const QUICK_RUN_BLOCKS_MAX: u64 = 256;
/// The longest file there can be: what a hint says beyond is passed over.
const FILE_BYTES_MAX: u64 = Block::INDEX_LIMIT * BLOCK_BYTES;

/// What a supervisor is to do.
pub struct Setup<'a> {
    /// The policy.
    pub policy: foresee_manager::policy::Choice,
    /// Bytes of page cache to reckon with, in place of what the system has.
    pub memory_bytes: Option<u64>,
    /// What carries the manager's decisions out.
    pub host: PageCache,
    /// What the command line disclosed.
    pub words: Words,
    /// What is known of earlier runs.
    pub earlier: Earlier,
    /// What this run reads is recorded.
    pub is_recorded: bool,
    /// Guess what comes next where a directory's files are read in its order.
    pub listings: bool,
    /// What is advised for programs that do not advise by themselves.
    pub advice: Option<AdviceFile>,
    /// Where reads and writes are to be told.
    pub trace: Option<TraceSink<'a>>,
    /// Where events and actions are to be told.
    pub log: Option<LogSink<'a>>,
}

/// The supervisor of one run, or of several that share it.
pub struct Supervisor<'a> {
    ring: Ring<'a>,
    mappings: Mappings,
    outside: Outside,
    driver: Driver<'a, PageCache>,
    names: Names,
    log: Option<Log<'a>>,
    /// Files that are named in it.
    logged_names: usize,
    /// Of files that a program opened, as it knows them.
    sizes: HashMap<FileId, u64>,
    recorder: Recorder,
    by_file: ByFile,
    trace: Option<TraceSink<'a>>,
    one_name: OneName,
    // What will be read, as far as it is known.
    words: CommandWords,
    recorded: Recorded,
    library: Library,
    /// None if nothing is to be guessed from them.
    listings: Option<Listings>,
    file_advice: FileAdvice,
    reordered: Reordered,
    // What programs need tell.
    quiet: Quiet,
    habits: Habits,
    quiescence: Quiescence,
    suspension: Suspension,
    // Memory, and what is in it.
    reckoned: Reckoned,
    checked: Checked,
    rounds: Rounds,
    /// What the manager replied to the event told last; kept for its memory, as are the reports.
    replies: Vec<Reply>,
    reports: Vec<Report>,
    /// Each with the run it is of.
    warnings: Vec<(u32, String)>,
}

/// When to do what is done now and then.
struct Rounds {
    sleep: Duration,
    /// More is in the ring than is taken in at once.
    is_behind: bool,
    looked_around: Instant,
    look_around_after: Duration,
}

/// The files that were met: by name, and by who has them open.
struct Met<'a>(&'a Names, &'a Ring<'a>);

impl Files for Met<'_> {
    fn path(&self, file: FileId) -> &std::path::Path {
        self.0.path(file)
    }

    fn identity(&self, file: FileId) -> Option<Identity> {
        self.0.identity(file)
    }

    fn descriptor(&self, file: FileId) -> Option<Descriptor> {
        self.1.processes.descriptor(file)
    }
}

impl<'a> Supervisor<'a> {
    /// A supervisor of the programs that post to this region.
    pub fn new(region: &'a Region, setup: Setup<'a>, clock: Clock) -> Self {
        let reckoned = Reckoned::new(setup.memory_bytes);
        let config = Config {
            device: DeviceLimits { quick_run_blocks_max: QUICK_RUN_BLOCKS_MAX, ..DeviceLimits::default() },
            trust: Trust::Earned { initial_blocks: INITIAL_BLOCKS },
            ..Config::new(reckoned.pages(), setup.policy)
        };
        let begun = setup.host.began();
        let ring = Ring::new(region, clock, begun);
        region.set_stall_ticks_min(ring.ticks(STALL_MIN));
        let log = setup.log.map(|sink| Log::begin(sink, &config));
        let tap = log.as_ref().map(Log::tap);
        let quiet = Quiet::new(setup.is_recorded, matches!(setup.earlier, Earlier::Own(_)));
        let recorded = Recorded::new(setup.earlier);
        let findings = recorded.findings();
        let suspension = Suspension::new(findings.is_in_vain());
        let mut supervisor = Supervisor {
            ring,
            mappings: Mappings::new(begun),
            outside: Outside::new(begun),
            driver: Driver::new(&config, setup.host, tap),
            names: Names::default(),
            log,
            logged_names: 0,
            sizes: HashMap::default(),
            recorder: Recorder::new(),
            by_file: ByFile::default(),
            trace: setup.trace,
            one_name: OneName::default(),
            words: CommandWords::new(setup.words),
            quiet,
            recorded,
            library: Library::default(),
            listings: None,
            file_advice: FileAdvice::default(),
            reordered: Reordered::default(),
            habits: Habits::default(),
            quiescence: Quiescence::default(),
            suspension,
            reckoned,
            checked: Checked::default(),
            rounds: Rounds {
                sleep: SLEEP_MIN,
                is_behind: false,
                looked_around: Instant::now(),
                look_around_after: LOOK_AROUND_FIRST,
            },
            replies: Vec::new(),
            reports: Vec::new(),
            warnings: Vec::new(),
        };
        if let Some(advice) = setup.advice {
            supervisor.file_advice.set(FIRST_RUN, advice);
        }
        // Under such a policy reads are their program's, and what the run as a whole guessed would never
        // come true.
        let takes_advice = supervisor.driver.manager().takes_advice();
        supervisor.listings = (setup.listings && !takes_advice).then(Listings::default);
        supervisor.follow_suspension();
        // What the words name is disclosed in any case: it is little, and what is read of it may be all there is.
        supervisor.follow_walk();
        if findings.is_in_memory() {
            supervisor.begin_quiet();
        }
        supervisor.begin_recorded();
        supervisor.follow_quiet();
        supervisor.quiet.begin_run();
        supervisor
    }

    /// One round: takes in what there is. Returns whether there was anything.
    pub fn turn(&mut self) -> bool {
        let records = self.take_records();
        self.rounds.is_behind = records >= RECORDS_AT_ONCE;
        let reports = self.take_reports();
        self.check_disclosed();
        self.follow_suspension();
        self.follow_quiet();
        self.follow_walk();
        let discloses = self.follow_recorded();
        self.follow_memory();
        self.look_around();
        self.answer_who_quiesces();
        if let Err(error) = self.driver.host.submit(&Met(&self.names, &self.ring)) {
            self.warn(
                FIRST_RUN,
                format!("io_uring stopped taking reads ahead ({error}); FORESEE_IO=threads does without it"),
            );
        }
        records + reports > 0 || discloses
    }

    /// Sleeps until there is something to do, or one of these descriptors is readable.
    pub fn rest(&mut self, worked: bool, others: &[RawFd]) {
        self.rounds.sleep = match worked {
            true if !self.quiet.is_quiet() => SLEEP_MIN,
            _ => (self.rounds.sleep * 2).min(SLEEP_MAX),
        };
        // More is in the ring than is taken at once, and a program that hints may be waiting for room.
        let sleep = if self.rounds.is_behind { Duration::ZERO } else { self.rounds.sleep };
        // While something goes on it is taken in at intervals, not one by one.
        let notices = self.outside.fd().filter(|_| !worked);
        let others: Vec<RawFd> = others.iter().copied().chain(notices).collect();
        let due = [self.mappings.due_in(), self.outside.due_in()].into_iter().flatten().min();
        let sleep = due.map_or(sleep, |due| due.min(sleep));
        self.driver.host.wait(&others, sleep);
    }

    fn warn(&mut self, run: u32, warning: String) {
        let warning = (run, warning);
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Tells the manager. What it replies is in `replies` until it is told something else.
    fn tell(&mut self, event: Event) -> Counted {
        if let Event::Hint { file, .. } = event {
            self.expect_outside(file);
        }
        if let Some(log) = &self.log {
            for file in (self.logged_names..self.names.count()).map(|number| FileId(number as u32)) {
                log.name(file, &self.names.path(file).to_string_lossy());
            }
            self.logged_names = self.names.count();
        }
        self.replies.clear();
        let replies = &mut self.replies;
        let counted = self.driver.tell(event, |_, reply| replies.push(reply));
        if !self.replies.is_empty() {
            self.notice_revoked();
        }
        counted
    }

    /// Takes in what the programs did. Returns how much there was to look at.
    fn take_records(&mut self) -> usize {
        let mut room = RECORDS_AT_ONCE;
        while let Some(sighting) = self.ring.next(&mut self.names, &mut room) {
            self.take_sighting(sighting);
        }
        self.outside.was_brought(self.driver.host.brought());
        self.outside.look(&mut self.ring.processes, &mut self.names);
        while let Some(sighting) = self.outside.next(&mut self.names, &mut room) {
            self.take_sighting(sighting);
        }
        while let Some(sighting) = self.mappings.next(&mut self.names, &mut room) {
            self.take_sighting(sighting);
        }
        RECORDS_AT_ONCE - room
    }

    /// Takes in what the host did.
    fn take_reports(&mut self) -> usize {
        let mut reports = std::mem::take(&mut self.reports);
        self.driver.host.collect(&mut self.names, &mut reports);
        let count = reports.len();
        for report in reports.drain(..) {
            match report {
                Report::Event(event) => {
                    self.tell(event);
                }
                Report::Listed(Purpose::Walk, path, entries) => self.words.listed(&path, entries),
                Report::Listed(Purpose::Order, path, entries) => self.take_listing(&path, entries),
            }
        }
        self.reports = reports;
        count
    }

    /// What is looked at now and then.
    fn look_around(&mut self) {
        if self.rounds.looked_around.elapsed() >= self.rounds.look_around_after {
            self.rounds.looked_around = Instant::now();
            self.rounds.look_around_after = (self.rounds.look_around_after * 5 / 4).min(LOOK_AROUND_MAX);
            self.look_at_memory();
            self.look_at_own_memory();
            self.retire_dead();
            self.find_queues();
            self.check_residency();
            self.judge_recorded();
        }
    }

    /// Processes that are gone give their slots, and their counts, back.
    fn retire_dead(&mut self) {
        let dead = self.ring.dead();
        if dead.is_empty() {
            return;
        }
        // What they posted last may have come since the ring was looked at: it would be nobody's.
        self.drain();
        for (slot, pid) in dead {
            if let Some(ordinal) = self.ring.retire(slot, pid) {
                self.ended(ordinal);
            }
            self.habits.forget(slot);
        }
    }

    /// Takes all in that is in the ring by now.
    fn drain(&mut self) {
        // A slot holds a record, or up to four segments.
        for _ in 0..4 * foresee_ring::SLOTS / RECORDS_AT_ONCE {
            if self.take_records() == 0 {
                break;
            }
        }
    }

    /// Takes in what the programs have posted, and the host has done, by now.
    fn catch_up(&mut self) {
        self.outside.look_now(&mut self.ring.processes, &mut self.names);
        self.drain();
        self.take_reports();
        self.ring.count_all_in();
    }
}
