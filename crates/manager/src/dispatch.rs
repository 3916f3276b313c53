//! Which fetch goes to which device when: demand at once, then hinted, then guessed; neighbours
//! merged; a limit on what is outstanding. It belongs to the manager because the simulator would
//! otherwise test another system.
//!
//! A device's waiting blocks are sorted by place within batches of `sort_blocks`: 1 is first come,
//! first served; more is a one-way sweep (C-SCAN) over each batch in turn, so that a block is never
//! passed over for longer than one batch. One-way because the start of a cyclic reader's next pass
//! would otherwise be served backwards, on the way down.

mod batch;
mod caution;
mod depth;
mod flight;
mod governor;
mod line;
mod on_runs;
mod overlap;
mod pipe;
mod positioning;
mod quick;
mod shape;
mod sweep;

use std::collections::BTreeSet;

use crate::event::{Action, Class, Order, Source};
use crate::ids::{Block, DeviceId, FetchId, FileId, Time};
use crate::layout::{Home, Stripe};
use crate::table::FastMap;
use batch::Batch;
use caution::{CAUTIOUS_CLUSTER_BLOCKS, CAUTIOUS_OUTSTANDING_MAX, CAUTIOUS_PASSED_OVER_MAX, Caution};
pub(crate) use flight::Flight;
pub(crate) use governor::Referenced;
use governor::{Governor, Requests};
use line::Line;
use overlap::Overlap;
use pipe::{Flow, Pipe};
use positioning::{Positioning, Spot};
use quick::Quick;
use sweep::Sweep;

/// What one device is given.
#[derive(Debug, Clone, Copy)]
pub struct DeviceLimits {
    /// Requests at the device beyond which nothing is fetched ahead. Demand ignores it but counts
    /// (000 section 4.8). If these are as many as any device takes, 128, and it is seen to serve them
    /// side by side, they grow up to 512; a host that gives fewer means it.
    pub outstanding_max: u32,
    /// Blocks one fetch ahead may span.
    pub cluster_blocks_max: u64,
    /// Blocks sorted by place together.
    pub sort_blocks: u64,
    /// Blocks that may wait here; beyond it hints wait in their own queue, where they cost no
    /// memory.
    pub queued_blocks_max: u64,
    /// Blocks of one disclosed run fetched ahead on a quick device. Where the reader's own system
    /// reads ahead in runs, as the kernel does, it keeps up with such a device by itself, for
    /// less than we take.
    pub quick_run_blocks_max: u64,
}

impl Default for DeviceLimits {
    /// 128 is what Linux block devices take at once (`nr_requests`); 1 MiB amortises a request on
    /// every device we met; 16,384 blocks of 4 KiB are one sweep of half a second on a disk of
    /// 150 MB/s: with 2,048, a database read in random order took 12.1 s on such a disk, with
    /// 16,384 it took 3.4 s. Nothing is known here of the readers' own system.
    fn default() -> Self {
        DeviceLimits {
            outstanding_max: USUAL_OUTSTANDING_MAX,
            cluster_blocks_max: 256,
            sort_blocks: 16_384,
            queued_blocks_max: 32_768,
            quick_run_blocks_max: u64::MAX,
        }
    }
}

/// Requests at once that any device takes.
const USUAL_OUTSTANDING_MAX: u32 = 128;
/// Requests at once to a device that serves as many side by side: with a block each, they fill a link
/// of 20 ms and 100 MB/s.
pub(crate) const GROWN_OUTSTANDING_MAX: u32 = 512;
/// Requests for the rest of a run that wait or are out at a device of which it is not known whether
/// it is quick.
const UNDECIDED_REQUESTS: u64 = 2;
/// What may come true or not waits or is out at a device of which it is not known whether it serves
/// requests one by one: two rounds of those that show it (`Overlap`).
const UNDECIDED_AT_ONCE: u64 = 16;
/// What arrives sooner was in some cache, and says nothing of the device: a system call, and a copy
/// of each block.
const CACHED_NS: u64 = 30_000;
const CACHED_NS_PER_BLOCK: u64 = 600;

