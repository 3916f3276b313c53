//! The supervisor: one thread that takes in what the programs do, lets the manager decide, and has the host carry it out.
//!
//! ```text
//! programs --ring--> watch --> manager --> page-cache host
//!                      |                        |
//!                      +--> recorder            +--> events: looked up, fetched, failed
//! ```
//!
//! The run as a whole is one reader: which of its processes reads a file is not known ahead, and a hint helps whichever it
//! is. What a process discloses by itself, through the hint library, is that process's ([`Library`]). Everything that enters
//! the manager and everything it answers can be logged, and replayed.

mod advising;
mod attention;
mod finished;
mod listing;
mod quiescence;
mod quiet;
mod recorded;
mod sharing;

use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use foldhash::HashMap;
use foresee_manager::{
    Action, AdviceFile, Block, Config, Demand, DeviceLimits, Event, FileId, Header, Manager, ReaderId, Site, Source,
    State, Time, Trust, Want, write_entry,
};
use foresee_ring::{Consumer, Next, PATH_BYTES_MAX, Region};

use crate::account::ProgramAccount;
use crate::clock::Clock;
use crate::hints::{Found, Library, Listings, Walk, Words};
use crate::host::{BLOCK_BYTES, Descriptor, Files, Memory, PageCache, Purpose, Report, Share, blocks};
use crate::names::{Identity, Names};
use crate::profile::{Profile, Recorder};
use crate::programs::ProgramId;
use crate::watch::{Disclosure, Processes, Read, Seen, is_dead};
use advising::FileAdvice;
use attention::Habit;
pub use finished::{Finished, Tally};
use quiescence::Quiescence;
use quiet::Quiet;
use recorded::Recorded;

/// A read that takes at least so long waited for a device: reads from memory take a tenth of it.
pub const STALL_MIN: Duration = Duration::from_micros(100);

/// What it takes at most to copy a block that is here: three times what it takes on an idle machine.
const COPY_MAX: Duration = Duration::from_micros(1);

/// The run as a whole. Processes are numbered from 1.
const RUN: ReaderId = ReaderId(0);
/// Of the runs that share a supervisor, the one that began it.
const FIRST_RUN: u32 = 0;
/// Records taken in before completions are looked at again.
const RECORDS_AT_ONCE: usize = 4096;
/// How often memory, processes and residency are looked at: at first every 20 ms, for programs grow most as they begin; it
/// takes 0.2 ms.
const LOOK_AROUND_FIRST: Duration = Duration::from_millis(20);
const LOOK_AROUND_MAX: Duration = Duration::from_millis(250);
/// A record half posted for so long will not be finished: its program was killed.
const HOLE_GRACE: Duration = Duration::from_millis(100);
/// The shortest and the longest sleep. The first bounds what watching costs (2,000 wake-ups a second), the second how late
/// a quiet program is noticed; 100 wake-ups a second cost half a percent of a processor.
const SLEEP_MIN: Duration = Duration::from_micros(500);
const SLEEP_MAX: Duration = Duration::from_millis(10);
/// Blocks whose residency is checked at one time, and in one question: 128 system calls of a microsecond at most. The kernel
/// gives pages up in order of age, so that neighbours go together.
const CHECKED_AT_ONCE: u64 = 4096;
const CHECKED_TOGETHER: u64 = 32;
/// Disclosures that may be open before a walk waits for the program: some ten times what is looked up ahead.
const WALK_AHEAD_MAX: usize = 4096;
/// What a disclosure may cost before any of it came true: 256 KiB, or 64 names (a known program's words: four times that, which
/// costs a hard disk 0.2 s if they are wrong; an unknown one's: two names).
pub const INITIAL_BLOCKS: u64 = 64;
/// Of a run on a quick device, so much is fetched ahead; then the kernel's own readahead has got going. (A file of 512 MiB
/// on our disk of 1 GB/s: 0.34 s by itself, 0.68 s with all of it fetched ahead.)
const QUICK_RUN_BLOCKS_MAX: u64 = 256;
/// The longest file there can be: what a hint says beyond is passed over.
const FILE_BYTES_MAX: u64 = Block::INDEX_LIMIT * BLOCK_BYTES;
/// The kernel acts on advice itself as far as one readahead window, by default; the program reads there next.
const KERNEL_READAHEAD_BYTES: u64 = 128 << 10;

