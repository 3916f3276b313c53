//! Runs read ahead beside the readers' own system, which reads ahead as well: what does not pay
//! there is given up, what pays is kept.
//!
//! The machine: readers of one file each, 16 blocks at a time; a kernel that asks for the next
//! window of 32 blocks when its last one begins to be read, and lets a reader wait for what is not
//! here; a device, which either is one arm, that stays where it is as long as something waits there
//! and else goes on to the next place that is wanted (8 ms), at 150 MB/s, or a network of 5 ms.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};

use foresee_manager::*;

const READ: u64 = 16;
const RECORD: u64 = 4;
const RECORDS: u64 = 8192;
/// Of the records that are looked up before, so many of so many are one after the other.
const SHORT_RUN: u64 = 4;
const SHORT_RUN_EACH: u64 = 16;
const WINDOW: u64 = 32;
/// What a reader takes for a read, and the host to hear of it.
const READ_NS: u64 = 30_000;
const HEARD_NS: u64 = 300_000;
const BLOCK_NS: u64 = 27_000;
const SEEK_NS: u64 = 8_000_000;
const LATENCY_NS: u64 = 5_000_000;
const FILE_PLACES: u64 = 1 << 20;

#[derive(Clone, Copy, PartialEq)]
enum Arm {
    Plain,
    Ungoverned,
    Governed,
}

impl Arm {
    const ALL: [Arm; 3] = [Arm::Plain, Arm::Ungoverned, Arm::Governed];
}

