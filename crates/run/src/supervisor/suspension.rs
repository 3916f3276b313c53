//! Whether reading ahead is worth its processor time. Where storage is fast, what it costs may be
//! more than what the program would have waited.
//!
//! What in two windows of time takes more of the processors than it saves programs ([`Savings`]) is
//! suspended for some time, or until they wait. Where that is not known, and the processors have
//! nothing to spare, it is tried: in some windows nothing is read ahead, in others it is, and what
//! the programs get done in them is compared. What gains too little is suspended, unless programs get
//! less done meanwhile. Either is for longer each time it is found again. Runs that share a
//! supervisor are judged together.
//!
//! A run that learns keeps what was found last with its profile, and for a day runs of the command
//! begin suspended, unless they wait: with a profile all is brought so soon that it takes longest to
//! find what misses would have cost.
//!
//! Worked example: `grep -r` over 26,600 files of 480 MiB on a disk that gives 400 MB/s, two
//! processors: 3.1 s, and 3.6 s with all of it read ahead, for which foresee takes 4.4 s of
//! processor time.

use std::time::{Duration, Instant};

use foldhash::HashMap;
use foresee_manager::Event;

use super::Supervisor;
use super::read::BLOCKS_A_CALL;
use super::savings::{Pays, Savings};
use crate::processors::{self, Busy};

/// How long what programs do is counted. The kernel counts what processors do in ticks of up to 10
/// ms.
const WINDOW: Duration = Duration::from_millis(40);
/// What is under way when a window begins, or what it left, is of the one before.
const SETTLING: Duration = Duration::from_millis(10);
/// The windows of a trial: whether it is read ahead, and whether they count. What comes first with
/// or without lives on what the windows before left. Who gets faster or slower by itself favours
/// neither.
const TRIAL: [(bool, bool); 5] = [(true, true), (false, false), (false, true), (true, false), (true, true)];
/// Reads and look-ups in a window below which it says nothing.
const DONE_MIN: f64 = 32.0;
/// Processors are short if less than this part of them was idle, while this part of them was ours.
const IDLE_MAX: f64 = 0.2;
const OWN_MIN: f64 = 0.2;
/// What must get done, for what would without.
const GAIN_MIN: f64 = 1.05;
/// What they must get done while it is suspended, for what they did with it: they may have lived on
/// what was there already, or come to slower storage.
const KEPT_MIN: f64 = 0.75;
/// What a window counts for in what they did of late.
const LATE_PART: f64 = 0.25;
/// Windows until it is tried again: at first, and at most.
const AGAIN: u32 = 64;
const AGAIN_MAX: u32 = 512;
/// Windows until it is looked at again where programs waited.
const TAKEN_UP: u32 = 16;
/// What so long without reading ahead shows that it gains so many times as much need not be tried
/// for longer: on slow storage a window without is lost.
const CLEAR_AFTER: Duration = Duration::from_millis(20);
const CLEAR_GAIN: f64 = 2.0;

enum Phase {
    /// It is read ahead. Nothing is looked at for so many windows more.
    Reading(u32),
    /// So many windows of a trial are over; what got done a second without it, and with it in the
    /// mean of those that count.
    Trying(usize, [f64; 2]),
    /// Nothing is read ahead for so many windows more.
    Suspended(u32, Unless),
}

/// What ends it before its time.
enum Unless {
    /// Programs get less done a second than the first number: the second is what they did of late.
    Slower([f64; 2]),
    /// They wait in much of the time for what they ask for.
    Waiting,
}