/// What a read or a write of a regular file was, for traces.
#[derive(Debug, Clone, Copy)]
pub struct TransferSeen<'a> {
    /// Whether it was a write.
    pub write: bool,
    /// When it began, since the run did; of a write, when it was over.
    pub time: Duration,
    /// The process.
    pub process: u32,
    /// The thread.
    pub thread: u32,
    /// The file's path.
    pub path: &'a std::path::Path,
    /// From which byte.
    pub offset: u64,
    /// How many bytes came or went.
    pub bytes: u64,
    /// The call site, or 0.
    pub site: u64,
    /// How long it took; not known of a write.
    pub took: Duration,
}

/// Takes each read and write of a run, as it happened.
pub type TraceSink<'a> = Box<dyn FnMut(TransferSeen) + 'a>;
/// Takes the event log, some lines at a time.
pub type LogSink<'a> = Box<dyn FnMut(&str) + 'a>;

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
    /// What an earlier run read.
    pub profile: Option<Profile>,
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

/// The supervisor of one run.
pub struct Supervisor<'a> {
    region: &'a Region,
    consumer: Consumer<'a>,
    stalled: Option<(u64, Instant)>,
    manager: Manager,
    host: PageCache,
    names: Names,
    processes: Processes,
    recorder: Recorder,
    walk: Walk,
    walk_reads: Want,
    words_are_guesses: bool,
    library: Library,
    /// None if nothing is to be guessed from them.
    listings: Option<Listings>,
    file_advice: FileAdvice,
    quiescence: Quiescence,
    quiet: Quiet,
    recorded: Recorded,
    sizes: HashMap<FileId, u64>,
    habits: HashMap<(u32, i32, u32), Habit>,
    /// See [`Supervisor::begin_choosing`].
    chooses: bool,
    /// Up to where each file's residency was checked last.
    checked_to: HashMap<FileId, u64>,
    /// None if a fixed amount is to be reckoned with.
    memory: Option<Memory>,
    share: Share,
    looked_around: Instant,
    look_around_after: Duration,
    capacity: u64,
    trace: Option<TraceSink<'a>>,
    log: Option<LogSink<'a>>,
    log_text: String,
    begun: Instant,
    ns_per_tick: f64,
    actions: Vec<Action>,
    reports: Vec<Report>,
    sleep: Duration,
    is_behind: bool,
    /// Each with the run it is of.
    warnings: Vec<(u32, String)>,
}

/// The files that were met: by name, and by who has them open.
struct Met<'a> {
    names: &'a Names,
    processes: &'a Processes,
}

impl Files for Met<'_> {
    fn path(&self, file: FileId) -> &std::path::Path {
        self.names.path(file)
    }

    fn identity(&self, file: FileId) -> Option<Identity> {
        self.names.identity(file)
    }

    fn descriptor(&self, file: FileId) -> Option<Descriptor> {
        self.processes.descriptor(file)
    }
}

