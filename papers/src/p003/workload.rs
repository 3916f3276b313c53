//! SPC-1-like requests (section IV-C), from *streams*, each of which has one request outstanding at
//! most: eight for each business scaling unit. Shares, places and sizes are those of the public
//! SPC-1 specification, whose sums are the paper's matrix: of 100 requests 29 are random reads, 32
//! random writes, 11 sequential reads and 28 sequential writes.
//!
//! ```text
//! unit     stream        share   reads   where, in percent of the unit
//! ASU-1    uniform        3.5 %   50 %   anywhere, one page
//!          walk          28.1 %   50 %   hot spot 15 to 20, one page
//!          scan           7.0 %  100 %   from 20 to 60 on, over 10; 1 to 16 pages
//!          walk          21.0 %   50 %   hot spot 70 to 75
//! ASU-2    uniform        1.8 %   30 %
//!          walk           7.0 %   30 %   hot spot 47 to 52
//!          scan           3.5 %  100 %   from 20 to 60 on, over 10
//! ASU-3    log           28.1 %    0 %   from 0 to 70 on, over 30; 1 to 16 pages
//! ```

use super::hot_spot::{HotSpot, Walk};
use crate::Random;

/// Pages of 4 KiB.
pub const PAGE_BYTES: u64 = 4096;

/// Where in its unit a stream's requests go. Numbers are percents of the unit.
#[derive(Clone, Copy)]
enum Place {
    Uniform,
    /// Within a hot spot that begins there.
    Walk(u64),
    /// One after the other, beginning somewhere between the first two, as far as the third.
    Sequential {
        from: u64,
        to: u64,
        length: u64,
    },
}

/// A kind of stream.
struct Kind {
    /// Application storage unit, from 0.
    unit: usize,
    /// Of all requests, in thousandths.
    share: f64,
    /// Of its requests, in percent.
    reads: u64,
    place: Place,
}

const SCAN: Place = Place::Sequential { from: 20, to: 60, length: 10 };
const LOG: Place = Place::Sequential { from: 0, to: 70, length: 30 };
const KINDS: [Kind; 8] = [
    Kind { unit: 0, share: 0.035, reads: 50, place: Place::Uniform },
    Kind { unit: 0, share: 0.281, reads: 50, place: Place::Walk(15) },
    Kind { unit: 0, share: 0.070, reads: 100, place: SCAN },
    Kind { unit: 0, share: 0.210, reads: 50, place: Place::Walk(70) },
    Kind { unit: 1, share: 0.018, reads: 30, place: Place::Uniform },
    Kind { unit: 1, share: 0.070, reads: 30, place: Place::Walk(47) },
    Kind { unit: 1, share: 0.035, reads: 100, place: SCAN },
    Kind { unit: 2, share: 0.281, reads: 0, place: LOG },
];

/// How much of its unit a hot spot is, in percent.
const HOT_SPOT: u64 = 5;
/// Sizes of sequential requests in pages, and how many in a hundred have them.
const SIZES: [(u64, u64); 5] = [(1, 40), (2, 24), (4, 20), (8, 8), (16, 8)];
/// Runs begin and end at multiples of so many pages.
const RUN_ALIGN: u64 = 16;

/// A request.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// Application storage unit, from 0.
    pub unit: usize,
    /// Its first page there.
    pub first: u64,
    /// How many.
    pub count: u64,
    /// Whether it writes.
    pub write: bool,
}

/// One stream of one business scaling unit.
struct Stream {
    kind: &'static Kind,
    random: Random,
    walk: Walk,
    /// Where a sequential one goes on, and where it ends.
    next: u64,
    end: u64,
}

/// All streams, and the hot spots they share.
pub struct Workload {
    unit_pages: [u64; 3],
    streams: Vec<Stream>,
    /// Of each kind; those that walk nowhere have one of a leaf.
    spots: Vec<HotSpot>,
}

