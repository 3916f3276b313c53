//! Reads: hits, late hits, misses, and who waits for what.

use super::*;

/// Of the memory, one part in so many goes in one request for what found no page: pages come free
/// by requests, and what waits for them is to be asked for while others are on their way.
const STARVED_PART: u64 = 16;
/// Blocks for which room is kept from one read to the next, to note what it misses.
const MISSED_KEPT: usize = 4096;

impl Manager {
    pub(super) fn reference(&mut self, access: &mut Access, first: Block, count: u64, out: &mut Vec<Action>) {
        self.missed.clear();
        self.missed.shrink_to(MISSED_KEPT);
        // Nearly always nothing is disclosed: what is not made need not be dropped.
        let mut moved = None;
        if self.hints.any_followed() {
            let moved = moved.insert(self.hints.read(
                access.reader,
                first,
                count,
                Holdings { files: &self.files, table: &self.table },
            ));
            self.pass_over(std::mem::take(&mut moved.passed));
        }
        let number = self.statistics.references;
        self.statistics.references += count;
        match access.demand {
            Demand::Observed | Demand::Timed { .. } => {
                let mut referenced = Referenced::default();
                for index in first.index..first.index + count {
                    // Changed in place: a copy waits until what was just written is in the cache.
                    access.hinted = moved.as_ref().and_then(|moved| moved.hinted(index));
                    access.next = self.next(number + (index - first.index));
                    self.observe(access, Block { index, ..first }, &mut referenced);
                }
                if let Demand::Timed { .. } = access.demand {
                    self.govern(first, referenced);
                }
                if count > 1 {
                    self.keep_what_came_back();
                }
            }
            Demand::Served(waiter) => self.serve(access, waiter, first, count, &moved.unwrap_or_default(), out),
        }
    }

    /// The next reference to the block of this one, if the future is known.
    fn next(&self, number: u64) -> Option<u64> {
        self.future.as_ref()?.next(number)
    }

    /// A read of several blocks may push out one that it comes to later, and bring it back. The
    /// program has done all that by now, and the host would drop what is here: such drops are
    /// taken back.
    fn keep_what_came_back(&mut self) {
        let table = &self.table;
        self.dropped.retain(|&block| table.find(block).is_none());
    }

    /// A hit on a page that is here.
    pub(super) fn hit(&mut self, access: &mut Access, page: Page) {
        self.statistics.hits += 1;
        access.first = self.table.state(page).is_unread();
        if access.first {
            self.settle_read(page, |outcomes| outcomes.timely += 1);
            self.table.set_state(page, State::Cached);
        }
        self.policy.referenced(page, &context!(self), access);
    }

    /// An unread page met its reader.
    pub(super) fn settle_read(&mut self, page: Page, outcome: impl FnOnce(&mut Outcomes)) {
        let frame = *self.table.frame(page);
        if frame.ahead {
            outcome(self.outcomes_of(frame.sequence));
        }
        if frame.sequence != NO_SEQUENCE {
            let was_fetched = frame.ahead && frame.phase != Phase::Queued;
            self.fetch_ended(page, was_fetched.then_some(true));
            self.hints.page_read(frame.sequence, frame.passed);
        }
        self.clear_hint(page);
    }

    /// An unread page will not meet its reader.
    pub(super) fn settle_unread(&mut self, page: Page, how: Unread) {
        let frame = *self.table.frame(page);
        if !frame.ahead && frame.sequence == NO_SEQUENCE {
            return;
        }
        if frame.ahead {
            let outcomes = self.outcomes_of(frame.sequence);
            match how {
                Unread::Wasted | Unread::Withdrawn => outcomes.wasted += 1,
                Unread::Cancelled => outcomes.cancelled += 1,
            }
        }
        if frame.sequence != NO_SEQUENCE {
            let was_wasted = frame.ahead && how == Unread::Wasted;
            self.fetch_ended(page, was_wasted.then_some(false));
            self.hints.page_gone(frame.sequence, frame.passed, how != Unread::Cancelled);
        }
        self.clear_hint(page);
    }

    /// What was fetched for a sequence was of use or not, if that is known.
    fn fetch_ended(&mut self, page: Page, of_use: Option<bool>) {
        if let Some(of_use) = of_use {
            let (sequence, device) = (self.table.frame(page).sequence, context!(self).device_of(page));
            self.hints.fetch_ended(sequence, device, of_use);
        }
    }

    pub(super) fn clear_hint(&mut self, page: Page) {
        let frame = self.table.frame_mut(page);
        frame.ahead = false;
        frame.passed = false;
        self.table.set_sequence(page, NO_SEQUENCE);
    }