#[derive(Clone, Copy)]
struct Load {
    device: Device,
    streams: usize,
    blocks: u64,
    /// How long a reader thinks between two reads.
    think_ns: u64,
    /// Whether there is one more reader, of records of 4 blocks at random, nine in ten of a hot
    /// eighth.
    beside: bool,
    /// Records that one reader looks up before any stream begins; a short run now and then.
    lookups: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum Device {
    Disk,
    Network,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Occasion {
    Reads { reader: usize },
    Heard { reader: usize, first: u64, waited: bool, over: u64 },
    Served { request: u64 },
}

struct Request {
    place: u64,
    count: u64,
    whole: u64,
    fetch: Option<FetchId>,
}

#[derive(Default)]
struct Reader {
    next: u64,
    /// What the kernel asked for, up to here, and where its last window begins.
    asked: u64,
    marker: u64,
    waits: bool,
}

struct Machine {
    load: Load,
    arm: Arm,
    now: u64,
    number: u64,
    occasions: BinaryHeap<Reverse<(u64, u64, Occasion)>>,
    readers: Vec<Reader>,
    here: HashSet<u64>,
    coming: HashMap<u64, u64>,
    requests: BTreeMap<u64, Request>,
    /// Of the arm: what waits by place, what is served, where it stands.
    queue: BTreeMap<(u64, u64), u64>,
    busy: bool,
    head: u64,
    manager: Option<Manager>,
    finished: usize,
    looked_up: u64,
    /// When the streams began, and when the last one ended.
    began: u64,
    ended: u64,
    draw: u64,
}

impl Machine {
    fn new(load: Load, arm: Arm) -> Self {
        let readers = load.streams + usize::from(load.beside || load.lookups > 0);
        let policy = "readahead:keep=lru".parse().expect("a policy");
        let manager = (arm != Arm::Plain).then(|| {
            let mut manager = Manager::new(&Config::new(16_384, policy));
            for file in 0..readers as u32 {
                let (file, place) = (FileId(file), u64::from(file) * FILE_PLACES);
                manager.handle(
                    Time(0),
                    Event::FileKnown { file, device: DeviceId(0), blocks: load.blocks, place },
                    &mut Vec::new(),
                );
            }
            manager
        });
        let mut machine = Machine {
            load,
            arm,
            now: 0,
            number: 0,
            occasions: BinaryHeap::new(),
            readers: (0..readers).map(|_| Reader::default()).collect(),
            here: HashSet::new(),
            coming: HashMap::new(),
            requests: BTreeMap::new(),
            queue: BTreeMap::new(),
            busy: false,
            head: 0,
            manager,
            finished: 0,
            looked_up: 0,
            began: 0,
            ended: 0,
            draw: 1,
        };
        let first = if load.lookups > 0 { load.streams } else { 0 };
        for reader in first..readers {
            machine.at(0, Occasion::Reads { reader });
        }
        machine
    }

    fn at(&mut self, delay: u64, occasion: Occasion) {
        self.number += 1;
        self.occasions.push(Reverse((self.now + delay, self.number, occasion)));
    }

    /// Until all is read; what the streams took.
    fn run(mut self) -> (u64, Option<Statistics>) {
        while let Some(Reverse((now, _, occasion))) = self.occasions.pop() {
            self.now = now;
            match occasion {
                Occasion::Reads { reader } => self.read(reader),
                Occasion::Heard { reader, first, waited, over } => {
                    let demand = match self.arm {
                        Arm::Governed => Demand::Timed { over: Time(over), waited },
                        _ => Demand::Observed,
                    };
                    let (file, site) = (FileId(reader as u32), Site(0));
                    let count = if reader == self.load.streams { RECORD } else { READ };
                    self.tell(Event::Reference { reader: ReaderId(1), site, file, first, count, demand });
                }
                Occasion::Served { request } => self.served(request),
            }
        }
        (self.ended - self.began, self.manager.map(|manager| manager.statistics().clone()))
    }

    fn read_at_random(&mut self, reader: usize) {
        if self.finished == self.load.streams {
            return;
        }
        let base = reader as u64 * FILE_PLACES;
        let first = self.readers[reader].next;
        let missing = (first..first + RECORD).any(|at| !self.here.contains(&(base + at)));
        if missing {
            if !self.readers[reader].waits {
                self.ask(base + first, RECORD, None);
            }
            self.readers[reader].waits = true;
            return;
        }
        let waited = std::mem::take(&mut self.readers[reader].waits);
        self.draw = self.draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let hot = (self.draw >> 33) % 10 < 9;
        let record = (self.draw >> 40) % RECORDS;
        self.looked_up += 1;
        self.readers[reader].next = match self.looked_up % SHORT_RUN_EACH {
            1..SHORT_RUN if self.load.lookups > 0 => first + RECORD,
            _ if self.load.lookups > 0 || !hot => RECORD * record,
            _ => RECORD * (record - record % 8),
        };
        let over = self.now;
        self.at(HEARD_NS, Occasion::Heard { reader, first, waited, over });
        if self.load.lookups == 0 || self.looked_up < self.load.lookups {
            return self.at(READ_NS, Occasion::Reads { reader });
        }
        self.began = self.now;
        for reader in 0..self.load.streams {
            self.at(READ_NS, Occasion::Reads { reader });
        }
    }

    fn read(&mut self, reader: usize) {
        if reader == self.load.streams {
            return self.read_at_random(reader);
        }
        let base = reader as u64 * FILE_PLACES;
        let first = self.readers[reader].next;
        if first >= self.load.blocks {
            self.finished += 1;
            self.ended = self.now;
            return;
        }
        let marker = self.readers[reader].marker;
        if marker > 0 && (first..first + READ).contains(&marker) {
            let asked = self.readers[reader].asked;
            self.window(reader, asked);
        }
        if let Some(missing) = (first..first + READ).find(|at| !self.here.contains(&(base + at))) {
            self.readers[reader].waits = true;
            if !self.coming.contains_key(&(base + missing)) {
                self.window(reader, missing);
            }
            return;
        }
        let waited = std::mem::take(&mut self.readers[reader].waits);
        self.readers[reader].next = first + READ;
        let over = self.now;
        self.at(READ_NS + self.load.think_ns, Occasion::Reads { reader });
        self.at(HEARD_NS, Occasion::Heard { reader, first, waited, over });
    }

    /// The kernel asks for the window that begins here.
    fn window(&mut self, reader: usize, first: u64) {
        let count = WINDOW.min(self.load.blocks.saturating_sub(first));
        (self.readers[reader].marker, self.readers[reader].asked) = (first, first + count);
        self.ask(reader as u64 * FILE_PLACES + first, count, None);
    }

    fn ask(&mut self, place: u64, count: u64, fetch: Option<FetchId>) {
        let whole = count;
        let absent = |at: &u64| !self.here.contains(at) && !self.coming.contains_key(at);
        let missing: Vec<u64> = (place..place + count).filter(absent).collect();
        let (place, count) = match (missing.first(), missing.last()) {
            (Some(&first), Some(&last)) => (first, last + 1 - first),
            _ => (place, 0),
        };
        self.number += 1;
        let request = self.number;
        for at in place..place + count {
            self.coming.insert(at, request);
        }
        self.requests.insert(request, Request { place, count, whole, fetch });
        if count == 0 {
            self.at(50_000, Occasion::Served { request });
        } else if self.load.device == Device::Network {
            self.at(LATENCY_NS + count * 200, Occasion::Served { request });
        } else {
            self.queue.insert((place, request), request);
            self.serve();
        }
    }

    fn serve(&mut self) {
        if self.busy {
            return;
        }
        let next = self.queue.range((self.head, 0)..).next().or_else(|| self.queue.iter().next());
        let Some((&at, &request)) = next else { return };
        self.queue.remove(&at);
        let Request { place, count, .. } = self.requests[&request];
        let seek = if place == self.head { 0 } else { SEEK_NS };
        self.busy = true;
        self.head = place + count;
        self.at(seek + count * BLOCK_NS, Occasion::Served { request });
    }

    fn served(&mut self, request: u64) {
        if let Some(&Request { place, count: 0, whole, .. }) = self.requests.get(&request)
            && (place..place + whole).any(|at| !self.here.contains(&at))
        {
            self.at(50_000, Occasion::Served { request });
            return;
        }
        let Some(Request { place, count, fetch, .. }) = self.requests.remove(&request) else { return };
        for at in place..place + count {
            self.coming.remove(&at);
            self.here.insert(at);
        }
        let reader = (place / FILE_PLACES) as usize;
        if self.readers[reader].waits {
            self.at(0, Occasion::Reads { reader });
            self.readers[reader].waits = true;
        }
        if let Some(fetch) = fetch {
            self.tell(Event::FetchDone { fetch });
        }
        if self.load.device == Device::Disk && count > 0 {
            self.busy = false;
            self.serve();
        }
    }

    fn tell(&mut self, event: Event) {
        let mut actions = Vec::new();
        let Some(manager) = &mut self.manager else { return };
        manager.handle(Time(self.now), event, &mut actions);
        for action in actions {
            if let Action::Order(Order::Fetch { fetch, file, first, count, .. }) = action {
                self.ask(u64::from(file.0) * FILE_PLACES + first, count, Some(fetch));
            }
        }
    }
}

fn run(load: Load, arm: Arm) -> (f64, Statistics) {
    let (took, statistics) = Machine::new(load, arm).run();
    (took as f64, statistics.unwrap_or_default())
}

const NETWORK: Load =
    Load { device: Device::Network, streams: 1, blocks: 65_536, think_ns: 0, beside: false, lookups: 0 };
const DISK: Load = Load { device: Device::Disk, ..NETWORK };

#[test]
fn many_streams_on_one_arm_are_left_to_the_kernel() {
    let load = Load { streams: 64, blocks: 4096, ..DISK };
    let [(plain, _), (ungoverned, _), (governed, statistics)] = Arm::ALL.map(|arm| run(load, arm));
    assert!(ungoverned > 1.1 * plain, "{ungoverned} {plain}");
    assert!(governed < 1.02 * plain, "{governed} {plain}");
    assert_eq!(statistics.runs_given_up, 1);
}

#[test]
fn even_before_it_is_known_the_arm_is_theirs() {
    let load = Load { streams: 64, blocks: 1024, ..DISK };
    let [(plain, _), (ungoverned, _), (governed, _)] = Arm::ALL.map(|arm| run(load, arm));
    assert!(ungoverned > 1.1 * plain, "{ungoverned} {plain}");
    assert!(governed < 1.03 * plain, "{governed} {plain}");
}

#[test]
fn some_streams_on_one_arm_lose_little() {
    for (streams, blocks) in [(1, 65_536), (2, 65_536), (4, 65_536), (8, 32_768)] {
        for beside in [false, true] {
            let load = Load { streams, blocks, beside, ..DISK };
            let [(plain, _), _, (governed, _)] = Arm::ALL.map(|arm| run(load, arm));
            assert!(governed < 1.06 * plain, "{streams} streams, beside: {beside}: {governed} {plain}");
        }
    }
}

/// Between two of their reads the arm has left, so that each of the kernel's windows costs a seek.
#[test]
fn streams_that_think_gain_on_one_arm_and_keep_it() {
    let load = Load { streams: 8, blocks: 32_768, think_ns: 3_000_000, ..DISK };
    let [(plain, _), (ungoverned, _), (governed, statistics)] = Arm::ALL.map(|arm| run(load, arm));
    assert!(plain > 1.3 * ungoverned, "{plain} {ungoverned}");
    assert!(governed < 1.1 * ungoverned, "{governed} {ungoverned}");
    assert_eq!(statistics.runs_given_up, 0);
}

#[test]
fn on_a_network_nothing_is_lost() {
    for (streams, blocks) in [(1, 65_536), (8, 8192), (64, 1024)] {
        let load = Load { streams, blocks, ..NETWORK };
        let [(plain, _), (ungoverned, _), (governed, statistics)] = Arm::ALL.map(|arm| run(load, arm));
        assert!(governed < 1.02 * ungoverned || streams == 64, "{streams} streams: {governed} {ungoverned}");
        assert!(governed < plain, "{streams} streams: {governed} {plain}");
        assert_eq!(statistics.runs_given_up, 0, "{streams} streams");
    }
}

/// What was looked up before, at random, says nothing of the scan.
#[test]
fn a_scan_after_lookups_gains_as_others_do() {
    let load = Load { lookups: 4000, ..NETWORK };
    let [(plain, _), _, (governed, statistics)] = Arm::ALL.map(|arm| run(load, arm));
    assert_eq!(statistics.runs_given_up, 1, "among the look-ups nothing is gained");
    assert!(governed < 0.5 * plain, "{governed} {plain}");
}