/// A shorter request may have been on its way for its reader already: so much, twice its usual 128
/// KiB, the kernel reads ahead.
const OWN_BLOCKS: u64 = 64;

/// Runs that nobody disclosed, on one device.
#[derive(Debug, Clone)]
struct Runs {
    overlap: Overlap,
    governor: Governor,
}

struct Device {
    limits: DeviceLimits,
    /// The most requests that were out when one was sent that has ended.
    most_out: u32,
    /// Whether the host limited this device by itself.
    is_limited: bool,
    outstanding: u32,
    /// Of these, requests for runs that nobody disclosed.
    out_for_runs: u32,
    /// What lone requests took.
    alone: Option<Line>,
    pipe: Pipe,
    batch: Batch,
    positioning: Positioning,
    quick: Quick,
    sweep: Sweep,
    /// Whether requests go by what was measured.
    is_shaped: bool,
    /// Waiting blocks, by rank.
    waiting: [BTreeSet<Turn>; RANKS],
    arrivals: u64,
    /// Where the sweep has come to: behind what was sent last.
    head: Turn,
    caution: Option<Caution>,
    /// Once a clock says how its readers fare.
    runs: Option<Runs>,
}

/// An arm takes so long to another place at least.
const ARM_NS_MIN: f64 = 1e6;
/// The latest lone request weighs an eighth.
const ALONE_WEIGHT: f64 = 1.0 / 8.0;
/// No gap is longer, though bytes seem to cost nothing: it is looked at block by block.
const GAP_BLOCKS_MAX: u64 = 1024;
/// What is on its way, in pipes, where more is not to wait at the device: with twice what it was seen
/// to deliver in the time of a request, it is seen to deliver more if it can.
const PIPES: f64 = 2.0;

/// When a waiting block's turn comes: its batch, the place where its file begins, its key.
type Turn = (u64, u64, u64);

impl Device {
    /// Whether what is sent first may matter to an arm: behind a network or a daemon requests wait
    /// for one another for other reasons. Where requests are shaped, some are answered by what
    /// an earlier one brought, beside which others look as if they waited.
    fn may_have_arm(&self) -> bool {
        self.caution.is_none() && !self.is_shaped
    }

    /// Blocks that wait.
    fn waits(&self) -> u64 {
        self.waiting.iter().map(BTreeSet::len).sum::<usize>() as u64
    }

    /// Requests that may be out at once: more than usual where it serves them side by side, twice what
    /// it was seen to serve in the time of one, if half of that has been out before.
    fn outstanding_max(&self) -> u32 {
        let usual = self.limits.outstanding_max;
        if self.is_limited || usual < USUAL_OUTSTANDING_MAX || self.is_one_by_one() != Some(false) {
            return usual;
        }
        let shown = self.pipe_of(&self.pipe.requests).map_or(0, |pipe| (PIPES * pipe) as u32);
        usual.max(shown.min(self.most_out.saturating_mul(2)).min(GROWN_OUTSTANDING_MAX))
    }

    /// Requests that may still go out.
    fn free(&self) -> u64 {
        u64::from(self.outstanding_max().saturating_sub(self.outstanding))
    }

    /// Whether so much is fetched ahead from it that one more block would only wait, or had better.
    fn is_pipe_full(&self) -> bool {
        let waiting = self.waits();
        let is_full = |flow: &Flow| self.pipe_of(flow).is_some_and(|pipe| (flow.ahead() + waiting) as f64 >= pipe);
        is_full(&self.pipe.requests) && (is_full(&self.pipe.blocks) || self.waits_for_batch())
    }

    /// Whether a block that is fetched ahead had better wait for others to go with it.
    fn waits_for_batch(&self) -> bool {
        let is_link = self.is_one_by_one() == Some(false) && self.positioning.is_near_everywhere();
        is_link && self.batch.is_of_use() && !self.batch.is_due(self.pipe.blocks.ahead())
    }

