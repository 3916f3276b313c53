//! What a request costs a device beside its bytes, on an arm the way to another place, and whether
//! the device serves requests one by one, which that shows.
//!
//! ```text
//! alone:      T, n: what requests take that nothing was out beside, and their blocks: means
//! beside:     t, m: what a request takes by the number that ended in that time, itself the last, and their blocks by the same
//!             number, where those were at least three: means
//! b:          what a block takes: the least of what longer requests take more than shorter ones, and of what it took when most
//!             were delivered, by and by forgotten while requests are long
//! P = T - (n - 1) b:     what a lone request waits; the first block is a part of it
//! p = t - (m - 1) b:     what each of several costs
//! one by one: p > P / 2
//! apart:      requests that were at the device when the one before them ended, and begin far from its end
//! dear:       of those, the ones that took more than 3 P / 16 from then on beside their bytes
//! near everywhere: fewer than a quarter of those apart are dear
//! goes on into files: of lone requests that begin a file just behind what was read before, more than half take less
//!                     than 8 b beside their bytes
//! ```
//!
//! Of those that are served side by side each costs a third of what one waits, at most. One by one
//! they cost as much as that, or somewhat less if they go in the order of their places.
//! Bytes are left out on both sides: a link that is full is no arm, and a lone request that brings a
//! thousand blocks takes long on any device. Times alone say little where a device always has all
//! that it can do: each request then takes as long as all before it.
//!
//! The requests of an arm may lie so near to one another that each costs little, and those of a link
//! may be so long that each waits for the bytes of all before it. What lies apart tells them from one
//! another: to an arm it costs the way, to a link its bytes.
//!
//! An arm is where the next file begins that lies behind the last one, and the drive has read on by
//! itself: to go on there takes little beside the bytes. A link waits for each file as for any other.
//!
//! Worked example: an arm of 4.5 ms that brings 12.2 blocks a millisecond, and 32 requests of a block
//! that are always out. Each takes 147 ms and ends 4.6 ms after the one before. The first request
//! was alone and brought 256 blocks in 25.5 ms: 4.6 of them without the bytes of the other 255.

use super::line::Line;
use crate::ids::Time;
use crate::layout::is_just_behind;

/// The latest request beside others weighs a 32nd; of lone ones, which are fewer, an eighth.
const BESIDE_WEIGHT: f64 = 1.0 / 32.0;
/// So many at least end in the time of one.
const ENDED_MIN: u64 = 3;
/// So many say something.
const REQUESTS_MIN: u32 = 8;
/// Served one by one, each costs so much, at least, of what one waits.
const PART: f64 = 0.5;
/// What begins so many blocks from the end of the request before lies apart: farther than a request is
/// long. Nearer things a drive may have in its buffer.
const APART_BLOCKS: u64 = 256;
/// The way of an arm takes longer than this part of what a lone request waits.
const DEAR_PART: f64 = 3.0 / 16.0;
/// If fewer of the requests apart are dear than this part, there is no arm. A link is late now and
/// then; and of an arm's some are near by chance (with half, four disks took 1.006 of the time).
const DEAR_SHARE: f64 = 0.25;
/// To begin a file takes little if it takes less than so many blocks. (By the mean a device that goes on
/// seems not to, once what stays lies between the files. By that, with 4 blocks a disk took 1.02 of
/// the time with 8 for short recordings; with 16 the same, but a slow link up to 1.23.)
const BEGIN_BLOCKS: f64 = 8.0;
/// And if more of them take as little than this part.
const QUICK_SHARE: f64 = 0.5;
/// What so long requests deliver says what bytes take. Shorter ones may be slow by their number.
const LONG_BLOCKS: u64 = 32;
const LONG_WEIGHT: f64 = 1.0 / 256.0;

/// A device's, as far as it was measured.
#[derive(Debug, Clone, Default)]
pub(crate) struct Positioning {
    beside: Option<Line>,
    /// Those beside others.
    requests: u32,
    /// Blocks in a nanosecond.
    fastest: f64,
    /// The last that ended: when, and the place behind it.
    last: Option<(Time, u64)>,
    /// Requests apart, and the part of them that is dear: a mean.
    apart: u32,
    dear: f64,
    /// Lone requests that begin a file just behind what was read before, and the part of them that is
    /// quick: a mean.
    begun: u32,
    quick: f64,
}

/// Where a request was.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spot {
    /// On the device.
    pub place: u64,
    pub blocks: u64,
    /// Whether a file begins there, and nothing else was out.
    pub begins: bool,
}

impl Positioning {
    /// A request took so long beside others; in that time so many ended, with so many blocks.
    pub fn finished_beside(&mut self, took_ns: u64, ended: u64, blocks: u64) {
        if ended >= ENDED_MIN {
            Line::add(&mut self.beside, took_ns / ended, blocks / ended, BESIDE_WEIGHT);
            self.requests = self.requests.saturating_add(1);
        }
    }

