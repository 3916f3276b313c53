//! How long requests are, where the host lets them go by what was measured of the device.
//!
//! ```text
//! T, n:                what lone requests take, and their blocks: means
//! B:                   what the device delivers at best, all requests together
//! L = T - n / B:       what a request waits
//! a gap is read over:  up to L B / depth: with all of its slots taken, one more request costs L / depth, and a block 1 / B
//! a run is split:      over the slots that are free, into requests that bring bytes for as long as they wait: L n / T
//! ```
//!
//! Worked example: 20 ms, 100 MB/s, 64 at once. In the time that one more request costs, 0.3 ms, 31 KB arrive: of blocks of 16 KiB,
//! one that nobody asked for is read over, and two are not.

/// The latest lone request weighs an eighth.
const WEIGHT: f64 = 1.0 / 8.0;

/// What was measured by lone requests.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Shape {
    /// Nanoseconds and blocks of one.
    alone: Option<(f64, f64)>,
}

impl Shape {
    /// A request that was alone took so long for so many blocks.
    pub fn finished_alone(&mut self, took_ns: u64, blocks: u64) {
        let (took, blocks) = (took_ns.max(1) as f64, blocks as f64);
        let (took_before, blocks_before) = self.alone.get_or_insert((took, blocks));
        *took_before += (took - *took_before) * WEIGHT;
        *blocks_before += (blocks - *blocks_before) * WEIGHT;
    }

    /// What a request waits at a device that delivers so many blocks a nanosecond at best.
    fn latency_ns(&self, best: f64) -> Option<f64> {
        self.alone.map(|(took, blocks)| (took - blocks / best).max(0.0))
    }

    /// Blocks that nobody asked for which cost less than one more request.
    pub fn gap_blocks(&self, best: Option<f64>, depth: u32) -> u64 {
        let gap = |best: f64| Some(self.latency_ns(best)? * best / f64::from(depth.max(1)));
        best.and_then(gap).map_or(0, |gap| gap as u64)
    }

    /// Blocks that one request brings in the time that it waits; None if that is not known.
    pub fn piece_blocks(&self, best: Option<f64>) -> Option<u64> {
        let ((took, blocks), latency) = self.alone.zip(best.and_then(|best| self.latency_ns(best)))?;
        let piece = latency * blocks / took;
        // What waits for next to nothing was not kept waiting by its requests.
        (piece >= 1.0).then(|| piece.ceil() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: f64 = 1_000_000.0;

    /// Of a device of 20 ms that brings so many blocks a millisecond, by lone requests of so many.
    fn after(blocks: u64, a_ms: f64) -> Shape {
        let mut shape = Shape::default();
        (0..9).for_each(|_| shape.finished_alone((20.0 * MS + blocks as f64 / a_ms * MS) as u64, blocks));
        shape
    }

    #[test]
    fn a_gap_costs_less_than_a_request_as_long_as_its_bytes_come_sooner() {
        // 6.1 blocks of 16 KiB a millisecond are 100 MB/s.
        let best = Some(6.1 / MS);
        for blocks in [1, 4, 64] {
            let shape = after(blocks, 6.1);
            assert_eq!((shape.gap_blocks(best, 64), shape.gap_blocks(best, 8)), (1, 15), "{blocks}");
            assert_eq!(shape.gap_blocks(best, 1), 121, "{blocks}: one by one");
        }
        assert_eq!(Shape::default().gap_blocks(best, 1), 0, "nothing is known");
        assert_eq!(after(1, 6.1).gap_blocks(None, 1), 0);
    }

    #[test]
    fn a_request_is_worth_its_wait() {
        let shape = after(256, 3.0);
        // 20 ms of 105 waited; meanwhile 49 of its 256 blocks would have come.
        assert_eq!(shape.piece_blocks(Some(3.0 / MS)), Some(49));
        assert_eq!(Shape::default().piece_blocks(Some(1.0)), None);
        let bytes_only = Shape { alone: Some((10.0 * MS, 30.0)) };
        assert_eq!(bytes_only.piece_blocks(Some(3.0 / MS)), None);
    }
}
