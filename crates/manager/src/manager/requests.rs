//! Requests for what waits to be fetched ahead, and what comes along with them: gaps that are read
//! over, and on an arm, to which a request is dear, what lies behind and is told to be read later.
//!
//! ```text
//! comes along:  a block within the gap that the arm reads over in any case, if a sequence that was never wrong discloses it,
//!               and it is worth more than the page that goes for it, by the same price (told.rs)
//! but not:      what is used only when half of the memory has come in anew: it would go before, for what is used sooner
//! at most:      a quarter of the memory for one request: it may be told of what is nearer a moment later
//! ```
//!
//! Of a gap that is read over, what there is room for gets pages, as some of it may be read. An arm
//! passes over the rest: to have it under the head takes no memory. Refused for want of pages, the
//! gap costs a turn of the arm just when memory is full, as it nearly always is.
//!
//! What comes along counts as guessed, and in nobody's window: a sequence that was never wrong, and is
//! being read, is taken at its word. Who stops reading has pages that are worth nothing.
//!
//! Without it, whoever reads in turn what lies side by side, told all of it, has a request for each
//! block: as pages come free one by one, so do the blocks that are used next.
//!
//! Worked example: sorted runs of 1,000 blocks, eight at a time, are merged by 1,600 pages. Each page
//! that was read makes room for one block, of one of the runs: 18,500 requests, and 86 s on a disk.
//! With what lies behind that and is used before half of the memory has come in anew, 1,200 and 6 s.

use super::*;

/// Of the memory, one block in so many may be on its way that nobody asked for.
const READ_OVER_PART: u64 = 16;

/// Of the memory, one block in so many may come along with a request. (With 2 to 32, what is told
/// takes as long in the mean, to a part in 150; two files read in turn four times as long with 8.)
const ALONG_PART: u64 = 4;
/// What is used when one block in so many of the memory has come in anew is too far off. (With 1,
/// told readers side by side may take 1.2 times as long; with 4, all take 1.006 in the mean.)
const REACH_PART: u64 = 2;
/// So many references say how much comes in, at least.
const REFERENCES_MIN: u64 = 64;

/// How many blocks come in for each reference.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turnover {
    /// References and blocks so far, when it was measured last.
    references: u64,
    brought: u64,
    blocks: f64,
}

impl Default for Turnover {
    /// Nothing is in memory at first.
    fn default() -> Self {
        Turnover { references: 0, brought: 0, blocks: 1.0 }
    }
}

impl Turnover {
    /// The references until so many blocks will have come in, by those of the last so many, after so
    /// many of both so far.
    fn references_for(&mut self, blocks: u64, (references, brought): (u64, u64)) -> f64 {
        let since = references - self.references;
        if since >= blocks.max(REFERENCES_MIN) {
            let blocks = brought.saturating_sub(self.brought) as f64 / since as f64;
            *self = Turnover { references, brought, blocks };
        }
        blocks as f64 / self.blocks
    }
}

/// The blocks behind a request, so many.
fn gap_behind(flight: &Flight, gap: u64) -> impl Iterator<Item = Block> + use<> {
    let first = Block { index: flight.end(), ..flight.first };
    (first.index..first.index + gap).map(move |index| Block { index, ..first })
}

impl Manager {
    /// Sends what waits to the devices that may take it.
    pub(super) fn send_waiting(&mut self, out: &mut Vec<Action>) {
        let names = self.hints.names_awaited();
        for device in self.dispatch.devices() {
            while let Some(mut flight) = self.dispatch.next_run(self.now, device, names) {
                while let Some(gap) = self.dispatch.gap_behind(&flight, self.nature.runs_go_over_gaps)
                    && self.read_over(&mut flight, gap, 0)
                {}
                self.take_along(&mut flight);
                self.statistics.ahead_fetches += 1;
                for block in flight.blocks() {
                    if let Some(page) = self.table.find(block) {
                        self.table.frame_mut(page).phase = Phase::InFlight;
                    }
                }
                self.dispatch.send(self.now, flight, out);
            }
        }
    }

    /// Has a request go over the gap behind it, because the blocks on both sides of it go in one
    /// request. What has a page already is passed over. What has none, and nobody asked for, gets
    /// one if it can: such are few beside the memory, and what is not read while it is on its way
    /// stays only where there is room, beside so many more. Without room it is passed over on an
    /// arm, which reads it in any case. Returns whether the request goes over the gap.
    fn read_over(&mut self, flight: &mut Flight, gap: u64, more: u64) -> bool {
        if !self.may_go_over(flight, gap) {
            return false;
        }
        let missing: Vec<Block> = gap_behind(flight, gap).filter(|&block| self.table.find(block).is_none()).collect();
        let brings = self.takes_in(flight, &missing, more);
        if !brings && !self.dispatch.passes_over(flight.device) {
            return false;
        }
        // What had a page may have none by now: it went for those that had none, and is passed over nevertheless.
        self.dispatch.read_over(flight, gap, |block| !brings || missing.binary_search(&block).is_err());
        true
    }

