//! The host's machine: a clock, requests on their way to devices, and work on the processor.

use std::collections::BTreeMap;

use foresee_driver::Host;
use foresee_manager::{DeviceId, Event, FetchId, FileId, Order, Time};

use super::processor::{self, Work};
use super::{Fault, HostFile, ProcessorReport, Setup};
use crate::clock::Clock;
use crate::device::{Choice, Device, DeviceReport, Request};
use crate::faults::Dice;

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

/// What a turn of the clock brought.
pub enum Turn {
    /// This reader goes on.
    Reader {
        /// Which of [`Setup::readers`].
        lane: usize,
    },
    /// The manager is to be told this.
    Event(Event),
    /// The processor may be through with readers' work.
    Processor,
    /// Nothing of that.
    Nothing,
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

/// The machine.
pub struct Machine<'a> {
    setup: &'a Setup,
    clock: Clock<Occasion>,
    devices: Vec<Box<dyn Device>>,
    processor: Option<processor::Processor>,
    dice: Dice,
    /// What is on its way, by the ticket its device has of it.
    fetching: BTreeMap<u64, Fetching>,
    /// When the clock will stop for each device, and for the processor.
    device_wakes: Vec<Option<Time>>,
    processor_wake: Option<Time>,
    next_ticket: u64,
}

impl Host for Machine<'_> {
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn carry_out(&mut self, order: Order) {
        match order {
            Order::Lookup { file } => {
                let at = Time(self.clock.now().0.saturating_add(self.setup.lookup_ns));
                self.clock.schedule(at, Occasion::LookupEnds { file });
            }
            Order::Fetch { fetch, device, file, first, count, .. } => self.fetch(fetch, device, file, first, count),
            // There are no bytes to leave as they are, nor to give up.
            Order::PassOver { .. } | Order::Drop { .. } => {}
        }
    }
}

impl<'a> Machine<'a> {
    /// A machine at time 0.
    pub fn new(setup: &'a Setup) -> Self {
        let mut clock = Clock::new();
        for &(at, event) in &setup.besides {
            clock.schedule(at, Occasion::Besides { event });
        }
        Machine {
            setup,
            clock,
            devices: setup.devices.iter().map(Choice::build).collect(),
            processor: setup.processor.map(|_| processor::Processor::default()),
            dice: Dice::new(setup.faults),
            fetching: BTreeMap::new(),
            device_wakes: vec![None; setup.devices.len()],
            processor_wake: None,
            next_ticket: 0,
        }
    }

    /// The clock moves on to what happens next; None if nothing will.
    pub fn turn(&mut self) -> Option<Turn> {
        Some(match self.clock.advance()? {
            Occasion::Ready { lane } => Turn::Reader { lane },
            Occasion::LookupEnds { file } => Turn::Event(self.resolved(file)),
            Occasion::Besides { event } => Turn::Event(event),
            Occasion::Device { at } => {
                self.look_at_device(at);
                Turn::Nothing
            }
            Occasion::Processor if self.processor_wake.is_none_or(|wake| wake > self.clock.now()) => Turn::Nothing,
            Occasion::Processor => {
                self.processor_wake = None;
                Turn::Processor
            }
            Occasion::FetchEnds { ticket } => match self.fetching.remove(&ticket) {
                Some(Fetching { fetch: Some(fetch), fails: true, .. }) => Turn::Event(Event::FetchFailed { fetch }),
                Some(Fetching { fetch: Some(fetch), .. }) => Turn::Event(Event::FetchDone { fetch }),
                _ => Turn::Nothing,
            },
        })
    }

    /// A reader begins, now.
    pub(super) fn begin(&mut self, lane: usize) {
        self.clock.schedule(Time(0), Occasion::Ready { lane });
    }

    /// What time it is.
    pub(super) fn time(&self) -> Time {
        self.clock.now()
    }

    /// What it takes of the processor to hand a block out.
    pub(super) fn hit_ns(&self) -> u64 {
        self.setup.processor.map_or(0, |costs| costs.hit_ns)
    }

    /// What a name leads to.
    pub fn resolved(&self, file: FileId) -> Event {
        match self.setup.files.get(file.0 as usize) {
            Some(&HostFile { device, blocks, place }) => Event::FileKnown { file, device, blocks, place },
            None => Event::FileMissing { file },
        }
    }

    pub(super) fn device_reports(&self) -> Vec<DeviceReport> {
        self.devices.iter().map(|device| device.report()).collect()
    }

    pub(super) fn processor_report(&self) -> Option<ProcessorReport> {
        self.processor.as_ref().map(|processor| processor.report(self.clock.now()))
    }

    /// Whether every file lies on devices that are there and large enough.
    pub(super) fn check_files(&self) -> Result<(), Fault> {
        let stripe = self.setup.config.stripe;
        for (file, number) in self.setup.files.iter().zip(0..) {
            // The last block of each disk of the array: unit by unit, from the file's end back.
            let mut place = file.place.saturating_add(file.blocks.saturating_sub(1));
            for _ in 0..stripe.disks.max(1) {
                let device = stripe.device(file.device, place);
                let bytes = self.devices.get(usize::from(device.0)).ok_or(Fault::NoDevice { device })?.bytes();
                let end = (u128::from(stripe.on_disk(place)) + 1) * u128::from(self.setup.block_bytes);
                if file.blocks > 0 && end > u128::from(bytes) {
                    return Err(Fault::NoRoom { file: FileId(number), device });
                }
                let into_unit = stripe.unit_blocks.max(1) - stripe.rest_of_unit(place);
                if place - into_unit <= file.place {
                    break;
                }
                place -= into_unit + 1;
            }
        }
        Ok(())
    }

