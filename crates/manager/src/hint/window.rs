//! How much of what a source discloses may be out and unread: it earns more by coming true, and
//! loses it by being wrong.

use super::Trust;
use super::accuracy::Accuracy;
use super::disclosures::{Disclosures, FLAWLESS_ODDS};
use super::evidence::Evidence;
use crate::event::Source;
use crate::ids::DeviceId;

/// Blocks that a window grows by for each that came true.
pub const WINDOW_GROWTH: u64 = 4;
/// The same while hardly anything disclosed was passed over. Every filling is a sweep of a hard
/// disk's arm, and the first ones bring little: with four, a database of 15,000 pages read in
/// random order takes five, with sixteen three.
pub const WINDOW_GROWTH_FLAWLESS: u64 = 16;
/// So many blocks must have come true until hardly anything is known to be wrong. Where several read
/// together, entries are passed over when as many more were read (`lane::RECENT`); of long ones that
/// is far more blocks than these, and until then what the foremost left out counts as wrong.
const FLAWLESS_MIN: u64 = 2 * FLAWLESS_ODDS;

/// What is in no order grows a window by one for each block that comes true, and by four for each
/// that lies far beyond what was looked at: what lies before that may come to be read as well. But
/// by that it has no more than sixteen blocks for each that came true of those that were looked at:
/// a reader that reads 1 % of a large set here and there shall not have the set brought.
pub const WINDOW_GROWTH_BEYOND: u64 = 4;
const BEYOND_FOR_EACH: u64 = 16;

/// What may be out, unread, and what is.
struct Allowance {
    /// The greatest number: it has no bound.
    size: u64,
    /// Issued, and neither read nor passed over.
    unread: u64,
}

impl Allowance {
    fn earn(&mut self, more: u64) {
        self.size = self.size.saturating_add(more);
    }

    /// So many were wrong. Even the largest is gone after some 3,000 of them.
    fn proved_wrong(&mut self, wrong: u64) {
        for _ in 0..wrong {
            if !self.shrink(self.size / 64 + 1) {
                break;
            }
        }
    }

    /// Full trust has no bound.
    fn is_unbounded(&self) -> bool {
        self.size == u64::MAX
    }

    /// Returns whether any of it is left to shrink.
    fn shrink(&mut self, less: u64) -> bool {
        if self.is_unbounded() {
            return false;
        }
        self.size = self.size.saturating_sub(less);
        self.size > 0
    }

    /// Some are unread no longer. A count that went below zero would close the window for good.
    fn settle(&mut self, some: u64) {
        debug_assert!(self.unread >= some, "something is settled twice");
        self.unread = self.unread.saturating_sub(some);
    }
}

pub(crate) struct Window {
    blocks: Allowance,
    names: Allowance,
    /// What is in no order is fetched in sweeps: once it is full it rests until less than half of what may be out is. Of a
    /// sweep an arm brings each block the sooner the more there are; of two at a time each takes as long as the read that it
    /// saves.
    in_sweeps: bool,
    rests: bool,
    /// What it began with.
    first: u64,
    /// Of what is in no order: blocks that came true of those looked at, and what those beyond
    /// earned.
    near: u64,
    beyond: u64,
    /// Blocks that are likely to be passed over, while it is not known how many are.
    left_out: u64,
    pub accuracy: Accuracy,
    pub(super) disclosures: Disclosures,
    /// What speaks for it, and against it, of each device.
    pub evidence: Evidence,
}

impl Window {
    pub fn new(source: Source, trust: Trust) -> Self {
        let size = match trust {
            Trust::Full => u64::MAX,
            Trust::Earned { initial_blocks } => source.first_window(initial_blocks),
        };
        let allowance = || Allowance { size, unread: 0 };
        Window {
            blocks: allowance(),
            names: allowance(),
            in_sweeps: !source.is_ordered(),
            rests: false,
            first: size,
            near: 0,
            beyond: 0,
            left_out: 0,
            accuracy: Accuracy::default(),
            disclosures: Disclosures::default(),
            evidence: Evidence::default(),
        }
    }

    /// What what is in no order earned beside.
    fn beyond(&self) -> u64 {
        self.beyond.min(BEYOND_FOR_EACH * self.near).max(self.evidence.by_part())
    }

    /// Whether no more blocks may be out.
    pub fn is_full(&self) -> bool {
        let size = self.size();
        self.blocks.unread >= if self.rests { size.div_ceil(2) } else { size }
    }

    /// Its reader goes on in order from some place: what is out elsewhere, and may never be read, does not hold that up.
    pub fn follow(&mut self) {
        (self.in_sweeps, self.rests) = (false, false);
    }

    fn size(&self) -> u64 {
        self.blocks.size.saturating_add(self.beyond())
    }

    /// Whether one more block of a device may be out.
    pub fn has_room(&self, device: DeviceId) -> bool {
        !self.is_full() && (self.blocks.is_unbounded() || self.evidence.allows(device, self.first))
    }

    /// Whether one more name may be looked up, where so many that lead to blocks are on their way.
    pub fn admits(&self, names: u64) -> bool {
        names.max(self.names.unread) < self.names.size.saturating_add(self.beyond())
    }

    /// How likely what is disclosed is to be read, from 0 to 1. What may fetch nothing holds
    /// nothing either.
    pub fn confidence(&self) -> f64 {
        if self.blocks.size == 0 { 0.0 } else { self.accuracy.confidence() }
    }

    /// Whether hardly anything disclosed was passed over so far, by blocks and by disclosures.
    pub fn is_hardly_wrong(&self) -> bool {
        self.few_blocks_are_wrong() && self.disclosures.are_hardly_wrong()
    }

    fn few_blocks_are_wrong(&self) -> bool {
        let (came_true, passed_over) = self.accuracy.telling;
        (passed_over + self.left_out).saturating_mul(FLAWLESS_ODDS) <= came_true
    }

