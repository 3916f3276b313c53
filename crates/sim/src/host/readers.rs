//! The readers at work: what they do next, and what they wait for.

use std::collections::HashMap;

use foresee_manager::{Demand, Event, FileId, Outcome, ReaderId, Reply, Site, Statistics, Time, WaiterId};

use super::machine::Machine;
use super::processor::Work;
use super::readahead::Runs;
use super::{Fault, ProcessorReport, ReaderReport, Report, Setup, Simulation, Step};

/// One of them.
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

/// All of them.
pub(super) struct Readers {
    lanes: Vec<Lane>,
    /// Lanes of a reader that are not through.
    alive: HashMap<ReaderId, usize>,
    /// The file system's own readahead.
    runs: Runs,
    opened: Vec<bool>,
    /// Who waits for which request.
    waiting: HashMap<WaiterId, usize>,
    next_waiter: u64,
    /// What the processor had done when the last reader was through.
    finished: Option<ProcessorReport>,
}

impl Readers {
    pub fn new(setup: &Setup) -> Self {
        let mut alive = HashMap::new();
        let lane = |reader: &super::Reader| {
            *alive.entry(reader.id).or_default() += 1;
            let report = ReaderReport { id: reader.id, ..ReaderReport::default() };
            Lane { next: 0, waits: None, reads: 0, computes: (Time(0), 0), report }
        };
        Readers {
            lanes: setup.readers.iter().map(lane).collect(),
            alive,
            runs: Runs::new(setup.readahead),
            opened: vec![false; setup.files.len()],
            waiting: HashMap::new(),
            next_waiter: 1,
            finished: None,
        }
    }

    /// A reader is told something. They wait for their reads, and otherwise do as they do, whatever
    /// they are told; they disclose by themselves.
    pub fn hear(&mut self, machine: &mut Machine<'_>, reply: Reply) {
        let Reply::Wake { waiter, outcome } = reply else { return };
        let Some(lane) = self.waiting.remove(&waiter) else { return };
        let now = machine.time();
        let woken = &mut self.lanes[lane];
        let since = woken.waits.take().unwrap_or(now);
        woken.report.stall_ns += now.0 - since.0;
        woken.report.failed += u64::from(outcome == Outcome::Failed);
        let ns = machine.hit_ns().saturating_mul(woken.reads);
        woken.report.hit_ns += ns;
        self.compute(machine, lane, Work::Hit { lane }, ns);
    }

    /// Lets a reader go on when so much work is done for it.
    fn compute(&mut self, machine: &mut Machine<'_>, lane: usize, work: Work, ns: u64) {
        self.lanes[lane].computes = (machine.time(), ns);
        machine.compute(lane, work, ns);
    }

    /// The processor has done this reader's work by now: what it took longer than the work itself,
    /// it was others'.
    pub fn was_queued(&mut self, lane: usize, machine: &Machine<'_>) {
        let (since, ns) = self.lanes[lane].computes;
        self.lanes[lane].report.queued_ns += machine.time().0 - since.0 - ns;
    }

    /// Whether all are through.
    pub fn check(&self) -> Result<(), Fault> {
        let stuck = self.lanes.iter().find_map(|lane| Some((lane.report.id, lane.waits?)));
        stuck.map_or(Ok(()), |(reader, since)| Err(Fault::Stuck { reader, since }))
    }

    pub fn report(&self, machine: &Machine<'_>, statistics: Statistics) -> Report {
        let readers: Vec<ReaderReport> = self.lanes.iter().map(|lane| lane.report).collect();
        Report {
            elapsed_ns: readers.iter().map(|reader| reader.finished.0).max().unwrap_or(0),
            readers,
            processor: self.finished,
            devices: machine.device_reports(),
            statistics,
        }
    }
}

impl Simulation<'_> {
    /// Does a reader's steps until one takes time.
    pub(super) fn go_on(&mut self, lane: usize) -> Result<(), Fault> {
        let id = self.readers.lanes[lane].report.id;
        while let Some(&step) = self.setup.readers[lane].steps.get(self.readers.lanes[lane].next) {
            self.readers.lanes[lane].next += 1;
            match step {
                Step::Think { ns } => {
                    self.readers.lanes[lane].report.think_ns += ns;
                    self.readers.compute(&mut self.driver.host, lane, Work::Think { lane }, ns);
                    return Ok(());
                }
                Step::Hint { source, file, want } => {
                    self.readers.runs.disclosed((id, file));
                    self.tell(Event::Hint { reader: id, source, file, want });
                }
                Step::Cancel { source } => self.tell(Event::Cancel { reader: id, source }),
                Step::Remove { file } => self.tell(Event::FileChanged { file, blocks: 0 }),
                Step::Advise { advice } => self.tell(advice.event(id)),
                Step::Write { file, index } => {
                    self.open(file)?;
                    self.readers.lanes[lane].report.writes += 1;
                    // A block that is written whole comes without a fetch, as one that its reader reads by itself does.
                    let (site, demand) = (Site(0), Demand::Observed);
                    self.tell(Event::Reference { reader: id, site, file, first: index, count: 1, demand });
                    let machine = &mut self.driver.host;
                    machine.write(file, index);
                    let ns = machine.hit_ns();
                    self.readers.lanes[lane].report.hit_ns += ns;
                    self.readers.compute(machine, lane, Work::Hit { lane }, ns);
                    return Ok(());
                }
                // A read of nothing waits for nothing.
                Step::Read { count: 0, .. } => self.readers.lanes[lane].report.reads += 1,
                Step::Read { file, first, count, site } => {
                    self.open(file)?;
                    let waiter = WaiterId(self.readers.next_waiter);
                    self.readers.next_waiter += 1;
                    self.readers.waiting.insert(waiter, lane);
                    let reading = &mut self.readers.lanes[lane];
                    (reading.waits, reading.reads) = (Some(self.driver.host.time()), count);
                    reading.report.reads += 1;
                    let demand = Demand::Served(waiter);
                    self.tell(Event::Reference { reader: id, site, file, first, count, demand });
                    self.read_ahead(id, file, first, count);
                    return Ok(());
                }
            }
        }
        let machine = &self.driver.host;
        self.readers.lanes[lane].report.finished = machine.time();
        self.readers.finished = machine.processor_report();
        self.exit(id);
        Ok(())
    }

    /// A lane is through; with its reader's last one, the reader is gone.
    fn exit(&mut self, reader: ReaderId) {
        if let Some(alive) = self.readers.alive.get_mut(&reader) {
            *alive -= 1;
            if *alive == 0 {
                self.tell(Event::ReaderExited { reader });
            }
        }
    }

    fn open(&mut self, file: FileId) -> Result<(), Fault> {
        match self.readers.opened.get_mut(file.0 as usize) {
            None => return Err(Fault::NoFile { file }),
            Some(true) => {}
            Some(opened) => {
                *opened = true;
                self.tell(self.driver.host.resolved(file));
            }
        }
        Ok(())
    }

    /// Lets the file system read ahead after a read. A range is disclosed as the system's advice:
    /// policies that take no disclosures read nothing ahead.
    fn read_ahead(&mut self, reader: ReaderId, file: FileId, first: u64, count: u64) {
        let blocks = self.setup.files.get(file.0 as usize).map_or(0, |file| file.blocks);
        if let Some((first, count)) = self.readers.runs.read((reader, file), first, count, blocks) {
            self.tell(Event::ReadAhead { file, first, count });
        }
    }
}
