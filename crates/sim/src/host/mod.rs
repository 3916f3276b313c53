//! The simulated host: readers in a closed loop, the manager, devices, and a clock that only moves from one event to the
//! next.
//!
//! A reader does its steps one after the other. It thinks; it reads, and then waits until the manager wakes it; it
//! discloses. The host opens a file at its first read (the manager then learns its device and size), answers look-ups after
//! `lookup_ns`, and fetches when the file's device is done with them. All else is the manager's: what is simulated is what
//! runs.
//!
//! Two parts of a machine can be added: one [`Processor`] for all, which thinking, handing out blocks and asking devices
//! take time of, and the file system's own [`Readahead`].
//!
//! Worked example: a reader reads block 0 of a file twice, on a device of 500 us. The first read fetches, the fetch is done
//! at 500 us, the reader is woken; the second read finds the block and is woken at once. It stalled 500 us of 500.

mod machine;
mod processor;
mod readahead;
mod report;
mod setup;

use std::collections::{BTreeMap, HashMap};

use foresee_manager::{Action, Demand, Event, FetchId, FileId, Manager, Outcome, ReaderId, Site, Time, WaiterId};

pub use readahead::Readahead;
pub use report::{Fault, ProcessorReport, ReaderReport, Report};
pub use setup::{HostFile, Processor, Reader, Setup, Step};

use crate::clock::Clock;
use crate::device::{Choice, Device, Request};
use crate::faults::Dice;
use processor::Work;
use readahead::Runs;

/// Is told of every event, with the actions it led to, when the manager has taken it in.
pub type Tap<'a> = dyn FnMut(Time, Event, &[Action], &Manager) + 'a;

/// Runs until all readers are through and nothing is on its way.
///
/// # Errors
/// If the setup speaks of what is not there, or a reader is never woken.
pub fn run(setup: &Setup) -> Result<Report, Fault> {
    run_watched(setup, &mut |_, _, _, _| {})
}

/// Like [`run`], and tells `tap` of every event: to log, or to check.
///
/// # Errors
/// As [`run`].
pub fn run_watched(setup: &Setup, tap: &mut Tap<'_>) -> Result<Report, Fault> {
    let host = Host::new(setup, tap);
    host.check_files()?;
    host.run()
}

/// What is to happen.
enum Occasion {
    /// A reader goes on.
    Ready { lane: usize },
    /// A device may be done with something.
    Device { at: usize },
    /// The processor may be done with something.
    Processor,
    /// A fetch ends; which one is looked up, as fetches may change places.
    FetchEnds { ticket: u64 },
    /// A name is resolved.
    LookupEnds { file: FileId },
    /// One of [`Setup::besides`].
    Besides { event: Event },
}

/// A reader at work.
struct Lane {
    next: usize,
    /// Since when it waits.
    waits: Option<Time>,
    /// Blocks of the read it waits for.
    reads: u64,
    /// Since when it has the processor or waits for it, and how long it needs it.
    computes: (Time, u64),
    report: ReaderReport,
}

/// A fetch on its way.
struct Fetching {
    /// What its end brings; None: it is a write, and its end brings nothing.
    fetch: Option<FetchId>,
    fails: bool,
    /// How much later than its device says it ends.
    delay_ns: u64,
    device: usize,
    /// What the device is asked for; None where nothing can come of it.
    request: Option<Request>,
}

struct Host<'a, 't> {
    setup: &'a Setup,
    tap: &'a mut Tap<'t>,
    manager: Manager,
    clock: Clock<Occasion>,
    devices: Vec<Box<dyn Device>>,
    processor: Option<processor::Processor>,
    runs: Runs,
    dice: Dice,
    lanes: Vec<Lane>,
    /// Lanes of a reader that are not through.
    alive: HashMap<ReaderId, usize>,
    opened: Vec<bool>,
    /// Who waits for which request.
    waiting: HashMap<WaiterId, usize>,
    /// What is on its way, by the ticket its device has of it.
    fetching: BTreeMap<u64, Fetching>,
    /// When the clock will stop for each device, and for the processor.
    device_wakes: Vec<Option<Time>>,
    processor_wake: Option<Time>,
    next_waiter: u64,
    next_ticket: u64,
    /// What the processor had done when the last reader was through.
    finished: Option<ProcessorReport>,
    actions: Vec<Action>,
}