impl Workload {
    /// So many business scaling units, over units of these sizes.
    pub fn new(business_units: u64, unit_pages: [u64; 3], seed: u64) -> Self {
        let spot = |kind: &Kind| match kind.place {
            Place::Walk(from) => {
                HotSpot::new(unit_pages[kind.unit] * from / 100, unit_pages[kind.unit] * HOT_SPOT / 100)
            }
            _ => HotSpot::new(0, 0),
        };
        let spots: Vec<HotSpot> = KINDS.iter().map(spot).collect();
        let stream = |number: u64| {
            let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(number));
            let kind = number as usize % KINDS.len();
            let walk = spots[kind].enter(&mut random);
            Stream { kind: &KINDS[kind], random, walk, next: 0, end: 0 }
        };
        let streams = (0..business_units * KINDS.len() as u64).map(stream).collect();
        Workload { unit_pages, streams, spots }
    }

    /// How many streams there are.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// The time until a stream's next request begins, where its business scaling unit makes so many
    /// a second.
    pub fn pause_ns(&mut self, stream: usize, per_second: f64) -> u64 {
        let Stream { kind, random, .. } = &mut self.streams[stream];
        let mean = 1e9 / (per_second * kind.share);
        (-(1.0 - random.share()).ln() * mean) as u64
    }

    /// Whether a stream's requests come in runs.
    pub fn is_sequential(&self, stream: usize) -> bool {
        matches!(self.streams[stream].kind.place, Place::Sequential { .. })
    }

    /// A stream's next request.
    pub fn next(&mut self, stream: usize) -> Request {
        let spot = &mut self.spots[stream % KINDS.len()];
        let stream = &mut self.streams[stream];
        let Kind { unit, reads, place, .. } = *stream.kind;
        let write = stream.random.below(100) >= reads;
        let (first, count) = match place {
            Place::Uniform => (stream.random.below(self.unit_pages[unit]), 1),
            Place::Walk(_) => (spot.step(&mut stream.walk, write, &mut stream.random), 1),
            Place::Sequential { from, to, length } => {
                let pages = |percent: u64| self.unit_pages[unit] * percent / 100;
                stream.run(pages(from), pages(to), pages(length))
            }
        };
        Request { unit, first, count, write }
    }
}

impl Stream {
    fn run(&mut self, from: u64, to: u64, length: u64) -> (u64, u64) {
        let mut draw = self.random.below(100);
        let mut count = SIZES[0].0;
        for (pages, share) in SIZES {
            count = pages;
            if draw < share {
                break;
            }
            draw -= share;
        }
        if self.next + count >= self.end {
            let first = from + self.random.below(to - from);
            (self.next, self.end) = (first - first % RUN_ALIGN, (first + length) - (first + length) % RUN_ALIGN);
        }
        let first = self.next;
        self.next += count;
        (first, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_is_the_papers() {
        let sum = |sequential: bool, write: bool| -> f64 {
            let of = |kind: &Kind| {
                let part = if write { 100 - kind.reads } else { kind.reads };
                if matches!(kind.place, Place::Sequential { .. }) == sequential {
                    kind.share * part as f64
                } else {
                    0.0
                }
            };
            KINDS.iter().map(of).sum()
        };
        for (ours, published) in
            [(sum(false, false), 29.0), (sum(false, true), 32.0), (sum(true, false), 11.0), (sum(true, true), 28.0)]
        {
            assert!((ours - published).abs() <= 0.6, "{ours} for {published}");
        }
    }

    #[test]
    fn runs_go_on_and_hot_spots_are_hot() {
        const PAGES: u64 = 1 << 20;
        let mut workload = Workload::new(1, [PAGES; 3], 1);
        let (mut end, mut goes_on) = (None, 0);
        for _ in 0..10_000 {
            let Request { first, count, write, .. } = workload.next(2);
            assert!(!write && (PAGES / 5 - RUN_ALIGN..PAGES * 7 / 10).contains(&first));
            goes_on += u32::from(end == Some(first));
            end = Some(first + count);
        }
        assert!(goes_on > 9_900, "{goes_on}");
        for _ in 0..10_000 {
            assert!((PAGES * 15 / 100..PAGES / 5).contains(&workload.next(1).first));
        }
    }
}
