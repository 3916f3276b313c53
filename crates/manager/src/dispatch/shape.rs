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

/// Blocks that nobody asked for which cost less than one more request, at a device that delivers so
/// many a nanosecond at best, of lone requests that take so long.
pub(crate) fn gap_blocks(alone: Line, best: Option<f64>, depth: u32) -> u64 {
    let Some(best) = best else { return 0 };
    let latency = alone.ns - alone.blocks * alone.block_ns().unwrap_or(1.0 / best);
    (latency * best / f64::from(depth.max(1))) as u64
}

/// Blocks that one request brings in the time that it waits; None if that is not known.
pub(crate) fn piece_blocks(alone: Line) -> Option<u64> {
    let piece = alone.ns / alone.block_ns()? - alone.blocks;
    // What waits for next to nothing was not kept waiting by its requests.
    (piece >= 1.0).then(|| piece.ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: f64 = 1_000_000.0;

    /// Of a device of 20 ms that brings so many blocks a millisecond, by lone requests of these
    /// lengths in turn.
    fn after(lengths: &[u64], a_ms: f64) -> Line {
        let requests = lengths.iter().cycle().take(40);
        line(requests.map(|&blocks| ((20.0 * MS + blocks as f64 / a_ms * MS) as u64, blocks)))
    }

    /// Of requests that took so long for so many blocks.
    fn line(requests: impl Iterator<Item = (u64, u64)>) -> Line {
        let mut line = None;
        requests.for_each(|(ns, blocks)| Line::add(&mut line, ns, blocks, 1.0 / 8.0));
        line.unwrap()
    }

    #[test]
    fn a_gap_costs_less_than_a_request_as_long_as_its_bytes_come_sooner() {
        // 6.1 blocks of 16 KiB a millisecond are 100 MB/s.
        let best = Some(6.1 / MS);
        for lengths in [&[1][..], &[4], &[64], &[1, 64]] {
            let alone = after(lengths, 6.1);
            assert_eq!((gap_blocks(alone, best, 64), gap_blocks(alone, best, 8)), (1, 15), "{lengths:?}");
            assert_eq!(gap_blocks(alone, best, 1), 121, "{lengths:?}: one by one");
        }
        assert_eq!(gap_blocks(after(&[1], 6.1), None, 1), 0, "what it delivers is not known");
    }

    #[test]
    fn a_request_brings_bytes_for_as_long_as_it_waits() {
        for lengths in [&[1, 64][..], &[4, 256, 16], &[100, 200]] {
            let piece = piece_blocks(after(lengths, 3.0));
            assert!(piece.is_some_and(|it| (60..=61).contains(&it)), "{lengths:?}: {piece:?}");
        }
        assert_eq!(piece_blocks(after(&[4], 3.0)), None, "what a block takes is not known");
        let bytes_only = line((1..40).map(|blocks| (blocks * 1_000_000, blocks)));
        assert_eq!(piece_blocks(bytes_only), None);
    }
}
