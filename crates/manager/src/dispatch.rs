//! Which fetch goes to which device when: demand at once, then hinted, then guessed; neighbours merged; a limit on what
//! is outstanding. It belongs to the manager because the simulator would otherwise test another system.
//!
//! A device's waiting blocks are sorted by place within batches of `sort_blocks`: 1 is first come, first served; more is
//! a one-way sweep over each batch in turn (F-SCAN), so that a block is never passed over for longer than one batch.

use std::collections::BTreeSet;

use crate::event::{Action, Class};
use crate::ids::{Block, DeviceId, FetchId, Time};
use crate::table::FastMap;

/// What one device is given.
#[derive(Debug, Clone, Copy)]
pub struct DeviceLimits {
    /// Requests at the device beyond which nothing is fetched ahead. Demand ignores it but counts (000 section 4.8).
    pub outstanding_max: u32,
    /// Blocks one fetch ahead may span.
    pub cluster_blocks_max: u64,
    /// Blocks sorted by place together.
    pub sort_blocks: u64,
    /// Blocks that may wait here; beyond it hints wait in their own queue, where they cost no memory.
    pub queued_blocks_max: u64,
    /// Blocks of one disclosed run fetched ahead on a quick device. Where the reader's own system reads ahead in runs, as
    /// the kernel does, it keeps up with such a device by itself, for less than we take.
    pub quick_run_blocks_max: u64,
}

impl Default for DeviceLimits {
    /// 128 is what Linux block devices take at once (`nr_requests`); 1 MiB amortises a request on every device we met;
    /// 16,384 blocks of 4 KiB are one sweep of half a second on a disk of 150 MB/s: with 2,048, a database read in random
    /// order took 12.1 s on such a disk, with 16,384 it took 3.4 s. Nothing is known here of the readers' own system.
    fn default() -> Self {
        DeviceLimits {
            outstanding_max: 128,
            cluster_blocks_max: 256,
            sort_blocks: 16_384,
            queued_blocks_max: 32_768,
            quick_run_blocks_max: u64::MAX,
        }
    }
}

/// A device that has answered a lone request within this, and so much a block, is quick: the kernel's own readahead then
/// streams 200 MB/s and more. Our disk takes 0.3 ms for 64 blocks, and the host's wake-up as much again; the disks and
/// networks that programs stall on take some milliseconds.
const QUICK_NS: u64 = 800_000;
const QUICK_NS_PER_BLOCK: u64 = 5_000;
/// What arrives sooner was in some cache, and says nothing of the device: a system call, and a copy of each block.
const CACHED_NS: u64 = 30_000;
const CACHED_NS_PER_BLOCK: u64 = 600;

/// A fetch at a device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flight {
    pub device: DeviceId,
    pub first: Block,
    pub count: u64,
    pub class: Class,
    /// When it was sent, if the device had nothing else to do.
    alone_since: Option<Time>,
}

struct Device {
    limits: DeviceLimits,
    outstanding: u32,
    /// It has answered a lone request quickly. Noise only ever makes a request slower, so once is enough.
    quick: bool,
    /// Waiting blocks as (batch, key), hinted and guessed.
    waiting: [BTreeSet<(u64, u64)>; 2],
    arrivals: u64,
}

fn rank_of(class: Class) -> usize {
    usize::from(class == Class::Guessed)
}

/// All devices' queues and what is at them.
pub(crate) struct Dispatch {
    limits: DeviceLimits,
    devices: Vec<Device>,
    /// Where each waiting block waits: (device, class, batch).
    waiting: FastMap<u64, (DeviceId, Class, u64)>,
    flights: FastMap<u64, Flight>,
    /// Blocks of all flights.
    in_flight: u64,
    next_fetch: u64,
}

impl Dispatch {
    pub fn new(limits: DeviceLimits) -> Self {
        Dispatch {
            limits,
            devices: Vec::new(),
            waiting: FastMap::default(),
            flights: FastMap::default(),
            in_flight: 0,
            next_fetch: 1,
        }
    }

    fn device(&mut self, id: DeviceId) -> &mut Device {
        let at = usize::from(id.0);
        while self.devices.len() <= at {
            let limits = self.limits;
            self.devices.push(Device {
                limits,
                outstanding: 0,
                quick: false,
                waiting: Default::default(),
                arrivals: 0,
            });
        }
        &mut self.devices[at]
    }

    /// Whether another block may wait for this device.
    pub fn has_room(&mut self, id: DeviceId) -> bool {
        let device = self.device(id);
        let queued = (device.waiting[0].len() + device.waiting[1].len()) as u64;
        queued < device.limits.queued_blocks_max
    }

