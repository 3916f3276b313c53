//! Fetches that came to their end, well or not.

use super::*;

impl Manager {
    pub(super) fn fetch_done(&mut self, fetch: FetchId, out: &mut Vec<Action>) {
        let Some(flight) = self.dispatch.finished(self.now, fetch) else { return };
        self.read_over_now -= flight.read_over;
        for block in flight.blocks() {
            let Some(page) = self.table.find(block) else { continue };
            if self.table.frame(page).stale {
                self.refetch_or_forget(page, out);
            } else if flight.read_over > 0 && self.is_of_no_use(page) {
                self.settle_unread(page, Unread::Wasted);
                self.lost(page);
                self.table.remove(page);
                self.dropped.push(block);
            } else {
                self.arrived(page, out);
            }
        }
        self.shrink();
    }

    /// Whether a page that came with what was wanted is of no use: nobody asked for it, nobody does
    /// now, and there is no room to spare.
    fn is_of_no_use(&self, page: Page) -> bool {
        let frame = self.table.frame(page);
        let was_asked_for = !frame.ahead || frame.sequence != NO_SEQUENCE;
        let is_wanted = || self.standing(self.table.block(page)).is_to_come();
        !was_asked_for && self.table.used() >= self.capacity && !is_wanted()
    }

    pub(super) fn arrived(&mut self, page: Page, out: &mut Vec<Action>) {
        let frame = self.table.frame_mut(page);
        debug_assert!(frame.phase == Phase::InFlight, "I3: a block arrived that was not in flight");
        frame.phase = Phase::Present;
        let wanted = frame.state.is_unread() && frame.ahead;
        if !wanted {
            self.table.set_state(page, State::Cached);
        }
        // The first reference that asked for it, if one did, is the one that brought it.
        let readers = self.waiting.remove(&page).unwrap_or_default();
        self.policy.arrived(page, &context!(self), readers.first());
        self.deliver(&readers, Outcome::Ready, out);
        if !wanted && !self.nature.keeps {
            self.give_up(page);
        }
    }

    pub(super) fn fetch_failed(&mut self, fetch: FetchId, out: &mut Vec<Action>) {
        let Some(flight) = self.dispatch.finished(self.now, fetch) else { return };
        self.read_over_now -= flight.read_over;
        self.statistics.failed_fetches += 1;
        for block in flight.blocks() {
            let Some(page) = self.table.find(block) else { continue };
            if flight.class == Class::Demand && flight.count == 1 && !self.table.frame(page).stale {
                // I7: exactly the readers of this block see the error.
                let readers = self.waiting.remove(&page).unwrap_or_default();
                self.lost(page);
                self.table.remove(page);
                self.deliver(&readers, Outcome::Failed, out);
            } else {
                self.refetch_or_forget(page, out);
            }
        }
        self.shrink();
    }

    /// A fetch brought nothing that may be kept: who waits for it gets a demand fetch of its own
    /// (I7), else it is forgotten.
    pub(super) fn refetch_or_forget(&mut self, page: Page, out: &mut Vec<Action>) {
        let is_waited_for = |readers: &Vec<Access>| readers.iter().any(|access| self.is_waited_for(access));
        if self.waiting.get(&page).is_some_and(is_waited_for) {
            self.table.frame_mut(page).stale = false;
            self.send_demand(Some((self.table.block(page), 1)), out);
        } else {
            self.waiting.remove(&page);
            self.settle_unread(page, Unread::Cancelled);
            self.lost(page);
            self.table.remove(page);
        }
    }
}
