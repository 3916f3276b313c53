//! A remote store: every request takes a latency whatever its place, and many are under way at
//! once.

use super::{Done, Model, Nanos, Request};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What the network model can be told.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkParams {
    /// Time of one request, before its transfer.
    pub latency: Nanos,
    /// Each latency is drawn evenly from ± this percentage.
    pub jitter: f64,
    /// Requests served at a time; 0 for no limit. Those beyond wait, first come first served.
    pub servers: usize,
    /// Bytes per second of each request's own transfer; 0 for no limit.
    pub bandwidth: u64,
    /// Where the jitter's random sequence begins.
    pub seed: u64,
}

impl Default for NetworkParams {
    fn default() -> Self {
        NetworkParams { latency: 5_000_000, jitter: 0.0, servers: 0, bandwidth: 0, seed: 1 }
    }
}

/// See [`NetworkParams`].
pub struct Network {
    params: NetworkParams,
    random: u64,
    under_way: BinaryHeap<Reverse<(Nanos, u64)>>,
    /// When each server is next free; empty when their number is unlimited.
    free_at: BinaryHeap<Reverse<Nanos>>,
}

impl Network {
    pub fn new(params: NetworkParams) -> Self {
        let free_at = (0..params.servers).map(|_| Reverse(0)).collect();
        Network { random: params.seed, params, under_way: BinaryHeap::new(), free_at }
    }

    fn service_time(&mut self, len: u64) -> Nanos {
        let latency = self.params.latency as f64 * (1.0 + self.params.jitter / 100.0 * self.even());
        let transfer = match self.params.bandwidth {
            0 => 0,
            rate => (u128::from(len) * 1_000_000_000 / u128::from(rate)) as Nanos,
        };
        latency.round() as Nanos + transfer
    }

    /// The next number of a SplitMix64 sequence, as a value in [-1, 1).
    fn even(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        (z >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

impl Model for Network {
    fn submit(&mut self, now: Nanos, request: Request) {
        let took = self.service_time(request.len);
        // The server free earliest takes it: with one queue and no overtaking, its start is known
        // on arrival, so nothing needs to be decided later.
        let due = match self.free_at.pop() {
            None => now + took,
            Some(Reverse(free)) => {
                let due = now.max(free) + took;
                self.free_at.push(Reverse(due));
                due
            }
        };
        self.under_way.push(Reverse((due, request.id)));
    }

    fn next_event(&self) -> Option<Nanos> {
        self.under_way.peek().map(|Reverse((due, _))| *due)
    }

    fn complete(&mut self, now: Nanos, done: &mut Vec<Done>) {
        while let Some(&Reverse((due, id))) = self.under_way.peek() {
            if due > now {
                break;
            }
            self.under_way.pop();
            done.push(Done { id, due });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(model: &mut Network) -> Vec<(u64, Nanos)> {
        let mut done = Vec::new();
        while let Some(next) = model.next_event() {
            model.complete(next, &mut done);
        }
        done.iter().map(|d| (d.id, d.due)).collect()
    }

    fn submit(model: &mut Network, now: Nanos, id: u64, len: u64) {
        model.submit(now, Request { id, offset: id * 4096, len });
    }

    #[test]
    fn unlimited_servers_delay_all_alike() {
        let mut model = Network::new(NetworkParams { latency: 5_000, ..Default::default() });
        for id in 0..3 {
            submit(&mut model, id * 10, id, 4096);
        }
        let mut done = Vec::new();
        model.complete(4_999, &mut done);
        assert!(done.is_empty());
        assert_eq!(drain(&mut model), [(0, 5_000), (1, 5_010), (2, 5_020)]);
    }

    #[test]
    fn busy_servers_make_the_next_wait_in_order() {
        let mut model = Network::new(NetworkParams { latency: 100, servers: 2, ..Default::default() });
        for id in 0..5 {
            submit(&mut model, 0, id, 1);
        }
        assert_eq!(drain(&mut model), [(0, 100), (1, 100), (2, 200), (3, 200), (4, 300)]);
    }

    #[test]
    fn bandwidth_adds_transfer_time() {
        let mut model = Network::new(NetworkParams { latency: 0, bandwidth: 1_000_000, ..Default::default() });
        submit(&mut model, 0, 0, 500);
        assert_eq!(drain(&mut model), [(0, 500_000)]);
    }

    #[test]
    fn jitter_stays_within_its_bounds_and_repeats_by_seed() {
        let run = |seed| {
            let mut model =
                Network::new(NetworkParams { latency: 1_000_000, jitter: 20.0, seed, ..Default::default() });
            (0..1000).for_each(|id| submit(&mut model, 0, id, 1));
            drain(&mut model)
        };
        let first = run(7);
        assert!(first.iter().all(|(_, due)| (800_000..=1_200_000).contains(due)));
        assert!(first.first().unwrap().1 < 810_000 && first.last().unwrap().1 > 1_190_000);
        assert_eq!(first, run(7));
        assert_ne!(first, run(8));
    }
}
