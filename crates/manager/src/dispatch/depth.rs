//! How many requests to one file at once a device of which nothing is known is sent: one at first,
//! twice as many as long as twice as many bring nearly twice as much. Some daemons serve one
//! request of a file after the other, and begin anew for each that is out of order; others have a
//! network before them, and serve a hundred in the time of one.

use crate::ids::Time;

/// Requests at once at most.
const DEPTH_MAX: u32 = 64;
/// A round is so many requests at one depth, and at least the second number: the first of them were
/// sent before.
const ROUND: u32 = 2;
const ROUND_MIN: u32 = 4;
/// Twice as many requests at once must bring so much more. Served one by one they bring as much as
/// before, side by side twice as much.
const GAIN_MIN: f64 = 1.4;
/// Rounds until more is tried again.
const ROUNDS_BETWEEN: u32 = 32;

/// The depth, and what was measured of it.
#[derive(Debug, Clone)]
pub(crate) struct Depth {
    requests: u32,
    /// The round: since when, how many requests, and how many blocks these brought.
    since: Option<Time>,
    done: u32,
    blocks: u64,
    /// Blocks a nanosecond at half the depth.
    below: Option<f64>,
    /// Rounds left until more is tried.
    rest: u32,
}

impl Default for Depth {
    fn default() -> Self {
        Depth { requests: 1, since: None, done: 0, blocks: 0, below: None, rest: 0 }
    }
}

impl Depth {
    /// Requests that may be out at once.
    pub fn requests(&self) -> u32 {
        self.requests
    }

    /// A request came to its end, and so many blocks with it; `busy` says that as many as may be
    /// were out until then.
    pub fn finished(&mut self, now: Time, blocks: u64, busy: bool) {
        let Some(since) = self.since.filter(|_| busy) else {
            // From here on, what is measured is what the device can do.
            (self.since, self.done, self.blocks) = (Some(now), 0, 0);
            return;
        };
        self.done += 1;
        self.blocks += blocks;
        if self.done < (ROUND * self.requests).max(ROUND_MIN) {
            return;
        }
        let rate = self.blocks as f64 / now.0.saturating_sub(since.0).max(1) as f64;
        let gained = self.below.is_none_or(|below| rate >= GAIN_MIN * below);
        if self.rest > 0 {
            self.rest -= 1;
        } else if !gained {
            self.requests /= 2;
            self.rest = ROUNDS_BETWEEN;
            self.below = None;
        } else if self.requests < DEPTH_MAX {
            self.requests *= 2;
            self.below = Some(rate);
        }
        (self.since, self.done, self.blocks) = (None, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that takes `latency` for each request, and serves `servers` of them side by side,
    /// always busy.
    fn depths(servers: u32, requests: u32) -> Vec<u32> {
        const LATENCY: u64 = 20_000_000;
        let (mut depth, mut now, mut depths) = (Depth::default(), 0, Vec::new());
        for _ in 0..requests {
            now += LATENCY / u64::from(depth.requests().min(servers));
            depth.finished(Time(now), 16, true);
            depths.push(depth.requests());
        }
        depths
    }

    #[test]
    fn a_network_soon_has_many() {
        assert_eq!(depths(1000, 200).last(), Some(&DEPTH_MAX));
        assert!(depths(1000, 10_000).iter().skip(200).all(|&depth| depth == DEPTH_MAX));
    }

    #[test]
    fn what_serves_one_by_one_is_seldom_sent_two() {
        let depths = depths(1, 10_000);
        assert_eq!(depths.iter().max(), Some(&2));
        let two = depths.iter().filter(|&&depth| depth == 2).count();
        assert!(two < depths.len() / 10, "{two} of {}", depths.len());
    }

    #[test]
    fn four_servers_have_four_to_eight() {
        assert!(depths(4, 1000).iter().skip(50).all(|depth| (4..=8).contains(depth)));
    }

    #[test]
    fn an_idle_device_says_nothing() {
        let mut depth = Depth::default();
        for request in 0..1000 {
            depth.finished(Time(request * 1_000_000_000), 16, false);
        }
        assert_eq!(depth.requests(), 1);
    }
}
