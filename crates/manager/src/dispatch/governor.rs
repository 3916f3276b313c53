//! Whether it pays to read runs ahead on a device: measured on the run itself, by turns with and
//! without.
//!
//! ```text
//! without:  settle, then blocks their readers brought, per second       \  one pair: the logarithm of their ratio;
//! with:     settle, then blocks read for the first time, per second     /  pairs until it is clear, or PAIRS_MAX of them
//! ```
//!
//! What does not pay is given up, and tried again; what pays is tried again as well. A trial is no
//! more than one part in [`RESTS`] of the time, but the first one where requests are served one by
//! one: there it comes at once, for there reading ahead is as likely to harm. And where runs were
//! given up, one comes early when far more is read in runs than when it was tried (`on_runs.rs`).
//!
//! What a turn without finds here was brought by the one before, so only what its readers brought
//! by themselves counts.
//!
//! Worked example: a disk gives one reader 134 MB/s with and 88 without; ln(134 / 88) = 0.42, and
//! after a few pairs that is three times its error. 64 readers have 50 with and 91 without: -0.6.

use super::on_runs::OnRuns;
use crate::ids::Time;

/// A turn takes so long at least, or [`REQUESTS`] times what a request takes, and so many reads or
/// four times as long.
const TURN_NS: f64 = 50e6;
const REQUESTS: f64 = 2.0;
const READS: u32 = 64;
/// A turn is over sooner that brings less than a third of the one before.
const SHORT_TURN_NS: f64 = 20e6;
const FAR_LESS: f64 = 1.0 / 3.0;
/// Nobody reads for so long: what was measured of this turn counts for nothing.
const PAUSE_NS: u64 = 250_000_000;
/// Whether a device serves requests side by side is known after so many, if they come at once.
const FIRST_TRIAL: u32 = 32;
/// After so many requests reading ahead has got going.
const SETTLED: u32 = 8;
/// Pairs of turns at most.
const PAIRS_MAX: u32 = 8;
/// How far two turns differ by chance, as a logarithm, before it is known how far they do; and how
/// many times its error a gain must be to be clear, and a loss: in doubt it is given up.
const SPREAD: f64 = 0.35;
const CLEAR_GAIN: f64 = 3.0;
const CLEAR_LOSS: f64 = 1.0;
/// What is in doubt must bring so much, as a logarithm, to pay: it costs the processor something.
const GAIN_MIN: f64 = 0.05;
/// A trial rests so many times as long as it took.
const RESTS: u64 = 50;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Turn {
    /// No trial is made; until then, if there was one.
    Rest {
        until: Option<Time>,
    },
    With,
    Without,
}

/// What was read in a turn.
#[derive(Debug, Clone, Copy, Default)]
struct Measure {
    /// Since when it counts.
    since: Option<Time>,
    reads: u32,
    blocks: u64,
}

impl Measure {
    fn count(&mut self, blocks: u64) {
        self.reads += u32::from(blocks > 0);
        self.blocks += blocks;
    }

    fn took(&self, now: Time) -> f64 {
        self.since.map_or(0.0, |since| now.0.saturating_sub(since.0) as f64)
    }

    fn rate(&self, now: Time) -> f64 {
        self.blocks.max(1) as f64 / self.took(now).max(1.0)
    }
}

/// What a device showed of requests for runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Requests {
    /// None is out or waits.
    pub idle: bool,
    /// Many are served in the time of one, and not so quickly that the reader's own system keeps
    /// up; None until that is known.
    pub side_by_side: Option<bool>,
    /// What one takes.
    pub access_ns: f64,
}

/// What was referenced at a device.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Referenced {
    /// Blocks that their reader brings by itself.
    pub missed: u64,
    /// Blocks that were brought ahead of this first reference.
    pub brought: u64,
    /// Of what was missed, some went on a run.
    pub on_run: bool,
}

/// The governor of a device.
#[derive(Debug, Clone)]
pub(crate) struct Governor {
    turn: Turn,
    /// The first one of each pair.
    first: Turn,
    given_up: bool,
    began: Time,
    measure: Measure,
    /// What the turn before this one brought, in blocks a nanosecond.
    before: f64,
    /// Requests for runs that came to their end in this turn.
    finished: u32,
    last: Time,
    on_runs: OnRuns,
    trial_began: Time,
    /// Pairs so far, the sum of what they say, and that of its squares.
    pairs: u32,
    sum: f64,
    squares: f64,
}

impl Governor {
    /// Of a device that is read from for the first time.
    pub fn new(now: Time) -> Self {
        Governor {
            turn: Turn::Rest { until: None },
            first: Turn::With,
            given_up: false,
            began: now,
            measure: Measure::default(),
            before: 0.0,
            finished: 0,
            last: now,
            on_runs: OnRuns::default(),
            trial_began: now,
            pairs: 0,
            sum: 0.0,
            squares: 0.0,
        }
    }

    /// Whether runs are read ahead now.
    pub fn reads_runs(&self) -> bool {
        match self.turn {
            Turn::Rest { .. } => !self.given_up,
            Turn::With => true,
            Turn::Without => false,
        }
    }

