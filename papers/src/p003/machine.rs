//! The storage controller (sections IV-A, IV-B and IV-E): a read cache under the policy, a write
//! cache, and RAID-5 arrays of six disks and parity. A quarter of the paper's machine: 4 of 16
//! arrays, a quarter of both caches, of the footprint and of the load.
//!
//! ```text
//! host     a unit is striped over the 4 arrays, 512 KiB each in turn: each array sees its own, slower run
//! array    a track (32 KiB) a disk, six tracks and parity a stripe, parity on each disk in turn
//! read     in the write cache, or in the read cache: HIT_NS; else as long as the disks take
//! write    HIT_NS once the write cache has room; to disk later: a full stripe is written, of any other the old data and
//!          parity are read first, but for old data that the read cache has
//! ```
//!
//! What is written lies in the non-volatile memory and in the cluster's own (section IV-B), until
//! it is on disk. The read cache is therefore smaller than that memory by the write cache's size;
//! reads find in the write cache what was written.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use foresee_manager::policy::Classes;
use foresee_manager::{
    Action, Block, Config, Demand, DeviceId, DeviceLimits, Event, FetchId, FileId, Manager, Order, ReaderId, Reply,
    Site, Statistics, Time, WaiterId,
};
use foresee_sim::device::{self, Device};

use super::workload::{PAGE_BYTES, Request, Workload};
use super::write_cache::{Dirty, STRIPE_PAGES, WriteCache};

/// Of the paper's machine, in parts of 1.
pub const SCALE: f64 = 0.25;
const ARRAYS: usize = 4;
/// Data tracks of a stripe.
pub const STRIPE_TRACKS: u64 = 6;
const ARRAY_DISKS: usize = STRIPE_TRACKS as usize + 1;
/// Pages of a track.
pub const TRACK_PAGES: u64 = 8;
/// The host's stripe unit.
const UNIT_PAGES: u64 = 128;
/// What an answer from memory takes: the least of Table II.
const HIT_NS: u64 = 170_000;
/// Stripes of an array that are on their way to disk at once when the write cache is full.
const DESTAGES_MAX: usize = 64;

/// What the machine is made of.
#[derive(Debug, Clone, Copy)]
pub struct Machine {
    /// The policy.
    pub policy: &'static str,
    /// Pages of the read cache.
    pub read_pages: u64,
    /// Pages of the write cache.
    pub write_pages: u64,
    /// Pages of the application storage units.
    pub unit_pages: [u64; 3],
}

/// A part of the run: so long, at so many requests a second.
#[derive(Debug, Clone, Copy)]
pub struct Phase {
    /// How long it is.
    pub seconds: u64,
    /// Requests a second, of all business scaling units.
    pub per_second: f64,
    /// How much of its beginning does not count.
    pub settles: u64,
}

/// What came of a phase.
#[derive(Debug, Clone, Copy, Default)]
pub struct Measured {
    /// Requests that were answered, and the time they took, reads and writes.
    pub answered: [u64; 2],
    /// Summed, in nanoseconds.
    pub response_ns: [u64; 2],
    /// Tracks brought from disk, or parts of them: a random read that misses stages a track of one
    /// page.
    pub staged_tracks: u64,
    /// Misses as the paper has them: random reads that missed, and runs that had to wait.
    pub misses: u64,
    /// How long was measured.
    pub seconds: f64,
    /// What part of the memory sequential data have, in the mean.
    pub sequential_percent: f64,
    /// 2 s delta L / L, from all sequential misses and all hits in the bottom of RANDOM of the
    /// phase.
    pub ratio: f64,
}

impl Measured {
    /// Mean response, reads (0) or writes (1), in milliseconds.
    pub fn response_ms(&self, which: usize) -> f64 {
        self.response_ns[which] as f64 / 1e6 / self.answered[which].max(1) as f64
    }

    /// Requests answered a second.
    pub fn per_second(&self) -> f64 {
        self.answered.iter().sum::<u64>() as f64 / self.seconds
    }

    /// Tracks brought from disk a second.
    pub fn tracks_per_second(&self) -> f64 {
        self.staged_tracks as f64 / self.seconds
    }

