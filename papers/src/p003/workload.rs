//! SPC-1-like requests (section IV-C), from *streams*, each of which has one request outstanding at most: eight for each business
//! scaling unit. Shares and sizes are those of the public SPC-1 specification, whose sums are the paper's matrix: of 100 requests 29
//! are random reads, 32 random writes, 11 sequential reads and 28 sequential writes.
//!
//! ```text
//! unit     stream        share   reads   where
//! ASU-1    uniform        3.5 %   50 %   anywhere, one page
//!          hot           28.1 %   50 %   hot spots, one page
//!          scan           7.0 %  100 %   sequential, 1 to 16 pages
//!          hot           21.0 %   50 %   hot spots, one page
//! ASU-2    uniform        1.8 %   30 %
//!          hot            7.0 %   30 %
//!          scan           3.5 %  100 %
//! ASU-3    log           28.1 %    0 %   sequential
//! ```
//!
//! *Hot spots*: a page is drawn by its rank; of the hot ranks, the first `x` in parts of all have (x / HOT)^SKEW of the requests. Ranks
//! lie scattered.

use crate::Random;

/// Pages of 4 KiB.
pub const PAGE_BYTES: u64 = 4096;

/// Where in its unit a stream's requests go.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Uniform,
    Hot,
    Sequential,
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

const KINDS: [Kind; 8] = [
    Kind { unit: 0, share: 0.035, reads: 50, place: Place::Uniform },
    Kind { unit: 0, share: 0.281, reads: 50, place: Place::Hot },
    Kind { unit: 0, share: 0.070, reads: 100, place: Place::Sequential },
    Kind { unit: 0, share: 0.210, reads: 50, place: Place::Hot },
    Kind { unit: 1, share: 0.018, reads: 30, place: Place::Uniform },
    Kind { unit: 1, share: 0.070, reads: 30, place: Place::Hot },
    Kind { unit: 1, share: 0.035, reads: 100, place: Place::Sequential },
    Kind { unit: 2, share: 0.281, reads: 0, place: Place::Sequential },
];

/// Sizes of sequential requests in pages, and how many in a hundred have them.
const SIZES: [(u64, u64); 5] = [(1, 40), (2, 24), (4, 20), (8, 8), (16, 8)];
/// The part of a unit that is hot, and how uneven it is. Fitted to the read responses of Table II at 10 % load, which are mostly
/// misses: 8 GB of 100 GB find some 74 % of random reads, 8 GB of 3.2 TB some 8 %.
const HOT: f64 = 0.13;
const SKEW: f64 = 0.62;
/// Mean length of a sequential run, in pages: 64 MB. Assumed.
const RUN_PAGES: u64 = 16_384;

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
pub struct Stream {
    kind: &'static Kind,
    random: Random,
    unit_pages: u64,
    /// Where a sequential one goes on, and how far.
    next: u64,
    left: u64,
}

impl Stream {
    /// All streams of so many business scaling units, over units of these sizes.
    pub fn all(units: u64, unit_pages: [u64; 3], seed: u64) -> Vec<Stream> {
        let of = |number: u64| {
            KINDS.iter().zip(0_u64..).map(move |(kind, at)| {
                let random = Random::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(number * 8 + at));
                Stream { kind, random, unit_pages: unit_pages[kind.unit], next: 0, left: 0 }
            })
        };
        (0..units).flat_map(of).collect()
    }

    /// The time until its next request begins, where its business scaling unit makes so many a second.
    pub fn pause_ns(&mut self, per_second: f64) -> u64 {
        let mean = 1e9 / (per_second * self.kind.share);
        (-(1.0 - self.random.share()).ln() * mean) as u64
    }

    /// Whether its requests come in runs.
    pub fn is_sequential(&self) -> bool {
        self.kind.place == Place::Sequential
    }

    /// Its next request.
    pub fn next(&mut self) -> Request {
        let Kind { unit, reads, place, .. } = *self.kind;
        let write = self.random.below(100) >= reads;
        let (first, count) = match place {
            Place::Uniform => (self.random.below(self.unit_pages), 1),
            Place::Hot => (self.hot(), 1),
            Place::Sequential => self.run(),
        };
        Request { unit, first, count, write }
    }

    fn hot(&mut self) -> u64 {
        let rank = (HOT * self.unit_pages as f64 * self.random.share().powf(1.0 / SKEW)) as u64;
        // A prime that divides no size of ours: each rank has a page of its own.
        (rank * 2_654_435_761) % self.unit_pages
    }

    fn run(&mut self) -> (u64, u64) {
        if self.left == 0 {
            self.next = self.random.below(self.unit_pages);
            self.left = 1 + (-(1.0 - self.random.share()).ln() * RUN_PAGES as f64) as u64;
        }
        let mut draw = self.random.below(100);
        let mut size = SIZES[0].0;
        for (pages, share) in SIZES {
            size = pages;
            if draw < share {
                break;
            }
            draw -= share;
        }
        let count = size.min(self.left).min(self.unit_pages - self.next);
        let first = self.next;
        self.next = (first + count) % self.unit_pages;
        self.left -= count;
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
                if (kind.place == Place::Sequential) == sequential { kind.share * part as f64 } else { 0.0 }
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
        let mut streams = Stream::all(1, [1 << 20; 3], 1);
        let (mut end, mut goes_on) = (None, 0);
        for _ in 0..10_000 {
            let Request { first, count, write, .. } = streams[2].next();
            assert!(!write && first + count <= 1 << 20);
            goes_on += u32::from(end == Some(first));
            end = Some(first + count);
        }
        assert!(goes_on > 9_900, "{goes_on}");
        let mut pages: Vec<u64> = (0..100_000).map(|_| streams[1].next().first).collect();
        pages.sort_unstable();
        pages.dedup();
        assert!((30_000..70_000).contains(&pages.len()), "{}", pages.len());
    }
}