/// What is known of it.
pub(super) struct Suspension {
    phase: Phase,
    /// Windows after the next trial: if it gains, if it does not.
    again: [u32; 2],
    /// Calls of programs since the window began, long ones for more.
    done: f64,
    pub savings: Savings,
    /// In the last window it did not pay.
    was_in_vain: bool,
    began: Instant,
    has_settled: bool,
    /// What we had used of the processors when that was last looked at, and when.
    own: (Instant, Duration),
    busy: Option<Busy>,
    processors: f64,
    /// Whether it was suspended when that was told last, and for long.
    told: (bool, bool),
    /// Whether it was found not to pay, the last time that it was found to or not to.
    was_found: Option<bool>,
    /// How long it was suspended so far, and when each run began.
    pub suspended: Duration,
    before: HashMap<u32, Duration>,
}

impl Suspension {
    /// Of a run of a command of which earlier runs found that it does not pay, or of another.
    pub fn new(is_in_vain: bool) -> Self {
        Suspension {
            phase: if is_in_vain { Phase::Suspended(AGAIN, Unless::Waiting) } else { Phase::Reading(0) },
            again: [AGAIN; 2],
            done: 0.0,
            savings: Savings::new(),
            was_in_vain: false,
            began: Instant::now(),
            has_settled: false,
            own: (Instant::now(), processors::own()),
            busy: None,
            processors: processors::count() as f64,
            told: (false, false),
            was_found: None,
            suspended: Duration::ZERO,
            before: HashMap::default(),
        }
    }

    /// Whether it was found not to pay, or to pay; None if neither was.
    pub fn was_found_in_vain(&self) -> Option<bool> {
        self.was_found
    }

    /// Whether nothing is to be read ahead now.
    pub fn is_suspended(&self) -> bool {
        match self.phase {
            Phase::Reading(_) => false,
            Phase::Trying(at, _) => !TRIAL[at].0,
            Phase::Suspended(..) => true,
        }
    }

    /// The same, and no trial.
    fn is_suspended_for_long(&self) -> bool {
        matches!(self.phase, Phase::Suspended(..))
    }

    /// Whether nothing is read ahead until programs wait, or its time is over.
    pub fn is_suspended_until_waits(&self) -> bool {
        matches!(self.phase, Phase::Suspended(_, Unless::Waiting))
    }

    /// One of several runs begins: it may gain where those before did not.
    pub fn begin_run(&mut self, run: u32) {
        if self.is_suspended_for_long() {
            self.take_up();
        }
        self.before.insert(run, self.suspended);
    }

    /// One of several runs has ended: how long reading ahead was suspended for it.
    pub fn end_run(&mut self, run: u32) -> Duration {
        self.suspended - self.before.remove(&run).unwrap_or_default()
    }

    /// A program read so many blocks, or looked something up.
    pub fn done(&mut self, blocks: u64) {
        self.done += 1.0 + blocks as f64 / BLOCKS_A_CALL as f64;
    }

    /// What got done a second in the window that is over, if one is.
    fn over(&mut self) -> Option<f64> {
        let (now, took) = (Instant::now(), self.began.elapsed());
        if took < if self.has_settled { WINDOW } else { SETTLING } {
            return None;
        }
        if self.is_suspended_for_long() {
            self.suspended += took;
        }
        let pace = self.has_settled.then(|| self.done / took.as_secs_f64());
        (self.done, self.began, self.has_settled) = (0.0, now, !self.has_settled);
        pace
    }

    /// What we used of the processors since this was asked last, so long ago.
    fn used(&mut self) -> (Duration, Duration) {
        let (asked, before) = std::mem::replace(&mut self.own, (Instant::now(), processors::own()));
        (self.own.1 - before, self.own.0 - asked)
    }

    /// Whether what was read ahead in this time was worth what we used of the processors.
    fn pays(&mut self, used: Duration, within: Duration) -> Pays {
        if self.is_suspended_for_long() {
            self.savings.pass();
            return Pays::Perhaps;
        }
        let pays = self.savings.pay_for(used, within);
        if used.as_secs_f64() < OWN_MIN * within.as_secs_f64() { Pays::Perhaps } else { pays }
    }