    pub(super) fn outcomes_of(&mut self, sequence: u16) -> &mut Outcomes {
        let source = self.hints.sequence(sequence).map_or(Source::Readahead, |sequence| sequence.source);
        &mut self.statistics.ahead[source as usize]
    }

    fn miss(&mut self, block: Block) {
        self.statistics.misses += 1;
        self.missed.push(block);
    }

    /// A block the program reads by itself.
    pub(super) fn observe(&mut self, access: &mut Access, block: Block, referenced: &mut Referenced) {
        let Some(page) = self.table.find_after(self.last_read, block) else {
            self.miss(block);
            referenced.missed += 1;
            if self.nature.keeps && self.take_frame(false, Need::by(block, access)) {
                let page = self.table.insert(block, State::Cached, Phase::Present);
                self.last_read = page;
                self.table.frame_mut(page).read = true;
                self.taken(page, Some(access));
                referenced.on_run = referenced.on_run || self.is_sequential(page);
                self.policy.arrived(page, &context!(self), Some(access));
            }
            return;
        };
        self.last_read = page;
        self.table.frame_mut(page).read = true;
        match self.table.frame(page).phase {
            Phase::Present => {
                self.hit(access, page);
                referenced.brought += u64::from(access.first);
            }
            Phase::Queued => {
                // The reader was faster than our queue: its own read brings the block.
                self.miss(block);
                referenced.missed += 1;
                self.dispatch.withdraw(block);
                self.settle_read(page, |outcomes| outcomes.cancelled += 1);
                self.table.frame_mut(page).phase = Phase::Present;
                self.table.set_state(page, State::Cached);
                self.awaited(page, access);
                referenced.on_run = referenced.on_run || self.is_sequential(page);
                self.policy.arrived(page, &context!(self), Some(access));
            }
            Phase::InFlight => {
                referenced.brought += u64::from(self.table.state(page).is_unread());
                self.late_hit(page);
                self.awaited(page, access);
                let readers = self.waiting.entry(page).or_default();
                if readers.is_empty() {
                    readers.push(*access);
                }
            }
        }
    }

    /// A reader came while the block was in flight (I3: it waits for that fetch).
    pub(super) fn late_hit(&mut self, page: Page) {
        self.statistics.late_hits += 1;
        if self.table.state(page).is_unread() {
            self.settle_read(page, |outcomes| outcomes.late += 1);
            self.table.set_state(page, State::Demand);
        }
    }

    /// Blocks the manager is to have fetched for a waiting reader. Neighbours to be fetched go in
    /// one request.
    pub(super) fn serve(
        &mut self,
        access: &Access,
        waiter: WaiterId,
        first: Block,
        count: u64,
        moved: &Moved,
        out: &mut Vec<Action>,
    ) {
        let before = self.pending.insert(waiter.0, Pending { remaining: count, outcome: Outcome::Ready });
        debug_assert!(before.is_none(), "a waiter waits once: {waiter}");
        let mut run: Option<(Block, u64)> = None;
        for index in first.index..first.index + count {
            let block = Block { index, ..first };
            let next = self.next(self.statistics.references - count + (index - first.index));
            let mut access = Access { hinted: moved.hinted(index), next, ..*access };
            if !self.serve_block(&mut access, waiter, block, out) {
                continue;
            }
            run = self.after(run, block, u64::MAX, out);
        }
        self.send_demand(run, out);
    }

    /// Sees to one block of a request. Returns whether the request is to fetch it.
    pub(super) fn serve_block(
        &mut self,
        access: &mut Access,
        waiter: WaiterId,
        block: Block,
        out: &mut Vec<Action>,
    ) -> bool {
        let Some(page) = self.table.find_after(self.last_read, block) else {
            self.miss(block);
            if self.take_frame(true, Need::by(block, access)) {
                self.await_demand(block, access);
                return true;
            }
            self.statistics.starved += 1;
            self.starved.push_back((block, *access));
            return false;
        };
        self.last_read = page;
        self.table.frame_mut(page).read = true;
        match self.table.frame(page).phase {
            Phase::Present => {
                self.hit(access, page);
                self.delivered(waiter, Outcome::Ready, out);
                false
            }
            Phase::Queued => {
                // No device was asked yet: it becomes a demand fetch (000 section 4.8).
                self.miss(block);
                self.dispatch.withdraw(block);
                self.settle_read(page, |outcomes| outcomes.cancelled += 1);
                self.table.frame_mut(page).phase = Phase::InFlight;
                self.table.set_state(page, State::Demand);
                self.awaited(page, access);
                self.wait_for(page, *access);
                true
            }
            Phase::InFlight => {
                self.late_hit(page);
                self.awaited(page, access);
                self.wait_for(page, *access);
                false
            }
        }
    }

