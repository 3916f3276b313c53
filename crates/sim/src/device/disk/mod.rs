//! Disks: one arm over spinning platters, a buffer, a bus, and a queue in the drive.
//!
//! ```text
//! read, not in the buffer   command | arm moves | turn | sectors pass ........ | rest over the bus | end
//! read, in the buffer       command | over the bus, as far as it is read or as it comes under the head | end
//! write                     command | data over the bus, arm moves and settles | turn | sectors pass | end
//! ```
//!
//! One request is served at a time; the next one is chosen when it ends ([`queue`]). What each
//! drive is made of is data: [`REGISTRY`]. The numbers and where they come from are in [`disks`];
//! how a disk of that make fares beside the model is what `cargo run -p foresee-sim --example
//! validate_disk` prints.
//!
//! Worked example, the HP C2247A: a read of 16 sectors 1,000 cylinders away takes 0.56 ms of
//! command, 13.65 ms of seek, 5.6 ms for half a turn on average, 1.9 ms for 16 of 96 sectors of an
//! outer track, 0.06 ms for the last one over the bus and the end: 21.8 ms. The 16 sectors behind
//! them, asked for 5 ms later, are in the buffer by then: 0.95 ms of command and 0.8 ms over a bus
//! of 10 MB/s.

mod buffer;
pub mod disks;
pub mod geometry;
mod pass;
pub mod queue;
pub mod seek;

use std::fmt;

use foresee_manager::Time;

use super::{Device, DeviceReport, Request, Work};
use buffer::{Buffer, Segment};
pub use disks::{REGISTRY, names};
use geometry::{Geometry, Track};
use pass::{Arm, Pass, Start};
use queue::{Order, Queue};
use seek::Seek;

/// The size of a sector.
pub const SECTOR_BYTES: u64 = 512;

/// What a drive's electronics take, in nanoseconds.
#[derive(Debug)]
pub struct Overhead {
    /// A read that is not in the buffer, before the arm moves.
    pub read_miss_ns: u64,
    /// A read that is, before its first byte.
    pub read_hit_ns: u64,
    /// A write, before its first byte.
    pub write_ns: u64,
    /// A read, after its last byte.
    pub read_end_ns: u64,
    /// A write, after its last sector.
    pub write_end_ns: u64,
}

/// The make of a disk.
#[derive(Debug)]
pub struct DiskSpec {
    /// The name users write.
    pub name: &'static str,
    /// One line for help texts.
    pub summary: &'static str,
    /// Where sectors lie.
    pub geometry: Geometry,
    /// One turn.
    pub turn_ns: u64,
    /// The arm's moves.
    pub seek: Seek,
    /// From one head to another.
    pub head_switch_ns: u64,
    /// What a move takes longer if the head is to write.
    pub write_settle_ns: u64,
    /// The electronics.
    pub overhead: Overhead,
    /// Over the bus, once it is moving.
    pub bus_bytes_per_s: u64,
    /// So much of a read is in the buffer when it takes the bus.
    pub read_buffered_percent: u64,
    /// So many sectors of a write, if it has them, are in the buffer when it goes on to the
    /// platter.
    pub write_buffered_sectors: u64,
    /// Segments of the buffer; 0: it has none.
    pub segments: usize,
    /// The size of one.
    pub segment_sectors: u64,
    /// How far it reads on after a read, while nothing else is asked.
    pub ahead_sectors: u64,
    /// Whether it stops at the end of the track, unless the read itself went over one.
    pub ahead_in_track: bool,
    /// How its queue is served, unless the user says otherwise.
    pub order: Order,
}

impl DiskSpec {
    /// The time until the arm is on a track.
    fn move_ns(&self, arm: Arm, track: Track, settles: bool) -> u64 {
        let distance = arm.cylinder.abs_diff(track.cylinder);
        let switch = if arm.surface == track.surface { 0 } else { self.head_switch_ns };
        let moves = self.seek.ns(distance).max(switch);
        if moves > 0 && settles { moves + self.write_settle_ns } else { moves }
    }
}

/// A disk as a user chose it: `hp2247`, `rz26:order=sstf,bus_kb_per_s=3300`.
///
/// The disks of an array do not turn in step: `turned_percent` is where in its turn each one stands
/// at time 0.
#[derive(Debug, Clone, Copy)]
pub struct DiskChoice {
    spec: &'static DiskSpec,
    order: Order,
    bus_bytes_per_s: u64,
    turned_percent: u64,
}