impl<'a, 't> Host<'a, 't> {
    fn new(setup: &'a Setup, tap: &'a mut Tap<'t>) -> Self {
        let mut clock = Clock::new();
        for &(at, event) in &setup.besides {
            clock.schedule(at, Occasion::Besides { event });
        }
        let mut alive = HashMap::new();
        let mut lanes = Vec::new();
        for (lane, reader) in setup.readers.iter().enumerate() {
            let id = reader.id;
            *alive.entry(id).or_default() += 1;
            let report = ReaderReport { id, ..ReaderReport::default() };
            lanes.push(Lane { next: 0, waits: None, reads: 0, computes: (Time(0), 0), report });
            clock.schedule(Time(0), Occasion::Ready { lane });
        }
        Host {
            setup,
            tap,
            manager: Manager::new(&setup.config),
            clock,
            devices: setup.devices.iter().map(Choice::build).collect(),
            processor: setup.processor.map(|_| processor::Processor::default()),
            runs: Runs::new(setup.readahead),
            dice: Dice::new(setup.faults),
            lanes,
            alive,
            opened: vec![false; setup.files.len()],
            waiting: HashMap::new(),
            fetching: BTreeMap::new(),
            device_wakes: vec![None; setup.devices.len()],
            processor_wake: None,
            next_waiter: 1,
            next_ticket: 0,
            finished: None,
            actions: Vec::new(),
        }
    }

    fn run(mut self) -> Result<Report, Fault> {
        while let Some(occasion) = self.clock.advance() {
            match occasion {
                Occasion::Ready { lane } => self.go_on(lane)?,
                Occasion::LookupEnds { file } => self.feed(self.resolved(file)),
                Occasion::Besides { event } => self.feed(event),
                Occasion::Device { at } => self.look_at_device(at),
                Occasion::Processor => self.look_at_processor()?,
                Occasion::FetchEnds { ticket } => {
                    if let Some(Fetching { fetch: Some(fetch), fails, .. }) = self.fetching.remove(&ticket) {
                        self.feed(if fails { Event::FetchFailed { fetch } } else { Event::FetchDone { fetch } });
                    }
                }
            }
        }
        for lane in &self.lanes {
            if let Some(since) = lane.waits {
                return Err(Fault::Stuck { reader: lane.report.id, since });
            }
        }
        let readers: Vec<ReaderReport> = self.lanes.iter().map(|lane| lane.report).collect();
        Ok(Report {
            elapsed_ns: readers.iter().map(|reader| reader.finished.0).max().unwrap_or(0),
            readers,
            processor: self.finished,
            devices: self.devices.iter().map(|device| device.report()).collect(),
            statistics: self.manager.statistics().clone(),
        })
    }