    /// A request was sent and ended then.
    pub fn ended(&mut self, (sent, now): (Time, Time), spot: Spot, alone: Line) {
        let Spot { place, blocks, begins } = spot;
        let before = self.last.replace((now, place.saturating_add(blocks)));
        let is_begun = |&(last, end): &(Time, u64)| sent >= last && is_just_behind(place, end.saturating_sub(1));
        if begins && before.as_ref().is_some_and(is_begun) {
            let took_ns = now.0.saturating_sub(sent.0) as f64 - self.bytes_ns(blocks as f64, alone);
            self.begun = self.begun.saturating_add(1);
            let is_quick = took_ns < BEGIN_BLOCKS * self.block_ns(alone);
            self.quick += (f64::from(u8::from(is_quick)) - self.quick) * BESIDE_WEIGHT.max(1.0 / f64::from(self.begun));
        }
        if let Some((last, _)) = before.filter(|&(last, end)| sent < last && place.abs_diff(end) > APART_BLOCKS) {
            let waited_ns = now.0.saturating_sub(last.0) as f64 - self.bytes_ns(blocks as f64, alone);
            let is_dear = waited_ns > DEAR_PART * self.ns(alone);
            self.apart = self.apart.saturating_add(1);
            self.dear += (f64::from(u8::from(is_dear)) - self.dear) * BESIDE_WEIGHT.max(1.0 / f64::from(self.apart));
        }
    }

    /// By a request for so many blocks, the device is seen to deliver so many in a nanosecond at
    /// best.
    pub fn delivered(&mut self, best: f64, blocks: u64) {
        if best > self.fastest {
            // A clock that stands still would have it deliver them in no time.
            self.fastest = if best.is_finite() { best } else { self.fastest };
        } else if blocks >= LONG_BLOCKS {
            self.fastest += (best - self.fastest) * LONG_WEIGHT;
        }
    }

    /// What a block takes, in nanoseconds; lone requests take so long.
    fn block_ns(&self, alone: Line) -> f64 {
        [Some(alone), self.beside]
            .into_iter()
            .flatten()
            .filter_map(|it| it.block_ns())
            .fold(1.0 / self.fastest, f64::min)
    }

    /// What the bytes of a request for so many blocks take; the first block is a part of what it
    /// waits.
    fn bytes_ns(&self, blocks: f64, alone: Line) -> f64 {
        (blocks - 1.0) * self.block_ns(alone)
    }

    fn without_bytes(&self, line: Line, alone: Line) -> f64 {
        (line.ns - self.bytes_ns(line.blocks, alone)).max(0.0)
    }

    /// What a lone request takes beside its bytes, in nanoseconds; with them it takes so long.
    pub fn ns(&self, alone: Line) -> f64 {
        self.without_bytes(alone, alone)
    }

    /// What a lone request takes that is as long as those beside others are of late. (Without any
    /// bytes, where all are alike, B would be what one at a time delivers, and no more ever be out.)
    pub fn lone_ns(&self, alone: Line) -> f64 {
        let blocks = self.beside.map_or(alone.blocks, |it| it.blocks);
        self.ns(alone) + self.bytes_ns(blocks, alone)
    }

    /// The blocks whose bytes take as long.
    pub fn blocks(&self, alone: Line) -> u64 {
        (self.ns(alone) / self.block_ns(alone)) as u64
    }

    /// Whether requests are served one by one, if that has shown.
    pub fn is_one_by_one(&self, alone: Line) -> Option<bool> {
        let beside = self.beside.filter(|_| self.requests >= REQUESTS_MIN)?;
        Some(self.without_bytes(beside, alone) > PART * self.ns(alone))
    }

    /// Whether it takes little to begin a file that lies just behind what was read before.
    pub fn goes_on_into_files(&self) -> bool {
        self.begun >= REQUESTS_MIN && self.quick > QUICK_SHARE
    }