    /// Sends a fetch on its way, with what goes wrong with it.
    fn fetch(&mut self, fetch: FetchId, device: DeviceId, file: FileId, first: u64, count: u64) {
        let device = usize::from(device.0);
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        let request = self.request(ticket, device, file, first, count);
        let (fails, delay_ns) = (request.is_none() || self.dice.fails(), self.dice.delay_ns());
        let mut this = Fetching { fetch: Some(fetch), fails, delay_ns, device, request };
        if let Some(other) = self.dice.swap(self.fetching.len())
            && let Some(other) = self.fetching.values_mut().nth(other)
        {
            std::mem::swap(&mut this.fetch, &mut other.fetch);
            std::mem::swap(&mut this.fails, &mut other.fails);
        }
        self.fetching.insert(ticket, this);
        self.drive(ticket, count);
    }

    /// Sends a block on its way to its device.
    pub(super) fn write(&mut self, file: FileId, index: u64) {
        let Some(&HostFile { device, place, .. }) = self.setup.files.get(file.0 as usize) else { return };
        let device = usize::from(self.setup.config.stripe.device(device, place.saturating_add(index)).0);
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        let request = self.request(ticket, device, file, index, 1).map(|request| Request { write: true, ..request });
        self.fetching.insert(ticket, Fetching { fetch: None, fails: false, delay_ns: 0, device, request });
        self.drive(ticket, 1);
    }

    /// Lets the processor ask the device.
    fn drive(&mut self, ticket: u64, count: u64) {
        match (&mut self.processor, self.setup.processor) {
            (Some(processor), Some(costs)) => {
                let ns = costs.driver_ns + costs.driver_block_ns * (count.max(1) - 1);
                processor.submit(self.clock.now(), Work::Driver { ticket }, ns);
                self.wake_for_processor();
            }
            _ => self.ask_device(ticket),
        }
    }

    /// What the device is asked for; None where it is not there or ends before: an event of
    /// `besides` may name any device, and a reader may read beyond a file's end.
    fn request(&self, ticket: u64, device: usize, file: FileId, first: u64, count: u64) -> Option<Request> {
        let file = self.setup.files.get(file.0 as usize)?;
        let block_bytes = self.setup.block_bytes;
        let place = self.setup.config.stripe.on_disk(file.place.checked_add(first)?).checked_mul(block_bytes)?;
        let bytes = count.checked_mul(block_bytes)?;
        let fits = place.checked_add(bytes)? <= self.devices.get(device)?.bytes();
        fits.then_some(Request { ticket, place, bytes, write: false })
    }

    fn ask_device(&mut self, ticket: u64) {
        let now = self.clock.now();
        match self.fetching.get(&ticket) {
            Some(&Fetching { device, request: Some(request), .. }) => {
                self.devices[device].submit(now, request);
                self.wake_for_device(device);
            }
            _ => self.clock.schedule(now, Occasion::FetchEnds { ticket }),
        }
    }

    /// Sees to it that the clock stops where the device is done next.
    fn wake_for_device(&mut self, at: usize) {
        let next = self.devices[at].next_event();
        if let Some(time) = next.filter(|_| self.device_wakes[at] != next) {
            self.device_wakes[at] = next;
            self.clock.schedule(time, Occasion::Device { at });
        }
    }

    /// The clock stopped for a device.
    fn look_at_device(&mut self, at: usize) {
        let now = self.clock.now();
        // A time that was put down, and has been replaced since, finds nothing new.
        if self.device_wakes[at].is_none_or(|wake| wake > now) {
            return;
        }
        self.device_wakes[at] = None;
        while let Some(ticket) = self.devices[at].advance(now) {
            let delay_ns = self.fetching.get(&ticket).map_or(0, |fetching| fetching.delay_ns);
            self.clock.schedule(Time(now.0.saturating_add(delay_ns)), Occasion::FetchEnds { ticket });
        }
        self.wake_for_device(at);
    }

    /// Has the processor do a reader's work.
    pub(super) fn compute(&mut self, lane: usize, work: Work, ns: u64) {
        let now = self.clock.now();
        match &mut self.processor {
            None => self.clock.schedule(Time(now.0.saturating_add(ns)), Occasion::Ready { lane }),
            Some(processor) => {
                processor.submit(now, work, ns);
                self.wake_for_processor();
            }
        }
    }

    fn wake_for_processor(&mut self) {
        let next = self.processor.as_ref().and_then(|processor| processor.next_event());
        if let Some(time) = next.filter(|_| self.processor_wake != next) {
            self.processor_wake = next;
            self.clock.schedule(time, Occasion::Processor);
        }
    }

    /// The next reader whose work the processor is through with by now. Devices are asked
    /// meanwhile.
    pub(super) fn next_through(&mut self) -> Option<usize> {
        let now = self.clock.now();
        while let Some(work) = self.processor.as_mut().and_then(|processor| processor.advance(now)) {
            match work {
                Work::Driver { ticket } => self.ask_device(ticket),
                Work::Think { lane } | Work::Hit { lane } => return Some(lane),
            }
        }
        self.wake_for_processor();
        None
    }
}
