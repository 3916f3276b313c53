//! Frames: taken, given up, pinned, and kept within the capacity.

use super::*;

impl Manager {
    /// Makes sure there is a frame to take for what is needed. A demand may take one from a fetch
    /// ahead that waits in our queue (I5).
    pub(super) fn take_frame(&mut self, demand: bool, need: Need) -> bool {
        if self.table.used() < self.capacity {
            return true;
        }
        if !self.evict(need)
            && demand
            && let Some(block) = self.dispatch.last_waiting()
        {
            self.withdraw(block);
        }
        self.table.used() < self.capacity
    }

    /// Whether the policy has a page that would go for this.
    pub(super) fn would_evict(&mut self, need: Need) -> bool {
        self.policy.weigh(&context!(self), need);
        self.policy.candidate(&context!(self), need).is_some_and(|it| it.worth < need.value)
    }

    /// Gives up the policy's candidate, if it has one that is worth less than what is needed.
    pub(super) fn evict(&mut self, need: Need) -> bool {
        self.policy.weigh(&context!(self), need);
        let Some(Candidate { page, worth, price }) = self.policy.candidate(&context!(self), need) else { return false };
        let goes = worth < need.value;
        let judged =
            if self.explains { self.policy.reports().and_then(|it| it.judged(page, &context!(self))) } else { None };
        if price.is_finite() || judged.is_some() {
            let Need { missing, value: needed, .. } = need;
            self.weighed.push(Weighed { block: self.table.block(page), worth: price, missing, needed, goes, judged });
        }
        if !goes {
            return false;
        }
        self.policy.evicting(page, &context!(self), need);
        if self.takes_advice {
            self.revoked.extend(self.policy.advice().and_then(|advised| advised.revoked()));
        }
        self.statistics.evictions += 1;
        self.give_up(page);
        true
    }

    /// Gives up a page that is here.
    pub(super) fn give_up(&mut self, page: Page) {
        debug_assert!(self.table.can_go(page), "I2: only pages that are here and free of views go");
        let overdue_for = match self.policy.hints() {
            Some(hinted) => hinted.overdue_for(page, &context!(self)),
            None => None,
        };
        self.settle_unread(page, Unread::Wasted);
        self.policy.left(page, &context!(self));
        let block = self.table.remove(page);
        self.forgo(block, overdue_for);
        self.dropped.push(block);
    }

    /// A block is not here any more: what is disclosed of it is to be fetched again, but for its first use by the
    /// sequence for which it came too early.
    fn forgo(&mut self, block: Block, overdue_for: Option<u16>) {
        if self.nature.refetches && self.hints.any_open() {
            self.hints.forgo(block, self.files.of(block.file), overdue_for);
        }
    }

    /// Asks for what the event at hand gave up, by place and neighbours together: policies give
    /// pages up in any order, and each call of a host's system costs as much as some hundred
    /// pages. It comes before all else the event led to, for what was given up may be fetched
    /// again.
    pub(super) fn ask_for_drops(&mut self, out: &mut Vec<Action>) {
        self.dropped.sort_unstable_by_key(|block| block.key());
        let led_to = out.len();
        for block in self.dropped.drain(..) {
            match out[led_to..].last_mut() {
                Some(Action::Order(Order::Drop { file, first, count }))
                    if *file == block.file && *first + *count == block.index =>
                {
                    *count += 1;
                }
                _ => out.push(Action::Order(Order::Drop { file: block.file, first: block.index, count: 1 })),
            }
        }
        if led_to > self.begun {
            let drops = out.len() - led_to;
            out[self.begun..].rotate_right(drops);
        }
    }

    /// Blocks are not here after all. Nothing is dropped: there is nothing to drop.
    pub(super) fn gone(&mut self, first: Block, count: u64) {
        for index in first.index..first.index + count {
            if let Some(page) = self.table.find(Block { index, ..first }).filter(|&page| self.table.can_go(page)) {
                self.statistics.gone += 1;
                self.statistics.gone_unread += u64::from(self.table.frame(page).ahead);
                self.settle_unread(page, Unread::Wasted);
                self.policy.left(page, &context!(self));
                let block = self.table.remove(page);
                self.forgo(block, None);
            }
        }
    }

    /// Takes back a fetch ahead no device was asked for yet.
    pub(super) fn withdraw(&mut self, block: Block) {
        self.dispatch.withdraw(block);
        if let Some(page) = self.table.find(block) {
            self.settle_unread(page, Unread::Cancelled);
            self.lost(page);
            self.table.remove(page);
            self.forgo(block, None);
        }
    }

    pub(super) fn set_capacity(&mut self, pages: u64) {
        self.capacity = pages.clamp(1, PAGES_MAX);
        self.shrink();
    }

    /// Gives up pages while there are more than may be; what is in flight goes when it arrives.
    pub(super) fn shrink(&mut self) {
        while self.table.used() > self.capacity {
            if let Some(block) = self.dispatch.last_waiting() {
                self.withdraw(block);
            } else if !self.evict(Need::LESS) {
                return;
            }
        }
    }

    pub(super) fn pinned(&mut self, view: ViewId, block: Block) {
        if let Some(page) = self.table.find(block).filter(|_| self.is_present(block)) {
            if self.table.state(page).is_unread() {
                self.settle_read(page, |outcomes| outcomes.timely += 1);
            }
            self.table.set_state(page, State::Pinned);
            self.views.entry(block.key()).or_default().push(view);
        }
    }

    /// A view was given back; if it was of bytes that the file no longer has, the page it held is
    /// another's by now.
    pub(super) fn released(&mut self, view: ViewId, block: Block) {
        let Some(views) = self.views.get_mut(&block.key()) else { return };
        let Some(at) = views.iter().position(|&held| held == view) else { return };
        views.swap_remove(at);
        if views.is_empty() {
            self.views.remove(&block.key());
            if let Some(page) = self.table.find(block) {
                self.table.set_state(page, State::Cached);
            }
            self.shrink();
        }
    }
}
