//! Whether reading ahead is worth its processor time. Where storage is fast and the processors have
//! nothing to spare, what it costs may be more than what the program would have waited.
//!
//! So then it is tried: in some windows of time nothing is read ahead, in others it is, and what
//! the programs get done in them is compared. What gains too little is suspended, for longer each
//! time it is found again.
//!
//! Worked example: `grep -r` over 26,600 files of 480 MiB on a disk that gives 400 MB/s, two
//! processors: 3.1 s, and 3.6 s with all of it read ahead, for which foresee takes 4.4 s of
//! processor time.

use std::time::{Duration, Instant};

use foresee_manager::Event;

use super::Supervisor;
use crate::processors::{self, Busy};

/// How long what programs do is counted. The kernel counts what processors do in ticks of up to 10
/// ms.
const WINDOW: Duration = Duration::from_millis(80);
/// What is under way when a window begins, or what it left, is of the one before.
const SETTLING: Duration = Duration::from_millis(20);
/// The windows of a trial, those with reading ahead true: who gets faster or slower by itself
/// favours neither.
const TRIAL: [bool; 4] = [true, false, false, true];
/// Reads and look-ups in a window below which it says nothing.
const DONE_MIN: f64 = 64.0;
/// Blocks of a read that are as much work as the call.
const BLOCKS_A_CALL: f64 = 16.0;
/// Processors are short if less than this part of them was idle, while this part of them was ours.
const IDLE_MAX: f64 = 0.2;
const OWN_MIN: f64 = 0.2;
/// What must get done, for what would without.
const GAIN_MIN: f64 = 1.05;
/// Windows until it is tried again: at first, and at most.
const AGAIN: u32 = 32;
const AGAIN_MAX: u32 = 256;
/// What so long without reading ahead shows that it gains so many times as much need not be tried
/// for longer: on slow storage a window without is lost.
const CLEAR_AFTER: Duration = Duration::from_millis(20);
const CLEAR_GAIN: f64 = 1.5;

enum Phase {
    /// It is read ahead. Nothing is looked at for so many windows more.
    Reading(u32),
    /// So many windows of a trial are over; what got done a second, without and with.
    Trying(usize, [f64; 2]),
    /// Nothing is read ahead for so many windows more, unless programs get less done than this.
    Suspended(u32, f64),
}

/// What is known of it.
pub(super) struct Suspension {
    phase: Phase,
    /// Windows after the next trial: if it gains, if it does not.
    again: [u32; 2],
    /// Calls of programs since the window began, long ones for more.
    done: f64,
    began: Instant,
    has_settled: bool,
    own: Duration,
    busy: Option<Busy>,
    /// Time without reading ahead so far.
    pub suspended: Duration,
}

impl Default for Suspension {
    fn default() -> Self {
        Suspension {
            phase: Phase::Reading(0),
            again: [AGAIN; 2],
            done: 0.0,
            began: Instant::now(),
            has_settled: false,
            own: processors::own(),
            busy: None,
            suspended: Duration::ZERO,
        }
    }
}

impl Suspension {
    /// Whether nothing is to be read ahead now.
    pub fn is_suspended(&self) -> bool {
        match self.phase {
            Phase::Reading(_) => false,
            Phase::Trying(at, _) => !TRIAL[at],
            Phase::Suspended(..) => true,
        }
    }

    /// A program read so many blocks, or looked something up.
    pub fn done(&mut self, blocks: u64) {
        self.done += 1.0 + blocks as f64 / BLOCKS_A_CALL;
    }

    /// What got done a second in the window that is over, if one is.
    fn over(&mut self) -> Option<f64> {
        let (now, took) = (Instant::now(), self.began.elapsed());
        if took < if self.has_settled { WINDOW } else { SETTLING } {
            return None;
        }
        if self.is_suspended() {
            self.suspended += took;
        }
        let pace = self.has_settled.then(|| self.done / took.as_secs_f64());
        (self.done, self.began, self.has_settled) = (0.0, now, !self.has_settled);
        pace
    }

    /// Whether the processors had nothing to spare since this was asked last, and we are why.
    fn are_processors_short(&mut self, within: Duration) -> bool {
        let own = processors::own();
        let ours = (own - std::mem::replace(&mut self.own, own)).as_secs_f64();
        if ours < OWN_MIN * within.as_secs_f64() * processors::count() as f64 {
            self.busy = None;
            return false;
        }
        let now = Busy::now();
        let before = std::mem::replace(&mut self.busy, now);
        let idle = now.zip(before).and_then(|(now, before)| now.idle_since(before));
        idle.is_some_and(|idle| idle < IDLE_MAX)
    }

    /// Whether it shows already that reading ahead gains much, by a window without.
    fn gains_clearly(&self) -> bool {
        let took = self.began.elapsed();
        let pace = || self.done / took.as_secs_f64();
        matches!(self.phase, Phase::Trying(at, [_, with]) if !TRIAL[at]
            && self.has_settled && took >= CLEAR_AFTER && pace() * CLEAR_GAIN < with)
    }