    /// Does a reader's steps until one takes time.
    fn go_on(&mut self, lane: usize) -> Result<(), Fault> {
        let id = self.lanes[lane].report.id;
        while let Some(&step) = self.setup.readers[lane].steps.get(self.lanes[lane].next) {
            self.lanes[lane].next += 1;
            match step {
                Step::Think { ns } => {
                    self.lanes[lane].report.think_ns += ns;
                    self.compute(lane, Work::Think { lane }, ns);
                    return Ok(());
                }
                Step::Hint { source, file, want } => {
                    self.runs.disclosed((id, file));
                    self.feed(Event::Hint { reader: id, source, file, want });
                }
                Step::Cancel { source } => self.feed(Event::Cancel { reader: id, source }),
                Step::Remove { file } => self.feed(Event::FileChanged { file, blocks: 0 }),
                Step::Advise { advice } => self.feed(advice.event(id)),
                Step::Write { file, index } => {
                    self.open(file)?;
                    self.lanes[lane].report.writes += 1;
                    // A block that is written whole comes without a fetch, as one that its reader reads by itself does.
                    let (site, demand) = (Site(0), Demand::Observed);
                    self.feed(Event::Reference { reader: id, site, file, first: index, count: 1, demand });
                    self.write(file, index);
                    let ns = self.setup.processor.map_or(0, |costs| costs.hit_ns);
                    self.lanes[lane].report.hit_ns += ns;
                    self.compute(lane, Work::Hit { lane }, ns);
                    return Ok(());
                }
                // A read of nothing waits for nothing.
                Step::Read { count: 0, .. } => self.lanes[lane].report.reads += 1,
                Step::Read { file, first, count, site } => {
                    self.open(file)?;
                    let waiter = WaiterId(self.next_waiter);
                    self.next_waiter += 1;
                    self.waiting.insert(waiter, lane);
                    self.lanes[lane].waits = Some(self.clock.now());
                    self.lanes[lane].reads = count;
                    self.lanes[lane].report.reads += 1;
                    let demand = Demand::Served(waiter);
                    self.feed(Event::Reference { reader: id, site, file, first, count, demand });
                    self.read_ahead(id, file, first, count);
                    return Ok(());
                }
            }
        }
        let now = self.clock.now();
        self.lanes[lane].report.finished = now;
        self.finished = self.processor.as_ref().map(|processor| processor.report(now));
        self.exit(id);
        Ok(())
    }

    /// A lane is through; with its reader's last one, the reader is gone.
    fn exit(&mut self, reader: ReaderId) {
        if let Some(alive) = self.alive.get_mut(&reader) {
            *alive -= 1;
            if *alive == 0 {
                self.feed(Event::ReaderExited { reader });
            }
        }
    }

    fn open(&mut self, file: FileId) -> Result<(), Fault> {
        match self.opened.get_mut(file.0 as usize) {
            None => return Err(Fault::NoFile { file }),
            Some(true) => {}
            Some(opened) => {
                *opened = true;
                self.feed(self.resolved(file));
            }
        }
        Ok(())
    }

    fn resolved(&self, file: FileId) -> Event {
        match self.setup.files.get(file.0 as usize) {
            Some(&HostFile { device, blocks, place }) => Event::FileKnown { file, device, blocks, place },
            None => Event::FileMissing { file },
        }
    }

    /// Tells the manager, and carries out what it asks for.
    fn feed(&mut self, event: Event) {
        let now = self.clock.now();
        let mut actions = std::mem::take(&mut self.actions);
        self.manager.handle(now, event, &mut actions);
        (self.tap)(now, event, &actions, &self.manager);
        for action in actions.drain(..) {
            self.carry_out(action);
        }
        self.actions = actions;
    }

    fn carry_out(&mut self, action: Action) {
        let now = self.clock.now();
        match action {
            Action::Lookup { file } => {
                let at = Time(now.0.saturating_add(self.setup.lookup_ns));
                self.clock.schedule(at, Occasion::LookupEnds { file });
            }
            Action::Fetch { fetch, device, file, first, count, .. } => self.fetch(fetch, device, file, first, count),
            Action::Wake { waiter, outcome } => {
                let Some(lane) = self.waiting.remove(&waiter) else { return };
                let woken = &mut self.lanes[lane];
                let since = woken.waits.take().unwrap_or(now);
                woken.report.stall_ns += now.0 - since.0;
                woken.report.failed += u64::from(outcome == Outcome::Failed);
                let ns = self.setup.processor.map_or(0, |costs| costs.hit_ns.saturating_mul(woken.reads));
                woken.report.hit_ns += ns;
                self.compute(lane, Work::Hit { lane }, ns);
            }
            // There are no bytes to give up, and readers disclose by themselves.
            Action::Drop { .. } | Action::Pull { .. } => {}
            // And do as they do, whatever they are told.
            Action::Refused { .. } | Action::Revoked { .. } | Action::Priority { .. } | Action::LevelPolicy { .. } => {}
        }
    }
}
