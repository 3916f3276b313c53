//! What reading ahead saves programs of their time, beside the processor time it takes. Of names and
//! blocks that were brought, and of those that were not, it is known how long programs took to look
//! them up and to read them.
//!
//! Worked example: `grep -r` over 28,000 files on a disk that answers in 15 us: the first read of a
//! file that nobody brought takes 20 us, and others 3 to 15. The first 2,500 files take foresee
//! 80 ms of processor time and save 10 to 40 ms.

use std::time::Duration;

use foresee_manager::{Counted, FileId, Lookup};

use super::waits::Waits;

/// Calls that found nothing, from which on it is known what they cost; and from which on what is
/// far more than that is known to be so.
const MISSED_MIN: f64 = 32.0;
const MISSED_MIN_TO_PAY: f64 = 4.0;
/// What is known of them counts for so much after each question, and for so many at most: where nearly
/// all is brought in time there are few, but they may be of other storage by then.
const KEPT: f64 = 0.5;
const KEPT_MAX: f64 = 16.0;
/// So many times what it takes surely pays.
const SURELY: f64 = 2.0;
/// Calls that found what was brought, without which it is not known whether it will be of use: it
/// may be of what comes later.
const BROUGHT_MIN: f64 = 4.0;
/// Programs that wait for a device in so much of the time, and so long at least, want more of it
/// brought and not less.
const WAITED_PART: u32 = 4;
const WAITED_MIN: Duration = Duration::from_millis(10);
/// A page fault that waited did so for a millisecond, say: how long is not told.
const FAULT: Duration = Duration::from_millis(1);
/// What it takes to copy a block, on an idle machine. It is not waited for.
const COPY: Duration = Duration::from_nanos(300);
/// Devices whose reads are told apart: to miss what is in memory says nothing of a network.
const DEVICES_MAX: usize = 16;

/// Whether reading ahead saved more than it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pays {
    /// Twice as much, at least.
    Surely,
    /// It may have, or nobody knows.
    Perhaps,
    /// It did not.
    Not,
}

/// So many, and what they took together.
#[derive(Debug, Clone, Copy, Default)]
struct Calls {
    count: f64,
    seconds: f64,
}

impl Calls {
    fn add(&mut self, took: Duration) {
        self.count += 1.0;
        self.seconds += took.as_secs_f64();
    }

    fn mean(self) -> f64 {
        self.seconds / self.count.max(1.0)
    }
}

/// How a call found what it asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Timely,
    Late,
    Missed,
}

/// The calls of one kind since it was asked last what they say.
#[derive(Debug, Default)]
struct Kind {
    timely: Calls,
    late: Calls,
    missed: Calls,
}

impl Kind {
    fn add(&mut self, found: Found, took: Duration) {
        let calls = match found {
            Found::Timely => &mut self.timely,
            Found::Late => &mut self.late,
            Found::Missed => &mut self.missed,
        };
        calls.add(took);
    }

    /// The seconds that were saved; None if so few were missed that nobody knows.
    fn saved(&self, missed_min: f64) -> Option<f64> {
        let of = |calls: Calls| calls.count * (self.missed.mean() - calls.mean()).max(0.0);
        let is_known = self.missed.count >= missed_min || self.brought() == 0.0;
        is_known.then(|| of(self.timely) + of(self.late))
    }

    /// Calls that found what was brought.
    fn brought(&self) -> f64 {
        self.timely.count + self.late.count
    }

    /// It was asked what they say.
    fn begin_anew(&mut self) {
        let Calls { count, seconds } = self.missed;
        let kept = KEPT.min(KEPT_MAX / count.max(1.0));
        *self = Kind { missed: Calls { count: kept * count, seconds: kept * seconds }, ..Kind::default() };
    }
}

/// What the calls of programs say.
#[derive(Debug)]
pub(super) struct Savings {
    names: Kind,
    /// Of each device.
    reads: Vec<(u64, Kind)>,
    /// By number, whether a file was looked up before.
    was_named: Vec<bool>,
    /// What calls took that waited for a device.
    waited: Duration,
    /// The same, of late.
    pub waits: Waits,
}