    /// A window is over, in which so much got done a second.
    fn judge(&mut self, pace: f64, is_short: bool) {
        let says_nothing = pace * WINDOW.as_secs_f64() < DONE_MIN;
        self.phase = match self.phase {
            Phase::Reading(0) if is_short && !says_nothing => Phase::Trying(0, [0.0; 2]),
            Phase::Reading(windows) => Phase::Reading(windows.saturating_sub(1)),
            Phase::Trying(..) if says_nothing => Phase::Reading(AGAIN),
            Phase::Trying(at, mut paces) => {
                paces[usize::from(TRIAL[at])] += pace;
                match at + 1 {
                    next if next < TRIAL.len() => Phase::Trying(next, paces),
                    // Each is the sum of two windows.
                    _ => self.conclude(paces[1] >= GAIN_MIN * paces[0], paces[0] / 2.0),
                }
            }
            // They wait for more by now.
            Phase::Suspended(_, least) if pace < least => Phase::Reading(0),
            Phase::Suspended(0, _) => Phase::Reading(0),
            Phase::Suspended(windows, least) => Phase::Suspended(windows - 1, least),
        };
    }

    /// A trial is over: whether reading ahead gains, and what gets done a second without.
    fn conclude(&mut self, gains: bool, without: f64) -> Phase {
        let windows = self.again[usize::from(!gains)];
        self.again[usize::from(!gains)] = (2 * windows).min(AGAIN_MAX);
        self.again[usize::from(gains)] = AGAIN;
        if gains { Phase::Reading(windows) } else { Phase::Suspended(windows, without / 2.0) }
    }
}

impl Supervisor<'_> {
    /// Looks whether it is time to suspend reading ahead, or to take it up.
    pub(super) fn follow_suspension(&mut self) {
        let was_suspended = self.suspension.is_suspended();
        if self.suspension.gains_clearly() {
            self.suspension.phase = self.suspension.conclude(true, 0.0);
        } else if let Some(pace) = self.suspension.over() {
            let is_short = self.suspension.are_processors_short(SETTLING + WINDOW);
            self.suspension.judge(pace, is_short);
        }
        let suspended = self.suspension.is_suspended();
        if suspended != was_suspended {
            self.tell(Event::Suspend { suspended });
            if !suspended {
                self.quiet.walk_falls_behind();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows in which programs do so much a second without reading ahead, and with; returns in
    /// how many it was suspended.
    fn suspended(suspension: &mut Suspension, windows: usize, [without, with]: [f64; 2]) -> usize {
        let mut suspended = 0;
        for _ in 0..windows {
            let is_suspended = suspension.is_suspended();
            suspended += usize::from(is_suspended);
            suspension.judge(if is_suspended { without } else { with }, !is_suspended);
        }
        suspended
    }

    #[test]
    fn what_costs_more_than_it_gains_is_suspended_for_most_of_the_time() {
        let mut suspension = Suspension::default();
        assert_eq!(suspended(&mut suspension, 5, [9000.0, 8000.0]), 2, "a trial of four");
        let of = suspended(&mut suspension, 1000, [9000.0, 8000.0]);
        assert!((930..1000).contains(&of), "{of} of 1000");
    }

    #[test]
    fn what_gains_goes_on_for_most_of_the_time() {
        let mut suspension = Suspension::default();
        let of = suspended(&mut suspension, 1000, [9000.0, 12000.0]);
        assert!((2..40).contains(&of), "{of} of 1000");
    }

    #[test]
    fn processors_that_have_time_to_spare_are_used() {
        let mut suspension = Suspension::default();
        for _ in 0..1000 {
            suspension.judge(8000.0, false);
            assert!(!suspension.is_suspended());
        }
    }

    #[test]
    fn programs_that_do_little_say_nothing() {
        let mut suspension = Suspension::default();
        assert_eq!(suspended(&mut suspension, 1000, [700.0, 600.0]), 0);
        suspended(&mut suspension, 2, [9000.0, 8000.0]);
        suspended(&mut suspension, 1, [100.0, 100.0]);
        assert!(!suspension.is_suspended(), "a trial is given up");
    }

    #[test]
    fn who_waits_again_is_read_ahead_for_again() {
        let mut suspension = Suspension::default();
        suspended(&mut suspension, 6, [9000.0, 8000.0]);
        assert!(suspension.is_suspended());
        suspension.judge(8000.0, false);
        assert!(suspension.is_suspended());
        suspension.judge(4000.0, false);
        assert!(!suspension.is_suspended());
    }

    #[test]
    fn a_window_without_is_short_where_it_shows_at_once_what_it_costs() {
        let of = |done: f64| {
            let mut suspension = Suspension::default();
            suspended(&mut suspension, 2, [0.0, 9000.0]);
            assert!(suspension.is_suspended(), "a window without");
            suspension.began = Instant::now() - CLEAR_AFTER;
            let at_first = suspension.gains_clearly();
            suspension.has_settled = true;
            suspension.done = done * suspension.began.elapsed().as_secs_f64();
            (at_first, suspension.gains_clearly())
        };
        assert_eq!(of(1000.0), (false, true));
        assert_eq!(of(8000.0), (false, false));
    }
}