    /// Whether nothing of the gap behind a request waits for one of its own, nor has a page where
    /// none may be passed over.
    fn may_go_over(&self, flight: &Flight, gap: u64) -> bool {
        let passes = |page| self.table.frame(page).phase != Phase::Queued && self.dispatch.passes_over(flight.device);
        gap_behind(flight, gap).all(|block| self.table.find(block).is_none_or(passes))
    }

    /// Takes frames for blocks that this request reads over, if there is room for them and so many
    /// more.
    fn takes_in(&mut self, flight: &Flight, missing: &[Block], more: u64) -> bool {
        let Some(&first) = missing.first() else { return true };
        let count = missing.len() as u64;
        let is_little = (self.read_over_now + count) * READ_OVER_PART <= self.capacity;
        if !self.leaves_frame(flight.brings() + count + more) || !is_little {
            return false;
        }
        let need = Need { value: 0.0, ..Need::of(first) };
        while self.table.used() + count + more > self.capacity {
            // What somebody will read is worth more than what nobody asked for, whatever the policy says of
            // either.
            let goes = self.policy.candidate(&context!(self), need).map(|it| self.table.state(it.page));
            if goes.is_none_or(State::is_unread) || !self.evict(need) {
                return false;
            }
        }
        missing.iter().for_each(|&block| self.bring_beside(block));
        self.read_over_now += count;
        self.statistics.read_over += count;
        true
    }

    /// Has a request for an arm bring what lies behind it and is read later.
    fn take_along(&mut self, flight: &mut Flight) {
        if !self.dispatch.passes_over(flight.device) || self.is_suspended {
            return;
        }
        let ahead = self.statistics.ahead.iter().map(|it| it.fetched.saturating_sub(it.cancelled));
        let until_now = (self.statistics.references, self.statistics.misses + ahead.sum::<u64>());
        let reach = self.turnover.references_for(self.capacity / REACH_PART, until_now);
        let most = flight.brings() + (self.capacity / ALONG_PART).max(1);
        while flight.brings() < most
            && self.leaves_frame(flight.brings() + 1)
            && let Some((gap, value)) = self.wanted_behind(flight, reach)
        {
            let need = Need { value, ..Need::of(Block { index: flight.end() + gap, ..flight.first }) };
            if !self.may_go_over(flight, gap) || !self.take_frame(false, need) {
                return;
            }
            let goes = self.read_over(flight, gap, 1);
            assert!(goes, "an arm goes over any gap that it may go over");
            self.bring_beside(Block { index: flight.end(), ..flight.first });
            self.dispatch.take_along(flight);
        }
    }

    /// How far behind a request the next block lies that is to come along, and what it is worth.
    fn wanted_behind(&mut self, flight: &Flight, reach: f64) -> Option<(u64, f64)> {
        // For what is worth no more than what no page goes for, none does either.
        let mut too_little = f64::NEG_INFINITY;
        for gap in 0..=self.dispatch.gap_max(flight)? {
            let block = Block { index: flight.end() + gap, ..flight.first };
            if self.table.find(block).is_some() {
                continue;
            }
            let Some(value) = self.policy.hints()?.worth_along(block, reach, &context!(self)) else { continue };
            let need = Need { value, ..Need::of(block) };
            if self.table.used() < self.capacity || value > too_little && self.would_evict(need) {
                return Some((gap, value));
            }
            too_little = too_little.max(value);
        }
        None
    }

    /// A frame was taken for this block, which comes with what was asked for.
    fn bring_beside(&mut self, block: Block) {
        let page = self.table.insert(block, State::Guessed, Phase::InFlight);
        self.table.frame_mut(page).ahead = true;
        self.taken(page, None);
        self.statistics.ahead[Source::Readahead as usize].fetched += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_in_is_measured_over_so_many_references() {
        let mut turnover = Turnover::default();
        assert_eq!(turnover.references_for(100, (50, 10)), 100.0, "one for each at first");
        assert_eq!(turnover.references_for(100, (100, 25)), 400.0);
        assert_eq!(turnover.references_for(100, (150, 75)), 400.0, "not yet");
        assert_eq!(turnover.references_for(100, (200, 125)), 100.0);
        assert_eq!(turnover.references_for(100, (300, 125)), f64::INFINITY, "all is here");
    }
}
