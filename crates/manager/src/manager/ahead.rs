//! Hints, and the fetches ahead that they lead to.

use super::*;

impl Manager {
    pub(super) fn hint(&mut self, reader: ReaderId, source: Source, file: FileId, want: Want) {
        self.statistics.hints += 1;
        if !self.hints.disclose(reader, source, file, want, self.trust) {
            self.statistics.refused += 1;
        }
    }

    pub(super) fn named(&mut self, reader: ReaderId, file: FileId) {
        if self.hints.any_open() {
            let files = &self.files;
            let known = |file: FileId| files.get(file.0 as usize).copied().unwrap_or(Known::Unknown);
            let passed = self.hints.named(reader, file, known);
            self.pass_over(passed);
        }
    }

    /// The cursor left these behind: their pages stay until they age out, but hold nothing of the window.
    pub(super) fn pass_over(&mut self, passed: Vec<Passed>) {
        for Passed { sequence, file, first, count } in passed {
            for index in first..first + count {
                let Some(page) = self.table.find(Block { file, index }) else { continue };
                let frame = self.table.frame_mut(page);
                if frame.sequence == sequence && !frame.passed {
                    frame.passed = true;
                    self.hints.page_passed(sequence);
                }
            }
        }
    }

    pub(super) fn cancel(&mut self, reader: ReaderId, source: Option<Source>) {
        let ending = self.hints.of_reader(reader, source);
        if ending.is_empty() {
            return;
        }
        if self.hints.pages_of(&ending) > 0 {
            let speaks = |&page: &Page| ending.contains(&self.table.frame(page).sequence);
            let pages: Vec<Page> = self.table.pages().filter(speaks).collect();
            for page in pages {
                match self.table.frame(page).phase {
                    Phase::Queued => self.withdraw(self.table.block(page)),
                    Phase::InFlight => self.settle_unread(page, Unread::Wasted),
                    Phase::Present => {
                        self.settle_unread(page, Unread::Wasted);
                        self.table.set_state(page, State::Cached);
                    }
                }
            }
        }
        self.hints.clear(&ending);
    }

    /// Follows the disclosed sequences as far as policy, window and queues allow.
    pub(super) fn read_ahead(&mut self, out: &mut Vec<Action>) {
        for _ in 0..STEPS_MAX {
            if !self.policy.may_fetch_ahead(self.ledger()) {
                return;
            }
            let files = &self.files;
            let known = |file: FileId| files.get(file.0 as usize).copied().unwrap_or(Known::Unknown);
            let Some(step) = self.hints.peek(known) else { return };
            match step {
                Step::Lookup { file, .. } => {
                    if self.known(file) == Known::Unknown {
                        self.set_known(file, Known::LookingUp);
                        self.statistics.lookups += 1;
                        out.push(Action::Lookup { file });
                    }
                    self.hints.taken(step, false);
                }
                Step::Block { into, block, home, .. } if self.dispatch.leaves_run(home, block, into) => {
                    self.hints.leave(step)
                }
                Step::Block { sequence, block, home, .. } => match self.fetch_ahead(sequence, block, home, out) {
                    Some(unread) => self.hints.taken(step, unread),
                    None => return,
                },
            }
        }
    }

    /// Takes a frame for a fetch ahead, but never the last one that demand could take (I4).
    pub(super) fn take_frame_ahead(&mut self, out: &mut Vec<Action>) -> bool {
        let (queued, in_flight) = self.dispatch.load();
        queued + in_flight + self.table.count(State::Pinned) + 1 < self.capacity && self.take_frame(false, out)
    }

    /// Sees to one disclosed block. Returns whether it is now out and unread; None if it must wait for
    /// a frame or a place in the queue.
    pub(super) fn fetch_ahead(
        &mut self,
        sequence: u16,
        block: Block,
        home: Home,
        out: &mut Vec<Action>,
    ) -> Option<bool> {
        let source = self.hints.sequence(sequence)?.source;
        let class = source.class();
        if let Some(page) = self.table.find(block) {
            let free_to_count = self.table.can_go(page) && !self.table.state(page).is_unread();
            let counted = free_to_count && self.policy.disclosed(page, &self.table) == Disclosed::Counted;
            if counted {
                self.table.set_state(page, State::unread(class));
                self.table.frame_mut(page).sequence = sequence;
            }
            return Some(counted);
        }
        if !self.dispatch.has_room(home, block) || !self.take_frame_ahead(out) {
            return None;
        }
        let page = self.table.insert(block, State::unread(class), Phase::Queued);
        let frame = self.table.frame_mut(page);
        frame.ahead = true;
        frame.sequence = sequence;
        self.statistics.ahead[source as usize].fetched += 1;
        self.dispatch.enqueue(home, block, class);
        Some(true)
    }

    /// Sends what waits to the devices that may take it.
    pub(super) fn send_waiting(&mut self, out: &mut Vec<Action>) {
        for device in self.dispatch.devices() {
            let (table, statistics) = (&mut self.table, &mut self.statistics);
            self.dispatch.pump(self.now, device, out, |first, count| {
                statistics.ahead_fetches += 1;
                for index in first.index..first.index + count {
                    if let Some(page) = table.find(Block { index, ..first }) {
                        table.frame_mut(page).phase = Phase::InFlight;
                    }
                }
            });
        }
    }
}