    /// A request for a run came to its end.
    pub fn finished(&mut self) {
        self.finished = self.finished.saturating_add(1);
    }

    /// A reader read.
    pub fn referenced(&mut self, now: Time, referenced: Referenced, requests: Requests) -> bool {
        let paused = now.0.saturating_sub(self.last.0) > PAUSE_NS;
        self.last = now;
        if paused {
            (self.began, self.measure) = (now, Measure::default());
        }
        self.on_runs.count(self.reads_runs(), referenced);
        let turn_ns = TURN_NS.max(REQUESTS * requests.access_ns);
        let settled = now.0.saturating_sub(self.began.0) as f64 > turn_ns;
        match self.turn {
            Turn::Rest { until } => {
                // Where it is as likely to harm, the harm is not waited for.
                let first = if requests.side_by_side == Some(false) { Turn::Without } else { Turn::With };
                let due = match (until, requests.side_by_side) {
                    (None, Some(false)) => true,
                    (None, None) => self.finished >= FIRST_TRIAL,
                    (None, Some(true)) => {
                        (now.0.saturating_sub(self.trial_began.0)) as f64 > RESTS as f64 * 6.0 * turn_ns
                    }
                    (Some(until), _) => now >= until,
                };
                let early = !due && self.given_up && self.on_runs.are_far_more();
                if due || early {
                    self.on_runs.trial_began(early);
                    (self.trial_began, self.pairs, self.sum, self.squares, self.before) = (now, 0, 0.0, 0.0, 0.0);
                    self.first = first;
                    self.begin(first, now);
                }
                false
            }
            Turn::Without => {
                self.measure.count(referenced.missed);
                let settled = requests.idle || now.0.saturating_sub(self.began.0) as f64 > 4.0 * turn_ns;
                self.measured(settled, turn_ns, now).is_some_and(|rate| self.end_turn(rate, now))
            }
            Turn::With => {
                self.measure.count(referenced.missed + referenced.brought);
                let settled = self.finished >= SETTLED || settled && self.finished > 0;
                self.measured(settled, turn_ns, now).is_some_and(|rate| self.end_turn(rate, now))
            }
        }
    }

    /// A turn brought so much. Returns whether runs are given up.
    fn end_turn(&mut self, rate: f64, now: Time) -> bool {
        let before = std::mem::replace(&mut self.before, rate);
        if self.turn == self.first {
            self.begin(if self.first == Turn::With { Turn::Without } else { Turn::With }, now);
            return false;
        }
        let (with, without) = if self.turn == Turn::With { (rate, before) } else { (before, rate) };
        self.compare((with / without).ln(), now)
    }

    /// What this turn brought, if it is over; it counts once it has settled.
    fn measured(&mut self, settled: bool, turn_ns: f64, now: Time) -> Option<f64> {
        if self.measure.since.is_none() {
            if settled {
                self.measure = Measure { since: Some(now), ..Measure::default() };
            }
            return None;
        }
        let (took, rate) = (self.measure.took(now), self.measure.rate(now));
        let is_far_less = took >= SHORT_TURN_NS && rate < FAR_LESS * self.before;
        let is_over = took >= turn_ns && self.measure.reads >= READS || took >= 4.0 * turn_ns;
        (is_far_less || is_over).then_some(rate)
    }

    fn begin(&mut self, turn: Turn, now: Time) {
        (self.turn, self.began, self.finished, self.measure) = (turn, now, 0, Measure::default());
    }

    /// A pair of turns said this.
    fn compare(&mut self, gain: f64, now: Time) -> bool {
        self.pairs += 1;
        self.sum += gain;
        self.squares += gain * gain;
        let Some(pays) = self.verdict() else {
            self.begin(self.first, now);
            return false;
        };
        self.on_runs.trial_ended();
        let took = now.0.saturating_sub(self.trial_began.0);
        self.begin(Turn::Rest { until: Some(Time(now.0.saturating_add(RESTS * took))) }, now);
        let gave_up = std::mem::replace(&mut self.given_up, !pays);
        !pays && !gave_up
    }