    /// Mean response of all.
    pub fn overall_ms(&self) -> f64 {
        self.response_ns.iter().sum::<u64>() as f64 / 1e6 / self.answered.iter().sum::<u64>().max(1) as f64
    }
}

/// What happens next.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Occasion {
    Arrives { stream: usize },
    Answered { stream: usize },
    Disk { disk: usize },
    Sample,
}

/// Why a disk was asked.
#[derive(Clone, Copy)]
enum Purpose {
    Fetch(FetchId),
    Destage(u64),
}

/// A request of a stream that is not answered yet.
#[derive(Clone, Copy, Default)]
struct Open {
    since: u64,
    /// When the stream makes its next request, if this one is answered by then.
    next: u64,
    write: bool,
    /// Parts that are waited for.
    parts: usize,
}

/// A stripe on its way to disk.
struct Destage {
    dirty: Dirty,
    /// Disk requests until the next step.
    left: usize,
    /// Old data and parity are being read.
    reads: bool,
}

/// The machine at work.
struct Controller {
    manager: Manager,
    write_cache: WriteCache,
    workload: Workload,
    /// Requests a second of each business scaling unit, and streams that make any.
    per_unit: f64,
    active: usize,
    disks: Vec<Box<dyn Device>>,
    disk_wakes: Vec<Option<Time>>,
    now: u64,
    sequence: u64,
    heap: BinaryHeap<Reverse<(u64, u64, Occasion)>>,
    next_number: u64,
    tickets: HashMap<u64, Purpose>,
    /// Disk requests that each fetch waits for.
    fetches: HashMap<FetchId, usize>,
    /// The stream that waits.
    waiters: HashMap<WaiterId, usize>,
    destages: HashMap<u64, Destage>,
    destaging: [usize; ARRAYS],
    open: Vec<Open>,
    /// Writes that wait for room, in order: stream and request.
    blocked: VecDeque<(usize, Request)>,
    /// Where each unit begins on each array, in pages.
    places: [u64; 3],
    measured: Measured,
    /// Pages for sequential data, summed over so many moments.
    sampled: (u64, u64),
}

/// Runs the phases one after the other; the load never rises.
///
/// # Errors
/// If the policy or the disk is not what it was.
pub fn run(machine: &Machine, phases: &[Phase], seed: u64) -> Result<Vec<Measured>, String> {
    let mut controller = Controller::new(machine, phases.first().map_or(0.0, |phase| phase.per_second), seed)?;
    let mut end = 0;
    let measure = |phase: &Phase| {
        controller.load(phase.per_second);
        let begin = end + phase.settles * SECOND;
        end += phase.seconds * SECOND;
        controller.until(begin);
        (controller.measured, controller.sampled) = Default::default();
        let before = (controller.manager.statistics().clone(), controller.classes());
        controller.until(end);
        controller.result(&before, (end - begin) as f64 / SECOND as f64)
    };
    Ok(phases.iter().map(measure).collect())
}

const UNIT_STREAMS: usize = 8;
/// Requests of one business scaling unit a second, at most.
const UNIT_PER_SECOND: f64 = 50.0;
const SECOND: u64 = 1_000_000_000;

