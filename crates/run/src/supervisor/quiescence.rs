//! Programs that unmount a file system or set a lease wait until nothing is open here: a file that
//! we read ahead from would keep the file system busy, and to open one would break its lease.

use std::time::{Duration, Instant};

use super::Supervisor;

/// What a fetch takes on a slow device, many times over. Who has waited so long goes on; a file may
/// be open then.
const WAIT_MAX: Duration = Duration::from_millis(500);
/// From the answer until the program has done it: a wait of its own (0.1 ms), a system call, and
/// being scheduled where much else runs.
const GRACE: Duration = Duration::from_millis(100);

/// Who waits for nothing to be open, or was told so a moment ago.
#[derive(Default)]
pub(super) struct Quiescence {
    /// Slots and tickets.
    waiting: Vec<(u32, u32)>,
    since: Option<Instant>,
    answered: Option<Instant>,
}

impl Supervisor<'_> {
    /// A process is about to do what an open file would be in the way of.
    pub(super) fn quiesce(&mut self, slot: Option<u32>, ticket: u32) {
        let Some(slot) = slot else { return };
        self.quiescence.waiting.push((slot, ticket));
        self.quiescence.since.get_or_insert_with(Instant::now);
        self.driver.host.pause(true);
    }

    /// Answers those who wait, once nothing is open here, and begins anew when they have done it.
    pub(super) fn answer_who_quiesces(&mut self) {
        let is_late = self.quiescence.since.is_some_and(|since| since.elapsed() > WAIT_MAX);
        if !self.quiescence.waiting.is_empty() && (is_late || self.driver.host.is_still()) {
            for (slot, ticket) in self.quiescence.waiting.drain(..) {
                if let Some(process) = self.ring.region.process(slot) {
                    process.answer(ticket, Ok(0));
                }
            }
            self.quiescence.since = None;
            self.quiescence.answered = Some(Instant::now());
        }
        let is_over = self.quiescence.answered.is_some_and(|answered| answered.elapsed() > GRACE);
        if self.quiescence.waiting.is_empty() && is_over {
            self.quiescence.answered = None;
            self.driver.host.pause(false);
        }
    }
}