    /// Lets a block wait to be fetched ahead.
    pub fn enqueue(&mut self, id: DeviceId, block: Block, class: Class) {
        let device = self.device(id);
        let batch = device.arrivals / device.limits.sort_blocks.max(1);
        device.arrivals += 1;
        device.waiting[rank_of(class)].insert((batch, block.key()));
        self.waiting.insert(block.key(), (id, class, batch));
    }

    /// Takes a waiting block out: its reader came, or nobody wants it any more.
    pub fn withdraw(&mut self, block: Block) {
        if let Some((id, class, batch)) = self.waiting.remove(&block.key()) {
            self.device(id).waiting[rank_of(class)].remove(&(batch, block.key()));
        }
    }

    /// Whether the rest of a run, from this many blocks after its start, is left to the reader's own system.
    pub fn leaves_run(&mut self, id: DeviceId, blocks: u64) -> bool {
        let device = self.device(id);
        device.quick && blocks >= device.limits.quick_run_blocks_max
    }

    /// Sends a fetch that a reader waits for, at once (I4, I5).
    pub fn demand(&mut self, now: Time, device: DeviceId, first: Block, count: u64, out: &mut Vec<Action>) {
        self.send(now, Flight { device, first, count, class: Class::Demand, alone_since: None }, out);
    }

    fn send(&mut self, now: Time, flight: Flight, out: &mut Vec<Action>) {
        let fetch = FetchId(self.next_fetch);
        self.next_fetch += 1;
        let device = self.device(flight.device);
        let flight = Flight { alone_since: (device.outstanding == 0).then_some(now), ..flight };
        device.outstanding += 1;
        let Flight { device, first, count, class, .. } = flight;
        self.in_flight += count;
        out.push(Action::Fetch { fetch, device, file: first.file, first: first.index, count, class });
        self.flights.insert(fetch.0, flight);
    }

    /// Takes the next run of waiting neighbours that the device may be sent now.
    fn next_run(&mut self, id: DeviceId) -> Option<Flight> {
        let device = self.device(id);
        if device.outstanding >= device.limits.outstanding_max {
            return None;
        }
        let class = if device.waiting[0].is_empty() { Class::Guessed } else { Class::Hinted };
        let cluster_max = device.limits.cluster_blocks_max.max(1);
        let queue = &mut device.waiting[rank_of(class)];
        let mut taken = vec![queue.pop_first()?.1];
        while let Some(&(batch, key)) = queue.first() {
            let follows = key == taken[taken.len() - 1] + 1 && Block::from_key(key).index != 0;
            if !follows || taken.len() as u64 >= cluster_max {
                break;
            }
            queue.remove(&(batch, key));
            taken.push(key);
        }
        for key in &taken {
            self.waiting.remove(key);
        }
        Some(Flight {
            device: id,
            first: Block::from_key(taken[0]),
            count: taken.len() as u64,
            class,
            alone_since: None,
        })
    }

    /// Sends what may be sent to this device; tells of each run that left.
    pub fn pump(&mut self, now: Time, id: DeviceId, out: &mut Vec<Action>, mut sent: impl FnMut(Block, u64)) {
        while let Some(flight) = self.next_run(id) {
            sent(flight.first, flight.count);
            self.send(now, flight, out);
        }
    }

    /// The block that would be sent last.
    pub fn last_waiting(&self) -> Option<Block> {
        let last_of = |rank: usize| self.devices.iter().filter_map(move |it| it.waiting[rank].last()).max();
        last_of(1).or_else(|| last_of(0)).map(|&(_, key)| Block::from_key(key))
    }

    /// Whether nothing waits to be sent.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The devices met so far.
    pub fn devices(&self) -> impl Iterator<Item = DeviceId> + use<> {
        (0..self.devices.len()).map(|device| DeviceId(device as u16))
    }

    /// A fetch came to its end.
    pub fn finished(&mut self, now: Time, fetch: FetchId) -> Option<Flight> {
        let flight = self.flights.remove(&fetch.0)?;
        let device = self.device(flight.device);
        device.outstanding -= 1;
        if let Some(since) = flight.alone_since {
            let took = now.0.saturating_sub(since.0);
            let cached = CACHED_NS + CACHED_NS_PER_BLOCK * flight.count;
            let quick = QUICK_NS + QUICK_NS_PER_BLOCK * flight.count;
            device.quick |= (cached..quick).contains(&took);
        }
        self.in_flight -= flight.count;
        Some(flight)
    }

    /// Blocks that wait and blocks in flight.
    pub fn load(&self) -> (u64, u64) {
        (self.waiting.len() as u64, self.in_flight)
    }
}