impl Savings {
    /// Nothing is known yet.
    pub fn new() -> Self {
        Savings {
            names: Kind::default(),
            reads: Vec::new(),
            was_named: Vec::new(),
            waited: Duration::ZERO,
            waits: Waits::new(),
        }
    }

    /// A program looked a name up, in so long, which it waited for a device or not.
    pub fn looked_up(&mut self, file: FileId, lookup: Lookup, took: Duration, waited: bool) {
        let number = file.0 as usize;
        if number >= self.was_named.len() {
            self.was_named.resize(number + 1, false);
        }
        if !std::mem::replace(&mut self.was_named[number], true) {
            let found = match lookup {
                Lookup::Done => Found::Timely,
                Lookup::UnderWay => Found::Late,
                Lookup::Unasked => Found::Missed,
            };
            self.names.add(found, took);
            self.notice_wait(found, took, waited);
        }
    }

    /// A program read so many blocks of a file on this device, some of which it had not read before.
    pub fn read(&mut self, device: u64, blocks: u64, counted: Counted, took: Duration, waited: bool) {
        let found = match counted {
            Counted { misses: 0, late_hits: 0, .. } => Found::Timely,
            Counted { misses: 0, .. } => Found::Late,
            _ => Found::Missed,
        };
        let known = self.reads.iter().position(|&(it, _)| it == device);
        let at = known.unwrap_or_else(|| {
            if self.reads.len() < DEVICES_MAX {
                self.reads.push((device, Kind::default()));
            }
            self.reads.len() - 1
        });
        let copying = COPY.saturating_mul(u32::try_from(blocks).unwrap_or(u32::MAX));
        self.reads[at].1.add(found, took.saturating_sub(copying));
        self.notice_wait(found, took, waited);
    }

    /// A program touched blocks that are mapped, and waited for them.
    pub fn faulted(&mut self) {
        self.wait(FAULT);
    }

    fn notice_wait(&mut self, found: Found, took: Duration, waited: bool) {
        if found != Found::Timely && waited {
            self.wait(took);
        }
    }

    fn wait(&mut self, took: Duration) {
        self.waited += took;
        self.waits.add(took);
    }

    /// Whether programs did little but wait, in the time since it was asked last what they say.
    fn is_waited(&self, within: Duration) -> bool {
        self.waited >= WAITED_MIN && self.waited * WAITED_PART >= within
    }

    /// Whether it pays, by what was done since this was asked last, so long ago, and the processor time
    /// we took meanwhile.
    pub fn pay_for(&mut self, own: Duration, within: Duration) -> Pays {
        let own = own.as_secs_f64();
        let kinds = || self.reads.iter().map(|(_, kind)| kind).chain([&self.names]);
        let sum = |of: fn(&Kind) -> f64| kinds().map(of).sum::<f64>();
        let surely: f64 = kinds().filter_map(|it| it.saved(MISSED_MIN_TO_PAY)).sum();
        let saved = kinds().map(|it| it.saved(MISSED_MIN)).sum::<Option<f64>>();
        let is_known = sum(|it| it.missed.count) >= MISSED_MIN && sum(Kind::brought) >= BROUGHT_MIN;
        let pays = if surely >= SURELY * own {
            Pays::Surely
        } else if is_known && !self.is_waited(within) && saved.is_some_and(|saved| saved < own) {
            Pays::Not
        } else {
            Pays::Perhaps
        };
        self.pass();
        pays
    }

