//! The host's machine: requests on their way to devices, and work on the processor.

use foresee_manager::{DeviceId, Event, FetchId, FileId, ReaderId, Time};

use super::processor::Work;
use super::{Fault, Fetching, Host, HostFile, Occasion};
use crate::device::Request;

impl Host<'_, '_> {
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
    pub(super) fn fetch(&mut self, fetch: FetchId, device: DeviceId, file: FileId, first: u64, count: u64) {
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

    /// What the device is asked for; None where it is not there or ends before: an event of `besides` may name any device,
    /// and a reader may read beyond a file's end.
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
    pub(super) fn look_at_device(&mut self, at: usize) {
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

    /// Lets a reader go on when so much work is done for it.
    pub(super) fn compute(&mut self, lane: usize, work: Work, ns: u64) {
        let now = self.clock.now();
        match &mut self.processor {
            None => self.clock.schedule(Time(now.0.saturating_add(ns)), Occasion::Ready { lane }),
            Some(processor) => {
                self.lanes[lane].computes = (now, ns);
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

    /// The clock stopped for the processor.
    pub(super) fn look_at_processor(&mut self) -> Result<(), Fault> {
        let now = self.clock.now();
        if self.processor_wake.is_none_or(|wake| wake > now) {
            return Ok(());
        }
        self.processor_wake = None;
        while let Some(work) = self.processor.as_mut().and_then(|processor| processor.advance(now)) {
            match work {
                Work::Driver { ticket } => self.ask_device(ticket),
                Work::Think { lane } | Work::Hit { lane } => {
                    let (since, ns) = self.lanes[lane].computes;
                    self.lanes[lane].report.queued_ns += now.0 - since.0 - ns;
                    self.go_on(lane)?;
                }
            }
        }
        self.wake_for_processor();
        Ok(())
    }

    /// Lets the file system read ahead after a read. A range is disclosed as the system's advice: policies that take no
    /// disclosures read nothing ahead.
    pub(super) fn read_ahead(&mut self, reader: ReaderId, file: FileId, first: u64, count: u64) {
        let blocks = self.setup.files.get(file.0 as usize).map_or(0, |file| file.blocks);
        if let Some((first, count)) = self.runs.read((reader, file), first, count, blocks) {
            self.feed(Event::ReadAhead { file, first, count });
        }
    }
}