    /// Whether so much is on its way ahead of readers that more beside it would come no sooner.
    fn is_busy_with(&self, flow: &Flow) -> bool {
        self.pipe_of(flow).is_some_and(|pipe| flow.ahead() as f64 >= PIPES * pipe)
    }

    /// What the pipe holds of a flow, as far as that was measured.
    fn pipe_of(&self, flow: &Flow) -> Option<f64> {
        let lone_ns = |alone: Line| if self.has_arm() { alone.ns } else { self.positioning.lone_ns(alone) };
        Some(lone_ns(self.alone?) * flow.best()? + 1.0)
    }

    /// Blocks of a gap that is read over: where requests are shaped, and on an arm, which passes
    /// over them in any case.
    fn gap_blocks(&self) -> u64 {
        let Some(alone) = self.alone else { return 0 };
        let gap = match self.is_shaped {
            true => shape::gap_blocks(alone, self.pipe.blocks.best(), self.limits.outstanding_max),
            false if self.has_arm() => self.positioning.blocks(alone),
            false => 0,
        };
        gap.min(GAP_BLOCKS_MAX)
    }

    /// Blocks of each request, of so many that are split over the requests that may still go out.
    fn piece_blocks(&self, blocks: u64) -> u64 {
        let piece = self.alone.filter(|_| self.is_shaped).and_then(shape::piece_blocks);
        piece.map_or(u64::MAX, |piece| piece.max(blocks.div_ceil(self.free().max(1))))
    }

    /// Whether it serves requests one by one, as an arm does, if that has shown: by what they take, or
    /// by what each of several costs. Under constant load all take as long, those too that would be
    /// quick; and what lies near is quick on an arm, too. Where what lies apart is as quick, it is
    /// their bytes that long requests wait for, on a link that is full.
    fn is_one_by_one(&self) -> Option<bool> {
        let slow = self.alone.filter(|alone| self.positioning.ns(*alone) >= ARM_NS_MIN);
        let by_cost = slow.and_then(|alone| self.positioning.is_one_by_one(alone));
        let is_link = by_cost == Some(false) && self.positioning.is_near_everywhere();
        let by_time = self.sweep.is_one_by_one().filter(|_| !is_link);
        [by_cost, by_time].into_iter().flatten().reduce(|one, other| one || other)
    }

    fn has_arm(&self) -> bool {
        self.may_have_arm() && self.is_one_by_one() == Some(true)
    }

    /// What is sent next, and its rank, in one sweep over each batch. Runs wait if as many as may
    /// be are out; under caution a file that has as many requests as it may is passed over.
    fn next_turn(&self) -> Option<(usize, Turn)> {
        let runs_wait = self.runs.as_ref().is_some_and(|runs| self.out_for_runs >= runs.overlap.requests());
        (0..if runs_wait { OF_RUNS } else { RANKS }).find_map(|rank| {
            let queue = &self.waiting[rank];
            let turn = match &self.caution {
                None => {
                    let lowest = queue.first()?;
                    let batch_end = (lowest.0 + 1, 0, 0);
                    queue.range(self.head.min(batch_end)..batch_end).next().or(Some(lowest))
                }
                Some(caution) => {
                    let may_go = |turn: &&Turn| !caution.is_full(Block::from_key(turn.2).file);
                    queue.iter().take(CAUTIOUS_PASSED_OVER_MAX).find(may_go)
                }
            };
            Some((rank, *turn?))
        })
    }
}

/// What is sent first: hinted, guessed, and of the guessed last what is read ahead of runs that
/// nobody disclosed.
const RANKS: usize = 3;
const OF_RUNS: usize = 2;

fn rank_of(source: Source) -> usize {
    match source {
        Source::Readahead => OF_RUNS,
        _ => usize::from(source.class() == Class::Guessed),
    }
}

/// All devices' queues and what is at them.
pub(crate) struct Dispatch {
    limits: DeviceLimits,
    stripe: Stripe,
    devices: Vec<Device>,
    /// Where each waiting block waits.
    waiting: FastMap<u64, (DeviceId, usize, Turn)>,
    flights: FastMap<u64, Flight>,
    /// Blocks of all flights.
    in_flight: u64,
    next_fetch: u64,
}

