//! How many requests for runs may be out at a device at once: as many as one run asks for at most, and more as long as the device
//! serves them side by side.
//!
//! Side by side, a request takes as long as it does alone; one by one, it waits for the others. So where most of those that
//! were sent while others were out take more than twice what quick ones take, they are served one by one: by an arm, or by a
//! link that is full. More of them at once bring nothing there, and take the arm away from who reads by himself.

/// Requests at once at first, and where they are served one by one: the longest stretch of one run, 8 MiB, by 1 MiB. One run
/// loses nothing by that, and 64 readers on one arm have a ninth of its time taken at most.
const FIRST: u32 = 8;
/// Requests whose times say something together.
const ROUND: u32 = 8;
/// A request is slow that takes so many times what a quick one takes.
const SLOW: f64 = 2.0;
/// By what part a quick request lowers what is thought quick, and any other raises it: one in nine is quicker than that. The very
/// quickest may have been on their way for their reader already.
const LOWERS_BY: f64 = 1.0 / 4.0;
const RAISES_BY: f64 = 1.0 / 32.0;

/// What was measured of a device's requests for runs.
#[derive(Debug, Clone)]
pub(crate) struct Overlap {
    requests: u32,
    quick_ns: Option<f64>,
    /// Of this round: requests that were out beside others, and the slow ones of them.
    done: u32,
    slow: u32,
    /// What the last round said.
    side_by_side: Option<bool>,
}

impl Default for Overlap {
    fn default() -> Self {
        Overlap { requests: FIRST, quick_ns: None, done: 0, slow: 0, side_by_side: None }
    }
}

impl Overlap {
    /// Requests that may be out at once.
    pub fn requests(&self) -> u32 {
        self.requests
    }

    /// Whether the device serves many in the time of one, if that has shown.
    pub fn side_by_side(&self) -> Option<bool> {
        self.side_by_side
    }

    /// What a quick request takes.
    pub fn quick_ns(&self) -> f64 {
        self.quick_ns.unwrap_or(0.0)
    }

    /// A request took so long; `beside` says that others were out when it was sent.
    pub fn finished(&mut self, took_ns: u64, beside: bool, requests_max: u32) {
        let took = took_ns as f64;
        let quick = self.quick_ns.get_or_insert(took);
        *quick += (took - *quick) * if took < *quick { LOWERS_BY } else { RAISES_BY };
        if !beside {
            return;
        }
        self.done += 1;
        self.slow += u32::from(took > SLOW * *quick);
        if self.done == ROUND {
            let side_by_side = 2 * self.slow < ROUND;
            self.requests = if side_by_side { self.requests.saturating_mul(2).min(requests_max) } else { FIRST };
            self.side_by_side = Some(side_by_side);
            (self.done, self.slow) = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATENCY: u64 = 5_000_000;

    /// Rounds in which as many requests are sent at once as may be, to a device that serves so many side by side.
    fn after(rounds: u32, servers: u32) -> Overlap {
        let mut overlap = Overlap::default();
        for _ in 0..rounds {
            for request in 0..overlap.requests() {
                overlap.finished(LATENCY * u64::from(1 + request / servers), request > 0, 128);
            }
        }
        overlap
    }

    #[test]
    fn side_by_side_soon_has_many() {
        let overlap = after(8, 1000);
        assert_eq!((overlap.requests(), overlap.side_by_side()), (128, Some(true)));
    }

    #[test]
    fn one_by_one_stays_with_few() {
        let overlap = after(8, 1);
        assert_eq!((overlap.requests(), overlap.side_by_side()), (FIRST, Some(false)));
    }

    #[test]
    fn one_request_after_the_other_says_nothing() {
        let mut overlap = Overlap::default();
        for request in 1..100 {
            overlap.finished(LATENCY * request, false, 128);
        }
        assert_eq!((overlap.requests(), overlap.side_by_side()), (FIRST, None));
    }
}
