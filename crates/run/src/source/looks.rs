//! How often something is looked at that tells nothing by itself: soon while something goes on,
//! never for more than a share of a processor, and seldom where nothing has been going on for long.

use std::time::{Duration, Instant};

/// A look waits for at least so many times what looks of its kind take: 2 % of a processor.
const SHARE: u32 = 50;
/// What one takes, to begin with. One that took longer than all before says little: something else
/// may have had the processor.
const COST_FIRST: Duration = Duration::from_micros(20);
const COST_GROWTH: u32 = 4;
/// How soon it is looked again where something was going on, and where nothing was.
const SOON: Duration = Duration::from_millis(1);
pub(super) const LATE: Duration = Duration::from_millis(64);
/// Where nothing was for long, what begins then is seen later by such a part of that time.
const QUIET_PART: u32 = 100;
/// But never later than this.
pub(super) const LATEST: Duration = Duration::from_secs(2);

/// Looks of one kind: when the next is due, how long that is after the last one at least, and what
/// one takes of a processor.
pub(super) struct Looks {
    due: Instant,
    pause: Duration,
    latest: Duration,
    cost: Duration,
    began: Duration,
    /// Since when nothing was found.
    quiet_since: Instant,
    /// The last was not made.
    pub(super) is_passed: bool,
}

impl Looks {
    /// None was made yet, and the first is due. Where nothing is found they are never further apart
    /// than `latest`, unless one takes long.
    pub fn new(latest: Duration) -> Self {
        let (due, began) = (Instant::now(), Duration::ZERO);
        Looks { due, pause: SOON, latest, cost: COST_FIRST, began, quiet_since: due, is_passed: false }
    }

    /// How long until the next is due.
    pub fn due_in(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// One begins.
    pub fn begin(&mut self) {
        self.began = processor_time();
    }

    /// It is over, and found something or nothing.
    pub fn end(&mut self, is_busy: bool) {
        let (took, now) = (processor_time().saturating_sub(self.began), Instant::now());
        if is_busy || std::mem::take(&mut self.is_passed) {
            self.quiet_since = now;
        }
        self.pause = if is_busy { SOON } else { self.pause_after(now - self.quiet_since) };
        self.cost = took.min(self.cost * COST_GROWTH).max(COST_FIRST);
        self.due = now + self.pause.max(self.cost * SHARE);
    }

    /// The first of these, which has begun, is not made after all, nor is the next of the other:
    /// nobody has done anything by which there could be something to be found.
    pub fn pass([begun, other]: [&mut Self; 2]) {
        let (took, now) = (processor_time().saturating_sub(begun.began), Instant::now());
        for looks in [begun, other] {
            looks.is_passed = true;
            looks.pause = looks.pause_after(now - looks.quiet_since);
            looks.due = now + looks.pause.max(took * SHARE);
        }
    }

    /// After one that found nothing, nor did those before for so long.
    fn pause_after(&self, quiet: Duration) -> Duration {
        (self.pause * 2).min(LATE.max((quiet / QUIET_PART).min(self.latest)))
    }

    /// Something is going on: the next one is made as soon as it may be.
    pub fn hurry(&mut self) {
        (self.pause, self.quiet_since) = (SOON, Instant::now());
        self.due = self.due.min(Instant::now() + SOON.max(self.cost * SHARE));
    }

    /// Something is going on that may be of no concern here: it is soon looked whether it is.
    pub fn rouse(&mut self) {
        if self.is_passed {
            self.due = self.due.min(Instant::now() + LATE);
        }
    }
}

/// What this thread has had of a processor.
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills the time in.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many looks are made in so long a time in which nothing is found.
    fn looks_in(quiet: Duration, latest: Duration) -> u32 {
        let (mut looks, mut at, mut made) = (Looks::new(latest), Duration::ZERO, 0);
        while at < quiet {
            looks.pause = looks.pause_after(at);
            at += looks.pause;
            made += 1;
        }
        made
    }

    #[test]
    fn what_is_quiet_for_long_is_looked_at_seldom() {
        let minute = Duration::from_secs(60);
        assert!(looks_in(minute, LATEST) < 400);
        assert!((30..40).contains(&(looks_in(61 * minute, LATEST) - looks_in(60 * minute, LATEST))));
        assert!((900..1000).contains(&looks_in(minute, LATE)));
    }

    #[test]
    fn what_is_not_made_says_nothing_of_what_one_takes() {
        let mut looks = Looks::new(LATEST);
        looks.cost = Duration::from_millis(10);
        looks.begin();
        Looks::pass([&mut looks, &mut Looks::new(LATEST)]);
        assert!(looks.is_passed && looks.cost == Duration::from_millis(10));
        // Somebody has done something: it is looked as often as at first.
        looks.pause = LATEST;
        looks.begin();
        looks.end(false);
        assert!(!looks.is_passed && looks.pause <= LATE);
    }
}