impl DiskChoice {
    /// Of this make, with the settings a user wrote.
    pub(super) fn new(spec: &'static DiskSpec, settings: &str) -> Result<Self, String> {
        let mut choice =
            DiskChoice { spec, order: spec.order, bus_bytes_per_s: spec.bus_bytes_per_s, turned_percent: 0 };
        for setting in settings.split(',').filter(|setting| !setting.is_empty()) {
            let bad = || {
                let orders = Order::ALL.map(|(name, _)| name).join(", ");
                format!(
                    "'{setting}' is no setting of a disk; write order=ORDER (one of {orders}), bus_kb_per_s=10000 or \
                     turned_percent=50"
                )
            };
            let (key, value) = setting.split_once('=').ok_or_else(bad)?;
            match key {
                "order" => {
                    let found = Order::ALL.iter().find(|(name, _)| *name == value);
                    choice.order = found.map(|&(_, order)| order).ok_or_else(bad)?;
                }
                "bus_kb_per_s" => {
                    let kb_per_s: u32 = value.parse().ok().filter(|&number| number > 0).ok_or_else(bad)?;
                    choice.bus_bytes_per_s = u64::from(kb_per_s) * 1000;
                }
                "turned_percent" => {
                    choice.turned_percent = value.parse().ok().filter(|percent| *percent < 100).ok_or_else(bad)?;
                }
                _ => return Err(bad()),
            }
        }
        Ok(choice)
    }
}

impl DiskChoice {
    fn bus_ns(&self, sectors: u64) -> u64 {
        sectors * SECTOR_BYTES * 1_000_000_000 / self.bus_bytes_per_s
    }

    /// Requests are served one by one, and each takes the electronics' time and the bus; the first
    /// one cannot be in the buffer. What is different has to pass under the head once, at best
    /// where a turn holds most sectors.
    pub(super) fn least_ns(&self, work: &Work) -> u64 {
        let Overhead { read_miss_ns, read_hit_ns, read_end_ns, .. } = self.spec.overhead;
        let sectors = work.block_bytes / SECTOR_BYTES;
        let a_turn = self.spec.geometry.zones.iter().map(|zone| zone.sectors).max().unwrap_or(1);
        let others = read_miss_ns.min(read_hit_ns) + read_end_ns;
        let by_bus =
            read_miss_ns + read_end_ns + work.requests.saturating_sub(1) * others + work.blocks * self.bus_ns(sectors);
        let by_head = read_miss_ns + work.different * sectors * (self.spec.turn_ns / a_turn) + read_end_ns;
        by_bus.max(by_head)
    }
}

impl PartialEq for DiskChoice {
    fn eq(&self, other: &Self) -> bool {
        let key = |it: &Self| (it.spec.name, it.order, it.bus_bytes_per_s, it.turned_percent);
        key(self) == key(other)
    }
}

impl Eq for DiskChoice {}

impl fmt::Display for DiskChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, order, kb_per_s) = (self.spec.name, self.order.name(), self.bus_bytes_per_s / 1000);
        write!(f, "{name}:order={order},bus_kb_per_s={kb_per_s},turned_percent={}", self.turned_percent)
    }
}

/// So many hundredths of these sectors, at least one.
fn share(sectors: u64, percent: u64) -> u64 {
    (sectors * percent).div_ceil(100).max(1)
}

/// A disk at work.
pub(super) struct Disk {
    choice: DiskChoice,
    queue: Queue,
    /// What is served, and when it is done.
    current: Option<(Request, Time)>,
    arm: Arm,
    buffer: Buffer,
    /// What is read into the buffer's current segment, and is read on into it until something else
    /// is asked.
    pass: Pass,
    /// Behind the request served last, in bytes.
    head: u64,
    report: DeviceReport,
}

impl Disk {
    pub(super) fn new(choice: DiskChoice) -> Self {
        let buffer = Buffer::new(choice.spec.segments, choice.spec.segment_sectors);
        Disk {
            choice,
            queue: Queue::default(),
            current: None,
            arm: Arm::default(),
            buffer,
            pass: Pass::default(),
            head: 0,
            report: DeviceReport::default(),
        }
    }

    fn bus_ns(&self, sectors: u64) -> u64 {
        self.choice.bus_ns(sectors)
    }

    /// The sectors of a request, the drive's own counted.
    fn sectors(&self, request: &Request) -> (u64, u64) {
        let reserved = self.choice.spec.geometry.reserved;
        let first = request.place / SECTOR_BYTES;
        let end = (request.place + request.bytes).div_ceil(SECTOR_BYTES).max(first + 1);
        (reserved + first, reserved + end)
    }

