//! The simulated host: readers in a closed loop, the manager, devices, and a clock that only moves from one event to the
//! next.
//!
//! A reader does its steps one after the other. It thinks; it reads, and then waits until the manager wakes it; it
//! discloses. The host opens a file at its first read (the manager then learns its device and size), answers look-ups after
//! `lookup_ns`, and fetches when the file's device is done with them. All else is the manager's: what is simulated is what
//! runs.
//!
//! Worked example: a reader reads block 0 of a file twice, on a device of 500 us. The first read fetches, the fetch is done
//! at 500 us, the reader is woken; the second read finds the block and is woken at once. It stalled 500 us of 500.

mod report;
mod setup;

use std::collections::{BTreeMap, HashMap};

use foresee_manager::{Action, Demand, Event, FetchId, FileId, Manager, Outcome, ReaderId, Time, WaiterId};

pub use report::{Fault, ReaderReport, Report};
pub use setup::{HostFile, Reader, Setup, Step};

use crate::clock::Clock;
use crate::device::Device;
use crate::faults::Dice;

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
    let missing = setup.files.iter().find(|file| usize::from(file.device.0) >= setup.devices.len());
    if let Some(&HostFile { device, .. }) = missing {
        return Err(Fault::NoDevice { device });
    }
    Host::new(setup, tap).run()
}

/// What is to happen.
enum Occasion {
    /// A reader goes on.
    Ready { lane: usize },
    /// A fetch ends; which one is written in its slot.
    FetchEnds { slot: u64 },
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
    report: ReaderReport,
}

struct Host<'a, 't> {
    setup: &'a Setup,
    tap: &'a mut Tap<'t>,
    manager: Manager,
    clock: Clock<Occasion>,
    devices: Vec<Device>,
    dice: Dice,
    lanes: Vec<Lane>,
    /// Lanes of a reader that are not through.
    alive: HashMap<ReaderId, usize>,
    opened: Vec<bool>,
    /// Who waits for which request.
    waiting: HashMap<WaiterId, usize>,
    /// What each of the coming fetch ends brings: fetches may change places.
    slots: BTreeMap<u64, (FetchId, bool)>,
    next_waiter: u64,
    next_slot: u64,
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
            let report = ReaderReport { id, reads: 0, failed: 0, stall_ns: 0, think_ns: 0, finished: Time(0) };
            lanes.push(Lane { next: 0, waits: None, report });
            clock.schedule(Time(0), Occasion::Ready { lane });
        }
        Host {
            setup,
            tap,
            manager: Manager::new(&setup.config),
            clock,
            devices: setup.devices.iter().map(|&constant| Device::new(constant)).collect(),
            dice: Dice::new(setup.faults),
            lanes,
            alive,
            opened: vec![false; setup.files.len()],
            waiting: HashMap::new(),
            slots: BTreeMap::new(),
            next_waiter: 1,
            next_slot: 0,
            actions: Vec::new(),
        }
    }

    fn run(mut self) -> Result<Report, Fault> {
        while let Some(occasion) = self.clock.advance() {
            match occasion {
                Occasion::Ready { lane } => self.go_on(lane)?,
                Occasion::LookupEnds { file } => self.feed(self.resolved(file)),
                Occasion::Besides { event } => self.feed(event),
                Occasion::FetchEnds { slot } => {
                    if let Some((fetch, fails)) = self.slots.remove(&slot) {
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
            devices: self.devices.iter().map(|device| device.report).collect(),
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
                    let until = Time(self.clock.now().0.saturating_add(ns));
                    self.clock.schedule(until, Occasion::Ready { lane });
                    return Ok(());
                }
                Step::Hint { source, file, want } => self.feed(Event::Hint { reader: id, source, file, want }),
                Step::Cancel { source } => self.feed(Event::Cancel { reader: id, source }),
                // A read of nothing waits for nothing.
                Step::Read { count: 0, .. } => self.lanes[lane].report.reads += 1,
                Step::Read { file, first, count, site } => {
                    self.open(file)?;
                    let waiter = WaiterId(self.next_waiter);
                    self.next_waiter += 1;
                    self.waiting.insert(waiter, lane);
                    self.lanes[lane].waits = Some(self.clock.now());
                    self.lanes[lane].report.reads += 1;
                    let demand = Demand::Served(waiter);
                    self.feed(Event::Reference { reader: id, site, file, first, count, demand });
                    return Ok(());
                }
            }
        }
        self.lanes[lane].report.finished = self.clock.now();
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
            Action::Fetch { fetch, device, count, .. } => {
                let bytes = count.saturating_mul(self.setup.block_bytes);
                match self.devices.get_mut(usize::from(device.0)) {
                    Some(device) => {
                        let done = device.submit(now, bytes);
                        self.fetch_ends(fetch, done);
                    }
                    // An event of `besides` may name any device; one that is not there brings nothing.
                    None => self.end_at(now, (fetch, true)),
                }
            }
            Action::Wake { waiter, outcome } => {
                let Some(lane) = self.waiting.remove(&waiter) else { return };
                let woken = &mut self.lanes[lane];
                let since = woken.waits.take().unwrap_or(now);
                woken.report.stall_ns += now.0 - since.0;
                woken.report.failed += u64::from(outcome == Outcome::Failed);
                self.clock.schedule(now, Occasion::Ready { lane });
            }
            // There are no bytes to give up.
            Action::Drop { .. } => {}
        }
    }

    /// Puts a fetch's end down, with what goes wrong until then.
    fn fetch_ends(&mut self, fetch: FetchId, done: Time) {
        let mut brings = (fetch, self.dice.fails());
        let done = Time(done.0.saturating_add(self.dice.delay_ns()));
        if let Some(other) = self.dice.swap(self.slots.len())
            && let Some(slot) = self.slots.values_mut().nth(other)
        {
            std::mem::swap(slot, &mut brings);
        }
        self.end_at(done, brings);
    }

    fn end_at(&mut self, done: Time, brings: (FetchId, bool)) {
        self.slots.insert(self.next_slot, brings);
        self.clock.schedule(done, Occasion::FetchEnds { slot: self.next_slot });
        self.next_slot += 1;
    }
}
