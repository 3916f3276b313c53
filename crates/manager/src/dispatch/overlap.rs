//! How many requests for runs may be out at a device at once: as many as one run asks for at most,
//! and more as long as the device serves them side by side.
//!
//! Side by side, a request takes as long as it does alone; one by one, it waits for the others. So
//! where most of those that were sent while others were out take more than twice what quick ones
//! take, they are served one by one: by an arm, or by a link that is full. More of them at once
//! bring nothing there, and take the arm away from who reads by himself.
//!
//! Late is not slow: where the processors are busy, answers wait for whoever takes them, and then
//! come together. What an arm delivers comes one after the other. So a request is slow only that
//! also came well after the one before.

use crate::ids::Time;

/// Requests at once at first, and where they are served one by one: the longest stretch of one run,
/// 8 MiB, by 1 MiB. One run loses nothing by that, and 64 readers on one arm have a ninth of its
/// time taken at most.
const FIRST: u32 = 8;
/// Requests whose times say something together.
const ROUND: u32 = 8;
/// A request is slow that takes so many times what a quick one takes.
const SLOW: f64 = 2.0;
/// So many slow ones of a round say by themselves that it is one by one.
const CLEAR: u32 = 6;
/// What comes so soon after the one before came together with it: an arm takes longer to the next
/// place, even on the same track.
const TOGETHER_NS: u64 = 100_000;
/// By what part a quick request lowers what is thought quick, and any other raises it: one in nine
/// is quicker than that. The very quickest may have been on their way for their reader already.
const LOWERS_BY: f64 = 1.0 / 4.0;
const RAISES_BY: f64 = 1.0 / 32.0;

/// What was measured of a device's requests for runs.
#[derive(Debug, Clone)]
pub(crate) struct Overlap {
    requests: u32,
    quick_ns: Option<f64>,
    /// When the last one came.
    last: Option<Time>,
    /// Of this round: requests that were out beside others, and the slow ones of them.
    done: u32,
    slow: u32,
    /// What the last round said.
    side_by_side: Option<bool>,
    /// What the last round said that was clear: a quick one, or a slow one that comes after another
    /// or is slow by more than half.
    clearly: Option<bool>,
}

impl Default for Overlap {
    fn default() -> Self {
        Overlap { requests: FIRST, quick_ns: None, last: None, done: 0, slow: 0, side_by_side: None, clearly: None }
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

    /// The same where chance is to say nothing: something else may have taken the device, or the
    /// processor, for half of a round.
    pub fn clearly_side_by_side(&self) -> Option<bool> {
        self.clearly
    }

    /// What a quick request takes.
    pub fn quick_ns(&self) -> f64 {
        self.quick_ns.unwrap_or(0.0)
    }

    /// What a quick request takes goes by one that took so long.
    pub fn took(&mut self, took_ns: u64) {
        let took = took_ns as f64;
        let quick = self.quick_ns.get_or_insert(took);
        *quick += (took - *quick) * if took < *quick { LOWERS_BY } else { RAISES_BY };
    }

    /// A request came that took so long, and counts for its round; `beside` says that others were out
    /// when it was sent.
    pub fn finished(&mut self, now: Time, took_ns: u64, beside: bool, requests_max: u32) {
        let since = self.last.replace(now).map_or(u64::MAX, |last| now.0.saturating_sub(last.0));
        if !beside {
            return;
        }
        self.done += 1;
        self.slow += u32::from(took_ns as f64 > SLOW * self.quick_ns() && since > TOGETHER_NS);
        if self.done == ROUND {
            let is_slow = 2 * self.slow >= ROUND;
            self.requests = if is_slow { FIRST } else { self.requests.saturating_mul(2).min(requests_max) };
            if !is_slow || self.slow >= CLEAR || self.side_by_side == Some(false) {
                self.clearly = Some(!is_slow);
            }
            self.side_by_side = Some(!is_slow);
            (self.done, self.slow) = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATENCY: u64 = 5_000_000;

    /// Rounds in which as many requests are sent at once as may be, to a device that serves so many
    /// side by side.
    fn after(rounds: u32, servers: u32) -> Overlap {
        let (mut overlap, mut now) = (Overlap::default(), Time(0));
        for _ in 0..rounds {
            let sent = now;
            for request in 0..overlap.requests() {
                let took = LATENCY * u64::from(1 + request / servers);
                now = Time(sent.0 + took);
                overlap.took(took);
                overlap.finished(now, took, request > 0, 128);
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

    /// Whoever takes the answers has no processor for ten times what one takes, now and then.
    #[test]
    fn late_together_is_side_by_side() {
        let (mut overlap, mut now) = (Overlap::default(), Time(0));
        for round in 0..8 {
            let took = LATENCY * if round % 2 == 0 { 1 } else { 10 };
            now = Time(now.0 + took);
            for request in 0..overlap.requests() {
                overlap.took(took);
                overlap.finished(Time(now.0 + u64::from(request) * 10_000), took, request > 0, 128);
            }
        }
        assert_eq!((overlap.requests(), overlap.side_by_side()), (128, Some(true)));
    }

    #[test]
    fn one_request_after_the_other_says_nothing() {
        let mut overlap = Overlap::default();
        for request in 1..100 {
            overlap.finished(Time(LATENCY * request), LATENCY * request, false, 128);
        }
        assert_eq!((overlap.requests(), overlap.side_by_side()), (FIRST, None));
    }
}