    /// Whether it is fully trusted.
    pub fn is_unbounded(&self) -> bool {
        self.blocks.is_unbounded()
    }

    /// Whether hardly anything disclosed is passed over: of what is fully trusted, and of what came
    /// true on a device so often that a flaw would have shown.
    pub fn is_flawless(&self, device: DeviceId) -> bool {
        let is_known = self.blocks.is_unbounded() || self.evidence.came_true_of(device) >= FLAWLESS_MIN;
        is_known && self.is_hardly_wrong()
    }

    /// Whether it is fully trusted, and nothing speaks against that.
    pub fn is_true(&self) -> bool {
        self.blocks.is_unbounded() && self.few_blocks_are_wrong()
    }

    fn growth(&self) -> u64 {
        if self.is_hardly_wrong() { WINDOW_GROWTH_FLAWLESS } else { WINDOW_GROWTH }
    }

    /// Blocks came true, of which some are `telling`. Who reads them looked their names up.
    pub fn came_true(&mut self, blocks: u64, telling: u64) {
        self.accuracy.came_true(blocks, telling);
        let more = self.growth().saturating_mul(blocks);
        self.blocks.earn(more);
        self.names.earn(more);
    }

    /// A name came true. That says nothing of blocks: who looks at all that was built need not
    /// build it anew.
    pub fn name_came_true(&mut self) {
        self.accuracy.came_true(1, 1);
        self.names.earn(self.growth());
    }

    /// The same of what is in no order; `beyond` says that these lie far beyond what was looked at.
    pub fn came_true_anywhere(&mut self, blocks: u64, telling: u64, beyond: bool) {
        self.accuracy.came_true(blocks, telling);
        if beyond {
            self.beyond += WINDOW_GROWTH_BEYOND * blocks;
        } else {
            self.near += blocks;
            self.blocks.earn(blocks);
            self.names.earn(blocks);
        }
    }

    /// Blocks were passed over, of which some are `telling`.
    pub fn proved_wrong(&mut self, blocks: u64, telling: u64) {
        self.accuracy.proved_wrong(blocks, telling);
        self.blocks.proved_wrong(telling);
        self.names.proved_wrong(telling);
    }

    /// So many blocks lie before what came true, and were not read.
    pub fn left_out(&mut self, blocks: u64) {
        self.left_out = blocks;
    }

    /// A name was passed over.
    pub fn name_proved_wrong(&mut self) {
        self.accuracy.proved_wrong(1, 1);
        self.names.proved_wrong(1);
    }

    /// A name is looked up ahead of its use.
    pub fn name_out(&mut self) {
        self.names.unread += 1;
    }

    /// Names that were looked up are used, or passed over.
    pub fn names_back(&mut self, names: u64) {
        self.names.settle(names);
    }

    /// A page speaks of the sequence from now on, unread.
    pub fn page_out(&mut self) {
        self.blocks.unread += 1;
        self.rests = self.in_sweeps && self.blocks.unread >= self.size();
    }

    /// An unread page was read; `passed` says that the cursor had given it up before.
    pub fn page_read(&mut self, passed: bool) {
        if passed {
            self.disclosures.take_back(self.accuracy.telling.1);
            self.accuracy.take_back();
            self.came_true(1, 1);
        } else {
            self.blocks.settle(1);
        }
    }

    /// The cursor passed an unread page over.
    pub fn page_passed(&mut self) {
        self.blocks.settle(1);
    }

    /// A page will not be read: given up (`wasted`), or never brought.
    pub fn page_gone(&mut self, passed: bool, wasted: bool) {
        if !passed {
            self.blocks.settle(1);
            self.blocks.shrink(u64::from(wasted));
        }
    }

    /// All that was disclosed is forgotten; what was earned stays.
    pub fn clear(&mut self) {
        (self.blocks.unread, self.names.unread) = (0, 0);
        self.evidence.clear();
    }

    /// Checks that the account agrees with the pages, of which these are passed over or not, and
    /// the names that are out.
    pub fn check(&self, passed: &[bool], names: u64) {
        let unread = passed.iter().filter(|passed| !**passed).count() as u64;
        assert_eq!((self.blocks.unread, self.names.unread), (unread, names), "the window's account");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks that are fetched until it is full.
    fn fill(window: &mut Window) -> u64 {
        std::iter::from_fn(|| (!window.is_full()).then(|| window.page_out())).count() as u64
    }

    /// So many of those that are out are read.
    fn read(window: &mut Window, blocks: u64) {
        (0..blocks).for_each(|_| window.page_read(false));
    }

    #[test]
    fn what_is_in_no_order_is_fetched_in_sweeps() {
        let mut window = Window::new(Source::Related, Trust::Earned { initial_blocks: 64 });
        assert_eq!(fill(&mut window), 64);
        read(&mut window, 32);
        assert_eq!(fill(&mut window), 0, "it rests");
        read(&mut window, 1);
        assert_eq!(fill(&mut window), 33);
        window.came_true_anywhere(64, 64, false);
        assert_eq!(fill(&mut window), 0, "what is earned is kept for a sweep");
        window.came_true_anywhere(1, 1, false);
        assert_eq!(fill(&mut window), 65);
        window.came_true_anywhere(1, 1, false);
        window.follow();
        assert_eq!(fill(&mut window), 1, "whatever else is out");
    }

    #[test]
    fn what_comes_in_order_is_fetched_block_by_block() {
        let mut window = Window::new(Source::Profile, Trust::Earned { initial_blocks: 64 });
        let first = fill(&mut window);
        read(&mut window, 1);
        assert_eq!((first, fill(&mut window)), (Source::Profile.first_window(64), 1));
    }
}