impl<'a> Supervisor<'a> {
    /// A supervisor of the programs that post to this region.
    pub fn new(region: &'a Region, setup: Setup<'a>, clock: Clock) -> Self {
        let memory = Memory::find();
        let bytes = setup.memory_bytes.or_else(|| memory.cache_bytes(0)).unwrap_or(1 << 30);
        let config = Config {
            device: DeviceLimits { quick_run_blocks_max: QUICK_RUN_BLOCKS_MAX, ..DeviceLimits::default() },
            trust: Trust::Earned { initial_blocks: INITIAL_BLOCKS },
            ..Config::new((bytes / BLOCK_BYTES).max(1), setup.policy)
        };
        let ns_per_tick = clock.ns_per_tick();
        region.set_stall_ticks_min((STALL_MIN.as_nanos() as f64 / ns_per_tick) as u64);
        let mut log = setup.log;
        if let Some(log) = &mut log {
            log(&format!("{}\n", Header(config.clone())));
        }
        let words_are_guesses = !setup.words.known && !setup.words.paths.is_empty();
        let mut supervisor = Supervisor {
            region,
            consumer: Consumer::new(region),
            stalled: None,
            manager: Manager::new(&config),
            host: setup.host,
            names: Names::default(),
            processes: Processes::default(),
            recorder: Recorder::new(),
            walk: Walk::new(setup.words.paths, setup.words.walks, setup.words.skip_hidden),
            walk_reads: setup.words.reads,
            words_are_guesses,
            library: Library::default(),
            listings: None,
            file_advice: FileAdvice::default(),
            quiescence: Quiescence::default(),
            quiet: Quiet::new(setup.is_recorded, setup.profile.is_some()),
            recorded: Recorded::new(setup.profile),
            sizes: HashMap::default(),
            habits: HashMap::default(),
            chooses: false,
            checked_to: HashMap::default(),
            memory: setup.memory_bytes.is_none().then_some(memory),
            share: Share::default(),
            looked_around: Instant::now(),
            look_around_after: LOOK_AROUND_FIRST,
            capacity: config.capacity,
            trace: setup.trace,
            log,
            log_text: String::new(),
            begun: Instant::now(),
            ns_per_tick,
            actions: Vec::new(),
            reports: Vec::new(),
            sleep: SLEEP_MIN,
            is_behind: false,
            warnings: Vec::new(),
        };
        if let Some(advice) = setup.advice {
            supervisor.file_advice.set(FIRST_RUN, advice);
        }
        // Under such a policy reads are their program's, and what the run as a whole guessed would never come true.
        supervisor.listings = (setup.listings && !supervisor.manager.takes_advice()).then(Listings::default);
        supervisor.follow_walk();
        supervisor.begin_recorded();
        supervisor
    }

    /// One round: takes in what there is. Returns whether there was anything.
    pub fn turn(&mut self) -> bool {
        let records = self.take_records();
        self.is_behind = records >= RECORDS_AT_ONCE;
        let reports = self.take_reports();
        self.follow_quiet();
        self.follow_walk();
        self.follow_recorded();
        self.look_around();
        self.answer_who_quiesces();
        let files = Met { names: &self.names, processes: &self.processes };
        if let Err(error) = self.host.submit(&files) {
            self.warn(
                FIRST_RUN,
                format!("io_uring stopped taking reads ahead ({error}); FORESEE_IO=threads does without it"),
            );
        }
        records + reports > 0
    }

    /// Sleeps until there is something to do, or one of these descriptors is readable.
    pub fn rest(&mut self, worked: bool, others: &[RawFd]) {
        self.sleep = match worked {
            true if !self.quiet.is_quiet() => SLEEP_MIN,
            _ => (self.sleep * 2).min(SLEEP_MAX),
        };
        // More is in the ring than is taken at once, and a program that hints may be waiting for room.
        let sleep = if self.is_behind { Duration::ZERO } else { self.sleep };
        self.host.wait(others, sleep);
    }