    pub(super) fn await_demand(&mut self, block: Block, access: &Access) {
        let page = self.table.insert(block, State::Demand, Phase::InFlight);
        self.last_read = page;
        self.table.frame_mut(page).read = true;
        self.taken(page, Some(access));
        self.wait_for(page, *access);
    }

    /// The run with one more block to be fetched; if that is no neighbour, or the run is as long as
    /// it may be, it is sent, and another begins.
    fn after(
        &mut self,
        run: Option<(Block, u64)>,
        block: Block,
        blocks_max: u64,
        out: &mut Vec<Action>,
    ) -> Option<(Block, u64)> {
        let goes_on = |first: Block, count| first.file == block.file && first.index + count == block.index;
        match run {
            Some((first, count)) if goes_on(first, count) && count < blocks_max => Some((first, count + 1)),
            before => {
                self.send_demand(before, out);
                Some((block, 1))
            }
        }
    }

    pub(super) fn send_demand(&mut self, run: Option<(Block, u64)>, out: &mut Vec<Action>) {
        if let Some((first, count)) = run {
            self.statistics.demand_fetches +=
                self.dispatch.demand(self.now, self.home_of(first.file), first, count, out);
        }
    }

    /// One block of a waiting request is settled.
    pub(super) fn delivered(&mut self, waiter: WaiterId, outcome: Outcome, out: &mut Vec<Action>) {
        let Some(pending) = self.pending.get_mut(&waiter.0) else { return };
        pending.remaining -= 1;
        if outcome == Outcome::Failed {
            pending.outcome = Outcome::Failed;
        }
        if pending.remaining == 0 {
            out.push(Action::Reply(Reply::Wake { waiter, outcome: pending.outcome }));
            self.pending.remove(&waiter.0);
        }
    }

    /// A block is settled for all who read it.
    pub(super) fn deliver(&mut self, readers: &[Access], outcome: Outcome, out: &mut Vec<Action>) {
        for access in readers {
            if let Demand::Served(waiter) = access.demand {
                self.delivered(waiter, outcome, out);
            }
        }
    }

    /// Nobody waits with this request any more. What is on its way for it comes all the same.
    pub(super) fn abandoned(&mut self, waiter: WaiterId) {
        let Some(Pending { remaining, .. }) = self.pending.remove(&waiter.0) else { return };
        self.abandoned += remaining;
        // Each is passed over in its turn; whatever holds that up, there are never more of them than others.
        if self.abandoned > self.starved.len() as u64 / 2 {
            self.abandoned = 0;
            let pending = &self.pending;
            self.starved.retain(|(_, access)| access.demand.waiter().is_some_and(|it| pending.contains_key(&it.0)));
        }
    }

    /// One more waits for a page that is on its way. Who gave up may have asked for it again and
    /// again, and is forgotten when there are twice as many.
    fn wait_for(&mut self, page: Page, access: Access) {
        let readers = self.waiting.entry(page).or_default();
        if readers.len() == readers.capacity() {
            let pending = &self.pending;
            readers.retain(|it| it.demand.waiter().is_none_or(|waiter| pending.contains_key(&waiter.0)));
            readers.reserve(readers.len() + 1);
        }
        readers.push(access);
    }

    /// Whether somebody waits for what this asks for.
    pub(super) fn is_waited_for(&self, access: &Access) -> bool {
        access.demand.waiter().is_some_and(|waiter| self.pending.contains_key(&waiter.0))
    }

    /// What came free goes to those that found no frame, in their order, and neighbours in one
    /// request: of a read longer than memory, nearly all is fetched here.
    pub(super) fn feed_starved(&mut self, out: &mut Vec<Action>) {
        let mut run = None;
        let blocks_max = self.capacity.div_ceil(STARVED_PART);
        while let Some(&(block, access)) = self.starved.front() {
            match self.table.find(block) {
                _ if !self.is_waited_for(&access) => {}
                Some(page) if self.table.frame(page).phase == Phase::Present => {
                    self.deliver(&[access], Outcome::Ready, out);
                }
                Some(page) => {
                    debug_assert!(self.table.state(page) == State::Demand, "I4: fetched ahead while demand starves");
                    self.awaited(page, &access);
                    self.wait_for(page, access);
                }
                None if self.take_frame(true, Need::by(block, &access)) => {
                    self.await_demand(block, &access);
                    run = self.after(run, block, blocks_max, out);
                }
                None => break,
            }
            self.starved.pop_front();
        }
        self.send_demand(run, out);
    }
}