    /// Whether the processors had nothing to spare since this was asked last, and we are why, who used
    /// so much of them.
    fn are_processors_short(&mut self, used: Duration, within: Duration) -> bool {
        if used.as_secs_f64() < OWN_MIN * self.processors * within.as_secs_f64() {
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
        matches!(self.phase, Phase::Trying(at, [_, with]) if !TRIAL[at].0
            && self.has_settled && took >= CLEAR_AFTER && pace() * CLEAR_GAIN < with)
    }

    /// A window is over, in which so much got done a second, and reading ahead paid or not.
    fn judge(&mut self, pace: f64, is_short: bool, pays: Pays) {
        let says_nothing = pace * WINDOW.as_secs_f64() < DONE_MIN;
        // In the first of them it is only being taken up.
        let is_in_vain = pays == Pays::Not && matches!(self.phase, Phase::Reading(0));
        if pays == Pays::Surely {
            self.again = [AGAIN; 2];
            self.was_found = Some(false);
        }
        let was_in_vain = std::mem::replace(&mut self.was_in_vain, is_in_vain);
        self.phase = match self.phase {
            _ if is_in_vain && was_in_vain => {
                self.was_in_vain = false;
                self.suspend(Unless::Waiting)
            }
            Phase::Reading(0) if is_short && pays == Pays::Perhaps && !says_nothing => Phase::Trying(0, [0.0; 2]),
            Phase::Reading(windows) => Phase::Reading(windows.saturating_sub(1)),
            Phase::Trying(..) if says_nothing => Phase::Reading(AGAIN),
            Phase::Trying(at, mut paces) => {
                let [without, with] = &mut paces;
                match TRIAL[at] {
                    (_, false) => {}
                    (false, true) => *without = pace,
                    (true, true) => *with = if at == 0 { pace } else { f64::midpoint(*with, pace) },
                }
                match at + 1 {
                    next if next < TRIAL.len() => Phase::Trying(next, paces),
                    _ => self.conclude(paces),
                }
            }
            Phase::Suspended(windows, ref unless) => {
                let (unless, ends) = match *unless {
                    Unless::Slower([least, of_late]) => {
                        // Files differ: one window says little.
                        let of_late = of_late + (pace - of_late) * LATE_PART;
                        let is_slower = of_late < least;
                        if is_slower {
                            self.was_found = Some(false);
                        }
                        (Unless::Slower([least, of_late]), is_slower)
                    }
                    Unless::Waiting => (Unless::Waiting, false),
                };
                match windows.checked_sub(1).filter(|_| !ends) {
                    Some(windows) => Phase::Suspended(windows, unless),
                    None => Phase::Reading(0),
                }
            }
        };
    }

    /// Whether it is suspended, and programs do little but wait.
    fn is_waited_for(&mut self, now: Instant) -> bool {
        self.savings.waits.are_long(now) && self.is_suspended_until_waits()
    }

    /// It was suspended, and should not have been.
    fn take_up(&mut self) {
        self.was_found = Some(false);
        self.again = [AGAIN; 2];
        self.phase = Phase::Reading(TAKEN_UP);
        self.savings.pass();
        self.savings.waits.pass();
        let _ = self.used();
        (self.done, self.began, self.has_settled) = (0.0, Instant::now(), false);
    }

    /// A trial is over.
    fn conclude(&mut self, [without, with]: [f64; 2]) -> Phase {
        if with >= GAIN_MIN * without {
            self.was_found = Some(false);
            Phase::Reading(self.windows(true))
        } else {
            self.suspend(Unless::Slower([KEPT_MIN * with, without]))
        }
    }

    fn suspend(&mut self, unless: Unless) -> Phase {
        self.was_found = Some(true);
        self.savings.waits.pass();
        Phase::Suspended(self.windows(false), unless)
    }

    /// Windows until it is looked at again, as it gains or does not: twice as many if it was so the
    /// last time.
    fn windows(&mut self, gains: bool) -> u32 {
        let [if_gains, if_not] = &mut self.again;
        let (windows, other) = if gains { (if_gains, if_not) } else { (if_not, if_gains) };
        *other = AGAIN;
        std::mem::replace(windows, (2 * *windows).min(AGAIN_MAX))
    }
}

impl Supervisor<'_> {
    /// Looks whether it is time to suspend reading ahead, or to take it up.
    pub(super) fn follow_suspension(&mut self) {
        // Where they tell nothing else.
        let waited = self.ring.duration(self.ring.region.take_waited_ticks());
        self.suspension.savings.waits.add_counted(waited);
        if self.suspension.gains_clearly() {
            // It may have been a lull: it is tried again as soon as the first time.
            self.suspension.phase = Phase::Reading(AGAIN);
            self.suspension.was_found = Some(false);
        } else if self.suspension.is_waited_for(Instant::now()) {
            self.suspension.take_up();
        } else if let Some(pace) = self.suspension.over() {
            let (used, within) = self.suspension.used();
            let pays = self.suspension.pays(used, within);
            let is_short = self.suspension.are_processors_short(used, within);
            self.suspension.judge(pace, is_short, pays);
        }
        let (suspended, long) = (self.suspension.is_suspended(), self.suspension.is_suspended_for_long());
        let (was_suspended, was_long) = std::mem::replace(&mut self.suspension.told, (suspended, long));
        if suspended != was_suspended {
            self.tell(Event::Suspend { suspended });
            // A trial is over before a walk runs out of what it has found.
            if was_long {
                self.quiet.walk_falls_behind();
            }
        }
        match (was_long, long) {
            (false, true) => self.withdraw_recorded(),
            (true, false) => self.resume_recorded(),
            _ => {}
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
            suspension.judge(if is_suspended { without } else { with }, !is_suspended, Pays::Perhaps);
        }
        suspended
    }

