//! The rate that all connections share.

use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A link that was idle passes as much at once as it would have in this time: threads wake up late.
const CREDIT: Duration = Duration::from_millis(10);

pub struct Link {
    pub latency: Duration,
    bandwidth: u64,
    free: Mutex<Instant>,
}

impl Link {
    /// The bandwidth is in bytes a second.
    pub fn new(latency: Duration, bandwidth: u64) -> Link {
        Link { latency, bandwidth, free: Mutex::new(Instant::now()) }
    }

    /// Sends so many bytes after all that was sent before; when the last has left.
    pub fn send(&self, bytes: usize) -> Instant {
        let took = Duration::from_nanos(bytes as u64 * 1_000_000_000 / self.bandwidth);
        let now = Instant::now();
        let mut free = self.free.lock().expect("no thread panics with it");
        *free = now.checked_sub(CREDIT).map_or(*free, |earliest| earliest.max(*free)) + took;
        (*free).max(now)
    }

    /// How many bytes a connection can have under way: what fits in twice the latency, and one more
    /// piece.
    pub fn window(&self, piece: usize) -> usize {
        (self.bandwidth as f64 * 2.0 * self.latency.as_secs_f64()) as usize + piece
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_all_who_send() {
        let link = Link::new(Duration::ZERO, 1_000_000);
        let begun = Instant::now();
        let last = (0..100).map(|_| link.send(10_000)).last().expect("a hundred");
        assert!(last >= begun + Duration::from_secs(1) - CREDIT);
    }
}