    /// Whether what lies apart was seen to cost hardly more than its bytes.
    pub fn is_near_everywhere(&self) -> bool {
        self.apart >= REQUESTS_MIN && self.dear < DEAR_SHARE
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    const LATENCY: u64 = 5_000_000;
    /// 12 blocks a millisecond.
    const BLOCK_NS: u64 = 83_333;

    /// Lone requests of so many blocks, then always so many out, of these blocks in turn, at a device
    /// that serves so many side by side and sends their bytes one after the other.
    fn after(alone: u64, lengths: &[u64], out: usize, servers: usize) -> (Positioning, Line) {
        let mut positioning = Positioning::default();
        let mut lone = None;
        (0..4).for_each(|_| Line::add(&mut lone, LATENCY + (alone - 1) * BLOCK_NS, alone, 1.0 / 8.0));
        positioning.delivered(1.0 / BLOCK_NS as f64, alone);
        let (mut now, mut link, mut blocks_ended) = (0, 0, 0);
        let mut free = VecDeque::from(vec![0; servers]);
        // When each was sent, when it ends, its blocks, and what had ended when it was sent.
        let mut at_device: VecDeque<(u64, u64, u64, (u64, u64))> = VecDeque::new();
        let mut ended = 0;
        for &blocks in lengths.iter().cycle().take(300) {
            if at_device.len() == out {
                let (since, end, blocks, before) = at_device.pop_front().unwrap();
                (now, ended, blocks_ended) = (end, ended + 1, blocks_ended + blocks);
                positioning.finished_beside(end - since, ended - before.0, blocks_ended - before.1);
                let spot = Spot { place: 1_000_000 * (ended % 2), blocks, begins: false };
                positioning.ended((Time(since), Time(end)), spot, lone.unwrap());
            }
            let begun = free.pop_front().unwrap().max(now);
            link = (begun + LATENCY).max(link) + (blocks - 1) * BLOCK_NS;
            free.push_back(if servers == 1 { link } else { begun + LATENCY });
            at_device.push_back((now, link, blocks, (ended, blocks_ended)));
        }
        (positioning, lone.unwrap())
    }

    /// Of lone requests, requests beside others, and those that are out.
    const CASES: [(u64, &[u64], usize); 4] = [(1, &[1], 3), (256, &[1], 32), (256, &[1, 100], 8), (1, &[256], 127)];

    #[test]
    fn an_arm_shows_whatever_its_lone_requests_brought() {
        for (alone, lengths, out) in CASES {
            let (arm, lone) = after(alone, lengths, out, 1);
            assert_eq!(arm.is_one_by_one(lone), Some(true), "{alone} {lengths:?} {out}: {arm:?}");
            assert!((arm.ns(lone) / LATENCY as f64 - 1.0).abs() < 0.1, "{alone} {lengths:?} {out}: {arm:?}");
            assert!(!arm.is_near_everywhere(), "{alone} {lengths:?} {out}: {arm:?}");
        }
    }

    #[test]
    fn what_is_served_side_by_side_is_no_arm_even_where_its_link_is_full() {
        for (alone, lengths, out) in CASES {
            let (link, lone) = after(alone, lengths, out, 64);
            assert_eq!(link.is_one_by_one(lone), Some(false), "{alone} {lengths:?} {out}: {link:?}");
            assert!(link.is_near_everywhere(), "{alone} {lengths:?} {out}: {link:?}");
        }
    }

    /// Of an arm that reads on and on nothing lies apart, quick as each request is.
    #[test]
    fn what_follows_the_request_before_says_nothing_of_what_lies_apart() {
        let mut arm = Positioning::default();
        let mut lone = None;
        Line::add(&mut lone, LATENCY, 1, 1.0);
        (1..100).for_each(|at| {
            let spot = Spot { place: at, blocks: 1, begins: false };
            arm.ended((Time(0), Time(LATENCY + at * BLOCK_NS)), spot, lone.unwrap());
        });
        assert!(!arm.is_near_everywhere(), "{arm:?}");
    }

    /// After so many lone requests of a block that take so long, each for a place so far behind the one
    /// before.
    fn after_files(requests: u64, took_ns: u64, behind: u64, begins: bool) -> bool {
        let mut lone = None;
        (1..9).for_each(|blocks| Line::add(&mut lone, LATENCY + blocks * BLOCK_NS, blocks, 1.0 / 8.0));
        let mut positioning = Positioning::default();
        positioning.delivered(1.0 / BLOCK_NS as f64, 8);
        for at in 0..requests {
            let spot = Spot { place: 1000 + at * behind.wrapping_add(1), blocks: 1, begins };
            positioning.ended((Time(at * LATENCY), Time(at * LATENCY + took_ns)), spot, lone.unwrap());
        }
        positioning.goes_on_into_files()
    }

    #[test]
    fn an_arm_goes_on_into_the_files_that_lie_behind_one_another() {
        assert!(after_files(9, 2 * BLOCK_NS, 0, true));
        assert!(after_files(9, 2 * BLOCK_NS, 7, true), "few blocks between");
        assert!(!after_files(8, 2 * BLOCK_NS, 0, true), "the first lies behind nothing, and seven say little");
        assert!(!after_files(100, 2 * BLOCK_NS, 8, true), "not just behind");
        assert!(!after_files(100, 2 * BLOCK_NS, 0, false), "reads go on in one file");
        assert!(!after_files(100, LATENCY, 0, true), "a link: each waits");
        assert!(!after_files(100, 2 * BLOCK_NS, u64::MAX, true), "the same again");
    }

    #[test]
    fn little_says_nothing() {
        let (two, lone) = after(1, &[1], 2, 1);
        assert_eq!(Positioning::default().is_one_by_one(lone), None);
        assert_eq!((two.is_one_by_one(lone), two.blocks(lone)), (None, 60), "two ended in the time of one");
    }
}
