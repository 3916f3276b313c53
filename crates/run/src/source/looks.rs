//! How often something is looked at that tells nothing by itself: soon while something goes on, and
//! never for more than a share of a processor.

use std::time::{Duration, Instant};

/// A look waits for at least so many times what looks of its kind take: 2 % of a processor.
const SHARE: u32 = 50;
/// What one takes, to begin with. One that took longer than all before says little: something else
/// may have had the processor.
const COST_FIRST: Duration = Duration::from_micros(20);
const COST_GROWTH: u32 = 4;
/// How soon it is looked again where something was going on, and where nothing was for long.
const SOON: Duration = Duration::from_millis(1);
pub(super) const LATE: Duration = Duration::from_millis(64);

/// Looks of one kind: when the next is due, how long that is after the last one at least, and what
/// one takes of a processor.
pub(super) struct Looks {
    due: Instant,
    pause: Duration,
    cost: Duration,
    began: Duration,
}

impl Looks {
    /// None was made yet, and the first is due.
    pub fn new() -> Self {
        Looks { due: Instant::now(), pause: SOON, cost: COST_FIRST, began: Duration::ZERO }
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
        let took = processor_time().saturating_sub(self.began);
        self.pause = if is_busy { SOON } else { (self.pause * 2).min(LATE) };
        self.cost = took.min(self.cost * COST_GROWTH).max(COST_FIRST);
        self.due = Instant::now() + self.pause.max(self.cost * SHARE);
    }

    /// Something is going on: the next one is made as soon as it may be.
    pub fn hurry(&mut self) {
        self.pause = SOON;
        self.due = self.due.min(Instant::now() + SOON.max(self.cost * SHARE));
    }
}

/// What this thread has had of a processor.
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills the time in.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
