//! How long requests are, where the host lets them go by what was measured of the device.
//!
//! ```text
//! T, n:                what lone requests take, and their blocks: means; C, V: their covariance, and the variance of the blocks
//! S = C / V:           what one request takes for a block, if there were shorter and longer ones
//! B:                   what the device delivers at best, all requests together
//! L = T - S n:         what a request waits; T - n / B while S is not known
//! a gap is read over:  up to L B / depth: with all of its slots taken, one more request costs L / depth, and a block 1 / B
//! a run is split:      over the slots that are free, into requests that bring bytes for as long as they wait: L / S
//! ```
//!
//! Worked example: 20 ms, 100 MB/s, 64 at once. In the time that one more request costs, 0.3 ms, 31
//! KB arrive: of blocks of 16 KiB, one that nobody asked for is read over, and two are not. One
//! request brings the 100 MB/s by itself: below 2 MB nothing is split.

use super::line::Line;

/// The latest lone request weighs an eighth.
const WEIGHT: f64 = 1.0 / 8.0;
/// What was measured by lone requests.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Shape {
    alone: Option<Line>,
}

impl Shape {
    /// A request that was alone took so long for so many blocks.
    pub fn finished_alone(&mut self, took_ns: u64, blocks: u64) {
        Line::add(&mut self.alone, took_ns, blocks, WEIGHT);
    }

    /// Blocks that nobody asked for which cost less than one more request, at a device that
    /// delivers so many a nanosecond at best.
    pub fn gap_blocks(&self, best: Option<f64>, depth: u32) -> u64 {
        let Some((alone, best)) = self.alone.zip(best) else { return 0 };
        let latency = alone.ns - alone.blocks * alone.block_ns().unwrap_or(1.0 / best);
        (latency * best / f64::from(depth.max(1))) as u64
    }

    /// Blocks that one request brings in the time that it waits; None if that is not known.
    pub fn piece_blocks(&self) -> Option<u64> {
        let alone = self.alone?;
        let piece = alone.ns / alone.block_ns()? - alone.blocks;
        // What waits for next to nothing was not kept waiting by its requests.
        (piece >= 1.0).then(|| piece.ceil() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: f64 = 1_000_000.0;

    /// Of a device of 20 ms that brings so many blocks a millisecond, by lone requests of these
    /// lengths in turn.
    fn after(lengths: &[u64], a_ms: f64) -> Shape {
        let mut shape = Shape::default();
        for &blocks in lengths.iter().cycle().take(40) {
            shape.finished_alone((20.0 * MS + blocks as f64 / a_ms * MS) as u64, blocks);
        }
        shape
    }

    #[test]
    fn a_gap_costs_less_than_a_request_as_long_as_its_bytes_come_sooner() {
        // 6.1 blocks of 16 KiB a millisecond are 100 MB/s.
        let best = Some(6.1 / MS);
        for lengths in [&[1][..], &[4], &[64], &[1, 64]] {
            let shape = after(lengths, 6.1);
            assert_eq!((shape.gap_blocks(best, 64), shape.gap_blocks(best, 8)), (1, 15), "{lengths:?}");
            assert_eq!(shape.gap_blocks(best, 1), 121, "{lengths:?}: one by one");
        }
        assert_eq!(Shape::default().gap_blocks(best, 1), 0, "nothing is known");
        assert_eq!(after(&[1], 6.1).gap_blocks(None, 1), 0);
    }

    #[test]
    fn a_request_brings_bytes_for_as_long_as_it_waits() {
        for lengths in [&[1, 64][..], &[4, 256, 16], &[100, 200]] {
            let piece = after(lengths, 3.0).piece_blocks();
            assert!(piece.is_some_and(|it| (60..=61).contains(&it)), "{lengths:?}: {piece:?}");
        }
        assert_eq!(after(&[4], 3.0).piece_blocks(), None, "what a block takes is not known");
        let mut bytes_only = Shape::default();
        (1..40).for_each(|blocks| bytes_only.finished_alone(blocks * 1_000_000, blocks));
        assert_eq!(bytes_only.piece_blocks(), None);
    }
}
