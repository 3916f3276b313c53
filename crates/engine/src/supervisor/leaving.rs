//! Programs that unmount a file system wait until nothing is open here: a file that we read ahead from would keep it busy.

use std::time::{Duration, Instant};

use super::Supervisor;

/// What a fetch takes on a slow device, many times over. Who has waited so long goes on; the file system may be busy then.
const WAIT_MAX: Duration = Duration::from_millis(500);
/// From the answer until the program has unmounted: a wait of its own (0.1 ms), a system call, and being scheduled.
const GRACE: Duration = Duration::from_millis(20);

/// Who waits for nothing to be open, or was told so a moment ago.
#[derive(Default)]
pub(super) struct Leaving {
    /// Slots and tickets.
    waiting: Vec<(u32, u32)>,
    since: Option<Instant>,
    answered: Option<Instant>,
}

impl Supervisor<'_> {
    /// A process is about to unmount something.
    pub(super) fn leave(&mut self, slot: Option<u32>, ticket: u32) {
        let Some(slot) = slot else { return };
        self.leaving.waiting.push((slot, ticket));
        self.leaving.since.get_or_insert_with(Instant::now);
        self.host.pause(true);
    }

    /// Answers those who wait, once nothing is open here, and begins anew when they have unmounted.
    pub(super) fn answer_who_unmounts(&mut self) {
        let is_late = self.leaving.since.is_some_and(|since| since.elapsed() > WAIT_MAX);
        if !self.leaving.waiting.is_empty() && (is_late || self.host.is_still()) {
            for (slot, ticket) in self.leaving.waiting.drain(..) {
                if let Some(process) = self.region.process(slot) {
                    process.answer(ticket, Ok(0));
                }
            }
            self.leaving.since = None;
            self.leaving.answered = Some(Instant::now());
        }
        let is_over = self.leaving.answered.is_some_and(|answered| answered.elapsed() > GRACE);
        if self.leaving.waiting.is_empty() && is_over {
            self.leaving.answered = None;
            self.host.pause(false);
        }
    }
}