    /// Whether it pays, if that is clear by now.
    fn verdict(&self) -> Option<bool> {
        let pairs = f64::from(self.pairs);
        let mean = self.sum / pairs;
        let spread = (SPREAD * SPREAD + (self.squares - self.sum * mean).max(0.0)) / pairs;
        let error = (spread / pairs).sqrt();
        if mean > CLEAR_GAIN * error {
            Some(true)
        } else if mean + CLEAR_LOSS * error < GAIN_MIN {
            Some(false)
        } else {
            (self.pairs >= PAIRS_MAX).then_some(mean > GAIN_MIN)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const ONE_BY_ONE: Requests = Requests { idle: true, side_by_side: Some(false), access_ns: 5e6 };

    /// Whether it was given up within so many seconds, on a device that gives so many reads a
    /// second with and without, of 16 blocks each; and how long runs were not read ahead until
    /// then.
    fn run(seconds: u64, with: u64, without: u64, requests: Requests) -> (bool, u64) {
        let mut governor = Governor::new(Time(0));
        let (mut now, mut left_alone) = (0, 0);
        while now < seconds * 1000 * MS {
            let reads_runs = governor.reads_runs();
            let took = 1000 * MS / if reads_runs { with } else { without };
            now += took;
            left_alone += if reads_runs { 0 } else { took };
            if reads_runs {
                governor.finished();
            }
            let (missed, brought) = if reads_runs { (0, 16) } else { (16, 0) };
            if governor.referenced(Time(now), Referenced { missed, brought, on_run: true }, requests) {
                return (true, left_alone);
            }
        }
        (false, left_alone)
    }

    #[test]
    fn what_harms_or_does_nothing_is_given_up() {
        for without in [1000, 1050, 2000] {
            assert!(run(3, 1000, without, ONE_BY_ONE).0, "{without} reads a second without");
        }
    }

    #[test]
    fn what_pays_is_kept_and_its_trials_are_short() {
        for without in [50, 300, 700] {
            let (given_up, left_alone) = run(100, 1000, without, ONE_BY_ONE);
            assert!(!given_up && left_alone < 2_500 * MS, "{without} reads a second without: {left_alone} ns");
        }
    }

    #[test]
    fn where_many_are_served_at_once_a_trial_can_wait() {
        let side_by_side = Requests { side_by_side: Some(true), ..ONE_BY_ONE };
        assert_eq!(run(10, 1000, 50, side_by_side), (false, 0));
        assert!(run(60, 1000, 1000, side_by_side).0, "but it comes");
    }

    #[test]
    fn what_was_given_up_is_tried_again() {
        let mut governor = Governor::new(Time(0));
        let mut turns = 0;
        for read in 0..200_000 {
            let before = governor.reads_runs();
            governor.finished();
            governor.referenced(Time(read * MS), Referenced { missed: 16, brought: 0, on_run: true }, ONE_BY_ONE);
            turns += u32::from(!before && governor.reads_runs());
        }
        assert!(governor.given_up && turns > 2, "{turns} turns");
    }

    /// Reads a device that gives so many reads a second with and without.
    #[derive(Clone, Copy)]
    struct Reads {
        with: u64,
        without: u64,
        /// One read in so many goes on a run.
        one_in: u64,
    }

    /// Index look-ups, of which one now and then is taken for a run that does not go on.
    const LOOKUPS: Reads = Reads { with: 200, without: 200, one_in: 50 };

    /// Reads so for so many milliseconds; for how many of them runs were read ahead.
    fn read(governor: &mut Governor, now: &mut u64, for_ms: u64, reads: Reads) -> u64 {
        let (end, mut read_ahead) = (*now + for_ms * MS, 0);
        for number in 0.. {
            if *now >= end {
                break;
            }
            let reads_runs = governor.reads_runs();
            let took = 1000 * MS / if reads_runs { reads.with } else { reads.without };
            *now += took;
            read_ahead += if reads_runs { took } else { 0 };
            let on_run = number % reads.one_in == 0;
            if on_run && reads_runs {
                governor.finished();
            }
            let is_brought = on_run && reads_runs && reads.one_in == 1;
            let (missed, brought) = if is_brought { (0, 16) } else { (16, 0) };
            governor.referenced(Time(*now), Referenced { missed, brought, on_run }, ONE_BY_ONE);
        }
        read_ahead / MS
    }

    #[test]
    fn a_scan_after_random_reads_does_not_await_the_end_of_the_rest() {
        let (mut governor, mut now) = (Governor::new(Time(0)), 0);
        read(&mut governor, &mut now, 60_000, LOOKUPS);
        assert!(governor.given_up, "there was nothing to gain");
        read(&mut governor, &mut now, 2_000, Reads { with: 4000, without: 400, one_in: 1 });
        assert!(!governor.given_up && governor.reads_runs());
    }

    #[test]
    fn a_scan_that_begins_within_a_trial_does_not_await_the_end_of_the_rest() {
        let scan = Reads { with: 4000, without: 400, one_in: 1 };
        for lookups_ms in (100..10_000).step_by(100) {
            let (mut governor, mut now) = (Governor::new(Time(0)), 0);
            read(&mut governor, &mut now, lookups_ms, LOOKUPS);
            read(&mut governor, &mut now, 4000, scan);
            assert!(!governor.given_up && governor.reads_runs(), "after {lookups_ms} ms");
        }
    }

    #[test]
    fn scans_that_are_harmed_between_random_reads_are_tried_no_more_than_twice_a_rest() {
        let (mut governor, mut now, mut read_ahead) = (Governor::new(Time(0)), 0, 0);
        let harmed = Reads { with: 500, without: 1000, one_in: 1 };
        read(&mut governor, &mut now, 60_000, LOOKUPS);
        for _ in 0..500 {
            read_ahead += read(&mut governor, &mut now, 1000, harmed);
            read_ahead += read(&mut governor, &mut now, 1000, LOOKUPS);
        }
        assert!(governor.given_up && read_ahead < 1_000_000 * 2 / RESTS, "{read_ahead} ms of 1,000,000");
    }
}