    #[test]
    fn what_costs_more_than_it_gains_is_suspended_for_most_of_the_time() {
        let mut suspension = Suspension::new(false);
        assert_eq!(suspended(&mut suspension, 6, [9000.0, 8000.0]), 2, "a trial of five");
        let of = suspended(&mut suspension, 1000, [9000.0, 8000.0]);
        assert!((930..1000).contains(&of), "{of} of 1000");
    }

    #[test]
    fn what_gains_goes_on_for_most_of_the_time() {
        let mut suspension = Suspension::new(false);
        let of = suspended(&mut suspension, 1000, [9000.0, 12000.0]);
        assert!((2..40).contains(&of), "{of} of 1000");
    }

    #[test]
    fn processors_that_have_time_to_spare_are_used() {
        let mut suspension = Suspension::new(false);
        for _ in 0..1000 {
            suspension.judge(8000.0, false, Pays::Perhaps);
            assert!(!suspension.is_suspended());
        }
    }

    #[test]
    fn what_does_not_pay_is_suspended_and_tried_again() {
        let mut suspension = Suspension::new(false);
        let mut reads_ahead = |windows: usize, pays: Pays| {
            let judged = (0..windows).map(|_| {
                suspension.judge(8000.0, false, pays);
                !suspension.is_suspended()
            });
            judged.filter(|&reads| reads).count()
        };
        assert_eq!(reads_ahead(100, Pays::Perhaps), 100);
        assert_eq!((reads_ahead(1, Pays::Not), reads_ahead(1, Pays::Surely)), (1, 1), "it is only being taken up");
        let of = reads_ahead(2000, Pays::Not);
        assert!((8..30).contains(&of), "{of} of 2000");
        assert!(reads_ahead(1024, Pays::Surely) >= 512, "no more than 512 windows are passed over");
    }