impl Controller {
    fn new(machine: &Machine, per_second: f64, seed: u64) -> Result<Self, String> {
        let device = DeviceLimits { cluster_blocks_max: 4 * STRIPE_PAGES, ..DeviceLimits::default() };
        let mut manager = Manager::new(&Config { device, ..Config::new(machine.read_pages, machine.policy.parse()?) });
        let mut places = [0; 3];
        let mut end = 0;
        for ((place, pages), unit) in places.iter_mut().zip(machine.unit_pages).zip(0..) {
            *place = end;
            let blocks = pages.div_ceil(ARRAYS as u64).next_multiple_of(STRIPE_PAGES);
            end += blocks;
            for array in 0..ARRAYS {
                let (file, device) = (FileId((unit * ARRAYS + array) as u32), DeviceId(array as u16));
                let known = Event::FileKnown { file, device, blocks, place: *place };
                manager.handle(Time(0), known, &mut Vec::new());
            }
        }
        let disks = (0..ARRAYS * ARRAY_DISKS).map(|disk| {
            let choice: device::Choice = format!("disk10k:turned_percent={}", disk * 37 % 100).parse()?;
            Ok::<_, String>(choice.build())
        });
        let disks = disks.collect::<Result<Vec<_>, _>>()?;
        let workload = Workload::new((per_second / UNIT_PER_SECOND).ceil() as u64, machine.unit_pages, seed);
        let mut controller = Controller {
            manager,
            write_cache: WriteCache::new(machine.write_pages, ARRAYS),
            per_unit: 0.0,
            active: 0,
            disk_wakes: vec![None; disks.len()],
            disks,
            now: 0,
            sequence: 0,
            heap: BinaryHeap::new(),
            next_number: 0,
            tickets: HashMap::new(),
            fetches: HashMap::new(),
            waiters: HashMap::new(),
            destages: HashMap::new(),
            destaging: [0; ARRAYS],
            open: vec![Open::default(); workload.streams()],
            workload,
            blocked: VecDeque::new(),
            places,
            measured: Measured::default(),
            sampled: (0, 0),
        };
        controller.load(per_second);
        for stream in 0..controller.active {
            let pause = controller.workload.pause_ns(stream, controller.per_unit);
            controller.schedule(pause, Occasion::Arrives { stream });
        }
        controller.schedule(0, Occasion::Sample);
        Ok(controller)
    }

    fn load(&mut self, per_second: f64) {
        let units = (per_second / UNIT_PER_SECOND).ceil();
        self.per_unit = per_second / units;
        self.active = units as usize * UNIT_STREAMS;
    }

    fn schedule(&mut self, at: u64, what: Occasion) {
        self.heap.push(Reverse((at.max(self.now), self.sequence, what)));
        self.sequence += 1;
    }

    fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }

    fn classes(&self) -> Classes {
        let none =
            Classes { sequential_pages: 0, random_pages: 0, bottom_pages: 0.0, bottom_hits: 0, desired_pages: None };
        self.manager.classes().unwrap_or(none)
    }

    /// Goes on until a time.
    fn until(&mut self, end: u64) {
        while let Some(Reverse((at, ..))) = self.heap.peek()
            && *at < end
            && let Some(Reverse((at, _, what))) = self.heap.pop()
        {
            self.now = at;
            match what {
                Occasion::Arrives { stream } => self.arrives(stream),
                Occasion::Answered { stream } => self.answered(stream),
                Occasion::Disk { disk } => self.look_at_disk(disk),
                Occasion::Sample => {
                    self.sampled.0 += self.classes().sequential_pages;
                    self.sampled.1 += 1;
                    self.schedule(self.now + SECOND, Occasion::Sample);
                }
            }
        }
    }

    fn result(&self, before: &(Statistics, Classes), seconds: f64) -> Measured {
        let (statistics, classes) = (self.manager.statistics(), self.classes());
        let sequential = statistics.sequential_misses - before.0.sequential_misses;
        let bottom_hits = classes.bottom_hits - before.1.bottom_hits;
        let pages = self.sampled.0 as f64 / self.sampled.1.max(1) as f64;
        let ratio = 2.0 * sequential as f64 * classes.bottom_pages / pages.max(1.0) / bottom_hits.max(1) as f64;
        let sequential_percent = 100.0 * pages / self.manager.ledger().capacity as f64;
        let misses = self.measured.misses + sequential;
        Measured { misses, seconds, sequential_percent, ratio, ..self.measured }
    }

    /// A stream makes its next request, unless the load has become too low for it.
    fn arrives(&mut self, stream: usize) {
        if stream >= self.active {
            return;
        }
        let request = self.workload.next(stream);
        let next = self.now + self.workload.pause_ns(stream, self.per_unit);
        self.open[stream] = Open { since: self.now, next, write: request.write, parts: 0 };
        if request.write {
            self.blocked.push_back((stream, request));
            self.take_writes();
        } else {
            self.read(stream, request);
        }
    }

    /// The parts of a request: array, first page of the unit there, pages.
    fn parts(request: Request) -> impl Iterator<Item = (usize, u64, u64)> {
        let (mut page, end) = (request.first, request.first + request.count);
        std::iter::from_fn(move || {
            let (unit, into) = (page / UNIT_PAGES, page % UNIT_PAGES);
            let count = (UNIT_PAGES - into).min(end - page);
            let part = (unit as usize % ARRAYS, unit / ARRAYS as u64 * UNIT_PAGES + into, count);
            page += count;
            (count > 0).then_some(part)
        })
    }

    fn read(&mut self, stream: usize, request: Request) {
        // One more, until all parts are asked for.
        self.open[stream].parts = 1;
        for (array, first, count) in Self::parts(request) {
            let place = self.places[request.unit] + first;
            if self.write_cache.holds(array, place..place + count) {
                continue;
            }
            let waiter = WaiterId(self.number());
            self.waiters.insert(waiter, stream);
            self.open[stream].parts += 1;
            let (reader, site, demand) = (ReaderId(0), Site(0), Demand::Served(waiter));
            let file = FileId((request.unit * ARRAYS + array) as u32);
            let before = self.manager.statistics().misses;
            self.tell(Event::Reference { reader, site, file, first, count, demand });
            if !self.workload.is_sequential(stream) {
                self.measured.misses += self.manager.statistics().misses - before;
            }
        }
        self.part_done(stream);
    }

    fn part_done(&mut self, stream: usize) {
        self.open[stream].parts -= 1;
        if self.open[stream].parts == 0 {
            self.schedule(self.now + HIT_NS, Occasion::Answered { stream });
        }
    }

    fn answered(&mut self, stream: usize) {
        let Open { since, next, write, .. } = self.open[stream];
        self.measured.answered[usize::from(write)] += 1;
        self.measured.response_ns[usize::from(write)] += self.now - since;
        self.schedule(next, Occasion::Arrives { stream });
    }

    /// Lets waiting writes into the write cache, and sees to it that it gets empty.
    fn take_writes(&mut self) {
        while let Some(&(stream, request)) = self.blocked.front().filter(|(_, it)| self.write_cache.has_room(it.count))
        {
            self.blocked.pop_front();
            for (array, first, count) in Self::parts(request) {
                let place = self.places[request.unit] + first;
                self.write_cache.write(array, place..place + count);
            }
            self.schedule(self.now + HIT_NS, Occasion::Answered { stream });
        }
        for array in 0..ARRAYS {
            while self.destaging[array] < self.write_cache.urgency(DESTAGES_MAX)
                && let Some(dirty) = self.write_cache.destage(array)
            {
                self.destaging[array] += 1;
                let number = self.number();
                let reads = !dirty.is_full();
                self.destages.insert(number, Destage { dirty, left: 0, reads });
                self.destage_step(number);
            }
        }
    }

    /// Reads what a stripe's parity needs, or writes the stripe.
    fn destage_step(&mut self, number: u64) {
        let Some(&Destage { dirty, reads, .. }) = self.destages.get(&number) else { return };
        let mut pieces = dirty.pieces();
        if reads {
            let (parity, array) = (parity_disk(dirty.stripe), dirty.array);
            pieces.retain(|&(disk, place, count)| disk == parity || !self.is_cached(array, disk, place, count));
        }
        if let Some(destage) = self.destages.get_mut(&number) {
            destage.left = pieces.len();
        }
        for (disk, place, count) in pieces {
            self.ask_disk(dirty.array, disk, place, count, !reads, Purpose::Destage(number));
        }
    }

    /// Whether the read cache has these pages of a disk, which are of one track.
    fn is_cached(&self, array: usize, disk: usize, place: u64, count: u64) -> bool {
        let stripe = place / TRACK_PAGES;
        let within = (disk + ARRAY_DISKS - 1 - parity_disk(stripe)) % ARRAY_DISKS;
        let page = (stripe * STRIPE_TRACKS + within as u64) * TRACK_PAGES + place % TRACK_PAGES;
        let unit = self.places.iter().rposition(|&place| place <= page).unwrap_or(0);
        let file = FileId((unit * ARRAYS + array) as u32);
        (page..page + count).all(|page| self.manager.is_present(Block { file, index: page - self.places[unit] }))
    }

    fn destage_done(&mut self, number: u64) {
        let Some(destage) = self.destages.get_mut(&number) else { return };
        destage.left -= 1;
        if destage.left > 0 {
            return;
        }
        if std::mem::take(&mut destage.reads) {
            self.destage_step(number);
        } else if let Some(Destage { dirty, .. }) = self.destages.remove(&number) {
            self.write_cache.written(dirty);
            self.destaging[dirty.array] -= 1;
            self.take_writes();
        }
    }

    fn tell(&mut self, event: Event) {
        let mut actions = Vec::new();
        self.manager.handle(Time(self.now), event, &mut actions);
        for action in actions {
            match action {
                Action::Order(Order::Fetch { fetch, device, file, first, count, .. }) => {
                    self.measured.staged_tracks += (first + count).div_ceil(TRACK_PAGES) - first / TRACK_PAGES;
                    let pieces = pieces(self.places[file.0 as usize / ARRAYS] + first, count);
                    self.fetches.insert(fetch, pieces.len());
                    for (disk, place, count) in pieces {
                        self.ask_disk(usize::from(device.0), disk, place, count, false, Purpose::Fetch(fetch));
                    }
                }
                Action::Reply(Reply::Wake { waiter, .. }) => {
                    if let Some(stream) = self.waiters.remove(&waiter) {
                        self.part_done(stream);
                    }
                }
                // There are no bytes to give up, and nobody discloses or advises.
                _ => {}
            }
        }
    }

    fn ask_disk(&mut self, array: usize, disk: usize, place: u64, count: u64, write: bool, purpose: Purpose) {
        let (at, ticket) = (array * ARRAY_DISKS + disk, self.number());
        self.tickets.insert(ticket, purpose);
        let (place, bytes) = (place * PAGE_BYTES, count * PAGE_BYTES);
        self.disks[at].submit(Time(self.now), device::Request { ticket, place, bytes, write });
        self.wake_for_disk(at);
    }

    fn wake_for_disk(&mut self, disk: usize) {
        let next = self.disks[disk].next_event();
        if let Some(time) = next.filter(|_| self.disk_wakes[disk] != next) {
            self.disk_wakes[disk] = next;
            self.schedule(time.0, Occasion::Disk { disk });
        }
    }

    fn look_at_disk(&mut self, disk: usize) {
        // A time that has been replaced since finds nothing new.
        while let Some(ticket) = self.disks[disk].advance(Time(self.now)) {
            match self.tickets.remove(&ticket) {
                Some(Purpose::Destage(number)) => self.destage_done(number),
                Some(Purpose::Fetch(fetch)) => {
                    let Some(left) = self.fetches.get_mut(&fetch) else { continue };
                    *left -= 1;
                    if *left == 0 {
                        self.fetches.remove(&fetch);
                        self.tell(Event::FetchDone { fetch });
                    }
                }
                None => {}
            }
        }
        self.wake_for_disk(disk);
    }
}

/// Where a track of an array lies: the disk, and the page there.
pub fn track_place(track: u64) -> (usize, u64) {
    let (stripe, within) = (track / STRIPE_TRACKS, track % STRIPE_TRACKS);
    let disk = (stripe + 1 + within) % ARRAY_DISKS as u64;
    (disk as usize, stripe * TRACK_PAGES)
}

/// The disk that holds a stripe's parity.
pub fn parity_disk(stripe: u64) -> usize {
    (stripe % ARRAY_DISKS as u64) as usize
}

/// What the disks of an array are asked for: disk, page there, pages.
fn pieces(first: u64, count: u64) -> Vec<(usize, u64, u64)> {
    let mut pieces: Vec<(usize, u64, u64)> = Vec::new();
    let (mut page, end) = (first, first + count);
    while page < end {
        let (disk, place) = track_place(page / TRACK_PAGES);
        let (place, count) = (place + page % TRACK_PAGES, (TRACK_PAGES - page % TRACK_PAGES).min(end - page));
        match pieces.iter_mut().rfind(|piece| piece.0 == disk) {
            Some(piece) if piece.1 + piece.2 == place => piece.2 += count,
            _ => pieces.push((disk, place, count)),
        }
        page += count;
    }
    pieces
}