    /// Begins to serve what is next, if the drive is free.
    fn begin_next(&mut self, now: Time) {
        if self.current.is_some() {
            return;
        }
        let Some(request) = self.queue.next(self.choice.order, self.head) else { return };
        let turned_ns = self.choice.spec.turn_ns * self.choice.turned_percent / 100;
        let done = self.serve(now.0 + turned_ns, &request) - turned_ns;
        self.head = request.place + request.bytes;
        self.report.busy_ns += done - now.0;
        self.current = Some((request, Time(done)));
    }

    /// Serves a request from now on; returns when it is done. Times count from when the platter
    /// began a turn.
    fn serve(&mut self, now: u64, request: &Request) -> u64 {
        let spec = self.choice.spec;
        // What was read on until now is in the buffer; the arm is where that has led it.
        if let Some(reached) = self.pass.reached(spec, now) {
            self.buffer.grow(reached);
        }
        self.arm = self.pass.arm(now).unwrap_or(self.arm);
        let (first, end) = self.sectors(request);
        self.report.requests += 1;
        self.report.bytes += request.bytes;
        if request.write {
            return self.write(now, first, end);
        }
        let is_growing = self.pass.end(spec).is_some();
        let before = self.buffer.current();
        let Some(found) = self.buffer.find(first, is_growing) else { return self.read_platter(now, first, end) };
        if before != Some(found) {
            self.pass = Pass::default();
        }
        self.read_buffer(now, found, first, end)
    }

    /// A read that is not in the buffer.
    fn read_platter(&mut self, now: u64, first: u64, end: u64) -> u64 {
        let spec = self.choice.spec;
        self.buffer.begin(first);
        self.pass = Pass::default();
        self.read_on(now + spec.overhead.read_miss_ns, first, (first, end));
        let on_bus = self.pass.end_of(spec, first + share(end - first, spec.read_buffered_percent) - 1);
        let rest = self.pass.end_of(spec, end - 1) + self.bus_ns(1);
        rest.max(on_bus + self.bus_ns(end - first)) + spec.overhead.read_end_ns
    }

    /// A read whose first sector is in the current segment, or comes into it next.
    fn read_buffer(&mut self, now: u64, found: Segment, first: u64, end: u64) -> u64 {
        let spec = self.choice.spec;
        self.report.buffer_hits += 1;
        let ready = now + spec.overhead.read_hit_ns;
        let mut done = ready + self.bus_ns(end - first);
        match self.pass.end(spec) {
            // Still reading: it goes on. Done with that: it begins again.
            Some((until, sector)) => self.read_on(if until > now { until } else { ready }, sector, (first, end)),
            None if end > found.end => self.read_on(ready, found.end, (first, end)),
            None => {}
        }
        if end > found.end {
            done = done.max(self.pass.end_of(spec, end - 1) + self.bus_ns(1));
        }
        done + spec.overhead.read_end_ns
    }

    /// Lets the pass go on from a sector, to the end of a request and beyond.
    fn read_on(&mut self, ready_ns: u64, from: u64, (first, end): (u64, u64)) {
        let spec = self.choice.spec;
        let track = spec.geometry.track(end - 1);
        let last = spec.geometry.reserved + spec.geometry.sectors();
        let stays = spec.ahead_in_track && track.first <= first;
        let end = (end + spec.ahead_sectors).min(if stays { track.first + track.data } else { last });
        let arm = self.pass.arm(u64::MAX).unwrap_or(self.arm);
        if from < end {
            self.count_seek(arm, from);
            self.pass.extend(spec, arm, (from, end), Start { ready_ns, data_ns: 0, settles: false });
        }
    }

    /// A write. Its data come over the bus while the arm moves; the platter is written when some of
    /// them are there, and no sooner than so that it never has to wait for the bus.
    fn write(&mut self, now: u64, first: u64, end: u64) -> u64 {
        let spec = self.choice.spec;
        self.buffer.forget(first, end);
        self.pass = Pass::default();
        let ready_ns = now + spec.overhead.write_ns;
        let count = end - first;
        let platter_ns = (count - 1) * spec.turn_ns / spec.geometry.track(first).turn;
        let buffered_ns = self.bus_ns(spec.write_buffered_sectors.min(count));
        let data_ns = ready_ns + buffered_ns.max(self.bus_ns(count).saturating_sub(platter_ns));
        let start = Start { ready_ns, data_ns, settles: true };
        self.count_seek(self.arm, first);
        let mut pass = Pass::default();
        pass.extend(spec, self.arm, (first, end), start);
        self.arm = pass.arm(u64::MAX).unwrap_or(self.arm);
        pass.end_of(spec, end - 1) + spec.overhead.write_end_ns
    }