    #[test]
    fn a_run_that_is_known_begins_suspended_and_says_what_was_found_last() {
        let mut suspension = Suspension::new(true);
        assert!(suspension.is_suspended());
        suspension.judge(8000.0, false, Pays::Perhaps);
        assert_eq!((suspension.is_suspended(), suspension.was_found_in_vain()), (true, None));
        suspension.take_up();
        assert_eq!((suspension.is_suspended(), suspension.was_found_in_vain()), (false, Some(false)));
        (0..=TAKEN_UP + 1).for_each(|_| suspension.judge(8000.0, false, Pays::Not));
        assert_eq!((suspension.is_suspended(), suspension.was_found_in_vain()), (true, Some(true)));
    }

    #[test]
    fn it_is_taken_up_where_programs_wait() {
        let mut suspension = Suspension::new(false);
        (0..2).for_each(|_| suspension.judge(8000.0, false, Pays::Not));
        assert!(suspension.is_suspended());
        let later = Instant::now() + Duration::from_secs(1);
        assert!(!suspension.is_waited_for(later), "it is a second without");
        (0..25).for_each(|_| suspension.savings.faulted());
        assert!(!suspension.is_waited_for(later + 4 * WINDOW), "they did something else, too");
        assert!(suspension.is_waited_for(later + 2 * WINDOW));
        suspension.take_up();
        assert!(!suspension.is_suspended() && !suspension.is_waited_for(Instant::now()));
        (0..=TAKEN_UP).for_each(|_| suspension.judge(8000.0, false, Pays::Not));
        assert!(!suspension.is_suspended(), "the last of them is the first that counts");
        suspension.judge(8000.0, false, Pays::Not);
        assert!(suspension.is_suspended());
        assert_eq!(suspension.again[1], 2 * AGAIN, "as the first time");
    }

    #[test]
    fn what_a_trial_found_holds_for_a_time() {
        let mut suspension = Suspension::new(false);
        suspended(&mut suspension, 6, [9000.0, 12000.0]);
        assert!(matches!(suspension.phase, Phase::Reading(AGAIN)));
        (0..=AGAIN).for_each(|_| suspension.judge(8000.0, false, Pays::Not));
        assert!(!suspension.is_suspended());
    }

    #[test]
    fn what_surely_pays_is_not_tried() {
        let mut suspension = Suspension::new(false);
        for _ in 0..1000 {
            suspension.judge(8000.0, true, Pays::Surely);
            assert!(!suspension.is_suspended());
        }
    }

    #[test]
    fn programs_that_do_little_say_nothing() {
        let mut suspension = Suspension::new(false);
        assert_eq!(suspended(&mut suspension, 1000, [700.0, 600.0]), 0);
        suspended(&mut suspension, 2, [9000.0, 8000.0]);
        suspended(&mut suspension, 1, [100.0, 100.0]);
        assert!(!suspension.is_suspended(), "a trial is given up");
    }

    #[test]
    fn who_waits_again_is_read_ahead_for_again() {
        let mut suspension = Suspension::new(false);
        suspended(&mut suspension, 7, [9000.0, 8000.0]);
        assert!(suspension.is_suspended());
        suspension.judge(5000.0, false, Pays::Perhaps);
        assert!(suspension.is_suspended(), "one window may be of larger files");
        (0..3).for_each(|_| suspension.judge(1000.0, false, Pays::Perhaps));
        assert!(!suspension.is_suspended());
    }

    #[test]
    fn a_window_without_is_short_where_it_shows_at_once_what_it_costs() {
        let of = |done: f64| {
            let mut suspension = Suspension::new(false);
            suspended(&mut suspension, 2, [0.0, 9000.0]);
            assert!(suspension.is_suspended(), "a window without");
            suspension.began = Instant::now().checked_sub(Duration::from_secs(60)).unwrap();
            let at_first = suspension.gains_clearly();
            suspension.has_settled = true;
            suspension.done = done * suspension.began.elapsed().as_secs_f64();
            (at_first, suspension.gains_clearly())
        };
        assert_eq!(of(1000.0), (false, true));
        assert_eq!(of(8000.0), (false, false));
    }
}
