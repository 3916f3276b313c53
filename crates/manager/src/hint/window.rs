//! How much of what a source discloses may be out and unread: it earns more by coming true, and loses it by being wrong.

use super::Trust;
use super::accuracy::Accuracy;
use crate::event::Source;

/// Blocks that a window grows by for each that came true.
pub const WINDOW_GROWTH: u64 = 4;
/// The same while nothing disclosed was passed over. Every filling is a sweep of a hard disk's arm, and the first ones bring
/// little: with four, a database of 15,000 pages read in random order takes five, with sixteen three.
pub const WINDOW_GROWTH_FLAWLESS: u64 = 16;

/// What is in no order grows a window by one for each block that comes true, and by four for each that lies far beyond what was
/// looked at: what lies before that may come to be read as well. But by that it has no more than sixteen blocks for each that came
/// true of those that were looked at: a reader that reads 1 % of a large set here and there shall not have the set brought.
pub const WINDOW_GROWTH_BEYOND: u64 = 4;
const BEYOND_FOR_EACH: u64 = 16;

pub(crate) struct Window {
    /// Blocks (and names) that may be out, unread. Full trust has no window: it is the greatest number.
    size: u64,
    /// Blocks and names issued and neither read nor passed over.
    unread: u64,
    /// Of what is in no order: blocks that came true of those looked at, and what those beyond earned.
    near: u64,
    beyond: u64,
    pub accuracy: Accuracy,
}

impl Window {
    pub fn new(source: Source, trust: Trust) -> Self {
        let size = match trust {
            Trust::Full => u64::MAX,
            Trust::Earned { initial_blocks } => source.first_window(initial_blocks),
        };
        Window { size, unread: 0, near: 0, beyond: 0, accuracy: Accuracy::default() }
    }

    /// Blocks and names that may be out.
    fn limit(&self) -> u64 {
        self.size.saturating_add(self.beyond.min(BEYOND_FOR_EACH * self.near))
    }

    pub fn is_full(&self) -> bool {
        self.unread >= self.limit()
    }

    /// Whether so many may be under way at once.
    pub fn admits(&self, names: u64) -> bool {
        names < self.limit()
    }

    /// How likely what is disclosed is to be read, from 0 to 1. What may fetch nothing holds nothing either.
    pub fn confidence(&self) -> f64 {
        if self.size == 0 { 0.0 } else { self.accuracy.confidence() }
    }

    pub fn came_true(&mut self, blocks: u64) {
        self.accuracy.came_true(blocks);
        let growth = if self.accuracy.skipped == 0 { WINDOW_GROWTH_FLAWLESS } else { WINDOW_GROWTH };
        self.size = self.size.saturating_add(growth * blocks);
    }

    /// The same of what is in no order; `beyond` says that these lie far beyond what was looked at.
    pub fn came_true_anywhere(&mut self, blocks: u64, beyond: bool) {
        self.accuracy.came_true(blocks);
        if beyond {
            self.beyond += WINDOW_GROWTH_BEYOND * blocks;
        } else {
            self.near += blocks;
            self.size = self.size.saturating_add(blocks);
        }
    }

    pub fn proved_wrong(&mut self, blocks: u64) {
        self.accuracy.proved_wrong(blocks);
        // Even the largest window is gone after some 3,000 steps.
        for _ in 0..blocks {
            if !self.shrink(self.size / 64 + 1) {
                break;
            }
        }
    }

    /// Returns whether any of it is left to shrink.
    fn shrink(&mut self, blocks: u64) -> bool {
        if self.size == u64::MAX {
            return false;
        }
        self.size = self.size.saturating_sub(blocks);
        self.size > 0
    }

    /// A name is looked up ahead of its use.
    pub fn name_out(&mut self) {
        self.unread += 1;
    }

    /// Names that were looked up are used, or passed over.
    pub fn names_back(&mut self, names: u64) {
        self.unread = self.unread.saturating_sub(names);
    }

    /// A page speaks of the sequence from now on, unread.
    pub fn page_out(&mut self) {
        self.unread += 1;
    }

    /// An unread page was read; `passed` says that the cursor had given it up before.
    pub fn page_read(&mut self, passed: bool) {
        if passed {
            self.accuracy.take_back();
            self.came_true(1);
        } else {
            self.settle();
        }
    }

    /// One is unread no longer. A count that went below zero would close the window for good.
    fn settle(&mut self) {
        debug_assert!(self.unread > 0, "a page is settled twice");
        self.unread = self.unread.saturating_sub(1);
    }

    /// The cursor passed an unread page over.
    pub fn page_passed(&mut self) {
        self.settle();
    }

    /// A page will not be read: given up (`wasted`), or never brought.
    pub fn page_gone(&mut self, passed: bool, wasted: bool) {
        if !passed {
            self.settle();
            self.shrink(u64::from(wasted));
        }
    }

    /// All that was disclosed is forgotten; what was earned stays.
    pub fn clear(&mut self) {
        self.unread = 0;
    }

    /// Checks that the account agrees with the pages, of which these are passed over or not, and the names that are out.
    pub fn check(&self, passed: &[bool], names: u64) {
        let unread = passed.iter().filter(|passed| !**passed).count() as u64 + names;
        assert_eq!(self.unread, unread, "the window's account");
    }
}