    /// Notes how far the arm has to go.
    fn count_seek(&mut self, arm: Arm, sector: u64) {
        let distance = arm.cylinder.abs_diff(self.choice.spec.geometry.track(sector).cylinder);
        self.report.seeks += u64::from(distance > 0);
        self.report.seek_cylinders += distance;
    }
}

impl Device for Disk {
    fn submit(&mut self, now: Time, request: Request) {
        debug_assert!(request.place + request.bytes <= self.bytes(), "{request:?} lies beyond the disk");
        self.queue.push(request);
        self.begin_next(now);
    }

    fn next_event(&self) -> Option<Time> {
        self.current.map(|(_, done)| done)
    }

    fn advance(&mut self, now: Time) -> Option<u64> {
        let (request, done) = self.current?;
        if done > now {
            return None;
        }
        self.current = None;
        self.begin_next(done);
        Some(request.ticket)
    }

    fn report(&self) -> DeviceReport {
        self.report
    }

    fn bytes(&self) -> u64 {
        self.choice.spec.geometry.sectors() * SECTOR_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long each of these requests takes: the time it comes after the one before ended, sector,
    /// sectors, whether it writes.
    fn took_us(text: &str, requests: &[(u64, u64, u64, bool)]) -> (Vec<u64>, DeviceReport) {
        let mut device = text.parse::<super::super::Choice>().unwrap().build();
        let (mut now, mut took) = (0, Vec::new());
        for (&(pause_us, sector, sectors, write), ticket) in requests.iter().zip(0..) {
            now += pause_us * 1000;
            let (place, bytes) = (sector * SECTOR_BYTES, sectors * SECTOR_BYTES);
            device.submit(Time(now), Request { ticket, place, bytes, write });
            let done = device.next_event().unwrap().0;
            assert_eq!((device.advance(Time(done - 1)), device.advance(Time(done))), (None, Some(ticket)));
            took.push((done - now) / 1000);
            now = done;
        }
        (took, device.report())
    }

    #[test]
    fn what_is_read_ahead_is_there() {
        // 96 sectors are a turn of 11.1 ms: in 5 ms the drive reads 43 sectors on.
        let reads = [(0, 1000, 16, false), (5000, 1016, 16, false), (100_000, 1032, 128, false), (0, 1000, 16, false)];
        let (took, report) = took_us("hp2247", &reads);
        assert_eq!(took[1], 953 + 16 * 512 / 10 + 100);
        assert_eq!((took[2], report.buffer_hits), (953 + 128 * 512 / 10 + 100, 3));
        assert_eq!(took[3], took[1], "a segment is 256 sectors");
    }

    #[test]
    fn a_sector_comes_round_once_a_turn() {
        // Written again at once, a sector has just passed; a read that comes later meets it a whole number
        // of turns on.
        let writes = [(0, 5000, 8, true), (0, 5000, 8, true), (500, 5000, 8, true)];
        let (took, report) = took_us("ibm0661", &writes);
        assert_eq!((took[1], took[2] + 500, report.seeks), (13_895, 13_895, 1));
    }

    #[test]
    fn disks_may_begin_at_other_angles() {
        let first = |turned: &str| took_us(&format!("ibm0661:turned_percent={turned}"), &[(0, 20, 1, true)]).0[0];
        // A quarter of a turn is 3,474 us. What stands a hundredth short of a whole one is that much
        // behind.
        assert!((first("0") - first("25")).abs_diff(3474) <= 1);
        assert!((first("99") - first("0")).abs_diff(139) <= 1);
    }

    #[test]
    fn a_write_makes_what_was_read_untrue_and_waits_for_a_slow_bus() {
        let (took, report) = took_us("hp2247", &[(0, 0, 8, false), (0, 4, 1, true), (0, 0, 8, false)]);
        assert!(took[2] > 2000 && report.buffer_hits == 0, "{took:?}");
        let (took, _) = took_us("hp2247:bus_kb_per_s=100", &[(0, 0, 96, true)]);
        assert!(took[0] > 96 * 512 * 10 && took[0] < 96 * 512 * 10 + 30_000, "{took:?}");
    }
}