impl Dispatch {
    pub fn new(limits: DeviceLimits, stripe: Stripe) -> Self {
        Dispatch {
            limits,
            stripe,
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
                most_out: 0,
                is_limited: false,
                outstanding: 0,
                out_for_runs: 0,
                alone: None,
                pipe: Pipe::default(),
                batch: Batch::default(),
                positioning: Positioning::default(),
                quick: Quick::default(),
                sweep: Sweep::default(),
                is_shaped: false,
                waiting: Default::default(),
                arrivals: 0,
                head: Turn::default(),
                caution: None,
                runs: None,
            });
        }
        &mut self.devices[at]
    }

    /// The disk that holds a block of a file that begins at `home`.
    fn disk_of(&self, home: Home, block: Block) -> DeviceId {
        self.stripe.device(home.device, home.place + block.index)
    }

    fn disk(&mut self, home: Home, block: Block) -> &mut Device {
        let disk = self.disk_of(home, block);
        self.device(disk)
    }

    /// Whether this block may go in one request with the `count` blocks before it.
    pub fn joins(&self, home: Home, block: Block, count: u64) -> bool {
        let limits = self.devices.get(usize::from(home.device.0)).map_or(self.limits, |it| it.limits);
        count < limits.cluster_blocks_max && !self.stripe.begins_unit(home.place + block.index)
    }

    /// What a lone request to a device takes, in nanoseconds, as measured of late.
    pub fn access_ns(&self, id: DeviceId) -> Option<f64> {
        Some(self.devices.get(usize::from(id.0))?.alone?.ns)
    }

    /// What a lone request to the quickest device takes of those of which it was measured.
    pub fn least_access_ns(&self) -> Option<f64> {
        self.devices.iter().filter_map(|it| Some(it.alone?.ns)).reduce(f64::min)
    }

    /// What a block takes on the quickest device that has all it can do, or on an array of as many
    /// such disks as there are in one.
    pub fn least_block_ns(&self) -> Option<f64> {
        let best = self.devices.iter().filter_map(|it| it.pipe.blocks.best()).reduce(f64::max)?;
        Some(1.0 / best / f64::from(self.stripe.disks.max(1)))
    }

    /// Whether this block may wait for its disk: the one so many blocks into a run.
    pub fn has_room(&mut self, home: Home, block: Block, into: u64) -> bool {
        let device = self.disk(home, block);
        let queued = device.waits();
        let limits = device.limits;
        // On a quick device the rest of a run is left alone: first it must be known.
        let undecided = into >= limits.quick_run_blocks_max && device.quick.is_undecided();
        let cluster = limits.cluster_blocks_max.max(1);
        let ahead = u64::from(device.outstanding).saturating_mul(cluster).saturating_add(queued);
        queued < limits.queued_blocks_max && (!undecided || ahead < UNDECIDED_REQUESTS.saturating_mul(cluster))
    }

    /// Requests at this device, or at the array that begins with it, and blocks that wait for it.
    fn load_of(&self, id: DeviceId) -> u64 {
        self.disks(id).map(|it| u64::from(it.outstanding) + it.waits()).sum()
    }

    /// Whether one more block would be sent at once, to this device or, of an array that begins
    /// with it, to its disks in the mean; or would be sorted among those that wait for an arm.
    pub fn takes_request(&self, id: DeviceId) -> bool {
        let not_met = usize::from(self.stripe.disks.max(1)) - self.disks(id).count();
        let met: u64 = self.disks(id).map(|it| u64::from(it.outstanding_max())).sum();
        let limit = met + not_met as u64 * u64::from(self.limits.outstanding_max);
        let sorts = self.disks(id).all(|it| it.has_arm());
        self.load_of(id) < if sorts { limit.max(self.limits.sort_blocks) } else { limit }
    }

    /// Whether one more request shows how this device serves several, which is not known yet.
    pub fn tries_request(&self, id: DeviceId) -> bool {
        self.load_of(id) < UNDECIDED_AT_ONCE
    }

    /// The disks of the array that begins with this device, as far as they were met.
    fn disks(&self, first: DeviceId) -> impl Iterator<Item = &Device> {
        self.devices.iter().skip(usize::from(first.0)).take(usize::from(self.stripe.disks.max(1)))
    }

    /// Blocks a nanosecond that this device delivers at best, or the array that begins with it;
    /// None if that was not measured yet.
    pub fn blocks_a_ns(&self, id: DeviceId) -> Option<f64> {
        self.disks(id).filter_map(|it| it.pipe.blocks.best()).reduce(|one, other| one + other)
    }

    /// How long a request of its own keeps this device busy, or a disk of the array that begins
    /// with it; None until it is known how it serves several. Side by side, that is at most
    /// half of what one takes; how much less shows when many were out.
    pub fn request_ns(&self, id: DeviceId) -> Option<f64> {
        self.disks(id).find_map(|it| match it.is_one_by_one()? && it.may_have_arm() {
            true => Some(it.alone?.ns),
            false => Some((1.0 / it.pipe.requests.best()?).min(it.alone?.ns / 2.0)),
        })
    }

    /// Whether so much is fetched ahead from this device that one more block would only wait there;
    /// of the array that begins with it, from each of its disks: one may have nothing to do while
    /// another has more than it can.
    pub fn is_pipe_full(&self, id: DeviceId) -> bool {
        self.disks(id).filter(|it| it.is_pipe_full()).count() == usize::from(self.stripe.disks.max(1))
    }

    /// Lets a block wait to be fetched ahead.
    pub fn enqueue(&mut self, home: Home, block: Block, source: Source) {
        let disk = self.disk_of(home, block);
        let device = self.device(disk);
        let turn = (device.arrivals / device.limits.sort_blocks.max(1), home.place, block.key());
        device.arrivals += 1;
        let rank = rank_of(source);
        device.waiting[rank].insert(turn);
        self.waiting.insert(block.key(), (disk, rank, turn));
    }

    /// Takes a waiting block out: its reader came, or nobody wants it any more.
    pub fn withdraw(&mut self, block: Block) {
        if let Some((disk, rank, turn)) = self.waiting.remove(&block.key()) {
            self.device(disk).waiting[rank].remove(&turn);
        }
    }

    /// Whether the rest of a run, from this many blocks after its start, is left to the reader's
    /// own system: of a file of so many blocks, disclosed by this source.
    pub fn leaves_run(&mut self, home: Home, block: Block, blocks: u64, source: Source, file_blocks: u64) -> bool {
        let device = self.disk(home, block);
        let is_quick = device.quick.is_so() && blocks >= device.limits.quick_run_blocks_max;
        // What the reader itself said it will read is worth a request wherever it lies.
        let is_too_long = |caution: &Caution| source != Source::Library && file_blocks > caution.file_blocks_max;
        is_quick || device.caution.as_ref().is_some_and(is_too_long)
    }

    /// Reading ahead on this device may cost more than it gains.
    pub fn caution(&mut self, id: DeviceId, file_blocks_max: u64) {
        let device = self.device(id);
        device.caution.get_or_insert_default().file_blocks_max = file_blocks_max;
        device.limits.sort_blocks = 1;
        device.limits.outstanding_max = device.limits.outstanding_max.min(CAUTIOUS_OUTSTANDING_MAX);
        device.limits.cluster_blocks_max = device.limits.cluster_blocks_max.min(CAUTIOUS_CLUSTER_BLOCKS);
    }

    /// This device is given so many requests at once, each of so many blocks; `shaped`: as long as
    /// what was measured of it says.
    pub fn limit(&mut self, id: DeviceId, requests: u32, blocks: u64, shaped: bool) {
        let device = self.device(id);
        (device.limits.outstanding_max, device.limits.cluster_blocks_max) = (requests, blocks);
        device.is_limited = true;
        device.is_shaped = shaped;
    }

    /// The readers' own system reads so many blocks ahead on this device.
    pub fn set_window(&mut self, id: DeviceId, blocks: u64) {
        self.device(id).quick.set_window(blocks);
    }

    /// Whether runs that nobody disclosed are read ahead here now. What would wait for long is as
    /// well left to its reader.
    pub fn reads_runs(&self, id: DeviceId) -> bool {
        let Some(device) = self.devices.get(usize::from(id.0)) else { return true };
        let waits = device.waiting[OF_RUNS].len() as u64;
        let is_let = |runs: &Runs| {
            runs.governor.reads_runs()
                && waits < u64::from(runs.overlap.requests()).saturating_mul(device.limits.cluster_blocks_max)
        };
        device.caution.is_none() && device.runs.as_ref().is_none_or(is_let)
    }

    /// A reader read here, by the clock. Returns whether runs are given up.
    pub fn referenced(&mut self, now: Time, home: Home, block: Block, referenced: Referenced) -> bool {
        let device = self.disk(home, block);
        let quick = device.quick.is_so();
        let idle = device.out_for_runs == 0 && device.waiting[OF_RUNS].is_empty();
        let new = || Runs { overlap: Overlap::default(), governor: Governor::new(now) };
        let runs = device.runs.get_or_insert_with(new);
        let requests = Requests {
            idle,
            side_by_side: runs.overlap.side_by_side().map(|it| it && !quick),
            access_ns: runs.overlap.quick_ns(),
        };
        runs.governor.referenced(now, referenced, requests)
    }

    /// Sends what a reader waits for, at once (I4, I5), each disk its part. Returns how many
    /// fetches that are.
    pub fn demand(&mut self, now: Time, home: Home, first: Block, count: u64, out: &mut Vec<Action>) -> u64 {
        let (mut index, end, mut fetches) = (first.index, first.index + count, 0);
        let piece = self.disk(home, first).piece_blocks(count);
        while index < end {
            let first = Block { index, ..first };
            let count = (end - index).min(self.stripe.rest_of_unit(home.place + index)).min(piece);
            let device = self.disk_of(home, first);
            self.send(now, Flight::new(device, home.place, first, count, Class::Demand, 0), out);
            index += count;
            fetches += 1;
        }
        fetches
    }

    /// Sends this request.
    pub fn send(&mut self, now: Time, flight: Flight, out: &mut Vec<Action>) {
        let fetch = FetchId(self.next_fetch);
        self.next_fetch += 1;
        let device = self.device(flight.device);
        let sent = device.pipe.sent(now, flight.count, flight.class != Class::Demand);
        let flight = Flight { since: now, beside: device.outstanding, sent, ..flight };
        device.outstanding += 1;
        device.out_for_runs += u32::from(flight.is_of_run());
        if flight.class != Class::Demand {
            device.batch.sent(device.pipe.blocks.ahead());
        }
        if let Some(caution) = &mut device.caution {
            caution.sent(flight.first.file);
        }
        let Flight { device, first, count, class, .. } = flight;
        self.in_flight += flight.brings();
        for blocks in flight.passed_over() {
            let (first, count) = (blocks.start, blocks.end - blocks.start);
            out.push(Action::Order(Order::PassOver { file: flight.first.file, first, count }));
        }
        out.push(Action::Order(Order::Fetch { fetch, device, file: first.file, first: first.index, count, class }));
        self.flights.insert(fetch.0, flight);
    }

    /// Whether some device has shown that it serves requests one by one.
    pub fn any_one_by_one(&self) -> bool {
        self.devices.iter().any(Device::has_arm)
    }

    /// Whether the disk of this block goes on at once into files that lie just behind what was read
    /// before, as it has shown.
    pub fn goes_on_into_files(&self, home: Home, block: Block) -> bool {
        let device = self.devices.get(usize::from(self.disk_of(home, block).0));
        device.is_some_and(|it| it.positioning.goes_on_into_files())
    }

    /// A name led to this device.
    pub fn named(&mut self, id: DeviceId) {
        self.device(id);
        for (at, device) in self.devices.iter_mut().enumerate() {
            device.sweep.named(at == usize::from(id.0));
        }
    }

    /// Takes the next run of waiting neighbours that the device may be sent now, while so many
    /// names are being looked up.
    pub fn next_run(&mut self, now: Time, id: DeviceId, names: usize) -> Option<Flight> {
        let stripe = self.stripe;
        let device = self.device(id);
        // What waits here for an arm is sorted and goes together; what waits there does not.
        let is_arm_busy = device.has_arm() && device.is_busy_with(&device.pipe.requests);
        if device.outstanding >= device.outstanding_max() || is_arm_busy {
            return None;
        }
        let Some((rank, mut turn)) = device.next_turn() else {
            device.sweep.is_over();
            return None;
        };
        // What shares a link comes all at once: what runs want keeps what is wanted first from coming.
        if rank == OF_RUNS && device.is_shaped && device.is_busy_with(&device.pipe.blocks) {
            return None;
        }
        if rank != OF_RUNS && device.may_have_arm() && device.sweep.holds_back(now, names, device.outstanding) {
            return None;
        }
        let class = if rank == 0 { Class::Hinted } else { Class::Guessed };
        let longest = device.limits.cluster_blocks_max.max(1).min(device.piece_blocks(device.waits()));
        let queue = &mut device.waiting[rank];
        let (_, place, key) = turn;
        let first = Block::from_key(key);
        let end = longest.min(stripe.rest_of_unit(place + first.index)).min(Block::INDEX_LIMIT - first.index);
        let mut count = 0;
        while (turn.1, turn.2) == (place, key + count) && count < end {
            queue.remove(&turn);
            count += 1;
            device.head = (turn.0, place, key + count);
            match queue.range(device.head..).next() {
                Some(&next) => turn = next,
                None => break,
            }
        }
        for key in key..key + count {
            self.waiting.remove(&key);
        }
        let mut flight = Flight::new(id, place, first, count, class, rank);
        self.take_neighbours(&mut flight);
        Some(flight)
    }

    /// Where requests go by what was measured, neighbours go in one wherever they wait, as long as
    /// it may be.
    fn take_neighbours(&mut self, flight: &mut Flight) {
        let longest = self.longest(flight);
        while flight.count < longest && self.waits_beside(flight, 0) {
            self.withdraw(Block { index: flight.end(), ..flight.first });
            flight.count += 1;
        }
    }

    /// Blocks that this request may have; none are added where requests do not go by what was
    /// measured, but for an arm.
    fn longest(&mut self, flight: &Flight) -> u64 {
        let of_unit = self.stripe.rest_of_unit(flight.place + flight.first.index);
        let device = self.device(flight.device);
        match device.is_shaped || device.has_arm() {
            true => device.limits.cluster_blocks_max.min(Block::INDEX_LIMIT - flight.first.index).min(of_unit),
            false => 0,
        }
    }

    /// Whether the block so far behind this request waits for the same.
    fn waits_beside(&self, flight: &Flight, behind: u64) -> bool {
        let waits = self.waiting.get(&(flight.first.key() + flight.count + behind));
        waits.is_some_and(|&(device, rank, _)| (device, rank) == (flight.device, flight.rank))
    }

    /// The blocks behind this request that are cheaper read over than the waiting ones behind them
    /// are asked for by themselves; on an arm, of runs too if so said.
    pub fn gap_behind(&mut self, flight: &Flight, of_runs: bool) -> Option<u64> {
        let goes = of_runs || !flight.is_of_run() || self.device(flight.device).is_shaped;
        (1..=self.gap_max(flight).filter(|_| goes)?).find(|&gap| self.waits_beside(flight, gap))
    }

    /// The blocks that may lie between this request and one more that comes along with it; None if it
    /// is as long as it may be.
    pub fn gap_max(&mut self, flight: &Flight) -> Option<u64> {
        let room = self.longest(flight).checked_sub(flight.count + 1)?;
        Some(self.device(flight.device).gap_blocks().min(room))
    }

    /// The block behind this request comes along.
    pub fn take_along(&mut self, flight: &mut Flight) {
        flight.count += 1;
        self.take_neighbours(flight);
    }

    /// The gap behind this request is read over: some of its blocks are passed over, and the others
    /// brought.
    pub fn read_over(&mut self, flight: &mut Flight, gap: u64, is_passed: impl Fn(Block) -> bool) {
        for _ in 0..gap {
            if is_passed(Block { index: flight.end(), ..flight.first }) {
                flight.pass_over();
            } else {
                flight.count += 1;
                flight.read_over += 1;
            }
        }
        self.take_neighbours(flight);
    }

    /// Whether a request to this device may pass over blocks that have pages. Where requests are
    /// shaped the host has memory for each block that it is asked for.
    pub fn passes_over(&self, id: DeviceId) -> bool {
        self.devices.get(usize::from(id.0)).is_some_and(Device::has_arm)
    }

    /// The block that would be sent last.
    pub fn last_waiting(&self) -> Option<Block> {
        let last_of = |rank: usize| self.devices.iter().filter_map(move |it| it.waiting[rank].last()).max();
        (0..RANKS).rev().find_map(last_of).map(|&(_, _, key)| Block::from_key(key))
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
        let place = self.stripe.on_disk(flight.place + flight.first.index);
        let device = self.device(flight.device);
        debug_assert!(device.outstanding > 0, "a fetch ends twice");
        device.outstanding = device.outstanding.saturating_sub(1);
        device.out_for_runs = device.out_for_runs.saturating_sub(u32::from(flight.is_of_run()));
        if let Some(caution) = &mut device.caution {
            caution.finished(now, flight.first.file, flight.count);
        }
        let took = now.0.saturating_sub(flight.since.0);
        let cached = took < CACHED_NS + CACHED_NS_PER_BLOCK * flight.count;
        device.most_out = device.most_out.max(flight.beside + 1);
        let outstanding_max = device.outstanding_max();
        if !cached {
            device.quick.finished(took, flight.count, flight.beside == 0);
            if flight.class != Class::Demand && !flight.is_of_run() {
                device.sweep.finished(now, took, flight.beside, outstanding_max);
            }
        }
        if flight.beside == 0 && !cached {
            Line::add(&mut device.alone, took, flight.count, ALONE_WEIGHT);
        }
        let alone_ns = device.alone.map(|it| it.ns);
        let beside = alone_ns.and_then(|alone| device.pipe.beside(now, flight.sent, alone)).filter(|_| !cached);
        beside.into_iter().for_each(|beside| device.batch.finished(beside));
        device.pipe.finished(now, flight.sent, flight.count, alone_ns, cached);
        if !cached {
            let (requests, blocks) = device.pipe.delivered_since(flight.sent);
            device.positioning.finished_beside(took, requests, blocks);
            if let Some(alone) = device.alone {
                // Of a file whose place is not known that is nought. Beside others it waits for them.
                let begins = flight.place > 0 && flight.first.index == 0 && flight.beside == 0;
                let spot = Spot { place, blocks: flight.count, begins };
                device.positioning.ended((flight.since, now), spot, alone);
            }
            device.pipe.blocks.best().into_iter().for_each(|best| device.positioning.delivered(best, flight.count));
        }
        if let Some(runs) = device.runs.as_mut().filter(|_| flight.is_of_run()) {
            runs.governor.finished();
            if !cached && flight.count >= OWN_BLOCKS {
                runs.overlap.took(took);
                runs.overlap.finished(now, took, flight.beside > 0, outstanding_max);
            }
        }
        self.in_flight = self.in_flight.saturating_sub(flight.brings());
        Some(flight)
    }

    /// Whether anything of a file is on its way.
    pub fn is_under_way(&self, file: FileId) -> bool {
        self.flights.values().any(|flight| flight.first.file == file)
    }

    /// Blocks that wait and blocks in flight.
    pub fn load(&self) -> (u64, u64) {
        (self.waiting.len() as u64, self.in_flight)
    }
}

#[cfg(test)]
mod tests;