    fn warn(&mut self, run: u32, warning: String) {
        let warning = (run, warning);
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// The manager hears what it must know of devices before anything on them.
    fn tell(&mut self, event: Event) {
        while let Some(of_device) = self.host.next_of_device() {
            self.tell_alone(of_device);
        }
        self.tell_alone(event);
    }

    fn tell_alone(&mut self, event: Event) {
        let now = Time(self.begun.elapsed().as_nanos() as u64);
        self.actions.clear();
        self.manager.handle(now, event, &mut self.actions);
        if let Some(log) = &mut self.log {
            self.log_text.clear();
            // Writing to a string does not fail.
            let _ = write_entry(&mut self.log_text, now, event, &self.actions);
            log(&self.log_text);
        }
        self.host.carry_out(&self.actions, &Met { names: &self.names, processes: &self.processes });
        if self.manager.takes_advice() {
            self.notice_revoked();
        }
    }

    // ---- what comes in

    fn take_records(&mut self) -> usize {
        let mut path = [0; PATH_BYTES_MAX];
        let mut taken = 0;
        while taken < RECORDS_AT_ONCE {
            match self.consumer.next(&mut path) {
                Next::Record(entry) => {
                    self.stalled = None;
                    let (process, thread, ticks) = (entry.stamp.pid, entry.stamp.tid, entry.stamp.ticks);
                    if let Some(seen) = self.processes.learn(&entry, &mut self.names) {
                        // Each segment takes about as long as a record.
                        if let Seen::Disclosed(Disclosure::Segments(segments)) = &seen {
                            taken += segments.len();
                        }
                        self.take_seen(process, thread, ticks, seen);
                    }
                    taken += 1;
                }
                Next::Empty => return taken,
                Next::Stalled { at } => {
                    match self.stalled {
                        Some((before, since)) if before == at => {
                            if since.elapsed() > HOLE_GRACE {
                                self.consumer.skip_hole();
                            }
                        }
                        _ => self.stalled = Some((at, Instant::now())),
                    }
                    return taken;
                }
            }
        }
        taken
    }

    /// When that was, since the run began.
    fn time_of(&self, ticks: u64) -> Duration {
        let ago = foresee_ring::ticks().saturating_sub(ticks) as f64 * self.ns_per_tick;
        self.begun.elapsed().saturating_sub(Duration::from_nanos(ago as u64))
    }

    fn take_seen(&mut self, process: u32, thread: u32, ticks: u64, seen: Seen) {
        let (ordinal, program) = (self.processes.ordinal(process), self.processes.program(process));
        match seen {
            Seen::Opened { file, identity, size, named } => {
                self.host.was_named(self.names.path(file));
                self.find_recorded(file);
                self.know(file, identity, size);
                self.find_walk(file);
                if named {
                    self.recorder.named(file, ordinal);
                    self.tell(Event::Named { reader: RUN, file });
                    if size == 0 {
                        self.notice_visit(file, false);
                    }
                }
            }
            Seen::Quiesces { slot, ticket } => self.quiesce(slot, ticket),
            Seen::Named { file } => {
                self.host.was_named(self.names.path(file));
                self.recorder.named(file, ordinal);
                self.tell(Event::Named { reader: RUN, file });
            }
            Seen::Read(read) => {
                let took = Duration::from_nanos((read.ticks as f64 * self.ns_per_tick) as u64);
                let began = self.time_of(ticks);
                if let Some(trace) = &mut self.trace {
                    let Read { file, offset, bytes, site, .. } = read;
                    let (path, time, write) = (self.names.path(file), began, false);
                    trace(TransferSeen { write, time, process, thread, path, offset, bytes, site, took });
                }
                self.take_read(ordinal, program, &read, began, took);
            }
            Seen::Wrote { file, offset, bytes, site } => {
                let time = self.time_of(ticks);
                if let Some(trace) = &mut self.trace {
                    let (path, write, took) = (self.names.path(file), true, Duration::ZERO);
                    trace(TransferSeen { write, time, process, thread, path, offset, bytes, site, took });
                }
                if let Some(size) = self.sizes.get_mut(&file) {
                    *size = offset.saturating_add(bytes).max(*size);
                }
                // What is written is in the cache as what is read is (002 section 4), and its program's to advise on.
                if let Some(reader) = self.reader_of_program(program, file)
                    && let Some(written) = blocks(offset, bytes)
                {
                    self.reference(reader, file, written, site, Demand::Observed);
                }
            }
            Seen::Mapped { file } => {
                self.recorder.mapped(file, ordinal);
                // Nothing will tell what of a mapping is touched: the recorded run did.
                for (first, count) in self.recorded.take_mapped(file) {
                    self.reference(RUN, file, (first, count), 0, Demand::Observed);
                }
            }
            Seen::Advised { file, offset, bytes } => {
                let size = self.sizes.get(&file).copied().unwrap_or(0);
                let bytes = if bytes == 0 { size.saturating_sub(offset) } else { bytes };
                let beyond = bytes.saturating_sub(KERNEL_READAHEAD_BYTES);
                if let Some((first, count)) = blocks(offset.saturating_add(KERNEL_READAHEAD_BYTES), beyond) {
                    let want = Want::Range { first, count };
                    self.tell(Event::Hint { reader: RUN, source: Source::Advice, file, want });
                }
            }
            Seen::Ended { ordinal } => self.ended(ordinal),
            Seen::Disclosed(disclosure) => self.take_disclosure(ReaderId(ordinal), disclosure),
            Seen::Advises(advising) => self.take_advice(program, advising),
        }
    }

    /// What a process said through the hint library.
    fn take_disclosure(&mut self, reader: ReaderId, disclosure: Disclosure) {
        match disclosure {
            Disclosure::Hint { file, whole } => {
                self.forget_words();
                self.library.hint(reader, file);
                if whole {
                    self.disclose(reader, Want::All);
                }
            }
            Disclosure::Segments(segments) => {
                for (offset, bytes) in segments {
                    if let Some((first, count)) = blocks(offset, bytes.min(FILE_BYTES_MAX.saturating_sub(offset))) {
                        self.disclose(reader, Want::Range { first, count });
                    }
                }
            }
            Disclosure::Repeat { hints, passes } => {
                let entries = self.library.disclosures(reader, hints);
                let passes = if passes == 0 { u64::MAX } else { passes };
                self.tell(Event::Repeat { reader, source: Source::Library, entries, passes });
            }
            Disclosure::Cancel => {
                if self.library.withdraw(reader) {
                    self.tell(Event::Cancel { reader, source: Source::Library });
                }
            }
        }
    }

    /// A program that speaks for itself knows better than we do from the words it was given, if we do not know it.
    fn forget_words(&mut self) {
        if std::mem::take(&mut self.words_are_guesses) {
            self.walk = Walk::new(Vec::new(), false, false);
            self.tell(Event::Cancel { reader: RUN, source: Source::Arguments });
        }
    }

    fn disclose(&mut self, reader: ReaderId, want: Want) {
        if let Some(file) = self.library.disclose(reader) {
            self.tell(Event::Hint { reader, source: Source::Library, file, want });
        }
    }

    /// A process is gone, and what it disclosed by itself goes with it.
    fn ended(&mut self, ordinal: u32) {
        let reader = ReaderId(ordinal);
        if self.library.end(reader) {
            self.tell(Event::ReaderExited { reader });
        }
    }

    /// What a path leads to, as an open found it. Another file than before, or a smaller one, means other contents.
    fn know(&mut self, file: FileId, identity: Identity, size: u64) {
        let before = self.sizes.insert(file, size);
        self.host.was_opened(file);
        let (device, blocks) = (self.host.device(identity.0, self.names.path(file)), size.div_ceil(BLOCK_BYTES));
        let is_replaced = self.names.identify(file, identity);
        match before {
            _ if is_replaced => {
                self.tell(Event::FileChanged { file, blocks });
                // What is to be given up is the other file's.
                self.host.forget(file);
            }
            Some(before) if before == size => {}
            Some(before) if before > size => self.tell(Event::FileChanged { file, blocks }),
            _ => self.tell(Event::FileKnown { file, device, blocks, place: 0 }),
        }
    }

    fn take_read(&mut self, ordinal: u32, program: ProgramId, read: &Read, began: Duration, took: Duration) {
        let file = read.file;
        let Some((first, count)) = blocks(read.offset, read.bytes) else { return };
        self.host.was_read_itself(file, &(first..first + count));
        let waited = took >= STALL_MIN + COPY_MAX * count as u32;
        let disclosed_by = self.library.reader_of(ReaderId(ordinal), file);
        let state = |index| self.manager.state_of(Block { file, index });
        // What an earlier read left here need not be disclosed next time; what was brought for this read must be, unless it
        // was the program that disclosed it: it will again.
        let fresh = (first..first + count).find(|&index| state(index) != Some(State::Cached));
        if let Some(fresh) = fresh
            && (disclosed_by.is_none() || state(fresh) != Some(State::Hinted))
        {
            self.recorder.read(file, ordinal, fresh, first + count - fresh);
        }
        // What lies before is cached.
        self.notice_wait(file, fresh.unwrap_or(first + count)..first + count, began, took, waited);
        let over = (began + took).min(self.begun.elapsed());
        let demand = Demand::Timed { over: Time(over.as_nanos() as u64), waited };
        let of_program = self.reader_of_program(program, file);
        let missed_before = self.manager.statistics().misses;
        self.reference(of_program.or(disclosed_by).unwrap_or(RUN), file, (first, count), read.site, demand);
        let missed = self.manager.statistics().misses - missed_before;
        self.processes.programs().missed(program, missed);
        if read.offset == 0 {
            self.notice_visit(file, waited);
        }
        // Of the last block more may be read.
        let end = (read.offset + read.bytes) / BLOCK_BYTES;
        if end > first {
            self.notice_done_with(program, file, (first, end - first));
        }
        self.notice_habit(read.descriptor, fresh.is_none());
        self.notice_pace(took, count, waited);
    }

    /// A read of what we believe here, all of these blocks, that waits nevertheless: the kernel gave it up by itself.
    fn notice_wait(
        &mut self,
        file: FileId,
        mut blocks: std::ops::Range<u64>,
        began: Duration,
        took: Duration,
        waited: bool,
    ) {
        let (first, count) = (blocks.start, blocks.end - blocks.start);
        let is_believed = blocks.all(|index| self.manager.is_present(Block { file, index }));
        if !is_believed {
            return;
        }
        let files = Met { names: &self.names, processes: &self.processes };
        if self.host.is_foreign(file, &files) {
            // An open may empty the page cache there, and the read has brought the blocks anew by now: nobody else could tell.
            if self.manager.state_of(Block { file, index: first }).is_some_and(State::is_unread) {
                let is_far = self.host.was_read(file, self.begun + began, took, waited, &files);
                if is_far {
                    self.tell(Event::Gone { file, first, count });
                }
            }
        } else if waited {
            // The kernel gives up neighbours together: what else of it is gone?
            self.checked_to.insert(file, first);
            self.check_next_part(file);
        }
        if self.share.read(waited) {
            let memory = &self.memory;
            if self.share.settle(|| memory.as_ref().map_or(0, Memory::reclaims)) {
                self.look_at_memory();
            }
        }
    }

    fn reference(&mut self, reader: ReaderId, file: FileId, (first, count): (u64, u64), site: u64, demand: Demand) {
        self.tell(Event::Reference { reader, site: Site(site), file, first, count, demand });
    }

    fn take_reports(&mut self) -> usize {
        let mut reports = std::mem::take(&mut self.reports);
        self.host.collect(&mut self.names, &mut reports);
        let count = reports.len();
        for report in reports.drain(..) {
            match report {
                Report::Event(event) => self.tell(event),
                Report::Listed(Purpose::Walk, path, entries) => self.walk.listed(&path, entries),
                Report::Listed(Purpose::Order, path, entries) => self.take_listing(&path, entries),
            }
        }
        self.reports = reports;
        count
    }

    // ---- what is disclosed

    fn follow_walk(&mut self) {
        // A program that does not follow must not have us list the world.
        if self.manager.open_hints() >= WALK_AHEAD_MAX || self.quiet.stops_walk() {
            return;
        }
        while let Some(directory) = self.walk.next_listing() {
            self.host.list(Purpose::Walk, directory);
        }
        while self.manager.open_hints() < WALK_AHEAD_MAX
            && let Some(found) = self.walk.next_found()
        {
            let (path, want) = match found {
                Found::Directory(path) => (path, Want::Name),
                Found::File(path) => (path, self.walk_reads),
            };
            let Some(file) = self.names.of_path(&path) else { return };
            self.tell(Event::Hint { reader: RUN, source: self.source_of_walk(), file, want });
        }
    }

    /// What is looked at now and then.
    fn look_around(&mut self) {
        if self.looked_around.elapsed() >= self.look_around_after {
            self.looked_around = Instant::now();
            self.look_around_after = (self.look_around_after * 5 / 4).min(LOOK_AROUND_MAX);
            self.look_at_memory();
            self.retire_dead();
            self.check_residency();
        }
    }

    fn look_at_memory(&mut self) {
        let held = self.manager.ledger().used * BLOCK_BYTES;
        let Some(bytes) = self.memory.as_ref().and_then(|memory| memory.cache_bytes(held)) else { return };
        let pages = (self.share.of(bytes) / BLOCK_BYTES).max(1);
        if pages.abs_diff(self.capacity) > self.capacity / 64 {
            self.capacity = pages;
            self.tell(Event::Capacity { pages });
        }
    }

    /// What we believe to be in memory is checked against the kernel, a part of one file at a time: what it gave up by
    /// itself must be fetched again if it is disclosed again.
    fn check_residency(&mut self) {
        if let Some(file) = self.host.sample() {
            self.check_next_part(file);
        }
    }

    /// Checks the part of a file that comes after what was checked of it last.
    fn check_next_part(&mut self, file: FileId) {
        let blocks = self.sizes.get(&file).map_or(0, |size| size.div_ceil(BLOCK_BYTES));
        let first = match self.checked_to.remove(&file) {
            Some(first) if first < blocks => first,
            _ => 0,
        };
        let end = blocks.min(first + CHECKED_AT_ONCE);
        self.checked_to.insert(file, end);
        let parts = (first..end).step_by(CHECKED_TOGETHER as usize);
        let parts = parts.map(|part| part..end.min(part + CHECKED_TOGETHER));
        let is_believed = |index| self.manager.is_present(Block { file, index });
        let believed = parts.filter(|part| part.clone().any(is_believed)).collect();
        self.host.check(file, believed, &Met { names: &self.names, processes: &self.processes });
    }

    /// Processes that are gone give their slots, and their counts, back.
    fn retire_dead(&mut self) {
        let owned = (0..foresee_ring::PROCESS_SLOTS as u32).filter_map(|slot| Some((slot, self.region.owner(slot)?)));
        let dead: Vec<(u32, u32)> = owned.filter(|&(_, pid)| is_dead(pid)).collect();
        if dead.is_empty() {
            return;
        }
        // What they posted last may have come since the ring was looked at: it would be nobody's.
        self.drain();
        for (slot, pid) in dead {
            self.count_in(slot, self.processes.program(pid));
            self.processes.programs().release(slot);
            self.region.release(slot);
            if let Some(ordinal) = self.processes.forget(pid) {
                self.ended(ordinal);
            }
            self.habits.retain(|key, _| key.0 != slot);
        }
    }

    /// What a slot counted since was this program's doing.
    fn count_in(&mut self, slot: u32, program: ProgramId) {
        let Some(process) = self.region.process(slot) else { return };
        self.processes.programs().count(slot, program, process.counters());
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
        self.drain();
        self.take_reports();
        for slot in 0..foresee_ring::PROCESS_SLOTS as u32 {
            if let Some(pid) = self.region.owner(slot) {
                self.count_in(slot, self.processes.program(pid));
            }
        }
    }

    /// What a run came to so far.
    fn tally(&mut self, run: u32) -> Tally {
        let of_run = |warning: &&(u32, String)| warning.0 == run;
        let stall = |ticks: u64| Duration::from_nanos((ticks as f64 * self.ns_per_tick) as u64);
        let by_program = self.processes.programs().of_run(run).into_iter().map(|program| ProgramAccount {
            name: program.name,
            executions: program.executions,
            reads: program.counters.reads,
            bytes: program.counters.bytes,
            stall: stall(program.counters.stall_ticks),
            missed: program.missed,
        });
        Tally {
            by_program: by_program.collect(),
            unseen: self.processes.programs().unseen_of_run(run),
            statistics: self.manager.statistics().clone(),
            programs: self.processes.count(run),
            bytes_ahead: self.host.bytes_fetched(),
            method: self.host.method(),
            profile_steps: self.recorded.profile().map(|profile| profile.steps.len()),
            records_lost: self.region.lost() + self.consumer.corrupt(),
            warnings: self.warnings.iter().filter(of_run).map(|(_, warning)| warning.clone()).collect(),
            mounts: self.host.mount_accounts(),
        }
    }

    /// Ends the run: what is still disclosed will not be read.
    pub fn finish(mut self) -> Finished {
        // Programs that outlive the command go on posting unless told; what is in the ring by now is taken in.
        self.region.close();
        self.catch_up();
        self.host.remember();
        for reader in self.library.readers().into_iter().chain([RUN]) {
            self.tell(Event::ReaderExited { reader });
        }
        // A policy that does not learn leaves what another one did.
        let mut learned = self.manager.learned();
        if learned.is_empty() {
            learned = self.recorded.profile().map(|profile| profile.learned.clone()).unwrap_or_default();
        }
        let tally = self.tally(FIRST_RUN);
        let (recorder, names, was_quiet) = (self.recorder, self.names, self.quiet.was_quiet());
        let before = self.recorded.into_profile();
        Finished { tally, recorder, names, learned, was_quiet, before }
    }
}