    /// What was done until now is not asked about.
    pub fn pass(&mut self) {
        self.names.begin_anew();
        self.reads.iter_mut().for_each(|(_, kind)| kind.begin_anew());
        self.waited = Duration::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: u64 = 3;
    const WITHIN: Duration = Duration::from_millis(50);
    const TIMELY: Counted = Counted { hits: 1, late_hits: 0, misses: 0 };
    const LATE: Counted = Counted { hits: 3, late_hits: 1, misses: 0 };
    const MISSED: Counted = Counted { hits: 2, late_hits: 1, misses: 1 };

    fn micros(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    fn read(savings: &mut Savings, times: u32, counted: Counted, took: Duration) {
        (0..times).for_each(|_| savings.read(DEVICE, 1, counted, took + COPY, took >= micros(100)));
    }

    #[test]
    fn what_saves_less_than_it_takes_does_not_pay() {
        let of = |own| {
            let mut savings = Savings::new();
            read(&mut savings, 100, TIMELY, micros(5));
            read(&mut savings, 100, LATE, micros(10));
            read(&mut savings, 32, MISSED, micros(15));
            savings.pay_for(own, WITHIN)
        };
        // 100 times 10 us, and 100 times 5 us.
        assert_eq!([749, 751, 1499, 1501].map(micros).map(of), [Pays::Surely, Pays::Perhaps, Pays::Perhaps, Pays::Not]);
    }

    #[test]
    fn what_is_never_missed_costs_what_it_cost_before() {
        let mut savings = Savings::new();
        read(&mut savings, 9, MISSED, micros(1000));
        assert_eq!(savings.pay_for(micros(100), WITHIN), Pays::Perhaps, "nothing was brought, of few");
        read(&mut savings, 1000, TIMELY, micros(5));
        assert_eq!(savings.pay_for(micros(100_000), WITHIN), Pays::Surely);
        read(&mut savings, 1000, TIMELY, micros(5));
        assert_eq!(savings.pay_for(micros(100_000), WITHIN), Pays::Perhaps, "that was long ago");
        assert_eq!(savings.pay_for(micros(100_000), WITHIN), Pays::Perhaps, "nothing was done");
    }

    #[test]
    fn where_programs_wait_more_is_to_be_brought() {
        let of = |waiting| {
            let mut savings = Savings::new();
            read(&mut savings, 4, TIMELY, micros(5));
            read(&mut savings, waiting, MISSED, micros(2500));
            read(&mut savings, 100 - waiting, MISSED, micros(5));
            (savings.is_waited(WITHIN), savings.pay_for(micros(40_000), WITHIN), savings.is_waited(WITHIN))
        };
        assert_eq!([3, 4].map(of), [(false, Pays::Not, false); 2]);
        assert_eq!([5, 90].map(of), [(true, Pays::Perhaps, false); 2]);
        let mut savings = Savings::new();
        read(&mut savings, 3, MISSED, micros(3000));
        assert!(!savings.is_waited(micros(9000)), "a moment says little");
    }

    #[test]
    fn what_was_brought_and_not_read_yet_may_still_be() {
        let of = |timely| {
            let mut savings = Savings::new();
            read(&mut savings, 100, MISSED, micros(5));
            read(&mut savings, timely, TIMELY, micros(5));
            savings.pay_for(micros(40_000), WITHIN)
        };
        assert_eq!([0, 3, 4].map(of), [Pays::Perhaps, Pays::Perhaps, Pays::Not]);
    }

    #[test]
    fn what_is_missed_on_one_device_says_nothing_of_another() {
        let mut savings = Savings::new();
        savings.read(DEVICE + 1, 1, MISSED, micros(1000), true);
        read(&mut savings, 1000, MISSED, micros(5));
        (0..100).for_each(|_| savings.read(DEVICE + 1, 256, TIMELY, micros(100), false));
        assert_eq!(savings.pay_for(micros(20_000), WITHIN), Pays::Perhaps, "it missed one");
        (0..3 * MISSED_MIN as u64).for_each(|_| savings.read(DEVICE + 1, 1, MISSED, micros(1000), true));
        (0..100).for_each(|_| savings.read(DEVICE + 1, 256, TIMELY, micros(100), false));
        assert_eq!(savings.pay_for(micros(20_000), WITHIN), Pays::Surely);
    }

    #[test]
    fn who_waits_for_pages_waits() {
        let mut savings = Savings::new();
        (0..13).for_each(|_| savings.faulted());
        assert!(savings.is_waited(WITHIN));
    }

    #[test]
    fn names_save_as_reads_do_the_first_time_they_are_looked_up() {
        let mut savings = Savings::new();
        for number in 0..100 {
            let lookup = if number < 40 { Lookup::Unasked } else { Lookup::Done };
            let took = if number < 40 { micros(5000) } else { micros(1) };
            savings.looked_up(FileId(number), lookup, took, number < 40);
            // To look it up once more would have cost nothing anyway.
            savings.looked_up(FileId(number), Lookup::Unasked, micros(1), false);
        }
        assert_eq!(savings.pay_for(micros(140_000), WITHIN), Pays::Surely);
    }
}
